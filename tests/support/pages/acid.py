"""An acid test of our own: eighteen boxes, each of which is blue when one thing of a page works, and red otherwise.

The things are those of the Archival Acid Test (Kelly, Nelson and Weigle, 2014), whose files are not used.
"""

from __future__ import annotations

import io
from base64 import b64encode
from pathlib import Path
from typing import Final

from PIL import Image
from playwright.async_api import Page

from support.pages.feature import CDN, Feature, Reply, css, js, page

_MP4: Final = (Path(__file__).parent / "media" / "blue.mp4").read_bytes()
BOX: Final = 20
TOLERANCE: Final = 40
"""Of 255: a film's blue may be off by so much."""

CHECKS: Final = {
    "relative": "A picture has a relative URL.",
    "absolute": "A picture has an absolute URL.",
    "other-host": "A picture is on another host.",
    "data-url": "A picture stands in the page.",
    "no-scheme": "A picture's URL has no scheme.",
    "css-import": "A style sheet imports a style sheet, which names a picture.",
    "local-script": "A script of this host makes a picture.",
    "other-script": "A script of another host makes a picture.",
    "inline-script": "A script of the page makes a picture.",
    "xhr": "A script loads the bytes of a picture.",
    "xhr-other": "A script may not read what another host keeps to itself.",
    "timer": "A script makes a picture after two seconds.",
    "scroll": "A script makes a picture when the page is scrolled.",
    "late-style": "A script adds a style sheet, which names a picture.",
    "canvas": "A script draws.",
    "storage": "A script remembers a picture's name in localStorage.",
    "frame": "A frame holds a picture.",
    "video": "A film plays.",
}


def _square(colour: tuple[int, int, int]) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (1, 1), colour).save(out, "PNG")
    return out.getvalue()


_BLUE: Final = _square((0, 0, 255))
_ROOT: Final = "http://www.features.test/acid"
_OTHER: Final = f"http://{CDN}/acid"
_FIXED: Final = {
    "relative": '<img src="blue.png">',
    "absolute": f'<img src="{_ROOT}/absolute.png">',
    "other-host": f'<img src="{_OTHER}/other.png">',
    "data-url": f'<img src="data:image/png;base64,{b64encode(_BLUE).decode()}">',
    "no-scheme": '<img src="//www.features.test/acid/scheme.png">',
    "frame": f'<iframe src="frame.html" width="{BOX}" height="{BOX}"></iframe>',
    "video": f'<video src="film.mp4" autoplay muted loop width="{BOX}" height="{BOX}"></video>',
    "canvas": f'<canvas width="{BOX}" height="{BOX}"></canvas>',
}
_SCRIPT: Final = """
const box = name => document.getElementById(name);
const show = (name, src) => { const image = new Image(); image.src = src; box(name).replaceChildren(image); };
show("inline-script", "inline.png");
const ask = new XMLHttpRequest();
ask.open("GET", "bytes.png"); ask.responseType = "arraybuffer";
ask.onload = () => {
  const text = String.fromCharCode(...new Uint8Array(ask.response));
  if (ask.status === 200) show("xhr", "data:image/png;base64," + btoa(text));
};
ask.send();
box("xhr-other").style.background = "blue";
const closed = new XMLHttpRequest();
closed.open("GET", "OTHER/closed.txt");
closed.onload = () => { box("xhr-other").style.background = "red"; };
closed.send();
setTimeout(() => show("timer", "timer.png"), 2000);
addEventListener("scroll", () => show("scroll", "scroll.png"), {once: true});
const link = document.createElement("link");
link.rel = "stylesheet"; link.href = "late.css"; document.head.append(link);
const paint = document.querySelector("canvas").getContext("2d");
paint.fillStyle = "blue"; paint.fillRect(0, 0, SIZE, SIZE);
localStorage.setItem("picture", "storage.png");
show("storage", localStorage.getItem("picture"));
""".replace("OTHER", _OTHER).replace("SIZE", str(BOX))


def _html() -> str:
    boxes = "".join(
        f'<p><span class="box" id="{name}">{_FIXED.get(name, "")}</span> {about}</p>' for name, about in CHECKS.items()
    )
    style = (
        f".box {{display: inline-block; width: {BOX}px; height: {BOX}px; background: red; overflow: hidden; line-height: 0}}"
        f".box img {{width: {BOX}px; height: {BOX}px}} .box video {{object-fit: fill}} iframe {{border: 0}} body {{padding-bottom: 2000px}}"
    )
    return (
        f'<!doctype html><meta charset="utf-8"><title>Acid</title><style>{style}</style><link rel="stylesheet" href="first.css">'
        f"<h1>Eighteen boxes</h1>{boxes}<script>{_SCRIPT}</script><script src='local.js'></script>"
        f"<script src='{_OTHER}/other.js'></script>"
    )


def _blue() -> Reply:
    return Reply(_BLUE, "image/png")


ACID: Final = Feature(
    "acid",
    "Eighteen boxes are blue.",
    "",
    scheme="http",
    page=Reply(_html(), "text/html; charset=utf-8"),
    parts=tuple(CHECKS),
    proofs=(
        *(
            rf"{name}\.png"
            for name in ("blue", "absolute", "other", "scheme", "imported", "local", "foreign", "inline")
        ),
        *(rf"{name}\.png" for name in ("bytes", "timer", "scroll", "late", "storage", "inframe")),
        *(r"first\.css", r"second\.css", r"late\.css", r"local\.js", r"other\.js", r"frame\.html", r"film\.mp4"),
    ),
    files={
        **{
            f"{name}.png": _blue()
            for name in (
                "blue",
                "absolute",
                "other",
                "scheme",
                "imported",
                "local",
                "foreign",
                "inline",
                "bytes",
                "timer",
            )
        },
        **{f"{name}.png": _blue() for name in ("scroll", "late", "storage", "inframe")},
        "first.css": css('@import "second.css";'),
        "second.css": css("#css-import {background: url(imported.png)}"),
        "late.css": css("#late-style {background: url(late.png)}"),
        "local.js": js("show('local-script', 'local.png');"),
        "other.js": js("show('other-script', 'foreign.png');"),
        "closed.txt": Reply("closed", headers=(("Access-Control-Allow-Origin", "https://nobody.test"),)),
        "frame.html": page(f"<style>body {{margin: 0}}</style><img src=inframe.png width={BOX} height={BOX}>"),
        "film.mp4": Reply(_MP4, "video/mp4"),
    },
)


async def blue_boxes(page: Page) -> set[str]:
    """Return the names of the boxes that are blue on the screen, at their centre and near their corners."""
    places = await page.evaluate(
        "() => [...document.querySelectorAll('.box')].map(box => { const at = box.getBoundingClientRect();"
        " return [box.id, Math.round(at.x + scrollX), Math.round(at.y + scrollY)]; })"
    )
    with Image.open(io.BytesIO(await page.screenshot(full_page=True))) as picture:
        shown = picture.convert("RGB")
    return {
        name
        for name, x, y in places
        if all(_is_blue(shown, x + dx, y + dy) for dx in (3, 10, 16) for dy in (3, 10, 16))
    }


def _is_blue(picture: Image.Image, x: int, y: int) -> bool:
    found = picture.getpixel((x, y))
    assert isinstance(found, tuple)
    red, green, blue = (float(value) for value in found[:3])
    return red <= TOLERANCE and green <= TOLERANCE and blue >= 255 - TOLERANCE
