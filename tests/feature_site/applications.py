"""Features of applications: what their scripts ask for, in which form, and how the answer depends on the question."""

from __future__ import annotations

import json
import secrets
from typing import Final

from feature_site.feature import Act, Feature, Proof, Question, Raw, Reply, click, css, data, js, page
from feature_site.sockets import Read, Write, heard, upgrade
from feature_site.whole_pages import whole
from support.clients.websocket import frame

_CSS_NAMES: Final = ("371x20-swapped.png", "371x21-late.png")


def _rpc(question: Question) -> Reply:
    """Answer a call of JSON-RPC under the identifier that the client gave."""
    asked = json.loads(question.body)
    picture = {"leaf.get": "372x20-called.png", "leaf.list": "372x21-listed.png"}[asked["method"]]
    return data(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"picture": picture}}))


async def _live_view(question: Question, write: Write, read: Read) -> None:
    """Answer each message under its number, and a click with the changed part of the page."""
    await upgrade(question, write)
    while True:
        kind, payload = await heard(read)
        if kind == 8:
            return
        join, ref, topic, event, value = json.loads(payload)
        response: dict[str, object] = {}
        if event == "phx_join":
            response = {"rendered": {"0": "<img src=373x20-mounted.png>"}}
        elif event == "event":
            response = {"diff": {"0": f"<img src=373x21-tab-{value['value']['tab']}.png>"}}
        answer = [join, ref, topic, "phx_reply", {"status": "ok", "response": response}]
        await write(frame(1, json.dumps(answer).encode()))


def _route(question: Question) -> Reply:
    """Answer a route as a document, or as the parts of it that a router asks for."""
    name = question.path
    vary = ("Vary", "rsc, next-router-state-tree, next-router-prefetch, Accept-Encoding")
    if question.headers.get("rsc") == "1":
        text = f'0:["$","main",null,{{"children":["$","img",null,{{"src":"/rsc-navigation/374x2{len(name)}-{name}.png"}}]}}]\n'
        return Reply(text, "text/x-component", headers=(vary,))
    return page(f"<title>{name}</title><main>Document {name}</main>", vary)


def _session(question: Question) -> Reply:
    """Answer the origin that asks, and no other."""
    origin = question.headers.get("origin", "")
    name = "frame" if "cdn" in origin else "page"
    return data(
        json.dumps({"picture": f"/vary-origin/375x2{len(name)}-{name}.png"}),
        ("Access-Control-Allow-Origin", origin),
        ("Access-Control-Allow-Credentials", "true"),
        ("Vary", "Origin"),
    )


def _bids(question: Question) -> Reply:
    """Answer each place for an advertisement under the identifier that the page made up."""
    asked = json.loads(question.body)
    bids = [
        {
            "impid": place["id"],
            "price": 1.2,
            "adm": f"<img src='376x2{n}-creative{n}.png'>",
            "nurl": f"win?slot={n}&id={asked['id']}",
        }
        for n, place in enumerate(asked["imp"])
    ]
    return data(json.dumps({"id": asked["id"], "seatbid": [{"bid": bids}]}))


def _sign(question: Question) -> Reply:
    """Sign a file for one use."""
    key = json.loads(question.body)["key"]
    signature = secrets.token_hex(32)
    question.memory[signature] = 1
    return data(
        json.dumps(
            {
                "url": f"/presigned-links/bucket/{key}?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Expires=60&X-Amz-Signature={signature}"
            }
        )
    )


APPLICATIONS: Final = (
    Feature(
        "rpc-random-id",
        "Calls have random identifiers, and the client drops an answer that has another.",
        """<script type="module">
let waiting = new Map(); const call = async (method, id) => { const answer = await (await fetch('rpc', {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({jsonrpc: '2.0', id, method, params: [{limit: 10}]})})).json(); if (answer.id !== id) throw new Error('unknown id'); return answer.result; };
call('leaf.get', Math.floor(Math.random() * 1e9)).then(r => proof.add(r.picture)); call('leaf.list', crypto.randomUUID()).then(r => proof.add(r.picture));</script>""",
        parts=("called", "listed"),
        proofs=(Proof("rpc.*", 2), "372x20-called.png", "372x21-listed.png"),
        files={"rpc": _rpc},
    ),
    Feature(
        "live-view",
        "Clicks are sent over a WebSocket under a running number, and its answers change the page.",
        whole(
            """<div data-phx-main data-phx-session="SFMyNTY.g2g" id="phx-1"><div class="tabs"><button phx-click="tab" phx-value-tab="roots">Roots</button><button phx-click="tab" phx-value-tab="stem">Stem</button><button phx-click="tab" phx-value-tab="crown">Crown</button></div><div id="view"></div></div><script>
(() => { const socket = new WebSocket(`wss://${location.host}/live-view/live/websocket?_csrf_token=KSQ9&vsn=2.0.0`); let ref = 3; const waiting = {}; const push = (event, value) => { const r = String(++ref); waiting[r] = true; socket.send(JSON.stringify(['4', r, 'lv:phx-1', event, value])); };
  socket.onopen = () => push('phx_join', {url: location.href, static: null, session: 'SFMyNTY.g2g'});
  socket.onmessage = ({data}) => { const [, r, , event, {response}] = JSON.parse(data); if (event !== 'phx_reply' || !waiting[r]) return; delete waiting[r]; const found = response.rendered || response.diff; if (found) view.innerHTML = found[0]; };
  document.querySelectorAll('[phx-click]').forEach(b => b.addEventListener('click', () => push('event', {type: 'click', event: 'tab', value: {tab: b.getAttribute('phx-value-tab'), value: ''}}))); })();</script>"""
        ),
        parts=("mounted", "tab-crown", "tab-roots"),
        proofs=("live/websocket.*", "373x21-tab-crown.png", "373x21-tab-roots.png", "373x21-tab-stem.png"),
        files={"live/websocket": Raw(_live_view)},
        acts=(
            Act("evaluate", "new Promise(done => setTimeout(done, 600))"),
            click("[phx-value-tab=crown]"),
            click("[phx-value-tab=roots]"),
        ),
    ),
    Feature(
        "rsc-navigation",
        "A router asks for the parts of the next route, with a hash of the route that it comes from.",
        """<div id="__next"><nav><a href="/rsc-navigation/about">About</a> <a href="/rsc-navigation/team">Team</a> <a href="/rsc-navigation/contact">Contact</a></nav><div id="outlet"><main>Home</main></div></div><script>
const hash = s => { let h = 5381; for (const c of s) h = (h * 33 + c.charCodeAt(0)) >>> 0; return h.toString(36).slice(0, 5); };
const go = async path => { const tree = encodeURIComponent(JSON.stringify(['', {children: [location.pathname.split('/').pop() || '__PAGE__', {}]}])); const r = await fetch(`${path}?_rsc=${hash(tree + path)}`, {headers: {RSC: '1', 'Next-Router-State-Tree': tree, 'Next-Url': location.pathname}}); const text = await r.text(); if (!r.headers.get('content-type').startsWith('text/x-component')) { location.href = path; return; } const src = /"src":"([^"]+)"/.exec(text)[1]; outlet.innerHTML = `<main><img src="${src}"></main>`; };
document.querySelector('nav').addEventListener('click', e => { const a = e.target.closest('a'); if (!a || e.metaKey || e.ctrlKey) return; e.preventDefault(); const path = new URL(a.href).pathname; go(path).then(() => history.pushState({__NA: true}, '', path)); });</script>""",
        parts=("contact", "about"),
        proofs=(
            r"about\?_rsc=.*",
            r"team\?_rsc=.*",
            r"contact\?_rsc=.*",
            "374x25-about.png",
            "374x27-contact.png",
        ),
        files=dict.fromkeys(("about", "team", "contact"), _route),
        acts=(click("a[href$=contact]"), click("a[href$=about]")),
    ),
    Feature(
        "ab-test",
        "The page throws dice for one of six pictures, and remembers the throw.",
        whole(
            """<div id="hero"></div><ul id="more"></ul><script>
(function () { var v = localStorage.getItem('ab_hero'); if (!v) { v = 'abcdef'[Math.floor(Math.random() * 6)]; localStorage.setItem('ab_hero', v); }
  var i = new Image(); i.onload = function () { if (i.naturalWidth === 377) proof.done('hero'); }; i.src = 'variants/377x20-hero-' + v + '.png'; document.getElementById('hero').appendChild(i);
  var picked = [1, 2, 3, 4, 5, 6, 7, 8].sort(function () { return .5 - Math.random(); }).slice(0, 2); var done = 0; picked.forEach(function (n) { var t = new Image(); t.onload = function () { if (++done === 2) proof.done('teasers'); }; t.src = 'teasers/378x2' + n + '-teaser' + n + '.png'; document.getElementById('more').appendChild(t); }); })();</script>"""
        ),
        parts=("hero", "teasers"),
        proofs=(r"variants/377x20-hero-\w\.png", Proof(r"teasers/378x2\d-teaser\d\.png", 2)),
    ),
    Feature(
        "vary-origin",
        "The page and a frame of another host ask for one URL, whose answer allows the asking origin alone.",
        """<iframe src="https://cdn.features.test/vary-origin/widget.html"></iframe><script>
fetch('https://elsewhere.test/vary-origin/api/session', {credentials: 'include'}).then(r => r.json()).then(a => proof.add(a.picture));</script>""",
        parts=("page", "frame"),
        proofs=(Proof("api/session", 2), "375x24-page.png", "375x25-frame.png"),
        files={
            "widget.html": page(
                "<script>fetch('https://elsewhere.test/vary-origin/api/session', {credentials: 'include'}).then(r => r.json()).then(a => { const i = new Image(); i.onload = () => parent.postMessage({part: 'frame'}, '*'); i.src = a.picture; document.body.append(i); });</script>"
            ),
            "api/session": _session,
        },
    ),
    Feature(
        "server-clock",
        "A script reads the time of the server from the head of an answer, and asks for the edition of that hour.",
        """<script>
(async () => { const r = await fetch('ping', {method: 'HEAD', cache: 'no-store'}); const at = new Date(r.headers.get('date')); const name = `${at.toISOString().slice(0, 13)}.json`; const a = await fetch(`editions/${name}`); proof.add((await a.json()).picture); })();</script>""",
        parts=("edition",),
        proofs=(r"editions/.*\.json", "379x20-edition.png"),
        files={"ping": Reply(""), "editions/*": data('{"picture": "379x20-edition.png"}')},
    ),
    Feature(
        "late-styles",
        "Style sheets are loaded for print or as preloads, and become real ones by their load events.",
        """<div class="a">One</div><div class="b">Two</div><div class="c">Three</div><script>for (const name of ['371x20-swapped.png', '371x21-late.png']) proof.resource(name, name.slice(7, -4)); for (const name of ['effects.svg', 'effects.svg#blur']) proof.resource(name, 'effects');</script>""",
        head="""<link rel="stylesheet" href="swapped.css" media="print" onload="this.media='all'"><link rel="preload" as="style" href="late.css" onload="this.onload=null;this.rel='stylesheet'"><noscript><link rel="stylesheet" href="late.css"></noscript><style>.c {filter: url(effects.svg#blur); height: 30px; background: red}</style>""",
        parts=("swapped", "late", "effects"),
        proofs=("swapped.css", "late.css", *_CSS_NAMES, "effects.svg"),
        files={
            "swapped.css": css(".a {height: 20px; background: url(371x20-swapped.png)}"),
            "late.css": css(".b {height: 20px; background: url(371x21-late.png)}"),
            "effects.svg": Reply(
                '<svg xmlns="http://www.w3.org/2000/svg"><filter id="blur"><feGaussianBlur stdDeviation="2"/></filter></svg>',
                "image/svg+xml",
            ),
        },
    ),
    Feature(
        "shimmed-modules",
        "A shim fetches modules, rewrites the names that they import, and imports them as blobs.",
        """<script type="importmap-shim">{"imports": {"lit": "https://cdn.features.test/shimmed-modules/lit@3.2.1/index.js", "store": "./store.js"}}</script><script type="module-shim">import {show} from 'lit'; import {names} from 'store'; names.forEach(show);</script><script>
(async () => { const base = document.baseURI, map = JSON.parse(document.querySelector('[type=importmap-shim]').textContent).imports, made = {}; self.proofOf = proof;
  const resolve = (name, from) => new URL(map[name] || name, map[name] ? base : from).href; const load = url => made[url] ??= fetch(url).then(r => r.text()).then(text => rewrite(text, url));
  const rewrite = async (text, from) => { const names = [...text.matchAll(/from '([^']+)'/g)].map(m => m[1]); for (const name of names) text = text.replace(`from '${name}'`, `from '${await load(resolve(name, from))}'`); return URL.createObjectURL(new Blob([text + `\\n//# sourceURL=${from}`], {type: 'text/javascript'})); };
  import(await rewrite(document.querySelector('[type=module-shim]').textContent, base)); })();</script>""",
        parts=("shimmed", "stored"),
        proofs=(
            r"lit@3\.2\.1/index\.js",
            r"lit@3\.2\.1/dom\.js",
            "store.js",
            "381x20-shimmed.png",
            "381x21-stored.png",
        ),
        files={
            "lit@3.2.1/index.js": js("import {put} from './dom.js'; export const show = name => put(name);"),
            "lit@3.2.1/dom.js": js("export const put = name => self.proofOf.add(name);"),
            "store.js": js("export const names = ['381x20-shimmed.png', '381x21-stored.png'];"),
        },
    ),
    Feature(
        "auction",
        "An auction posts random identifiers, matches the bids by them, and tells the winner with a macro.",
        """<div id="slot0"></div><div id="slot1"></div><script>
(async () => { const id = crypto.randomUUID(), imp = [0, 1].map(n => ({id: crypto.randomUUID(), tagid: 'slot' + n, banner: {w: 376, h: 20 + n}}));
  const answer = await (await fetch('https://elsewhere.test/auction/openrtb2/auction?cb=' + Date.now(), {method: 'POST', body: JSON.stringify({id, imp, source: {tid: crypto.randomUUID()}, tmax: 1000, site: {page: location.href}, ts: Date.now()})})).json(); if (answer.id !== id) return;
  for (const bid of answer.seatbid[0].bid) { const place = imp.find(i => i.id === bid.impid); if (!place) continue; const frame = document.createElement('iframe'); frame.srcdoc = `<base href="https://elsewhere.test/auction/">${bid.adm.replace('>', ` onload="parent.postMessage({part: '${place.tagid}'}, '*')">`)}`; document.getElementById(place.tagid).append(frame); new Image().src = 'https://elsewhere.test/auction/' + bid.nurl + '&p=' + Math.random(); } })();</script>""",
        parts=("slot0", "slot1"),
        proofs=("openrtb2/auction.*", "376x20-creative0.png", "376x21-creative1.png"),
        files={"openrtb2/auction": _bids, "win": Reply("")},
    ),
    Feature(
        "presigned-links",
        "Each click asks for a signed address of a file that holds for one use.",
        whole(
            """<ul class="files"><li><button class="file" data-key="382x20-report.png">report.png</button></li><li><button class="file" data-key="382x21-minutes.png">minutes.png</button></li></ul><div id="out"></div><script>
document.querySelectorAll('.file').forEach(b => b.addEventListener('click', async () => { const {url} = await (await fetch('sign', {method: 'POST', headers: {'content-type': 'application/json', 'x-request-id': crypto.randomUUID()}, body: JSON.stringify({key: b.dataset.key})})).json(); out.innerHTML = `<img src="${url}">`; }));</script>"""
        ),
        parts=("report", "minutes"),
        proofs=("bucket/382x20-report.png.*", "bucket/382x21-minutes.png.*"),
        files={"sign": _sign},
        acts=(click(".file >> nth=0"), click(".file >> nth=1")),
    ),
)
