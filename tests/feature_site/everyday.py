"""Features of everyday sites: shops, news, archives and tools, with the idioms of many years."""

from __future__ import annotations

import asyncio
import json
import re
from typing import Final
from urllib.parse import parse_qs

from feature_site.feature import Act, Feature, Proof, Question, Raw, Reply, click, data, hover, js, page
from feature_site.sockets import Read, Write, heard, upgrade
from support.clients.websocket import frame

_HTML: Final = "text/html; charset=utf-8"
_NO_STORE: Final = ("Cache-Control", "no-store")


def _html(text: str) -> Reply:
    return Reply(text, _HTML)


def _ajax(question: Question) -> Reply:
    """Answer an action of a publishing system with the next posts."""
    asked = {name: values[0] for name, values in parse_qs(question.body.decode()).items()}
    if asked.get("action") != "load_more" or len(asked.get("nonce", "")) != 10:
        return Reply("0", _HTML, status=400)
    return _html(f"<article><img src='260x2{asked['page']}-post{asked['page']}.png'></article>")


def _postback(question: Question) -> Reply:
    """Answer a posted page with its next state."""
    asked = {name: values[0] for name, values in parse_qs(question.body.decode()).items()}
    at = int(asked["__EVENTARGUMENT"].removeprefix("Page$"))
    return Reply(
        f"1|updatePanel|grid|<img src='262x2{at}-grid{at}.png'>|hiddenField|__VIEWSTATE|{asked['__VIEWSTATE']}{at:04d}|"
    )


def _cursor(question: Question) -> Reply:
    """Answer a query sent by GET, whose variables have a cursor."""
    variables = json.loads(parse_qs(question.query)["variables"][0])
    at = int(variables["after"] or 0) + 1
    return data(json.dumps({"data": {"picture": f"264x2{at}-node{at}.png", "after": str(at) if at < 4 else None}}))


def _mixed(question: Question) -> Reply:
    """Answer each inner request of a batch, with a boundary of its own."""
    paths = re.findall(rb"GET /v1/(\w+)", question.body)
    parts = b"".join(
        b"--answer\r\nContent-Type: application/http\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + b'{"name": "' + path + b'"}\r\n'
        for path in paths
    )
    return Reply(parts + b"--answer--", "multipart/mixed; boundary=answer")


async def _heartbeat(question: Question, write: Write, read: Read) -> None:
    """Return each sign of life with its time, and send news behind the third."""
    await upgrade(question, write)
    for number in range(1, 4):
        _, payload = await heard(read)
        await write(frame(1, json.dumps({"type": "pong", "ts": json.loads(payload)["ts"]}).encode()))
        if number == 3:
            await write(frame(1, b'{"type": "news", "picture": "266x20-news.png"}'))
    await heard(read)


async def _token_stream(question: Question, write: Write, read: Read) -> None:
    await write(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")
    for at in (1, 2):
        await write(f"event: price\ndata: 268x2{at}-price{at}.png\n\n".encode())
        await asyncio.sleep(0.2)
    await write(b"event: end\ndata: over\n\n")


def _channel(question: Question) -> Reply:
    """Open a channel by POST, and deliver by GET."""
    if question.method == "POST":
        return Reply('51\n[[0,["c","S1d-4711","",8,12,30000]]]\n')
    return Reply('[[1,[{"documentChange":{"picture":"270x20-document.png"}}]]]')


EVERYDAY: Final = (
    Feature(
        "ajax-tabs",
        "Tabs are links to documents, which a script puts into a panel.",
        """<div id=tabs><ul class=nav-tabs><li><a href="/ajax-tabs/ajax/specs.html">Specifications</a></li><li><a href="/ajax-tabs/ajax/reviews.html">Reviews (3)</a></li></ul><div id=panel></div></div><script>
document.querySelector('.nav-tabs').addEventListener('click', e => { const a = e.target.closest('a'); if (!a) return; e.preventDefault(); fetch(a.href).then(r => r.text()).then(html => { panel.innerHTML = html; }); });</script>""",
        parts=("specs", "reviews"),
        proofs=("ajax/specs.html", "ajax/reviews.html", "250x20-specs.png", "250x21-reviews.png"),
        files={
            "ajax/specs.html": _html("<img src='/ajax-tabs/250x20-specs.png'>"),
            "ajax/reviews.html": _html("<img src='/ajax-tabs/250x21-reviews.png'>"),
        },
        acts=(click("#tabs a >> nth=0"), click("#tabs a >> nth=1")),
    ),
    Feature(
        "scroll-polled",
        "A script looks at the scroll bar four times a second, and loads at the end.",
        """<div id=list></div><script>
let at = 0; function add() { at++; list.insertAdjacentHTML('beforeend', `<div style="height:1200px"><img src="250x3${at}-polled${at}.png"></div>`); } add();
setInterval(() => { if (at < 4 && window.pageYOffset + window.innerHeight > document.body.offsetHeight - 200) add(); }, 250);</script>""",
        parts=tuple(f"polled{at}" for at in range(1, 5)),
        proofs=tuple(f"250x3{at}-polled{at}.png" for at in range(1, 5)),
    ),
    Feature(
        "body-scroller",
        "The body scrolls and the root does not, and the list grows at its end.",
        """<style>html {height: 100%; overflow: hidden} body {height: 100%; overflow-y: auto; margin: 0}</style><div id=list></div><script>
let at = 0; function add() { at++; list.insertAdjacentHTML('beforeend', `<div style="height:1100px"><img src="251x2${at}-row${at}.png"></div>`); } add();
document.body.addEventListener('scroll', () => { if (at < 4 && document.body.scrollTop + document.body.clientHeight > document.body.scrollHeight - 150) add(); });</script>""",
        parts=tuple(f"row{at}" for at in range(1, 5)),
        proofs=tuple(f"251x2{at}-row{at}.png" for at in range(1, 5)),
    ),
    Feature(
        "nested-hover",
        "Sub-menus of sub-menus are shown by styles alone, with lazy pictures.",
        """<style>.menu ul {display: none; position: absolute; left: 100%; top: 0} .menu, .menu li {position: relative; width: 120px} .menu li:hover > ul {display: block}</style>
<ul class=menu><li class=a>Plants<ul><li class=b>Trees<ul><li><img loading=lazy src="252x20-oak.png" width=100 height=20></li></ul></li></ul></li></ul>""",
        acts=(hover(".a"), hover(".b")),
    ),
    Feature(
        "focus-preview",
        "Cards that the Tab key reaches load a preview when they get the focus.",
        """<div class=card tabindex=0 data-p="253x20-first.png">First</div><div class=card tabindex=0 data-p="253x21-second.png">Second</div><div id=preview></div><script>
document.querySelectorAll('.card').forEach(card => card.addEventListener('focus', () => { preview.innerHTML = `<img src="${card.dataset.p}">`; }));</script>""",
        acts=(Act("press", ".card >> nth=0", "Shift"), Act("press", ".card >> nth=1", "Shift")),
    ),
    Feature(
        "escape-only",
        "A window over the page has no button and is left by the Escape key.",
        """<div class="cover" id=cover style="position:fixed;inset:0;background:#000d;color:#fff">Press Esc to enter the exhibition</div><main id=main></main><script>
document.documentElement.style.overflow = 'hidden';
addEventListener('keydown', e => { if (e.key === 'Escape' && cover.isConnected) { cover.remove(); document.documentElement.style.overflow = ''; main.innerHTML = '<img src="254x20-hall.png">'; } });</script>""",
        acts=(Act("press", "body", "Escape"),),
    ),
    Feature(
        "click-anywhere",
        "An intro fills the window, and a click on any place leads to the page.",
        """<section class="intro" style="position:fixed;inset:0;background:#325;color:#fff"><h2>Click anywhere to begin</h2></section><main></main><script>
document.querySelector('.intro').addEventListener('click', function () { this.remove(); document.querySelector('main').innerHTML = '<div style="height:2500px">Story</div><img loading=lazy src="255x20-story.png">'; });</script>""",
        acts=(click(".intro"),),
    ),
    Feature(
        "date-field",
        "A field for a date chooses the front page of a newspaper.",
        """<label>Issue of <input type=date id=day min="2024-03-01" max="2024-03-03" value="2024-03-01"></label><img id=front src="issues/256x20-d01.png"><script>
day.addEventListener('change', () => { front.src = `issues/256x20-d${day.value.slice(-2)}.png`; });</script>""",
        parts=("d01", "d03"),
        proofs=("issues/256x20-d01.png", "issues/256x20-d03.png"),
        acts=(Act("fill", "#day", "2024-03-03"), Act("evaluate", "day.dispatchEvent(new Event('change'))")),
    ),
    Feature(
        "dependent-selects",
        "The first select fetches the options of the second, which loads a picture.",
        """<select id=country><option value="">Country</option><option value=dk>Denmark</option><option value=no>Norway</option></select><select id=city disabled><option value="">City</option></select><div id=out></div><script>
country.onchange = async () => { if (!country.value) return; const list = await fetch(`cities/${country.value}.json`).then(r => r.json()); city.innerHTML = '<option value="">City</option>' + list.map(n => `<option>${n}</option>`).join(''); city.disabled = false; };
city.onchange = () => { if (city.value) out.innerHTML = `<img src="257x20-${city.value}.png">`; };</script>""",
        parts=("Aarhus", "Bergen"),
        proofs=("cities/dk.json", "cities/no.json", "257x20-Aarhus.png", "257x20-Bergen.png"),
        files={"cities/dk.json": data('["Aarhus"]'), "cities/no.json": data('["Bergen"]')},
        acts=(
            Act("select", "#country", "dk"),
            Act("select", "#city", "Aarhus"),
            Act("select", "#country", "no"),
            Act("select", "#city", "Bergen"),
        ),
    ),
    Feature(
        "numbered-pager",
        "A pager of numbers is drawn again at each turn, with dots between far numbers.",
        """<ol id=rows></ol><nav aria-label=Pagination id=pager></nav><script>
let at = 1; const last = 7;
function draw() {
  rows.innerHTML = `<li><img src="pages/258x2${at}-p${at}.png"></li>`;
  const near = [...new Set([1, at - 1, at, at + 1, last])].filter(n => n >= 1 && n <= last);
  pager.innerHTML = near.map((n, i) => (i && n - near[i - 1] > 1 ? '<span>…</span>' : '') + `<button type=button ${n === at ? 'aria-current=page' : ''} aria-label="Page ${n}">${n}</button>`).join('');
}
pager.addEventListener('click', e => { const b = e.target.closest('button'); if (b) { at = +b.textContent; draw(); } });
draw();</script>""",
        parts=("p1", "p2", "p3", "p7"),
        proofs=tuple(f"pages/258x2{at}-p{at}.png" for at in range(1, 8)),
        acts=(click("[aria-label='Page 2']"), click("[aria-label='Page 3']"), click("[aria-label='Page 7']")),
    ),
    Feature(
        "filter-drawer",
        "A drawer has check boxes, and its button applies them.",
        """<button type=button id=open>Filter</button><aside id=drawer style="position:fixed;right:0;top:0;width:260px;transform:translateX(100%);visibility:hidden"><label><input type=checkbox value=shade id=c1> Shade</label><button type=button id=apply>Show results</button></aside><div id=out></div><script>
open.onclick = null; document.getElementById('open').addEventListener('click', () => { drawer.style.transform = 'none'; drawer.style.visibility = 'visible'; });
apply.addEventListener('click', () => { const chosen = [...drawer.querySelectorAll(':checked')].map(c => c.value); if (chosen.length) out.innerHTML = `<img src="259x20-${chosen[0]}.png">`; });</script>""",
        parts=("shade",),
        proofs=("259x20-shade.png",),
        acts=(click("#open"), click("#c1"), click("#apply")),
    ),
    Feature(
        "sorted-table",
        "The heads of a table sort it, and the server sends the order.",
        """<table><thead><tr><th data-key=name>Name</th><th data-key=age>Age</th><th data-key=size>Size</th></tr></thead><tbody id=rows></tbody></table><style>th {cursor: pointer}</style><script>
document.querySelector('thead').addEventListener('click', async e => { const th = e.target.closest('th'); if (!th) return; const dir = th.dataset.dir === 'asc' ? 'desc' : 'asc'; th.dataset.dir = dir; rows.innerHTML = await fetch(`rows?sort=${th.dataset.key}&dir=${dir}`).then(r => r.text()); });</script>""",
        parts=("name-asc", "age-asc", "size-asc"),
        proofs=("rows\\?sort=name&dir=asc", "rows\\?sort=age&dir=asc", "rows\\?sort=size&dir=asc"),
        files={
            "rows": lambda question: _html(
                "<tr><td><img src='t/261x20-{sort[0]}-{dir[0]}.png'></td></tr>".format(**parse_qs(question.query))
            )
        },
        acts=(click("th >> nth=0"), click("th >> nth=1"), click("th >> nth=2")),
    ),
    Feature(
        "late-drag",
        "A carousel listens to moves only after the mouse went down on it.",
        """<div class="embla" id=view style="width:300px;overflow:hidden;height:100px"><div class="embla__container" id=rail style="display:flex"></div></div><script>
const names = ['300x81-s1.png', '300x82-s2.png', '300x83-s3.png']; let at = 0;
rail.innerHTML = names.map(() => '<div class="embla__slide" style="flex:0 0 100%;height:90px"></div>').join('');
const show = () => { rail.style.transform = `translate3d(${-300 * at}px, 0, 0)`; if (!rail.children[at].firstChild) rail.children[at].innerHTML = `<img draggable=false src="${names[at]}">`; };
show();
view.addEventListener('mousedown', down => {
  let moved = 0;
  const move = e => { moved = e.clientX - down.clientX; rail.style.transform = `translate3d(${-300 * at + moved}px, 0, 0)`; };
  const up = () => { document.removeEventListener('mousemove', move); document.removeEventListener('mouseup', up); if (moved < -50 && at < 2) at++; else if (moved > 50 && at) at--; show(); };
  document.addEventListener('mousemove', move); document.addEventListener('mouseup', up);
});</script>""",
        acts=(Act("drag", "#view", "-140"), Act("drag", "#view", "-140")),
    ),
    Feature(
        "svg-regions",
        "The regions of a drawn map have no text, and a click loads their figures.",
        """<svg width=300 height=100 id=map><g class=regions><path d="M0 0H100V100H0Z" fill="#9c9" data-r=north></path><path d="M100 0H200V100H100Z" fill="#cc9" data-r=middle></path><path d="M200 0H300V100H200Z" fill="#99c" data-r=south></path></g></svg><div id=out></div><script>
document.querySelectorAll('#map path').forEach(p => { p.style.cursor = 'pointer'; p.addEventListener('click', () => { out.innerHTML = `<img src="263x20-${p.dataset.r}.png">`; }); });</script>""",
        parts=("north", "middle", "south"),
        proofs=("263x20-north.png", "263x20-middle.png", "263x20-south.png"),
        acts=tuple(click(f"path >> nth={at}") for at in range(3)),
    ),
    Feature(
        "image-map",
        "Areas of an image map open the rooms of a house.",
        """<img usemap="#house" src="200x100-house.png" width=200 height=100><map name=house><area shape=rect coords="0,0,100,100" href="#" data-room=kitchen alt=Kitchen><area shape=rect coords="100,0,200,100" href="#" data-room=attic alt=Attic></map><div id=out></div><script>
document.querySelectorAll('area').forEach(a => a.addEventListener('click', e => { e.preventDefault(); out.innerHTML = `<img src="265x20-${a.dataset.room}.png">`; }));</script>""",
        parts=("house", "kitchen", "attic"),
        proofs=("200x100-house.png", "265x20-kitchen.png", "265x20-attic.png"),
        acts=(
            Act("evaluate", "document.querySelectorAll('area')[0].click()"),
            Act("evaluate", "document.querySelectorAll('area')[1].click()"),
        ),
    ),
    Feature(
        "pins",
        "Pins on a picture show a card under the mouse.",
        """<div class=scene style="position:relative;width:300px;height:150px;background:#def"><i class=pin data-c="267x20-lamp.png" style="left:40px"></i><i class=pin data-c="267x21-sofa.png" style="left:180px"></i><div id=card style="position:absolute;top:100%"></div></div><style>.pin {position: absolute; top: 60px; width: 18px; height: 18px; border-radius: 9px; background: #c33}</style><script>
document.querySelectorAll('.pin').forEach(p => p.addEventListener('mouseenter', () => { card.innerHTML = `<img src="${p.dataset.c}">`; }));</script>""",
        acts=(hover(".pin >> nth=0"), hover(".pin >> nth=1")),
    ),
    Feature(
        "flip-cards",
        "A card turns when it is clicked, and its back is loaded at the end of the turn.",
        """<style>.flip {width: 120px; height: 60px; background: #eee; transition: transform .5s; cursor: pointer} .flip.is-flipped {transform: rotateY(180deg)}</style><div class=flip data-back="269x20-back1.png">1</div><div class=flip data-back="269x21-back2.png">2</div><script>
document.querySelectorAll('.flip').forEach(c => { c.onclick = () => c.classList.toggle('is-flipped'); c.addEventListener('transitionend', () => { if (c.classList.contains('is-flipped') && !c.querySelector('img')) c.innerHTML = `<img src="${c.dataset.back}">`; }); });</script>""",
        acts=(click(".flip >> nth=0"), click(".flip >> nth=1")),
    ),
    Feature(
        "negative-margin",
        "Sections are filled when they reach the middle of the window.",
        """<div style="height:900px">Top</div><section class=r data-n=1></section><section class=r data-n=2></section><section class=r data-n=3></section><div style="height:900px"></div><style>.r {height: 500px; border: 1px solid}</style><script>
const io = new IntersectionObserver(es => es.forEach(e => { if (e.isIntersecting) { io.unobserve(e.target); e.target.innerHTML = `<img src="271x2${e.target.dataset.n}-middle${e.target.dataset.n}.png">`; } }), {rootMargin: '-45% 0px -45% 0px'});
document.querySelectorAll('.r').forEach(r => io.observe(r));</script>""",
        parts=("middle1", "middle2", "middle3"),
        proofs=tuple(f"271x2{at}-middle{at}.png" for at in (1, 2, 3)),
    ),
    Feature(
        "panel-list",
        "A tab opens a panel whose list grows when it is scrolled.",
        """<div role=tablist><button role=tab aria-selected=true id=t1>About</button><button role=tab aria-selected=false id=t2>Posts</button></div><div id=p2 hidden style="height:240px;width:300px;overflow-y:scroll"><div id=list></div><div id=end style="height:1px"></div></div><script>
let at = 0; const add = () => { at++; list.insertAdjacentHTML('beforeend', `<div style="height:220px"><img src="272x2${at}-post${at}.png"></div>`); };
t2.onclick = () => { p2.hidden = false; t2.ariaSelected = true; if (!at) { add(); new IntersectionObserver(([e], io) => { if (e.isIntersecting && at < 5) { add(); io.unobserve(end); io.observe(end); } }, {root: p2, rootMargin: '20px'}).observe(end); } };</script>""",
        parts=tuple(f"post{at}" for at in range(1, 6)),
        proofs=tuple(f"272x2{at}-post{at}.png" for at in range(1, 6)),
        acts=(
            click("#t2"),
            *(Act("evaluate", "p2.scrollTo(0, 99999)"), Act("evaluate", "p2.scrollTo(0, 99999)")) * 2,
        ),
    ),
    Feature(
        "amd",
        "Modules are defined asynchronously, with a stamp on each URL.",
        """<script>
(function () {
  const stamp = 'bust=' + Date.now(), known = {}; window.define = (deps, make) => { window.__last = [deps, make]; };
  const load = name => known[name] ||= new Promise(done => { const s = document.createElement('script'); s.src = `js/${name}.js?${stamp}`; s.onload = async () => { const [deps, make] = window.__last; done(make(...await Promise.all(deps.map(load)))); }; document.head.append(s); });
  load('main');
})();</script>""",
        parts=("deep",),
        proofs=("js/main.js.*", "js/view.js.*", "js/model.js.*", "273x20-deep.png"),
        files={
            "js/main.js": js("define(['view'], view => { proof.add(view.picture); });"),
            "js/view.js": js("define(['model'], model => ({picture: model}));"),
            "js/model.js": js("define([], () => '273x20-deep.png');"),
        },
    ),
    Feature(
        "socket-heartbeat",
        "A WebSocket exchanges the time every half second, and news come behind the third time.",
        """<script>
const s = new WebSocket(`wss://${location.host}/socket-heartbeat/live`); let sent = 0;
const beat = () => { sent = Date.now(); s.send(JSON.stringify({type: 'ping', ts: sent})); };
s.onopen = beat; s.onmessage = e => { const m = JSON.parse(e.data); if (m.type === 'pong') { if (m.ts !== sent) return s.close(); proof.done('beat'); setTimeout(beat, 500); } else if (m.type === 'news') proof.add(m.picture); };</script>""",
        parts=("beat", "news"),
        proofs=("266x20-news.png",),
        files={"live": Raw(_heartbeat)},
    ),
    Feature(
        "token-stream",
        "An EventSource has a token that the page has made of the time, and named events.",
        """<script>
const token = btoa(JSON.stringify({alg: 'none'})).replaceAll('=', '') + '.' + btoa(JSON.stringify({iat: Math.floor(Date.now() / 1000), jti: crypto.randomUUID()})).replaceAll('=', '') + '.';
const s = new EventSource(`stream?topic=prices&access_token=${token}`, {withCredentials: true});
s.addEventListener('price', e => proof.add(e.data)); s.addEventListener('end', () => s.close());</script>""",
        parts=("price1", "price2"),
        proofs=("stream\\?topic=prices.*", "268x21-price1.png", "268x22-price2.png"),
        files={"stream": Raw(_token_stream)},
    ),
    Feature(
        "graphql-get",
        "Queries are sent by GET with variables and a hash, and a cursor leads on while the page is scrolled.",
        """<div id=feed></div><div id=end>…</div><script>
let after = null, busy = false;
async function more() {
  if (busy) return; busy = true;
  const v = encodeURIComponent(JSON.stringify({first: 1, after})), x = encodeURIComponent(JSON.stringify({persistedQuery: {version: 1, sha256Hash: 'ab12'}}));
  const {data} = await fetch(`graphql?operationName=Feed&variables=${v}&extensions=${x}`, {headers: {'content-type': 'application/json'}}).then(r => r.json());
  feed.insertAdjacentHTML('beforeend', `<div style="height:900px"><img src="${data.picture}"></div>`); after = data.after; busy = false;
  if (!after) { io.disconnect(); end.remove(); }
}
const io = new IntersectionObserver(es => es[0].isIntersecting && more(), {threshold: 1}); io.observe(end);</script>""",
        parts=tuple(f"node{at}" for at in range(1, 5)),
        proofs=tuple(f"264x2{at}-node{at}.png" for at in range(1, 5)),
        files={"graphql": _cursor},
    ),
    Feature(
        "mixed-batch",
        "Requests are sent in one multipart body with a random boundary, and so is the answer.",
        """<script>
const post = async names => {
  const b = 'batch_' + Math.random().toString(36).slice(2); const body = names.map((n, i) => `--${b}\\r\\nContent-Type: application/http\\r\\nContent-ID: <${i}>\\r\\n\\r\\nGET /v1/${n}\\r\\n\\r\\n`).join('') + `--${b}--`;
  const text = await fetch('batch', {method: 'POST', headers: {'Content-Type': `multipart/mixed; boundary=${b}`}, body}).then(r => r.text());
  for (const n of names) if (text.includes(`"name": "${n}"`)) proof.done(n);
};
post(['leaf', 'bark']).then(() => post(['root']));</script>""",
        parts=("leaf", "bark", "root"),
        proofs=(Proof("batch.*", 2),),
        files={"batch": _mixed},
    ),
    Feature(
        "admin-ajax",
        "A publishing system loads more posts by a form with a nonce.",
        """<div id=posts></div><a class="load-more-btn" style="cursor:pointer" data-page=1>Older posts</a><script>
const nonce = '1a2b3c4d5e'; document.querySelector('.load-more-btn').addEventListener('click', async function () {
  const next = +this.dataset.page; this.textContent = 'Loading…';
  const html = await fetch('wp-admin/admin-ajax.php', {method: 'POST', body: new URLSearchParams({action: 'load_more', query: JSON.stringify({cat: 3, order: 'DESC'}), page: next, nonce})}).then(r => r.text());
  posts.insertAdjacentHTML('beforeend', html); this.dataset.page = next + 1; this.textContent = 'Older posts'; if (next === 3) this.remove();
});</script>""",
        parts=("post1", "post2", "post3"),
        proofs=tuple(f"260x2{at}-post{at}.png" for at in (1, 2, 3)),
        files={"wp-admin/admin-ajax.php": _ajax},
        acts=(click(".load-more-btn"),) * 3,
    ),
    Feature(
        "postback",
        "A grid is turned by posting the whole page's state of many thousand characters.",
        """<form id=form1 method=post action="./"><input type=hidden id=state name=__VIEWSTATE><div id=grid>Page 1</div><table><tr><td><a href="javascript:__doPostBack('grid','Page$2')">2</a></td><td><a href="javascript:__doPostBack('grid','Page$3')">3</a></td></tr></table></form><script>
state.value = '/wEPDwUK' + 'Ab1'.repeat(2000);
async function __doPostBack(target, argument) { const text = await fetch('grid.aspx', {method: 'POST', headers: {'X-MicrosoftAjax': 'Delta=true'}, body: new URLSearchParams({__EVENTTARGET: target, __EVENTARGUMENT: argument, __VIEWSTATE: state.value, __ASYNCPOST: 'true'})}).then(r => r.text()); const part = text.split('|'); grid.innerHTML = part[3]; state.value = part[6]; }</script>""",
        parts=("grid2", "grid3"),
        proofs=("262x22-grid2.png", "262x23-grid3.png"),
        files={"grid.aspx": _postback},
        acts=(click("td a >> nth=0"), click("td a >> nth=1")),
    ),
    Feature(
        "web-channel",
        "A database's channel is opened by POST, and delivers by GET, with random parts in each URL.",
        """<script>
const zx = () => Math.random().toString(36).slice(2, 14), rid = Math.floor(Math.random() * 100000);
(async () => {
  const opened = await fetch(`Listen/channel?VER=8&database=leaf&RID=${rid}&CVER=22&X-HTTP-Session-Id=gsessionid&zx=${zx()}&t=1`, {method: 'POST', body: new URLSearchParams({count: 1, ofs: 0, req0___data__: '{"database":"leaf","addTarget":{"targetId":2}}'})}).then(r => r.text());
  const sid = /"c","([^"]+)"/.exec(opened)[1];
  const text = await fetch(`Listen/channel?VER=8&database=leaf&RID=rpc&SID=${sid}&AID=0&CI=0&TYPE=xmlhttp&zx=${zx()}&t=1`).then(r => r.text());
  proof.add(JSON.parse(text)[0][1][0].documentChange.picture);
})();</script>""",
        parts=("document",),
        proofs=("270x20-document.png",),
        files={"Listen/channel": _channel},
    ),
    Feature(
        "pay-or-consent",
        "A newspaper asks for money or for consent, in German.",
        """<div class="purmodal" style="position:fixed;inset:0;background:#fff;z-index:99"><h2>Willkommen</h2><div><h3>Mit Werbung lesen</h3><button class=primary id=yes>Einwilligen und weiter</button></div><div><h3>Werbefrei im Abo</h3><button class=secondary onclick="location.href='https://elsewhere.test/abo'">Jetzt abonnieren</button></div></div><article id=text></article><script>
document.body.style.overflow = 'hidden'; yes.addEventListener('click', () => { document.querySelector('.purmodal').remove(); document.body.style.overflow = ''; text.innerHTML = '<div style="height:1800px"></div><img loading=lazy src="274x20-artikel.png">'; });</script>""",
        acts=(click("#yes"),),
    ),
    Feature(
        "region-modal",
        "A shop asks for the reader's region in a window over the page.",
        """<div role=dialog aria-modal=true aria-label="Choose your location" style="position:fixed;inset:10%;background:#fff;border:1px solid"><p>It looks like you are in another country.</p><button type=button id=stay>Stay on this site</button><a href="https://elsewhere.test/us">Go to the US site</a></div><div id=shop></div><script>
document.body.classList.add('modal-open'); stay.onclick = () => { document.querySelector('[role=dialog]').remove(); shop.innerHTML = '<img src="275x20-shop.png">'; };</script>""",
        acts=(click("#stay"),),
    ),
    Feature(
        "terms-gate",
        "A check box for the terms makes a button usable, behind which the collection begins.",
        """<section id=gate><label><input type=checkbox id=ok> I have read the conditions of use</label><button type=button id=go disabled>Continue</button></section><script>
ok.onchange = () => { go.disabled = !ok.checked; }; go.onclick = () => { gate.innerHTML = '<img src="276x20-collection.png">'; };</script>""",
        acts=(click("#ok"), click("#go")),
    ),
    Feature(
        "birth-year",
        "The year of birth is chosen in a select before the page is shown.",
        """<div class="age-verification" style="position:fixed;inset:0;background:#222;color:#fff"><p>When were you born?</p><select id=year><option value="">Year</option><option>1950</option><option>1980</option><option>2020</option></select><button type=button id=enter>Enter</button></div><main></main><script>
enter.onclick = () => { if (year.value && +year.value < 2000) { document.querySelector('.age-verification').remove(); document.querySelector('main').innerHTML = '<img src="277x20-cellar.png">'; } };</script>""",
        acts=(Act("select", "#year", "1980"), click("#enter")),
    ),
    Feature(
        "late-widget",
        "A widget begins four and a half seconds after the load.",
        """<div id=w></div><script>addEventListener('load', () => setTimeout(() => { const s = document.createElement('script'); s.src = 'https://cdn.features.test/late-widget/widget.js'; document.body.append(s); }, 4500));</script>""",
        parts=("widget",),
        proofs=("widget.js", "278x20-widget.png"),
        files={"widget.js": js("proof.add('278x20-widget.png', w)")},
    ),
    Feature(
        "settled-scroll",
        "Suggestions are loaded when the scroll bar has rested for 1.2 seconds.",
        """<div style="height:3000px">Text</div><div id=out style="position:fixed;bottom:0"></div><script>
let t; addEventListener('scroll', () => { clearTimeout(t); t = setTimeout(() => { if (scrollY > 200 && !out.innerHTML) out.innerHTML = '<img src="279x20-rest.png">'; }, 1200); });</script>""",
        acts=(Act("evaluate", "scrollTo(0, 900)"), Act("evaluate", "new Promise(done => setTimeout(done, 1300))")),
    ),
    Feature(
        "island",
        "A component is made alive when it is seen, and its button works only then.",
        """<div style="height:2200px">Text</div><astro-island component-url="Counter.js" client=visible><button>Show 3 answers</button><div class=slot></div></astro-island><script>
customElements.define('astro-island', class extends HTMLElement { connectedCallback() { const io = new IntersectionObserver(async ([e]) => { if (!e.isIntersecting) return; io.disconnect(); const m = await import(new URL(this.getAttribute('component-url'), document.baseURI)); m.default(this); this.removeAttribute('ssr'); }); io.observe(this); } });</script>""",
        parts=("answers",),
        proofs=("Counter.js", "280x20-answers.png"),
        files={
            "Counter.js": js(
                "export default root => { root.querySelector('button').addEventListener('click', () => { root.querySelector('.slot').innerHTML = '<img src=\"280x20-answers.png\">'; }); };"
            )
        },
        acts=(
            Act("evaluate", "scrollTo(0, 2000)"),
            Act("evaluate", "new Promise(done => setTimeout(done, 300))"),
            click("astro-island button"),
        ),
    ),
    Feature(
        "resumable",
        "An attribute names the module of a handler, which one listener imports at the first click.",
        """<div on:click="./handlers.js#open" class=cta>Opening hours</div><p on:click="./handlers.js#map" class=cta>Directions</p><div id=out></div><style>.cta {cursor: pointer}</style><script>
document.addEventListener('click', async e => { for (let n = e.target; n?.getAttribute; n = n.parentElement) { const q = n.getAttribute('on:click'); if (q) { const [url, name] = q.split('#'); (await import(new URL(url, document.baseURI)))[name](out); return; } } }, {capture: true});</script>""",
        parts=("hours", "map"),
        proofs=("handlers.js", "281x20-hours.png", "281x21-map.png"),
        files={
            "handlers.js": js(
                "export const open = out => { out.innerHTML = '<img src=\"281x20-hours.png\">'; }; export const map = out => { out.innerHTML = '<img src=\"281x21-map.png\">'; };"
            )
        },
        acts=(click(".cta >> nth=0"), click(".cta >> nth=1")),
    ),
    Feature(
        "element-details",
        "A component's summary lies in its shadow tree, and the component tells the page when it opens.",
        """<x-details summary="Care instructions"></x-details><script>
customElements.define('x-details', class extends HTMLElement { connectedCallback() { const t = this.attachShadow({mode: 'open'}); t.innerHTML = `<details part=base><summary part=header>${this.getAttribute('summary')}</summary><slot></slot></details>`; t.querySelector('details').addEventListener('toggle', () => this.dispatchEvent(new CustomEvent('x-show', {bubbles: true, composed: true}))); } });
document.addEventListener('x-show', e => { if (!e.target.innerHTML) e.target.innerHTML = '<img src="282x20-care.png">'; });</script>""",
        acts=(click("x-details summary"),),
    ),
    Feature(
        "wheel-box",
        "A box without a scroll bar moves its rows by the wheel.",
        """<div class="ag-viewport" id=vp style="height:200px;width:300px;overflow:hidden;position:relative"><div id=in></div></div><script>
let top_ = 0; const draw = () => { const first = Math.floor(top_ / 50); let html = ''; for (let i = first; i < Math.min(first + 5, 20); i++) html += `<div style="position:absolute;top:${i * 50 - top_}px"><img src="rows/283x20-w${i}.png"></div>`; document.getElementById('in').innerHTML = html; }; draw();
vp.addEventListener('wheel', e => { e.preventDefault(); top_ = Math.max(0, Math.min(800, top_ + e.deltaY)); draw(); }, {passive: false});</script>""",
        parts=("w0", "w8", "w19"),
        proofs=("rows/283x20-w0.png", "rows/283x20-w8.png", "rows/283x20-w19.png"),
        acts=(Act("wheel", "#vp", "150"), Act("wheel", "#vp", "200"), Act("wheel", "#vp", "600")),
    ),
    Feature(
        "listbox-keys",
        "The arrow keys walk through a list, and a preview follows.",
        """<ul role=listbox tabindex=0 id=box aria-activedescendant=o0><li role=option id=o0 aria-selected=true>Alder</li><li role=option id=o1>Birch</li><li role=option id=o2>Cedar</li></ul><div id=out></div><script>
let at = 0; const pics = ['284x20-alder.png', '284x21-birch.png', '284x22-cedar.png']; const show = () => { out.innerHTML = `<img src="${pics[at]}">`; box.setAttribute('aria-activedescendant', 'o' + at); }; show();
box.addEventListener('keydown', e => { if (e.key === 'ArrowDown' && at < 2) { at++; show(); e.preventDefault(); } });</script>""",
        acts=(Act("press", "#box", "ArrowDown"), Act("press", "#box", "ArrowDown")),
    ),
    Feature(
        "dialog-feed",
        "A window with a list of its own opens over the page, and the list grows when it is scrolled.",
        """<button type=button id=likes>128 likes</button><dialog id=d style="height:300px;width:300px;padding:0"><div id=scroll style="height:260px;overflow:auto"><ul id=people></ul></div></dialog><script>
let at = 0; const add = () => { at++; people.insertAdjacentHTML('beforeend', `<li style="height:240px"><img src="285x2${at}-fan${at}.png"></li>`); };
likes.onclick = () => { d.showModal(); if (!at) { add(); add(); } }; scroll.onscroll = null; document.getElementById('scroll').addEventListener('scroll', e => { const s = e.target; if (at < 5 && s.scrollTop + s.clientHeight > s.scrollHeight - 40) add(); });</script>""",
        parts=tuple(f"fan{at}" for at in range(1, 6)),
        proofs=tuple(f"285x2{at}-fan{at}.png" for at in range(1, 6)),
        acts=(
            click("#likes"),
            *(Act("evaluate", "document.getElementById('scroll').scrollTo(0, 99999)"),) * 4,
        ),
    ),
    Feature(
        "frame-gallery",
        "A gallery of another site stands in a frame, and is turned by its own buttons and keys.",
        """<iframe src="https://elsewhere.test/frame-gallery/gallery.html" width=400 height=220></iframe>""",
        parts=("g1", "g2", "g3"),
        proofs=("gallery.html", "286x21-g1.png", "286x22-g2.png", "286x23-g3.png"),
        files={
            "gallery.html": page(
                "<div id=s></div><span class='arrow next' style='cursor:pointer;font-size:30px'>❯</span><script>let at = 1; const show = () => { s.innerHTML = ''; const i = new Image(); i.onload = () => parent.postMessage({part: 'g' + at}, '*'); i.src = `286x2${at}-g${at}.png`; s.append(i); }; show();"
                "document.querySelector('.next').addEventListener('click', () => { if (at < 3) { at++; show(); } });</script>"
            )
        },
        acts=(click(".next", "iframe"), click(".next", "iframe")),
    ),
)
