"""Pictures of a capture and a replay are compared as a reader sees them."""

from __future__ import annotations

import io
import random
import subprocess
import sys
import zlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from struct import pack

import pytest
from PIL import Image, ImageChops, ImageDraw, ImageFont
from support.places import ROOT

from browsers.comparison.boxes import Box
from browsers.comparison.pictures import (
    MAX_REGIONS,
    PictureComparison,
    PictureUnreadable,
    compare_pictures,
    volatility_mask,
)

WIDTH, HEIGHT = 800, 1000
PHOTO = (50, 300, 350, 400)
"""The place of a picture in the page."""
LEAST_SIMILAR = 0.999
"""A page that a reader takes for the same is as similar as this."""


def png(picture: Image.Image, **options: object) -> bytes:
    out = io.BytesIO()
    picture.save(out, "PNG", compress_level=1, **options)
    return out.getvalue()


def photo(width: int, height: int, seed: int = 1) -> Image.Image:
    """A picture with structure, of soft spots."""
    spots = Image.frombytes(
        "RGB", (width // 10, height // 10), random.Random(seed).randbytes(width * height * 3 // 100)
    )
    return spots.resize((width, height), Image.Resampling.BICUBIC)


def words(seed: int) -> list[str]:
    letters = random.Random(seed)
    return ["".join(letters.choice("abcdefghij klmnop ") for _ in range(90)) for _ in range(60)]


def page(seed: int = 1, offset: float = 0, height: int = HEIGHT) -> Image.Image:
    """A page of text with a picture. `offset` moves the text by parts of a pixel."""
    picture = Image.new("RGB", (WIDTH, height), "white")
    draw, font = ImageDraw.Draw(picture), ImageFont.load_default(14)
    for line, text in enumerate(words(seed)):
        if not PHOTO[1] - 30 < line * 22 < PHOTO[3]:
            draw.text((20 + offset, line * 22 + offset / 2), text, fill="#222", font=font)
    picture.paste(photo(PHOTO[2] - PHOTO[0], PHOTO[3] - PHOTO[1]), PHOTO[:2])
    return picture


@cache
def usual() -> Image.Image:
    return page()


def with_rows(picture: Image.Image, at: int, added: Image.Image, keeps_height: bool = False) -> Image.Image:
    """The picture with more rows at this place; a window keeps its height."""
    joined = Image.new("RGB", (picture.width, picture.height + (0 if keeps_height else added.height)), "white")
    joined.paste(picture.crop((0, 0, picture.width, at)), (0, 0))
    joined.paste(added, (0, at))
    joined.paste(picture.crop((0, at, picture.width, picture.height)), (0, at + added.height))
    return joined


def painted(picture: Image.Image, box: tuple[int, int, int, int], paint: Image.Image | str) -> Image.Image:
    copy = picture.copy()
    copy.paste(paint, box)
    return copy


def with_noise(picture: Image.Image) -> Image.Image:
    """The picture in which each channel of each pixel is up to two lighter or darker."""
    noise = Image.frombytes("RGB", picture.size, bytes(v % 5 for v in random.Random(1).randbytes(WIDTH * HEIGHT * 3)))
    return ImageChops.subtract(ImageChops.add(picture, noise), Image.new("RGB", picture.size, (2, 2, 2)))


def with_coloured_edges(picture: Image.Image) -> Image.Image:
    """The picture as with LCD text: red comes a third of a pixel earlier, and blue later."""
    large = picture.resize((WIDTH * 3, HEIGHT), Image.Resampling.BICUBIC)
    bands = [ImageChops.offset(band, step, 0) for band, step in zip(large.split(), (-1, 0, 1), strict=True)]
    return Image.merge("RGB", bands).resize(picture.size, Image.Resampling.BOX)


def compared(capture: Image.Image, replay: Image.Image, **options: object) -> PictureComparison:
    return compare_pictures(png(capture), png(replay), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "change",
    [
        Image.Image.copy,
        lambda _: page(offset=0.5),
        with_coloured_edges,
        with_noise,
        lambda picture: picture.crop((0, 0, WIDTH - 15, HEIGHT)),
        lambda picture: with_rows(picture, 0, Image.new("RGB", (WIDTH, 8), "white"), keeps_height=True),
        lambda picture: picture.convert("RGBA"),
    ],
    ids=["equal", "sub-pixel text", "coloured edges", "colour noise", "scroll bar", "shift of 8 px", "alpha"],
)
def test_a_page_that_a_reader_takes_for_the_same_has_no_difference(
    change: Callable[[Image.Image], Image.Image],
) -> None:
    same = change(usual())
    without_photo = painted(same, PHOTO, "white")

    found = compared(usual(), same)
    worse = compared(usual(), without_photo)

    assert (found.changed_share, found.regions) == (0, ())
    assert found.similarity >= LEAST_SIMILAR
    assert worse.changed_share > 0.02, "the same page without its picture differs"
    assert worse.similarity < 0.98
    assert len(worse.regions) == 1


def test_equal_pictures_have_no_picture_of_the_difference() -> None:
    found = compared(usual(), usual())

    assert found == PictureComparison(1.0, 0.0, 0, 0, (), False, False, False, b"")


@pytest.mark.parametrize("is_window", [False, True])
def test_a_banner_costs_its_own_rows_only(is_window: bool) -> None:
    banner = photo(WIDTH, 60, seed=2)
    longer = with_rows(usual(), 200, banner, is_window)

    more, fewer = compared(usual(), longer), compared(longer, usual())

    assert (more.inserted_rows, more.missing_rows, fewer.inserted_rows, fewer.missing_rows) == (60, 0, 0, 60)
    assert more.regions == (Box(0, 200, WIDTH, 60),)
    assert fewer.regions == ()
    share = 60 / (HEIGHT if is_window else HEIGHT + 60)
    assert more.changed_share == pytest.approx(share)
    assert fewer.changed_share == pytest.approx(share)
    assert more.similarity == pytest.approx(1 - share)


def test_a_taller_advertisement_costs_the_rows_that_it_has_more_and_its_own_change() -> None:
    low, high = photo(WIDTH, 90, seed=3), photo(WIDTH, 250, seed=4)

    found = compared(with_rows(usual(), 200, low), with_rows(usual(), 200, high))

    assert (found.inserted_rows, found.missing_rows) == (160, 0)
    assert 160 <= found.changed_share * (HEIGHT + 250) <= 250
    assert all(box.y >= 200 - 8 and box.y + box.height <= 450 + 8 for box in found.regions)


@pytest.mark.parametrize("paint", ["white", "photo", "hue"])
def test_a_removed_or_changed_picture_is_a_region_of_its_size(paint: str) -> None:
    """Red and green of the same brightness differ, too."""
    before = painted(usual(), PHOTO, "#b00000") if paint == "hue" else usual()
    paints: dict[str, Image.Image | str] = {"photo": photo(300, 100, seed=5), "hue": "#005a00", "white": "white"}

    found = compared(before, painted(usual(), PHOTO, paints[paint]))

    assert (found.inserted_rows, found.missing_rows) == (0, 0)
    box = max(found.regions, key=lambda box: box.area)
    assert (box.x, box.y) == pytest.approx(PHOTO[:2], abs=16)
    assert (box.width, box.height) == pytest.approx((300, 100), abs=24)
    assert found.changed_share > 0.5 * 300 * 100 / WIDTH / HEIGHT


def test_the_picture_of_the_difference_marks_what_differs() -> None:
    replay = with_rows(painted(usual(), PHOTO, "white"), 600, photo(WIDTH, 40, seed=6))
    capture = with_rows(usual(), 800, photo(WIDTH, 30, seed=7))

    found = compared(capture, replay)

    assert (found.inserted_rows, found.missing_rows) == (40, 30)
    with Image.open(io.BytesIO(found.difference)) as picture:
        assert picture.size == replay.size
        shown = picture.convert("RGB")
    red, orange = (255, 0, 80), (255, 150, 0)
    assert shown.getpixel((200, 350)) == red
    assert {shown.getpixel((x, 841)) for x in range(0, WIDTH, 50)} == {orange}
    green = [shown.getpixel((x, 620)) for x in range(0, WIDTH, 50)]
    assert all(g > r and g > b for r, g, b in green)  # type: ignore[misc]
    red_grey, green_grey, blue_grey = shown.getpixel((30, 100))  # type: ignore[misc]
    assert red_grey == green_grey == blue_grey <= 190


def test_what_moves_by_itself_is_masked() -> None:
    """A carousel shows another picture in the capture, in its second picture, and in the replay."""
    first, second, third = (painted(usual(), PHOTO, photo(300, 100, seed)) for seed in (10, 11, 12))

    mask = volatility_mask(png(first), png(second))

    assert mask is not None
    with Image.open(io.BytesIO(mask)) as picture:
        assert (picture.mode, picture.size) == ("1", usual().size)
        left, top, right, bottom = picture.getbbox() or (0, 0, 0, 0)
    assert (left, top, right, bottom) == (PHOTO[0] - 9, PHOTO[1] - 9, PHOTO[2] + 9, PHOTO[3] + 9)
    assert compared(first, third).regions != ()
    masked = compared(first, third, masks=[mask])
    assert (masked.changed_share, masked.regions, masked.similarity) == (0, (), 1)
    broken = compared(first, painted(third, (500, 500, 600, 600), "#06c"), masks=[mask])
    assert [(box.x, box.y) for box in broken.regions] == [(496, 496)]
    assert volatility_mask(png(first), png(first)) is None


def test_a_mask_follows_the_rows_of_the_capture_and_may_have_another_size() -> None:
    first, third = (painted(usual(), PHOTO, photo(300, 100, seed)) for seed in (10, 12))
    moved = with_rows(third, 0, photo(WIDTH, 60, seed=2))
    mask = Image.new("1", (WIDTH * 2, 410))
    mask.paste(1, (40, 290, 360, 410))

    found = compared(first, moved, masks=[png(mask)])

    assert found.regions == (Box(0, 0, WIDTH, 60),)


def test_everything_masked_is_no_difference() -> None:
    found = compared(usual(), page(seed=2), masks=[png(Image.new("1", (WIDTH, HEIGHT), 1))])

    assert (found.similarity, found.changed_share) == (1, 0)


def test_blank_pictures_are_named() -> None:
    blank = Image.new("RGB", (WIDTH, HEIGHT), "#fefefe")
    with_scroll_bar = painted(blank, (WIDTH - 15, 0, WIDTH, HEIGHT), "#888")

    found = compared(usual(), with_scroll_bar)
    both = compared(blank, Image.new("RGB", (WIDTH, HEIGHT), "white"))

    assert (found.capture_is_blank, found.replay_is_blank) == (False, True)
    assert found.similarity < 0.9
    assert (both.capture_is_blank, both.replay_is_blank, both.similarity) == (True, True, 1)


def test_other_pages_are_not_similar() -> None:
    other = page(seed=2, height=1300)
    other.paste("white", PHOTO)

    found = compared(usual(), other)

    assert found.similarity < 0.6
    assert found.changed_share > 0.2


def test_many_regions_are_bounded_and_the_largest_come_first() -> None:
    spots = usual().copy()
    for at in range(120):
        spots.paste("#06c", (at % 12 * 64, at // 12 * 96, at % 12 * 64 + 8 + at % 5 * 4, at // 12 * 96 + 16))

    found = compared(usual(), spots)

    areas = [box.area for box in found.regions]
    assert len(areas) == MAX_REGIONS
    assert areas == sorted(areas, reverse=True)


def chunk(kind: bytes, content: bytes) -> bytes:
    return pack(">I", len(content)) + kind + content + pack(">I", zlib.crc32(kind + content))


def with_head(width: int, height: int, interlace: int = 0) -> bytes:
    """A picture that says this size, and has one row."""
    head = pack(">IIBBBBB", width, height, 8, 2, 0, 0, interlace)
    data = zlib.compress(bytes(min(width, 1000) * 3 + 1))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("bytes_", "message"),
    [
        (b"", "no PNG picture"),
        (b"\xff\xd8\xff\xe0 a JPEG picture", "no PNG picture"),
        (png(Image.new("RGB", (90, 90), "teal"))[:60], "damaged"),
        (with_head(0, 10), "0 x 10 pixels"),
        (with_head(100, 3_000_000), "100 x 3000000 pixels"),
        (with_head(1_000_000, 10), "1000000 x 10 pixels"),
        (with_head(100, 50_000, interlace=1), "interlaced"),
    ],
    ids=["empty", "JPEG", "cut", "no width", "high", "wide", "interlaced"],
)
def test_bytes_that_are_no_picture_are_refused(bytes_: bytes, message: str) -> None:
    good = png(Image.new("RGB", (90, 90), "teal"))
    for arguments in ((bytes_, good), (good, bytes_), (good, good, [bytes_])):
        with pytest.raises(PictureUnreadable, match=message):
            compare_pictures(*arguments)  # type: ignore[arg-type]


@pytest.mark.slow
def test_pictures_of_30000_rows_without_a_common_row_need_bounded_memory(tmp_path: Path) -> None:
    noise = [Image.effect_noise((320, 250), 90).resize((1280, 1000)).convert("RGB") for _ in range(2)]
    for name, piece in zip(("capture", "replay"), noise, strict=True):
        picture = Image.new("RGB", (1280, 30_000))
        for top in range(0, 30_000, 1000):
            picture.paste(ImageChops.offset(piece, top // 7, top // 9), (0, top))
        (tmp_path / name).write_bytes(png(picture))
    script = """
import resource, sys
from pathlib import Path
from browsers.comparison.pictures import compare_pictures
found = compare_pictures(*(Path(name).read_bytes() for name in sys.argv[1:]))
print(found.is_cut, found.changed_share > 0.5, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""
    command = [sys.executable, "-c", script, str(tmp_path / "capture"), str(tmp_path / "replay")]

    out = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()

    assert out[:2] == ["False", "True"]
    kilobytes = int(out[2]) // (1024 if sys.platform == "darwin" else 1)
    files = sum(path.stat().st_size for path in tmp_path.iterdir())
    assert kilobytes * 1024 - files < 450_000_000, "two decoded pictures are 308 MB"


def test_a_high_picture_is_cut() -> None:
    high = Image.new("RGB", (40, 30_100), "white")
    changed_below = painted(high, (0, 30_050, 40, 30_060), "black")

    found = compared(high, changed_below)

    assert (found.is_cut, found.changed_share) == (True, 0)
    assert not compared(high.crop((0, 0, 40, 9)), high.crop((0, 0, 40, 9))).is_cut
