"""PNG pictures are packed and joined without a change of a pixel, in bounded memory, whatever they are."""

from __future__ import annotations

import io
import struct
import tracemalloc
import zlib
from collections.abc import Callable, Iterable

import pytest
from PIL import Image

from browsers.engines.png import UnfitPicture, joined, packed

SIGNATURE = b"\x89PNG\r\n\x1a\n"
WIDTH = 300


def noise(height: int, mode: str = "RGB", width: int = WIDTH) -> Image.Image:
    bands = [Image.effect_noise((width, height), 30 + band) for band in range(len(mode))]
    return Image.merge(mode, bands) if len(bands) > 1 else bands[0]


def png(picture: Image.Image, **options: object) -> bytes:
    out = io.BytesIO()
    picture.save(out, "PNG", **options)
    return out.getvalue()


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def made(data: Iterable[bytes], width: int, height: int, head: bytes = b"\x08\x02\0\0\0", parts: int = 1) -> bytes:
    """A picture of these bytes of rows."""
    packer = zlib.compressobj(1)
    stream = b"".join([*map(packer.compress, data), packer.flush()])
    step = max(1, -(-len(stream) // parts))
    idats = (chunk(b"IDAT", stream[at : at + step]) for at in range(0, len(stream), step))
    return SIGNATURE + chunk(b"IHDR", struct.pack(">II", width, height) + head) + b"".join(idats) + chunk(b"IEND", b"")


def filtered(picture: Image.Image, number: int, pixel: int) -> bytes:
    """The rows of a picture, all with one filter, by the formulas of the PNG specification."""
    size = picture.width * pixel
    plain, above, rows = picture.tobytes(), bytes(size), []
    for at in range(0, len(plain), size):
        row = plain[at : at + size]
        left, corner = bytes(pixel) + row[:-pixel], bytes(pixel) + above[:-pixel]
        pairs = zip(row, left, above, corner, strict=True)
        rows.append(bytes([number, *((x - _predicted(number, a, b, c)) % 256 for x, a, b, c in pairs)]))
        above = row
    return b"".join(rows)


def _predicted(number: int, a: int, b: int, c: int) -> int:
    if number < 4:
        return (0, a, b, (a + b) // 2)[number]
    guess = a + b - c
    return min((abs(guess - a), 0, a), (abs(guess - b), 1, b), (abs(guess - c), 2, c))[2]


def test_a_picture_is_packed_without_a_change() -> None:
    picture = noise(200)
    picture.paste("red", (0, 0, 300, 150))
    quick = png(picture, compress_level=1, dpi=(96, 96))

    small = packed(quick)

    assert len(small) < len(quick)
    with Image.open(io.BytesIO(small)) as again:
        assert again.tobytes() == picture.tobytes()
        assert round(again.info["dpi"][0]) == 96
    assert packed(small) is small


@pytest.mark.parametrize("cut", [0, 5, 8, 20, 100, -1])
def test_what_is_no_whole_picture_is_not_packed(cut: int) -> None:
    whole = png(Image.new("RGB", (300, 200), "blue"), compress_level=0)

    assert packed(whole[:cut]) == whole[:cut]


def test_pixels_that_are_broken_or_hardly_get_smaller_are_not_packed() -> None:
    for data in (png(noise(200), compress_level=1), SIGNATURE + chunk(b"IDAT", b"x\x01oops") + chunk(b"IEND", b"")):
        assert packed(data) is data


@pytest.mark.parametrize("mode", ["RGB", "RGBA"])
@pytest.mark.parametrize("number", range(5))
def test_strips_become_one_picture_whatever_the_filter_of_their_rows(number: int, mode: str) -> None:
    heights = (7, 1, 12, 3)
    whole, top, strips = noise(sum(heights), mode, 40), 0, []
    colour = {"RGB": b"\x02", "RGBA": b"\x06"}[mode]
    for height in heights:
        part = whole.crop((0, top, 40, top + height))
        strip = made([filtered(part, number, len(mode))], 40, height, b"\x08" + colour + b"\0\0\0", parts=height)
        with Image.open(io.BytesIO(strip)) as seen:
            assert seen.tobytes() == part.tobytes(), "the test itself must make what the specification says"
        strips.append(strip)
        top += height

    found = joined(iter(strips))

    with Image.open(io.BytesIO(found)) as picture:
        picture.load()
        assert (picture.mode, picture.size) == (mode, whole.size)
        assert picture.tobytes() == whole.tobytes()
    assert packed(found) is found, "it was packed when it was joined"


def _cut(strip: bytes) -> bytes:
    return strip[: len(strip) // 2]


def _without_its_last_pixels(strip: bytes) -> bytes:
    at = strip.index(b"IDAT")
    size = int.from_bytes(strip[at - 4 : at])
    return strip[: at - 4] + chunk(b"IDAT", strip[at + 4 : at + 4 + size // 2]) + chunk(b"IEND", b"")


def _rows(number: int = 0, height: int = 9) -> bytes:
    return bytes([number, *bytes(3 * WIDTH)]) * height


UNFIT: dict[str, Callable[[bytes], bytes]] = {
    "nothing": lambda _: b"",
    "no picture": lambda _: b"<html>",
    "cut off": _cut,
    "pixels cut off": _without_its_last_pixels,
    "a picture without pixels": lambda _: made([], 1, 1).replace(b"IDAT", b"IDAX"),
    "no compressed data": lambda _: (
        SIGNATURE + chunk(b"IHDR", struct.pack(">II", WIDTH, 9) + b"\x08\x02\0\0\0") + chunk(b"IEND", b"")
    ),
    "no zlib data": lambda _: (
        SIGNATURE
        + chunk(b"IHDR", struct.pack(">II", WIDTH, 9) + b"\x08\x02\0\0\0")
        + chunk(b"IDAT", b"not compressed at all")
        + chunk(b"IEND", b"")
    ),
    "another width": lambda _: png(noise(9, width=WIDTH + 1)),
    "another colour type": lambda _: png(noise(9, "RGBA")),
    "grey": lambda _: png(noise(9, "L")),
    "palette": lambda _: png(noise(9, "L").convert("P")),
    "sixteen bits": lambda _: made([_rows()], WIDTH, 9, b"\x10\x02\0\0\0"),
    "interlaced": lambda _: made([_rows()], WIDTH, 9, b"\x08\x02\0\0\x01"),
    "an unknown filter": lambda _: made([_rows(5)], WIDTH, 9),
    "no height": lambda _: made([], WIDTH, 0),
    "no width": lambda _: made([b"\0" * 9], 0, 9),
    "a height that is not there": lambda _: made([_rows()], WIDTH, 200_000),
    "a huge height": lambda _: made([_rows()], WIDTH, 2**32 - 1),
    "too many rows": lambda _: made([_rows(height=10)], WIDTH, 9),
}


@pytest.mark.parametrize("kind", UNFIT)
def test_strips_that_can_not_be_joined_are_refused(kind: str) -> None:
    good = made([_rows()], WIDTH, 9)
    joined([good, good])

    for strips in ([good, UNFIT[kind](good)], [UNFIT[kind](good), good]):
        with pytest.raises(UnfitPicture):
            joined(strips)


def test_no_strips_are_no_picture() -> None:
    with pytest.raises(UnfitPicture):
        joined([])


def test_memory_is_bounded_by_the_compressed_size() -> None:
    height, rows = 20_000, _rows(2, 1)
    strip = made((rows for _ in range(height)), WIDTH, height)
    bomb = made((bytes(1 << 20) for _ in range(100)), WIDTH, 9)
    tracemalloc.start()
    try:
        found = joined([strip, strip])
        packed(strip)
        with pytest.raises(UnfitPicture):
            joined([strip, bomb])
        packed(bomb)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    with Image.open(io.BytesIO(found)) as picture:
        assert picture.size == (WIDTH, 2 * height)
    assert peak < 2_000_000, "a strip has 18 MB of pixels, and the bomb 100 MB"
