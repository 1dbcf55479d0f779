"""Features of the platform that pages began to use lately, and further idioms of components."""

from __future__ import annotations

import asyncio
import json
from typing import Final

from feature_site.feature import Act, Feature, Proof, Question, Raw, Reply, click, css, data, hover, js, page
from feature_site.sockets import Read, Write

_SVG: Final = "image/svg+xml"
_NO_STORE: Final = ("Cache-Control", "no-store")


async def _suspended(_: Question, write: Write, read: Read) -> None:
    """Send a page with a placeholder first, and what belongs there a second later."""
    first = SUSPENDED.text().replace("</body></html>", "")
    late = (
        "<div hidden id='S:0'><img src='300x20-streamed.png'></div><script>const place = document.getElementById('B:0');"
        "place.replaceWith(...document.getElementById('S:0').childNodes);</script></body></html>"
    )
    await write(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    for text in (first, late):
        piece = text.encode()
        await write(b"%x\r\n%b\r\n" % (len(piece), piece))
        await asyncio.sleep(1)
    await write(b"0\r\n\r\n")


def _patched(question: Question) -> Reply:
    """Answer by what the patch says."""
    return data(json.dumps({"title": json.loads(question.body)["title"].upper()}), _NO_STORE)


def _dav(question: Question) -> Reply:
    """Answer a method of WebDAV by the property that its body names."""
    name = "sync-token" if b"sync-token" in question.body else "displayname"
    return Reply(f"<multistatus><{name}>{question.method}</{name}></multistatus>", "application/xml", status=207)


def _empty_twice(question: Question) -> Reply:
    if question.count("asked") < 3:
        return Reply(status=204, headers=(_NO_STORE,))
    return data('{"picture": "302x20-filled.png"}', _NO_STORE)


SUSPENDED: Final = Feature(
    "suspense",
    "The page arrives in two parts, and the second takes the place of a placeholder.",
    "<div><template id='B:0'></template><p>Loading reviews…</p></div>",
    parts=("streamed",),
    proofs=("300x20-streamed.png",),
    page=Raw(_suspended),
)

PLATFORM_FEATURES: Final = (
    SUSPENDED,
    Feature(
        "root-capture",
        "A framework listens at its root in the capture phase, and its buttons are divs in divs.",
        """<div id=root><div class="sc-a1"><div class="sc-b2" tabindex=0><div class="sc-c3"><span>View 14 comments</span></div></div></div></div><script>
const root = document.getElementById('root'); for (const type of ['click', 'keydown', 'pointerdown', 'focusin', 'change', 'animationend', 'transitionend']) root.addEventListener(type, e => { if (type !== 'click') return; const hit = e.target.closest('.sc-b2'); if (hit) hit.outerHTML = '<img src="301x20-comments.png">'; }, true);</script>""",
        head="<style>.sc-b2 {cursor: pointer; width: 200px}</style>",
        acts=(click(".sc-b2"),),
    ),
    Feature(
        "transition-tabs",
        "A tab's old panel fades out before the new one is made.",
        """<div class=tabs><span class="tabs__item active" data-t=a>Summer</span> <span class="tabs__item" data-t=b>Winter</span></div><div id=panel class=in><img src="303x20-a.png"></div><style>.tabs__item {cursor: pointer} #panel {transition: opacity .3s; opacity: 0} #panel.in {opacity: 1}</style><script>
let next = 'a'; document.querySelectorAll('.tabs__item').forEach(t => { t.onclick = () => { if (t.dataset.t === next) return; next = t.dataset.t; panel.classList.remove('in'); }; });
panel.addEventListener('transitionend', () => { if (!panel.classList.contains('in')) { panel.innerHTML = `<img src="303x20-${next}.png">`; panel.classList.add('in'); } });</script>""",
        parts=("a", "b"),
        proofs=("303x20-a.png", "303x20-b.png"),
        acts=(click(".tabs__item >> nth=1"),),
    ),
    Feature(
        "capture-enter",
        "One capturing listener of the document serves all hints under the mouse.",
        """<p>See <abbr data-tippy="304x20-xylem.png">xylem</abbr> and <abbr data-tippy="304x21-phloem.png">phloem</abbr>.</p><div id=tip></div><script>
document.addEventListener('mouseenter', e => { const url = e.target.dataset?.tippy; if (url) tip.innerHTML = `<img src="${url}">`; }, true);</script>""",
        acts=(hover("abbr >> nth=0"), hover("abbr >> nth=1")),
    ),
    Feature(
        "card-swap",
        "A listener of the grid exchanges the picture of the product under the mouse.",
        """<div class=grid id=grid><a class=product href="#p1"><img src="305x20-front1.png" data-alt="back1"></a><a class=product href="#p2"><img src="305x21-front2.png" data-alt="back2"></a></div><script>
grid.addEventListener('mouseover', e => { const i = e.target.closest('.product')?.querySelector('img'); if (i && i.dataset.alt) { i.src = `swap/306x20-${i.dataset.alt}.png`; delete i.dataset.alt; } });</script>""",
        parts=("front1", "front2", "back1", "back2"),
        proofs=("305x20-front1.png", "swap/306x20-back1.png", "swap/306x20-back2.png"),
        acts=(hover(".product >> nth=0"), hover(".product >> nth=1")),
    ),
    Feature(
        "image-decoder",
        "A script decodes a fetched picture frame by frame.",
        """<script>
(async () => { const r = await fetch('307x20-frames.png'); const d = new ImageDecoder({type: 'image/png', data: r.body}); const {image} = await d.decode({frameIndex: 0}); if (image.displayWidth === 307) proof.done('frames'); })();</script>""",
        parts=("frames",),
        proofs=("307x20-frames.png",),
    ),
    Feature(
        "mask-drawing",
        "A style names a drawing as a mask.",
        """<div class=m>Mask</div><script>proof.resource('mask.svg', 'mask');</script>""",
        head="<style>.m {mask-image: url(mask.svg); background: green; height: 40px}</style>",
        parts=("mask",),
        proofs=("mask.svg",),
        files={
            "mask.svg": Reply(
                "<svg xmlns='http://www.w3.org/2000/svg' width='40' height='40'><circle r='20'/></svg>", _SVG
            ),
        },
    ),
    Feature(
        "scroll-timeline",
        "An animation that runs with the scroll bar names pictures in its key frames.",
        """<div style="height:1500px"></div><div class=scene>Scene</div><div style="height:1500px"></div><script>proof.resource('308x20-dawn.png', 'dawn'); proof.resource('308x21-dusk.png', 'dusk');</script>""",
        head="<style>@keyframes day {0% {background-image: url(308x20-dawn.png)} 50%, 100% {background-image: url(308x21-dusk.png)}} .scene {height: 200px; animation: day linear both; animation-timeline: view()}</style>",
        parts=("dawn", "dusk"),
        proofs=("308x20-dawn.png", "308x21-dusk.png"),
    ),
    Feature(
        "page-reveal",
        "The page begins when the browser reveals it.",
        """<div id=v></div><script>addEventListener('pagereveal', e => { v.innerHTML = '<img src="309x20-revealed.png">'; });</script>""",
        head="<style>@view-transition {navigation: auto}</style>",
    ),
    Feature(
        "consent-late",
        "A Dutch banner slides in after one and a half seconds.",
        """<div id=content></div><script>setTimeout(() => { document.body.insertAdjacentHTML('beforeend', '<div class="cc-bar" style="position:fixed;bottom:0;left:0;right:0;background:#fff;padding:20px"><p>Wij gebruiken cookies.</p><button class=cc-no>Alleen noodzakelijk</button><button class=cc-yes>Alles accepteren</button></div>'); document.querySelector('.cc-yes').onclick = () => { document.querySelector('.cc-bar').remove(); content.innerHTML = '<img src="310x20-inhoud.png">'; }; }, 1500);</script>""",
        acts=(Act("evaluate", "new Promise(done => setTimeout(done, 1600))"), click(".cc-yes")),
    ),
    Feature(
        "consent-srcdoc",
        "An Italian wall stands in a frame without an address.",
        """<iframe id=cmp title="Privacy" style="position:fixed;left:0;bottom:0;width:100%;height:200px;background:#fff" srcdoc="<p>Usiamo i cookie.</p><button>Preferenze</button><button onclick='parent.ok()'>Accetta e continua</button>"></iframe><div id=content></div><script>function ok() { cmp.remove(); content.innerHTML = '<img src="311x20-pagina.png">'; }</script>""",
        acts=(click("button >> nth=1", "#cmp"),),
    ),
    Feature(
        "oembed",
        "A post is asked for at its service, whose answer has the frame to show.",
        """<figure class=wp-block-embed data-url="https://elsewhere.test/oembed/watch?v=9"></figure><script>
document.querySelectorAll('.wp-block-embed').forEach(async f => { const a = await fetch(`https://elsewhere.test/oembed/api?format=json&url=${encodeURIComponent(f.dataset.url)}&maxwidth=${f.clientWidth}`).then(r => r.json()); f.innerHTML = a.html; });</script>""",
        parts=("film",),
        proofs=("api\\?format=json.*", "player\\?v=9", "312x20-film.png"),
        files={
            "api": data('{"html": "<iframe src=\\"https://elsewhere.test/oembed/player?v=9\\"></iframe>"}'),
            "player": page("<img src='312x20-film.png' onload=\"parent.postMessage({part: 'film'}, '*')\">"),
        },
    ),
    Feature(
        "two-click-embed",
        "A map of another host is loaded only after a click on its placeholder, in German.",
        """<div class="embed-privacy" data-src="https://cdn.features.test/two-click-embed/map.html" style="width:400px;height:200px;background:#ddd"><p>Hier wird eine Karte geladen. Dabei werden Daten übertragen.</p><a href="#" class="embed-privacy-enable">Inhalt anzeigen</a></div><script>
document.querySelector('.embed-privacy-enable').addEventListener('click', e => { e.preventDefault(); const box = e.target.closest('.embed-privacy'); box.innerHTML = `<iframe src="${box.dataset.src}"></iframe>`; });</script>""",
        parts=("karte",),
        proofs=("map.html", "313x20-karte.png"),
        files={"map.html": page("<img src='313x20-karte.png' onload=\"parent.postMessage({part: 'karte'}, '*')\">")},
        acts=(click(".embed-privacy-enable"),),
    ),
    Feature(
        "patch-answers",
        "Two patches of one resource are sent at once, and get other answers.",
        """<script>
for (const title of ['moss', 'fern']) fetch('items/1', {method: 'PATCH', headers: {'content-type': 'application/merge-patch+json'}, body: JSON.stringify({title})}).then(r => r.json()).then(a => a.title === title.toUpperCase() && proof.done(title));</script>""",
        parts=("moss", "fern"),
        proofs=(Proof("items/1.*", 2),),
        files={"items/1": _patched},
    ),
    Feature(
        "webdav",
        "Methods of WebDAV ask one URL for two properties at the same time.",
        """<script>
const ask = (method, name) => fetch('calendar/', {method, headers: {'content-type': 'application/xml', Depth: '1'}, body: `<propfind><prop><${name}/></prop></propfind>`}).then(r => r.text()).then(t => t.includes(`<${name}>${method}`) && proof.done(`${method}-${name}`));
Promise.all([ask('PROPFIND', 'displayname'), ask('PROPFIND', 'sync-token'), ask('REPORT', 'sync-token')]);</script>""",
        parts=("PROPFIND-displayname", "PROPFIND-sync-token", "REPORT-sync-token"),
        proofs=(Proof("calendar/.*", 3),),
        files={"calendar/": _dav},
    ),
    Feature(
        "empty-then-data",
        "A script asks again while the answer has no content.",
        """<script>
const ask = async () => { const r = await fetch('inbox'); if (r.status === 204) { proof.done('empty'); setTimeout(ask, 700); } else proof.add((await r.json()).picture); }; ask();</script>""",
        parts=("empty", "filled"),
        proofs=("inbox", "302x20-filled.png"),
        files={"inbox": _empty_twice},
    ),
    Feature(
        "css-on-click",
        "A click loads a style sheet and a module, and the panel is made when both are there.",
        """<button id=b type=button>Open editor</button><div id=panel></div><script>
b.onclick = async () => { await Promise.all([new Promise(done => { const l = document.createElement('link'); l.rel = 'stylesheet'; l.href = 'editor.css'; l.onload = done; document.head.append(l); }), import(new URL('editor.js', document.baseURI))]).then(([, m]) => m.mount(panel)); };</script>""",
        parts=("editor", "tools"),
        proofs=("editor.css", "editor.js", "314x20-editor.png", "314x21-tools.png"),
        files={
            "editor.css": css(".ed {height: 30px; background: url(314x21-tools.png)}"),
            "editor.js": js(
                "export const mount = p => { proof.resource('314x21-tools.png', 'tools'); p.innerHTML = '<div class=ed></div><img src=\"314x20-editor.png\">'; };"
            ),
        },
        acts=(click("#b"),),
    ),
    Feature(
        "private-files",
        "A script keeps a picture in the page's private file system and shows it from there.",
        """<script>
(async () => { const root = await navigator.storage.getDirectory(); const file = await root.getFileHandle('p.png', {create: true}); const out = await file.createWritable(); await (await fetch('315x20-kept.png')).body.pipeTo(out); const i = new Image(); i.onload = () => i.naturalWidth === 315 && proof.done('kept'); i.src = URL.createObjectURL(await file.getFile()); document.body.append(i); })();</script>""",
        parts=("kept",),
        proofs=("315x20-kept.png",),
    ),
    Feature(
        "svg-click",
        "A drawing shows another picture when its button is clicked, without a script.",
        """<svg width=300 height=80><g id=btn style="cursor:pointer"><rect width=80 height=30 fill="#69c"/></g><image id=im y=40 width=200 height=20 href="316x20-day.png"><set attributeName=href to="316x21-night.png" begin="btn.click"/></image></svg><script>proof.resource('316x20-day.png', 'day'); proof.resource('316x21-night.png', 'night');</script>""",
        parts=("day", "night"),
        proofs=("316x20-day.png", "316x21-night.png"),
        acts=(click("#btn rect"),),
    ),
    Feature(
        "radio-gallery",
        "Hidden radio buttons and styles make a gallery with lazy pictures.",
        """<style>.g input, .g figure {display: none} .g input:nth-of-type(1):checked ~ figure:nth-of-type(1), .g input:nth-of-type(2):checked ~ figure:nth-of-type(2) {display: block} .g label {display: inline-block; width: 14px; height: 14px; border-radius: 7px; background: #777}</style>
<div class=g><input type=radio name=g id=g1 checked><input type=radio name=g id=g2><label for=g1></label><label for=g2></label><figure><img loading=lazy src="317x20-left.png"></figure><figure><img loading=lazy src="317x21-right.png"></figure></div>""",
        acts=(click("label >> nth=1"),),
    ),
    Feature(
        "details-animated",
        "A script opens the details by an animation, and fills them when it is over.",
        """<details><summary>History</summary><div class=c></div></details><script>
document.querySelector('summary').addEventListener('click', e => { e.preventDefault(); const d = e.target.parentElement; if (d.open) return; d.open = true; d.animate({height: ['30px', '120px']}, {duration: 400, easing: 'ease-out'}).onfinish = () => { d.querySelector('.c').innerHTML = '<img src="318x20-history.png">'; }; });</script>""",
        acts=(click("summary"),),
    ),
    Feature(
        "grid-2d",
        "A grid keeps only the cells that are visible, in both directions.",
        """<div id=v style="width:330px;height:220px;overflow:auto;position:relative"><div style="width:1200px;height:800px"></div></div><script>
const cells = new Map(); const draw = () => { const x0 = Math.floor(v.scrollLeft / 120), y0 = Math.floor(v.scrollTop / 80); for (const [k, c] of cells) { c.remove(); cells.delete(k); } for (let y = y0; y < Math.min(y0 + 4, 10); y++) for (let x = x0; x < Math.min(x0 + 4, 10); x++) { const i = new Image(); i.src = `cells/100x60-x${x}y${y}.png`; i.style.cssText = `position:absolute;left:${x * 120}px;top:${y * 80}px`; v.append(i); cells.set(`${x},${y}`, i); } };
v.addEventListener('scroll', () => requestAnimationFrame(draw)); draw();</script>""",
        parts=("x0y0", "x0y9", "x9y0"),
        proofs=("cells/100x60-x0y0.png", "cells/100x60-x0y9.png", "cells/100x60-x9y0.png"),
        acts=(
            Act("evaluate", "v.scrollTo(0, 9999)"),
            Act("evaluate", "v.scrollTo(9999, 0)"),
        ),
    ),
    Feature(
        "deep-zoom",
        "A viewer of a scanned leaf loads finer tiles by the wheel over it, and by a drawing without text.",
        """<div id=osd style="width:256px;height:256px;overflow:hidden;position:relative;background:#eee"><div id=t></div><div title="Zoom in" class=zoomin style="position:absolute;left:5px;top:5px;width:24px;height:24px;background:#333"></div></div><script>
let level = 0; const draw = () => { t.innerHTML = ''; const n = 2 ** Math.min(level, 1); for (let x = 0; x < n; x++) { const i = new Image(); i.src = `iiif/leaf/${x * 128},0,128,128/128x128-l${level}x${x}.png`; t.append(i); } }; draw();
const zoom = by => { const to = Math.max(0, Math.min(3, level + by)); if (to !== level) { level = to; draw(); } };
osd.addEventListener('wheel', e => { e.preventDefault(); zoom(e.deltaY < 0 ? 1 : -1); }, {passive: false}); document.querySelector('.zoomin').addEventListener('pointerup', () => zoom(1));</script>""",
        parts=("l0x0", "l1x1", "l3x1"),
        proofs=(
            "iiif/leaf/0,0,128,128/128x128-l0x0.png",
            "iiif/leaf/128,0,128,128/128x128-l1x1.png",
            "iiif/leaf/128,0,128,128/128x128-l3x1.png",
        ),
        acts=(click(".zoomin"),) * 3,
    ),
)
