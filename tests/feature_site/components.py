"""Features of components as the libraries of today render them: their markup, their events and their life cycles."""

from __future__ import annotations

from typing import Final

from feature_site.feature import Act, Feature, Question, Reply, click, data, hover, js, page


def _fragment(text: str, wait_seconds: float = 0.0) -> Reply:
    return Reply(text, "text/html; charset=utf-8", wait_seconds=wait_seconds)


def _table_rows(question: Question) -> Reply:
    """Answer a DataTable's request for its rows, with the number that the table gave."""
    asked = dict(part.split("=", 1) for part in question.query.split("&"))
    at = int(asked["start"]) // 10
    rows = [f"<img src=thumbs/32x2{at}-page{at}.png>", f"Row {at}"]
    text = f'{{"draw": {asked["draw"]}, "recordsTotal": 30, "data": [["{rows[0]}", "{rows[1]}"]]}}'
    return data(text)


def _snapshot(question: Question) -> Reply:
    """Answer a component's call with its next state, which the client sends with the next call."""
    at = question.body.count(b"|") + 1
    return data(
        f'{{"snapshot": "s{"|" * at}", "html": "<img src=48x1{at}-wire{at}.png alt>", "more": {str(at < 3).lower()}}}',
        ("Cache-Control", "no-store, private"),
    )


def _batch(question: Question) -> Reply:
    """Answer slowly with three cards of a feed."""
    at = int(question.query.removeprefix("page="))
    cards = "".join(f'{{"src": "56x{20 + at}-card{at}{letter}.png"}},' for letter in "abc")
    return Reply(
        f'{{"items": [{cards[:-1]}], "next": {at + 1 if at < 5 else "null"}}}', "application/json", wait_seconds=1.2
    )


COMPONENTS: Final = (
    Feature(
        "radix-tabs",
        "Tabs of a React library listen to mousedown, not to click, and mount their panels.",
        """<div dir=ltr data-orientation=horizontal id=app><div role=tablist aria-orientation=horizontal tabindex=0 style="outline:none">
<button type=button role=tab aria-selected=true aria-controls="radix-:r1:-content-account" data-state=active id="radix-:r1:-trigger-account" tabindex=-1 data-radix-collection-item>Account</button>
<button type=button role=tab aria-selected=false aria-controls="radix-:r1:-content-password" data-state=inactive id="radix-:r1:-trigger-password" tabindex=-1 data-radix-collection-item>Password</button>
<button type=button role=tab aria-selected=false aria-controls="radix-:r1:-content-team" data-state=inactive id="radix-:r1:-trigger-team" tabindex=-1 data-radix-collection-item>Team</button>
</div><div id=mount></div></div><script>
const panels = {account: '40x30-account.png', password: '40x31-password.png', team: '40x32-team.png'};
function render(value) {
  for (const tab of document.querySelectorAll('[role=tab]')) {
    const on = tab.id.endsWith(value);
    tab.setAttribute('aria-selected', on); tab.dataset.state = on ? 'active' : 'inactive';
  }
  mount.innerHTML = `<div role=tabpanel data-state=active id="radix-:r1:-content-${value}"><img src="${panels[value]}"></div>`;
}
render('account');
app.addEventListener('mousedown', event => {
  const tab = event.target.closest('[role=tab]');
  if (tab && event.button === 0 && !event.ctrlKey) render(tab.id.split('-').pop()); else if (tab) event.preventDefault();
});</script>""",
        acts=(click("[role=tab] >> nth=1"), click("[role=tab] >> nth=2")),
    ),
    Feature(
        "radix-menu",
        "A menu opens at pointerdown in a portal, and its sub-menu when the pointer moves onto its trigger.",
        """<button type=button id="radix-:r4:" aria-haspopup=menu aria-expanded=false data-state=closed>Options</button><script>
const trigger = document.getElementById('radix-:r4:');
trigger.addEventListener('pointerdown', event => {
  if (event.button !== 0 || event.ctrlKey || trigger.dataset.state === 'open') return;
  trigger.dataset.state = 'open'; trigger.ariaExpanded = true;
  const portal = document.createElement('div');
  portal.setAttribute('data-radix-popper-content-wrapper', '');
  portal.style.cssText = 'position:fixed;left:0;top:0;transform:translate(20px,140px)';
  portal.innerHTML = `<div role=menu data-side=bottom><div role=menuitem tabindex=-1><img src="20x20-edit.png">Edit</div>
    <div role=menuitem tabindex=-1 aria-haspopup=menu aria-expanded=false data-state=closed class=sub>Share with</div></div>`;
  document.body.append(portal);
  portal.querySelector('.sub').addEventListener('pointermove', function () {
    if (this.dataset.state === 'open') return;
    this.dataset.state = 'open'; this.ariaExpanded = true;
    this.insertAdjacentHTML('afterend', '<div role=menu><div role=menuitem><img src="20x21-people.png">People</div></div>');
  });
});</script>""",
        acts=(click("[aria-haspopup]"), hover(".sub")),
    ),
    Feature(
        "disclosure-remount",
        "The panels of a frequently asked question are made anew each time it is opened, and one closes the other.",
        """<dl id=faq></dl><script>
const questions = [['What is a leaf?', '60x20-leaf.png'], ['What is bark?', '60x21-bark.png'], ['What is a root?', '60x22-root.png']];
let open = -1;
function render() {
  faq.replaceChildren(...questions.map(([title, picture], at) => {
    const row = document.createElement('div');
    row.className = 'border-b py-4';
    row.innerHTML = `<dt><button class="flex w-full" aria-expanded="${open === at}" aria-controls="headlessui-disclosure-panel-${at}">
      <span>${title}</span><svg width=12 height=12 viewBox="0 0 12 12"><path d="M2 4l4 4 4-4" stroke=currentColor fill=none /></svg></button></dt>`
      + (open === at ? `<dd id="headlessui-disclosure-panel-${at}"><img src="${picture}"></dd>` : '');
    row.querySelector('button').addEventListener('click', () => { open = open === at ? -1 : at; render(); });
    return row;
  }));
}
render();</script>""",
        acts=tuple(click(f"#faq button >> nth={at}") for at in range(3)),
    ),
    Feature(
        "slick-dots",
        "A slider has only dots, and loads data-lazy of the slide that is shown.",
        """<div class="slick-slider" id=slider><div class="slick-list" style="width:300px;height:120px;overflow:hidden"><div class="slick-track" id=track style="display:flex;width:1200px;transition:transform .3s">
<div class="slick-slide slick-current" style="width:300px"><img data-lazy="300x40-first.png"></div><div class="slick-slide" style="width:300px"><img data-lazy="300x41-second.png"></div>
<div class="slick-slide" style="width:300px"><img data-lazy="300x42-third.png"></div><div class="slick-slide" style="width:300px"><img data-lazy="300x43-fourth.png"></div></div></div>
<ul class="slick-dots" id=dots style="display:flex;list-style:none;gap:6px"></ul></div><script>
const slides = [...document.querySelectorAll('.slick-slide')];
slides.forEach((_, at) => dots.insertAdjacentHTML('beforeend', `<li${at ? '' : ' class=slick-active'} style="width:12px;height:12px;border-radius:6px;background:#999;cursor:pointer"></li>`));
function go(at) {
  track.style.transform = `translate3d(${-300 * at}px,0,0)`;
  [...dots.children].forEach((dot, i) => dot.classList.toggle('slick-active', i === at));
  const image = slides[at].querySelector('img[data-lazy]');
  if (image) { const loader = new Image(); loader.onload = () => { image.src = loader.src; image.removeAttribute('data-lazy'); }; loader.src = image.dataset.lazy; }
}
dots.addEventListener('click', event => { const at = [...dots.children].indexOf(event.target.closest('li')); if (at >= 0) go(at); });
go(0);</script>""",
        acts=tuple(click(f"#dots li >> nth={at}") for at in (1, 2, 3)),
    ),
    Feature(
        "swipe-slider",
        "A gallery without arrows or dots is turned by dragging it.",
        """<div class="swiper" id=gallery style="width:320px;height:140px;overflow:hidden;touch-action:pan-y;cursor:grab;user-select:none"><div class="swiper-wrapper" id=rail style="display:flex;transition:transform .3s"></div></div><script>
const pictures = ['320x50-one.png', '320x51-two.png', '320x52-three.png'];
pictures.forEach(() => rail.insertAdjacentHTML('beforeend', '<div class="swiper-slide" style="flex:0 0 320px;height:140px"></div>'));
let at = 0, from = null;
function show() { rail.style.transform = `translateX(${-320 * at}px)`; if (!rail.children[at].firstChild) rail.children[at].innerHTML = `<img draggable=false src="${pictures[at]}">`; }
show();
gallery.addEventListener('pointerdown', event => { from = event.clientX; });
addEventListener('pointermove', event => { if (from !== null) rail.style.transform = `translateX(${-320 * at + event.clientX - from}px)`; });
addEventListener('pointerup', event => {
  if (from === null) return;
  const moved = event.clientX - from; from = null;
  if (moved < -40 && at < 2) at++; else if (moved > 40 && at) at--;
  show();
});</script>""",
        acts=(Act("drag", "#gallery", "-200"), Act("drag", "#gallery", "-200")),
    ),
    Feature(
        "snap-rail",
        "A horizontal rail snaps to cards, whose pictures an observer of the rail loads.",
        """<style>.rail {display:flex;gap:16px;overflow-x:auto;scroll-snap-type:x mandatory;width:400px;scrollbar-width:none} .rail > article {flex:0 0 360px;height:120px;scroll-snap-align:center;background:#eee}</style>
<div class=rail id=rail><article data-bg="44x20-a.png"></article><article data-bg="44x21-b.png"></article><article data-bg="44x22-c.png"></article><article data-bg="44x23-d.png"></article></div><script>
for (const name of ['44x20-a.png', '44x21-b.png', '44x22-c.png', '44x23-d.png']) proof.resource(name, name.slice(6, 7));
const observer = new IntersectionObserver(entries => entries.forEach(entry => {
  if (entry.intersectionRatio < 0.6) return;
  entry.target.style.backgroundImage = `url(${entry.target.dataset.bg})`; observer.unobserve(entry.target);
}), {root: rail, threshold: [0, 0.6, 1]});
document.querySelectorAll('article').forEach(card => observer.observe(card));</script>""",
        acts=tuple(Act("evaluate", f"rail.scrollTo({376 * at}, 0)") for at in (1, 2, 3)),
    ),
    Feature(
        "recycled-rows",
        "A virtual list recycles twelve nodes in a scroll box for sixty rows.",
        """<style>#box {height:360px;width:420px;overflow:auto;position:relative;contain:strict} #box .row {position:absolute;left:0;width:100%;height:60px}</style>
<div id=box tabindex=0><div style="height:3600px;width:1px"></div></div><script>
const nodes = Array.from({length: 12}, () => { const row = document.createElement('div'); row.className = 'row'; row.innerHTML = '<img width=50 height=40><span></span>'; box.append(row); return row; });
function render() {
  const first = Math.max(0, Math.min(48, Math.floor(box.scrollTop / 60) - 2));
  for (let at = first; at < first + 12; at++) {
    const row = nodes[at % 12];
    if (row.dataset.at === String(at)) continue;
    row.dataset.at = at; row.style.transform = `translateY(${at * 60}px)`;
    row.querySelector('span').textContent = `Row ${at}`;
    row.querySelector('img').src = `avatars/50x40-r${at}.png`;
  }
}
let queued = false;
box.addEventListener('scroll', () => { if (!queued) { queued = true; requestAnimationFrame(() => { queued = false; render(); }); } }, {passive: true});
render();</script>""",
        parts=("r0", "r20", "r40", "r59"),
        proofs=tuple(f"avatars/50x40-r{at}.png" for at in (0, 13, 20, 33, 40, 51, 59)),
        acts=tuple(Act("evaluate", f"box.scrollTo(0, {top})") for top in (700, 1000, 1300, 1800, 2300, 2800, 3600)),
    ),
    Feature(
        "slow-feed",
        "An endless feed loads five slow batches by an observer with a margin, and shows a spinner.",
        """<main id=feed></main><div id=sentinel style="height:1px"></div><div id=spinner hidden>Loading…</div><script>
let next = 1, busy = false;
async function load() {
  if (busy || !next) return;
  busy = true; spinner.hidden = false;
  const answer = await fetch(`api/feed?page=${next}`).then(r => r.json());
  for (const item of answer.items) feed.insertAdjacentHTML('beforeend', `<article style="height:420px"><img loading=lazy src="${item.src}"></article>`);
  next = answer.next; busy = false; spinner.hidden = true;
  if (!next) { observer.disconnect(); sentinel.remove(); } else { observer.unobserve(sentinel); observer.observe(sentinel); }
}
const observer = new IntersectionObserver(([entry]) => entry.isIntersecting && load(), {rootMargin: '0px 0px 200px 0px'});
observer.observe(sentinel);</script>""",
        parts=tuple(f"card{at}c" for at in range(1, 6)),
        proofs=tuple(f"56x2{at}-card{at}{letter}.png" for at in range(1, 6) for letter in "abc"),
        files={"api/feed": _batch},
        seconds=45,
    ),
    Feature(
        "more-then-endless",
        "Endless scrolling begins only after the button at the end of the first batch was pressed.",
        """<section id=list></section><div class="text-center"><button type=button class="btn btn-outline" id=more>Show more results</button></div><script>
let at = 0, endless = false;
function append() {
  if (at === 5) return;
  at++;
  list.insertAdjacentHTML('beforeend', `<div style="height:900px"><img src="58x1${at}-result${at}.png"></div>`);
}
append();
more.onclick = () => { more.remove(); endless = true; append(); };
let wait = 0;
addEventListener('scroll', () => { clearTimeout(wait); wait = setTimeout(() => { if (endless && scrollY + innerHeight > document.documentElement.scrollHeight - 100) append(); }, 120); }, {passive: true});</script>""",
        parts=tuple(f"result{at}" for at in range(1, 6)),
        proofs=tuple(f"58x1{at}-result{at}.png" for at in range(1, 6)),
        acts=(click("#more"),),
    ),
    Feature(
        "chat-history",
        "A chat is laid out from its end, and loads older messages when it is scrolled up.",
        """<div id=log style="display:flex;flex-direction:column-reverse;height:300px;width:360px;overflow-y:auto;border:1px solid"></div><script>
let at = 0;
function older() { at++; for (let i = 0; i < 4; i++) log.insertAdjacentHTML('beforeend', `<p style="min-height:90px;flex:none">Message ${at * 4 + i}</p>`); log.insertAdjacentHTML('beforeend', `<p style="min-height:40px;flex:none"><img src="62x1${at}-old${at}.png"></p>`); }
older();
log.addEventListener('scroll', () => { if (at < 4 && log.scrollHeight - log.clientHeight + log.scrollTop < 60) older(); });</script>""",
        parts=tuple(f"old{at}" for at in range(1, 5)),
        proofs=tuple(f"62x1{at}-old{at}.png" for at in range(1, 5)),
        acts=(Act("evaluate", "log.scrollTo(0, -9999)"),) * 4,
    ),
    Feature(
        "htmx",
        "Attributes say which fragment of HTML is fetched on a click, on reveal and after a delay.",
        """<nav><a hx-get="fragments/tab2" hx-target="#tab" hx-swap="innerHTML" style="cursor:pointer">Reviews</a></nav><div id=tab>Description</div>
<div hx-get="fragments/late" hx-trigger="load delay:900ms">…</div><div style="height:2400px"></div><div hx-get="fragments/more" hx-trigger="revealed" hx-swap="outerHTML">…</div><script>
function htmx(root) {
  for (const element of root.querySelectorAll('[hx-get]')) {
    const [kind, ...rest] = (element.getAttribute('hx-trigger') || 'click').split(' ');
    const run = async () => {
      const html = await fetch(element.getAttribute('hx-get'), {headers: {'HX-Request': 'true', 'HX-Current-URL': location.href}}).then(r => r.text());
      const target = element.getAttribute('hx-target') ? document.querySelector(element.getAttribute('hx-target')) : element;
      const box = document.createElement('div'); box.innerHTML = html; htmx(box);
      if (element.getAttribute('hx-swap') === 'outerHTML') target.replaceWith(...box.childNodes); else target.replaceChildren(...box.childNodes);
    };
    if (kind === 'click') element.addEventListener('click', run);
    else if (kind === 'load') setTimeout(run, parseInt(rest[0].split(':')[1]));
    else { const seen = new IntersectionObserver(([entry]) => { if (entry.isIntersecting) { seen.disconnect(); run(); } }); requestAnimationFrame(() => seen.observe(element)); }
  }
}
htmx(document);</script>""",
        files={
            "fragments/tab2": _fragment("<img src='64x20-reviews.png'>"),
            "fragments/late": _fragment("<img src='64x21-late.png'>"),
            "fragments/more": _fragment(
                "<img src='64x22-more.png'><p style='height:1500px'></p><div hx-get='fragments/end' hx-trigger='revealed' hx-swap='outerHTML'>…</div>"
            ),
            "fragments/end": _fragment("<img src='64x23-end.png'>"),
        },
        acts=(click("nav a"),),
    ),
    Feature(
        "turbo-frames",
        "A custom element fetches its page when it comes into view, and links stay within it.",
        """<p style="height:1500px">Scroll</p><turbo-frame id=books src="books.html" loading=lazy></turbo-frame><script>
customElements.define('turbo-frame', class extends HTMLElement {
  connectedCallback() {
    this.addEventListener('click', event => { const link = event.target.closest('a[href]'); if (link) { event.preventDefault(); this.go(link.href); } });
    const seen = new IntersectionObserver(([entry]) => { if (entry.isIntersecting) { seen.disconnect(); this.go(new URL(this.getAttribute('src'), document.baseURI).href); } });
    seen.observe(this);
  }
  async go(url) {
    const text = await fetch(url, {headers: {Accept: 'text/html, application/xhtml+xml', 'Turbo-Frame': this.id}}).then(r => r.text());
    const frame = new DOMParser().parseFromString(text, 'text/html').querySelector(`turbo-frame#${this.id}`);
    this.replaceChildren(...frame.childNodes);
  }
});</script>""",
        parts=("shelf1", "shelf2"),
        proofs=("books.html", "books2.html", "66x20-shelf1.png", "66x21-shelf2.png"),
        files={
            "books.html": page(
                "<turbo-frame id=books><img src='66x20-shelf1.png'><nav class=pagination><a href='books2.html' rel=next>Older</a></nav></turbo-frame>"
            ),
            "books2.html": page("<turbo-frame id=books><img src='66x21-shelf2.png'></turbo-frame>"),
        },
        acts=(Act("evaluate", "scrollTo(0, 1200)"), click("turbo-frame a")),
    ),
    Feature(
        "livewire",
        "A component of a server framework posts its last state, so that each click has another body.",
        """<div wire:id="x1" id=component><div id=items></div><button wire:click="loadMore" id=more><span>Load more</span></button></div><script>
let snapshot = 's';
more.addEventListener('click', async () => {
  more.setAttribute('disabled', '');
  const answer = await fetch('livewire/update', {method: 'POST', headers: {'Content-Type': 'application/json', 'X-Livewire': ''}, body: JSON.stringify({_token: 'q1', components: [{snapshot, calls: [{path: '', method: 'loadMore', params: []}]}]})}).then(r => r.json());
  snapshot = answer.snapshot; items.insertAdjacentHTML('beforeend', answer.html);
  if (answer.more) more.removeAttribute('disabled'); else more.remove();
});</script>""",
        parts=("wire1", "wire2", "wire3"),
        proofs=("livewire/update.*", "48x11-wire1.png", "48x12-wire2.png", "48x13-wire3.png"),
        files={"livewire/update": _snapshot},
        acts=(click("#more"),) * 3,
    ),
    Feature(
        "bootstrap-controls",
        "Links with data attributes turn a carousel and unfold a panel; one script serves the document.",
        """<div id=hero class="carousel slide"><div class="carousel-inner"><div class="carousel-item active">First</div><div class="carousel-item">Second</div></div>
<a class="carousel-control-next" role=button data-bs-target="#hero" data-bs-slide=next href="#hero"><span class="carousel-control-next-icon" aria-hidden=true style="display:inline-block;width:32px;height:32px;background:#555"></span><span class="visually-hidden" style="position:absolute;width:1px;height:1px;overflow:hidden">Next</span></a></div>
<p><a data-bs-toggle=collapse href="#terms" role=button aria-expanded=false aria-controls=terms class=collapsed>Delivery terms</a></p><div class=collapse id=terms style="display:none"><iframe data-src="terms.html" height=60></iframe></div><script>
let slide = 0;
document.addEventListener('click', event => {
  const next = event.target.closest('[data-bs-slide]'), toggle = event.target.closest('[data-bs-toggle=collapse]');
  if (next) { event.preventDefault(); slide = 1 - slide; document.querySelectorAll('.carousel-item').forEach((item, at) => { item.classList.toggle('active', at === slide); if (at === slide && at && !item.querySelector('img')) item.innerHTML = '<img src="68x20-slide.png">'; }); }
  if (toggle) { event.preventDefault(); const open = terms.style.display === 'none'; toggle.ariaExpanded = open; terms.style.display = open ? 'block' : 'none'; const frame = terms.querySelector('iframe'); if (open && frame.dataset.src) { frame.src = frame.dataset.src; delete frame.dataset.src; } }
});</script>""",
        head="<style>.carousel-item:not(.active) {display: none}</style>",
        parts=("slide", "terms"),
        proofs=("68x20-slide.png", "terms.html", "68x21-terms.png"),
        files={"terms.html": page("<img src='68x21-terms.png' onload=\"parent.postMessage({part: 'terms'}, '*')\">")},
        acts=(click("[data-bs-slide]"), click("[data-bs-toggle]")),
    ),
    Feature(
        "jquery-accordion",
        "Headings without a role unfold what an old library loads by XMLHttpRequest.",
        """<div id=accordion class="ui-accordion"><h3 class="ui-accordion-header">Spring</h3><div class="ui-accordion-content" data-url="ajax/spring.html"></div><h3 class="ui-accordion-header">Summer</h3><div class="ui-accordion-content" data-url="ajax/summer.html"></div></div>
<style>.ui-accordion-header {cursor: pointer; border: 1px solid #aaa; margin: 2px 0; padding: 4px 24px} .ui-accordion-content {display: none}</style><script>
document.getElementById('accordion').addEventListener('click', function (event) {
  var header = event.target;
  if (header.className.indexOf('ui-accordion-header') < 0) return;
  var content = header.nextElementSibling;
  content.style.display = content.style.display === 'block' ? 'none' : 'block';
  if (!content.innerHTML) {
    var request = new XMLHttpRequest();
    request.onreadystatechange = function () { if (request.readyState === 4) content.innerHTML = request.responseText; };
    request.open('GET', content.getAttribute('data-url') + '?_=' + new Date().getTime()); request.send();
  }
});</script>""",
        files={
            "ajax/spring.html": _fragment("<img src='70x20-spring.png'>"),
            "ajax/summer.html": _fragment("<img src='70x21-summer.png'>"),
        },
        acts=(click("h3 >> nth=0"), click("h3 >> nth=1")),
    ),
    Feature(
        "data-table",
        "A table asks its server for rows with a counter and the time, and is turned by a pager.",
        """<table><tbody id=rows></tbody></table><div class="dataTables_paginate"><a class="paginate_button previous disabled" tabindex=-1 id=previous>Previous</a><span><a class="paginate_button current" tabindex=0>1</a><a class="paginate_button" tabindex=0 data-dt-idx=1>2</a><a class="paginate_button" tabindex=0 data-dt-idx=2>3</a></span><a class="paginate_button next" tabindex=0 id=next>Next</a></div>
<style>.paginate_button {cursor: pointer; padding: 4px}</style><script>
let draw = 0, at = 0;
async function load() {
  draw++;
  const mine = draw;
  const answer = await fetch(`rows?draw=${draw}&start=${at * 10}&length=10&search%5Bvalue%5D=&_=${Date.now()}`).then(r => r.json());
  if (answer.draw !== mine) return;
  rows.innerHTML = answer.data.map(cells => `<tr>${cells.map(cell => `<td>${cell}</td>`).join('')}</tr>`).join('');
}
document.querySelector('.dataTables_paginate').addEventListener('click', event => {
  const button = event.target.closest('a'); if (!button || button.classList.contains('disabled')) return;
  if (button.id === 'next') at = Math.min(2, at + 1); else if (button.id === 'previous') at = Math.max(0, at - 1); else at = +button.textContent - 1;
  load();
});
load();</script>""",
        parts=("page0", "page1", "page2"),
        proofs=("thumbs/32x20-page0.png", "thumbs/32x21-page1.png", "thumbs/32x22-page2.png"),
        files={"rows": _table_rows},
        acts=(click("#next"), click("#next")),
    ),
    Feature(
        "month-calendar",
        "A calendar asks for the events of a month by its dates, from today on.",
        """<div class="fc"><h2 id=title></h2><button type=button title="Next month" aria-pressed=false class="fc-next-button fc-button"><span class="fc-icon" style="display:inline-block;width:16px;height:16px;background:#567"></span></button></div><div id=grid></div><script>
const start = new Date(); start.setDate(1); start.setHours(0, 0, 0, 0);
let turned = 0;
async function show() {
  const end = new Date(start); end.setMonth(end.getMonth() + 1);
  title.textContent = start.toLocaleDateString('en', {month: 'long', year: 'numeric'});
  const answer = await fetch(`events?start=${encodeURIComponent(start.toISOString())}&end=${encodeURIComponent(end.toISOString())}&timeZone=UTC`).then(r => r.json());
  grid.innerHTML = answer.map(event => `<img src="${event.picture}?m=${turned}">`).join('');
  proof.done(`month${turned}`);
}
document.querySelector('.fc-next-button').addEventListener('click', () => { start.setMonth(start.getMonth() + 1); turned++; show(); });
show();</script>""",
        parts=("month0", "month1", "month2", "event"),
        proofs=("events\\?start=.*", "72x20-event.png\\?m=0", "72x20-event.png\\?m=1", "72x20-event.png\\?m=2"),
        files={"events": data('[{"picture": "72x20-event.png"}]')},
        acts=(click(".fc-next-button"), click(".fc-next-button")),
    ),
    Feature(
        "map-tiles",
        "A map loads the tiles of its view, and finer ones by its zoom button; it may be dragged.",
        """<div id=map class="leaflet-container" style="position:relative;width:256px;height:256px;overflow:hidden;background:#ddd;touch-action:none"><div class="leaflet-pane" id=pane></div>
<div class="leaflet-control-zoom leaflet-bar" style="position:absolute;left:8px;top:8px"><a class="leaflet-control-zoom-in" href="#" title="Zoom in" role=button aria-label="Zoom in"><span aria-hidden=true>+</span></a><a class="leaflet-control-zoom-out" href="#" title="Zoom out" role=button aria-label="Zoom out"><span aria-hidden=true>&#x2212;</span></a></div></div><script>
let zoom = 3, left = 0, from = null;
function draw() {
  const first = Math.floor(left / 128);
  for (let x = first; x < first + 2; x++) for (let y = 0; y < 2; y++) {
    const name = `tiles/${zoom}/${x}/128x128-z${zoom}x${x}y${y}.png`;
    let tile = pane.querySelector(`[src="${name}"]`);
    if (!tile) { tile = new Image(); tile.className = 'leaflet-tile'; tile.src = name; tile.draggable = false; pane.append(tile); }
    tile.style.cssText = `position:absolute;left:${x * 128 - left}px;top:${y * 128}px`;
  }
}
draw();
document.querySelector('.leaflet-control-zoom').addEventListener('click', event => { event.preventDefault(); event.stopPropagation(); const link = event.target.closest('a'); const to = zoom + (link.className.endsWith('in') ? 1 : -1); if (to < 3 || to > 5) return; zoom = to; pane.replaceChildren(); draw(); });
map.addEventListener('mousedown', event => { from = event.clientX; });
document.addEventListener('mousemove', event => { if (from === null) return; left = Math.min(256, Math.max(0, left + from - event.clientX)); from = event.clientX; draw(); });
document.addEventListener('mouseup', () => { from = null; });</script>""",
        parts=("z3x0y0", "z4x0y0", "z5x1y1"),
        proofs=("tiles/3/0/128x128-z3x0y0.png", "tiles/4/0/128x128-z4x0y0.png", "tiles/5/1/128x128-z5x1y1.png"),
        acts=(click("[title='Zoom in']"), click("[title='Zoom in']")),
    ),
    Feature(
        "lightbox",
        "Links to large pictures open a viewer over the page, which is turned by its arrow.",
        """<div class="pswp-gallery" id=gallery><a href="large/400x300-big1.png" data-pswp-width=400 data-pswp-height=300 target=_blank><img src="80x60-small1.png"></a><a href="large/400x301-big2.png" data-pswp-width=400 data-pswp-height=301 target=_blank><img src="80x61-small2.png"></a><a href="large/400x302-big3.png" data-pswp-width=400 data-pswp-height=302 target=_blank><img src="80x62-small3.png"></a></div><script>
const links = [...gallery.querySelectorAll('a')];
gallery.addEventListener('click', event => {
  const link = event.target.closest('a'); if (!link || event.ctrlKey) return;
  event.preventDefault();
  let at = links.indexOf(link);
  const viewer = document.createElement('div');
  viewer.className = 'pswp pswp--open'; viewer.tabIndex = -1; viewer.setAttribute('role', 'dialog');
  viewer.style.cssText = 'position:fixed;inset:0;background:#000c;z-index:100000';
  viewer.innerHTML = '<div class=pswp__stage></div><button type=button title=Close class="pswp__button pswp__button--close">×</button><button type=button title=Next class="pswp__button pswp__button--arrow--next">›</button>';
  const show = () => { viewer.firstChild.innerHTML = `<img src="${links[at].href}">`; };
  viewer.querySelector('[title=Next]').onclick = () => { at = (at + 1) % links.length; show(); };
  viewer.querySelector('[title=Close]').onclick = () => viewer.remove();
  show(); document.body.append(viewer);
});</script>""",
        parts=("big1", "big2", "big3", "small1"),
        proofs=("large/400x300-big1.png", "large/400x301-big2.png", "large/400x302-big3.png"),
        acts=(click("#gallery a >> nth=0"), click("[title=Next]"), click("[title=Next]")),
    ),
    Feature(
        "zoom-lens",
        "A product's picture is enlarged under the mouse, from a file that its data attribute names.",
        """<figure class="product-image" id=figure style="width:300px;height:200px;margin:0;cursor:crosshair"><img src="300x200-product.png" data-zoom-image="600x400-zoomed.png" id=product></figure><div id=lens style="width:200px;height:200px;background-repeat:no-repeat"></div><script>
proof.resource('600x400-zoomed.png', 'zoomed');
figure.addEventListener('mousemove', event => { const box = figure.getBoundingClientRect(); lens.style.backgroundImage = `url(${product.dataset.zoomImage})`; lens.style.backgroundPosition = `${-(event.clientX - box.left) * 2}px ${-(event.clientY - box.top) * 2}px`; });</script>""",
        parts=("product", "zoomed"),
        proofs=("300x200-product.png", "600x400-zoomed.png"),
        acts=(hover("#figure"),),
    ),
    Feature(
        "link-preview",
        "A link shows a preview of its page when the mouse rests on it for some time.",
        """<p>The <a href="/link-preview/wiki/Moss" class=mw-link>moss</a> grows beside the <a href="/link-preview/wiki/Fern" class=mw-link>fern</a>.</p><script>
let wait = 0;
document.querySelectorAll('.mw-link').forEach(link => {
  link.addEventListener('mouseenter', () => { wait = setTimeout(async () => {
    const answer = await fetch(`/link-preview/api/summary/${link.pathname.split('/').pop()}`).then(r => r.json());
    document.querySelector('.popup')?.remove();
    document.body.insertAdjacentHTML('beforeend', `<div class=popup style="position:absolute;left:${link.offsetLeft}px;top:200px">${answer.extract}<img src="${answer.thumbnail}"></div>`);
  }, 450); });
  link.addEventListener('mouseleave', () => clearTimeout(wait));
});</script>""",
        parts=("moss", "fern"),
        proofs=("api/summary/Moss", "api/summary/Fern", "74x20-moss.png", "74x21-fern.png"),
        files={
            "api/summary/Moss": data('{"extract": "Moss", "thumbnail": "74x20-moss.png"}'),
            "api/summary/Fern": data('{"extract": "Fern", "thumbnail": "74x21-fern.png"}'),
            "wiki/Moss": page("Moss"),
            "wiki/Fern": page("Fern"),
        },
        acts=(hover("a >> nth=0"), hover("a >> nth=1")),
    ),
    Feature(
        "hamburger",
        "The navigation is behind a div of three bars without any text or role.",
        """<header style="display:flex;justify-content:space-between"><b>Arboretum</b><div class="nav-icon" id=bars style="width:30px;height:24px;cursor:pointer"><span></span><span></span><span></span></div></header><nav id=drawer class="drawer"></nav>
<style>.nav-icon span {display: block; height: 4px; margin: 3px 0; background: #222} .drawer {position: fixed; top: 60px; right: -300px; width: 280px; transition: right .2s} .drawer.is-open {right: 0}</style><script>
document.querySelector('.nav-icon').onclick = function () { drawer.classList.toggle('is-open'); if (!drawer.innerHTML) drawer.innerHTML = '<a href="#trees"><img src="76x20-trees.png">Trees</a><a href="#shop"><img src="76x21-shop.png">Shop</a>'; };</script>""",
        acts=(click("#bars"),),
    ),
    Feature(
        "slide-deck",
        "A talk has no buttons: the arrow keys turn its slides.",
        """<div class="reveal" style="height:500px;background:#223;color:#fff"><div class="slides" id=slides></div></div><script>
const names = ['90x20-title.png', '90x21-agenda.png', '90x22-detail.png', '90x23-thanks.png'];
let at = 0;
function show() { slides.innerHTML = `<section class=present><img src="${names[at]}"></section>`; history.replaceState(null, '', `#/${at}`); }
document.addEventListener('keydown', event => {
  if (event.key === 'ArrowRight' || event.key === 'PageDown' || event.key === ' ') { if (at < names.length - 1) { at++; show(); } event.preventDefault(); }
  if (event.key === 'ArrowLeft' && at) { at--; show(); }
});
show();</script>""",
        acts=(Act("press", "body", "ArrowRight"),) * 3,
    ),
    Feature(
        "full-page-sections",
        "Each turn of the wheel moves one screen, and others are ignored while it moves.",
        """<style>html, body {margin: 0; height: 100%; overflow: hidden} #wrap {transition: transform .6s} .fp-section {height: 100vh}</style><div id=wrap><div class="fp-section">1</div><div class="fp-section"><img data-src="92x20-two.png"></div><div class="fp-section"><img data-src="92x21-three.png"></div><div class="fp-section"><div class=fp-bg data-bg="92x22-four.png" style="height:50px"></div></div></div><script>
proof.resource('92x22-four.png', 'four');
let at = 0, moving = false;
document.addEventListener('wheel', event => {
  event.preventDefault();
  if (moving || Math.abs(event.deltaY) < 5) return;
  const to = Math.max(0, Math.min(3, at + Math.sign(event.deltaY))); if (to === at) return;
  at = to; moving = true; wrap.style.transform = `translate3d(0, ${-100 * at}vh, 0)`;
  const section = wrap.children[at];
  section.querySelectorAll('[data-src]').forEach(image => { image.src = image.dataset.src; image.removeAttribute('data-src'); });
  section.querySelectorAll('[data-bg]').forEach(box => { box.style.backgroundImage = `url(${box.dataset.bg})`; });
  setTimeout(() => { moving = false; }, 700);
}, {passive: false});</script>""",
        parts=("two", "three", "four"),
        proofs=("92x20-two.png", "92x21-three.png", "92x22-four.png"),
    ),
    Feature(
        "smooth-scroll",
        "A script replaces scrolling: the wheel moves a target, and frames ease the page towards it.",
        """<style>html, body {overflow: hidden; height: 100%; margin: 0} #content {will-change: transform} .block {height: 700px}</style><div id=viewport style="position:fixed;inset:0;overflow:hidden"><div id=content><div class=block>Start</div><div class=block><img data-scroll-src="94x20-near.png" height=30></div><div class=block></div><div class=block><img data-scroll-src="94x21-far.png" height=30></div></div></div><script>
let target = 0, current = 0;
addEventListener('wheel', event => { target = Math.max(0, Math.min(content.offsetHeight - innerHeight, target + event.deltaY)); });
(function frame() {
  current += (target - current) * 0.15;
  content.style.transform = `matrix3d(1,0,0,0,0,1,0,0,0,0,1,0,0,${-current},0,1)`;
  for (const image of document.querySelectorAll('[data-scroll-src]')) { const box = image.getBoundingClientRect(); if (box.top < innerHeight && box.bottom > 0) { image.src = image.dataset.scrollSrc; image.removeAttribute('data-scroll-src'); } }
  requestAnimationFrame(frame);
})();</script>""",
    ),
    Feature(
        "swatches",
        "Hidden radio buttons with labels choose the colour of a product, whose picture changes.",
        """<img id=main src="100x50-green.png"><fieldset><legend>Colour</legend><input type=radio name=colour id=c1 value="100x50-green.png" checked class=sr><label for=c1 style="background:green"></label><input type=radio name=colour id=c2 value="100x51-red.png" class=sr><label for=c2 style="background:red"></label><input type=radio name=colour id=c3 value="100x52-blue.png" class=sr><label for=c3 style="background:blue"></label></fieldset>
<style>.sr {position: absolute; opacity: 0; width: 0; height: 0} label {display: inline-block; width: 32px; height: 32px; border-radius: 16px}</style><script>
document.querySelector('fieldset').addEventListener('change', event => { main.src = event.target.value; });</script>""",
        acts=(click("label >> nth=1"), click("label >> nth=2")),
    ),
    Feature(
        "year-slider",
        "A range input shows the map of each year.",
        """<label>Year <input type=range min=2019 max=2023 step=1 value=2019 id=year></label><output id=o>2019</output><div><img id=chart src="maps/110x50-y2019.png"></div><script>
year.addEventListener('input', () => { o.value = year.value; chart.src = `maps/110x50-y${year.value}.png`; });</script>""",
        parts=("y2019", "y2020", "y2023"),
        proofs=tuple(f"maps/110x50-y{at}.png" for at in range(2019, 2024)),
        acts=(
            Act("press", "#year", "ArrowRight"),
            Act("evaluate", "year.value = 2023; year.dispatchEvent(new Event('input'))"),
        ),
    ),
    Feature(
        "facets",
        "Facets are links that a script turns into a fetch and a new address.",
        """<aside><ul><li><a href="?genus=acer" class=facet>Acer (12)</a></li><li><a href="?genus=quercus" class=facet>Quercus (7)</a></li></ul></aside><main id=results></main><script>
async function load(query) { const html = await fetch(`results.html${query}`, {headers: {'X-Requested-With': 'XMLHttpRequest'}}).then(r => r.text()); results.innerHTML = html; }
document.addEventListener('click', event => { const link = event.target.closest('a.facet'); if (!link) return; event.preventDefault(); history.pushState({}, '', link.href); load(link.search); });
addEventListener('popstate', () => load(location.search || '?genus=all'));
load(location.search || '?genus=all');</script>""",
        parts=("all", "acer", "quercus"),
        proofs=("results.html\\?genus=acer", "results.html\\?genus=quercus", "112x20-acer.png", "112x20-quercus.png"),
        files={"results.html": lambda question: _fragment(f"<img src='112x20-{question.query.split('=')[1]}.png'>")},
        acts=(click("a.facet >> nth=0"), click("a.facet >> nth=1")),
    ),
    Feature(
        "custom-select",
        "A select of styled elements opens at mousedown, and takes an option at mouseup.",
        """<div class="select2 select2-container"><span class="select2-selection" role=combobox aria-haspopup=true aria-expanded=false tabindex=0 id=box style="border:1px solid;padding:4px 20px"><span class="select2-selection__rendered">2024</span></span></div><div id=report></div><script>
box.addEventListener('mousedown', event => {
  event.preventDefault();
  if (document.querySelector('.select2-dropdown')) return;
  box.ariaExpanded = true;
  document.body.insertAdjacentHTML('beforeend', '<span class="select2-dropdown" style="position:absolute;left:20px;top:260px"><ul role=listbox class="select2-results__options"><li role=option class="select2-results__option" aria-selected=true>2024</li><li role=option class="select2-results__option" aria-selected=false>2023</li></ul></span>');
  document.querySelector('.select2-dropdown').addEventListener('mouseup', async event => {
    const option = event.target.closest('li'); if (!option) return;
    document.querySelector('.select2-dropdown').remove(); box.ariaExpanded = false; box.firstChild.textContent = option.textContent;
    report.innerHTML = await fetch(`report/${option.textContent}`).then(r => r.text());
  });
});</script>""",
        parts=("old",),
        proofs=("report/2023", "114x20-old.png"),
        files={"report/2023": _fragment("<img src='114x20-old.png'>"), "report/2024": _fragment("now")},
        acts=(click("#box"), click("li >> nth=1")),
    ),
    Feature(
        "hover-card-video",
        "Cards play a short film after the mouse has stayed on them.",
        """<div class=grid><div class="video-card" data-preview="preview.js" style="width:240px;height:135px;background:#444"><img src="240x135-still.png"></div></div><script>
document.querySelectorAll('.video-card').forEach(card => { let timer; card.addEventListener('pointerenter', () => { timer = setTimeout(() => { const script = document.createElement('script'); script.src = card.dataset.preview; document.head.append(script); }, 600); }); card.addEventListener('pointerleave', () => clearTimeout(timer)); });</script>""",
        parts=("still", "playing"),
        proofs=("preview.js", "116x20-playing.png"),
        files={"preview.js": js("proof.add('116x20-playing.png')")},
        acts=(hover(".video-card"), Act("evaluate", "new Promise(done => setTimeout(done, 700))")),
    ),
    Feature(
        "track-list",
        "A player takes the track that is clicked, and its play button is a drawing.",
        """<div class=player><div class="play-btn" aria-label=Play role=button tabindex=0 id=play><svg width=24 height=24 viewBox="0 0 24 24"><path d="M6 4l14 8-14 8z"/></svg></div></div><ol class="tracklist" id=tracks><li data-cover="118x20-track1.png">Rain</li><li data-cover="118x21-track2.png">Wind</li><li data-cover="118x22-track3.png">Snow</li></ol><img id=cover><style>.tracklist li {cursor: pointer}</style><script>
play.addEventListener('click', () => { fetch('stream/intro.json').then(r => r.ok && proof.done('intro')); });
tracks.querySelectorAll('li').forEach(track => track.addEventListener('click', () => { tracks.querySelector('.playing')?.classList.remove('playing'); track.classList.add('playing'); cover.src = track.dataset.cover; }));</script>""",
        parts=("intro", "track1", "track2", "track3"),
        proofs=("stream/intro.json", "118x20-track1.png", "118x21-track2.png", "118x22-track3.png"),
        files={"stream/intro.json": data("{}")},
        acts=(click("#play"), *(click(f"#tracks li >> nth={at}") for at in range(3))),
    ),
    Feature(
        "chat-launcher",
        "A round button at the corner of the window, in a closed shadow tree, opens a help window.",
        """<help-launcher></help-launcher><script>
customElements.define('help-launcher', class extends HTMLElement {
  constructor() {
    super();
    const tree = this.attachShadow({mode: 'closed'});
    tree.innerHTML = '<style>.launcher {position: fixed; right: 20px; bottom: 20px; width: 60px; height: 60px; border-radius: 30px; background: #06c; cursor: pointer}</style><div class=launcher><svg width=30 height=30><circle cx=15 cy=15 r=10 fill=white /></svg></div><div class=window></div>';
    tree.querySelector('.launcher').addEventListener('click', () => { tree.querySelector('.window').innerHTML = '<iframe src="https://cdn.features.test/chat-launcher/help.html" style="position:fixed;right:20px;bottom:90px"></iframe>'; });
  }
});</script>""",
        parts=("help",),
        proofs=("help.html", "120x20-help.png"),
        files={"help.html": page("<img src='120x20-help.png' onload=\"parent.postMessage({part: 'help'}, '*')\">")},
        acts=(Act("evaluate", "new Promise(done => setTimeout(done, 100))"), Act("point", "", "-50,-50")),
    ),
    Feature(
        "spin-view",
        "A product is turned by dragging over it; its pictures are loaded as they are reached.",
        """<div id=spin style="width:300px;height:100px;background:#ccc;cursor:ew-resize;touch-action:none"><img id=frame draggable=false src="300x60-turn0.png"></div><script>
let from = null, at = 0;
spin.onmousedown = event => { from = event.clientX; event.preventDefault(); };
onmousemove = event => { if (from === null) return; const now = Math.abs(Math.trunc((event.clientX - from) / 20)) % 4; if (now !== at) { at = now; frame.src = `300x6${at}-turn${at}.png`; } };
onmouseup = () => { from = null; };</script>""",
        parts=("turn0", "turn1", "turn2", "turn3"),
        proofs=("300x60-turn0.png", "300x61-turn1.png", "300x62-turn2.png", "300x63-turn3.png"),
        acts=(Act("drag", "#spin", "-75"),),
    ),
    Feature(
        "see-more-comments",
        "Long comments are cut by a script, each with a link without an address that shows the rest.",
        """<div id=thread></div><script>
for (let at = 1; at <= 4; at++) {
  const comment = document.createElement('div');
  comment.className = 'comment-body';
  comment.innerHTML = `<p>The ${at}th comment begins so… <a class="see-more" style="cursor:pointer;color:#06c">See more</a></p>`;
  comment.querySelector('a').addEventListener('click', event => { event.stopPropagation(); comment.innerHTML = `<p>The whole comment <img src="122x2${at}-rest${at}.png"></p>`; });
  thread.append(comment);
}</script>""",
        parts=tuple(f"rest{at}" for at in range(1, 5)),
        proofs=tuple(f"122x2{at}-rest{at}.png" for at in range(1, 5)),
        acts=(click(".see-more >> nth=0"),) * 4,
    ),
)
