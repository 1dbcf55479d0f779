"""Further features of pages: modules, workers, frames, lazy parts, and addresses that a script makes."""

from __future__ import annotations

from typing import Final

from feature_site.feature import Act, Feature, Question, Reply, css, data, js, page
from feature_site.pictures import FONT


def _hinted(question: Question) -> Reply:
    word = "hinted" if question.headers.get("sec-ch-dpr") else "plain"
    return Reply(word, headers=(("Vary", "Sec-CH-DPR"), ("Cache-Control", "no-store")))


def _greeting(question: Question) -> Reply:
    """Answer a form that was sent into a frame, each body with a page of its own."""
    word = "apple" if b"apple" in question.body else "pear"
    return page(f"<script>parent.postMessage({{part: '{word}'}}, '*')</script>")


MODERN_PAGES: Final = (
    Feature(
        "import-map-scopes",
        "An import map has a prefix and a scope, and modules are resolved by it.",
        "<script type=module>import {word} from 'leaf'; import 'lib/side.js'; import {old} from './old/main.js';"
        "if (word === 'new') proof.done('new'); if (old === 'old') proof.done('old');"
        "if (import.meta.resolve('lib/x.js').endsWith('/import-map-scopes/lib/x.js')) proof.done('resolved');</script>",
        head='<script type=importmap>{"imports": {"leaf": "./v1/leaf.js", "lib/": "./lib/"}, '
        '"scopes": {"./old/": {"leaf": "./v0/leaf.js"}}}</script>',
        parts=("new", "old", "side", "resolved"),
        proofs=("v1/leaf.js", "v0/leaf.js", "lib/side.js", "old/main.js"),
        files={
            "v1/leaf.js": js("export const word = 'new';"),
            "v0/leaf.js": js("export const word = 'old';"),
            "lib/side.js": js("proof.done('side');"),
            "old/main.js": js("import {word} from 'leaf'; export const old = word;"),
        },
    ),
    Feature(
        "import-query",
        "Modules are imported with the time in their query, and name pictures relative to themselves.",
        "<script type=module>const {word} = await import('./part.js?v=' + Date.now()); if (word === 'leaf') proof.done('part');"
        "const {picture} = await import(`./more/far.js?${Math.random()}`); proof.add(picture);</script>",
        parts=("part", "relative"),
        proofs=(r"part\.js\?v=\d+", r"more/far\.js\?0\.\d+.*", "more/150x10-relative.png"),
        files={
            "part.js": js("export const word = 'leaf';"),
            "more/far.js": js("export const picture = new URL('150x10-relative.png', import.meta.url).href;"),
        },
    ),
    Feature(
        "preload-set",
        "The head preloads a module and one of two pictures.",
        "<img srcset='150x11-once.png 1x, 300x22-twice.png 2x' onload=\"proof.done('chosen')\"><script type=module src=first.js></script>",
        head="<link rel=preload as=image imagesrcset='150x11-once.png 1x, 300x22-twice.png 2x'><link rel=modulepreload href=second.js>",
        parts=("chosen", "module"),
        proofs=(r"(150x11-once|300x22-twice)\.png", "first.js", "second.js"),
        files={"first.js": js("import './second.js';"), "second.js": js("proof.done('module');")},
    ),
    Feature(
        "style-module",
        "A component adopts a style sheet that was imported as a module.",
        "<div id=host></div><script type=module>import sheet from './looks/look.css' with {type: 'css'}; proof.resource('150x12-adopted.png', 'adopted');"
        "const tree = host.attachShadow({mode: 'open'}); tree.adoptedStyleSheets = [sheet]; tree.innerHTML = '<p>Leaf</p>';</script>",
        parts=("adopted",),
        proofs=("looks/look.css", "looks/150x12-adopted.png"),
        files={"looks/look.css": css("p {background: url(150x12-adopted.png)}")},
    ),
    Feature(
        "worker-scripts",
        "A worker imports scripts, makes a synchronous request, and starts another worker.",
        "<script>new Worker('work/outer.js').onmessage = ({data}) => proof.done(data);</script>",
        parts=("one-two-three", "inner"),
        proofs=("work/outer.js", "work/a.js", "work/b.js", "work/c.txt", "work/inner.js", "work/d.txt"),
        files={
            "work/outer.js": js(
                "importScripts('a.js', 'b.js'); const x = new XMLHttpRequest(); x.open('GET', 'c.txt', false); x.send();"
                "postMessage([one, two, x.responseText].join('-')); new Worker('inner.js').onmessage = e => postMessage(e.data);"
            ),
            "work/a.js": js("const one = 'one';"),
            "work/b.js": js("const two = 'two';"),
            "work/c.txt": Reply("three"),
            "work/inner.js": js("fetch('d.txt').then(a => a.text()).then(text => postMessage(text));"),
            "work/d.txt": Reply("inner"),
        },
    ),
    Feature(
        "chunks",
        "A loader adds scripts and style sheets when they are needed, as bundlers do.",
        "<div id=box style='height:30px'></div><script>const load = (tag, url) => new Promise((go, no) => { const e = document.createElement(tag); e.onload = go; e.onerror = no;"
        "if (tag === 'link') { e.rel = 'stylesheet'; e.href = url; } else e.src = url; document.head.append(e); }); window.chunks = [];"
        "proof.resource('150x13-chunk.png', 'chunk');"
        "Promise.all([load('script', 'static/7.4f3a9c21.js'), load('link', 'static/7.8b1d02ee.css')]).then(() => { if (chunks[0] === 7) proof.done('script'); });</script>",
        parts=("script", "chunk"),
        proofs=("static/7.4f3a9c21.js", "static/7.8b1d02ee.css", "static/150x13-chunk.png"),
        files={
            "static/7.4f3a9c21.js": js("chunks.push(7);"),
            "static/7.8b1d02ee.css": css("#box {background: url(150x13-chunk.png)}"),
        },
    ),
    Feature(
        "lazy-element",
        "The module of a custom element is imported when the element is seen.",
        "<div style='height:5000px'></div><leaf-card>Leaf</leaf-card><script>new IntersectionObserver((entries, watch) => { if (entries.some(e => e.isIntersecting)) {"
        "watch.disconnect(); import('./card.js'); } }).observe(document.querySelector('leaf-card'));</script>",
        parts=("card",),
        proofs=("card.js", "150x14-card.png"),
        files={
            "card.js": js(
                "customElements.define('leaf-card', class extends HTMLElement { connectedCallback() { proof.add('150x14-card.png', this); } });"
            )
        },
    ),
    Feature(
        "lazy-row",
        "Lazy pictures lie beside each other in a row that scrolls sideways.",
        "<div style='height:1500px'></div><div id=row style='width:400px;overflow-x:scroll;white-space:nowrap'>"
        + "".join(
            f"<div style='display:inline-block;width:5000px'><img loading=lazy width=150 height=40 src='150x{40 + at}-row{at}.png'></div>"
            for at in range(4)
        )
        + "</div>",
        acts=(
            Act("evaluate", "row.scrollIntoView()"),
            *(Act("evaluate", f"row.scrollLeft = {at * 5000}") for at in (1, 2, 3, 3)),
        ),
    ),
    Feature(
        "content-visibility",
        "Sections with content-visibility load their lazy pictures when they come near.",
        "".join(
            f"<section style='content-visibility:auto;contain-intrinsic-size:auto 2500px;min-height:2500px'><img loading=lazy width=150 height=20 src='150x{20 + at}-part{at}.png'></section>"
            for at in range(4)
        ),
    ),
    Feature(
        "sticky-sentinel",
        "An observer of a sentinel shows a small logo in a sticky header.",
        "<div id=mark style='height:1px'></div><header id=bar style='position:sticky;top:0'>Garden</header><div style='height:5000px'>Text</div>"
        "<script>new IntersectionObserver(([entry]) => { if (!entry.isIntersecting) proof.add('150x24-compact.png', bar); }).observe(mark);</script>",
    ),
    Feature(
        "invoker",
        "A button opens a dialog by its command attribute, and a lazy picture is in it.",
        "<button command='show-modal' commandfor=d>Show the map</button><dialog id=d><img loading=lazy src='150x25-map.png'></dialog>",
        acts=(Act("click", "button"),),
    ),
    Feature(
        "client-hints",
        "The page needs client hints, and its data depends on them.",
        "<script>proof.text('hint.txt', 'hinted', 'hinted');</script>",
        headers=(("Accept-CH", "Sec-CH-DPR, Sec-CH-Viewport-Width"), ("Critical-CH", "Sec-CH-DPR")),
        parts=("hinted",),
        proofs=("hint.txt",),
        files={"hint.txt": _hinted},
    ),
    Feature(
        "viewport-url",
        "Addresses tell the size and the density of the window.",
        "<script>proof.text(`panel?vw=${innerWidth}&vh=${innerHeight}&dpr=${devicePixelRatio}&id=7`, 'panel', 'panel');"
        "proof.add(`150x26-scaled.png?w=${Math.round(innerWidth * devicePixelRatio)}`);</script>",
        parts=("panel", "scaled"),
        proofs=(r"panel\?vw=.*", r"150x26-scaled\.png\?w=.*"),
        files={"panel": Reply("panel")},
    ),
    Feature(
        "signed-url",
        "A script signs an address with a deadline, a nonce and a signature of its own.",
        "<script>const expires = Math.floor(Date.now() / 1000) + 300, nonce = crypto.randomUUID().replaceAll('-', '');"
        "proof.text(`media/photo?id=7&expires=${expires}&nonce=${nonce}&sig=${Math.random().toString(36).slice(2)}`, 'photo', 'photo');"
        "proof.text(`media/${expires}/${nonce}/film`, 'film', 'film');"
        "proof.text(`media/sound?X-Amz-Date=${new Date().toISOString().replace(/[-:]|\\.\\d+/g, '')}&X-Amz-Expires=300&X-Amz-Signature=${nonce + nonce}`, 'sound', 'sound');</script>",
        parts=("photo", "film", "sound"),
        proofs=(r"media/photo\?.*", r"media/\d+/.*/film", r"media/sound\?.*"),
        files={"media/photo": Reply("photo"), "media/sound": Reply("sound"), "media/*": Reply("film")},
    ),
    Feature(
        "date-forms",
        "Addresses have today's date in the forms of several countries.",
        "<script>const now = new Date(), forms = {plain: now.toDateString(), german: now.toLocaleDateString('de-DE'), american: now.toLocaleDateString('en-US'),"
        "british: now.toLocaleDateString('en-GB'), utc: now.toUTCString(), month: now.toISOString().slice(0, 7), minute: now.toISOString().slice(0, 16)};"
        "for (const [name, text] of Object.entries(forms)) proof.text(`list/${name}?day=${encodeURIComponent(text)}`, name, name);</script>",
        parts=("plain", "german", "american", "british", "utc", "month", "minute"),
        proofs=tuple(
            rf"list/{name}\?day=.*" for name in ("plain", "german", "american", "british", "utc", "month", "minute")
        ),
        files={"list/*": lambda q: Reply(q.path.removeprefix("list/"))},
    ),
    Feature(
        "random-forms",
        "Addresses have random values in other forms: base 36, hexadecimal, Base64, and small numbers.",
        "<script>const bytes = crypto.getRandomValues(new Uint8Array(18)), hex = [...bytes].map(b => b.toString(16).padStart(2, '0')).join('');"
        "const forms = {base36: 'nonce=' + Math.random().toString(36).slice(2), hex: 'key=' + hex, base64: 'token=' + encodeURIComponent(btoa(String.fromCharCode(...bytes))),"
        "small: 'rnd=' + Math.floor(Math.random() * 1000), bare: Math.floor(Math.random() * 1e6), float: 'x=' + Math.random()};"
        "for (const [name, text] of Object.entries(forms)) proof.text(`list/${name}?${text}`, name, name); proof.text(`list/${hex}.json`, hex.slice(0, 0) + 'path', 'path');</script>",
        parts=("base36", "hex", "base64", "small", "bare", "float", "path"),
        proofs=(
            *(rf"list/{name}\?.*" for name in ("base36", "hex", "base64", "small", "bare", "float")),
            r"list/[0-9a-f]{36}\.json",
        ),
        files={
            "list/*": lambda q: Reply("path" if q.path.endswith(".json") else q.path.removeprefix("list/")),
        },
    ),
    Feature(
        "form-frame",
        "A script sends a form into two frames, each time with another body.",
        "<iframe name=one></iframe><iframe name=two></iframe><form id=f method=post action=greet><input name=fruit></form>"
        "<script>for (const [frame, fruit] of [['one', 'apple'], ['two', 'pear']]) { f.target = frame; f.fruit.value = fruit; f.submit(); }</script>",
        parts=("apple", "pear"),
        proofs=("greet.*",),
        files={"greet": _greeting},
    ),
    Feature(
        "post-redirect-get",
        "A form is sent into a frame, and answered with the address of its result.",
        "<iframe name=one></iframe><form id=f method=post action=order target=one><input name=plant value=moss></form><script>f.submit();</script>",
        parts=("result",),
        proofs=("order.*", r"done\.html\?order=7", "150x27-done.png"),
        files={
            "order": Reply("", status=303, headers=(("Location", "done.html?order=7"),)),
            "done.html": page("<img src='150x27-done.png' onload=\"parent.postMessage({part: 'result'}, '*')\">"),
        },
    ),
    Feature(
        "storage-access",
        "A frame of another site asks for its storage, and goes on with any answer.",
        "<iframe src='https://elsewhere.test/storage-access/inner.html'></iframe>",
        parts=("inner",),
        proofs=("inner.html", "150x28-inner.png"),
        files={
            "inner.html": page(
                "<script>document.requestStorageAccess().catch(() => {}).then(() => { const i = new Image(); i.src = '150x28-inner.png';"
                "i.onload = () => parent.postMessage({part: 'inner'}, '*'); document.body.append(i); });</script>"
            )
        },
    ),
    Feature(
        "object-fallback",
        "An object is missing, and a picture stands in its place.",
        "<object data=missing.svg type=image/svg+xml><img src='150x29-instead.png'></object>",
    ),
    Feature(
        "strict-dynamic",
        "A policy trusts a script by its nonce, and what that script loads.",
        "<script nonce=n0 src=loader.js></script>",
        headers=(
            (
                "Content-Security-Policy",
                "script-src 'nonce-n0' 'strict-dynamic'; object-src 'none'; base-uri 'none'; img-src 'self'",
            ),
        ),
        nonce="n0",
        parts=("second", "allowed"),
        proofs=("loader.js", "second.js", "150x30-allowed.png"),
        files={
            "loader.js": js(
                "const s = document.createElement('script'); s.src = 'second.js'; document.head.append(s);"
                "addEventListener('load', () => proof.add('150x30-allowed.png'));"
            ),
            "second.js": js("proof.done('second');"),
        },
    ),
    Feature(
        "css-conditions",
        "Style sheets are imported under conditions, and a font has a local source first.",
        "<p id=box style='height:30px'>Text</p><script>proof.resource('150x31-met.png', 'met'); document.fonts.load('12px Local').then(f => f.length && proof.done('font'));</script>",
        head="<style>@import url(met.css) layer(l) supports(display: grid) screen; @import 'unmet.css' supports(display: none-such);"
        "@font-face {font-family: Local; src: local('No Such Font'), url(remote.woff2) format('woff2')}</style>",
        parts=("met", "font"),
        proofs=("met.css", "150x31-met.png", "remote.woff2"),
        files={"met.css": css("#box {background: url(150x31-met.png)}"), "remote.woff2": FONT},
    ),
    Feature(
        "blob-download",
        "A script packs a file into a blob and offers it for download.",
        "<script>fetch('leaf.csv').then(a => a.blob()).then(blob => { const link = document.createElement('a'); link.href = URL.createObjectURL(blob);"
        "link.download = 'leaf.csv'; link.click(); proof.done('offered'); });</script>",
        parts=("offered",),
        proofs=("leaf.csv",),
        files={"leaf.csv": Reply("a,b\n1,2\n", "text/csv")},
    ),
    Feature(
        "cookie-random",
        "A script makes a cookie with a random value, and the data needs it.",
        "<script>document.cookie = `visitor=${crypto.randomUUID()}; path=/cookie-random/`; proof.text('mine.json', '\"welcome\"', 'welcome');</script>",
        parts=("welcome",),
        proofs=("mine.json",),
        files={
            "mine.json": lambda q: data(
                '"welcome"' if "visitor=" in q.headers.get("cookie", "") else '"who?"',
                ("Vary", "Cookie"),
                ("Cache-Control", "no-store"),
            )
        },
    ),
)
