"""Features of whole documents: encodings, legacy markup, headers that rule a page, frames, downloads."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final

from feature_site.feature import Act, Feature, Question, Raw, Reply, click, css, js, page, png
from feature_site.pictures import FONT

type _Write = Callable[[bytes], Awaitable[None]]
type _Read = Callable[[int], Awaitable[bytes]]

_HTML: Final = "text/html; charset=utf-8"


def _document(feature: Feature, *headers: tuple[str, str], kind: str = _HTML, codec: str = "utf-8") -> Reply:
    """Return the feature's page in another encoding or with further headers."""
    text = feature.text().replace('<meta charset="utf-8">', "")
    return Reply(text.encode(codec), kind, headers=headers)


def _encoded(name: str, codec: str, kind: str, word: str) -> Feature:
    about = f"The page is encoded as {codec}."
    body = f"<p id=p>{word}</p><script>if (p.textContent.length === {len(word)} && p.textContent.codePointAt(0) === {ord(word[0])}) proof.add('110x10-read.png');</script>"
    return Feature(
        name,
        about,
        "",
        page=_document(Feature(name, about, body), kind=kind, codec=codec),
        parts=("read",),
        proofs=("110x10-read.png",),
    )


async def _moving(_: Question, write: _Write, read: _Read) -> None:
    """Send pictures without end, each of which replaces the one before."""
    await write(
        b"HTTP/1.1 200 OK\r\nContent-Type: multipart/x-mixed-replace; boundary=next\r\nConnection: close\r\n\r\n"
    )
    for number in range(10_000):
        picture = png(f"moving{number}", (111, 10))
        await write(b"--next\r\nContent-Type: image/png\r\nContent-Length: %d\r\n\r\n%s\r\n" % (len(picture), picture))
        await asyncio.sleep(0.3)


def _third_party(question: Question) -> Reply:
    if "third=yes" in question.headers.get("cookie", ""):
        return page("<img src='112x10-known.png' onload=\"parent.postMessage({part: 'known'}, '*')\">")
    cookie = ("Set-Cookie", "third=yes; Path=/third-party/; SameSite=None; Secure; Partitioned")
    return page("<script>location.replace('again.html')</script>", cookie)


def _again(question: Question) -> Reply:
    return page("<script>location.replace('inner.html')</script>")


_MIXED: Final = Feature(
    "upgrade-insecure",
    "The page asks for http pictures to be loaded by https.",
    "<img src='http://cdn.features.test/upgrade-insecure/113x10-upgraded.png'>",
    headers=(("Content-Security-Policy", "upgrade-insecure-requests"),),
    proofs=("113x10-upgraded.png",),
)

DOCUMENTS: Final = (
    _encoded("encoding-latin", "windows-1252", "text/html; charset=windows-1252", "Grüße € aus dem Garten"),
    _encoded("encoding-japanese", "shift_jis", "text/html; charset=Shift_JIS", "庭園の日本語"),
    _encoded("encoding-utf16", "utf-16", "text/html", "Сад и 庭園"),
    Feature(
        "base-href",
        "All URLs are relative to a base element.",
        "<img src='114x10-below.png'><script>proof.text('word.txt', 'leaf', 'word');</script>",
        head="<base href='deep/folder/'>",
        parts=("below", "word"),
        proofs=("deep/folder/114x10-below.png", "deep/folder/word.txt"),
        files={"deep/folder/word.txt": Reply("leaf")},
    ),
    Feature(
        "legacy-markup",
        "Pictures stand in a body's background, an input, a table, an object and an applet-era embed.",
        "<table background='115x10-table.png'><tr><td>Cell</table><form onsubmit='return false'><input type=image src='115x11-input.png' id=i></form>"
        "<object data='115x12-object.png' type='image/png' id=o></object><img lowsrc='unused.png' src='115x13-image.png'>"
        "<script>document.body.background = '115x14-body.png'; i.onload = () => proof.done('input'); o.onload = () => proof.done('object');"
        "proof.resource('115x10-table.png', 'table'); proof.resource('115x14-body.png', 'body');</script>",
        parts=("table", "input", "object", "image", "body"),
        proofs=tuple(f"115x1{at}-{name}.png" for at, name in enumerate(("table", "input", "object", "image", "body"))),
    ),
    Feature(
        "frameset",
        "The page is a frameset of two documents.",
        "",
        page=Reply(
            Feature("frameset", "A frameset.", "", parts=("left", "right")).text().partition("<body>")[0]
            + "<frameset cols='50%,50%'><frame src='left.html'><frame src='right.html'></frameset></html>",
            _HTML,
        ),
        parts=("left", "right"),
        proofs=("left.html", "right.html", "116x10-left.png", "116x11-right.png"),
        files={
            f"{name}.html": page(
                f"<img src='116x1{at}-{name}.png' onload=\"top.postMessage({{part: '{name}'}}, '*')\">"
            )
            for at, name in enumerate(("left", "right"))
        },
    ),
    Feature(
        "svg-document",
        "A frame shows an SVG document with a picture and a style sheet.",
        "<iframe src='drawing.svg' width=300 height=200></iframe>",
        parts=("drawing",),
        proofs=("drawing.svg", "drawing.css", "117x10-inside.png"),
        files={
            "drawing.svg": Reply(
                '<?xml version="1.0"?><?xml-stylesheet href="drawing.css"?><svg xmlns="http://www.w3.org/2000/svg" width="200" height="100">'
                '<image id="i" href="117x10-inside.png" width="50" height="50"/><script>document.getElementById("i").addEventListener("load", () => parent.postMessage({part: "drawing"}, "*"));</script></svg>',
                "image/svg+xml",
            ),
            "drawing.css": css("svg {background: white}"),
        },
    ),
    Feature(
        "xhtml",
        "The page is XHTML.",
        "",
        page=Reply(
            '<?xml version="1.0" encoding="utf-8"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title><script src="main.js"></script></head>'
            '<body><img src="118x10-strict.png" onload="document.documentElement.dataset.result = \'pass\'"/></body></html>',
            "application/xhtml+xml",
        ),
        parts=("strict",),
        proofs=("main.js", "118x10-strict.png"),
        files={"main.js": js("document.documentElement.dataset.result = 'wait';")},
    ),
    Feature(
        "trusted-types",
        "A content security policy forbids inline scripts and asks for trusted types; a button loads more.",
        "<button id=b>Load more</button>",
        head="<script src='main.js' defer></script>",
        page=Reply(
            '<!doctype html><html><head><title>x</title><script src="main.js" defer></script></head><body><h1>Strict</h1><button id="b">Load more</button></body></html>',
            _HTML,
            headers=(
                (
                    "Content-Security-Policy",
                    "default-src 'self'; script-src 'self'; require-trusted-types-for 'script'; object-src 'none'",
                ),
            ),
        ),
        parts=("more",),
        proofs=("main.js", "119x10-more.png"),
        files={
            "main.js": js(
                "b.onclick = () => { const image = new Image(); image.onload = () => { document.documentElement.dataset.result = 'pass'; }; image.src = '119x10-more.png'; document.body.append(image); };"
            )
        },
        acts=(click("#b"),),
    ),
    _MIXED,
    Feature(
        "frame-rules",
        "A frame may be shown by X-Frame-Options and frame-ancestors, another may not.",
        "<iframe src='allowed.html'></iframe><iframe src='https://cdn.features.test/frame-rules/refused.html'></iframe><img src='120x11-beside.png'>",
        parts=("allowed", "beside"),
        proofs=("allowed.html", "120x10-allowed.png", "120x11-beside.png"),
        files={
            "allowed.html": page(
                "<img src='120x10-allowed.png' onload=\"parent.postMessage({part: 'allowed'}, '*')\">",
                ("X-Frame-Options", "SAMEORIGIN"),
                ("Content-Security-Policy", "frame-ancestors 'self'"),
            ),
            "refused.html": page("Refused", ("X-Frame-Options", "DENY")),
        },
    ),
    Feature(
        "third-party",
        "A frame of another site needs a cookie of its own, which is partitioned.",
        "<iframe src='https://elsewhere.test/third-party/inner.html'></iframe>",
        parts=("known",),
        proofs=("inner.html", "again.html", "112x10-known.png"),
        files={"inner.html": _third_party, "again.html": _again},
    ),
    Feature(
        "permissions",
        "The page asks for the place and for notifications, and goes on with any answer.",
        "<script>navigator.geolocation.getCurrentPosition(() => proof.add('121x10-place.png'), () => proof.add('121x10-place.png'), {timeout: 3000});"
        "Notification.requestPermission().then(() => proof.add('121x11-notice.png'));</script>",
        seconds=30,
    ),
    Feature(
        "download-button",
        "A button downloads a file.",
        "<a id=a href='leaflet.bin' download>Download the leaflet</a><script>a.addEventListener('click', () => proof.done('clicked'));</script>",
        parts=("clicked",),
        proofs=("leaflet.bin",),
        files={
            "leaflet.bin": Reply(
                b"leaf" * 500,
                "application/octet-stream",
                headers=(("Content-Disposition", 'attachment; filename="leaflet.bin"'),),
            )
        },
        acts=(click("#a"),),
    ),
    Feature(
        "moving-picture",
        "A picture is replaced without end (multipart/x-mixed-replace).",
        "<img src='stream' onload=\"naturalWidth === 111 && proof.done('moving')\"><img src='111x11-beside.png'>",
        parts=("moving", "beside"),
        proofs=("stream", "111x11-beside.png"),
        files={"stream": Raw(_moving)},
    ),
    Feature(
        "lazy-library",
        "Lazy pictures have data-srcset, data-bg and a noscript element, as libraries use them.",
        "<div style='height:4000px'></div><img class=lazyload data-srcset='122x10-set.png 1x' width=122 height=10>"
        "<div class=lazyload data-bg='122x11-ground.png' style='height:30px'></div><noscript><img src='122x12-noscript.png'></noscript>"
        "<script>proof.resource('122x11-ground.png', 'ground'); const look = new IntersectionObserver(entries => { for (const e of entries) if (e.isIntersecting) {"
        "const t = e.target; if (t.dataset.srcset) t.srcset = t.dataset.srcset; if (t.dataset.bg) t.style.backgroundImage = `url(${t.dataset.bg})`; } }, {rootMargin: '50px'});"
        "document.querySelectorAll('.lazyload').forEach(each => look.observe(each));</script>",
        parts=("set", "ground"),
        proofs=("122x10-set.png", "122x11-ground.png"),
    ),
    Feature(
        "third-level-css",
        "A style sheet of another host names a font and a picture by relative URLs.",
        "<div id=box style='height:30px'>Text</div><script>document.fonts.ready.then(() => { if ([...document.fonts].some(f => f.status === 'loaded')) proof.done('font'); });"
        "</script>",
        head="<link rel=stylesheet href='https://cdn.features.test/third-level-css/themes/dark/theme.css?v=3'>",
        parts=("font",),
        proofs=(r"themes/dark/theme\.css\?v=3", "themes/fonts/o.woff2", "themes/dark/123x10-themed.png"),
        files={
            "themes/dark/theme.css": css(
                "@font-face {font-family: O; src: url(../fonts/o.woff2)} #box {font-family: O; background: url('123x10-themed.png')}"
            ),
            "themes/fonts/o.woff2": FONT,
        },
    ),
    Feature(
        "error-page",
        "The page has the status 404, and content all the same.",
        "",
        page=Reply(Feature("error-page", "Not found, but shown.", "<img src='124x10-lost.png'>").text(), _HTML, 404),
        parts=("lost",),
        proofs=("124x10-lost.png",),
    ),
    Feature(
        "text-fragment",
        "A script reads the fragment and the query of the page's own address.",
        "<script>const url = new URL(location); url.searchParams.set('view', 'all'); history.replaceState(null, '', url); proof.text('part' + location.search, 'leaf', 'query');</script>",
        parts=("query",),
        proofs=(r"part\?view=all",),
        files={"part": Reply("leaf")},
    ),
    Feature(
        "slow-page",
        "The page itself arrives in pieces over four seconds.",
        "",
        page=Raw(lambda q, write, read: _pieces(write)),
        parts=("early", "late"),
        proofs=("125x10-early.png", "125x11-late.png"),
    ),
    Feature(
        "act-on-focus",
        "A field loads its suggestions when it is focused.",
        "<input id=q placeholder='Where to?'><script>q.addEventListener('focus', () => proof.add('126x10-focused.png'), {once: true});</script>",
        acts=(Act("click", "#q"),),
    ),
)


async def _pieces(write: _Write) -> None:
    text = Feature(
        "slow-page", "The page arrives slowly.", "<img src='125x10-early.png'>SPLIT<img src='125x11-late.png'>"
    ).text()
    first, second = text.split("SPLIT")
    await write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    for piece in (first, "<p>one</p>", "<p>two</p>", "<p>three</p>", second):
        await write(f"{len(piece.encode()):x}\r\n{piece}\r\n".encode())
        await asyncio.sleep(0.8)
    await write(b"0\r\n\r\n")
