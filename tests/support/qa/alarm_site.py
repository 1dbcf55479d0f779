"""A site for tests of QA: each page changes by itself in one way, and has one resource that a test can remove.

`/<cause>/` is a page whose replay differs from its capture by the cause alone. `/<cause>/lost/` is its twin, whose
archive lacks one resource: `Cause.lost` is the path of the resource.
"""

from __future__ import annotations

import io
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

from PIL import Image, ImageDraw


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause of differences has the body of its page, and a head."""

    name: str
    body: str
    head: str = ""
    lost: str = "hero.png"
    """The resource of the twin that a test removes."""


_TEXT: Final = "".join(
    f"<p>Paragraph {number}: the quick brown fox jumps over the lazy dog, and rests in the shade.</p>"
    for number in range(6)
)
_LONG: Final = _TEXT * 12

CAUSES: Final = (
    Cause(
        "consent",
        """<div id="ask" style="position:fixed;bottom:0;left:0;right:0;background:#fe8;padding:2em">
        We use cookies. <button id="yes">Accept all cookies</button></div>
        <script>yes.onclick = () => ask.remove();</script>""",
        lost="hero.png",
    ),
    Cause(
        "carousel",
        """<img id="slide" width="600" height="300" src="slide-0.png">
        <script>let at = 0; for (const n of [1, 2]) new Image().src = `slide-${n}.png`;
        setInterval(() => { at = (at + 1) % 3; slide.src = `slide-${at}.png`; }, 700);</script>""",
        lost="sheet.css",
    ),
    Cause(
        "clock",
        """<p id="now" style="font-size:3em"></p>
        <script>setInterval(() => { now.textContent = new Date().toISOString(); }, 100);</script>""",
        lost="font.woff2",
    ),
    Cause(
        "advertisement",
        """<img id="ad" width="468" height="60">
        <script>ad.src = `ad-${Math.floor(Math.random() * 1000)}.png`;</script>""",
        lost="hero.png",
    ),
    Cause("lazy", _LONG + '<img loading="lazy" width="400" height="200" src="late.png">', lost="late.png"),
    Cause(
        "late-font",
        """<p id="title" style="font-size:3em">Ornaments</p><script>setTimeout(() => {
        const face = new FontFace("Late", "url(late.woff2)");
        face.load().then(() => { document.fonts.add(face); title.style.fontFamily = "Late"; }); }, 400);</script>""",
        lost="late.woff2",
    ),
    Cause(
        "poster",
        '<video width="320" height="180" controls preload="metadata" poster="poster.png" src="film.mp4"></video>',
        lost="film.mp4",
    ),
    Cause(
        "sticky",
        '<header style="position:sticky;top:0;background:#123;color:#fff;padding:1em">A sticky header</header>' + _LONG,
        lost="script.js",
    ),
    Cause(
        "sub-pixel",
        """<div id="text" style="position:relative">"""
        + _TEXT
        + """</div>
        <script>text.style.left = `${Math.random() * 0.9}px`;</script>""",
        lost="sheet.css",
    ),
    Cause(
        "scroll-bar",
        _TEXT,
        head="""<script>document.documentElement.style.overflowY =
        Math.random() > 0.5 ? "scroll" : "hidden";</script>""",
        lost="frame.html",
    ),
    Cause(
        "time-zone",
        """<p id="zone" style="font-size:2em"></p>
        <script>const options = Intl.DateTimeFormat().resolvedOptions();
        zone.textContent = `${new Date(0).toLocaleString()} ${options.timeZone}`;</script>""",
        lost="hero.png",
    ),
    Cause(
        "pixel-ratio",
        '<img width="300" height="150" srcset="wide-1.png 1x, wide-2.png 2x" src="wide-0.png">',
        lost="wide-1.png",
    ),
    Cause(
        "variant",
        """<div id="box" style="padding:3em"></div><script>
        const known = document.cookie.match(/variant=(.)/);
        const variant = known ? known[1] : Math.random() > 0.5 ? "A" : "B";
        document.cookie = `variant=${variant}`;
        box.style.background = variant === "A" ? "#bdf" : "#fdb";
        box.textContent = variant === "A" ? "Welcome to our new garden shop" : "Read the letters of our gardeners";
        </script>""",
        lost="script.js",
    ),
)


def answer(path: str) -> tuple[bytes, str] | None:
    """Return the body and the type of what the site has at a path; None for nothing."""
    if path == "/":
        links = "".join(
            f'<a href="/{cause.name}/{lost}">{cause.name}</a> ' for cause in CAUSES for lost in ("", "lost/")
        )
        return f"<!doctype html><title>Causes</title>{links}".encode(), "text/html; charset=utf-8"
    parts = path.strip("/").split("/")
    cause = next((each for each in CAUSES if each.name == parts[0]), None)
    if cause is None:
        return None
    if path.endswith("/"):
        return _page(cause).encode(), "text/html; charset=utf-8"
    return _resource(parts[-1])


def _page(cause: Cause) -> str:
    return f"""<!doctype html><html><head><meta charset="utf-8"><title>{cause.name}</title>
    <link rel="stylesheet" href="sheet.css"><script src="script.js"></script>{cause.head}</head>
    <body><h1>{cause.name}</h1><img width="300" height="200" src="hero.png"><p class="set">Set in a font</p>
    {cause.body}{_TEXT}<iframe width="300" height="80" src="frame.html"></iframe></body></html>"""


def _resource(name: str) -> tuple[bytes, str] | None:
    stem, _, kind = name.partition("?")[0].rpartition(".")
    if kind == "png":
        return _picture(stem), "image/png"
    if name == "sheet.css":
        style = """@font-face { font-family: Garden; src: url(font.woff2) }
        body { background: #eef6ee; margin: 2em; font-family: sans-serif } .set { font-family: Garden }"""
        return style.encode(), "text/css"
    if name == "script.js":
        return (
            b'addEventListener("load", () => document.body.append("The script has run. ".repeat(20)));',
            "text/javascript",
        )
    if name == "frame.html":
        return b"<!doctype html><title>Frame</title><p>The text of a frame", "text/html"
    if kind in ("woff2", "mp4"):
        folder = "fonts/garden-ornaments.woff2" if kind == "woff2" else "film/fern.mp4"
        data = resources.files("admin.demo.site").joinpath("static", *folder.split("/")).read_bytes()
        return data, "font/woff2" if kind == "woff2" else "video/mp4"
    return None


@cache
def _picture(stem: str) -> bytes:
    """Return a picture of its own for each name."""
    generator = random.Random(stem)
    picture = Image.new("RGB", (300, 150), tuple(generator.randrange(256) for _ in range(3)))
    draw = ImageDraw.Draw(picture)
    for _ in range(40):
        x, y = generator.randrange(280), generator.randrange(130)
        draw.rectangle((x, y, x + 20, y + 20), fill=tuple(generator.randrange(256) for _ in range(3)))
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


HEADERS: Final[Mapping[str, str]] = {"Cache-Control": "no-store"}
