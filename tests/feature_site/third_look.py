"""Features of a third look at the web: what an expert would put into a benchmark of museums, libraries, news and shops."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import zipfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Final
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import padding
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from feature_site.feature import Act, Feature, Proof, Question, Raw, Reply, click, css, data, hover, js, page, png
from feature_site.media import MP4, WEBM, ranged
from feature_site.sockets import Read, Write, heard, upgrade
from feature_site.whole_pages import html, whole
from support.clients.websocket import frame

_NO_STORE: Final = ("Cache-Control", "no-store")


def _asked(question: Question) -> dict[str, str]:
    """Return the first value of each parameter of the query."""
    return {name: values[0] for name, values in parse_qs(question.query).items()}


def _period(question: Question) -> Reply:
    name = _asked(question)["period"]
    return html(f"<ul><li><img src='424x20-{name}.png' width='424' height='20'></li></ul>")


def _products(question: Question) -> Reply:
    asked = _asked(question)
    return data(json.dumps({"total": 4, "cover": f"prices/426x20-from{asked['min']}-to{asked['max']}.png"}))


def _cards(question: Question) -> Reply:
    asked = _asked(question)
    name = f"{asked['list']}-{asked['page']}"
    last = asked["page"] == "3"
    return data(json.dumps({"html": f"<div class=card><img src='429x20-{name}.png'></div>", "last": last}))


def _people(letter: str) -> Reply:
    return data(json.dumps([{"name": f"{letter}. Ash", "portrait": f"portraits/431x20-{letter}.png"}]))


def _quotes(question: Question) -> Reply:
    number = {"1d": 6, "1m": 10, "1y": 12, "5y": 20}[_asked(question)["range"]]
    return Reply("at,price\n" + "".join(f"{at},{at * 7 % 13}\n" for at in range(number)), "text/csv; charset=utf-8")


def _tile(question: Question) -> Reply:
    return Reply(png(question.path, (64, 64)), "image/png")


_INTERACTION: Final = (
    Feature(
        "bootstrap-modal",
        "Two buttons open one modal window, whose body is fetched for the button that was pressed.",
        whole(
            """<div class="row"><div class="card"><h5>Vase</h5><button type="button" class="btn btn-primary" data-bs-toggle="modal" data-bs-target="#object" data-bs-id="vase">View details</button></div><div class="card"><h5>Bowl</h5><button type="button" class="btn btn-primary" data-bs-toggle="modal" data-bs-target="#object" data-bs-id="bowl">View details</button></div></div>
<div class="modal fade" id="object" tabindex="-1" aria-labelledby="objectTitle" aria-hidden="true"><div class="modal-dialog modal-lg"><div class="modal-content"><div class="modal-header"><h5 class="modal-title" id="objectTitle">Object</h5><button type="button" class="btn-close" data-bs-dismiss="modal" aria-label="Close">×</button></div><div class="modal-body"></div></div></div></div><script>
const modal = document.getElementById('object'), show = on => { modal.classList.toggle('show', on); modal.setAttribute('aria-hidden', !on); document.body.style.overflow = on ? 'hidden' : ''; };
document.addEventListener('click', async e => { const opener = e.target.closest('[data-bs-toggle="modal"]');
  if (opener) { show(true); const body = modal.querySelector('.modal-body'); body.innerHTML = '<div class="spinner-border"></div>'; body.innerHTML = await (await fetch(`objects/${opener.dataset.bsId}.html`)).text(); }
  else if (e.target === modal || e.target.closest('[data-bs-dismiss="modal"]')) show(false); });</script>"""
        ),
        head="<style>.modal {display: none; position: fixed; inset: 0; background: #0008; z-index: 1055} .modal.show {display: block} .modal-dialog {margin: 60px auto; width: 600px; background: #fff; padding: 16px}</style>",
        parts=("vase", "bowl"),
        proofs=("objects/vase.html", "objects/bowl.html", "420x20-vase.png", "420x21-bowl.png"),
        files={
            "objects/vase.html": html("<figure><img src='420x20-vase.png'><figcaption>A vase</figcaption></figure>"),
            "objects/bowl.html": html("<figure><img src='420x21-bowl.png'><figcaption>A bowl</figcaption></figure>"),
        },
        acts=(click("[data-bs-id=vase]"), click(".btn-close"), click("[data-bs-id=bowl]")),
    ),
    Feature(
        "swiper-buttons",
        "A slider has a slide in the document only while it is shown, and divs with a role as its arrows.",
        whole(
            """<div class="swiper swiper-horizontal"><div class="swiper-wrapper" aria-live="polite"></div><div class="swiper-button-prev" tabindex="0" role="button" aria-label="Previous slide"></div><div class="swiper-button-next" tabindex="0" role="button" aria-label="Next slide"></div><div class="swiper-pagination swiper-pagination-fraction"></div></div><script>
const slides = ['421x20-loom.png', '421x21-wheel.png', '421x22-kiln.png', '421x23-forge.png', '421x24-mill.png'], q = s => document.querySelector(s); let at = 0;
const draw = () => { q('.swiper-wrapper').innerHTML = `<div class="swiper-slide swiper-slide-active" role="group" aria-label="${at + 1} / ${slides.length}" data-swiper-slide-index="${at}"><img src="${slides[at]}" alt=""></div>`; q('.swiper-pagination').textContent = `${at + 1} / ${slides.length}`;
  for (const [name, is] of [['prev', at === 0], ['next', at === slides.length - 1]]) { q('.swiper-button-' + name).classList.toggle('swiper-button-disabled', is); q('.swiper-button-' + name).setAttribute('aria-disabled', is); } };
const turn = by => { const to = at + by; if (to >= 0 && to < slides.length) { at = to; draw(); } };
q('.swiper-button-next').addEventListener('click', e => { e.preventDefault(); turn(1); }); q('.swiper-button-prev').addEventListener('click', e => { e.preventDefault(); turn(-1); }); draw();</script>"""
        ),
        head="<style>.swiper {position: relative; width: 500px; height: 60px; overflow: hidden} .swiper-button-prev, .swiper-button-next {position: absolute; top: 8px; width: 27px; height: 44px; cursor: pointer} .swiper-button-prev {left: 0} .swiper-button-next {right: 0} .swiper-button-prev::after {content: '‹'} .swiper-button-next::after {content: '›'} .swiper-button-disabled {opacity: .35; pointer-events: none}</style>",
        acts=(click(".swiper-button-next"),) * 4,
    ),
    Feature(
        "splide-thumbnails",
        "Thumbnails below a slider are list items with a role, and a click on one loads the large picture.",
        whole(
            """<section class="splide" aria-label="Pictures"><div class="splide__track"><ul class="splide__list" id="main-list"></ul></div></section><section class="splide splide--nav" aria-label="Thumbnails"><div class="splide__track"><ul class="splide__list" id="thumbs"></ul></div></section><script>
const big = ['422x40-front.png', '422x41-back.png', '422x42-detail.png', '422x43-signature.png'], main_ = document.getElementById('main-list'), thumbs = document.getElementById('thumbs');
main_.innerHTML = big.map((_, n) => `<li class="splide__slide" role="group" aria-roledescription="slide" aria-label="${n + 1} of 4"></li>`).join('');
thumbs.innerHTML = big.map((_, n) => `<li class="splide__slide" role="button" aria-label="Go to slide ${n + 1}"><img src="thumbs/60x40-t${n}.png" alt=""></li>`).join('');
const go = n => { [...main_.children].forEach((li, i) => { li.classList.toggle('is-active', i === n); if (i === n && !li.firstChild) { const s = new Image(); s.dataset.splideLazy = big[n]; s.src = big[n]; li.append(s); } }); [...thumbs.children].forEach((li, i) => i === n ? li.setAttribute('aria-current', 'true') : li.removeAttribute('aria-current')); };
thumbs.addEventListener('click', e => { const li = e.target.closest('li'); if (li) go([...thumbs.children].indexOf(li)); }); go(0);</script>"""
        ),
        head="<style>.splide__list {display: flex; list-style: none; padding: 0} #main-list .splide__slide {display: none} #main-list .is-active {display: block} .splide--nav .splide__slide {cursor: pointer; margin-right: 8px}</style>",
        parts=("front", "back", "detail", "signature"),
        proofs=("422x40-front.png", "422x41-back.png", "422x42-detail.png", "422x43-signature.png"),
        acts=tuple(click(f"#thumbs li >> nth={at}") for at in (1, 2, 3)),
    ),
    Feature(
        "combobox-options",
        "A field with a list has a button that fetches and shows all entries, and a chosen entry shows its collection.",
        whole(
            """<div class="combobox"><label id="cl" for="coll">Collection</label> <input id="coll" role="combobox" aria-expanded="false" aria-autocomplete="list" autocomplete="off"><button type="button" tabindex="-1" aria-haspopup="listbox" aria-label="Show all collections" id="all"><svg width="16" height="16" aria-hidden="true"><path d="M3 5l5 5 5-5" stroke="#000" fill="none"/></svg></button><div id="slot"></div></div><div id="out"></div><script>
const shut = () => { slot.innerHTML = ''; coll.setAttribute('aria-expanded', 'false'); };
all.addEventListener('click', async () => { if (slot.firstChild) return shut(); const list = await (await fetch('collections.json')).json(); slot.innerHTML = `<ul role="listbox" aria-labelledby="cl">${list.map((c, n) => `<li role="option" id="opt-${n}" aria-selected="false" tabindex="-1" data-key="${c.key}">${c.title}</li>`).join('')}</ul>`; coll.setAttribute('aria-expanded', 'true'); });
slot.addEventListener('click', e => { const li = e.target.closest('[role=option]'); if (!li) return; coll.value = li.textContent; out.innerHTML = `<img src="423x20-${li.dataset.key}.png">`; shut(); });</script>"""
        ),
        head="<style>[role=listbox] {border: 1px solid; list-style: none; padding: 4px; width: 240px} [role=option] {cursor: pointer; padding: 6px}</style>",
        parts=("maps", "prints"),
        proofs=("collections.json", "423x20-maps.png", "423x20-prints.png"),
        files={
            "collections.json": data('[{"key": "maps", "title": "Old maps"}, {"key": "prints", "title": "Prints"}]')
        },
        acts=(
            click("#all"),
            click("[role=option] >> nth=0"),
            click("#all"),
            click("[role=option] >> nth=1"),
        ),
    ),
    Feature(
        "filter-chips",
        "One of several chips is pressed at a time, and fetches the works of its period.",
        whole(
            """<div role="group" aria-label="Period" class="MuiToggleButtonGroup-root"><button type="button" class="MuiToggleButton-root" aria-pressed="false" value="roman">Roman</button><button type="button" class="MuiToggleButton-root" aria-pressed="false" value="gothic">Gothic</button><button type="button" class="MuiToggleButton-root" aria-pressed="false" value="baroque">Baroque</button></div><div id="works" aria-live="polite"></div><script>
document.querySelector('[role=group]').addEventListener('click', async e => { const b = e.target.closest('button'); if (!b || b.ariaPressed === 'true') return; for (const each of b.parentNode.children) each.ariaPressed = String(each === b); works.innerHTML = await (await fetch(`works?period=${b.value}&sort=relevance`)).text(); });</script>"""
        ),
        parts=("roman", "gothic", "baroque"),
        proofs=tuple(rf"works\?period={name}&sort=relevance" for name in ("roman", "gothic", "baroque"))
        + tuple(f"424x20-{name}.png" for name in ("roman", "gothic", "baroque")),
        files={"works": _period},
        acts=tuple(click(f"[value={name}]") for name in ("roman", "gothic", "baroque")),
    ),
    Feature(
        "hover-prefetch",
        "A script prefetches the document of a link when the mouse has rested on the link for a moment.",
        whole(
            """<p>Read the <a href="/hover-prefetch/guide/one.html">first part</a> or the <a href="/hover-prefetch/guide/two.html">second part</a> of the guide.</p><script>
const had = new Set(); let timer; document.addEventListener('mouseover', e => { const a = e.target.closest('#main a'); if (!a || had.has(a.href)) return; timer = setTimeout(() => { had.add(a.href); const l = document.createElement('link'); l.rel = 'prefetch'; l.href = a.href; l.fetchPriority = 'high'; l.onload = () => proof.done(/(\\w+)\\.html/.exec(l.href)[1]); document.head.append(l); }, 65); a.addEventListener('mouseout', () => clearTimeout(timer), {once: true}); }, {capture: true, passive: true});</script>"""
        ),
        parts=("one", "two"),
        proofs=("guide/one.html", "guide/two.html"),
        files={"guide/one.html": page("<h1>One</h1>"), "guide/two.html": page("<h1>Two</h1>")},
        acts=(hover("#main a >> nth=0"), hover("#main a >> nth=1")),
    ),
    Feature(
        "price-range",
        "Two sliders of three steps bound the price, and a change of either fetches the products after a moment.",
        whole(
            """<fieldset class="facet"><legend>Price</legend><label>From <input type="range" id="from" min="0" max="2" step="1" value="0" aria-label="Lowest price"></label><label>To <input type="range" id="to" min="0" max="2" step="1" value="2" aria-label="Highest price"></label><output id="said">Any price</output></fieldset><div id="list"></div><script>
const from_ = document.getElementById('from'), to_ = document.getElementById('to'); let timer; const names = ['€ 0', '€ 50', '€ 100'];
const ask = () => { clearTimeout(timer); if (+from_.value > +to_.value) to_.value = from_.value; said.textContent = `${names[from_.value]} – ${names[to_.value]}`; timer = setTimeout(async () => { const low = from_.value, high = to_.value, a = await (await fetch(`products?min=${low}&max=${high}`)).json(); const i = new Image(); i.onload = () => { if (low > 0) proof.done('from'); if (high < 2) proof.done('to'); }; i.src = a.cover; list.replaceChildren(i); }, 300); };
from_.addEventListener('input', ask); to_.addEventListener('input', ask);</script>"""
        ),
        parts=("from", "to"),
        proofs=(
            r"products\?min=[12]&max=\d",
            r"products\?min=\d&max=[01]",
            r"prices/426x20-from[12]-to\d.png",
            r"prices/426x20-from\d-to[01].png",
        ),
        files={"products": _products},
        acts=(Act("press", "#from", "ArrowRight"), Act("press", "#to", "ArrowLeft")),
    ),
    Feature(
        "anchored-popover",
        "A menu is anchored to its button by styles, and an entry opens a second popover beside the first.",
        whole(
            """<button type="button" popovertarget="menu" class="trigger" style="anchor-name: --trigger">Departments</button><div id="menu" popover style="position-anchor: --trigger"><img loading="lazy" src="427x20-departments.png" width="427" height="20" alt=""><button type="button" popovertarget="sub" style="anchor-name: --entry">Textiles</button><div id="sub" popover style="position-anchor: --entry"><img loading="lazy" src="427x21-textiles.png" width="427" height="21" alt=""></div></div>"""
        ),
        head="<style>[popover] {inset: auto; margin: 0; position-area: bottom span-right; position-try-fallbacks: flip-block, flip-inline} #sub {position-area: right span-bottom}</style>",
        acts=(click(".trigger"), click("[popovertarget=sub]")),
    ),
    Feature(
        "sensitive-media",
        "A post of a network hides its picture behind a warning, and another its text and picture behind a button.",
        whole(
            """<article class="status"><p>A find.</p><div class="media-gallery"><div class="media-gallery__preview" style="background: linear-gradient(#864, #321); height: 120px; width: 428px"></div><div class="spoiler-button"><button type="button" class="spoiler-button__overlay"><span class="spoiler-button__overlay__label">Sensitive content<br><small>Click to show</small></span></button></div></div></article><article class="status"><p>CW: spiders</p><button type="button" class="content-warning" aria-expanded="false">Show more</button><div class="status__content"></div></article><script>
document.querySelector('.spoiler-button__overlay').onclick = e => { const g = e.currentTarget.closest('.media-gallery'); g.innerHTML = '<a class="media-gallery__item-thumbnail" href="428x20-find.png" target="_blank"><img src="428x20-find.png" alt=""></a>'; };
document.querySelector('.content-warning').onclick = e => { const open = e.target.ariaExpanded !== 'true'; e.target.ariaExpanded = String(open); e.target.textContent = open ? 'Show less' : 'Show more'; document.querySelector('.status__content').innerHTML = open ? '<p>Look!</p><img src="428x21-spider.png" alt="">' : ''; };</script>"""
        ),
        head="<style>.media-gallery {position: relative} .spoiler-button__overlay {position: absolute; inset: 20px; width: 200px}</style>",
        parts=("find", "spider"),
        proofs=("428x20-find.png", "428x21-spider.png"),
        acts=(click(".spoiler-button__overlay"), click(".content-warning")),
    ),
    Feature(
        "board-columns",
        "Three columns of a board scroll by themselves, and each fetches its next cards at its end.",
        whole(
            """<div class="board"></div><script>
for (const list of ['todo', 'doing', 'done']) { const column = document.createElement('div'); column.className = 'column'; column.innerHTML = `<h3>${list}</h3><div class="cards"></div><div class="end" style="height:1px"></div>`; document.querySelector('.board').append(column); let at = 0, busy = false;
  const more = async () => { if (busy) return; busy = true; const a = await (await fetch(`cards?list=${list}&page=${++at}`)).json(); column.querySelector('.cards').insertAdjacentHTML('beforeend', a.html); busy = false; if (a.last) watcher.disconnect(); else { watcher.unobserve(column.lastChild); watcher.observe(column.lastChild); } };
  const watcher = new IntersectionObserver(es => es.some(e => e.isIntersecting) && more(), {root: column, rootMargin: '40px'}); watcher.observe(column.lastChild); }</script>"""
        ),
        head="<style>.board {display: flex; gap: 12px} .column {height: 300px; width: 260px; overflow-y: auto; border: 1px solid #ccc} .card {height: 420px; overflow: hidden}</style>",
        parts=tuple(f"{name}-{at}" for name in ("todo", "doing", "done") for at in (1, 2, 3)),
        proofs=tuple(
            pattern
            for name in ("todo", "doing", "done")
            for at in (1, 2, 3)
            for pattern in (rf"cards\?list={name}&page={at}", f"429x20-{name}-{at}.png")
        ),
        files={"cards": _cards},
        acts=(
            Act(
                "evaluate",
                "(async () => { for (const c of document.querySelectorAll('.column')) for (let n = 0; n < 5; n++) { c.scrollTo(0, c.scrollHeight); await new Promise(done => setTimeout(done, 200)); } })()",
            ),
        ),
    ),
    Feature(
        "archive-selects",
        "Two selects choose the year and the month of a newspaper, and a button beside them fetches the issue.",
        whole(
            """<div class="archive-nav"><select id="year" aria-label="Year"><option>1912</option><option>1913</option></select> <select id="month" aria-label="Month"><option value="04">April</option><option value="05">May</option></select> <button type="button" id="go">Go</button></div><div id="issue"></div><script>
go.onclick = async () => { const a = await (await fetch(`issues/${year.value}/${month.value}.json`)).json(); issue.innerHTML = `<h2>${year.value}-${month.value}</h2><img src="${a.front}">`; };</script>"""
        ),
        parts=("y1913-m04",),
        proofs=("issues/1913/04.json", "430x20-y1913-m04.png"),
        files={
            f"issues/{year}/{month}.json": data(f'{{"front": "430x20-y{year}-m{month}.png"}}')
            for year in (1912, 1913)
            for month in ("04", "05")
        },
        acts=(Act("select", "#year", "1913"), click("#go")),
    ),
    Feature(
        "letter-index",
        "The letters of an index fetch the persons whose names begin with them, and some letters have no persons.",
        whole(
            """<nav class="az" aria-label="Browse by letter"><ul></ul></nav><ol id="persons"></ol><script>
const have = 'ACF'; document.querySelector('.az ul').innerHTML = [...'ABCDEF'].map(l => `<li><button type="button" data-letter="${l}" ${have.includes(l) ? '' : 'disabled'}>${l}</button></li>`).join('');
const list = async l => { const found = await (await fetch(`people/${l}.json`)).json(); persons.innerHTML = found.map(p => `<li>${p.name} <img src="${p.portrait}"></li>`).join(''); };
document.querySelector('.az').addEventListener('click', e => { const b = e.target.closest('[data-letter]'); if (b) list(b.dataset.letter); }); list('A');</script>"""
        ),
        head="<style>.az ul {display: flex; list-style: none; padding: 0}</style>",
        parts=("A", "C", "F"),
        proofs=tuple(f"people/{name}.json" for name in "ACF") + tuple(f"portraits/431x20-{name}.png" for name in "ACF"),
        files={f"people/{letter}.json": _people(letter) for letter in "ACF"},
        acts=(click("[data-letter=C]"), click("[data-letter=F]")),
    ),
    Feature(
        "layer-switcher",
        "A map has a button that unfolds under the mouse, with a choice of base maps and a box for railways.",
        whole(
            """<div class="map leaflet-container" tabindex="0"><div class="leaflet-tile-pane"></div><div class="leaflet-top leaflet-right"><div class="leaflet-control-layers leaflet-control" aria-haspopup="true"><a class="leaflet-control-layers-toggle" href="#" title="Layers" role="button"></a><section class="leaflet-control-layers-list"><div class="leaflet-control-layers-base"><label><span><input type="radio" class="leaflet-control-layers-selector" name="leaflet-base-layers_1" value="streets" checked><span> Streets</span></span></label><label><span><input type="radio" class="leaflet-control-layers-selector" name="leaflet-base-layers_1" value="relief"><span> Relief</span></span></label></div><div class="leaflet-control-layers-overlays"><label><span><input type="checkbox" class="leaflet-control-layers-selector" value="railways"><span> Railways</span></span></label></div></section></div></div></div><script>
const q = s => document.querySelector(s), pane = q('.leaflet-tile-pane'), control = q('.leaflet-control-layers');
const put = name => { const layer = document.createElement('div'); layer.dataset.layer = name; let left = 4; for (const x of [4, 5]) for (const y of [2, 3]) { const t = new Image(); t.className = 'leaflet-tile'; t.style.cssText = `position:absolute;left:${(x - 4) * 64}px;top:${(y - 2) * 64}px`; t.onload = () => --left || proof.done(name); t.src = `tiles/${name}/3/${x}/${y}.png`; layer.append(t); } pane.append(layer); };
const drop = name => q(`[data-layer=${name}]`)?.remove(); const open_ = on => control.classList.toggle('leaflet-control-layers-expanded', on);
control.addEventListener('mouseenter', () => open_(true)); control.addEventListener('mouseleave', () => open_(false)); q('.leaflet-control-layers-toggle').addEventListener('click', e => { e.preventDefault(); open_(true); });
control.addEventListener('change', e => { const i = e.target; if (i.type === 'radio') { drop('streets'); drop('relief'); put(i.value); } else i.checked ? put(i.value) : drop(i.value); }); put('streets');</script>"""
        ),
        head="<style>.map {position: relative; width: 500px; height: 300px; background: #ddd; overflow: hidden} .leaflet-control-layers {position: absolute; top: 10px; right: 10px; background: #fff; z-index: 2} .leaflet-control-layers-toggle {display: block; width: 36px; height: 36px; background: #9bd} .leaflet-control-layers-list {display: none; padding: 6px} .leaflet-control-layers-expanded .leaflet-control-layers-toggle {display: none} .leaflet-control-layers-expanded .leaflet-control-layers-list {display: block}</style>",
        parts=("streets", "relief", "railways"),
        proofs=tuple(Proof(rf"tiles/{name}/3/\d/\d.png", 4) for name in ("streets", "relief", "railways")),
        files={"tiles/*": _tile},
        acts=(hover(".leaflet-control-layers"), click("[value=relief]"), click("[value=railways]")),
    ),
    Feature(
        "endless-then-more",
        "A list grows by itself three times, and then has a button for each further page.",
        whole(
            """<div id="list"></div><div id="end" style="height:40px"></div><script>
let at = 0, busy = false; const sight = new IntersectionObserver(es => es[0].isIntersecting && more());
const more = async () => { if (busy) return; busy = true; sight.unobserve(end); list.insertAdjacentHTML('beforeend', await (await fetch(`list/${++at}.html`)).text()); busy = false;
  if (at < 3) sight.observe(end); else if (at < 5) end.innerHTML = '<button type="button" class="more">Show more results</button>'; else end.innerHTML = 'No more results'; };
end.addEventListener('click', e => { if (e.target.closest('.more')) more(); }); sight.observe(end);</script>"""
        ),
        parts=tuple(f"page{at}" for at in range(1, 6)),
        proofs=tuple(f"list/{at}.html" for at in range(1, 6)) + tuple(f"433x2{at}-page{at}.png" for at in range(1, 6)),
        files={
            f"list/{at}.html": html(f"<div style='height:1300px'><img src='433x2{at}-page{at}.png'></div>")
            for at in range(1, 6)
        },
        acts=(
            Act(
                "evaluate",
                "(async () => { for (let n = 0; n < 12; n++) { scrollTo(0, document.body.scrollHeight); await new Promise(done => setTimeout(done, 150)); } })()",
            ),
            click(".more"),
            click(".more"),
        ),
    ),
    Feature(
        "until-found",
        "Sections of an answer are hidden until they are found or unfolded, and hold lazy pictures.",
        whole(
            """<div class="faq"><h3><button type="button" aria-expanded="false" aria-controls="s1">Opening hours</button></h3><div id="s1" hidden="until-found"><p>From nine to five.</p><img loading="lazy" src="434x20-hours.png" width="434" height="20"></div><h3><button type="button" aria-expanded="false" aria-controls="s2">How to get here</button></h3><div id="s2" hidden="until-found"><p>By tram.</p><img loading="lazy" src="434x21-tram.png" width="434" height="21"></div></div><script>
for (const b of document.querySelectorAll('.faq button')) { const s = document.getElementById(b.getAttribute('aria-controls')), set = open => { b.ariaExpanded = String(open); if (open) s.removeAttribute('hidden'); else s.setAttribute('hidden', 'until-found'); }; b.addEventListener('click', () => set(b.ariaExpanded !== 'true')); s.addEventListener('beforematch', () => set(true)); }</script>"""
        ),
        acts=(click("[aria-controls=s1]"), click("[aria-controls=s2]")),
    ),
    Feature(
        "slotted-tabs",
        "The tabs and panels of a web component stand in its slots, and its shadow tree listens to clicks on them.",
        whole(
            """<x-tab-group><x-tab slot="nav" panel="photo">Photo</x-tab><x-tab slot="nav" panel="scan">Scan</x-tab><x-tab slot="nav" panel="x-ray">X-ray</x-tab><x-tab-panel name="photo"><img loading="lazy" src="435x20-photo.png" width="435" height="20"></x-tab-panel><x-tab-panel name="scan"><img loading="lazy" src="435x21-scan.png" width="435" height="21"></x-tab-panel><x-tab-panel name="x-ray"><img loading="lazy" src="435x22-x-ray.png" width="435" height="22"></x-tab-panel></x-tab-group><script>
customElements.define('x-tab', class extends HTMLElement { connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<style>div {padding: 10px; cursor: pointer}</style><div part="base" class="tab"><slot></slot></div>'; this.setAttribute('role', 'tab'); } });
customElements.define('x-tab-panel', class extends HTMLElement { connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<style>:host {display: none} :host([active]) {display: block}</style><slot part="base"></slot>'; this.setAttribute('role', 'tabpanel'); } });
customElements.define('x-tab-group', class extends HTMLElement { connectedCallback() { const root = this.attachShadow({mode: 'open'}); root.innerHTML = '<style>.nav {display: flex}</style><div part="base"><div class="nav" role="tablist"><slot name="nav"></slot></div><slot></slot></div>';
  const show = name => { for (const p of this.querySelectorAll('x-tab-panel')) p.toggleAttribute('active', p.getAttribute('name') === name); for (const t of this.querySelectorAll('x-tab')) t.setAttribute('aria-selected', t.getAttribute('panel') === name); };
  root.firstElementChild.nextElementSibling.addEventListener('click', e => { const t = e.target.closest('x-tab'); if (t && t.closest('x-tab-group') === this) show(t.getAttribute('panel')); }); show('photo'); } });</script>"""
        ),
        parts=("photo", "scan", "x-ray"),
        proofs=("435x20-photo.png", "435x21-scan.png", "435x22-x-ray.png"),
        acts=(click("[panel=scan]"), click("[panel=x-ray]")),
    ),
    Feature(
        "chart-ranges",
        "The curve of a price is drawn from comma-separated values, which are fetched for the span that is chosen.",
        whole(
            """<div role="radiogroup" aria-label="Span" class="ranges"><button type="button" role="radio" aria-checked="true" data-range="1d">1D</button><button type="button" role="radio" aria-checked="false" data-range="1m">1M</button><button type="button" role="radio" aria-checked="false" data-range="1y">1Y</button><button type="button" role="radio" aria-checked="false" data-range="5y">5Y</button></div><svg id="chart" width="400" height="120" viewBox="0 0 400 120"></svg><script>
const size = {'1d': 6, '1m': 10, '1y': 12, '5y': 20}; const draw = async range => { const rows = (await (await fetch(`quotes.csv?symbol=LEAF&range=${range}`)).text()).trim().split('\\n').slice(1).map(r => r.split(',').map(Number)); chart.innerHTML = `<polyline fill="none" stroke="#06c" points="${rows.map(([x, y]) => `${x * 400 / rows.length},${110 - y * 8}`).join(' ')}"/>`; if (rows.length === size[range]) proof.done('span' + range); };
document.querySelector('.ranges').onclick = e => { const b = e.target.closest('[data-range]'); if (!b) return; for (const each of b.parentNode.children) each.ariaChecked = String(each === b); draw(b.dataset.range); }; draw('1d');</script>"""
        ),
        parts=("span1d", "span1m", "span1y", "span5y"),
        proofs=tuple(rf"quotes.csv\?symbol=LEAF&range={name}" for name in ("1d", "1m", "1y", "5y")),
        files={"quotes.csv": _quotes},
        acts=tuple(click(f"[data-range='{name}']") for name in ("1m", "1y", "5y")),
    ),
    Feature(
        "cite-dialog",
        "A library's record has a button that opens a dialog, whose tabs fetch the citation in three forms.",
        whole(
            """<article class="record"><h2>A history of leaves</h2><button type="button" class="cite"><i class="fa fa-quote-right" aria-hidden="true"></i> Cite</button></article><dialog id="cite" aria-label="Cite this"><div role="tablist"><button role="tab" type="button" data-style="apa" aria-selected="true">APA</button><button role="tab" type="button" data-style="bibtex" aria-selected="false">BibTeX</button><button role="tab" type="button" data-style="ris" aria-selected="false">RIS</button></div><pre role="tabpanel"></pre><form method="dialog"><button>Close</button></form></dialog><script>
const box = document.querySelector('dialog'); const load_ = async style => { for (const t of box.querySelectorAll('[role=tab]')) t.ariaSelected = String(t.dataset.style === style); const text = await (await fetch(`record/4711/cite?style=${style}`)).text(); box.querySelector('pre').textContent = text; if (text.startsWith('style:' + style)) proof.done(style); };
document.querySelector('.cite').onclick = () => { box.showModal(); load_('apa'); }; box.querySelector('[role=tablist]').onclick = e => { const t = e.target.closest('[role=tab]'); if (t) load_(t.dataset.style); };</script>"""
        ),
        parts=("apa", "bibtex", "ris"),
        proofs=tuple(rf"record/4711/cite\?style={name}" for name in ("apa", "bibtex", "ris")),
        files={"record/4711/cite": lambda question: Reply(f"style:{_asked(question)['style']} A history of leaves")},
        acts=(click(".cite"), click("[data-style=bibtex]"), click("[data-style=ris]")),
    ),
    Feature(
        "folio-number",
        "A reader of manuscripts has a field for the number of the leaf, whose small arrows turn the leaves.",
        whole(
            """<div class="viewer"><label>Leaf <input type="number" id="leaf" min="1" max="3" value="1"></label> of 3<div id="view"></div></div><script>
const turn = () => { const n = Math.min(3, Math.max(1, leaf.valueAsNumber || 1)); view.innerHTML = `<img src="leaves/438x2${n}-leaf${n}.png">`; }; leaf.addEventListener('change', turn); turn();</script>"""
        ),
        parts=("leaf1", "leaf2", "leaf3"),
        proofs=tuple(f"leaves/438x2{at}-leaf{at}.png" for at in (1, 2, 3)),
        acts=(Act("press", "#leaf", "ArrowUp"), Act("press", "#leaf", "ArrowUp")),
    ),
    Feature(
        "institution-gate",
        "A university's database offers a login for members, and a button for guests behind which the records are.",
        """<div id="root"><div class="login-chooser"><h2>How would you like to continue?</h2><a class="button primary" href="https://elsewhere.test/institution-gate/saml/login?target=records">Log in with your institution</a><button type="button" class="button link">Continue as guest</button></div></div><script>
document.querySelector('.link').addEventListener('click', async () => { const records = await (await fetch('api/records?role=guest')).json(); document.getElementById('root').innerHTML = `<ul>${records.map(r => `<li style="height:900px">${r.title}<br><img loading="lazy" src="${r.cover}" width="439" height="20"></li>`).join('')}</ul>`; });</script>""",
        parts=("atlas", "herbal", "almanac"),
        proofs=(
            r"api/records\?role=guest",
            "covers/439x20-atlas.png",
            "covers/439x20-herbal.png",
            "covers/439x20-almanac.png",
        ),
        files={
            "api/records": data(
                json.dumps(
                    [{"title": name, "cover": f"covers/439x20-{name}.png"} for name in ("atlas", "herbal", "almanac")]
                )
            )
        },
        acts=(click(".link"),),
    ),
    Feature(
        "consent-portuguese",
        "A Portuguese bar asks for consent before a page that can't be scrolled yet.",
        whole(
            """<div style="height:2600px">Notícias</div><img loading="lazy" src="440x20-reportagem.png" width="440" height="20"><div class="backdrop"></div><div class="cookie-bar" role="region" aria-label="Cookies"><p>Utilizamos cookies e tecnologias semelhantes para melhorar a sua experiência.</p><div class="cookie-actions"><button type="button" class="outline">Definições de cookies</button><button type="button" class="outline">Rejeitar</button><button type="button" class="solid">Aceitar todos</button></div></div><script>
document.documentElement.style.overflow = 'hidden'; const [more, no, yes] = document.querySelectorAll('.cookie-actions button'); const end = answer => { document.cookie = `consentimento=${answer}; path=/; max-age=31536000`; document.querySelector('.cookie-bar').remove(); document.querySelector('.backdrop').remove(); document.documentElement.style.overflow = ''; }; more.onclick = () => { document.querySelector('.cookie-bar p').textContent += ' Necessários, Estatísticas, Marketing.'; }; no.onclick = () => end('nao'); yes.onclick = () => end('sim');</script>"""
        ),
        head="<style>.backdrop {position: fixed; inset: 0; background: #0006; z-index: 900} .cookie-bar {position: fixed; inset: auto 0 0; background: #fff; padding: 16px; z-index: 901}</style>",
        acts=(click(".solid"),),
    ),
    Feature(
        "cultural-notice",
        "A museum warns of names and images of people who have died, and shows its catalogue to those who go on.",
        whole(
            """<div id="catalogue"></div><div class="notice" role="alertdialog" aria-modal="true" aria-labelledby="nh"><h2 id="nh">Cultural notice</h2><p>This catalogue contains names, images and voices of people who have died.</p><button type="button" class="leave">Take me back</button> <button type="button" class="enter">I understand</button></div><script>
const fill = () => { document.querySelector('.notice').remove(); catalogue.innerHTML = '<p>Objects</p><img src="441x20-basket.png"><div style="height:2000px"></div><img loading="lazy" src="441x21-cloak.png" width="441" height="21">'; }; document.querySelector('.enter').onclick = () => { sessionStorage.setItem('notice', 'seen'); fill(); }; document.querySelector('.leave').onclick = () => { location.href = 'https://elsewhere.test/cultural-notice/home'; }; if (sessionStorage.getItem('notice')) fill();</script>"""
        ),
        head="<style>.notice {position: fixed; inset: 0; background: #fffffff2; padding: 120px; z-index: 50}</style>",
        acts=(click(".enter"),),
    ),
    Feature(
        "snap-event",
        "A rail tells which card it has snapped to, and the details of that card are fetched.",
        whole(
            """<div class="rail" tabindex="0"></div><button type="button" aria-label="Next" class="next">→</button><div id="details"></div><script>
const rail = document.querySelector('.rail'); rail.innerHTML = ['oak', 'ash', 'elm', 'yew'].map(n => `<section class="card" data-name="${n}">${n}</section>`).join('');
const detail = n => { details.innerHTML = `<img src="details/442x20-${n}.png">`; }; rail.addEventListener('scrollsnapchange', e => detail(e.snapTargetInline.dataset.name)); document.querySelector('.next').onclick = () => rail.scrollBy({left: rail.clientWidth, behavior: 'smooth'}); detail('oak');</script>"""
        ),
        head="<style>.rail {display: flex; width: 400px; overflow-x: auto; scroll-snap-type: x mandatory} .card {flex: 0 0 400px; height: 100px; scroll-snap-align: center; background: #dec}</style>",
        parts=("oak", "ash", "elm", "yew"),
        proofs=tuple(f"details/442x20-{name}.png" for name in ("oak", "ash", "elm", "yew")),
        acts=(click(".next"),) * 3,
    ),
)


def _with_action(feature: Feature) -> Feature:
    """Let the page answer posts to its own address with parts of a component, as server actions do."""

    def answer(question: Question) -> Reply:
        if question.method != "POST":
            return Reply(feature.text(), "text/html; charset=utf-8")
        if len(question.headers.get("next-action", "")) != 40:
            return Reply("Server action not found.", status=404)
        at = json.loads(question.body)[0]
        items = json.dumps({"picture": f"443x2{at}-older{at}.png", "next": at + 1})
        return Reply(f'0:{{"a":"$@1","f":"","b":"k9"}}\n1:{items}\n', "text/x-component", headers=(_NO_STORE,))

    return replace(feature, page=answer)


def _flattened(name: str, height: int) -> Reply:
    """Return the data of a route in the flattened form of a router."""
    said = [{"_1": 2}, f"routes/{name}", {"_3": 4}, "data", {"_5": 6, "_7": 8}, "title", name, "cover"]
    return Reply(json.dumps([*said, f"/single-fetch/444x{height}-{name}.png"]), "text/x-script; charset=utf-8")


def _swapped(name: str) -> Reply:
    return html(
        f"<!doctype html><html><head><title>{name}</title></head><body><header>The Leaf</header><main><h2>{name}</h2>"
        f"<script>proof.add('/swap-document/445x20-{name}.png', document.querySelector('main'))</script></main></body></html>"
    )


def _book() -> bytes:
    """Return an electronic book with two chapters, each with a picture."""
    packed = io.BytesIO()
    files: dict[str, str | bytes] = {
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles><rootfile full-path="OEBPS/content.opf"/></rootfiles></container>',
        "OEBPS/content.opf": '<package xmlns="http://www.idpf.org/2007/opf"><manifest><item id="c1" href="c1.xhtml"/><item id="c2" href="c2.xhtml"/></manifest><spine><itemref idref="c1"/><itemref idref="c2"/></spine></package>',
        "OEBPS/c1.xhtml": '<html xmlns="http://www.w3.org/1999/xhtml"><body><img src="one.png" alt=""/></body></html>',
        "OEBPS/c2.xhtml": '<html xmlns="http://www.w3.org/1999/xhtml"><body><img src="two.png" alt=""/></body></html>',
        "OEBPS/one.png": png("epub-reader/one", (446, 20)),
        "OEBPS/two.png": png("epub-reader/two", (446, 21)),
    }
    with zipfile.ZipFile(packed, "w") as book:
        for name, body in files.items():
            book.writestr(zipfile.ZipInfo(name), body, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _iiif(question: Question) -> Reply:
    """Answer the document of an image, and its sizes."""
    name = question.path.split("/")[2]
    if question.path.endswith("info.json"):
        sizes = [{"width": width, "height": width // 10} for width in (112, 224, 447, 894)]
        about = {"@context": "http://iiif.io/api/image/2/context.json", "@id": f"iiif/2/{name}", "sizes": sizes}
        return Reply(json.dumps(about), "application/ld+json")
    size = question.path.split("/")[-3].rstrip(",")
    return Reply(png(question.path, (int(size), 44)), "image/png")


_ATLAS: Final = b'"448x20-first.png"'.ljust(200) + b'"448x21-second.png"'.ljust(200)


def _two_ranges(question: Question) -> Reply:
    """Answer several ranges in one multipart body."""
    wanted = question.headers.get("range", "").removeprefix("bytes=")
    if "," not in wanted:
        return Reply(_ATLAS, "application/octet-stream", headers=(("Accept-Ranges", "bytes"),))
    body = b""
    for each in wanted.split(","):
        first, last = (int(part) for part in each.strip().split("-"))
        head = f"\r\n--leafcut\r\nContent-Type: application/octet-stream\r\nContent-Range: bytes {first}-{last}/{len(_ATLAS)}\r\n\r\n"
        body += head.encode() + _ATLAS[first : last + 1]
    return Reply(body + b"\r\n--leafcut--\r\n", "multipart/byteranges; boundary=leafcut", 206)


def _wms(question: Question) -> Reply:
    asked = _asked(question)
    if asked["REQUEST"] == "GetCapabilities":
        return Reply(
            '<?xml version="1.0"?><WMS_Capabilities version="1.3.0"><Capability><Layer><Layer><Name>soils</Name></Layer><Layer><Name>rivers</Name></Layer></Layer></Capability></WMS_Capabilities>',
            "text/xml",
        )
    return Reply(png(question.query, (int(asked["WIDTH"]), int(asked["HEIGHT"]))), "image/png")


def _records(question: Question) -> Reply:
    """Answer a harvest of records, page by page, each with the token of the next."""
    token = _asked(question).get("resumptionToken", "")
    at = int(token.rpartition("!")[2]) if token else 1
    following = f"<resumptionToken cursor='{at}'>oai_dc/2026!{at + 1}</resumptionToken>" if at < 3 else ""
    return Reply(
        f"<?xml version='1.0'?><OAI-PMH xmlns='http://www.openarchives.org/OAI/2.0/'><ListRecords><record><identifier>451x2{at}-record{at}.png</identifier></record>{following}</ListRecords></OAI-PMH>",
        "text/xml; charset=utf-8",
    )


def _queries(question: Question) -> Reply:
    """Answer the queries of a search service, whose parameters are a text within JSON."""
    asked = parse_qs(json.loads(question.body)["requests"][0]["params"])
    kind = json.loads(asked["facetFilters"][0])[0][0].partition(":")[2] if "facetFilters" in asked else "all"
    hit = {"objectID": kind, "image": f"/instant-search/452x20-{kind}.png"}
    return data(json.dumps({"results": [{"hits": [hit], "facets": {"type": {"painting": 3, "sculpture": 2}}}]}))


async def _mqtt(question: Question, write: Write, read: Read) -> None:
    """Answer a connection and a subscription of MQTT, and publish two messages."""
    await upgrade(question, write, b"Sec-WebSocket-Protocol: mqtt")
    while True:
        kind, packet = await heard(read)
        if kind == 8:
            return
        if packet[:1] == b"\x10":
            await write(frame(2, b"\x20\x02\x00\x00"))
        elif packet[:1] == b"\x82":
            await write(frame(2, b"\x90\x03" + packet[2:4] + b"\x00"))
            for at in (1, 2):
                body = b"\x00\x05tides" + f"453x2{at}-tide{at}.png".encode()
                await write(frame(2, bytes((0x30, len(body))) + body))


_BUNDLE: Final = json.dumps(
    {"files": {"inside.png": base64.b64encode(png("worker-virtual/inside", (454, 20))).decode()}}
)
_PART_MODULE: Final = "export const names = ['455x20-bound.png', '455x21-checked.png'];"
_MAIN_MODULE: Final = "import {names} from 'names'; names.forEach(name => proof.add(name));"


def _integrity(text: str) -> str:
    return "sha384-" + base64.b64encode(hashlib.sha384(text.encode()).digest()).decode()


def _sent(question: Question) -> Reply:
    """Redirect a post by the status in its path; what is fetched at last names its method and its body."""
    number = question.path.rpartition("/")[2]
    target = {
        "307": "https://cdn.features.test/redirect-post/arrived",
        "308": "/redirect-post/arrived",
        "303": "result?id=17",
    }
    return Reply(status=int(number), headers=(("Location", target[number]),))


def _located(question: Question) -> Reply:
    places = {
        "deep/er/up": "../../457x20-up.png",
        "deep/er/query": "?n=2",
        "deep/er/host": "//cdn.features.test/odd-locations/457x22-host.png",
        "deep/er/capitals": "HTTPS://CDN.Features.Test/odd-locations/457x23-capitals.png",
        "deep/er/letters": "/odd-locations/457x24-caf\u00c3\u00a9.png",
    }
    if question.path.endswith("query") and question.query:
        return Reply(png("odd-locations/query", (457, 21)), "image/png")
    return Reply(status=302, headers=(("Location", places[question.path]),))


def _items(question: Question) -> Reply:
    """Answer a page of a list, whose neighbours are links in the head."""
    at = int(_asked(question).get("page", "1"))
    base = "https://www.features.test/link-paging/api/items?per_page=1&page="
    links = [f'<{base}1>; rel="first"', f'<{base}4>; rel="last"']
    if at < 4:
        links.insert(0, f'<{base}{at + 1}>; rel="next"')
    return data(json.dumps([{"src": f"458x2{at}-item{at}.png"}]), ("Link", ", ".join(links)), ("X-Total-Count", "4"))


def _old(head: bytes, body: bytes) -> Raw:
    """Return a file whose response has no length, and ends with the connection."""

    async def write(
        question: Question, send: Callable[[bytes], Awaitable[None]], read: Callable[[int], Awaitable[bytes]]
    ) -> None:
        await send(head)
        await send(body)

    return Raw(write)


def _chunk(question: Question) -> Reply:
    """Fail at the first time, as a busy network does."""
    if not question.query:
        return Reply("upstream connect error", status=503)
    return js("export const show = () => proof.add('461x20-again.png');")


_NEXT_DATA: Final = json.dumps(
    {
        "props": {
            "pageProps": {
                "works": [
                    {"id": at, "image": {"url": f"/hydration-data/462x2{at}-{name}.png"}}
                    for at, name in enumerate(("harbour", "meadow", "street"))
                ]
            }
        },
        "page": "/works",
        "buildId": "t4Xq",
    }
).replace("/", "\\u002F")

_NETWORK: Final = (
    _with_action(
        Feature(
            "server-action",
            "A button posts an action with its hash to the address of the page itself, which answers with parts of a component.",
            """<ol id="list"></ol><form><input type="hidden" name="$ACTION_ID_40c9"><button type="submit" id="more">Load older</button></form><script>
let at = 1; document.querySelector('form').addEventListener('submit', async e => { e.preventDefault(); const r = await fetch(location.pathname, {method: 'POST', headers: {accept: 'text/x-component', 'content-type': 'text/plain;charset=UTF-8', 'next-action': '40c9'.padEnd(40, 'f'), 'next-router-state-tree': encodeURIComponent('["",{"children":["__PAGE__",{}]}]')}, body: JSON.stringify([at])}); const rows = (await r.text()).trim().split('\\n'); const said = JSON.parse(rows[1].slice(2)); at = said.next; list.insertAdjacentHTML('beforeend', `<li><img src="${said.picture}"></li>`); if (at > 2) document.getElementById('more').remove(); });</script>""",
            parts=("older1", "older2"),
            proofs=("443x21-older1.png", "443x22-older2.png"),
            acts=(click("#more"), click("#more")),
        )
    ),
    Feature(
        "single-fetch",
        "A router fetches the data of a route in a flattened form, whose keys and values are numbers of places.",
        """<div id="app"><nav><a href="/single-fetch/works" data-discover="true">Works</a> <a href="/single-fetch/visit" data-discover="true">Visit</a></nav><div id="outlet"><h2>Home</h2></div></div><script>
const revive = flat => { const at = n => { const v = flat[n]; return v && typeof v === 'object' ? Object.fromEntries(Object.entries(v).map(([k, i]) => [flat[+k.slice(1)], at(i)])) : v; }; return at(0); };
const go = async path => { const name = path.split('/').pop(); const said = revive(await (await fetch(`${path}.data?_routes=${encodeURIComponent('routes/' + name)}`)).json()); const found = said['routes/' + name].data; document.getElementById('outlet').innerHTML = `<h2>${found.title}</h2><img src="${found.cover}">`; };
document.querySelector('nav').addEventListener('click', e => { const a = e.target.closest('a'); if (!a || e.metaKey || e.ctrlKey || e.button) return; e.preventDefault(); history.pushState({key: Math.random().toString(36).slice(2, 10)}, '', a.pathname); go(a.pathname); });</script>""",
        parts=("works", "visit"),
        proofs=(
            r"works.data\?_routes=routes%2Fworks",
            r"visit.data\?_routes=routes%2Fvisit",
            "444x20-works.png",
            "444x21-visit.png",
        ),
        files={"works.data": _flattened("works", 20), "visit.data": _flattened("visit", 21)},
        acts=(click("nav a >> nth=0"), click("nav a >> nth=1")),
    ),
    Feature(
        "swap-document",
        "A script fetches the document of a link, exchanges the main part in a transition, and runs its scripts again.",
        """<header>The Leaf <nav><a href="/swap-document/history.html">History</a> <a href="/swap-document/people.html">People</a></nav></header><main><h2>Home</h2></main><script>
const go = async url => { const next = new DOMParser().parseFromString(await (await fetch(url, {headers: {accept: 'text/html'}})).text(), 'text/html'); const swap = () => { document.querySelector('main').replaceWith(document.adoptNode(next.querySelector('main'))); for (const old of document.querySelectorAll('main script')) { const made = document.createElement('script'); made.textContent = old.textContent; old.replaceWith(made); } scrollTo(0, 0); }; if (document.startViewTransition) document.startViewTransition(swap); else swap(); };
document.querySelector('nav').addEventListener('click', e => { const a = e.target.closest('a'); if (!a) return; e.preventDefault(); history.pushState({}, '', a.href); go(a.href); });</script>""",
        parts=("history", "people"),
        proofs=("history.html", "people.html", "445x20-history.png", "445x20-people.png"),
        files={"history.html": _swapped("history"), "people.html": _swapped("people")},
        acts=(click("nav a >> nth=0"), click("nav a >> nth=1")),
    ),
    Feature(
        "epub-reader",
        "A reader fetches a book, unpacks it, and shows the pictures of its chapters by addresses of blobs.",
        """<div id="book"></div><script>
(async () => { const bytes = new Uint8Array(await (await fetch('book.epub')).arrayBuffer()), view = new DataView(bytes.buffer), files = {}; let end = bytes.length - 22; while (view.getUint32(end, true) !== 0x06054b50) end--;
  let at = view.getUint32(end + 16, true); for (let n = view.getUint16(end + 10, true); n; n--) { const size = view.getUint32(at + 20, true), name = view.getUint16(at + 28, true), start = view.getUint32(at + 42, true); const from = start + 30 + view.getUint16(start + 26, true) + view.getUint16(start + 28, true); files[new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + name))] = bytes.subarray(from, from + size); at += 46 + name + view.getUint16(at + 30, true) + view.getUint16(at + 32, true); }
  const open_ = name => new Response(new Blob([files[name]]).stream().pipeThrough(new DecompressionStream('deflate-raw'))); const xml = async name => new DOMParser().parseFromString(await open_(name).text(), 'application/xml');
  const opf = (await xml('META-INF/container.xml')).querySelector('rootfile').getAttribute('full-path'), folder = opf.replace(/[^/]*$/, ''), pack = await xml(opf);
  for (const ref of pack.querySelectorAll('itemref')) { const chapter = await xml(folder + pack.getElementById(ref.getAttribute('idref')).getAttribute('href')); for (const img of chapter.querySelectorAll('img')) { const name = img.getAttribute('src'), i = new Image(); i.onload = () => i.naturalWidth === 446 && proof.done(name); i.src = URL.createObjectURL(await open_(folder + name).blob()); book.append(i); } } })();</script>""",
        parts=("one.png", "two.png"),
        proofs=("book.epub",),
        files={"book.epub": Reply(_book(), "application/epub+zip")},
    ),
    Feature(
        "iiif-sizes",
        "A manifest names the services of two images, whose documents say which sizes they have.",
        """<div id="leaves"></div><script>
(async () => { const manifest = await (await fetch('manifest.json', {headers: {Accept: 'application/ld+json;profile="http://iiif.io/api/presentation/3/context.json"'}})).json();
  for (const canvas of manifest.items) { const id = canvas.items[0].items[0].body.service[0]['@id'], info = await (await fetch(id + '/info.json')).json(), fit = info.sizes.find(s => s.width >= 400); const i = new Image(); i.onload = () => i.naturalWidth === 447 && proof.done(canvas.label); i.src = `${id}/full/${fit.width},/0/default.png`; leaves.append(i); } })();</script>""",
        parts=("recto", "verso"),
        proofs=(
            "manifest.json",
            r"iiif/2/ms(%2F|/)recto/info.json",
            r"iiif/2/ms(%2F|/)verso/info.json",
            r"iiif/2/ms(%2F|/)recto/full/447,/0/default.png",
            r"iiif/2/ms(%2F|/)verso/full/447,/0/default.png",
        ),
        files={
            "manifest.json": Reply(
                json.dumps(
                    {
                        "type": "Manifest",
                        "items": [
                            {
                                "label": name,
                                "items": [{"items": [{"body": {"service": [{"@id": f"iiif/2/ms%2F{name}"}]}}]}],
                            }
                            for name in ("recto", "verso")
                        ],
                    }
                ),
                "application/ld+json",
            ),
            "iiif/*": _iiif,
        },
    ),
    Feature(
        "multipart-ranges",
        "A script asks for two ranges of a file at once, and gets both in one body of several parts.",
        """<script>
(async () => { const r = await fetch('atlas.bin', {headers: {Range: 'bytes=0-99,200-299'}}); if (r.status !== 206) return; const mark = '--' + /boundary="?([^";]+)/.exec(r.headers.get('content-type'))[1]; for (const part of (await r.text()).split(mark).slice(1, -1)) proof.add(JSON.parse(part.slice(part.indexOf('\\r\\n\\r\\n') + 4).trim())); })();</script>""",
        parts=("first", "second"),
        proofs=("atlas.bin", "448x20-first.png", "448x21-second.png"),
        files={"atlas.bin": _two_ranges},
    ),
    Feature(
        "wms-map",
        "A map asks a server for what it can do, and then for the pictures of two layers by their borders.",
        """<div id="map" style="position:relative;height:260px"></div><script>
(async () => { const xml = new DOMParser().parseFromString(await (await fetch('ows?SERVICE=WMS&REQUEST=GetCapabilities')).text(), 'text/xml'), step = 20037508.342789244 / 4; for (const layer of [...xml.querySelectorAll('Layer > Layer > Name')].map(n => n.textContent)) { let left = 4; for (const x of [0, 1]) for (const y of [0, 1]) { const i = new Image(); const box = [x * step, y * step, (x + 1) * step, (y + 1) * step].join(','); i.onload = () => i.naturalWidth === 128 && (--left || proof.done(layer)); i.style.cssText = `position:absolute;left:${x * 128}px;top:${(1 - y) * 128}px`; i.src = 'ows?' + new URLSearchParams({SERVICE: 'WMS', VERSION: '1.3.0', REQUEST: 'GetMap', LAYERS: layer, STYLES: '', FORMAT: 'image/png', TRANSPARENT: 'true', CRS: 'EPSG:3857', WIDTH: 128, HEIGHT: 128, BBOX: box}); map.append(i); } } })();</script>""",
        parts=("soils", "rivers"),
        proofs=(
            r"ows\?SERVICE=WMS&REQUEST=GetCapabilities",
            Proof(r"ows\?.*LAYERS=soils.*", 4),
            Proof(r"ows\?.*LAYERS=rivers.*", 4),
        ),
        files={"ows": _wms},
    ),
    Feature(
        "vector-map",
        "A map of vectors reads its style, fetches tiles in a worker, and has a sheet of icons and a range of letters.",
        """<canvas id="map" width="256" height="256"></canvas><script>
(async () => { const json = async url => (await fetch(url)).json(), style = await json('style.json'), source = await json(style.sources.base.url), base = new URL('.', document.baseURI).href, worker = new Worker('map-worker.js'); let left = 4; worker.onmessage = e => { if (e.data.bytes > 0 && !--left) proof.done('tiles'); }; for (const x of [2, 3]) for (const y of [1, 2]) worker.postMessage({url: base + source.tiles[0].replace('{z}', 2).replace('{x}', x).replace('{y}', y)});
  const scale = devicePixelRatio > 1 ? '@2x' : '', icons = await json(`${style.sprite}${scale}.json`), sheet = await createImageBitmap(await (await fetch(`${style.sprite}${scale}.png`)).blob()); map.getContext('2d').drawImage(sheet, 0, 0); if (icons.tree && sheet.width === 64) proof.done('sprite');
  const letters = await (await fetch(style.glyphs.replace('{fontstack}', encodeURIComponent('Noto Sans Regular')).replace('{range}', '0-255'))).arrayBuffer(); if (letters.byteLength) proof.done('letters'); })();</script>""",
        parts=("tiles", "sprite", "letters"),
        proofs=(
            "style.json",
            "base.json",
            "map-worker.js",
            Proof(r"base/2/\d/\d.pbf", 4),
            r"sprites/leaf(@2x)?.json",
            r"sprites/leaf(@2x)?.png",
            "fonts/Noto%20Sans%20Regular/0-255.pbf",
        ),
        files={
            "style.json": data(
                '{"version": 8, "sources": {"base": {"type": "vector", "url": "base.json"}}, "sprite": "sprites/leaf", "glyphs": "fonts/{fontstack}/{range}.pbf"}'
            ),
            "base.json": data('{"tilejson": "3.0.0", "tiles": ["base/{z}/{x}/{y}.pbf"]}'),
            "map-worker.js": js(
                "onmessage = async e => { const b = await (await fetch(e.data.url)).arrayBuffer(); postMessage({bytes: b.byteLength}, [b]); };"
            ),
            "sprites/leaf.json": data('{"tree": {"x": 0, "y": 0, "width": 32, "height": 32}}'),
            "sprites/leaf@2x.json": data('{"tree": {"x": 0, "y": 0, "width": 32, "height": 32}}'),
            "sprites/leaf.png": Reply(png("vector-map/leaf", (64, 32)), "image/png"),
            "sprites/leaf@2x.png": Reply(png("vector-map/leaf2", (64, 32)), "image/png"),
            "fonts/*": Reply(b"\x0a\x04leaf", "application/x-protobuf"),
            "base/*": lambda question: Reply(
                b"\x1a\x08" + question.path[-9:-4].encode(), "application/x-protobuf", encoding="gzip"
            ),
        },
    ),
    Feature(
        "xml-tokens",
        "Records are read as XML, page by page, and each page has the token of the next.",
        """<script>
const ask = query => { const x = new XMLHttpRequest(); x.open('GET', 'oai?verb=ListRecords&' + query); x.onload = () => { const xml = x.responseXML; for (const each of xml.getElementsByTagName('identifier')) proof.add(each.textContent); const token = xml.getElementsByTagName('resumptionToken')[0]; if (token && token.textContent) ask('resumptionToken=' + encodeURIComponent(token.textContent)); }; x.send(); }; ask('metadataPrefix=oai_dc');</script>""",
        parts=("record1", "record2", "record3"),
        proofs=(
            r"oai\?verb=ListRecords&metadataPrefix=oai_dc",
            Proof(r"oai\?verb=ListRecords&resumptionToken=.*", 2),
            *(f"451x2{at}-record{at}.png" for at in (1, 2, 3)),
        ),
        files={"oai": _records},
    ),
    Feature(
        "instant-search",
        "A search service of another host gets all queries as posts to one address, and a menu narrows the results.",
        whole(
            """<div class="ais-Menu"><ul class="ais-Menu-list"></ul></div><ol class="ais-Hits-list"></ol><script>
const token = 'anonymous-' + crypto.randomUUID(), q = s => document.querySelector(s); let chosen = '';
const search = async () => { const p = new URLSearchParams({query: '', hitsPerPage: 12, facets: '["type"]', clickAnalytics: true, userToken: token}); if (chosen) p.set('facetFilters', JSON.stringify([[`type:${chosen}`]])); const r = await fetch('https://elsewhere.test/instant-search/1/indexes/*/queries?x-algolia-agent=' + encodeURIComponent('Search for JavaScript (5.2.1); Browser') + '&x-algolia-api-key=6be0&x-algolia-application-id=LEAF', {method: 'POST', headers: {'content-type': 'application/x-www-form-urlencoded'}, body: JSON.stringify({requests: [{indexName: 'works', params: p.toString()}]})}); const found = (await r.json()).results[0];
  q('.ais-Hits-list').innerHTML = found.hits.map(h => `<li><img src="${h.image}"></li>`).join(''); q('.ais-Menu-list').innerHTML = Object.entries(found.facets.type).map(([k, n]) => `<li class="ais-Menu-item"><a class="ais-Menu-link" href="?works[menu][type]=${k}" data-type="${k}"><span class="ais-Menu-label">${k}</span> <span class="ais-Menu-count">${n}</span></a></li>`).join(''); };
q('.ais-Menu').addEventListener('click', e => { const a = e.target.closest('.ais-Menu-link'); if (!a) return; e.preventDefault(); chosen = chosen === a.dataset.type ? '' : a.dataset.type; search(); }); search();</script>"""
        ),
        parts=("all", "painting", "sculpture"),
        proofs=(
            Proof(r"1/indexes/(\*|%2A)/queries.*", 3),
            *(f"452x20-{name}.png" for name in ("all", "painting", "sculpture")),
        ),
        files={"1/indexes/*/queries": _queries},
        acts=(click("[data-type=painting]"), click("[data-type=sculpture]")),
    ),
    Feature(
        "mqtt-socket",
        "A page subscribes to a topic by MQTT on a WebSocket, under a random name, and gets two messages in bytes.",
        """<script>
const text = s => { const b = new TextEncoder().encode(s); return [b.length >> 8, b.length & 255, ...b]; }, packet = (kind, body) => new Uint8Array([kind, body.length, ...body]);
const s = new WebSocket(`wss://${location.host}/mqtt-socket/mqtt`, ['mqtt']); s.binaryType = 'arraybuffer'; s.onopen = () => s.send(packet(0x10, [...text('MQTT'), 4, 2, 0, 60, ...text('web_' + Math.random().toString(16).slice(2, 10))]));
s.onmessage = e => { const b = new Uint8Array(e.data); if (b[0] === 0x20 && b[3] === 0) s.send(packet(0x82, [0, 1, ...text('tides'), 0])); else if (b[0] === 0x90) proof.done('subscribed'); else if (b[0] === 0x30) proof.add(new TextDecoder().decode(b.subarray(4 + b[3]))); };</script>""",
        parts=("subscribed", "tide1", "tide2"),
        proofs=("mqtt", "453x21-tide1.png", "453x22-tide2.png"),
        files={"mqtt": Raw(_mqtt)},
    ),
    Feature(
        "worker-virtual",
        "A service worker fetches one bundle, and answers pictures that no server has out of it.",
        """<script>
(async () => { await navigator.serviceWorker.register('sw.js'); if (!navigator.serviceWorker.controller) await new Promise(go => { navigator.serviceWorker.oncontrollerchange = go; }); const i = new Image(); i.onload = () => i.naturalWidth === 454 && proof.done('inside'); i.src = 'virtual/inside.png'; document.body.append(i); })();</script>""",
        parts=("inside",),
        proofs=("sw.js", "bundle.json"),
        files={
            "sw.js": js(
                "oninstall = () => skipWaiting(); onactivate = e => e.waitUntil(clients.claim()); let bundle;"
                "onfetch = e => { const found = /\\/virtual\\/(.*)$/.exec(new URL(e.request.url).pathname); if (found) e.respondWith((async () => { bundle ??= fetch('bundle.json').then(r => r.json()); const text = (await bundle).files[found[1]]; return new Response(Uint8Array.from(atob(text), c => c.charCodeAt(0)), {headers: {'content-type': 'image/png'}}); })()); };"
            ),
            "bundle.json": data(_BUNDLE),
        },
    ),
    Feature(
        "import-integrity",
        "An import map says the integrity of each module, and the head preloads them.",
        "",
        head=f"""<script type="importmap">{json.dumps({"imports": {"names": "./lib/names.js"}, "integrity": {"./lib/names.js": _integrity(_PART_MODULE), "./main.js": _integrity(_MAIN_MODULE)}})}</script><link rel="modulepreload" href="./lib/names.js" integrity="{_integrity(_PART_MODULE)}"><script type="module" src="./main.js"></script>""",
        parts=("bound", "checked"),
        proofs=("main.js", "lib/names.js", "455x20-bound.png", "455x21-checked.png"),
        files={"main.js": js(_MAIN_MODULE), "lib/names.js": js(_PART_MODULE)},
    ),
    Feature(
        "redirect-post",
        "Posts are redirected to another host and another path, which keep their bodies, and to the page of a result.",
        """<script>
for (const way of ['307', '308', '303']) fetch('send/' + way, {method: 'POST', headers: {'content-type': 'text/plain'}, body: 'way-' + way}).then(r => r.json()).then(a => proof.add(a.picture));</script>""",
        parts=("way-307", "way-308", "result"),
        proofs=(
            Proof("arrived", 2),
            r"send/result\?id=17",
            "456x20-way-307.png",
            "456x20-way-308.png",
            "456x21-result.png",
        ),
        files={
            "send/303": _sent,
            "send/307": _sent,
            "send/308": _sent,
            "arrived": lambda question: data(
                json.dumps({"picture": f"/redirect-post/456x20-{question.body.decode() or question.method}.png"})
            ),
            "send/result": data('{"picture": "/redirect-post/456x21-result.png"}'),
        },
    ),
    Feature(
        "odd-locations",
        "Redirects name their targets by dots, by a query alone, without a scheme, in capitals, and with bare letters.",
        "".join(
            f"<img src='deep/er/{name}' onload='this.naturalWidth === 457 && proof.done(\"{name}\")'>"
            for name in ("up", "query", "host", "capitals", "letters")
        ),
        parts=("up", "query", "host", "capitals", "letters"),
        proofs=(
            "457x20-up.png",
            r"deep/er/query\?n=2",
            "457x22-host.png",
            "457x23-capitals.png",
            r"457x24-caf.*\.png",
        ),
        files={f"deep/er/{name}": _located for name in ("up", "query", "host", "capitals", "letters")},
    ),
    Feature(
        "link-paging",
        "The pages of a list are found by the links in the heads of the answers, while the reader scrolls.",
        """<div id="list"></div><div id="end" style="height:20px"></div><script>
let next = 'api/items?per_page=1', busy = false; const sight = new IntersectionObserver(async es => { if (!es[0].isIntersecting || !next || busy) return; busy = true; sight.unobserve(end); const r = await fetch(next), links = r.headers.get('link') || ''; next = /<([^>]+)>; rel="next"/.exec(links)?.[1]; for (const each of await r.json()) list.insertAdjacentHTML('beforeend', `<article style="height:1200px"><img src="${each.src}"></article>`); busy = false; if (next) sight.observe(end); }, {rootMargin: '100px'}); sight.observe(end);</script>""",
        parts=tuple(f"item{at}" for at in range(1, 5)),
        proofs=(
            r"api/items\?per_page=1",
            *(rf"api/items\?per_page=1&page={at}" for at in (2, 3, 4)),
            *(f"458x2{at}-item{at}.png" for at in range(1, 5)),
        ),
        files={"api/items": _items},
    ),
    Feature(
        "old-server",
        "An old server answers by HTTP/1.0 without a length, with no reason, and with head lines in odd forms.",
        """<img src="photos/one" onload="this.naturalWidth === 459 && proof.done('picture')"><script src="script.js"></script><script>proof.text('plain.txt', 'leaf', 'plain');</script>""",
        parts=("picture", "script", "plain"),
        proofs=("photos/one", "script.js", "plain.txt"),
        files={
            "photos/one": _old(
                b"HTTP/1.0 200 OK\r\nSERVER: Leafd/0.9\r\nCONTENT-TYPE:image/png\r\n\r\n",
                png("old-server/one", (459, 20)),
            ),
            "script.js": _old(
                b"HTTP/1.1 200 \r\ncontent-type:   application/x-javascript  \r\nConnection: close\r\n\r\n",
                b"proof.done('script');",
            ),
            "plain.txt": _old(
                b"HTTP/1.0 200 Document follows\r\nContent-type: text/plain\r\nX-Empty:\r\n\r\n", b"leaf"
            ),
        },
    ),
    Feature(
        "version-reload",
        "An application asks for its newest version, and loads the page again under an address that caches don't know.",
        """<script>
(async () => { const mine = new URLSearchParams(location.search).get('v') || '7', {build} = await (await fetch('version.json?_=' + Date.now(), {cache: 'no-store'})).json(); if (build !== mine) { if (!sessionStorage.getItem('reloaded')) { sessionStorage.setItem('reloaded', '1'); location.replace(location.pathname + '?v=' + build); } return; } proof.add(`460x20-build${build}.png`); })();</script>""",
        parts=("build8",),
        proofs=(r"version.json\?_=\d+", r"\?v=8", "460x20-build8.png"),
        files={"version.json": data('{"build": "8"}', _NO_STORE)},
    ),
    Feature(
        "chunk-retry",
        "A module of a route fails at first, and is imported again under an address with the time.",
        """<script type="module">
const load = () => import('./assets/route-3fa2.js').catch(async () => { await new Promise(go => setTimeout(go, 400)); return import('./assets/route-3fa2.js?retry=' + Date.now()); }); (await load()).show();</script>""",
        parts=("again",),
        proofs=(r"assets/route-3fa2.js\?retry=\d+", "461x20-again.png"),
        files={"assets/route-3fa2.js": _chunk},
    ),
    Feature(
        "hydration-data",
        "The page has its data as a text with escaped slashes, and its button works when the framework has taken it over.",
        f"""<div id="__next"><main><div class="stage"></div><button type="button" class="next-work">Next work</button></main></div><script id="__NEXT_DATA__" type="application/json">{_NEXT_DATA}</script><script src="_next/static/chunks/main.js" defer></script>""",
        parts=("harbour", "meadow", "street"),
        proofs=(
            "_next/static/chunks/main.js",
            "462x20-harbour.png",
            "462x21-meadow.png",
            "462x22-street.png",
        ),
        files={
            "_next/static/chunks/main.js": js(
                "setTimeout(() => { const {works} = JSON.parse(document.getElementById('__NEXT_DATA__').textContent).props.pageProps, stage = document.querySelector('.stage'); let at = 0; const draw = () => { stage.innerHTML = `<img src=\"${works[at].image.url}\">`; }; document.querySelector('.next-work').addEventListener('click', () => { at = (at + 1) % works.length; draw(); }); draw(); }, 300);"
            )
        },
        acts=(click(".next-work"),) * 3,
    ),
)

_CUT: Final = MP4.index(b"moof") - 4
_KEY: Final = hashlib.md5(b"leaf").digest()
_PIECES: Final = tuple(MP4[_CUT:][len(MP4[_CUT:]) * at // 3 : len(MP4[_CUT:]) * (at + 1) // 3] for at in range(3))
_PLAYLIST: Final = (
    '#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:1\n#EXT-X-MEDIA-SEQUENCE:5\n#EXT-X-MAP:URI="init.mp4"\n#EXT-X-KEY:METHOD=AES-128,URI="../keys/one.key"\n'
    + "".join(f"#EXTINF:0.5,\npart{at}.m4s\n" for at in range(3))
    + "#EXT-X-ENDLIST\n"
)
_HTML_OR_PICTURE: Final = (("Vary", "Accept"),)


def _encrypted(at: int) -> Reply:
    """Return a segment that is encrypted with the number of the segment as its vector."""
    padder = padding.PKCS7(128).padder()
    coder = Cipher(algorithms.AES(_KEY), modes.CBC((5 + at).to_bytes(16))).encryptor()
    padded = padder.update(_PIECES[at]) + padder.finalize()
    return Reply(coder.update(padded) + coder.finalize(), "video/iso.segment")


def _photo(question: Question) -> Reply:
    """Answer a frame with a page about the picture, and everything else with the picture."""
    if "text/html" in question.headers.get("accept", ""):
        return page(
            "<h1>Photo 7</h1><img src='7' onload='this.naturalWidth === 478 && parent.postMessage({part: \"page\"}, \"*\")'>",
            *_HTML_OR_PICTURE,
        )
    return Reply(png("picture-or-page", (478, 20)), "image/png", headers=_HTML_OR_PICTURE)


def _guarded(question: Question) -> Reply:
    """Answer our own pages alone with the picture."""
    if not question.headers.get("referer", "").startswith("https://www.features.test/"):
        return Reply("Hotlinks are not allowed", status=403)
    return Reply(png(question.path, (479, int(question.path[4:6]))), "image/png")


_MARKUP: Final = (
    Feature(
        "registered-image",
        "A registered property of styles holds a picture, which another sheet uses as a background.",
        """<div class="hero">Hero</div><div class="band">Band</div><script>for (const name of ['463x20-hero.png', '463x21-band.png']) proof.resource(name, name.slice(7, -4));</script>""",
        head="""<link rel="stylesheet" href="theme/tokens.css"><link rel="stylesheet" href="parts/hero.css">""",
        parts=("hero", "band"),
        proofs=("theme/tokens.css", "parts/hero.css", "(theme|parts)/463x20-hero.png", "parts/463x21-band.png"),
        files={
            "theme/tokens.css": css(
                "@property --hero {syntax: '<image>'; inherits: true; initial-value: linear-gradient(#000, #000)} :root {--hero: url(463x20-hero.png)}"
            ),
            "parts/hero.css": css(
                ".hero {height: 30px; background-image: var(--hero)} .band {height: 30px; --band: url('463x21-band.png'); background: var(--band, none) no-repeat}"
            ),
        },
    ),
    Feature(
        "style-query",
        "A background depends on a property of the container, and another on a condition within its value.",
        """<section class="winter"><div class="banner">Season</div></section><div class="mode">Mode</div><script>for (const name of ['464x20-snow.png', '464x21-night.png']) proof.resource(name, name.slice(7, -4));</script>""",
        head="<style>.winter {--season: winter} .banner, .mode {height: 30px} @container style(--season: winter) {.banner {background: url(464x20-snow.png)}} @container style(--season: summer) {.banner {background: url(464x22-sun.png)}} .mode {--mode: dark; background: if(style(--mode: dark): url(464x21-night.png); else: url(464x23-day.png))}</style>",
        parts=("snow", "night"),
        proofs=("464x20-snow.png", "464x21-night.png"),
    ),
    Feature(
        "css-carousel",
        "A carousel of styles alone has buttons and marks that the browser makes, and its pictures are lazy.",
        """<ul class="rail">"""
        + "".join(
            f'<li><img loading="lazy" src="465x2{at}-slide{at}.png" width="465" height="2{at}" alt=""></li>'
            for at in range(1, 7)
        )
        + "</ul>",
        head="<style>.rail {display: flex; overflow-x: auto; scroll-snap-type: x mandatory; list-style: none; padding: 0; scroll-marker-group: after; anchor-name: --rail} .rail li {flex: 0 0 100%; height: 120px; scroll-snap-align: center} .rail::scroll-button(inline-end) {content: '›' / 'Next'; width: 40px; height: 40px} .rail::scroll-button(inline-start) {content: '‹' / 'Previous'; width: 40px; height: 40px} .rail::scroll-marker-group {display: flex; gap: 8px} .rail li::scroll-marker {content: ''; width: 16px; height: 16px; border: 1px solid} .rail li::scroll-marker:target-current {background: #000}</style>",
        acts=(
            Act(
                "evaluate",
                "(async () => { const rail = document.querySelector('.rail'); for (const n of [0, 1, 2, 3, 4, 5, 0]) { rail.scrollTo({left: n * rail.clientWidth}); await new Promise(done => setTimeout(done, 300)); } })()",
            ),
        ),
    ),
    Feature(
        "video-media-sources",
        "A film behind a heading has sources for narrow and wide windows.",
        """<video id="film" width="64" height="48" muted autoplay loop playsinline><source media="(max-width: 700px)" src="films/narrow.webm" type="video/webm"><source media="(min-width: 701px)" src="films/wide.webm" type="video/webm"></video><script>film.addEventListener('timeupdate', () => film.currentTime > 0 && film.currentSrc.endsWith('wide.webm') && proof.done('wide'));</script>""",
        parts=("wide",),
        proofs=("films/wide.webm",),
        files={"films/wide.webm": ranged(WEBM, "video/webm"), "films/narrow.webm": ranged(WEBM, "video/webm")},
    ),
    Feature(
        "inview-video",
        "A silent film far below gets its poster and its source when it is in the window, and plays while it is there.",
        """<div style="height:2500px">Text</div><video class="lazy" width="64" height="48" muted loop playsinline preload="none" data-poster="467x20-poster.png"><source data-src="clip.webm" type="video/webm"></video><div style="height:600px"></div><script>
proof.resource('467x20-poster.png', 'poster'); const v = document.querySelector('video'); v.addEventListener('timeupdate', () => v.currentTime > 0 && proof.done('playing')); new IntersectionObserver(es => { for (const e of es) { if (!e.isIntersecting) { v.pause(); continue; } const s = v.firstElementChild; if (s.dataset.src) { v.poster = v.dataset.poster; s.src = s.dataset.src; delete s.dataset.src; v.load(); } v.play().catch(() => {}); } }, {threshold: .25}).observe(v);</script>""",
        parts=("poster", "playing"),
        proofs=("467x20-poster.png", "clip.webm"),
        files={"clip.webm": ranged(WEBM, "video/webm")},
    ),
    Feature(
        "cue-pictures",
        "The hidden track of a film names the slides of a talk, which are shown while the film plays.",
        """<video id="film" width="64" height="48" muted autoplay loop playsinline src="talk.webm"><track kind="metadata" src="slides.vtt" default></video><div id="slide"></div><script>
const t = film.textTracks[0]; t.mode = 'hidden'; t.addEventListener('cuechange', () => { for (const cue of t.activeCues) slide.innerHTML = `<img src="${JSON.parse(cue.text).slide}">`; });</script>""",
        parts=("title", "diagram"),
        proofs=("talk.webm", "slides.vtt", "468x20-title.png", "468x21-diagram.png"),
        files={
            "talk.webm": ranged(WEBM, "video/webm"),
            "slides.vtt": Reply(
                'WEBVTT\n\n00:00:00.000 --> 00:00:00.300\n{"slide": "468x20-title.png"}\n\n00:00:00.300 --> 00:00:30.000\n{"slide": "468x21-diagram.png"}\n',
                "text/vtt",
            ),
        },
    ),
    Feature(
        "hls-key",
        "The segments of a stream are encrypted, and its player fetches the key that the playlist names.",
        """<video id="film" width="64" height="48" muted></video><script>
(async () => { const list = new URL('stream/index.m3u8', document.baseURI), bytes = async url => (await fetch(new URL(url, list))).arrayBuffer(), lines = (await (await fetch(list)).text()).split('\\n'), attribute = (tag, name) => new RegExp(`${name}="([^"]+)"`).exec(lines.find(l => l.startsWith(tag)))[1];
  const key = await crypto.subtle.importKey('raw', await bytes(attribute('#EXT-X-KEY', 'URI')), 'AES-CBC', false, ['decrypt']), source = new MediaSource(); film.src = URL.createObjectURL(source); await new Promise(go => { source.onsourceopen = go; }); const buffer = source.addSourceBuffer('video/mp4; codecs="avc1.42E01E"'), put = async b => { buffer.appendBuffer(b); await new Promise(go => { buffer.onupdateend = go; }); };
  await put(await bytes(attribute('#EXT-X-MAP', 'URI'))); let number = +/MEDIA-SEQUENCE:(\\d+)/.exec(lines.join(' '))[1]; for (const line of lines) { if (!line || line[0] === '#') continue; const iv = new Uint8Array(16); iv[15] = number++; await put(await crypto.subtle.decrypt({name: 'AES-CBC', iv}, key, await bytes(line))); }
  source.endOfStream(); film.requestVideoFrameCallback(() => proof.done('playing')); await film.play(); })();</script>""",
        parts=("playing",),
        proofs=(
            "stream/index.m3u8",
            "keys/one.key",
            "stream/init.mp4",
            *(f"stream/part{at}.m4s" for at in range(3)),
        ),
        files={
            "stream/index.m3u8": Reply(_PLAYLIST, "application/vnd.apple.mpegurl"),
            "keys/one.key": Reply(_KEY, "application/octet-stream"),
            "stream/init.mp4": Reply(MP4[:_CUT], "video/mp4"),
            **{f"stream/part{at}.m4s": _encrypted(at) for at in range(3)},
        },
    ),
    Feature(
        "lottie-assets",
        "A drawing that moves is described by JSON, which names its pictures in two parts.",
        """<lottie-player src="motion/intro.json" background="transparent" autoplay loop></lottie-player><script>
customElements.define('lottie-player', class extends HTMLElement { async connectedCallback() { const root = this.attachShadow({mode: 'open'}), canvas = root.appendChild(document.createElement('canvas')), url = new URL(this.getAttribute('src'), document.baseURI), movie = await (await fetch(url)).json(); const pictures = Object.fromEntries(await Promise.all(movie.assets.map(async a => { const i = new Image(); i.src = a.e ? a.p : new URL(a.u + a.p, url); await i.decode(); proof.sized(i.currentSrc, i.naturalWidth, i.naturalHeight); return [a.id, i]; }))); let at = 0; const draw = () => { canvas.getContext('2d').drawImage(pictures[movie.layers[at++ % movie.layers.length].refId], 0, 0); requestAnimationFrame(draw); }; draw(); } });</script>""",
        parts=("leaf", "stem"),
        proofs=("motion/intro.json", "motion/images/470x20-leaf.png", "motion/images/470x21-stem.png"),
        files={
            "motion/intro.json": data(
                '{"v": "5.12.2", "fr": 30, "assets": [{"id": "i0", "w": 470, "h": 20, "u": "images/", "p": "470x20-leaf.png", "e": 0}, {"id": "i1", "w": 470, "h": 21, "u": "images/", "p": "470x21-stem.png", "e": 0}], "layers": [{"ty": 2, "refId": "i0"}, {"ty": 2, "refId": "i1"}]}'
            )
        },
    ),
    Feature(
        "svg-animated-href",
        "A drawing in the page changes its picture by an animation of its address, and paints another by a pattern.",
        """<svg width="500" height="80" xmlns="http://www.w3.org/2000/svg"><defs><pattern id="p" width="471" height="30" patternUnits="userSpaceOnUse"><image href="471x22-pattern.png" width="471" height="22"/></pattern></defs><image href="471x20-before.png" width="471" height="20"><set attributeName="href" to="471x21-after.png" begin="1.2s" fill="freeze"/></image><rect y="40" width="471" height="22" fill="url(#p)"/></svg><script>for (const name of ['471x20-before.png', '471x21-after.png', '471x22-pattern.png']) proof.resource(name, name.slice(7, -4));</script>""",
        parts=("before", "after", "pattern"),
        proofs=("471x20-before.png", "471x21-after.png", "471x22-pattern.png"),
    ),
    Feature(
        "pdf-viewer-frame",
        "A frame has a viewer of papers, which gets the address of the paper in its query, and reads it in a worker.",
        whole(
            """<iframe title="Paper" width="600" height="300" src="/pdf-viewer-frame/viewer/web/viewer.html?file=%2Fpdf-viewer-frame%2Fpapers%2Fpaper.pdf#page=2&zoom=page-width"></iframe>"""
        ),
        parts=("paper", "words"),
        proofs=(
            r"viewer/web/viewer.html\?file=.*",
            "viewer/web/viewer.mjs",
            "viewer/build/pdf.worker.mjs",
            "viewer/web/locale/en-US/viewer.ftl",
            "papers/paper.pdf",
        ),
        files={
            "viewer/web/viewer.html": page(
                "<div id='toolbar'>Page <span id='at'></span></div><canvas></canvas><script type='module' src='viewer.mjs'></script>"
            ),
            "viewer/web/viewer.mjs": js(
                "const file = new URLSearchParams(location.search).get('file'); document.getElementById('at').textContent = new URLSearchParams(location.hash.slice(1)).get('page'); const tell = part => parent.postMessage({part}, '*'); const worker = new Worker(new URL('../build/pdf.worker.mjs', import.meta.url), {type: 'module'}); worker.onmessage = e => e.data.startsWith('%PDF') && tell('paper'); worker.postMessage(new URL(file, location.href).href); fetch(new URL('locale/en-US/viewer.ftl', import.meta.url)).then(r => r.text()).then(t => t.includes('pdfjs') && tell('words'));"
            ),
            "viewer/build/pdf.worker.mjs": js(
                "onmessage = async e => { const text = await (await fetch(e.data)).text(); postMessage(text.slice(0, 8)); };"
            ),
            "viewer/web/locale/en-US/viewer.ftl": Reply("pdfjs-next-button = Next\n"),
            "papers/paper.pdf": Reply(
                "%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF",
                "application/pdf",
            ),
        },
    ),
    Feature(
        "lazysizes-auto",
        "A library measures the box of a picture far below, writes the sizes, and lets the browser choose the file.",
        """<div style="height:3000px">Text</div><div style="width:400px"><img class="lazyload" data-sizes="auto" data-srcset="files/237x20-small.png 237w, files/473x20-medium.png 473w, files/946x20-large.png 946w" src="data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7" style="width:100%;min-height:20px" alt=""></div><div style="height:500px"></div><script>
new IntersectionObserver((es, self) => { for (const e of es) if (e.isIntersecting) { const i = e.target; self.unobserve(i); i.classList.replace('lazyload', 'lazyloading'); i.sizes = i.parentNode.offsetWidth + 'px'; i.onload = () => { i.classList.replace('lazyloading', 'lazyloaded'); if (/-(medium|large)\\.png$/.test(i.currentSrc)) proof.done('chosen'); }; i.srcset = i.dataset.srcset; } }, {rootMargin: '300px'}).observe(document.querySelector('.lazyload'));</script>""",
        parts=("chosen",),
        proofs=(r"files/(473x20-medium|946x20-large).png",),
    ),
    Feature(
        "masonry-grid",
        "The tiles of a wall are placed by a script once their pictures are there, and more come near the shortest column.",
        """<div id="wall" style="position:relative;width:1000px"></div><script>
const wall = document.getElementById('wall'), columns = [0, 0]; let at = 0, busy = false;
const more = async () => { if (busy || at === 4) return; busy = true; const fresh = new DOMParser().parseFromString(await (await fetch(`wall/page/${++at}/`)).text(), 'text/html'); for (const item of [...fresh.querySelectorAll('.item')]) { item.style.cssText += ';position:absolute;opacity:0'; wall.append(item); await Promise.allSettled([...item.querySelectorAll('img')].map(i => i.decode())); const c = columns.indexOf(Math.min(...columns)); item.style.left = c * 500 + 'px'; item.style.top = columns[c] + 'px'; item.style.opacity = 1; columns[c] += item.offsetHeight; wall.style.height = Math.max(...columns) + 'px'; } busy = false; check(); };
const check = () => { if (scrollY + innerHeight + 150 > wall.offsetTop + Math.min(...columns)) more(); }; addEventListener('scroll', check, {passive: true}); addEventListener('resize', check); check();</script>""",
        parts=tuple(f"tile{at}{letter}" for at in range(1, 5) for letter in "ab"),
        proofs=tuple(f"wall/page/{at}/" for at in range(1, 5))
        + tuple(f"474x2{at}-tile{at}{letter}.png" for at in range(1, 5) for letter in "ab"),
        files={
            f"wall/page/{at}/": html(
                "".join(
                    f"<div class='item' style='height:{height}px'><img src='474x2{at}-tile{at}{letter}.png'></div>"
                    for letter, height in (("a", 1300), ("b", 1100))
                )
            )
            for at in range(1, 5)
        },
    ),
    Feature(
        "pinned-gallery",
        "A gallery stays in the window while the page is scrolled, moves sideways, and loads the pictures that come in.",
        """<section id="pin" style="height:6000px;position:relative"><div style="position:sticky;top:0;height:100vh;overflow:hidden"><div id="track" style="display:flex;height:300px;width:max-content"></div></div></section><script>
track.innerHTML = ['dawn', 'noon', 'dusk', 'night', 'fog', 'rain'].map((n, i) => `<figure style="width:1000px;margin:0"><img alt="" width="475" height="${20 + i}" data-src="475x${20 + i}-${n}.png"></figure>`).join('');
const sight = new IntersectionObserver(es => { for (const e of es) if (e.isIntersecting) { sight.unobserve(e.target); e.target.src = e.target.dataset.src; } }); for (const i of track.querySelectorAll('img')) sight.observe(i);
const move = () => { const way = pin.offsetHeight - innerHeight, part = Math.min(1, Math.max(0, (scrollY - pin.offsetTop) / way)); track.style.transform = `translate3d(${-part * (track.offsetWidth - innerWidth)}px, 0, 0)`; }; addEventListener('scroll', () => requestAnimationFrame(move), {passive: true}); move();</script>""",
        parts=("dawn", "noon", "dusk", "night", "fog", "rain"),
        proofs=tuple(
            f"475x{20 + at}-{name}.png" for at, name in enumerate(("dawn", "noon", "dusk", "night", "fog", "rain"))
        ),
    ),
    Feature(
        "vertical-text",
        "A Japanese story is set in columns from right to left, so that the page is scrolled to its left end.",
        """<div style="block-size:3500px">吾輩は猫である。名前はまだ無い。</div><img loading="lazy" src="476x20-neko.png" width="476" height="20" alt=""><div style="block-size:2500px">どこで生れたか。</div><img loading="lazy" src="476x21-owari.png" width="476" height="21" alt="">""",
        head="<style>html {writing-mode: vertical-rl}</style>",
        acts=(
            Act(
                "evaluate",
                "(async () => { for (let x = 0; x < 7500; x += 500) { scrollTo(-x, 0); await new Promise(done => setTimeout(done, 60)); } })()",
            ),
        ),
    ),
    Feature(
        "motion-preference",
        "The page shows a picture that moves, and further scenes, to those who haven't asked for less motion.",
        """<picture><source srcset="477x20-still.png" media="(prefers-reduced-motion: reduce)"><img src="477x21-moving.png" alt=""></picture><script>if (matchMedia('(prefers-reduced-motion: no-preference)').matches) fetch('scenes.json').then(r => r.json()).then(all => all.forEach(name => proof.add(name)));</script>""",
        parts=("moving", "scene"),
        proofs=("477x21-moving.png", "scenes.json", "477x22-scene.png"),
        files={"scenes.json": data('["477x22-scene.png"]')},
    ),
    Feature(
        "picture-or-page",
        "One address is a picture for a picture element, and a page about it for a frame.",
        """<img src="photo/7" onload="this.naturalWidth === 478 && proof.done('picture')"><iframe src="photo/7" title="Photo"></iframe>""",
        parts=("picture", "page"),
        proofs=(Proof("photo/7", 2),),
        files={"photo/7": _photo},
    ),
    Feature(
        "hotlink-guard",
        "A server of pictures answers only when the request names a page of the site that it comes from.",
        """<img src="https://cdn.features.test/hotlink-guard/479x20-own.png"><img referrerpolicy="unsafe-url" src="https://cdn.features.test/hotlink-guard/479x21-whole.png"><div class="late"></div>""",
        head="""<style>.late {height: 30px; background: url(479x22-styled.png)}</style><script>proof.resource('479x22-styled.png', 'styled');</script>""",
        parts=("own", "whole", "styled"),
        proofs=("479x20-own.png", "479x21-whole.png", "479x22-styled.png"),
        files=dict.fromkeys(("479x20-own.png", "479x21-whole.png", "479x22-styled.png"), _guarded),
    ),
)

THIRD_LOOK: Final = (*_INTERACTION, *_NETWORK, *_MARKUP)
