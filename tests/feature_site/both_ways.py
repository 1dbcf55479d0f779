"""Features that lead to both sides, ask the visitor's age at an address of their own, or have many equal controls."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import parse_qs

from feature_site.feature import Act, Feature, Question, Reply, click, data, page

_NO_STORE: Final = ("Cache-Control", "no-store")
_CHEVRON: Final = '<svg width=12 height=12 aria-hidden=true><path d="{0}"/></svg>'


def _first(question: Question, name: str) -> str:
    """Return the first value of a parameter of the query."""
    return parse_qs(question.query).get(name, [""])[0]


def _found(width: int, *names: str) -> tuple[str, ...]:
    """Return the patterns of pictures that are 21 pixels high, in any folder."""
    return tuple(rf"(.*/)?{width}x21-{name}\.png" for name in names)


def _week(question: Question) -> Reply:
    at = int(_first(question, "offset"))
    return data(json.dumps({"title": f"Week {at}", "poster": f"posters/700x21-week{at}.png"}))


def _comments(question: Question) -> Reply:
    number = _first(question, "thread")
    actions = "<button type=button class=like>Like</button><button type=button class=answer>Answer</button>"
    items = "".join(f"<li>Comment {number}.{at} {actions}</li>" for at in range(3))
    return Reply(f"<ul><li><img src='704x21-reply{number}.png'></li>{items}</ul>", "text/html; charset=utf-8")


def _results(question: Question) -> Reply:
    at = int(_first(question, "page"))
    return data(json.dumps({"cover": f"covers/703x21-page{at}.png", "last": at == 8}))


def _gated(feature: Feature, cookie: str, gate: str) -> Reply:
    """Return the page to visitors with the cookie, and send all others to the gate."""
    if "adult=yes" in cookie:
        return Reply(feature.text(), "text/html; charset=utf-8", headers=(_NO_STORE,))
    return Reply(status=302, headers=(("Location", f"/{feature.name}/{gate}"), _NO_STORE))


def _passes(name: str, to: str) -> Reply:
    return Reply(status=303, headers=(("Set-Cookie", f"adult=yes; Path=/{name}/"), ("Location", to), _NO_STORE))


def _ask_vineyard(question: Question) -> Reply:
    return _gated(VINEYARD, question.headers.get("cookie", ""), "welcome?next=%2Fvineyard-button%2F")


def _ask_distillery(question: Question) -> Reply:
    return _gated(DISTILLERY, question.headers.get("cookie", ""), "altersabfrage")


def _answer_distillery(question: Question) -> Reply:
    """Let grown-ups in, and lead them to the start page of the shop instead of the page that they wanted."""
    year = _first(question, "jahr")
    is_grown = year.isdigit() and 1900 < int(year) < 2005
    return _passes("distillery-year", "/distillery-year/start") if is_grown else Reply("Zu jung", status=403)


def _ask_cognac(question: Question) -> Reply:
    if "adult=yes" in question.headers.get("cookie", ""):
        return Reply(COGNAC.text(), "text/html; charset=utf-8", headers=(_NO_STORE,))
    script = "<script>location.replace('/cognac-box/majorite')</script>"
    return Reply(f"<!doctype html><title>Maison</title>{script}", "text/html; charset=utf-8", headers=(_NO_STORE,))


VINEYARD: Final = Feature(
    "vineyard-button",
    "A gate at an address of its own asks by two buttons whether the visitor is of age, and leads back.",
    "<img src='707x21-wine.png'>",
    page=_ask_vineyard,
    files={
        "welcome": page(
            "<h1>Welcome</h1><p>You must be of legal drinking age to enter this site. Are you 18 or older?</p>"
            "<form method=post action='enter'><input type=hidden name=next value='/vineyard-button/'>"
            "<button name=answer value=yes id=yes>Yes, I am</button> <a href='https://www.features.test/'>No</a></form>"
        ),
        "enter": _passes("vineyard-button", "/vineyard-button/"),
    },
    proofs=("707x21-wine.png",),
    acts=(click("#yes"),),
)
DISTILLERY: Final = Feature(
    "distillery-year",
    "A gate in German asks for the year of birth, and leads to the start page instead of the page that was wanted.",
    "<img src='708x21-whisky.png'>",
    page=_ask_distillery,
    files={
        "altersabfrage": page(
            "<h2>Sind Sie volljährig?</h2><p>Bitte wählen Sie Ihr Geburtsjahr.</p><form action='pruefen'><select name=jahr id=jahr>"
            "<option value=''>Jahr</option>"
            + "".join(f"<option>{year}</option>" for year in range(2020, 1930, -1))
            + "</select><button id=weiter>Weiter</button></form>"
        ),
        "pruefen": _answer_distillery,
        "start": page("<h1>Brennerei</h1><a href='/distillery-year/' id=back>Whisky</a>"),
    },
    proofs=("708x21-whisky.png",),
    acts=(Act("select", "#jahr", "1980"), click("#weiter"), click("#back")),
)
COGNAC: Final = Feature(
    "cognac-box",
    "A script leads to a gate in French, whose button works after a box was checked.",
    "<img src='709x21-cognac.png'>",
    page=_ask_cognac,
    files={
        "majorite": page(
            "<main><h1>Vérification de l’âge</h1><p>La vente d’alcool est interdite aux mineurs.</p>"
            "<label><input type=checkbox id=box> Je certifie avoir plus de 18 ans</label> <button id=enter disabled>Entrer</button></main><script>"
            "box.onchange = () => { enter.disabled = !box.checked; };"
            "enter.onclick = () => { document.cookie = 'adult=yes; path=/cognac-box/'; location.href = '/cognac-box/'; };</script>"
        ),
    },
    proofs=("709x21-cognac.png",),
    acts=(click("#box"), click("#enter")),
)

BOTH_WAYS: Final = (
    Feature(
        "week-planner",
        "A planner shows any week, the earlier and the later ones, by words.",
        """<section class="planner"><nav><button type=button id=before>Earlier week</button><h2 id=title></h2><button type=button id=after>Later week</button></nav><div id=grid></div></section><script>
let at = 0;
async function show() {
  const week = await fetch(`week?offset=${at}`).then(r => r.json());
  title.textContent = week.title;
  grid.innerHTML = `<img src="${week.poster}">`;
}
before.onclick = () => { at--; show(); };
after.onclick = () => { at++; show(); };
show();</script>""",
        parts=("week0", "week-1", "week1", "week2"),
        proofs=_found(700, "week0", "week-1", "week-3", "week1", "week3"),
        files={"week": _week},
        acts=(click("#before"), click("#after"), click("#after"), click("#after")),
    ),
    Feature(
        "icon-months",
        "A calendar is drawn anew for each month, and its two arrows have neither a text nor a telling name.",
        f"""<div id=app></div><script>
let month = 6;
const app = document.getElementById('app');
function draw() {{
  app.innerHTML = `<header><button type=button class=x1>{_CHEVRON.format("M8 0L2 6l6 6")}</button><b>${{month}}</b><button type=button class=x1>{_CHEVRON.format("M4 0l6 6-6 6")}</button></header><img src="701x21-m${{month}}.png">`;
  const [left, right] = app.querySelectorAll('button');
  left.addEventListener('click', () => {{ month--; draw(); }});
  right.addEventListener('click', () => {{ month++; draw(); }});
}}
draw();</script>""",
        parts=("m6", "m5", "m7", "m8"),
        proofs=_found(701, "m6", "m5", "m4", "m7", "m8"),
        acts=(click("#app button:first-of-type"), *[click("#app button:last-of-type")] * 3),
    ),
    Feature(
        "both-zooms",
        "A map has tiles for seven levels, and begins in the middle; it hears the wheel and has two buttons.",
        """<div id=map style="position:relative;width:300px;height:200px;background:#dde"><div id=pane></div><div class=controls style="position:absolute;top:4px;left:4px"><button type=button id=plus>+</button><button type=button id=minus>−</button></div></div><script>
let level = 6;
function draw() { const tile = new Image(); tile.src = `tiles/${level}/702x21-z${level}.png`; pane.replaceChildren(tile); }
function zoom(by) { const to = Math.max(3, Math.min(9, level + by)); if (to !== level) { level = to; draw(); } }
plus.onclick = () => zoom(1);
minus.onclick = () => zoom(-1);
map.addEventListener('wheel', event => { event.preventDefault(); zoom(event.deltaY > 0 ? -1 : 1); }, {passive: false});
draw();</script>""",
        parts=("z6", "z7", "z5"),
        proofs=_found(702, "z3", "z4", "z5", "z6", "z7", "z8", "z9"),
        acts=(click("#plus"), click("#minus"), click("#minus")),
    ),
    Feature(
        "pushed-pages",
        "A button leads through eight pages of results, each with an address of its own.",
        """<main><div id=list></div><button type=button id=older>Next page</button></main><script>
let at = 1;
async function show() {
  const found = await fetch(`results?page=${at}`).then(r => r.json());
  list.innerHTML = `<img src="/pushed-pages/${found.cover}">`;
  older.disabled = found.last;
}
older.onclick = () => { at++; history.pushState({at}, '', `?page=${at}`); show(); };
addEventListener('popstate', event => { at = event.state?.at || 1; show(); });
show();</script>""",
        parts=("page1", "page2", "page3"),
        proofs=_found(703, *(f"page{at}" for at in range(1, 9))),
        files={"results": _results},
        acts=(click("#older"), click("#older")),
    ),
    Feature(
        "reply-threads",
        "Ten comments each have replies behind a button, and each reply has buttons of its own.",
        """<ol id=list></ol><script>
for (let at = 1; at <= 10; at++) {
  const item = document.createElement('li');
  item.innerHTML = `<p>Comment ${at}</p><button type=button class=like>Like</button><button type=button class=answer>Answer</button><button type=button class=replies>Show replies</button><div></div>`;
  const [,, show] = item.querySelectorAll('button');
  show.onclick = async () => {
    const box = item.querySelector('div');
    if (box.innerHTML) { box.hidden = !box.hidden; show.textContent = box.hidden ? 'Show replies' : 'Hide replies'; return; }
    box.innerHTML = await fetch(`replies?thread=${at}`).then(r => r.text());
    show.textContent = 'Hide replies';
  };
  list.append(item);
}
list.addEventListener('click', event => { if (event.target.className === 'like') event.target.textContent = 'Liked'; });</script>""",
        parts=tuple(f"reply{at}" for at in (1, 2, 10)),
        proofs=_found(704, *(f"reply{at}" for at in range(1, 11))),
        files={"replies": _comments},
        acts=tuple(click(f"li:nth-child({at}) .replies") for at in (1, 2, 10)),
    ),
    Feature(
        "endless-beside",
        "A list always has more, and the page has eight other buttons, each with a part of its own.",
        """<div id=feed></div><button type=button id=more>Load more</button><div id=tools></div><script>
let at = 0;
more.onclick = async () => { at++; feed.insertAdjacentHTML('beforeend', await fetch(`item?at=${at}`).then(r => r.text())); };
for (let each = 1; each <= 8; each++) {
  const panel = document.createElement('section');
  panel.innerHTML = `<h3>Part ${each}</h3><button type=button class="part${each}">Open part ${each}</button>`;
  panel.querySelector('button').onclick = () => proof.add(`705x21-part${each}.png`, panel);
  tools.append(panel);
}</script>""",
        parts=("part1", "part8"),
        proofs=_found(705, *(f"part{at}" for at in range(1, 9))),
        files={"item": Reply("<p>Item</p>", "text/html; charset=utf-8")},
        acts=(click("#more"), click(".part1"), click(".part8")),
    ),
    Feature(
        "arrow-carousel",
        "A carousel begins in the middle, has an end at both sides, and loads a picture when it is shown.",
        """<div class=carousel><a href="#" role=button class="carousel-control-prev"><span class=icon></span></a><img id=slide width=300 height=21><a href="#" role=button class="carousel-control-next"><span class=icon></span></a></div><style>.icon {display: inline-block; width: 20px; height: 20px; background: #357}</style><script>
let at = 5;
const go = by => { at = Math.max(1, Math.min(9, at + by)); slide.src = `706x21-slide${at}.png`; };
document.querySelector('.carousel-control-prev').onclick = event => { event.preventDefault(); go(-1); };
document.querySelector('.carousel-control-next').onclick = event => { event.preventDefault(); go(1); };
go(0);</script>""",
        parts=("slide5", "slide4", "slide6"),
        proofs=_found(706, *(f"slide{at}" for at in range(1, 10))),
        acts=(click(".carousel-control-prev"), click(".carousel-control-next"), click(".carousel-control-next")),
    ),
    VINEYARD,
    DISTILLERY,
    COGNAC,
    Feature(
        "years-slider",
        "A slider of its own making hears keys; each end shows a picture.",
        """<div class=track><span role=slider id=thumb tabindex=0 aria-label="Year" aria-valuemin=1900 aria-valuemax=1910 aria-valuenow=1905 style="display:inline-block;width:18px;height:18px;background:#464"></span></div><div id=photo></div><script>
let year = 1905;
function show() { thumb.setAttribute('aria-valuenow', year); const image = new Image(); image.src = `710x21-y${year}.png`; photo.replaceChildren(image); }
document.querySelector('.track').addEventListener('keydown', event => {
  const to = {ArrowRight: year + 1, ArrowLeft: year - 1, Home: 1900, End: 1910}[event.key];
  if (to !== undefined && to >= 1900 && to <= 1910 && to !== year) { year = to; show(); }
});
show();</script>""",
        parts=("y1905", "y1910", "y1900"),
        proofs=_found(710, "y1905", "y1910", "y1900"),
        acts=(Act("press", "#thumb", "End"), Act("press", "#thumb", "Home")),
    ),
    Feature(
        "floor-range",
        "A slider of the browser begins in the middle; both ends show plans.",
        """<label>Floor <input type=range id=floor min=-2 max=4 value=1></label><div id=plan></div><script>
floor.oninput = () => proof.add(`711x21-floor${floor.value}.png`, plan);</script>""",
        parts=("floor4", "floor-2"),
        proofs=_found(711, "floor4", "floor-2"),
        acts=(
            Act("fill", "#floor", "4"),
            Act("fill", "#floor", "-2"),
        ),
    ),
    Feature(
        "dialog-tabs",
        "A dialog has four tabs, each of which is fetched; behind the dialog waits another button.",
        """<button type=button id=details>Details</button><button type=button id=press>Press reviews</button><div id=reviews></div>
<dialog id=box><div role=tablist id=tabs></div><div id=panel role=tabpanel></div><button type=button id=shut aria-label="Close">×</button></dialog><script>
for (const name of ['size', 'care', 'origin', 'label']) {
  const tab = document.createElement('button');
  tab.setAttribute('role', 'tab'); tab.type = 'button'; tab.textContent = name;
  tab.onclick = () => fetch(`panels/${name}.html`).then(r => r.text()).then(text => { panel.innerHTML = text; });
  tabs.append(tab);
}
details.onclick = () => { box.showModal(); tabs.firstChild.click(); };
shut.onclick = () => box.close();
press.onclick = () => proof.add('712x21-review.png', reviews);</script>""",
        parts=("size", "care", "origin", "label", "review"),
        proofs=_found(712, "size", "care", "origin", "label", "review"),
        files={
            f"panels/{name}.html": Reply(f"<img src='712x21-{name}.png'>", "text/html; charset=utf-8")
            for name in ("size", "care", "origin", "label")
        },
        acts=(
            click("#details"),
            click("#tabs button:nth-child(2)"),
            click("#tabs button:nth-child(3)"),
            click("#tabs button:nth-child(4)"),
            click("#shut"),
            click("#press"),
        ),
    ),
)
