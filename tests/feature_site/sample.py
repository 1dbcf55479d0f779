"""These pages are an independent sample of modern pages, each written as a web developer of its own would do it."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import parse_qs

from feature_site.feature import Act, Feature, Question, Raw, Reply, click, css, data, hover, js, page, png
from feature_site.media import TONE, WEBM, ranged
from feature_site.sockets import Read, Write, heard, upgrade
from support.clients.websocket import TEXT, frame


def _first(question: Question, name: str, otherwise: str = "") -> str:
    """Return the first value of a parameter of the query."""
    return parse_qs(question.query).get(name, [otherwise])[0]


def _names(width: int, *names: str) -> tuple[str, ...]:
    """Return the patterns of pictures that are 40 pixels high, in any folder."""
    return tuple(rf"(.*/)?{width}x40-{name}\.png" for name in names)


def _wheel(selector: str, distance: int) -> Act:
    """Return a turn of the mouse's wheel over an element."""
    return Act("wheel", selector, str(distance))


def _fragment(text: str, wait_seconds: float = 0.0) -> Reply:
    """Return a piece of HTML that a script puts into its page."""
    return Reply(text, "text/html; charset=utf-8", wait_seconds=wait_seconds)


def _recipes(question: Question) -> Reply:
    """Answer two cards of recipes, and whether more follow."""
    at = int(_first(question, "page"))
    cards = [{"title": f"Soup {n}", "thumb": f"600x40-soup{n}.png"} for n in (2 * at - 1, 2 * at)]
    return data(json.dumps({"recipes": cards, "hasMore": at < 4}))


def _vacancies(question: Question) -> Reply:
    """Answer the vacancies of one page of the list."""
    at = int(_first(question, "p", "1"))
    items = "".join(f'<li class="job"><h3>Job {at}{n}</h3></li>' for n in range(3))
    return _fragment(f'<ul class="jobs"><li><img src="img/601x40-firm{at}.png" alt="Employer"></li>{items}</ul>', 0.1)


def _specs(question: Question) -> Reply:
    """Answer the panel of a tab."""
    name = question.path.rpartition("/")[2].removesuffix(".html")
    return _fragment(f"<h2>{name.title()}</h2><p>Details of the {name}.</p><img src='602x40-{name}.png' alt=''>", 0.2)


def _studio(question: Question) -> Reply:
    """Answer what a route of the studio shows."""
    name = question.path.removeprefix("api/pages/")
    return data(json.dumps({"title": name.title(), "hero": f"/studio-router/604x40-{name}.png"}))


def _results(question: Question) -> Reply:
    """Answer the page of a search, whatever was sought."""
    word = "".join(letter for letter in _first(question, "q") if letter.isalnum() or letter == " ")
    return page(
        f"<title>Search</title><h1>Results for “{word}”</h1><ol><li><a href='#herbarium'>Herbarium sheet</a>"
        "<img src='609x40-hits.png' alt='' onload=\"if (this.naturalWidth === 609) document.documentElement.dataset.result = 'pass'\"></ol>"
    )


def _batch(question: Question) -> Reply:
    """Answer one batch of posts after two seconds."""
    at = int(_first(question, "cursor"))
    posts = "".join(f'<article class="post"><h2>Post {at}.{n}</h2></article>' for n in range(3))
    last = "" if at == 3 else f' data-next="{at + 1}"'
    return _fragment(f'<section{last}><img src="610x40-batch{at}.png" alt="">{posts}</section>', 2.0)


def _log_lines(question: Question) -> Reply:
    """Answer twelve older lines of a log."""
    at = int(_first(question, "before"))
    lines = [f"line {at * 12 - n}" for n in range(12)]
    return data(json.dumps({"lines": lines, "stamp": f"611x40-older{at}.png", "before": at - 1}))


def _widget(question: Question) -> Reply:
    """Answer the widget that the body of the request names."""
    asked = json.loads(question.body)
    return data(json.dumps({"icon": f"613x40-{asked['widget']}.png", "rows": asked["limit"]}))


def _prices(question: Question) -> Reply:
    """Answer the prices, which nobody may keep."""
    return data('{"chart": "614x40-prices.png"}', ("Cache-Control", "no-store"))


async def _departures(question: Question, write: Write, read: Read) -> None:
    """Send the board of each platform that the client subscribes to."""
    await upgrade(question, write)
    await write(frame(TEXT, b'{"type":"hello","version":2}'))
    while True:
        kind, payload = await heard(read)
        if kind == 8:
            return
        message = json.loads(payload)
        if message["type"] == "subscribe":
            board = {"type": "board", "platform": message["platform"], "src": f"615x40-{message['platform']}.png"}
            await write(frame(TEXT, json.dumps(board).encode()))


def _greeting(question: Question) -> Reply:
    """Answer the greeting in the language of the request's header."""
    language = question.headers.get("accept-language", "en")[:2]
    name = {"de": "hallo", "fr": "bonjour"}.get(language, "hello")
    return data(json.dumps({"banner": f"616x40-{name}.png"}), ("Vary", "Accept-Language"))


def _progress(question: Question) -> Reply:
    """Answer the pages that are scanned until now; each question finds one more."""
    done = min(question.count("asked"), 4)
    pages = [f"617x40-scan{n}.png" for n in range(1, done + 1)]
    return data(
        json.dumps({"state": "done" if done == 4 else "running", "pages": pages}), ("Cache-Control", "no-cache")
    )


def _branches(question: Question) -> Reply:
    """Answer the branches of a city."""
    city = question.path.rpartition("/")[2].removesuffix(".json")
    return data(json.dumps([{"name": f"{city.title()} branch", "photo": f"/branch-finder/619x40-{city}.png"}]))


def _tile(question: Question) -> Reply:
    """Answer a tile of a plan."""
    return Reply(png(question.path, (64, 64)), "image/png")


def _stock(question: Question) -> Reply:
    """Answer twenty rows of a list of sixty."""
    start = int(_first(question, "offset"))
    rows = [{"id": n, "thumb": f"40x40-item{n}.png"} for n in range(start, start + 20)]
    return data(json.dumps({"total": 60, "rows": rows}))


def _series(question: Question) -> Reply:
    """Answer the points of a chart for a range."""
    name = _first(question, "range")
    return data(json.dumps({"range": name, "points": [(n * 7 + len(name) * 5) % 40 for n in range(30)]}))


def _question(question: Question) -> Reply:
    """Answer a step of a quiz."""
    at = int(question.path.rpartition("/")[2].removesuffix(".json"))
    options = {1: ["Oak", "Ash", "Elm"], 2: ["Spring", "Autumn"], 3: ["Root", "Leaf", "Bark"]}[at]
    return data(json.dumps({"text": f"Question {at}", "image": f"628x40-question{at}.png", "options": options}))


def _pdf() -> bytes:
    """Return a PDF of one empty page."""
    objects = (
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 200] >>",
    )
    text = b"%PDF-1.4\n"
    places: list[int] = []
    for number, each in enumerate(objects, 1):
        places.append(len(text))
        text += b"%d 0 obj\n%s\nendobj\n" % (number, each)
    table = b"".join(b"%010d 00000 n \n" % place for place in places)
    end = b"trailer << /Size 4 /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % len(text)
    return text + b"xref\n0 4\n0000000000 65535 f \n" + table + end


_CITIES: Final = ("leeds", "york")
_RANGES: Final = ("1w", "1m", "1y")
_ROWS: Final = tuple(f"item{n}" for n in range(60))
_FILLER: Final = "<p>The garden is open from ten to six, and the last visitors are let in at five.</p>"

_LISTS: Final = (
    Feature(
        "recipe-grid",
        "A grid of recipes has a button that loads two more cards, until all are there.",
        """<section class="recipe-grid"><div class="grid" id="grid"></div><button class="btn btn--secondary js-load" type="button">Show more recipes</button></section>
<script>
(function () {
  var grid = document.getElementById('grid'), btn = document.querySelector('.js-load'), page = 0, busy = false;
  function next() {
    if (busy) return; busy = true; btn.disabled = true; btn.textContent = 'Loading…'; page++;
    fetch('api/recipes?page=' + page).then(function (r) { return r.json(); }).then(function (answer) {
      answer.recipes.forEach(function (recipe) {
        var card = document.createElement('article'); card.className = 'card';
        card.innerHTML = '<img class="card__img" alt=""><h3 class="card__title"></h3>';
        card.querySelector('h3').textContent = recipe.title; card.querySelector('img').src = recipe.thumb; grid.appendChild(card);
      });
      busy = false; btn.disabled = false; btn.textContent = 'Show more recipes';
      if (!answer.hasMore) btn.parentNode.removeChild(btn);
    });
  }
  btn.addEventListener('click', next); next();
})();
</script>""",
        parts=tuple(f"soup{n}" for n in range(1, 9)),
        proofs=_names(600, *(f"soup{n}" for n in range(1, 9))),
        acts=(click(".js-load"),) * 3,
        files={"api/recipes": _recipes},
    ),
    Feature(
        "vacancy-pager",
        "A list of vacancies has numbered pages, which a script fetches.",
        """<div id="vacancies" aria-live="polite"></div><nav class="pager" aria-label="Pages"><ul id="pager"></ul></nav>
<script>
const LAST = 4; let current = 0;
const list = document.querySelector('#vacancies'), pager = document.querySelector('#pager');
const draw = () => {
  pager.innerHTML = '';
  const item = (label, to, off) => {
    const li = document.createElement('li'), b = document.createElement('button');
    b.type = 'button'; b.textContent = label; b.dataset.page = to; b.disabled = off;
    if (to === current) b.setAttribute('aria-current', 'page');
    li.append(b); pager.append(li);
  };
  item('‹ Previous', current - 1, current === 1);
  for (let n = 1; n <= LAST; n++) item(String(n), n, false);
  item('Next ›', current + 1, current === LAST);
};
const show = async n => {
  if (n < 1 || n > LAST || n === current) return;
  current = n; draw(); list.setAttribute('aria-busy', 'true');
  const url = new URL('search/vacancies', location.href); url.searchParams.set('p', n);
  list.innerHTML = await (await fetch(url, {headers: {'X-Requested-With': 'XMLHttpRequest'}})).text();
  list.removeAttribute('aria-busy');
};
pager.addEventListener('click', event => { const b = event.target.closest('button'); if (b) show(+b.dataset.page); });
show(1);
</script>""",
        parts=("firm1", "firm2", "firm3", "firm4"),
        proofs=_names(601, "firm1", "firm2", "firm3", "firm4"),
        acts=tuple(click(f"#pager button:text-is('{n}')") for n in (2, 3, 4)),
        files={"search/vacancies": _vacancies},
    ),
    Feature(
        "spec-tabs",
        "The tabs of a product fetch their panels when they are first chosen.",
        """<div class="product-info"><div role="tablist" aria-label="Product information">
<button role="tab" id="t-display" aria-controls="p-display" aria-selected="true">Display</button>
<button role="tab" id="t-camera" aria-controls="p-camera" aria-selected="false" tabindex="-1">Camera</button>
<button role="tab" id="t-battery" aria-controls="p-battery" aria-selected="false" tabindex="-1">Battery</button></div>
<div role="tabpanel" id="p-display" aria-labelledby="t-display"><img src="602x40-display.png" alt=""></div>
<div role="tabpanel" id="p-camera" aria-labelledby="t-camera" data-url="panels/camera.html" hidden></div>
<div role="tabpanel" id="p-battery" aria-labelledby="t-battery" data-url="panels/battery.html" hidden></div></div>
<script>
const tabs = [...document.querySelectorAll('[role=tab]')];
async function choose(tab) {
  for (const each of tabs) {
    const on = each === tab, panel = document.getElementById(each.getAttribute('aria-controls'));
    each.setAttribute('aria-selected', on); each.tabIndex = on ? 0 : -1; panel.hidden = !on;
    if (on && panel.dataset.url) { const url = panel.dataset.url; delete panel.dataset.url; panel.innerHTML = await fetch(url).then(r => r.text()); }
  }
}
tabs.forEach((tab, at) => {
  tab.onclick = () => choose(tab);
  tab.onkeydown = e => { const step = {ArrowRight: 1, ArrowLeft: -1}[e.key]; if (step) { const to = tabs[(at + step + tabs.length) % tabs.length]; to.focus(); choose(to); } };
});
</script>""",
        parts=("display", "camera", "battery"),
        proofs=_names(602, "display", "camera", "battery"),
        acts=(click("#t-camera"), click("#t-battery")),
        files={"panels/*": _specs},
    ),
    Feature(
        "help-accordion",
        "The questions of a help page unfold, and the answers come out of templates.",
        """<dl class="faq">
<dt><button class="faq__q" aria-expanded="false" aria-controls="a1"><span>How do I return a parcel?</span><span class="faq__icon" aria-hidden="true"></span></button></dt><dd id="a1" class="faq__a"><template><p>Print the label.</p><img src="603x40-label.png" alt="The label"></template></dd>
<dt><button class="faq__q" aria-expanded="false" aria-controls="a2"><span>Which sizes are there?</span><span class="faq__icon" aria-hidden="true"></span></button></dt><dd id="a2" class="faq__a"><template><p>See the table.</p><img src="603x41-sizes.png" alt="The table of sizes"></template></dd>
<dt><button class="faq__q" aria-expanded="false" aria-controls="a3"><span>Where is my voucher?</span><span class="faq__icon" aria-hidden="true"></span></button></dt><dd id="a3" class="faq__a"><template><p>Look at the back.</p><img src="603x42-voucher.png" alt="The back of the card"></template></dd></dl>
<script>
document.querySelector('.faq').addEventListener('click', ({target}) => {
  const q = target.closest('.faq__q'); if (!q) return;
  const open = q.getAttribute('aria-expanded') === 'true', answer = document.getElementById(q.getAttribute('aria-controls'));
  document.querySelectorAll('.faq__q[aria-expanded=true]').forEach(o => { o.setAttribute('aria-expanded', 'false'); document.getElementById(o.getAttribute('aria-controls')).classList.remove('is-open'); });
  if (open) return;
  q.setAttribute('aria-expanded', 'true'); answer.classList.add('is-open');
  const template = answer.querySelector('template'); if (template) template.replaceWith(template.content.cloneNode(true));
});
</script>""",
        head="<style>.faq__a {max-height: 0; overflow: hidden; transition: max-height .25s} .faq__a.is-open {max-height: 20em} .faq__icon::before {content: '+'} [aria-expanded=true] .faq__icon::before {content: '–'}</style>",
        acts=tuple(click(f"[aria-controls=a{n}]") for n in (1, 2, 3)),
    ),
    Feature(
        "studio-router",
        "The links of a studio's site change the address by the History API, and fetch what the routes show.",
        """<header><a href="/studio-router/" class="logo" data-link>Studio</a><nav><a href="/studio-router/work" data-link>Work</a> <a href="/studio-router/people" data-link>People</a> <a href="/studio-router/contact" data-link>Contact</a></nav></header><div id="outlet"></div>
<script type="module">
const base = '/studio-router/', outlet = document.getElementById('outlet');
const render = async () => {
  const route = location.pathname.slice(base.length) || 'home';
  const answer = await fetch(`${base}api/pages/${route}`); if (!answer.ok) { outlet.textContent = 'Not found'; return; }
  const {title, hero} = await answer.json();
  outlet.innerHTML = `<h2>${title}</h2><img src="${hero}" alt="">`;
  document.querySelectorAll('[data-link]').forEach(a => a.toggleAttribute('aria-current', a.pathname === location.pathname));
};
document.addEventListener('click', event => {
  const a = event.target.closest('a[data-link]'); if (!a || event.metaKey || event.ctrlKey) return;
  event.preventDefault(); if (a.href !== location.href) { history.pushState(null, '', a.href); render(); }
});
addEventListener('popstate', render); render();
</script>""",
        parts=("home", "work", "people", "contact"),
        proofs=_names(604, "home", "work", "people", "contact"),
        acts=tuple(click(f"a[href$={name}]") for name in ("work", "people", "contact")),
        files={"api/pages/*": _studio},
    ),
    Feature(
        "herbarium-search",
        "A form asks for a word, and its results are a page of their own.",
        """<form action="results" method="get" role="search" class="search"><label for="q">Search the collection</label> <input type="search" id="q" name="q" required placeholder="e.g. willow"> <input type="hidden" name="lang" value="en"> <button type="submit">Search</button></form>""",
        parts=("hits",),
        proofs=(r"results\?q=.+&lang=en", *_names(609, "hits")),
        acts=(Act("fill", "#q", "willow"), click("form button")),
        files={"results": _results},
    ),
    Feature(
        "slow-stream",
        "A stream of posts grows at its end, and each batch takes two seconds.",
        """<div id="stream"><section data-next="1"><article class="post"><h2>Welcome</h2></article></section></div><div id="sentinel" class="spinner" aria-label="Loading"></div>
<script>
const stream = document.getElementById('stream'), sentinel = document.getElementById('sentinel'); let loading = false;
const observer = new IntersectionObserver(async ([entry]) => {
  if (!entry.isIntersecting || loading) return;
  const next = stream.lastElementChild.dataset.next; if (!next) { observer.disconnect(); sentinel.remove(); return; }
  loading = true;
  const answer = await fetch(`feed?cursor=${next}`); stream.insertAdjacentHTML('beforeend', await answer.text());
  loading = false; observer.unobserve(sentinel); observer.observe(sentinel);
}, {rootMargin: '200px'});
observer.observe(sentinel);
</script>""",
        head="<style>.post {height: 420px; border-bottom: 1px solid #ccc} .spinner {height: 40px}</style>",
        parts=("batch1", "batch2", "batch3"),
        proofs=_names(610, "batch1", "batch2", "batch3"),
        files={"feed": _batch},
        seconds=30.0,
    ),
    Feature(
        "build-log",
        "A log in a small box loads its older lines when it is scrolled down.",
        """<div class="log" id="log" tabindex="0"><div>Newest line</div></div>
<script>
var log = document.getElementById('log'), before = 3, waiting = false;
for (var i = 0; i < 14; i++) log.insertAdjacentHTML('beforeend', '<div>line ' + (50 - i) + '</div>');
function older() {
  if (waiting || before < 1 || log.scrollTop + log.clientHeight < log.scrollHeight - 30) return;
  waiting = true;
  var x = new XMLHttpRequest(); x.open('GET', 'log.json?before=' + before);
  x.onload = function () {
    var answer = JSON.parse(x.responseText); before = answer.before; waiting = false;
    log.insertAdjacentHTML('beforeend', '<img alt="" src="' + answer.stamp + '">' + answer.lines.map(function (l) { return '<div>' + l + '</div>'; }).join(''));
  };
  x.send();
}
log.addEventListener('scroll', older);
</script>""",
        head="<style>.log {height: 260px; width: 700px; overflow-y: auto; border: 1px solid #888; font: 16px/26px monospace}</style>",
        parts=("older1", "older2", "older3"),
        proofs=_names(611, "older1", "older2", "older3"),
        acts=(_wheel("#log", 900),) * 4,
        files={"log.json": _log_lines},
    ),
    Feature(
        "stock-rows",
        "A list of sixty rows keeps only the visible ones in the document, and fetches its rows by twenties.",
        """<div class="viewport" id="viewport"><div id="spacer"></div></div>
<script type="module">
const ROW = 72, viewport = document.getElementById('viewport'), spacer = document.getElementById('spacer');
const rows = [], asked = new Set(), drawn = new Map(); let total = 60;
spacer.style.height = `${total * ROW}px`;
const need = async block => {
  if (asked.has(block) || block * 20 >= total) return; asked.add(block);
  const answer = await (await fetch(`stock?offset=${block * 20}&limit=20`)).json();
  answer.rows.forEach(row => rows[row.id] = row); draw();
};
const draw = () => {
  const from = Math.max(0, Math.floor(viewport.scrollTop / ROW) - 3), to = Math.min(total, Math.ceil((viewport.scrollTop + viewport.clientHeight) / ROW) + 3);
  for (const [at, element] of drawn) if (at < from || at >= to) { element.remove(); drawn.delete(at); }
  for (let at = from; at < to; at++) {
    if (!rows[at]) { need(Math.floor(at / 20)); continue; }
    if (drawn.has(at)) continue;
    const row = document.createElement('div'); row.className = 'row'; row.style.transform = `translateY(${at * ROW}px)`;
    row.innerHTML = `<img src="${rows[at].thumb}" width="40" height="40" alt=""> Item ${at}`;
    drawn.set(at, row); spacer.append(row);
  }
};
let queued = false;
viewport.addEventListener('scroll', () => { if (!queued) { queued = true; requestAnimationFrame(() => { queued = false; draw(); }); } }, {passive: true});
draw();
</script>""",
        head="<style>.viewport {height: 620px; width: 900px; overflow-y: scroll} #spacer {position: relative} .row {position: absolute; height: 71px; left: 0; right: 0}</style>",
        parts=_ROWS,
        proofs=_names(40, *_ROWS),
        acts=(_wheel("#viewport", 600),) * 6,
        files={"stock": _stock},
        seconds=30.0,
    ),
)

_GATES: Final = (
    Feature(
        "newsroom-wall",
        "A wall asks for consent before a newsroom loads its scripts.",
        """<div class="article"><h2>Floods in the north</h2><div id="map"></div><div id="reel"></div></div>
<div id="cmp" class="cmp" role="dialog" aria-modal="true" aria-labelledby="cmp-title"><div class="cmp__box"><h2 id="cmp-title">We value your privacy</h2><p>We and our 812 partners store and access information on a device, such as cookies, and process personal data.</p><div class="cmp__actions"><button type="button" class="cmp__more">Manage options</button><button type="button" class="cmp__agree">Accept all</button></div></div></div>
<script type="text/plain" data-consent="functional">proof.add('605x40-floodmap.png', document.getElementById('map'));</script>
<script type="text/plain" data-consent="marketing" data-src="reel.js"></script>
<script>
(() => {
  const box = document.getElementById('cmp');
  const grant = () => {
    document.body.classList.remove('cmp-locked'); box.remove();
    document.querySelectorAll('script[data-consent]').forEach(old => {
      const s = document.createElement('script'); if (old.dataset.src) s.src = old.dataset.src; else s.text = old.text; old.replaceWith(s);
    });
  };
  if (localStorage.getItem('newsroom-consent') === 'all') return grant();
  document.body.classList.add('cmp-locked');
  box.querySelector('.cmp__agree').addEventListener('click', () => { localStorage.setItem('newsroom-consent', 'all'); grant(); });
  box.querySelector('.cmp__more').addEventListener('click', () => box.querySelector('p').insertAdjacentHTML('afterend', '<label><input type="checkbox" checked disabled> Strictly necessary</label>'));
})();
</script>""",
        head="<style>.cmp-locked {overflow: hidden} .cmp {position: fixed; inset: 0; background: #000a; display: grid; place-items: center; z-index: 9999} .cmp__box {background: #fff; padding: 2em; max-width: 40em}</style>",
        parts=("floodmap", "reel"),
        proofs=("reel.js", *_names(605, "floodmap", "reel")),
        acts=(click(".cmp__agree"),),
        files={"reel.js": js("proof.add('605x40-reel.png', document.getElementById('reel'));")},
    ),
    Feature(
        "room-booking",
        "A button opens a window in which a room can be booked.",
        """<p>Room 3 has a view of the river.</p><button type="button" id="book" class="cta">Check availability</button>
<script>
document.getElementById('book').addEventListener('click', function () {
  var popup = window.open('booking.html?room=3', 'booking', 'width=520,height=480,resizable=yes');
  if (!popup) location.href = 'booking.html?room=3';
});
</script>""",
        parts=("calendar",),
        proofs=(r"booking\.html\?room=3", "booking.css", *_names(606, "calendar")),
        acts=(click("#book"),),
        files={
            "booking.html": page(
                "<title>Book room 3</title><link rel=stylesheet href=booking.css><h1>Free nights</h1><img src=606x40-calendar.png alt=''>"
                "<script>document.querySelector('img').onload = e => window.opener && e.target.naturalWidth === 606 && opener.postMessage({part: 'calendar'}, location.origin);</script>"
            ),
            "booking.css": css("h1 {font: 20px sans-serif}"),
        },
    ),
    Feature(
        "bot-check",
        "A page looks whether a program drives the browser, and shows its photographs only to people.",
        """<div id="photos"><noscript>Please enable JavaScript.</noscript><p class="loader">Checking your browser…</p></div>
<script>
window.addEventListener('load', function () {
  var signs = [];
  if (navigator.webdriver) signs.push('webdriver');
  if (!navigator.languages || !navigator.languages.length) signs.push('languages');
  if (/Headless/.test(navigator.userAgent)) signs.push('agent');
  if (window.outerWidth === 0) signs.push('window');
  var box = document.getElementById('photos');
  setTimeout(function () {
    if (signs.length) { box.innerHTML = '<h2>Access denied</h2><p>' + signs.join() + '</p>'; return; }
    var s = document.createElement('script'); s.src = 'photos.js'; document.head.appendChild(s);
  }, 800);
});
</script>""",
        parts=("harbour", "market"),
        proofs=("photos.js", *_names(612, "harbour", "market")),
        files={
            "photos.js": js(
                "photos.innerHTML = ''; ['harbour', 'market'].forEach(n => proof.add(`612x40-${n}.png`, photos));"
            )
        },
    ),
    Feature(
        "launch-countdown",
        "A countdown of six seconds reveals what it promises.",
        """<div class="launch"><p class="launch__timer" role="timer"><span id="left">6</span> seconds to go</p><div class="launch__stage" hidden></div></div>
<script>
const ends = performance.now() + 6000, left = document.getElementById('left'), stage = document.querySelector('.launch__stage');
const tick = setInterval(() => {
  const rest = Math.ceil((ends - performance.now()) / 1000); left.textContent = Math.max(rest, 0); if (rest > 0) return;
  clearInterval(tick);
  fetch('launch.json').then(r => r.json()).then(({poster}) => { document.querySelector('.launch__timer').remove(); stage.hidden = false; proof.add(poster, stage); });
}, 250);
</script>""",
        parts=("unveiled",),
        proofs=(r"launch\.json", *_names(624, "unveiled")),
        files={"launch.json": data('{"poster": "624x40-unveiled.png"}')},
    ),
    Feature(
        "cellar-birthday",
        "A wine cellar asks for the date of birth before it shows its bottles.",
        """<div id="cellar" hidden><h2>Our bottles</h2><div class="bottles"></div></div>
<form id="gate" class="age"><fieldset><legend>Please enter your date of birth</legend>
<select name="day" aria-label="Day" required><option value="">Day</option></select> <select name="month" aria-label="Month" required><option value="">Month</option></select> <select name="year" aria-label="Year" required><option value="">Year</option></select></fieldset><p class="error" role="alert"></p><button>Enter the cellar</button></form>
<script>
const gate = document.getElementById('gate'), {day, month, year} = gate.elements;
const fill = (select, values) => select.append(...values.map(v => new Option(v, v)));
const upTo = n => Array.from({length: n}, (_, at) => at + 1), now = new Date();
fill(day, upTo(31)); fill(month, upTo(12)); fill(year, upTo(100).map(n => now.getFullYear() + 1 - n));
gate.addEventListener('submit', event => {
  event.preventDefault();
  const eighteenth = new Date(+year.value + 18, month.value - 1, +day.value);
  if (eighteenth > now) { gate.querySelector('.error').textContent = 'You must be 18 to enter.'; return; }
  gate.remove(); const cellar = document.getElementById('cellar'); cellar.hidden = false;
  for (const n of ['red', 'white']) proof.add(`632x40-${n}.png`, cellar.querySelector('.bottles'));
});
</script>""",
        parts=("red", "white"),
        proofs=_names(632, "red", "white"),
        acts=(
            Act("select", "[name=day]", "14"),
            Act("select", "[name=month]", "6"),
            Act("select", "[name=year]", "1984"),
            click("#gate button"),
        ),
    ),
)

_POINTERS: Final = (
    Feature(
        "outfitter-flyouts",
        "The menu of an outfitter opens under the mouse, and its pictures are lazy.",
        """<nav class="bar"><ul>
<li><a href="#boots">Boots</a><div class="fly"><img loading="lazy" src="607x40-boots.png" width="607" height="40" alt=""></div></li>
<li><a href="#tents">Tents</a><div class="fly"><img loading="lazy" src="607x41-tents.png" width="607" height="41" alt=""></div></li>
<li><a href="#sale">Sale</a></li></ul></nav><p>Since 1911.</p>""",
        head="<style>.bar ul {display: flex; gap: 2em; list-style: none; padding: 0} .bar li {padding: 10px 20px} .fly {display: none; position: absolute; background: #fff; padding: 1em} .bar li:hover > .fly, .bar li:focus-within > .fly {display: block}</style>",
        acts=(hover("a[href='#boots']"), hover("p"), hover("a[href='#tents']")),
    ),
    Feature(
        "first-movement",
        "A script is fetched when the mouse is moved for the first time.",
        """<div id="adverts"></div><p>Stories from the valley.</p>
<script>
!function (d) {
  function start() {
    d.removeEventListener('mousemove', start);
    var s = d.createElement('script'); s.async = 1; s.src = 'assets/recommend.js'; d.body.appendChild(s);
  }
  d.addEventListener('mousemove', start, false);
}(document);
</script>""",
        parts=("recommended",),
        proofs=(r"assets/recommend\.js", *_names(608, "recommended")),
        acts=(Act("mouse"),),
        files={"assets/recommend.js": js("proof.add('608x40-recommended.png', document.getElementById('adverts'));")},
    ),
    Feature(
        "decade-slider",
        "A knob is dragged along four decades, each of which has a photograph.",
        """<div class="decades"><img id="shot" alt="" src="625x40-d1950.png"><div class="track"><div class="knob" id="knob" role="slider" tabindex="0" aria-label="Decade" aria-valuemin="1950" aria-valuemax="1980" aria-valuenow="1950"></div></div></div>
<script>
const knob = document.getElementById('knob'), shot = document.getElementById('shot'), years = [1950, 1960, 1970, 1980], LENGTH = 360;
let grabbed = null, x = 0;
const place = to => {
  x = Math.min(LENGTH, Math.max(0, to)); knob.style.left = `${x}px`;
  const year = years[Math.round(x / LENGTH * 3)];
  if (+knob.getAttribute('aria-valuenow') !== year) { knob.setAttribute('aria-valuenow', year); proof.add(`625x40-d${year}.png`, document.createElement('div')); shot.src = `625x40-d${year}.png`; }
};
knob.addEventListener('pointerdown', e => { grabbed = e.clientX - x; knob.setPointerCapture(e.pointerId); });
knob.addEventListener('pointermove', e => grabbed !== null && place(e.clientX - grabbed));
knob.addEventListener('pointerup', () => grabbed = null);
knob.addEventListener('keydown', e => { const step = {ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1}[e.key]; if (step) { e.preventDefault(); place(x + step * LENGTH / 3); } });
</script>""",
        head="<style>.track {position: relative; width: 380px; height: 6px; background: #bbb; margin: 2em} .knob {position: absolute; top: -7px; left: 0; width: 20px; height: 20px; border-radius: 50%; background: #222; touch-action: none; cursor: grab}</style>",
        parts=("d1950", "d1960", "d1970", "d1980"),
        proofs=_names(625, "d1950", "d1960", "d1970", "d1980"),
        acts=(Act("drag", "#knob", "380"),),
    ),
    Feature(
        "branch-finder",
        "An element with a shadow tree shows the branches of a city when its button is pressed.",
        """<branch-finder cities="leeds york"></branch-finder>
<script>
customElements.define('branch-finder', class extends HTMLElement {
  connectedCallback() {
    const root = this.attachShadow({mode: 'open'}); proof.watch(root);
    root.innerHTML = `<style>:host {display: block; border: 1px solid; padding: 1em} button {font: inherit}</style><slot></slot><div part="buttons"></div><ul part="list"></ul>`;
    for (const city of this.getAttribute('cities').split(' ')) {
      const button = document.createElement('button'); button.type = 'button'; button.id = city; button.textContent = `Branches in ${city}`;
      button.addEventListener('click', () => this.load(city)); root.querySelector('div').append(button);
    }
  }
  async load(city) {
    const list = this.shadowRoot.querySelector('ul');
    list.replaceChildren(...(await (await fetch(`data/${city}.json`)).json()).map(({name, photo}) => { const li = document.createElement('li'), img = new Image(); img.src = photo; li.append(img, name); return li; }));
  }
});
</script>""",
        parts=_CITIES,
        proofs=_names(619, *_CITIES),
        acts=tuple(click(f"#{city}") for city in _CITIES),
        files={"data/*": _branches},
    ),
    Feature(
        "share-chart",
        "The buttons of a chart fetch its points for a week, a month and a year.",
        """<figure class="chart"><div class="ranges" role="group" aria-label="Range"><button data-range="1w" class="active">1W</button><button data-range="1m">1M</button><button data-range="1y">1Y</button></div><svg viewBox="0 0 300 40" width="600" height="80"><polyline fill="none" stroke="teal"/></svg></figure>
<script>
(async function () {
  const line = document.querySelector('polyline'), buttons = document.querySelectorAll('[data-range]'), cache = {};
  async function load(range) {
    buttons.forEach(b => b.classList.toggle('active', b.dataset.range === range));
    const series = cache[range] ??= await (await fetch('quotes?symbol=LEAF&range=' + range)).json();
    line.setAttribute('points', series.points.map((y, x) => `${x * 10},${40 - y}`).join(' '));
    if (series.range === range && line.points.numberOfItems === 30) proof.done(range);
  }
  buttons.forEach(b => b.addEventListener('click', () => load(b.dataset.range)));
  load('1w');
})();
</script>""",
        parts=_RANGES,
        proofs=tuple(rf"quotes\?symbol=LEAF&range={name}" for name in _RANGES),
        acts=(click("[data-range='1m']"), click("[data-range='1y']")),
        files={"quotes": _series},
    ),
    Feature(
        "tree-quiz",
        "A quiz goes on when an answer is chosen, and its last step shows the result.",
        """<div id="quiz" class="quiz"></div>
<script type="module">
const host = document.getElementById('quiz'), answers = []; let step = 0;
async function ask() {
  step++;
  if (step > 3) { host.innerHTML = '<h2>You are an oak</h2>'; proof.add('628x40-verdict.png', host); return; }
  const q = await fetch(`steps/${step}.json`).then(r => r.json());
  host.innerHTML = `<form><progress max="3" value="${step}"></progress><fieldset><legend>${q.text}</legend><img src="${q.image}" alt="">${q.options.map(o => `<label class="option"><input type="radio" name="choice" value="${o}"> ${o}</label>`).join('')}</fieldset><button type="submit" disabled>${step < 3 ? 'Next' : 'See my result'}</button></form>`;
  const form = host.firstElementChild;
  form.addEventListener('change', () => form.querySelector('button').disabled = false);
  form.addEventListener('submit', e => { e.preventDefault(); answers.push(new FormData(form).get('choice')); ask(); });
}
ask();
</script>""",
        parts=("question1", "question2", "question3", "verdict"),
        proofs=_names(628, "question1", "question2", "question3", "verdict"),
        acts=(click("#quiz input >> nth=0"), click("#quiz button")) * 3,
        files={"steps/*": _question},
    ),
)

_REQUESTS: Final = (
    Feature(
        "dashboard-posts",
        "Three widgets of a dashboard post different bodies to one address.",
        """<main class="dash"><section data-widget="weather" data-limit="5"></section><section data-widget="traffic" data-limit="10"></section><section data-widget="energy" data-limit="5"></section></main>
<script>
document.querySelectorAll('[data-widget]').forEach(async el => {
  const {widget, limit} = el.dataset;
  const res = await fetch('api/v1/query', {method: 'POST', headers: {'Content-Type': 'application/json', Accept: 'application/json'}, body: JSON.stringify({widget, limit: Number(limit), tz: 'UTC'})});
  if (!res.ok) throw new Error(res.statusText);
  const {icon} = await res.json(); proof.add(icon, el);
});
</script>""",
        parts=("weather", "traffic", "energy"),
        proofs=(r"api/v1/query.*", *_names(613, "weather", "traffic", "energy")),
        files={"api/v1/query": _widget},
    ),
    Feature(
        "stamped-queries",
        "Scripts, data and pictures are asked for with the time or a random number in the query.",
        """<div id="ticker"></div>
<script>
var stamp = new Date().getTime();
document.write('<scr' + 'ipt src="ticker.js?_=' + stamp + '"></scr' + 'ipt>');
</script>""",
        parts=("prices", "beacon"),
        proofs=(
            r"ticker\.js\?_=\d+",
            r"prices\.json\?cb=[\d.]+",
            r"614x40-prices\.png\?nocache=\d+",
            r"614x41-beacon\.png\?r=[\d.]+",
        ),
        files={
            "ticker.js": js(
                "fetch('prices.json?cb=' + Math.random()).then(r => r.json()).then(({chart}) => proof.add(`${chart}?nocache=${Date.now()}`, document.getElementById('ticker')));"
                "proof.add('614x41-beacon.png?r=' + performance.now());"
            ),
            "prices.json": _prices,
        },
    ),
    Feature(
        "platform-socket",
        "The boards of three platforms come by messages of a WebSocket.",
        """<div id="boards"></div>
<script>
const ws = new WebSocket(`wss://${location.host}/platform-socket/live`), boards = document.getElementById('boards'), waiting = ['north', 'south', 'ferry'];
const subscribe = () => { const platform = waiting.shift(); if (platform) ws.send(JSON.stringify({type: 'subscribe', platform})); };
ws.onmessage = ({data}) => {
  const message = JSON.parse(data);
  if (message.type === 'board') { const div = document.createElement('div'); div.textContent = message.platform; boards.append(div); proof.add(message.src, div); }
  subscribe();
};
</script>""",
        parts=("north", "south", "ferry"),
        proofs=_names(615, "north", "south", "ferry"),
        files={"live": Raw(_departures)},
    ),
    Feature(
        "vary-greeting",
        "A greeting is asked for in three languages, at one address, by the header of the request.",
        """<ul id="greetings"></ul>
<script>
(async () => {
  for (const lang of ['en', 'de', 'fr']) {
    const answer = await fetch('greeting.json', {headers: {'Accept-Language': lang}}), {banner} = await answer.json();
    const li = document.createElement('li'); li.lang = lang; document.getElementById('greetings').append(li); proof.add(banner, li);
  }
})();
</script>""",
        parts=("hello", "hallo", "bonjour"),
        proofs=(r"greeting\.json", *_names(616, "hello", "hallo", "bonjour")),
        files={"greeting.json": _greeting},
    ),
    Feature(
        "scan-progress",
        "A page asks one address again and again, whose answer grows until a scan is done.",
        """<p>Scanning <output id="state">…</output></p><div id="pages"></div>
<script>
var shown = 0;
(function poll() {
  fetch('status.json').then(function (r) { return r.json(); }).then(function (s) {
    document.getElementById('state').value = s.state;
    s.pages.slice(shown).forEach(function (src) { proof.add(src, document.getElementById('pages')); });
    shown = s.pages.length;
    if (s.state !== 'done') setTimeout(poll, 900);
  });
})();
</script>""",
        parts=("scan1", "scan2", "scan3", "scan4"),
        proofs=(r"status\.json", *_names(617, "scan1", "scan2", "scan3", "scan4")),
        files={"status.json": _progress},
    ),
    Feature(
        "offline-gallery",
        "A service worker keeps some files, and answers invented addresses with other pictures.",
        """<div id="art"></div>
<script>
(async () => {
  if (!('serviceWorker' in navigator)) return;
  const controlled = new Promise(go => navigator.serviceWorker.controller ? go() : navigator.serviceWorker.addEventListener('controllerchange', go, {once: true}));
  await navigator.serviceWorker.register('sw.js', {scope: './'}); await controlled;
  for (const name of ['etching', 'woodcut']) {
    const img = new Image(); img.src = `art/${name}`; img.onload = () => img.naturalWidth === 618 && proof.done(name); document.getElementById('art').append(img);
  }
})();
</script>""",
        parts=("etching", "woodcut"),
        proofs=("sw.js", *_names(618, "etching", "woodcut")),
        files={
            "sw.js": js(
                "const KEPT = 'gallery-v3', list = ['618x40-etching.png'];\n"
                "self.addEventListener('install', e => e.waitUntil(caches.open(KEPT).then(c => c.addAll(list)).then(() => self.skipWaiting())));\n"
                "self.addEventListener('activate', e => e.waitUntil(self.clients.claim()));\n"
                "self.addEventListener('fetch', e => { const found = /\\/art\\/(\\w+)$/.exec(e.request.url); if (!found) return; const real = `618x40-${found[1]}.png`;\n"
                "  e.respondWith(caches.match(real).then(kept => kept || fetch(real))); });"
            )
        },
    ),
    Feature(
        "dune-photos",
        "The photographs of an article have sources for several widths, and are loaded when they come into view.",
        f"""<article class="story">{_FILLER}<img alt="dune" src="480x40-dune.png" srcset="480x40-dune.png 480w, 960x40-dune.png 960w, 1440x40-dune.png 1440w" sizes="(max-width: 700px) 100vw, 900px" width="900" height="40">
<div style="height: 1800px">{_FILLER}</div><img alt="ridge" loading="lazy" src="480x40-ridge.png" srcset="480x40-ridge.png 1x, 960x40-ridge.png 2x" width="480" height="40">
<div style="height: 1800px">{_FILLER}</div><picture><source media="(min-width: 900px)" srcset="960x40-shore.png"><img alt="shore" loading="lazy" src="480x40-shore.png" height="40"></picture>
<div style="height: 1800px">{_FILLER}</div><img class="lazyload" alt="tide" data-srcset="480x40-tide.png 480w, 960x40-tide.png 960w" sizes="400px" src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7" width="400" height="40">{_FILLER}</article>"""
        + """<script>
const near = new IntersectionObserver(entries => entries.forEach(({isIntersecting, target}) => { if (isIntersecting) { near.unobserve(target); target.srcset = target.dataset.srcset; target.classList.replace('lazyload', 'lazyloaded'); } }), {rootMargin: '100px'});
document.querySelectorAll('.lazyload').forEach(img => near.observe(img));
document.querySelectorAll('article img').forEach(img => { const check = () => img.complete && img.naturalWidth > 1 && !img.currentSrc.startsWith('data:') && proof.done(img.alt); img.addEventListener('load', check); check(); });
</script>""",
        parts=("dune", "ridge", "shore", "tide"),
        proofs=tuple(rf"\d+x40-{name}\.png" for name in ("dune", "ridge", "shore", "tide")),
    ),
    Feature(
        "mapped-modules",
        "Modules import each other by the names of an import map, and one is imported later.",
        """<div id="app"></div><script type="importmap">{"imports": {"store": "./vendor/store@2.1.0.mjs", "ui/": "./vendor/ui/"}}</script><script type="module" src="main.mjs"></script>""",
        parts=("list", "panel", "chart"),
        proofs=(
            r"main\.mjs",
            r"vendor/store@2\.1\.0\.mjs",
            r"vendor/ui/(list|panel|chart)\.mjs",
            *_names(621, "list", "panel", "chart"),
        ),
        files={
            "main.mjs": js(
                "import {state, subscribe} from 'store'; import list from 'ui/list.mjs'; import {panel} from 'ui/panel.mjs';\n"
                "const root = document.getElementById('app'); list(root); panel(root);\n"
                "subscribe(async name => { const {default: draw} = await import(`ui/${name}.mjs`); draw(root); }); state.set('chart');"
            ),
            "vendor/store@2.1.0.mjs": js(
                "const heard = new Set(); let value; export const subscribe = f => heard.add(f); export const state = {set(v) { value = v; heard.forEach(f => f(v)); }, get: () => value};"
            ),
            "vendor/ui/list.mjs": js("export default root => proof.add('621x40-list.png', root);"),
            "vendor/ui/panel.mjs": js(
                "import {state} from 'store'; export function panel(root) { if (state.get() === undefined) proof.add(new URL('../../621x40-panel.png', import.meta.url).href, root); }"
            ),
            "vendor/ui/chart.mjs": js("export default root => proof.add('621x40-chart.png', root);"),
        },
    ),
)

_VIEWERS: Final = (
    Feature(
        "floor-plan",
        "A plan is drawn on a canvas from tiles, and a button shows it larger.",
        """<div class="plan"><canvas id="plan" width="256" height="128"></canvas><div class="plan__tools"><button type="button" title="Zoom in" aria-label="Zoom in">+</button></div></div>
<script>
const canvas = document.getElementById('plan'), pen = canvas.getContext('2d'); let level = 1;
const tile = (z, x, y) => new Promise((go, no) => { const img = new Image(); img.onload = () => go(img); img.onerror = no; img.src = `tiles/${z}/${x}/${y}.png`; });
async function draw() {
  const z = level, jobs = [];
  canvas.width = 128 * z; canvas.height = 64 * z;
  for (let x = 0; x < 2 * z; x++) for (let y = 0; y < z; y++) jobs.push(tile(z, x, y).then(img => pen.drawImage(img, x * 64, y * 64)));
  await Promise.all(jobs); proof.done(`level${z}`);
}
document.querySelector('.plan__tools button').onclick = e => { level = 2; draw(); e.currentTarget.disabled = true; };
draw();
</script>""",
        parts=("level1", "level2"),
        proofs=tuple(rf"tiles/{z}/{x}/{y}\.png" for z in (1, 2) for x in range(2 * z) for y in range(z)),
        acts=(click(".plan__tools button"),),
        files={"tiles/*": _tile},
    ),
    Feature(
        "lecture-playlist",
        "A playlist of three films goes on by itself after the first was started.",
        """<div class="player"><video id="screen" width="320" height="240" playsinline muted preload="none"></video><button type="button" class="player__play" aria-label="Play">▶</button><ol id="films"><li data-src="films/one.webm" class="on">Lecture one</li><li data-src="films/two.webm">Lecture two</li><li data-src="films/three.webm">Lecture three</li></ol></div>
<script>
const screen_ = document.getElementById('screen'), films = [...document.querySelectorAll('#films li')]; let at = 0;
const start = n => { at = n; films.forEach((li, i) => li.classList.toggle('on', i === n)); screen_.src = films[n].dataset.src; screen_.play().catch(() => {}); };
document.querySelector('.player__play').addEventListener('click', e => { e.currentTarget.hidden = true; start(0); });
films.forEach((li, n) => li.addEventListener('click', () => start(n)));
screen_.addEventListener('playing', () => proof.done(['one', 'two', 'three'][at]));
screen_.addEventListener('ended', () => { if (at + 1 < films.length) start(at + 1); });
</script>""",
        parts=("one", "two", "three"),
        proofs=tuple(rf"films/{name}\.webm" for name in ("one", "two", "three")),
        acts=(click(".player__play"),),
        files={f"films/{name}.webm": ranged(WEBM, "video/webm") for name in ("one", "two", "three")},
    ),
    Feature(
        "village-podcast",
        "The episodes of a podcast are played by their buttons, and show their covers then.",
        """<audio id="sound" preload="none"></audio><ul class="episodes"><li data-episode="bells"><button type="button" aria-label="Play episode Bells"><svg width="20" height="20"><path d="M4 2l14 8-14 8z"/></svg></button> Bells <span class="cover"></span></li><li data-episode="mills"><button type="button" aria-label="Play episode Mills"><svg width="20" height="20"><path d="M4 2l14 8-14 8z"/></svg></button> Mills <span class="cover"></span></li></ul>
<script>
const sound = document.getElementById('sound'); let current = null;
document.querySelectorAll('[data-episode] button').forEach(button => button.addEventListener('click', async () => {
  const item = button.closest('li');
  if (current === item && !sound.paused) { sound.pause(); return; }
  current = item; sound.src = `audio/${item.dataset.episode}.webm`; await sound.play();
}));
sound.addEventListener('playing', () => { const cover = current.querySelector('.cover'); if (!cover.firstChild) proof.add(`629x40-${current.dataset.episode}.png`, cover); });
</script>""",
        parts=("bells", "mills"),
        proofs=(*(rf"audio/{name}\.webm" for name in ("bells", "mills")), *_names(629, "bells", "mills")),
        acts=(click("[data-episode=bells] button"), click("[data-episode=mills] button")),
        files={f"audio/{name}.webm": ranged(TONE, "audio/webm") for name in ("bells", "mills")},
    ),
    Feature(
        "annual-report",
        "A frame shows a report as PDF, with a picture of its cover beside it.",
        """<div class="report"><img src="631x40-cover.png" alt="Cover"><iframe id="report" title="Annual report" width="700" height="500" src="files/report-2025.pdf#toolbar=0" onload="this.contentDocument?.contentType === 'application/pdf' && proof.done('report')"></iframe><p><a href="files/report-2025.pdf" download>Download the report (PDF)</a></p></div>
""",
        parts=("cover", "report"),
        proofs=(r"files/report-2025\.pdf", *_names(631, "cover")),
        files={"files/report-2025.pdf": Reply(_pdf(), "application/pdf")},
    ),
)

SAMPLE: Final = (*_LISTS, *_GATES, *_POINTERS, *_REQUESTS, *_VIEWERS)
