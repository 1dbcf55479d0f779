"""Features of ordinary pages whose parts lie in each other: panels in tabs, keys in overlays, rooms behind rooms."""

from __future__ import annotations

import json
from typing import Final

from feature_site.feature import Act, Feature, Question, Raw, Reply, click, data
from feature_site.media import TONE, WEBM, ranged
from feature_site.sockets import Read, Write, heard, upgrade
from feature_site.whole_pages import html, whole
from support.clients.websocket import frame


async def _acks(question: Question, write: Write, read: Read) -> None:
    """Acknowledge each event of a socket under the number that its client gave."""
    await upgrade(question, write)
    await write(frame(1, b'0{"sid":"s4","upgrades":[],"pingInterval":25000}'))
    while True:
        kind, payload = await heard(read)
        if kind == 8:
            return
        text = payload.decode()
        if text == "40":
            await write(frame(1, b'40{"sid":"s5"}'))
        elif text.startswith("42"):
            number, _, rest = text[2:].partition("[")
            name = json.loads("[" + rest)[1]["id"]
            await write(frame(1, f'43{number}[{{"src":"401x20-{name}.png"}}]'.encode()))


def _graphql(question: Question) -> Reply:
    asked = json.loads(question.body)
    variables = asked["variables"]
    name = f"{variables['tab']}{variables.get('after') or 0}"
    return data(
        json.dumps({"data": {"items": [{"src": f"402x20-{name}.png"}], "next": int(variables.get("after") or 0) + 1}})
    )


def _consent(name: str, about: str, text: str, settings: str, accept: str, part: str) -> Feature:
    return Feature(
        name,
        about,
        whole(
            f"""<div id="content"></div><div class="cookie-overlay"></div><section class="cookie-box" aria-label="Cookies"><p>{text}</p><button class="cc-secondary" type="button">{settings}</button><button class="cc-primary" type="button"><span>{accept}</span></button></section><script>
document.body.classList.add('locked'); document.querySelector('.cc-primary').addEventListener('click', () => {{ document.querySelectorAll('.cookie-box, .cookie-overlay').forEach(e => e.remove()); document.body.classList.remove('locked'); content.innerHTML = '<p style="height:1900px">…</p><img loading="lazy" width="403" height="20" src="403x20-{part}.png">'; }});
document.querySelector('.cc-secondary').addEventListener('click', () => {{ location.hash = 'cookies'; }});</script>"""
        ),
        head="<style>.cookie-overlay {position: fixed; inset: 0; background: #0009} .cookie-box {position: fixed; left: 25%; right: 25%; top: 30%; background: #fff; padding: 30px} .locked {overflow: hidden}</style>",
        parts=(part,),
        proofs=(f"403x20-{part}.png",),
        acts=(click(".cc-primary"),),
    )


ORDINARY: Final = (
    Feature(
        "tabs-accordion",
        "The first tab has an accordion, and the second a list with a button for more; hidden panels stay in the page.",
        whole(
            """<ul class="nav nav-tabs"><li><a class="nav-link active" href="#overview" role="tab">Overview</a></li><li><a class="nav-link" href="#reviews" role="tab">Reviews</a></li></ul><div class="tab-content"><div class="tab-pane active" id="overview"><div class="faq"><h4 class="q">How tall is it?</h4><div class="a"></div><h4 class="q">Where does it grow?</h4><div class="a"></div></div></div><div class="tab-pane" id="reviews"><div class="list"></div><button type="button" class="btn">Show 2 more reviews</button></div></div><script>
document.querySelectorAll('.nav-link').forEach(l => l.addEventListener('click', e => { e.preventDefault(); document.querySelectorAll('.nav-link').forEach(o => o.classList.toggle('active', o === l)); document.querySelectorAll('.tab-pane').forEach(p => p.classList.toggle('active', '#' + p.id === l.hash)); }));
document.querySelectorAll('.q').forEach((q, n) => q.addEventListener('click', () => { const a = q.nextElementSibling; a.classList.toggle('open'); if (!a.firstChild) a.innerHTML = `<img src="404x2${n}-answer${n}.png">`; }));
let at = 0; document.querySelector('#reviews .btn').addEventListener('click', async e => { at++; document.querySelector('.list').insertAdjacentHTML('beforeend', await (await fetch(`reviews?page=${at}`)).text()); if (at === 2) e.target.remove(); });</script>"""
        ),
        head="<style>.tab-pane {display: none} .tab-pane.active {display: block} .a {display: none} .a.open {display: block} .q {cursor: pointer}</style>",
        parts=("answer0", "answer1", "review1", "review2"),
        proofs=("404x20-answer0.png", "404x21-answer1.png", r"reviews\?page=1", r"reviews\?page=2"),
        files={
            "reviews": lambda question: html(f'<img src="405x2{question.query[-1]}-review{question.query[-1]}.png">')
        },
        acts=(
            click(".q >> nth=0"),
            click(".q >> nth=1"),
            click(".nav-link >> nth=1"),
            click("#reviews .btn"),
            click("#reviews .btn"),
        ),
    ),
    Feature(
        "dropdown-portal",
        "A dropdown opens at the end of the document, takes an option at mousedown, and closes.",
        whole(
            """<button type="button" id="sort" role="combobox" aria-haspopup="listbox" aria-expanded="false" aria-controls=":r7:">Sort by: Relevance</button><div id="results"><img src="406x20-relevance.png"></div><script>
const options = ['Newest', 'Oldest', 'Title']; const close = () => { document.getElementById(':r7:')?.remove(); sort.setAttribute('aria-expanded', 'false'); };
sort.addEventListener('click', () => { if (sort.ariaExpanded === 'true') return close(); sort.setAttribute('aria-expanded', 'true'); const l = document.createElement('div'); l.id = ':r7:'; l.setAttribute('role', 'listbox'); l.style.cssText = 'position:absolute;top:300px;left:20px;background:#fff;border:1px solid'; l.innerHTML = options.map(o => `<div role="option" class="css-yt9io-option" aria-selected="false">${o}</div>`).join(''); document.body.append(l);
  l.addEventListener('mousedown', async e => { const o = e.target.textContent; close(); sort.textContent = `Sort by: ${o}`; results.innerHTML = await (await fetch(`api/list?sort=${o.toLowerCase()}`)).text(); }); });</script>"""
        ),
        parts=("relevance", "newest", "oldest", "title"),
        proofs=(r"api/list\?sort=newest", r"api/list\?sort=oldest", r"api/list\?sort=title"),
        files={"api/list": lambda question: html(f'<img src="406x21-{question.query[5:]}.png">')},
        acts=tuple(act for at in range(3) for act in (click("#sort"), click(f"[role=option] >> nth={at}"))),
    ),
    Feature(
        "overlay-keys",
        "A picture opens over the page, and the arrow keys alone lead to the next ones.",
        whole(
            """<a class="glightbox" href="large/407x301-one.png"><img src="60x41-thumb1.png"></a><script>
const names = ['one', 'two', 'three']; let at = -1; const show = () => { let o = document.getElementById('o'); if (!o) { o = document.createElement('div'); o.id = 'o'; o.style.cssText = 'position:fixed;inset:0;background:#000c'; document.body.append(o); } o.innerHTML = `<img src="large/407x30${at + 1}-${names[at]}.png">`; };
document.querySelector('.glightbox').addEventListener('click', e => { e.preventDefault(); at = 0; show(); });
document.addEventListener('keydown', e => { if (at < 0) return; if (e.key === 'ArrowRight' && at < 2) { at++; show(); } if (e.key === 'ArrowLeft' && at > 0) { at--; show(); } if (e.key === 'Escape') { at = -1; document.getElementById('o').remove(); } });</script>"""
        ),
        parts=("thumb1", "one", "two", "three"),
        proofs=tuple(f"large/407x30{at}-{name}.png" for at, name in enumerate(("one", "two", "three"), 1)),
        acts=(
            click(".glightbox"),
            Act("press", "body", "ArrowRight"),
            Act("press", "body", "ArrowRight"),
        ),
    ),
    Feature(
        "video-playlist",
        "A list beside a film chooses the film, and each film has a picture of its own.",
        whole(
            """<div class="player"><video id="film" muted controls preload="none" poster="posters/408x20-film1.png" width="400"></video></div><ol class="pl"><li class="pl-item is-current" data-src="films/1.webm" data-n="1">1. Roots</li><li class="pl-item" data-src="films/2.webm" data-n="2">2. Stem</li><li class="pl-item" data-src="films/3.webm" data-n="3">3. Crown</li></ol><script>
for (const n of [1, 2, 3]) proof.resource(`408x2${n - 1}-film${n}.png`, `film${n}`); film.onplaying = () => proof.done('playing');
document.querySelector('.pl').addEventListener('click', e => { const li = e.target.closest('.pl-item'); if (!li) return; document.querySelectorAll('.pl-item').forEach(o => o.classList.toggle('is-current', o === li)); film.poster = `posters/408x2${li.dataset.n - 1}-film${li.dataset.n}.png`; film.src = li.dataset.src; film.play().catch(() => {}); });</script>"""
        ),
        head="<style>.pl-item {cursor: pointer}</style>",
        parts=("film1", "film2", "film3", "playing"),
        proofs=(r"films/2\.webm", r"films/3\.webm", "posters/408x21-film2.png", "posters/408x22-film3.png"),
        files={f"films/{at}.webm": ranged(WEBM, "video/webm") for at in (1, 2, 3)},
        acts=(
            click(".pl-item >> nth=1"),
            Act("evaluate", "new Promise(done => setTimeout(done, 600))"),
            click(".pl-item >> nth=2"),
        ),
    ),
    Feature(
        "panorama-rooms",
        "Points without text lead from room to room of a house, and each room has points of its own.",
        whole(
            """<div id="pano" style="position:relative;width:500px;height:250px;background:#456"></div><script>
const rooms = {hall: ['kitchen', 'study'], kitchen: ['hall', 'cellar'], study: ['hall'], cellar: ['kitchen']};
const enter = async name => { const {src} = await (await fetch(`scenes/${name}.json`)).json(); pano.innerHTML = `<img src="${src}">`; rooms[name].forEach((to, n) => { const h = document.createElement('div'); h.className = 'pnlm-hotspot-base pnlm-hotspot pnlm-sprite pnlm-scene'; h.style.cssText = `position:absolute;left:${100 + n * 200}px;top:120px;width:26px;height:26px;background:#fff;border-radius:13px;cursor:pointer`; h.onclick = () => enter(to); pano.append(h); }); }; enter('hall');</script>"""
        ),
        parts=("hall", "kitchen", "study", "cellar"),
        proofs=tuple(rf"scenes/{name}\.json" for name in ("hall", "kitchen", "study", "cellar")),
        files={
            f"scenes/{name}.json": data(f'{{"src": "409x2{at}-{name}.png"}}')
            for at, name in enumerate(("hall", "kitchen", "study", "cellar"))
        },
        acts=(
            click(".pnlm-hotspot >> nth=0"),
            click(".pnlm-hotspot >> nth=1"),
            click(".pnlm-hotspot >> nth=0"),
            click(".pnlm-hotspot >> nth=0"),
            click(".pnlm-hotspot >> nth=1"),
        ),
    ),
    Feature(
        "event-calendar",
        "The days of a month are cells of a table, and a click on one with events fetches its card.",
        whole(
            """<table class="fc"><tbody>"""
            + "".join(
                "<tr>"
                + "".join(
                    f'<td class="fc-day" data-date="2025-06-{week * 7 + day:02}"><a class="fc-daygrid-day-number">{week * 7 + day}</a>{"<div class=fc-event><div class=fc-event-title>Walk</div></div>" if (week * 7 + day) in (3, 12, 25) else ""}</td>'
                    for day in range(1, 8)
                )
                + "</tr>"
                for week in range(4)
            )
            + """</tbody></table><div id="card"></div><script>
document.querySelector('.fc').addEventListener('click', async e => { const event = e.target.closest('.fc-event'); if (!event) return; const d = event.closest('td').dataset.date; card.innerHTML = await (await fetch(`events/${d}`)).text(); });</script>"""
        ),
        head="<style>.fc-event {cursor: pointer; background: #3788d8} .fc td {width: 80px; height: 40px}</style>",
        parts=("day03", "day12", "day25"),
        proofs=("events/2025-06-03", "events/2025-06-12", "events/2025-06-25"),
        files={"events/*": lambda question: html(f'<img src="410x20-day{question.path[-2:]}.png">')},
        acts=tuple(click(f".fc-event >> nth={at}") for at in range(3)),
    ),
    Feature(
        "search-overlay",
        "A magnifying glass opens a search over the page, which shows what others look for.",
        """<header><a href="/">Shop</a> <button class="header__icon modal__toggle" aria-haspopup="dialog" aria-label="Search"><svg width="20" height="20" viewBox="0 0 20 20"><circle cx="8" cy="8" r="6" fill="none" stroke="currentColor"/></svg></button> <a href="/cart" class="header__icon" aria-label="Cart">0</a></header><main>Welcome</main><script>
document.querySelector('.modal__toggle').addEventListener('click', async () => { if (document.querySelector('dialog')) return; const d = document.createElement('dialog'); d.innerHTML = '<form role="search" action="/search"><input type="search" name="q" autofocus><button class="reset" type="button" aria-label="Close">×</button></form><div class="trending">…</div>'; document.body.append(d); d.showModal(); d.querySelector('.reset').onclick = () => { d.close(); d.remove(); }; d.querySelector('.trending').innerHTML = await (await fetch('search/suggest?section_id=trending')).text(); });</script>""",
        parts=("trend1", "trend2"),
        proofs=(r"search/suggest\?section_id=trending", "411x21-trend1.png", "411x22-trend2.png"),
        files={"search/suggest": html('<img src="411x21-trend1.png"><img src="411x22-trend2.png">')},
        acts=(click(".modal__toggle"),),
    ),
    Feature(
        "footnotes",
        "The numbers of notes are links within the page, and a script shows the note beside them.",
        whole(
            """<p>Oaks grow slowly<sup id="fnref:1"><a href="#fn:1" class="footnote-ref" rel="footnote">1</a></sup> and live long<sup id="fnref:2"><a href="#fn:2" class="footnote-ref" rel="footnote">2</a></sup>.</p><div style="height:1500px"></div><ol class="footnotes"><li id="fn:1">See the first book.</li><li id="fn:2">See the second.</li></ol><script>
document.querySelectorAll('.footnote-ref').forEach(a => a.addEventListener('click', async e => { e.preventDefault(); document.querySelector('.bigfoot')?.remove(); const d = document.createElement('aside'); d.className = 'bigfoot'; d.innerHTML = `<img src="notes/412x2${a.textContent}-note${a.textContent}.png">`; a.after(d); }));</script>"""
        ),
        parts=("note1", "note2"),
        proofs=("notes/412x21-note1.png", "notes/412x22-note2.png"),
        acts=(click(".footnote-ref >> nth=0"), click(".footnote-ref >> nth=1")),
    ),
    _consent(
        "consent-hungarian",
        "A Hungarian box asks for consent over the page.",
        "Weboldalunk sütiket használ a jobb élmény érdekében.",
        "Beállítások",
        "Összes elfogadása",
        "hirek",
    ),
    _consent(
        "consent-ukrainian",
        "A Ukrainian box asks for consent over the page.",
        "Ми використовуємо файли cookie.",
        "Налаштування",
        "Прийняти всі",
        "novyny",
    ),
    _consent(
        "consent-croatian",
        "A Croatian box asks for consent over the page.",
        "Ova stranica koristi kolačiće.",
        "Postavke",
        "Prihvaćam sve",
        "vijesti",
    ),
    Feature(
        "socket-acks",
        "Events on a socket have running numbers behind their code, and their answers repeat these.",
        whole(
            """<div class="rooms"><button data-id="oak">Oak</button><button data-id="elm">Elm</button><button data-id="yew">Yew</button></div><div id="out"></div><script>
(() => { const socket = new WebSocket(`wss://${location.host}/socket-acks/socket.io/?EIO=4&transport=websocket`); let n = 0; const acks = {};
  socket.onmessage = ({data}) => { if (data[0] === '0') socket.send('40'); const found = /^43(\\d+)(\\[.*)$/.exec(data); if (found && acks[found[1]]) { acks[found[1]](JSON.parse(found[2])[0]); delete acks[found[1]]; } };
  document.querySelectorAll('[data-id]').forEach(b => b.addEventListener('click', () => { const number = n++; acks[number] = a => { out.innerHTML = `<img src="${a.src}">`; }; socket.send(`42${number}["room",{"id":"${b.dataset.id}"}]`); })); })();</script>"""
        ),
        parts=("yew", "oak"),
        proofs=("socket.io/.*", "401x20-oak.png", "401x20-elm.png", "401x20-yew.png"),
        files={"socket.io/": Raw(_acks)},
        acts=(
            Act("evaluate", "new Promise(done => setTimeout(done, 600))"),
            click("[data-id=yew]"),
            click("[data-id=oak]"),
        ),
    ),
    Feature(
        "graphql-tabs",
        "Two tabs post one query with other variables, and each goes on by a button for more.",
        whole(
            """<div role="tablist"><button role="tab" aria-selected="true" data-t="new">New</button><button role="tab" aria-selected="false" data-t="top">Top</button></div><div id="list"></div><button id="more" type="button">Show more</button><script>
let tab = 'new', after = null; const ask = async () => { const {data} = await (await fetch('/graphql-tabs/graphql', {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({operationName: 'Feed', variables: {tab, after, first: 1}, query: 'query Feed($tab: Tab!, $after: String, $first: Int) { feed(tab: $tab, after: $after, first: $first) { src } }', extensions: {clientLibrary: {name: '@apollo/client', version: '4.0.7'}}})})).json(); for (const i of data.items) list.insertAdjacentHTML('beforeend', `<img src="${i.src}">`); after = String(data.next); more.hidden = data.next > 2; };
document.querySelectorAll('[role=tab]').forEach(b => b.addEventListener('click', () => { if (tab === b.dataset.t) return; tab = b.dataset.t; after = null; list.innerHTML = ''; document.querySelectorAll('[role=tab]').forEach(o => o.setAttribute('aria-selected', o === b)); ask(); })); more.addEventListener('click', ask); ask();</script>"""
        ),
        parts=("new0", "top0", "top1", "new1"),
        proofs=("402x20-new0.png", "402x20-new1.png", "402x20-top0.png", "402x20-top1.png"),
        files={"graphql": _graphql},
        acts=(
            click("[data-t=top]"),
            click("#more"),
            click("[data-t=new]"),
            click("#more"),
        ),
    ),
    Feature(
        "whole-form",
        "The whole page lies in a form of an old server framework, with tabs and a list that are scripts.",
        """<form method="post" action="./" id="aspnetForm"><input type="hidden" name="__VIEWSTATE" value="/wEPDwUKLTI2"><header><a href="/">Archive</a></header><div class="ajax__tab_xp"><span class="ajax__tab_tab" id="t1">Description</span><span class="ajax__tab_tab" id="t2">Holdings</span></div><div id="body"><img src="413x21-description.png"></div><button type="button" class="moreItems">Show more items</button><div id="items"></div><input type="submit" name="ctl00$Send" value="Send request"></form><script>
t2.onclick = () => { body.innerHTML = '<img src="413x22-holdings.png">'; }; document.querySelector('.moreItems').onclick = () => { items.innerHTML = '<img src="413x23-items.png">'; };</script>""",
        head="<style>.ajax__tab_tab {cursor: pointer; padding: 5px}</style>",
        parts=("description", "holdings", "items"),
        proofs=("413x22-holdings.png", "413x23-items.png"),
        acts=(click("#t2"), click(".moreItems")),
    ),
    Feature(
        "play-years",
        "A button plays the years of a map one after the other.",
        whole(
            """<div class="timeline"><button class="tl-play" type="button" aria-label="Play"><svg width="16" height="16" viewBox="0 0 16 16"><path d="M4 2v12l9-6z"/></svg></button><output>1900</output></div><img id="chart" src="years/414x20-y1900.png"><script>
let year = 1900, timer; document.querySelector('.tl-play').addEventListener('click', e => { const b = e.currentTarget; if (timer) { clearInterval(timer); timer = 0; b.setAttribute('aria-label', 'Play'); return; } b.setAttribute('aria-label', 'Pause'); timer = setInterval(() => { year += 20; chart.src = `years/414x20-y${year}.png`; document.querySelector('output').value = year; if (year === 2000) { clearInterval(timer); timer = 0; year = 1880; b.setAttribute('aria-label', 'Play'); } }, 700); });</script>"""
        ),
        parts=tuple(f"y{year}" for year in range(1900, 2001, 20)),
        proofs=tuple(f"years/414x20-y{year}.png" for year in range(1900, 2001, 20)),
        acts=(click(".tl-play"), Act("evaluate", "new Promise(done => setTimeout(done, 4200))")),
        seconds=25,
    ),
    Feature(
        "waveform",
        "A player of sounds fetches the form of its wave and the sound when it is played for the first time.",
        whole(
            """<div class="ws" data-src="sounds/blackbird.webm"><div class="ws-play" tabindex="0" aria-label="Play blackbird"></div><div class="ws-wave"></div></div><script>
document.querySelector('.ws-play').addEventListener('click', async function () { const box = this.parentElement; if (box.loaded) return; box.loaded = true; const peaks = await (await fetch(box.dataset.src.replace('.webm', '.peaks.json'))).json(); box.querySelector('.ws-wave').textContent = peaks.join(' '); const a = new Audio(box.dataset.src); a.muted = true; a.onplaying = () => proof.done('sound'); a.play(); proof.done('peaks'); });</script>"""
        ),
        head="<style>.ws-play {width: 40px; height: 40px; border-radius: 20px; background: #f50; cursor: pointer}</style>",
        parts=("peaks", "sound"),
        proofs=(r"sounds/blackbird\.peaks\.json", r"sounds/blackbird\.webm"),
        files={
            "sounds/blackbird.peaks.json": data("[1, 3, 2]"),
            "sounds/blackbird.webm": ranged(TONE, "audio/webm"),
        },
        acts=(click(".ws-play"),),
    ),
    Feature(
        "cloned-carousel",
        "A carousel has copies of its slides at both ends, moves by an animation, and loads what it has reached.",
        whole(
            """<section class="splide" aria-roledescription="carousel"><div class="splide__track" style="width:300px;overflow:hidden"><ul class="splide__list" style="display:flex;padding:0;margin:0"></ul></div><div class="splide__arrows"><button class="splide__arrow splide__arrow--prev" type="button" aria-label="Go to last slide"><svg width="20" height="20" viewBox="0 0 40 40"><path d="m15.5 0.9 15 19.1-15 19.1"/></svg></button><button class="splide__arrow splide__arrow--next" type="button" aria-label="Next slide"><svg width="20" height="20" viewBox="0 0 40 40"><path d="m15.5 0.9 15 19.1-15 19.1"/></svg></button></div></section><script>
const names = [1, 2, 3, 4], list = document.querySelector('.splide__list'); list.innerHTML = [4, ...names, 1].map((n, i) => `<li class="splide__slide ${i === 0 || i === 5 ? 'splide__slide--clone' : ''}" ${i === 0 || i === 5 ? 'aria-hidden="true"' : ''} style="flex:0 0 300px;list-style:none;height:60px"><img data-splide-lazy="300x4${n}-slide${n}.png" alt=""></li>`).join('');
let at = 1, moving = false; const place = smooth => { list.style.transition = smooth ? 'transform .4s' : 'none'; list.style.transform = `translateX(${-300 * at}px)`; }; const load = () => { for (const i of list.children[at].querySelectorAll('img[data-splide-lazy]')) { i.src = i.dataset.splideLazy; i.removeAttribute('data-splide-lazy'); } };
list.addEventListener('transitionend', () => { moving = false; if (at === 5) { at = 1; place(false); } if (at === 0) { at = 4; place(false); } load(); }); place(false); load();
document.querySelector('.splide__arrow--next').addEventListener('click', () => { if (!moving) { moving = true; at++; place(true); } }); document.querySelector('.splide__arrow--prev').addEventListener('click', () => { if (!moving) { moving = true; at--; place(true); } });</script>"""
        ),
        parts=tuple(f"slide{at}" for at in range(1, 5)),
        proofs=tuple(f"300x4{at}-slide{at}.png" for at in range(1, 5)),
        acts=(click(".splide__arrow--next"), Act("evaluate", "new Promise(done => setTimeout(done, 500))")) * 3,
    ),
)
