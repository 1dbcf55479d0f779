"""Features of a second look at the web of today: newer elements, deeper nests and ordinary carelessness."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import parse_qs

from feature_site.feature import Act, Feature, Proof, Question, Raw, Reply, click, data, hover, js, page, png
from feature_site.media import MP4
from feature_site.sockets import Read, Write, heard, upgrade
from feature_site.whole_pages import html, whole
from support.clients.websocket import frame

_CUT: Final = MP4.index(b"moof") - 4
_MPD: Final = (
    '<?xml version="1.0"?><MPD xmlns="urn:mpeg:dash:schema:mpd:2011" type="static" mediaPresentationDuration="PT2S"><BaseURL>https://cdn.features.test/dash-timeline/v/</BaseURL><Period>'
    '<AdaptationSet mimeType="video/mp4"><SegmentTemplate timescale="1000" initialization="$RepresentationID$/init.mp4" media="$RepresentationID$/$Time$.m4s"><SegmentTimeline><S t="0" d="500" r="1"/><S d="400"/></SegmentTimeline></SegmentTemplate>'
    '<Representation id="v0" bandwidth="20000" codecs="avc1.42E01E"/></AdaptationSet></Period></MPD>'
)


def _segments() -> dict[str, Reply]:
    rest = MP4[_CUT:]
    cuts = [len(rest) * at // 3 for at in range(4)]
    return {
        f"v/v0/{time}.m4s": Reply(rest[cuts[at] : cuts[at + 1]], "video/iso.segment")
        for at, time in enumerate((0, 500, 1000))
    }


def _on_demand(question: Question) -> Reply:
    """Allow other origins only when one asks, and say nothing of it in Vary."""
    allowed = (("Access-Control-Allow-Origin", "*" if "origin" in question.headers else "https://nobody.test"),)
    return Reply(png("cors", (383, 20)), "image/png", headers=allowed)


def _plain(kind: bytes, body: bytes) -> Raw:
    """Return a file whose response does not tell its type."""

    async def write(
        question: Question, send: Callable[[bytes], Awaitable[None]], read: Callable[[int], Awaitable[bytes]]
    ) -> None:
        await send(
            b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nX-Kind: %s\r\nConnection: close\r\n\r\n" % (len(body), kind)
        )
        await send(body)

    return Raw(write)


def _rows(question: Question) -> Reply:
    first = int(parse_qs(question.query)["start"][0])
    return data(json.dumps([{"id": at, "h": 60 + at % 5 * 20} for at in range(first, first + 20)]))


async def _ddp(question: Question, write: Write, read: Read) -> None:
    """Answer the protocol of a framework whose subscriptions and calls have random identifiers."""
    await upgrade(question, write)
    await write(frame(1, b"o"))
    while True:
        kind, payload = await heard(read)
        if kind == 8:
            return
        for text in json.loads(payload):
            message = json.loads(text)
            answers: list[dict[str, object]] = []
            if message["msg"] == "connect":
                answers = [{"msg": "connected", "session": "k3"}]
            elif message["msg"] == "sub":
                added = {"msg": "added", "collection": "leaves", "id": "a1", "fields": {"src": "384x20-added.png"}}
                answers = [added, {"msg": "ready", "subs": [message["id"]]}]
            elif message["msg"] == "method":
                answers = [{"msg": "result", "id": message["id"], "result": "384x21-called.png"}]
            if answers:
                await write(frame(1, b"a" + json.dumps([json.dumps(each) for each in answers]).encode()))


def _filtered(question: Question) -> Reply:
    asked = parse_qs(question.query)
    name = "-".join([*sorted(asked.get("material", [])), asked.get("sort", ["none"])[0]])
    return data(json.dumps({"count": 3, "html": f"<img src='385x20-{name}.png'>"}))


UNSEEN: Final = (
    Feature(
        "rich-select",
        "A select of today has pictures in its options, and they are lazy.",
        whole(
            """<label for="tree">Tree</label> <select id="tree"><button type="button"><selectedcontent></selectedcontent></button><option value="oak"><img loading="lazy" src="386x20-oak.png" width="386" height="20" alt="">Oak</option><option value="ash"><img loading="lazy" src="386x21-ash.png" width="386" height="21" alt="">Ash</option><option value="elm"><img loading="lazy" src="386x22-elm.png" width="386" height="22" alt="">Elm</option></select>"""
        ),
        head="<style>select, ::picker(select) {appearance: base-select}</style>",
        acts=(click("#tree"),),
    ),
    Feature(
        "cors-on-demand",
        "A picture is shown first, and fetched by a script after that; its server allows this only when it is asked.",
        """<div id="i"></div><script>
const url = 'https://cdn.features.test/cors-on-demand/media/383x20-shared.png'; const i = new Image(); i.onload = async () => { proof.sized('383x20-shown.png', i.naturalWidth, i.naturalHeight); const r = await fetch(url, {cache: 'reload'}); const b = await createImageBitmap(await r.blob()); proof.sized('383x20-fetched.png', b.width, b.height); }; i.src = url; document.getElementById('i').append(i);</script>""",
        parts=("shown", "fetched"),
        proofs=(Proof("media/383x20-shared.png", 2),),
        files={"media/383x20-shared.png": _on_demand},
    ),
    Feature(
        "dash-timeline",
        "A manifest has a timeline of segments of unequal length, on another host.",
        """<video id="film" width="64" height="48" muted></video><script>
(async () => { const xml = new DOMParser().parseFromString(await (await fetch('manifest.mpd')).text(), 'application/xml'); const q = n => xml.getElementsByTagName(n); const base = q('BaseURL')[0].textContent, t = q('SegmentTemplate')[0], id = q('Representation')[0].id; const paths = [t.getAttribute('initialization')]; let time = 0;
  for (const s of q('S')) for (let n = 0; n <= +(s.getAttribute('r') || 0); n++) { paths.push(t.getAttribute('media').replace('$Time$', time)); time += +s.getAttribute('d'); }
  const source = new MediaSource(); film.src = URL.createObjectURL(source); await new Promise(go => { source.onsourceopen = go; }); const buffer = source.addSourceBuffer('video/mp4; codecs="avc1.42E01E"');
  for (const path of paths) { buffer.appendBuffer(await (await fetch(base + path.replace('$RepresentationID$', id))).arrayBuffer()); await new Promise(go => { buffer.onupdateend = go; }); }
  source.endOfStream(); film.requestVideoFrameCallback(() => proof.done('playing')); await film.play(); })();</script>""",
        parts=("playing",),
        proofs=("manifest.mpd", "v/v0/init.mp4", *(rf"v/v0/{time}\.m4s" for time in (0, 500, 1000))),
        files={
            "manifest.mpd": Reply(_MPD, "application/dash+xml"),
            "v/v0/init.mp4": Reply(MP4[:_CUT], "video/mp4"),
            **_segments(),
        },
    ),
    Feature(
        "server-timing",
        "A script reads the timing that the server has sent with the page, and chooses a picture by it.",
        """<script>const t = performance.getEntriesByType('navigation')[0].serverTiming.find(e => e.name === 'region'); if (t) proof.add(`387x20-${t.description}.png`);</script>""",
        headers=(("Server-Timing", 'cache;dur=2.1, region;desc="north"'),),
        parts=("north",),
        proofs=("387x20-north.png",),
    ),
    Feature(
        "paper-frame",
        "A frame shows a paper as PDF, and a link beside it offers the same file.",
        whole(
            """<p><a href="paper.pdf" download>Download</a></p><iframe src="paper.pdf#toolbar=0" width="500" height="300"></iframe><script>setTimeout(async () => { const r = await fetch('paper.pdf'); if ((await r.text()).startsWith('%PDF')) proof.done('paper'); }, 500);</script>"""
        ),
        parts=("paper",),
        proofs=(Proof("paper.pdf", 1),),
        files={
            "paper.pdf": Reply(
                "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj 3 0 obj<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF",
                "application/pdf",
            )
        },
    ),
    Feature(
        "stuck-header",
        "A bar shows another background when it sticks to the upper edge, by a query of the style sheet.",
        """<div style="height:300px">Top</div><div class="bar"><div class="in">Bar</div></div><div style="height:3000px">Text</div><script>proof.resource('388x20-stuck.png', 'stuck');</script>""",
        head="<style>.bar {position: sticky; top: 0; container-type: scroll-state} .in {height: 30px; background: #eee} @container scroll-state(stuck: top) {.in {background: url(388x20-stuck.png)}}</style>",
        parts=("stuck",),
        proofs=("388x20-stuck.png",),
    ),
    Feature(
        "nested-lazy-frames",
        "A lazy frame far below has a frame without an address, which has a box that scrolls and a button.",
        whole(
            """<div style="height:3500px">Text</div><iframe loading="lazy" width="500" height="300" src="outer.html"></iframe>"""
        ),
        parts=("boxed", "clicked"),
        proofs=("outer.html", "389x20-boxed.png", "389x21-clicked.png"),
        files={
            "outer.html": page(
                """<script>addEventListener('message', e => parent.postMessage(e.data, '*'));</script><iframe width=450 height=220 srcdoc="<div style='height:100px;overflow:auto'><div style='height:900px'>Terms</div><img loading=lazy width=389 height=20 src='/nested-lazy-frames/389x20-boxed.png' onload='parent.postMessage({part: &quot;boxed&quot;}, &quot;*&quot;)'></div><button onclick='this.outerHTML = &quot;<img src=/nested-lazy-frames/389x21-clicked.png onload=top.postMessage({part:`clicked`},`*`)>&quot;'>Show chart</button>"></iframe>"""
            )
        },
        acts=(
            Act(
                "evaluate",
                "(async () => { scrollTo(0, 9999); await new Promise(d => setTimeout(d, 1200)); const inner = document.querySelector('iframe').contentDocument.querySelector('iframe').contentDocument; inner.querySelector('div').scrollTo(0, 9999); inner.querySelector('button').click(); })()",
            ),
        ),
    ),
    Feature(
        "window-virtualiser",
        "A list of rows of unequal height keeps the visible ones, and asks for the next twenty when they come near.",
        """<div id="list" style="position:relative"></div><script>
const rows = [], total = 120; let asking = false; list.style.height = total * 100 + 'px';
const need = async () => { if (asking || rows.length >= total) return; asking = true; const found = await (await fetch(`api/rows?start=${rows.length}`)).json(); let top = rows.length ? rows.at(-1).top + rows.at(-1).h : 0; for (const r of found) { rows.push({...r, top}); top += r.h; } asking = false; draw(); };
const draw = () => { const from = scrollY - 200, to = scrollY + innerHeight + 200; list.innerHTML = ''; for (const r of rows) if (r.top + r.h > from && r.top < to) list.insertAdjacentHTML('beforeend', `<div data-index="${r.id}" style="position:absolute;top:0;left:0;width:100%;height:${r.h}px;transform:translateY(${r.top}px)">Row ${r.id}${r.id % 20 === 10 ? ` <img src="cells/390x${20 + r.id / 10 | 0}-cell${r.id}.png">` : ''}</div>`); if (!rows.length || rows.at(-1).top < to) need(); };
addEventListener('scroll', () => requestAnimationFrame(draw), {passive: true}); draw();</script>""",
        parts=("cell10", "cell50", "cell110"),
        proofs=(
            *(rf"api/rows\?start={at}" for at in range(0, 120, 20)),
            "cells/390x21-cell10.png",
            "cells/390x25-cell50.png",
            "cells/390x31-cell110.png",
        ),
        files={"api/rows": _rows},
        acts=(
            Act(
                "evaluate",
                "(async () => { for (let y = 0; y < 13000; y += 300) { scrollTo(0, y); await new Promise(done => setTimeout(done, 60)); } })()",
            ),
        ),
        seconds=30,
    ),
    Feature(
        "impression-gate",
        "A story is fetched only after a beacon was accepted and a pixel of another host has arrived.",
        """<div id="s"></div><script>
const ok = navigator.sendBeacon('https://elsewhere.test/impression-gate/collect?v=2&cid=' + Math.random().toString().slice(2), new Blob([JSON.stringify({t: Date.now()})], {type: 'text/plain'}));
if (ok) { const p = new Image(); p.onload = async () => { s.innerHTML = (await (await fetch('story.json?e=' + encodeURIComponent('pixel:' + p.width))).json()).html; }; p.src = `https://elsewhere.test/impression-gate/px/1x1-pixel.png?tid=UA-1&z=${Math.floor(Math.random() * 2147483647)}`; }</script>""",
        parts=("gated",),
        proofs=(r"px/1x1-pixel\.png.*", r"story\.json.*", "391x20-gated.png"),
        files={"collect": Reply(status=204), "story.json": data('{"html": "<img src=391x20-gated.png>"}')},
    ),
    Feature(
        "sniffed-types",
        "A picture, a frame and a script come without a type, so that the browser looks at their first bytes.",
        """<img src="pictures/one" onload="this.naturalWidth === 392 && proof.done('picture')"><iframe src="frame"></iframe><script src="script"></script>""",
        parts=("picture", "frame", "script"),
        proofs=("pictures/one", "frame", "script"),
        files={
            "pictures/one": _plain(b"picture", png("sniffed", (392, 20))),
            "frame": _plain(b"frame", b"<!doctype html><script>parent.postMessage({part: 'frame'}, '*')</script>"),
            "script": _plain(b"script", b"proof.done('script');"),
        },
    ),
    Feature(
        "consent-greek",
        "A Greek wall comes late, in a frame of another site within a shadow tree, and its buttons are divs.",
        whole(
            """<div id="content"></div><div id="host"></div><script>
setTimeout(() => { const root = document.getElementById('host').attachShadow({mode: 'open'}); root.innerHTML = '<style>iframe {position: fixed; inset: 0; width: 100%; height: 100%; border: 0; background: #fffd; z-index: 2147483647}</style><iframe src="https://elsewhere.test/consent-greek/wall.html" title="Συγκατάθεση"></iframe>'; document.body.style.overflow = 'hidden'; }, 1200);
addEventListener('message', e => { if (e.data === 'cmp:all') { document.getElementById('host').remove(); document.body.style.overflow = ''; content.innerHTML = '<div style="height:2000px">Νέα</div><img loading="lazy" src="393x20-arthro.png" width="393" height="20">'; } });</script>"""
        ),
        parts=("arthro",),
        proofs=("wall.html", "393x20-arthro.png"),
        files={
            "wall.html": page(
                """<style>.b {display: inline-block; padding: 12px; background: #ddd; cursor: pointer}</style><p>Εμείς και οι συνεργάτες μας χρησιμοποιούμε cookies.</p><div class="b" tabindex="0">Περισσότερες επιλογές</div> <div class="b" id="all" tabindex="0">Συμφωνώ</div><script>all.onclick = () => parent.postMessage('cmp:all', '*');</script>"""
            )
        },
        acts=(Act("evaluate", "new Promise(done => setTimeout(done, 2000))"), click("#all", "#host iframe")),
    ),
    Feature(
        "scroll-popup",
        "A letter is offered over the page when half of it was scrolled, and the end of the page loads without it.",
        whole(
            """<div style="height:5000px">Text</div><div id="end"></div><script>
let shown = false; addEventListener('scroll', () => { if (!shown && scrollY > 1500) { shown = true; document.body.classList.add('modal-open'); document.body.insertAdjacentHTML('beforeend', '<div class="modal show" role="dialog" aria-modal="true"><div class="modal-dialog"><button type="button" class="btn-close" aria-label="Close" data-bs-dismiss="modal"></button><h5>Our letter</h5><form method="post" action="/newsletter"><input type="email" name="m"><button class="btn btn-primary">Subscribe</button></form></div></div>'); document.querySelector('.btn-close').onclick = () => { document.querySelector('.modal').remove(); document.body.classList.remove('modal-open'); start(); }; } });
const start = () => new IntersectionObserver((es, io) => { if (es.some(e => e.isIntersecting)) { io.disconnect(); end.innerHTML = '<img src="394x20-ending.png">'; } }).observe(end);</script>"""
        ),
        head="<style>.modal {position: fixed; inset: 0; background: #0008; z-index: 1050} .modal-dialog {width: 400px; margin: 200px auto; background: #fff; padding: 20px} .modal-open {overflow: hidden} .btn-close {width: 20px; height: 20px; float: right} #end {min-height: 10px}</style>",
        parts=("ending",),
        proofs=("394x20-ending.png",),
        acts=(
            Act("evaluate", "new Promise(done => { scrollTo(0, 2000); setTimeout(done, 300); })"),
            click(".btn-close"),
        ),
    ),
    Feature(
        "dwell-lazy",
        "Pictures of a grid are loaded only when they have stayed in the window for almost half a second.",
        """<div id="g"></div><script>
for (let n = 1; n <= 6; n++) g.insertAdjacentHTML('beforeend', `<div class="cell" style="height:620px" data-src="395x2${n}-dwell${n}.png"></div>`);
const timers = new Map(); const io = new IntersectionObserver(es => es.forEach(e => { if (e.isIntersecting) timers.set(e.target, setTimeout(() => { io.unobserve(e.target); e.target.innerHTML = `<img src="${e.target.dataset.src}">`; }, 450)); else { clearTimeout(timers.get(e.target)); timers.delete(e.target); } }), {threshold: 0.2}); document.querySelectorAll('.cell').forEach(c => io.observe(c));</script>""",
        parts=tuple(f"dwell{at}" for at in range(1, 7)),
        proofs=tuple(f"395x2{at}-dwell{at}.png" for at in range(1, 7)),
        acts=(
            Act(
                "evaluate",
                "(async () => { for (let y = 0; y < 4500; y += 400) { scrollTo(0, y); await new Promise(done => setTimeout(done, 500)); } })()",
            ),
        ),
    ),
    Feature(
        "filter-form",
        "Check boxes and an order of a form without a button fetch the results of each change.",
        whole(
            """<form class="filters" x-data><fieldset><legend>Material</legend><label class="chk"><input type="checkbox" name="material" value="clay"><span class="box"></span> Clay (12)</label><label class="chk"><input type="checkbox" name="material" value="wood"><span class="box"></span> Wood (7)</label></fieldset><select name="sort" aria-label="Sort by"><option value="new">Newest</option><option value="price">Price: low to high</option></select></form><div class="results" aria-live="polite"></div><script>
const form = document.querySelector('.filters'); let timer; form.addEventListener('change', () => { clearTimeout(timer); timer = setTimeout(async () => { const found = await (await fetch('search?' + new URLSearchParams(new FormData(form)))).json(); document.querySelector('.results').innerHTML = found.html; }, 250); });</script>"""
        ),
        head="<style>.chk input {position: absolute; opacity: 0; width: 0; height: 0} .box {display: inline-block; width: 16px; height: 16px; border: 1px solid}</style>",
        parts=("clay-new", "price"),
        proofs=("search.*material=clay.*", "search.*material=wood.*", "search.*sort=price.*"),
        files={"search": _filtered},
        acts=(
            click(".chk >> nth=0"),
            Act("evaluate", "new Promise(done => setTimeout(done, 400))"),
            click(".chk >> nth=0"),
            Act("select", "select[name=sort]", "price"),
        ),
    ),
    Feature(
        "worker-proxy",
        "Third-party scripts run in a worker, whose synchronous requests are answered by the page through a service worker.",
        """<script>
(async () => { await navigator.serviceWorker.register('sw.js'); await navigator.serviceWorker.ready; if (!navigator.serviceWorker.controller) await new Promise(go => { navigator.serviceWorker.oncontrollerchange = go; });
  navigator.serviceWorker.addEventListener('message', e => e.data.ask && e.ports[0].postMessage(document.title.length > 0 ? location.hostname : ''));
  const w = new Worker('tag-worker.js'); w.onmessage = e => proof.add(e.data); })();</script>""",
        parts=("tag",),
        proofs=("sw.js", "tag-worker.js", r"tag\.js\?h=www\.features\.test", "396x20-tag.png"),
        files={
            "sw.js": js(
                "addEventListener('install', () => skipWaiting()); addEventListener('activate', e => e.waitUntil(clients.claim())); addEventListener('fetch', e => { if (!e.request.url.includes('/~proxytown')) return; e.respondWith((async () => { const [page] = (await clients.matchAll({type: 'window'})); const {port1, port2} = new MessageChannel(); const said = new Promise(go => { port1.onmessage = m => go(m.data); }); page.postMessage({ask: 1}, [port2]); return new Response(await said); })()); });"
            ),
            "tag-worker.js": js(
                "const x = new XMLHttpRequest(); x.open('POST', '/worker-proxy/~proxytown', false); x.send('{}'); const h = x.responseText; importScripts(`tag.js?h=${h}`);"
            ),
            "tag.js": js("postMessage('396x20-tag.png');"),
        },
    ),
    Feature(
        "unsafe-html",
        "A fragment with a declared shadow tree is fetched when its heading is clicked, and set as it is.",
        """<div class="card"><h3 class="card-title">Details of the leaf</h3><div class="slot"></div></div><script>
document.querySelector('.card-title').addEventListener('click', async () => { const box = document.querySelector('.slot'); box.setHTMLUnsafe(await (await fetch('fragment.html')).text()); proof.watch(box.firstElementChild.shadowRoot); });</script>""",
        head="<style>.card-title {cursor: pointer}</style>",
        parts=("inside",),
        proofs=(r"fragment\.html", "397x20-inside.png"),
        files={
            "fragment.html": html(
                '<leaf-card><template shadowrootmode="open"><style>img {border: 1px solid}</style><img src="397x20-inside.png"></template></leaf-card>'
            )
        },
        acts=(click(".card-title"),),
    ),
    Feature(
        "ddp-socket",
        "A framework's socket has a random path, and its subscriptions and calls have random identifiers.",
        """<script>
(() => { const random = n => Array.from(crypto.getRandomValues(new Uint8Array(n)), b => 'abcdefghijklmnopqrstuvwxyz012345'[b & 31]).join(''); const socket = new WebSocket(`wss://${location.host}/ddp-socket/sockjs/${String(Math.floor(Math.random() * 1000)).padStart(3, '0')}/${random(8)}/websocket`); const send = m => socket.send(JSON.stringify([JSON.stringify(m)])); const sub = '7' + random(16), call = '4' + random(16);
  socket.onmessage = ({data}) => { if (data === 'o') { send({msg: 'connect', version: '1', support: ['1']}); return; } if (data[0] !== 'a') return; for (const text of JSON.parse(data.slice(1))) { const m = JSON.parse(text); if (m.msg === 'connected') { send({msg: 'sub', id: sub, name: 'leaves', params: []}); send({msg: 'method', id: call, method: 'cover', params: []}); } if (m.msg === 'added') proof.add('/ddp-socket/' + m.fields.src); if (m.msg === 'ready' && m.subs[0] === sub) proof.done('ready'); if (m.msg === 'result' && m.id === call) proof.add('/ddp-socket/' + m.result); } }; })();</script>""",
        parts=("added", "ready", "called"),
        proofs=("sockjs/.*", "384x20-added.png", "384x21-called.png"),
        files={"sockjs/*": Raw(_ddp)},
    ),
    Feature(
        "nested-tabs",
        "A tab's panel has tabs of its own, and these a select, each made when it is first shown.",
        whole(
            """<div id="app"></div><script>
const views = {Plants: {Trees: ['oak', 'ash'], Herbs: ['mint', 'sage']}, Places: {Parks: ['north', 'south'], Woods: ['old', 'new']}}; let a = 'Plants', b = 'Trees';
const draw = () => { app.innerHTML = `<div class="v-tabs">${Object.keys(views).map(k => `<div class="v-tab ${k === a ? 'v-tab--active' : ''}" data-a="${k}">${k}</div>`).join('')}</div><div class="v-window"><ul class="el-tabs">${Object.keys(views[a]).map(k => `<li class="${k === b ? 'is-active' : ''}"><span data-b="${k}">${k}</span></li>`).join('')}</ul><select>${views[a][b].map(k => `<option>${k}</option>`).join('')}</select><div class="show"></div></div>`; show(views[a][b][0]); app.querySelector('select').onchange = e => show(e.target.value); };
const show = k => { app.querySelector('.show').innerHTML = `<img src="kinds/398x20-${k}.png">`; };
app.onclick = e => { const t = e.target; if (t.dataset.a) { a = t.dataset.a; b = Object.keys(views[a])[0]; draw(); } else if (t.dataset.b) { b = t.dataset.b; draw(); } }; draw();</script>"""
        ),
        head="<style>.v-tab, .el-tabs span {display: inline-block; padding: 8px; cursor: pointer}</style>",
        parts=("oak", "ash", "mint", "north", "old", "new"),
        proofs=tuple(f"kinds/398x20-{name}.png" for name in ("oak", "ash", "mint", "north", "south", "old", "new")),
        acts=(
            Act("select", "select", "ash"),
            click("[data-b=Herbs]"),
            click("[data-a=Places]"),
            click("[data-b=Woods]"),
            Act("select", "select", "new"),
        ),
    ),
    Feature(
        "interest-card",
        "A link has a card that the browser itself shows when the mouse rests on it.",
        """<p>By <a href="/people/ash" interestfor="card">A. Ash</a>.</p><div id="card" popover="hint"><img loading="lazy" src="399x20-portrait.png" width="399" height="20"></div>""",
        acts=(hover("a"),),
    ),
    Feature(
        "xslt-feed",
        "A frame shows a feed whose style sheet turns it into a page.",
        """<iframe src="feed.xml" width="400" height="100"></iframe>""",
        parts=("entry",),
        proofs=(r"feed\.xml", r"feed\.xsl", "400x20-entry.png"),
        files={
            "feed.xml": Reply(
                '<?xml version="1.0"?><?xml-stylesheet type="text/xsl" href="feed.xsl"?><feed><entry src="400x20-entry.png"/></feed>',
                "text/xml",
            ),
            "feed.xsl": Reply(
                """<?xml version="1.0"?><xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:template match="/"><html><body><xsl:for-each select="feed/entry"><img src="{@src}" onload="parent.postMessage({{part: 'entry'}}, '*')"/></xsl:for-each></body></html></xsl:template></xsl:stylesheet>""",
                "text/xsl",
            ),
        },
    ),
)
