# /// script
# requires-python = ">=3.12"
# dependencies = ["fonttools[woff]", "pillow", "playwright"]
# ///
"""Draws the garden site's pictures, film and font; run by hand (`uv run tests/site/make_assets.py`), results committed.

Needs Chromium, to turn the drawings into pixels, and ffmpeg, for the film.
"""

from __future__ import annotations

import io
import math
import random
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from PIL import Image
from playwright.sync_api import Page, sync_playwright

STATIC = Path(__file__).resolve().parents[2] / "admin" / "demo" / "site" / "static"
SIZE = (800, 600)


def svg(body: str, size: tuple[int, int] = SIZE, view: str = "") -> str:
    view = view or f"0 0 {size[0]} {size[1]}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{size[0]}" height="{size[1]}" viewBox="{view}" '
        f'preserveAspectRatio="xMidYMid slice">{body}</svg>'
    )


def backdrop(top: str, bottom: str, width: int = 800, height: int = 600) -> str:
    return (
        f'<defs><linearGradient id="sky" x1="0" y1="0" x2="0" y2="1"><stop offset="0" stop-color="{top}"/>'
        f'<stop offset="1" stop-color="{bottom}"/></linearGradient></defs>'
        f'<rect width="{width}" height="{height}" fill="url(#sky)"/>'
    )


def leaf(x: float, y: float, angle: float, length: float, width: float, color: str) -> str:
    path = f"M0 0 Q{length / 2:.1f} {-width:.1f} {length:.1f} 0 Q{length / 2:.1f} {width:.1f} 0 0Z"
    return f'<path d="{path}" fill="{color}" transform="translate({x:.1f} {y:.1f}) rotate({angle:.1f})"/>'


def frond(x: float, y: float, angle: float, length: float, color: str) -> Iterator[str]:
    steps = 22
    for step in range(steps):
        size = length / 3.2 * math.sin(math.pi * (0.12 + 0.86 * (1 - step / steps)))
        for side in (-1, 1):
            yield leaf(x, y, angle + side * 58, size, size * 0.16, color)
        x += math.cos(math.radians(angle)) * length / steps
        y += math.sin(math.radians(angle)) * length / steps
        angle += 1.6 if angle > -90 else -1.6


def fern(growth: float = 1.0) -> str:
    colors = ("#2f6b3f", "#3d8450", "#56a064", "#78b97a")
    parts = [backdrop("#e8f0dc", "#b9d2ac")]
    for number, angle in enumerate((-160, -20, -140, -40, -118, -62, -90)):
        length = 400 * growth * (1 - 0.02 * number)
        parts += frond(400, 560, angle, length, colors[number % len(colors)])
    return "".join(parts) + '<ellipse cx="400" cy="585" rx="230" ry="38" fill="#5b4632"/>'


def water_lily() -> str:
    chance = random.Random(7)
    parts = [backdrop("#2d5f73", "#173a4c")]
    for _ in range(16):
        x, y, r = chance.uniform(0, 800), chance.uniform(60, 590), chance.uniform(40, 100)
        parts.append(f'<ellipse cx="{x:.0f}" cy="{y:.0f}" rx="{r:.0f}" ry="{r * 0.42:.0f}" fill="#4d8a55"/>')
        parts.append(f'<path d="M{x:.0f} {y:.0f} l{r:.0f} {-r * 0.2:.0f} l0 {r * 0.3:.0f}z" fill="#235066"/>')
    for ring, (count, length, color) in enumerate(((9, 190, "#f3c4d5"), (8, 150, "#f8dbe6"), (7, 105, "#fff1f6"))):
        for petal in range(count):
            angle = -180 + (petal + 0.5) * 180 / count
            parts.append(leaf(400, 380 - ring * 6, angle, length, length * 0.24, color))
    return "".join(parts) + '<ellipse cx="400" cy="360" rx="34" ry="22" fill="#f2b632"/>'


def cactus() -> str:
    stem = '<g stroke="#3f7d4e" stroke-width="78" stroke-linecap="round" fill="none">'
    stem += '<path d="M400 560V190"/><path d="M400 420H270V300" stroke-width="56"/>'
    stem += '<path d="M400 370H535V230" stroke-width="56"/></g>'
    ribs = "".join(f'<path d="M{x} 170V560" stroke="#2e5f3b" stroke-width="3"/>' for x in (380, 400, 420))
    flowers = "".join(
        leaf(x, y, angle, 34, 9, "#e8668b")
        for x, y in ((400, 150), (270, 272), (535, 202))
        for angle in range(0, 360, 45)
    )
    sand = '<path d="M0 520Q200 480 400 520T800 505V600H0Z" fill="#d8a763"/>'
    sun = '<circle cx="640" cy="130" r="64" fill="#fbe3a1"/>'
    return backdrop("#f7d9b0", "#f2b98a") + sun + stem + ribs + flowers + sand


def ginkgo() -> str:
    chance = random.Random(3)
    parts = [backdrop("#f5efdd", "#e2d3a6")]
    for _ in range(26):
        x, y, turn, scale = (
            chance.uniform(30, 770),
            chance.uniform(30, 570),
            chance.uniform(0, 360),
            chance.uniform(0.5, 1.5),
        )
        color = chance.choice(("#e3b62f", "#efc94c", "#d49b22", "#c9a53a"))
        shape = "M0 60Q-8 10 -62 -22Q-36 -62 -4 -34Q0 -30 4 -34Q36 -62 62 -22Q8 10 0 60Z"
        parts.append(
            f'<g transform="translate({x:.0f} {y:.0f}) rotate({turn:.0f}) scale({scale:.2f})"><path d="{shape}" '
            f'fill="{color}"/><path d="M0 0V92" stroke="#8a6d1c" stroke-width="4"/></g>'
        )
    return "".join(parts)


def landscape() -> str:
    chance = random.Random(11)
    parts = [backdrop("#cfe5ee", "#f6f1dd", 1280, 480), '<circle cx="1050" cy="110" r="58" fill="#fbe7a6"/>']
    for base, swing, color in ((270, 46, "#9fbf9b"), (320, 38, "#7da77f"), (370, 28, "#5b8c63")):
        points = [f"{x} {base + swing * math.sin(x / 170 + base):.0f}" for x in range(0, 1321, 40)]
        parts.append(f'<path d="M0 480L{" L".join(points)}L1280 480Z" fill="{color}"/>')
    glass = "".join(f'<path d="M{x} 190V330" stroke="#fff" stroke-width="3"/>' for x in range(220, 461, 40))
    parts.append(
        f'<path d="M200 330V200Q330 70 480 200V330Z" fill="#e6f3f4" stroke="#fff" stroke-width="6"/>{glass}'
        '<path d="M200 240H480M320 150V330" stroke="#fff" stroke-width="4"/>'
    )
    for _ in range(90):
        x, y = chance.uniform(0, 1280), chance.uniform(400, 476)
        color = chance.choice(("#d9577a", "#f3c04b", "#ffffff", "#8a63b8"))
        parts.append(f'<path d="M{x:.0f} {y:.0f}v26" stroke="#2f6b3f" stroke-width="3"/>')
        parts.append(f'<circle cx="{x:.0f}" cy="{y:.0f}" r="8" fill="{color}"/>')
    return "".join(parts)


PLANTS: dict[str, Callable[[], str]] = {
    "fern": fern,
    "water-lily": water_lily,
    "cactus": cactus,
    "ginkgo": ginkgo,
}


def draw(page: Page, drawing: str, size: tuple[int, int]) -> Image.Image:
    page.set_viewport_size({"width": size[0], "height": size[1]})
    page.set_content(f"<style>body{{margin:0}}svg{{display:block}}</style>{drawing}")
    return Image.open(io.BytesIO(page.screenshot())).convert("RGB")


def make_pictures(page: Page) -> None:
    folder = STATIC / "images"
    for name, plant in PLANTS.items():
        draw(page, svg(plant()), SIZE).save(folder / f"{name}.jpg", quality=80)
        draw(page, svg(plant(), view="250 180 300 225"), SIZE).save(folder / f"{name}-detail.jpg", quality=80)
    for width in (1280, 640):
        size = (width, width * 480 // 1280)
        picture = draw(page, svg(landscape(), size, "0 0 1280 480"), size)
        picture.save(folder / f"garden-{width}.webp", quality=80)
    picture.save(folder / "garden.jpg", quality=80)


def make_film(page: Page) -> None:
    """A fern unrolls; VP9 in MP4, its index (moov) left at the end so that a player must ask for it by range."""
    with tempfile.TemporaryDirectory() as frames:
        for number in range(48):
            growth = 0.25 + 0.75 * math.sin(math.pi / 2 * number / 47)
            draw(page, svg(fern(growth), (480, 360), "0 0 800 600"), (480, 360)).save(f"{frames}/{number:03}.png")
        encode = ["-c:v", "libvpx-vp9", "-b:v", "0", "-crf", "45", "-pix_fmt", "yuv420p", "-fflags", "+bitexact"]
        source = ["-framerate", "24", "-i", f"{frames}/%03d.png"]
        target = str(STATIC / "film" / "fern.mp4")
        subprocess.run(["ffmpeg", "-y", "-loglevel", "error", *source, *encode, target], check=True)


def make_font() -> None:
    """Garden Ornaments: `l` a leaf, `f` a flower, `d` a drop."""
    drop = [(500, 800, 760, 300), (500, -60, 240, 300)]
    outlines = {
        "leaf": [[(100, 100), (60, 520), (420, 760), (900, 800), (860, 340), (560, 60)]],
        "flower": [_petal(angle) for angle in range(0, 360, 60)],
        "drop": [[(x, y) for x1, y1, x2, y2 in drop for x, y in ((x1, y1), (x2, y2))]],
    }
    glyphs = {name: _glyph(contours) for name, contours in outlines.items()}
    empty = TTGlyphPen(None).glyph()
    builder = FontBuilder(1000, isTTF=True)
    builder.setupGlyphOrder([".notdef", "space", *glyphs])
    builder.setupCharacterMap({32: "space", ord("l"): "leaf", ord("f"): "flower", ord("d"): "drop"})
    builder.setupGlyf({".notdef": empty, "space": empty, **glyphs})
    builder.setupHorizontalMetrics(dict.fromkeys((".notdef", "space", *glyphs), (1000, 0)))
    builder.setupHorizontalHeader(ascent=850, descent=-150)
    builder.setupNameTable({"familyName": "Garden Ornaments", "styleName": "Regular"})
    builder.setupOS2(sTypoAscender=850, sTypoDescender=-150, usWinAscent=850, usWinDescent=150)
    builder.setupPost()
    builder.font["head"].created = builder.font["head"].modified = 3_800_000_000
    builder.font.flavor = "woff2"
    builder.font.recalcTimestamp = False
    builder.save(STATIC / "fonts" / "garden-ornaments.woff2")


def _petal(angle: int) -> list[tuple[int, int]]:
    turned = []
    for along, across in ((40, 0), (240, 130), (400, 0), (240, -130)):
        cos, sin = math.cos(math.radians(angle)), math.sin(math.radians(angle))
        turned.append((round(500 + along * cos - across * sin), round(350 + along * sin + across * cos)))
    return turned


def _glyph(contours: list[list[tuple[int, int]]]) -> object:
    pen = TTGlyphPen(None)
    for contour in contours:
        pen.qCurveTo(*contour, None)
        pen.closePath()
    return pen.glyph()


def main() -> None:
    for name in ("images", "film", "fonts"):
        (STATIC / name).mkdir(parents=True, exist_ok=True)
    make_font()
    (STATIC / "images" / "leaf.svg").write_text(svg(leaf(6, 34, -35, 36, 12, "#cfe0c3"), (40, 40)))
    (STATIC / "images" / "map.svg").write_text(site_map())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page()
        make_pictures(page)
        make_film(page)
        browser.close()


def site_map() -> str:
    beds = "".join(
        f'<rect x="{x}" y="{y}" width="90" height="60" rx="14" fill="{color}"/>'
        for x, y, color in ((40, 40, "#7fb285"), (160, 60, "#e3b62f"), (290, 40, "#d9577a"), (420, 70, "#8a63b8"))
    )
    paths = '<path d="M0 150Q150 110 300 150T560 140" stroke="#efe4c8" stroke-width="22" fill="none"/>'
    pond = '<ellipse cx="400" cy="210" rx="90" ry="40" fill="#7db7c9"/>'
    return svg(f'<rect width="560" height="260" fill="#d5e5c8"/>{paths}{beds}{pond}', (560, 260))


if __name__ == "__main__":
    main()
