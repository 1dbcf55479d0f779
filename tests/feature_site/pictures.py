"""Features of pictures and styles."""

from __future__ import annotations

import io
from base64 import b64encode
from pathlib import Path
from typing import Final

from feature_site.feature import Act, Feature, Reply, css, page, png
from PIL import Image

_FAR: Final = '<div style="height:6000px"></div>'
_FONT: Final = Path(__file__).resolve().parents[2] / "admin/demo/site/static/fonts/garden-ornaments.woff2"
FONT: Final = Reply(_FONT.read_bytes(), "font/woff2")


def _picture(kind: str, size: tuple[int, int], colour: tuple[int, int, int]) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", size, colour).save(out, kind)
    return out.getvalue()


def _loads(names: str) -> str:
    """Return a script that marks as done the part that each picture names, when it has loaded."""
    return (
        f"<script>for (const image of document.querySelectorAll('{names}')) {{"
        "const ready = () => image.naturalWidth > 0 && proof.done(image.dataset.part);"
        "image.addEventListener('load', ready); ready(); }</script>"
    )


def _resources(*pairs: tuple[str, str]) -> str:
    calls = "".join(f"proof.resource('{path}', '{part}');" for path, part in pairs)
    return f"<script>{calls}</script>"


PICTURES: Final = (
    Feature(
        "srcset-width",
        "A picture is chosen by width and sizes.",
        '<img srcset="100x10-small.png 320w, 640x10-middle.png 640w, 1280x10-large.png 1280w" sizes="50vw" '
        'src="10x10-fallback.png" onload="proof.done(\'chosen\')">',
        parts=("chosen",),
        proofs=(r"(640x10-middle|1280x10-large)\.png",),
    ),
    Feature(
        "srcset-density",
        "A picture is chosen by the density of the screen.",
        '<img srcset="20x20-once.png 1x, 40x40-twice.png 2x" src="10x10-old.png" onload="proof.done(\'chosen\')">',
        parts=("chosen",),
        proofs=(r"(20x20-once|40x40-twice)\.png",),
    ),
    Feature(
        "picture-type",
        "A picture element takes the first type that the browser knows.",
        '<picture><source type="image/x-unknown" srcset="never.xyz"><source type="image/webp" srcset="good.webp">'
        '<img src="10x10-old.png" data-part="webp"></picture>' + _loads("img"),
        parts=("webp",),
        proofs=("good.webp",),
        files={"good.webp": Reply(_picture("WEBP", (24, 16), (10, 200, 10)), "image/webp")},
    ),
    Feature(
        "art-direction",
        "A picture element takes another crop in a narrow window.",
        '<picture><source media="(min-width: 700px)" srcset="200x50-wide.png">'
        '<img src="50x50-narrow.png" onload="proof.done(\'chosen\')"></picture>',
        parts=("chosen",),
        proofs=(r"(200x50-wide|50x50-narrow)\.png",),
    ),
    Feature(
        "sizes-auto",
        "A lazy picture with automatic sizes is chosen by the width of its box.",
        _FAR + '<div style="width:200px"><img style="width:100%" loading="lazy" sizes="auto" '
        'srcset="100x10-small.png 100w, 400x10-large.png 400w" onload="proof.done(\'chosen\')"></div>',
        parts=("chosen",),
        proofs=(r"(100x10-small|400x10-large)\.png",),
    ),
    Feature("lazy-picture", "A lazy picture lies far below.", _FAR + '<img loading="lazy" src="30x20-far.png">'),
    Feature(
        "lazy-frame",
        "A lazy frame lies far below.",
        _FAR + '<iframe loading="lazy" src="inner.html"></iframe>',
        parts=("frame",),
        proofs=("inner.html", "30x22-inframe.png"),
        files={
            "inner.html": page("<img src=\"30x22-inframe.png\" onload=\"parent.postMessage({part: 'frame'}, '*')\">")
        },
    ),
    Feature(
        "data-src",
        "A script copies data-src when an IntersectionObserver sees the picture.",
        _FAR
        + '<img width=30 height=20 data-src="30x20-first.png">'
        + _FAR
        + '<img width=30 height=20 data-src="30x20-second.png"><script>'
        "const observer = new IntersectionObserver(entries => { for (const entry of entries)"
        " if (entry.isIntersecting) entry.target.src = entry.target.dataset.src; });"
        "document.querySelectorAll('img').forEach(image => observer.observe(image));</script>",
    ),
    Feature(
        "lazy-background",
        "A background is loaded when its box is visible.",
        _FAR + '<div id="box" style="height:60px"></div><script>proof.resource("30x25-background.png", "background");'
        "new IntersectionObserver(entries => { if (entries.some(entry => entry.isIntersecting))"
        " box.style.backgroundImage = 'url(30x25-background.png)'; }).observe(box);</script>",
    ),
    Feature(
        "scroll-event",
        "A picture is loaded by a listener of scroll events.",
        '<div style="height:2000px"></div><script>addEventListener("scroll", () => proof.add("31x20-scrolled.png"), {once: true});'
        "</script>",
    ),
    Feature(
        "scroll-depth",
        "Pictures are loaded at four depths of the page.",
        '<div style="height:9000px"></div><script>const steps = [1500, 3500, 5500, 7500], names = '
        '["32x20-one.png", "32x21-two.png", "32x22-three.png", "32x23-four.png"];'
        'addEventListener("scroll", () => { while (steps.length && scrollY + innerHeight > steps[0]) '
        "{ steps.shift(); proof.add(names.shift()); } });</script>",
    ),
    Feature(
        "css-background",
        "A style sheet names pictures in many properties.",
        '<ul><li>One</li></ul><p id="quote">Text</p><div id="mask"></div><div id="border"></div>'
        + _resources(
            *(
                (f"20x{10 + at}-{name}.png", name)
                for at, name in enumerate(("list", "content", "mask", "border", "cursor"))
            )
        ),
        head='<link rel="stylesheet" href="look.css">',
        files={
            "look.css": css(
                "li {list-style-image: url(20x10-list.png)} #quote::before {content: url(20x11-content.png)}"
                "#mask {mask-image: url('20x12-mask.png'); width: 40px; height: 40px; background: red}"
                '#border {border: 10px solid; border-image: url("20x13-border.png") 3}'
                "body {cursor: url(20x14-cursor.png), auto}"
            )
        },
        acts=(Act("mouse"),),
    ),
    Feature(
        "css-import",
        "Style sheets import each other three times.",
        '<div id="box" style="height:40px"></div>' + _resources(("20x20-deep.png", "deep")),
        head='<link rel="stylesheet" href="a.css">',
        files={
            "a.css": css('@import "more/b.css";'),
            "more/b.css": css("@import url(c.css) layer(deep) screen;"),
            "more/c.css": css("#box {background: url(20x20-deep.png)}"),
        },
        proofs=("a.css", "more/b.css", "more/c.css", "more/20x20-deep.png"),
    ),
    Feature(
        "css-modern",
        "A style sheet uses layers, nesting, :has, @supports and custom properties.",
        '<main><div class="box"><i></i></div></main>'
        + _resources(("20x24-nested.png", "nested"), ("20x25-has.png", "has"), ("20x26-property.png", "property")),
        head="<style>@layer base {main {& .box {height: 30px; background: url(20x24-nested.png)}}}"
        "@supports selector(:has(i)) {main:has(i) {background: url(20x25-has.png)}}"
        ":root {--picture: url(20x26-property.png)} i {display: block; height: 9px; background: var(--picture)}</style>",
    ),
    Feature(
        "css-adopted",
        "A script makes a style sheet and adopts it.",
        '<div id="box" style="height:30px"></div><script>proof.resource("20x27-adopted.png", "adopted");'
        "const sheet = new CSSStyleSheet(); sheet.replaceSync('#box {background: url(20x27-adopted.png)}');"
        "document.adoptedStyleSheets = [sheet];</script>",
    ),
    Feature(
        "css-late",
        "A script adds a style sheet after a second.",
        '<div id="box" style="height:30px"></div>'
        + _resources(("20x28-late.png", "late"))
        + "<script>setTimeout(() => { const link = document.createElement('link'); link.rel = 'stylesheet';"
        "link.href = 'late.css'; document.head.append(link); }, 1000)</script>",
        files={"late.css": css("#box {background: url(20x28-late.png)}")},
    ),
    Feature(
        "image-set",
        "A background is an image-set.",
        '<div id="box" style="height:30px"></div><script>new PerformanceObserver(list => { for (const entry of list.getEntries())'
        " if (/-(one|two).png$/.test(entry.name) && entry.responseStatus === 200) proof.done('chosen'); })"
        ".observe({type: 'resource', buffered: true});</script>",
        head='<style>#box {background: image-set("20x29-one.png" 1x, "40x58-two.png" 2x)}</style>',
        parts=("chosen",),
        proofs=(r"(20x29-one|40x58-two)\.png",),
    ),
    Feature(
        "media-query",
        "A background depends on the width of the window.",
        '<div id="box" style="height:30px"></div><script>new PerformanceObserver(list => { for (const entry of list.getEntries())'
        " if (/-(wide|narrow).png$/.test(entry.name) && entry.responseStatus === 200) proof.done('chosen'); })"
        ".observe({type: 'resource', buffered: true});</script>",
        head="<style>@media (min-width: 800px) {#box {background: url(60x30-wide.png)}}"
        "@media (max-width: 799px) {#box {background: url(30x30-narrow.png)}}</style>",
        parts=("chosen",),
        proofs=(r"(60x30-wide|30x30-narrow)\.png",),
    ),
    Feature(
        "colour-scheme",
        "A picture depends on the colour scheme.",
        '<picture><source media="(prefers-color-scheme: dark)" srcset="30x31-dark.png">'
        '<img src="30x32-light.png" onload="proof.done(\'chosen\')"></picture>',
        parts=("chosen",),
        proofs=(r"(30x31-dark|30x32-light)\.png",),
    ),
    Feature(
        "print-style",
        "A style sheet is for print alone.",
        _resources(("paper.css", "paper")),
        head='<link rel="stylesheet" href="paper.css" media="print">',
        parts=("paper",),
        proofs=("paper.css",),
        files={"paper.css": css("body {color: black}")},
    ),
    Feature(
        "container-query",
        "A background depends on the width of its container.",
        '<div style="container-type:inline-size;width:300px"><div id="box" style="height:30px"></div></div>'
        + _resources(("33x30-container.png", "container")),
        head="<style>@container (min-width: 200px) {#box {background: url(33x30-container.png)}}</style>",
    ),
    Feature(
        "svg-use",
        "A drawing uses a symbol of another file.",
        '<svg width="50" height="50"><use id="use" href="sprite.svg#leaf"/></svg><script>'
        "const look = () => { if (use.getBBox().width > 20) proof.done('symbol'); else setTimeout(look, 50); }; look();</script>",
        parts=("symbol",),
        proofs=("sprite.svg",),
        files={
            "sprite.svg": Reply(
                '<svg xmlns="http://www.w3.org/2000/svg"><symbol id="leaf" viewBox="0 0 30 30">'
                '<rect width="30" height="30" fill="green"/></symbol></svg>',
                "image/svg+xml",
            )
        },
    ),
    Feature(
        "svg-image",
        "A drawing holds a picture, and an object holds a drawing.",
        '<svg width="50" height="50"><image href="34x20-inside.png" width="40" height="40" onload="proof.done(\'image\')"/></svg>'
        '<object data="drawing.svg" type="image/svg+xml" onload="proof.done(\'object\')"></object>'
        '<embed src="embedded.svg" type="image/svg+xml" onload="proof.done(\'embed\')">',
        parts=("image", "object", "embed"),
        proofs=("34x20-inside.png", "drawing.svg", "embedded.svg"),
        files={
            name: Reply(
                f'<svg xmlns="http://www.w3.org/2000/svg"><rect width="30" height="30" id="{name[:5]}"/></svg>',
                "image/svg+xml",
            )
            for name in ("drawing.svg", "embedded.svg")
        },
    ),
    Feature(
        "formats",
        "Pictures have the formats AVIF, WebP, GIF and JPEG.",
        "".join(f'<img src="p.{kind}" data-part="{kind}">' for kind in ("avif", "webp", "gif", "jpg")) + _loads("img"),
        parts=("avif", "webp", "gif", "jpg"),
        proofs=("p.avif", "p.webp", "p.gif", "p.jpg"),
        files={
            "p.avif": Reply(_picture("AVIF", (16, 16), (200, 0, 0)), "image/avif"),
            "p.webp": Reply(_picture("WEBP", (17, 16), (0, 200, 0)), "image/webp"),
            "p.gif": Reply(_picture("GIF", (18, 16), (0, 0, 200)), "image/gif"),
            "p.jpg": Reply(_picture("JPEG", (19, 16), (200, 200, 0)), "image/jpeg"),
        },
    ),
    Feature(
        "inline-data",
        "Pictures and scripts stand in data URLs.",
        f'<img src="data:image/png;base64,{b64encode(png("inline", (21, 21))).decode()}" '
        "onload=\"naturalWidth === 21 && proof.done('picture')\">"
        '<script src="data:text/javascript,proof.done(\'script\')"></script><img src="22x22-beside.png">',
        parts=("picture", "script", "beside"),
        proofs=("22x22-beside.png",),
    ),
    Feature(
        "image-decode",
        "A script decodes a picture before the page shows it.",
        "<script>const image = new Image(); image.src = '35x20-decoded.png'; image.decode().then(() => proof.seen(image));"
        "fetch('36x20-bitmap.png').then(answer => answer.blob()).then(createImageBitmap)"
        ".then(bitmap => bitmap.width === 36 && proof.done('bitmap'));</script>",
        parts=("decoded", "bitmap"),
    ),
    Feature(
        "font-range",
        "A font is loaded for a range of characters alone.",
        '<p style="font-family: Ornaments">✿ A a</p><script>document.fonts.ready.then(() => {'
        "const loaded = [...document.fonts].filter(font => font.status === 'loaded').length;"
        "if (loaded === 1) proof.done('one'); });</script>",
        head="<style>@font-face {font-family: Ornaments; src: url(used.woff2) format('woff2'); unicode-range: U+41-7A}"
        "@font-face {font-family: Ornaments; src: url(unused.woff2) format('woff2'); unicode-range: U+4E00-4EFF}</style>",
        parts=("one",),
        proofs=("used.woff2",),
        files={"used.woff2": FONT, "unused.woff2": FONT},
    ),
    Feature(
        "font-script",
        "A script loads a font from another host.",
        "<script>const font = new FontFace('Leaf', 'url(https://cdn.features.test/font-script/leaf.woff2)');"
        "font.load().then(() => { document.fonts.add(font); proof.done('font'); });</script>",
        parts=("font",),
        proofs=("leaf.woff2",),
        files={"leaf.woff2": FONT},
    ),
    Feature(
        "icons",
        "The head names icons and a web app manifest, which the browser does not need.",
        "<script>window.check = async () => { for (const name of ['16x16-icon.png', '180x180-touch.png', 'app.webmanifest']) {"
        "const answer = await fetch(name); if (answer.ok) proof.done(name); }"
        "const manifest = await (await fetch('app.webmanifest')).json();"
        "if ((await fetch(manifest.icons[0].src)).ok) proof.done('listed'); }</script>",
        head='<link rel="icon" href="16x16-icon.png"><link rel="apple-touch-icon" href="180x180-touch.png">'
        '<link rel="manifest" href="app.webmanifest">',
        parts=("16x16-icon.png", "180x180-touch.png", "app.webmanifest", "listed"),
        proofs=("16x16-icon.png", "180x180-touch.png", "app.webmanifest", "192x192-listed.png"),
        files={
            "app.webmanifest": Reply(
                '{"name": "Features", "icons": [{"src": "192x192-listed.png", "sizes": "192x192"}]}',
                "application/manifest+json",
            )
        },
        acts=(Act("evaluate", "check()"),),
    ),
    Feature(
        "preload",
        "The head preloads a picture, a module and a font, and prefetches a document.",
        _resources(
            ("37x20-preloaded.png", "preloaded"), ("module.js", "module"), ("font.woff2", "font"), ("next.html", "next")
        ),
        head='<link rel="preload" as="image" href="37x20-preloaded.png"><link rel="modulepreload" href="module.js">'
        '<link rel="preload" as="font" type="font/woff2" crossorigin href="font.woff2"><link rel="prefetch" href="next.html">',
        parts=("preloaded", "module", "font", "next"),
        proofs=("37x20-preloaded.png", "module.js", "font.woff2", "next.html"),
        files={
            "module.js": Reply("export const a = 1;", "text/javascript"),
            "font.woff2": FONT,
            "next.html": page("Next"),
        },
    ),
    Feature(
        "early-hints",
        "The response has an interim 103 before it.",
        '<img src="38x20-hinted.png">',
        page=Reply(
            Feature("early-hints", "The response has an interim 103 before it.", '<img src="38x20-hinted.png">').text(),
            "text/html; charset=utf-8",
            early=b"HTTP/1.1 103 Early Hints\r\nLink: <38x20-hinted.png>; rel=preload; as=image\r\n\r\n",
        ),
    ),
    Feature(
        "many-pictures",
        "The page has 120 pictures.",
        "".join(f'<img src="{8 + at % 9}x{8 + at // 9}-p{at}.png">' for at in range(120)),
    ),
    Feature(
        "large-page",
        "The page has 6,000 paragraphs, and a picture at its end.",
        "<p>A paragraph of a long page, with words that fill the line.</p>" * 6000 + '<img src="39x20-last.png">',
    ),
)
