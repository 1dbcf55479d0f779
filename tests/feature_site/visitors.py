"""The features show what visitors do on the sites of 2026, in the markup that libraries and publishing systems write."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import parse_qs

from feature_site.feature import Act, Feature, Proof, Question, Reply, click, data, hover, js, page, png
from feature_site.whole_pages import html, whole


def _asked(question: Question) -> dict[str, str]:
    """Return the first value of each parameter of the query, or of the form that was posted."""
    text = question.body.decode() if question.method == "POST" else question.query
    return {name: values[0] for name, values in parse_qs(text).items()}


def _scrolled(selector: str) -> Act:
    """Return a scroll of the page to an element."""
    return Act("evaluate", f"document.querySelector('{selector}').scrollIntoView({{block: 'center'}})")


def _rows(question: Question) -> Reply:
    """Answer one page of a table, whose picture tells the size and the number of the page."""
    asked = _asked(question)
    size, at = int(asked["size"]), int(asked["page"])
    shown = f"472x2{at}-s{size}p{at}.png"
    return data(json.dumps({"total": 6, "content": [{"title": f"Record {at * size + 1}", "preview": shown}]}))


def _section(question: Question) -> Reply:
    """Answer the content of an expansion item."""
    name = question.path.rpartition("/")[2]
    return html(f"<div class='q-card__section'><img src='/quasar-expansion/474x20-{name}.png'></div>", 0.2)


def _feed(question: Question) -> Reply:
    """Answer one page of a list of an application, and whether another follows."""
    asked = _asked(question)
    name = f"{asked['list']}{asked['page']}"
    more = asked["list"] == "works" and int(asked["page"]) < 3
    return data(json.dumps({"picture": f"475x2{asked['page']}-{name}.png", "more": more}))


def _stream(question: Question) -> Reply:
    """Answer the next posts as actions of a stream, when a stream was asked for."""
    if "text/vnd.turbo-stream.html" not in question.headers.get("accept", ""):
        return page("<p>More posts</p>")
    at = int(_asked(question)["page"])
    form = _STREAM_FORM.replace("NEXT", str(at + 1)) if at < 3 else "<p>You have read all posts.</p>"
    return Reply(
        f'<turbo-stream action="append" target="posts"><template><article id="post_{at}"><img src="479x2{at}-post{at}.png"></article></template></turbo-stream>'
        f'<turbo-stream action="replace" target="next_page"><template><div id="next_page">{form}</div></template></turbo-stream>',
        "text/vnd.turbo-stream.html; charset=utf-8",
    )


_STREAM_FORM: Final = '<form action="more" method="get" data-turbo-stream="true"><input type="hidden" name="page" value="NEXT"><button type="submit" class="btn btn-outline">Load more posts</button></form>'


def _query_region(at: int) -> str:
    """Return a page of a query block."""
    before = (
        f'<a href="/wp-query-pages/page/{at - 1}/" class="wp-block-query-pagination-previous" data-wp-key="query-pagination-previous" data-wp-on--click="core/query::actions.navigate">Previous Page</a>'
        if at > 1
        else ""
    )
    after = (
        f'<a href="/wp-query-pages/page/{at + 1}/" class="wp-block-query-pagination-next" data-wp-key="query-pagination-next" data-wp-on--click="core/query::actions.navigate" data-wp-on-async--mouseenter="core/query::actions.prefetch">Next Page</a>'
        if at < 3
        else ""
    )
    return (
        '<div class="wp-block-query is-layout-flow" data-wp-interactive="core/query" data-wp-router-region="query-1"><ul class="wp-block-post-template is-layout-grid">'
        f'<li class="wp-block-post post-{at} post type-post status-publish"><figure class="wp-block-post-featured-image"><img src="/wp-query-pages/wp-content/uploads/2026/481x2{at}-post{at}.png" class="wp-post-image" alt=""></figure></li></ul>'
        f'<nav class="wp-block-query-pagination is-layout-flex" aria-label="Pagination">{before}{after}</nav></div>'
    )


def _facet(question: Question) -> Reply:
    """Answer the values of a facet."""
    name = _asked(question)["facet"]
    return html(
        f'<h2>{name.title()}</h2><div class="browseSelectPanelListItem"><a href="#" onclick="caBrowsePanel.choose(\'{name}\', 12); return false;"><img src="482x20-{name}.png" alt="">First of the {name}</a></div>'
    )


def _hal(question: Question) -> Reply:
    """Answer the resources of a repository, which name each other by links."""
    base, path = "/dspace-files/server/api/core", question.path.removeprefix("server/api/core/")
    if path == "items/7":
        return data(json.dumps({"type": "item", "_links": {"bundles": {"href": f"{base}/items/7/bundles"}}}))
    if path == "items/7/bundles":
        bundles = [
            {"name": name, "_links": {"bitstreams": {"href": f"{base}/bundles/{name}/bitstreams"}}}
            for name in ("LICENSE", "ORIGINAL")
        ]
        return data(json.dumps({"_embedded": {"bundles": bundles}}))
    if path == "bundles/ORIGINAL/bitstreams":
        at = int(_asked(question)["page"])
        files = [
            {"name": f"leaf-{n}.tif", "thumb": f"/dspace-files/server/api/core/bitstreams/483x2{n}-file{n}.png"}
            for n in range(at * 2, min(at * 2 + 2, 5))
        ]
        return data(
            json.dumps({"_embedded": {"bitstreams": files}, "page": {"number": at, "size": 2, "totalPages": 3}})
        )
    return Reply("{}", "application/json", status=404)


def _image_info(question: Question) -> Reply:
    """Answer where the file of a title is."""
    title = _asked(question)["titles"]
    name = title.removeprefix("File:").removesuffix(".jpg").lower()
    info = {"url": f"/media-viewer-hash/commons/484x20-{name}.png", "width": 484, "height": 20}
    return data(json.dumps({"query": {"pages": [{"title": title, "imageinfo": [info]}]}}))


def _translation(question: Question) -> Reply:
    """Answer the translation of a post."""
    number = question.path.split("/")[3]
    if question.method != "POST":
        return Reply("{}", "application/json", status=405)
    return data(
        json.dumps(
            {
                "content": f"<p>A leaf <img class='emojione custom-emoji' src='486x2{number}-translated{number}.png'></p>",
                "provider": "LeafTranslate",
            }
        )
    )


def _photos(question: Question) -> Reply:
    """Answer five photos with their widths and heights, and the number of the last page."""
    at = int(_asked(question)["page"])
    shapes = ((3, 2), (2, 3), (1, 1), (16, 9), (4, 3))
    photos = [{"id": at * 5 + n, "w": w * 100, "h": h * 100} for n, (w, h) in enumerate(shapes)]
    return data(json.dumps({"photos": photos, "pages": 3}))


def _photo(question: Question) -> Reply:
    """Answer one of two sizes of a photo."""
    return Reply(png(question.path, (320, 20) if question.path.endswith("_m.png") else (640, 20)), "image/png")


def _slides(question: Question) -> Reply:
    """Answer the pictures of a post."""
    code = json.loads(_asked(question)["variables"])["shortcode"]
    names = {"CxLoom": ("loom1", "loom2", "loom3"), "CxKiln": ("kiln1",)}[code]
    return data(json.dumps({"data": {"items": [f"489x2{at}-{name}.png" for at, name in enumerate(names)]}}))


def _more_comments(question: Question) -> Reply:
    """Answer the replies behind a cursor, and the place of further ones."""
    at = _asked(question)["cursor"]
    further = _PARTIAL.replace("AT", "b2").replace("MORE", "1 more reply") if at == "b1" else ""
    return html(f"<shreddit-comment depth='1'><img src='490x20-{at}.png'></shreddit-comment>{further}")


_PARTIAL: Final = '<faceplate-partial loading="action" src="svc/more-comments" data-cursor="AT"><button type="button" class="text-tone-2"><svg width="16" height="16" aria-hidden="true"><circle cx="8" cy="8" r="7" fill="none" stroke="#000"/><path d="M4 8h8M8 4v8" stroke="#000"/></svg> <span>MORE</span></button></faceplate-partial>'


def _connections(question: Question) -> Reply:
    """Answer the connections of a place in the timetable, which names the places before and after it."""
    at = json.loads(question.body)["reference"]
    before, after = {"now": ("earlier1", "later1"), "later1": ("", "later2"), "later2": ("", ""), "earlier1": ("", "")}[
        at
    ]
    return data(
        json.dumps({"connections": [{"id": at, "line": f"493x20-{at}.png"}], "earlier": before, "later": after})
    )


def _advice(question: Question) -> Reply:
    """Answer the second step of a guide, or the office at its end."""
    if "where" in _asked(question):
        return html('<div class="govuk-panel"><h1>Your office</h1><img src="496x21-office.png"></div>')
    return html(
        '<form class="guide" novalidate><input type="hidden" name="what" value="CHOSEN"><fieldset class="govuk-fieldset"><legend>Where do you live?</legend><img src="496x20-districts.png" alt="">'.replace(
            "CHOSEN", _asked(question)["what"]
        )
        + _radios("where", "North of the river", "South of the river")
    )


def _radios(name: str, *labels: str) -> str:
    """Return radio buttons and the button that goes on, to the end of the form."""
    items = "".join(
        f'<div class="govuk-radios__item"><input class="govuk-radios__input" id="{name}-{at}" name="{name}" type="radio" value="{at}"><label class="govuk-label govuk-radios__label" for="{name}-{at}">{label}</label></div>'
        for at, label in enumerate(labels, 1)
    )
    return f'<div class="govuk-radios" data-module="govuk-radios">{items}</div></fieldset><button type="submit" class="govuk-button" data-module="govuk-button">Continue</button></form>'


def _said(question: Question) -> Reply:
    """Answer what was chosen in a chat."""
    name = json.loads(question.body)["payload"]
    return data(json.dumps({"messages": [{"text": f"About {name}:"}, {"picture": f"497x20-{name}.png"}]}))


def _children(question: Question) -> Reply:
    """Answer the children of a row of a tree."""
    name = _asked(question)["parent"]
    under = {"fonds": ("series", True), "series": ("file", True), "file": ("sheet", False), "maps": ("plan", False)}[
        name
    ]
    return data(json.dumps([{"key": under[0], "leaf": not under[1], "picture": f"507x20-{under[0]}.png"}]))


def _flaky(question: Question) -> Reply:
    """Refuse the first request."""
    if question.count("asked") == 1:
        return Reply('{"error": "upstream timed out"}', "application/json", status=503)
    return data('[{"picture": "508x20-suggested.png"}]')


_LIBRARIES: Final = (
    Feature(
        "press-disclosure",
        "The buttons of a group are pressed by a pointer that goes down and up on them, and only one section is open.",
        whole(
            '<div class="react-aria-DisclosureGroup" data-rac="">'
            + "".join(
                f'<div class="react-aria-Disclosure" data-rac="" data-key="{key}"><h3 class="react-aria-Heading"><button slot="trigger" type="button" class="react-aria-Button" data-rac="" aria-expanded="false" aria-controls="react-aria-r{key}"><svg viewBox="0 0 24 24" width="16" height="16" aria-hidden="true"><path d="m8.25 4.5 7.5 7.5-7.5 7.5" fill="none" stroke="#000"/></svg>{label}</button></h3><div role="group" class="react-aria-DisclosurePanel" id="react-aria-r{key}" aria-hidden="true" hidden></div></div>'
                for key, label in (("care", "Care"), ("delivery", "Delivery"), ("makers", "The makers"))
            )
            + """</div><script>
const group = document.querySelector('.react-aria-DisclosureGroup'); let held = null, byPointer = false;
const press = b => { const open = b.ariaExpanded !== 'true'; for (const each of group.querySelectorAll('button')) { const panel = document.getElementById(each.getAttribute('aria-controls')), on = open && each === b; each.ariaExpanded = String(on); each.closest('.react-aria-Disclosure').toggleAttribute('data-expanded', on); panel.hidden = !on; panel.innerHTML = on ? `<img src="470x20-${each.closest('[data-key]').dataset.key}.png" alt="">` : ''; } };
for (const b of group.querySelectorAll('button')) { b.addEventListener('pointerdown', e => { if (e.button !== 0) return; held = b; byPointer = true; b.dataset.pressed = 'true'; });
  b.addEventListener('click', e => { if (!byPointer && e.detail === 0) press(b); byPointer = false; }); b.addEventListener('keydown', e => { if (e.key === 'Enter' || e.key === ' ') { e.preventDefault(); press(b); } }); }
addEventListener('pointerup', e => { if (held) { delete held.dataset.pressed; if (held.contains(e.target)) press(held); held = null; } });</script>"""
        ),
        parts=("care", "delivery", "makers"),
        proofs=("470x20-care.png", "470x20-delivery.png", "470x20-makers.png"),
        acts=tuple(click(f"[data-key={key}] button") for key in ("care", "delivery", "makers")),
    ),
    Feature(
        "side-sheet",
        "Two buttons open sheets at the side of the window, and a group in the first sheet unfolds.",
        whole(
            """<div class="flex gap-2"><button type="button" data-slot="sheet-trigger" aria-haspopup="dialog" aria-expanded="false" data-state="closed" data-sheet="menu">All collections</button><button type="button" data-slot="sheet-trigger" aria-haspopup="dialog" aria-expanded="false" data-state="closed" data-sheet="visit">Plan a visit</button></div><script>
const inner = {menu: '<h2 data-slot="sheet-title">All collections</h2><img src="471x20-menu.png" alt=""><div data-slot="collapsible" data-state="closed"><button type="button" data-slot="collapsible-trigger" aria-expanded="false">Textiles</button><div data-slot="collapsible-content"></div></div>', visit: '<h2 data-slot="sheet-title">Plan a visit</h2><img src="471x21-visit.png" alt="">'};
let shut = null; const root = document.body;
const open_ = trigger => { const overlay = document.createElement('div'), sheet = document.createElement('div'); overlay.dataset.slot = 'sheet-overlay'; sheet.dataset.slot = 'sheet-content'; sheet.role = 'dialog'; sheet.tabIndex = -1; overlay.dataset.state = sheet.dataset.state = trigger.dataset.state = 'open'; trigger.ariaExpanded = 'true';
  sheet.innerHTML = inner[trigger.dataset.sheet] + '<button type="button" class="absolute top-4 right-4"><svg width="16" height="16" aria-hidden="true"><path d="M3 3l10 10M13 3L3 13" stroke="#000"/></svg><span class="sr-only">Close</span></button>'; root.append(overlay, sheet); root.style.pointerEvents = 'none'; overlay.style.pointerEvents = sheet.style.pointerEvents = 'auto'; sheet.focus();
  shut = () => { shut = null; overlay.dataset.state = sheet.dataset.state = trigger.dataset.state = 'closed'; trigger.ariaExpanded = 'false'; sheet.onanimationend = () => { overlay.remove(); sheet.remove(); root.style.pointerEvents = ''; }; };
  overlay.onpointerdown = shut; sheet.querySelector('.absolute').onclick = shut;
  sheet.addEventListener('click', e => { const b = e.target.closest('[data-slot=collapsible-trigger]'); if (!b) return; const open = b.ariaExpanded !== 'true'; b.ariaExpanded = String(open); b.parentNode.dataset.state = open ? 'open' : 'closed'; b.nextElementSibling.innerHTML = open ? '<img src="471x22-textiles.png" alt="">' : ''; }); };
document.addEventListener('click', e => { const t = e.target.closest('[data-slot=sheet-trigger]'); if (t) open_(t); }); document.addEventListener('keydown', e => { if (e.key === 'Escape') shut?.(); });</script>"""
        ),
        head="<style>[data-slot=sheet-overlay] {position: fixed; inset: 0; background: #0008} [data-slot=sheet-content] {position: fixed; inset: 0 auto 0 0; width: 520px; background: #fff; padding: 24px; animation: slide-in .3s} [data-slot=sheet-content][data-state=closed] {animation: slide-out .3s forwards} .absolute {position: absolute; top: 16px; right: 16px} .sr-only {position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%)} @keyframes slide-in {from {transform: translateX(-100%)}} @keyframes slide-out {to {transform: translateX(-100%)}}</style>",
        parts=("menu", "textiles", "visit"),
        proofs=("471x20-menu.png", "471x22-textiles.png", "471x21-visit.png"),
        acts=(
            click("[data-sheet=menu]"),
            click("[data-slot=collapsible-trigger]"),
            click("[data-slot=sheet-content] .absolute"),
            click("[data-sheet=visit]"),
        ),
    ),
    Feature(
        "material-paginator",
        "A paginator turns the pages of a table by arrows, and its select of the size opens a list over the page.",
        whole(
            """<table class="mat-mdc-table mdc-data-table__table" role="table"><tbody class="mdc-data-table__content" id="rows"></tbody></table><mat-paginator role="group" class="mat-mdc-paginator" aria-label="Select page of records"><div class="mat-mdc-paginator-container"><div class="mat-mdc-paginator-page-size"><div class="mat-mdc-paginator-page-size-label" aria-hidden="true">Items per page:</div><mat-select role="combobox" aria-haspopup="listbox" class="mat-mdc-select" tabindex="0" aria-expanded="false" aria-label="Items per page"><span class="mat-mdc-select-value">2</span><span class="mat-mdc-select-arrow"> ▾</span></mat-select></div><div class="mat-mdc-paginator-range-actions"><div class="mat-mdc-paginator-range-label" aria-live="polite"></div><button type="button" mat-icon-button class="mdc-icon-button mat-mdc-paginator-navigation-previous" aria-label="Previous page"><svg viewBox="0 0 24 24" focusable="false" aria-hidden="true" width="24" height="24"><path d="M15.41 7.41L14 6l-6 6 6 6 1.41-1.41L10.83 12z"/></svg></button><button type="button" mat-icon-button class="mdc-icon-button mat-mdc-paginator-navigation-next" aria-label="Next page"><svg viewBox="0 0 24 24" focusable="false" aria-hidden="true" width="24" height="24"><path d="M10 6L8.59 7.41 13.17 12l-4.58 4.59L10 18l6-6z"/></svg></button></div></div></mat-paginator><script>
const q = s => document.querySelector(s), previous = q('.mat-mdc-paginator-navigation-previous'), next = q('.mat-mdc-paginator-navigation-next'), select = q('mat-select'); let size = 2, at = 0;
const load = async () => { const a = await (await fetch(`api/records?page=${at}&size=${size}`)).json(); rows.innerHTML = a.content.map(r => `<tr class="mat-mdc-row mdc-data-table__row" role="row"><td class="mat-mdc-cell" role="cell">${r.title}</td><td class="mat-mdc-cell" role="cell"><img src="${r.preview}" alt=""></td></tr>`).join(''); const last = Math.ceil(a.total / size) - 1; q('.mat-mdc-paginator-range-label').textContent = `${at * size + 1} – ${Math.min(a.total, at * size + size)} of ${a.total}`; previous.disabled = at === 0; next.disabled = at === last; };
next.onclick = () => { at++; load(); }; previous.onclick = () => { at--; load(); };
select.addEventListener('click', () => { const over = document.createElement('div'); over.className = 'cdk-overlay-container'; over.innerHTML = '<div class="cdk-overlay-backdrop cdk-overlay-transparent-backdrop cdk-overlay-backdrop-showing"></div><div class="cdk-overlay-pane"><div role="listbox" class="mat-mdc-select-panel" tabindex="-1">' + [2, 6].map(n => `<mat-option role="option" class="mat-mdc-option mdc-list-item" aria-selected="${n === size}" tabindex="0"><span class="mdc-list-item__primary-text">${n}</span></mat-option>`).join('') + '</div></div>'; select.ariaExpanded = 'true';
  const shut = () => { over.remove(); select.ariaExpanded = 'false'; }; over.onclick = e => { const o = e.target.closest('mat-option'); shut(); if (o && +o.textContent !== size) { size = +o.textContent; at = 0; q('.mat-mdc-select-value').textContent = size; load(); } }; document.body.append(over); const b = select.getBoundingClientRect(), pane = over.lastChild; pane.style.top = `${b.bottom}px`; pane.style.left = `${b.left}px`; });
load();</script>"""
        ),
        head="<style>mat-select {cursor: pointer; border: 1px solid; padding: 4px 12px; display: inline-block} .cdk-overlay-backdrop {position: fixed; inset: 0; z-index: 1000} .cdk-overlay-pane {position: fixed; z-index: 1001; background: #fff; border: 1px solid} mat-option {display: block; padding: 8px 24px; cursor: pointer}</style>",
        parts=("s2p0", "s2p1", "s2p2", "s6p0"),
        proofs=(
            *(rf"api/records\?page={at}&size=2" for at in range(3)),
            r"api/records\?page=0&size=6",
            *(f"472x2{at}-s2p{at}.png" for at in range(3)),
            "472x20-s6p0.png",
        ),
        files={"api/records": _rows},
        acts=(
            click(".mat-mdc-paginator-navigation-next"),
            click(".mat-mdc-paginator-navigation-next"),
            click("mat-select"),
            click("mat-option >> nth=1"),
        ),
    ),
    Feature(
        "sticky-contents",
        "A bar slides in when the head of a long story has left the window, and its buttons open lists below it.",
        whole(
            """<div class="hero" style="height:500px"><h2>A long story</h2></div><div class="sticky-bar" aria-hidden="true" inert><button type="button" aria-expanded="false" data-list="chapters">Chapters</button><button type="button" aria-expanded="false" data-list="figures">Figures</button><div class="sticky-bar__panel" hidden></div></div><div style="height:3500px">Text</div><script>
const bar = document.querySelector('.sticky-bar'), panel = bar.querySelector('.sticky-bar__panel');
new IntersectionObserver(([e]) => { const on = !e.isIntersecting; bar.classList.toggle('is-visible', on); bar.inert = !on; bar.ariaHidden = String(!on); }).observe(document.querySelector('.hero'));
bar.addEventListener('click', e => { const b = e.target.closest('[data-list]'); if (!b) return; const open = b.ariaExpanded !== 'true'; for (const each of bar.querySelectorAll('[data-list]')) each.ariaExpanded = String(open && each === b); panel.hidden = !open; panel.innerHTML = open ? `<ol><li><a href="#main"><img src="473x20-${b.dataset.list}.png" alt=""></a></li></ol>` : ''; });</script>"""
        ),
        head="<style>.sticky-bar {position: fixed; top: 0; left: 0; right: 0; background: #fff; padding: 12px; transform: translateY(-100%); transition: transform .25s} .sticky-bar.is-visible {transform: none}</style>",
        parts=("chapters", "figures"),
        proofs=("473x20-chapters.png", "473x20-figures.png"),
        acts=(Act("evaluate", "scrollTo(0, 1500)"), click("[data-list=chapters]"), click("[data-list=figures]")),
    ),
    Feature(
        "quasar-expansion",
        "Items of a list expand at their whole width, and one of them has items of its own.",
        whole(
            """<div class="q-list q-list--bordered rounded-borders" role="list" id="list"></div><script>
const item = (key, label, nested) => { const el = document.createElement('div'); el.className = 'q-expansion-item q-item-type q-expansion-item--collapsed q-expansion-item--standard'; el.innerHTML = `<div class="q-expansion-item__container relative-position"><div class="q-item q-item-type row no-wrap q-item--clickable q-link cursor-pointer q-focusable q-hoverable" role="button" tabindex="0" aria-expanded="false" data-key="${key}"><div class="q-focus-helper" tabindex="-1"></div><div class="q-item__section column q-item__section--main justify-center"><div class="q-item__label">${label}</div></div><div class="q-item__section column q-item__section--side justify-center q-focusable relative-position cursor-pointer"><i class="q-icon notranslate material-icons q-expansion-item__toggle-icon" aria-hidden="true" role="presentation">keyboard_arrow_down</i></div></div><div class="q-expansion-item__content relative-position" style="display:none"></div></div>`;
  const head = el.querySelector('.q-item'), content = el.querySelector('.q-expansion-item__content'); let filled = false;
  head.addEventListener('click', async () => { const open = head.ariaExpanded !== 'true'; head.ariaExpanded = String(open); el.classList.toggle('q-expansion-item--expanded', open); el.classList.toggle('q-expansion-item--collapsed', !open); content.style.display = open ? '' : 'none'; if (!open || filled) return; filled = true; if (nested) content.append(...nested.map(n => item(...n))); else content.innerHTML = await (await fetch(`/quasar-expansion/boxes/${key}`)).text(); }); return el; };
list.append(item('letters', 'Letters', [['y1890', '1890'], ['y1891', '1891']]), item('photographs', 'Photographs'));</script>"""
        ),
        head="<style>.q-item {display: flex; justify-content: space-between; padding: 8px 16px; cursor: pointer; border-bottom: 1px solid #ccc} .q-expansion-item__content {padding-left: 16px} .q-icon {font-size: 0; width: 24px; height: 24px; background: #ddd; display: block}</style>",
        parts=("y1890", "y1891", "photographs"),
        proofs=tuple(
            pattern for name in ("y1890", "y1891", "photographs") for pattern in (f"boxes/{name}", f"474x20-{name}.png")
        ),
        files={"boxes/*": _section},
        acts=tuple(click(f"[data-key={key}]") for key in ("letters", "y1890", "y1891", "photographs")),
    ),
    Feature(
        "ionic-segment",
        "An application scrolls within a shadow tree, its list grows there, and the buttons above it choose the list.",
        """<ion-app><ion-header><ion-segment role="tablist"><ion-segment-button value="works" role="tab">Works</ion-segment-button><ion-segment-button value="events" role="tab">Events</ion-segment-button></ion-segment></ion-header><ion-content><div class="list" data-list="works"></div><div class="list" data-list="events" hidden></div><ion-infinite-scroll threshold="15%"><div class="spinner">…</div></ion-infinite-scroll></ion-content></ion-app><script>
customElements.define('ion-content', class extends HTMLElement { connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<style>:host {display: block; position: absolute; inset: 56px 0 0 0} #background-content {position: absolute; inset: 0; background: #f6f6f6} .inner-scroll {position: absolute; inset: 0; overflow-y: auto; overscroll-behavior-y: contain}</style><div id="background-content" part="background"></div><div class="inner-scroll scroll-y" part="scroll"><slot></slot></div>'; } getScrollElement() { return Promise.resolve(this.shadowRoot.querySelector('.inner-scroll')); } });
customElements.define('ion-segment-button', class extends HTMLElement { connectedCallback() { this.attachShadow({mode: 'open'}).innerHTML = '<style>:host {display: inline-block} button {padding: 16px; cursor: pointer}</style><button type="button" tabindex="-1" class="button-native" part="native"><span class="button-inner"><slot></slot></span></button>'; } });
const state = {works: {page: 0, more: true}, events: {page: 0, more: true}}; let shown = 'works', busy = false;
const load = async () => { const mine = state[shown], list = shown; if (busy || !mine.more) return; busy = true; const a = await (await fetch(`api/feed?list=${list}&page=${++mine.page}`)).json(); document.querySelector(`[data-list=${list}]`).insertAdjacentHTML('beforeend', `<ion-card style="display:block;height:1100px"><img src="${a.picture}" alt=""></ion-card>`); mine.more = a.more; busy = false; document.querySelector('ion-infinite-scroll').hidden = !a.more; };
document.querySelector('ion-segment').addEventListener('click', e => { const b = e.target.closest('ion-segment-button'); if (!b || b.getAttribute('value') === shown) return; shown = b.getAttribute('value'); for (const list of document.querySelectorAll('.list')) list.hidden = list.dataset.list !== shown; if (!state[shown].page) load(); });
document.querySelector('ion-content').getScrollElement().then(el => el.addEventListener('scroll', () => { if (el.scrollHeight - el.scrollTop - el.clientHeight < el.clientHeight * .15) load(); })); load();</script>""",
        head="<style>html, body {height: 100%; overflow: hidden; margin: 0} h1 {display: none} ion-header {position: absolute; top: 0; left: 0; right: 0; height: 56px}</style>",
        parts=("works1", "works2", "works3", "events1"),
        proofs=tuple(
            pattern
            for name, at in (("works", 1), ("works", 2), ("works", 3), ("events", 1))
            for pattern in (rf"api/feed\?list={name}&page={at}", f"475x2{at}-{name}{at}.png")
        ),
        files={"api/feed": _feed},
        acts=(
            Act("wheel", "ion-content", "3000"),
            Act("wheel", "ion-content", "3000"),
            Act("wheel", "ion-content", "3000"),
            click("ion-segment-button[value=events]"),
        ),
    ),
    Feature(
        "uikit-filter",
        "Links without an address show the items of one kind, and the lazy pictures of other kinds are not displayed.",
        whole(
            """<div uk-filter="target: .js-filter; animation: fade"><ul class="uk-subnav uk-subnav-pill"><li class="uk-active" uk-filter-control="[data-tags*='new']"><a href="#">New</a></li><li uk-filter-control="[data-tags*='white']"><a href="#">White ware</a></li><li uk-filter-control="[data-tags*='blue']"><a href="#">Blue ware</a></li></ul><ul class="js-filter uk-child-width-1-2 uk-grid" uk-grid><li data-tags="new"><img src="476x20-new.png" width="476" height="20" loading="lazy" alt=""></li><li data-tags="white" style="display:none"><img src="476x21-white1.png" width="476" height="21" loading="lazy" alt=""></li><li data-tags="white" style="display:none"><img src="476x22-white2.png" width="476" height="22" loading="lazy" alt=""></li><li data-tags="blue" style="display:none"><img src="476x23-blue.png" width="476" height="23" loading="lazy" alt=""></li></ul></div><script>
document.querySelector('[uk-filter]').addEventListener('click', e => { const c = e.target.closest('[uk-filter-control]'); if (!c) return; e.preventDefault(); for (const each of c.parentNode.children) each.classList.toggle('uk-active', each === c); const grid = document.querySelector('.js-filter'); grid.style.opacity = 0; setTimeout(() => { for (const li of grid.children) li.style.display = li.matches(c.getAttribute('uk-filter-control')) ? '' : 'none'; grid.style.opacity = 1; }, 250); });</script>"""
        ),
        head="<style>.uk-subnav {display: flex; gap: 16px; list-style: none} .js-filter {list-style: none; transition: opacity .25s}</style>",
        acts=(click("[uk-filter-control] a >> nth=1"), click("[uk-filter-control] a >> nth=2")),
    ),
    Feature(
        "foundation-drilldown",
        "A menu of three levels shows one level at a time, and its first entry leads back.",
        whole(
            """<div class="is-drilldown" style="width:300px;height:220px"><ul class="vertical menu drilldown" data-drilldown role="tree"><li role="treeitem"><a href="#" data-promo="collections">Collections</a><ul class="menu vertical nested"><li role="treeitem"><a href="#" data-promo="prints">Prints</a><ul class="menu vertical nested"><li role="treeitem"><a href="/foundation-drilldown/prints/woodcuts">Woodcuts</a></li></ul></li><li role="treeitem"><a href="/foundation-drilldown/maps">Maps</a></li></ul></li><li role="treeitem"><a href="#" data-promo="visit">Visit</a><ul class="menu vertical nested"><li role="treeitem"><a href="/foundation-drilldown/hours">Hours</a></li></ul></li></ul></div><script>
for (const a of document.querySelectorAll('[data-promo]')) { const li = a.parentNode, sub = a.nextElementSibling; li.classList.add('is-drilldown-submenu-parent'); li.setAttribute('aria-haspopup', 'true'); sub.classList.add('submenu', 'is-drilldown-submenu', 'invisible'); sub.insertAdjacentHTML('afterbegin', '<li class="js-drilldown-back"><a tabindex="0">Back</a></li>');
  a.addEventListener('click', e => { e.preventDefault(); e.stopPropagation(); sub.classList.remove('invisible'); sub.classList.add('is-active'); li.setAttribute('aria-expanded', 'true'); if (!sub.querySelector(':scope > .promo')) sub.insertAdjacentHTML('beforeend', `<li class="promo"><img src="477x20-${a.dataset.promo}.png" alt=""></li>`); });
  sub.firstChild.addEventListener('click', e => { e.stopPropagation(); sub.classList.remove('is-active'); sub.classList.add('invisible'); li.setAttribute('aria-expanded', 'false'); }); }</script>"""
        ),
        head="<style>.is-drilldown {position: relative; overflow: hidden; border: 1px solid #ccc} .is-drilldown ul {list-style: none; margin: 0; padding: 0; background: #fff} .is-drilldown a {display: block; padding: 10px; cursor: pointer} .is-drilldown-submenu {position: absolute; inset: 0; z-index: 1} .is-drilldown-submenu.invisible {visibility: hidden}</style>",
        parts=("collections", "prints", "visit"),
        proofs=("477x20-collections.png", "477x20-prints.png", "477x20-visit.png"),
        files={name: page(f"<h1>{name}</h1>") for name in ("prints/woodcuts", "maps", "hours")},
        acts=(
            click("[data-promo=collections]"),
            click("[data-promo=prints]"),
            click("[data-promo=prints] + ul > .js-drilldown-back a"),
            click("[data-promo=collections] + ul > .js-drilldown-back a"),
            click("[data-promo=visit]"),
        ),
    ),
    Feature(
        "alpine-template",
        "Attributes say what a click does and when a part is seen, and templates are put in when a condition holds.",
        whole(
            """<section x-data="{ open: false, label: false }"><button type="button" @click="open = ! open" :aria-expanded="open">About this object</button><template x-if="open"><div><img src="478x20-about.png" alt=""><span @click="label = true" class="cursor-pointer">Show the label</span><template x-if="label"><p><img src="478x21-label.png" alt=""></p></template></div></template></section><div style="height:2400px"></div><section x-data="{ near: false, page: 1 }"><div x-intersect.once="near = true" style="height:10px"></div><template x-if="near"><div><img src="478x22-near.png" alt=""></div></template><button type="button" @click="page++">More like this</button><template x-if="page > 1"><img src="478x23-more.png" alt=""></template></section><script>
const scope = el => { for (let at = el; at; at = at.parentElement || at.from) if (at.state) return at; };
const evaluate_ = (code, el, give) => { const at = scope(el); const found = new Function(`with (this) { ${give ? 'return' : ''} (${code}) }`).call(at.state); if (!give) update(at); return found; };
const start = root => { for (const el of [root, ...root.querySelectorAll('*')]) { if (el.hasAttribute('x-data')) el.state = new Function(`return (${el.getAttribute('x-data')})`)(); if (el.hasAttribute('@click')) el.addEventListener('click', () => evaluate_(el.getAttribute('@click'), el)); if (el.hasAttribute('x-intersect.once')) { const io = new IntersectionObserver(es => { if (es[0].isIntersecting) { io.disconnect(); evaluate_(el.getAttribute('x-intersect.once'), el); } }); io.observe(el); } } };
const update = at => { for (const t of at.querySelectorAll('template')) { const on = evaluate_(t.getAttribute('x-if'), t, true); if (on && !t.shown) { t.shown = t.content.cloneNode(true).firstElementChild; t.after(t.shown); start(t.shown); update(at); } else if (!on && t.shown) { t.shown.remove(); t.shown = null; } } for (const b of at.querySelectorAll('[\\\\:aria-expanded]')) b.ariaExpanded = String(!!evaluate_(b.getAttribute(':aria-expanded'), b, true)); };
for (const root of document.querySelectorAll('[x-data]')) { start(root); update(root); }</script>"""
        ),
        head="<style>.cursor-pointer {cursor: pointer}</style>",
        acts=(click("[\\@click='open = ! open']"), click("[\\@click='label = true']"), click("[\\@click='page++']")),
    ),
    Feature(
        "turbo-stream",
        "A form with one button asks for a stream of actions, which append posts and replace the form.",
        whole(
            '<div id="posts"><article id="post_1"><img src="479x21-post1.png" alt=""></article></div><div id="next_page">'
            + _STREAM_FORM.replace("NEXT", "2")
            + """</div><script>
customElements.define('turbo-stream', class extends HTMLElement { connectedCallback() { const target = document.getElementById(this.getAttribute('target')), content = this.querySelector('template').content; if (this.getAttribute('action') === 'append') target.append(content); else target.replaceWith(content); this.remove(); } });
document.addEventListener('submit', async e => { const f = e.target; if (!f.dataset.turboStream) return; e.preventDefault(); f.setAttribute('aria-busy', 'true'); const r = await fetch(`${f.getAttribute('action')}?${new URLSearchParams(new FormData(f))}`, {headers: {accept: 'text/vnd.turbo-stream.html, text/html, application/xhtml+xml'}}); if (r.headers.get('content-type').startsWith('text/vnd.turbo-stream.html')) document.body.insertAdjacentHTML('beforeend', await r.text()); });</script>"""
        ),
        parts=("post1", "post2", "post3"),
        proofs=(r"more\?page=2", r"more\?page=3", *(f"479x2{at}-post{at}.png" for at in (1, 2, 3))),
        files={"more": _stream},
        acts=(click("#next_page button"), click("#next_page button")),
    ),
    Feature(
        "astro-islands",
        "Islands import their modules at once, in an idle moment, in a wide window and when they are seen.",
        whole(
            """<astro-island uid="Z1" component-url="_astro/Header.js" client="only"></astro-island><astro-island uid="Z2" component-url="_astro/Related.js" client="idle"></astro-island><astro-island uid="Z3" component-url="_astro/Aside.js" client="media" opts='{"value": "(min-width: 50em)"}'></astro-island><div style="height:2600px"></div><astro-island uid="Z4" component-url="_astro/Gallery.js" client="visible" ssr><div class="gallery"><button type="button" class="gallery__next">Next picture</button></div></astro-island><script>
const directives = {only: (load, el) => load(), idle: (load, el) => requestIdleCallback(load), media: (load, el) => { const m = matchMedia(JSON.parse(el.getAttribute('opts')).value); m.matches ? load() : m.addEventListener('change', load, {once: true}); }, visible: (load, el) => { const io = new IntersectionObserver(es => { if (es.some(e => e.isIntersecting)) { io.disconnect(); load(); } }); for (const child of el.children) io.observe(child); }};
customElements.define('astro-island', class extends HTMLElement { connectedCallback() { setTimeout(() => directives[this.getAttribute('client')](async () => { const m = await import(new URL(this.getAttribute('component-url'), document.baseURI)); this.removeAttribute('ssr'); m.default(this); }, this)); } });</script>"""
        ),
        parts=("header", "related", "aside", "gallery1", "gallery2"),
        proofs=(
            *(f"_astro/{name}.js" for name in ("Header", "Related", "Aside", "Gallery")),
            "480x20-header.png",
            "480x21-related.png",
            "480x22-aside.png",
            "480x23-gallery1.png",
            "480x24-gallery2.png",
        ),
        files={
            "_astro/Header.js": js("export default el => { el.innerHTML = '<img src=\"480x20-header.png\">'; };"),
            "_astro/Related.js": js("export default el => { el.innerHTML = '<img src=\"480x21-related.png\">'; };"),
            "_astro/Aside.js": js("export default el => { el.innerHTML = '<img src=\"480x22-aside.png\">'; };"),
            "_astro/Gallery.js": js(
                "export default el => { let at = 0; const show = name => { el.querySelector('img')?.remove(); el.querySelector('.gallery').insertAdjacentHTML('afterbegin', `<img src=\"${name}\">`); }; show('480x23-gallery1.png'); el.querySelector('button').onclick = () => show(++at % 2 ? '480x24-gallery2.png' : '480x23-gallery1.png'); };"
            ),
        },
        acts=(_scrolled(".gallery__next"), click(".gallery__next")),
    ),
    Feature(
        "toast-action",
        "A note appears for four seconds when something was kept, and a button in it shows what was kept.",
        whole(
            """<article class="card"><h3>Oak chair</h3><button type="button" class="keep" aria-pressed="false"><svg width="16" height="16" aria-hidden="true"><path d="M8 14L2 8a4 4 0 0 1 6-5 4 4 0 0 1 6 5z" fill="none" stroke="#000"/></svg> Save for later</button></article><aside id="kept"></aside><section aria-label="Notifications alt+T" tabindex="-1" aria-live="polite"></section><script>
const keep = document.querySelector('.keep'), notes = document.querySelector('section[aria-live]');
keep.addEventListener('click', () => { const on = keep.ariaPressed !== 'true'; keep.ariaPressed = String(on); notes.innerHTML = `<ol data-sonner-toaster="true" data-x-position="right" data-y-position="bottom"><li tabindex="0" data-sonner-toast data-mounted="true"><div data-content><div data-title>${on ? 'Saved' : 'Removed'}</div><img src="501x20-note.png" alt=""></div><button type="button" data-button>Show list</button></li></ol>`; const toast = notes.querySelector('li'); let left = 4000, before = performance.now(), over = false;
  toast.onmouseenter = () => { over = true; }; toast.onmouseleave = () => { over = false; }; const tick = now => { if (!over) left -= now - before; before = now; if (left < 0) toast.remove(); else if (toast.isConnected) requestAnimationFrame(tick); }; requestAnimationFrame(tick);
  toast.querySelector('button').onclick = () => { kept.innerHTML = '<h3>My list</h3><img src="501x21-list.png" alt="">'; toast.remove(); }; });</script>"""
        ),
        head="<style>[data-sonner-toaster] {position: fixed; right: 32px; bottom: 32px; width: 520px; list-style: none; background: #fff; border: 1px solid; padding: 12px}</style>",
        acts=(click(".keep"), click("[data-button]")),
    ),
    Feature(
        "view-switcher",
        "Three buttons without text show the works as tiles, as a list and as a table, with other pictures in each.",
        whole(
            """<div class="v-btn-group v-btn-toggle" role="group" aria-label="View"><button type="button" class="v-btn v-btn--active v-btn--icon" value="tiles"><span class="v-btn__overlay"></span><span class="v-btn__content" data-no-activator=""><i class="mdi-view-grid mdi v-icon notranslate" aria-hidden="true"></i></span></button><button type="button" class="v-btn v-btn--icon" value="list"><span class="v-btn__overlay"></span><span class="v-btn__content" data-no-activator=""><i class="mdi-view-list mdi v-icon notranslate" aria-hidden="true"></i></span></button><button type="button" class="v-btn v-btn--icon" value="table"><span class="v-btn__overlay"></span><span class="v-btn__content" data-no-activator=""><i class="mdi-table mdi v-icon notranslate" aria-hidden="true"></i></span></button></div><div id="works"></div><script>
const views = {tiles: n => `<div class="v-card tile"><img src="t/505x2${n}-tiles${n}.png"></div>`, list: n => `<div class="v-list-item"><img src="l/505x3${n}-list${n}.png"></div>`, table: n => `<table><tr><td><img src="s/505x4${n}-table${n}.png"></td></tr></table>`};
const show = view => { works.innerHTML = [1, 2].map(views[view]).join(''); localStorage.setItem('view', view); for (const b of document.querySelectorAll('.v-btn')) b.classList.toggle('v-btn--active', b.value === view); };
document.querySelector('.v-btn-toggle').addEventListener('click', e => { const b = e.target.closest('.v-btn'); if (b) show(b.value); }); show(localStorage.getItem('view') || 'tiles');</script>"""
        ),
        head="<style>.v-btn {width: 48px; height: 48px; position: relative} .v-btn__overlay {position: absolute; inset: 0; opacity: 0; pointer-events: none}</style>",
        parts=tuple(f"{view}{at}" for view in ("tiles", "list", "table") for at in (1, 2)),
        proofs=tuple(
            f"{view[0] if view != 'table' else 's'}/505x{tens}{at}-{view}{at}.png"
            for tens, view in ((2, "tiles"), (3, "list"), (4, "table"))
            for at in (1, 2)
        ),
        acts=(click("[value=list]"), click("[value=table]")),
    ),
    Feature(
        "column-filter",
        "A funnel in the head of a column opens a choice of values, and its button OK asks for the rows.",
        whole(
            """<table class="ant-table"><thead class="ant-table-thead"><tr><th class="ant-table-cell">Object</th><th class="ant-table-cell"><div class="ant-table-filter-column"><span class="ant-table-column-title">Material</span><span role="button" tabindex="-1" class="ant-dropdown-trigger ant-table-filter-trigger"><span role="img" aria-label="filter" class="anticon anticon-filter"><svg viewBox="64 64 896 896" width="1em" height="1em" fill="currentColor" aria-hidden="true"><path d="M349 838c0 17.700 14.200 32 31.800 32h262.400c17.600 0 31.800-14.300 31.800-32V642H349v196zm531-684H144l222 368h292z"/></svg></span></span></div></th></tr></thead><tbody class="ant-table-tbody" id="rows"><tr><td>3 objects</td></tr></tbody></table><script>
const trigger = document.querySelector('.ant-table-filter-trigger'); let drop = null, applied = '', chosen = '';
const list = () => '<ul class="ant-dropdown-menu" role="menu">' + ['clay', 'wood'].map(v => `<li class="ant-dropdown-menu-item${v === chosen ? ' ant-dropdown-menu-item-selected' : ''}" role="menuitem" data-value="${v}"><label class="ant-radio-wrapper"><span class="ant-radio"><input type="radio" class="ant-radio-input" ${v === chosen ? 'checked' : ''}></span></label><span>${v}</span></li>`).join('') + '</ul><div class="ant-table-filter-dropdown-btns"><button type="button" class="ant-btn ant-btn-link ant-btn-sm"><span>Reset</span></button><button type="button" class="ant-btn ant-btn-primary ant-btn-sm"><span>OK</span></button></div>';
const shut = () => { drop.remove(); drop = null; }; trigger.addEventListener('click', () => { if (drop) return shut(); chosen = applied; drop = document.createElement('div'); drop.className = 'ant-dropdown ant-table-filter-dropdown'; drop.innerHTML = list(); const b = trigger.getBoundingClientRect(); drop.style.cssText = `position:absolute;left:${b.left}px;top:${b.bottom + scrollY}px;background:#fff;border:1px solid;padding:8px`; document.body.append(drop);
  drop.addEventListener('click', async e => { e.preventDefault(); const li = e.target.closest('li'), b = e.target.closest('button'); if (li) { chosen = li.dataset.value; drop.innerHTML = list(); } else if (b && b.matches('.ant-btn-link')) { chosen = ''; drop.innerHTML = list(); } else if (b) { shut(); if (chosen !== applied) { applied = chosen; rows.innerHTML = await (await fetch(`rows?material=${chosen}`)).text(); } } }); });</script>"""
        ),
        head="<style>.ant-table-filter-trigger {cursor: pointer; padding: 4px} .ant-dropdown-menu {list-style: none; padding: 0} .ant-dropdown-menu-item {cursor: pointer; padding: 6px}</style>",
        parts=("clay", "wood"),
        proofs=(r"rows\?material=clay", r"rows\?material=wood", "506x20-clay.png", "506x20-wood.png"),
        files={
            "rows": lambda question: html(
                f"<tr class='ant-table-row'><td><img src='506x20-{_asked(question).get('material', 'all')}.png'></td></tr>"
            )
        },
        acts=tuple(
            act
            for value in ("clay", "wood")
            for act in (
                click(".ant-table-filter-trigger"),
                click(f"[data-value={value}]"),
                click(".ant-table-filter-dropdown .ant-btn-primary"),
            )
        ),
    ),
    Feature(
        "tree-table",
        "Rows of a table have rows below them, which small buttons fetch level by level.",
        whole(
            """<p-treetable class="p-treetable p-component"><table role="treegrid"><thead class="p-treetable-thead"><tr><th>Unit</th><th>Cover</th></tr></thead><tbody class="p-treetable-tbody" id="units"></tbody></table></p-treetable><script>
const row = (node, level) => { const tr = document.createElement('tr'); tr.setAttribute('role', 'row'); tr.setAttribute('aria-level', level); tr.dataset.key = node.key; if (!node.leaf) tr.ariaExpanded = 'false'; tr.innerHTML = `<td><button type="button" class="p-treetable-toggler p-treetable-node-toggle-button p-link" tabindex="-1" style="margin-left:${level * 16}px;visibility:${node.leaf ? 'hidden' : 'visible'}"><svg class="p-icon" width="14" height="14" aria-hidden="true"><path d="M4 2l6 5-6 5" fill="none" stroke="#000"/></svg></button><span>${node.key}</span></td><td>${node.picture ? `<img src="${node.picture}" alt="">` : ''}</td>`;
  let below = null; tr.querySelector('button').addEventListener('click', async () => { const open = tr.ariaExpanded !== 'true'; tr.ariaExpanded = String(open); if (!open) { for (let each = tr.nextElementSibling; each && +each.ariaLevel > level; each = each.nextElementSibling) { each.hidden = true; if (each.ariaExpanded) each.ariaExpanded = 'false'; } return; } if (!below) { below = (await (await fetch(`nodes?parent=${node.key}`)).json()).map(n => row(n, level + 1)); tr.after(...below); } for (const each of below) each.hidden = false; }); return tr; };
units.append(row({key: 'fonds'}, 1), row({key: 'maps'}, 1));</script>"""
        ),
        parts=("series", "file", "sheet", "plan"),
        proofs=(
            *(rf"nodes\?parent={name}" for name in ("fonds", "series", "file", "maps")),
            *(f"507x20-{name}.png" for name in ("series", "file", "sheet", "plan")),
        ),
        files={"nodes": _children},
        acts=tuple(click(f"[data-key={key}] button") for key in ("fonds", "series", "file", "maps")),
    ),
    Feature(
        "sort-menu",
        "A button opens a menu of orders, whose entries have no address and fetch the results.",
        whole(
            """<div class="dropdown"><button class="btn btn-secondary dropdown-toggle" type="button" data-bs-toggle="dropdown" aria-expanded="false">Sort: relevance</button><ul class="dropdown-menu"><li><a class="dropdown-item active" href="#" data-sort="relevance">Relevance</a></li><li><a class="dropdown-item" href="#" data-sort="newest">Newest first</a></li><li><a class="dropdown-item" href="#" data-sort="title">Title A–Z</a></li></ul></div><div id="results"></div><script>
const toggle = document.querySelector('.dropdown-toggle'), menu_ = document.querySelector('.dropdown-menu'), show = on => { menu_.classList.toggle('show', on); toggle.ariaExpanded = String(on); };
const load = async sort => { results.innerHTML = await (await fetch(`results?sort=${sort}`, {headers: {'X-Requested-With': 'XMLHttpRequest'}})).text(); };
document.addEventListener('click', e => { if (e.target.closest('.dropdown-toggle')) return show(!menu_.classList.contains('show')); const item = e.target.closest('.dropdown-item'); if (item) { e.preventDefault(); menu_.querySelector('.active').classList.remove('active'); item.classList.add('active'); toggle.textContent = `Sort: ${item.textContent.toLowerCase()}`; load(item.dataset.sort); } show(false); }); load('relevance');</script>"""
        ),
        head="<style>.dropdown {position: relative} .dropdown-menu {display: none; position: absolute; background: #fff; border: 1px solid; list-style: none; padding: 8px; z-index: 1000} .dropdown-menu.show {display: block} .dropdown-item {display: block; padding: 6px}</style>",
        parts=("relevance", "newest", "title"),
        proofs=tuple(
            pattern
            for name in ("relevance", "newest", "title")
            for pattern in (rf"results\?sort={name}", f"509x20-{name}.png")
        ),
        files={
            "results": lambda question: html(f"<ol><li><img src='509x20-{_asked(question)['sort']}.png'></li></ol>")
        },
        acts=(
            click(".dropdown-toggle"),
            click("[data-sort=newest]"),
            click(".dropdown-toggle"),
            click("[data-sort=title]"),
        ),
    ),
)
_SYSTEMS: Final = (
    Feature(
        "wp-query-pages",
        "The links of a query block have real addresses, and a router exchanges the region that they page through.",
        whole(
            _query_region(1)
            + """<script>
const had = new Map(), fetched = url => { if (!had.has(url)) had.set(url, fetch(url).then(r => r.text())); return had.get(url); };
document.addEventListener('mouseenter', e => { const a = e.target.closest?.('[data-wp-on-async--mouseenter]'); if (a) fetched(a.href); }, true);
document.addEventListener('click', async e => { const a = e.target.closest('[data-wp-on--click="core/query::actions.navigate"]'); if (!a || e.metaKey || e.ctrlKey || e.button !== 0) return; e.preventDefault(); const parsed = new DOMParser().parseFromString(await fetched(a.href), 'text/html'); document.querySelector('[data-wp-router-region=query-1]').replaceWith(document.adoptNode(parsed.querySelector('[data-wp-router-region=query-1]'))); history.pushState({}, '', a.href); document.querySelector('.wp-block-query a')?.focus(); });</script>"""
        ),
        parts=("post1", "post2", "post3"),
        proofs=(
            "page/2/",
            "page/3/",
            *(f"wp-content/uploads/2026/481x2{at}-post{at}.png" for at in (1, 2, 3)),
        ),
        files={f"page/{at}/": page(_query_region(at)) for at in (1, 2, 3)},
        acts=(click(".wp-block-query-pagination-next"), click(".wp-block-query-pagination-next")),
    ),
    Feature(
        "browse-panel",
        "Links of a collection's browser open a panel over the page, whose entries narrow the results.",
        whole(
            """<div class="browseTypes"><h4>Browse by</h4><a href="#" class="facet" onclick="caBrowsePanel.show('makers'); return false;">Makers</a> <a href="#" class="facet" onclick="caBrowsePanel.show('places'); return false;">Places</a></div><div id="browseResultsContainer"></div><div id="splashBrowsePanel" class="browseSelectPanel" style="display:none"><a href="#" onclick="caBrowsePanel.hide(); return false;" class="browseSelectPanelButton"><span class="icon-close"></span></a><div id="splashBrowsePanelContent"></div></div><script>
var caBrowsePanel = {show: async function (facet) { splashBrowsePanel.style.display = 'block'; splashBrowsePanelContent.innerHTML = 'Loading…'; splashBrowsePanelContent.innerHTML = await (await fetch('Browse/Objects/getFacet?facet=' + facet, {headers: {'X-Requested-With': 'XMLHttpRequest'}})).text(); }, hide: function () { splashBrowsePanel.style.display = 'none'; }, choose: async function (facet, id) { this.hide(); browseResultsContainer.innerHTML = await (await fetch('Browse/Objects?facet=' + facet + '&id=' + id)).text(); }};</script>"""
        ),
        head="<style>.browseSelectPanel {position: fixed; inset: 60px 80px auto; min-height: 400px; background: #eee; padding: 24px; z-index: 500} .browseSelectPanelButton {float: right; width: 24px; height: 24px; background: #999}</style>",
        parts=("makers", "places", "of-makers", "of-places"),
        proofs=tuple(
            pattern
            for name in ("makers", "places")
            for pattern in (
                rf"Browse/Objects/getFacet\?facet={name}",
                f"482x20-{name}.png",
                rf"Browse/Objects\?facet={name}&id=12",
                f"482x21-of-{name}.png",
            )
        ),
        files={
            "Browse/Objects/getFacet": _facet,
            "Browse/Objects": lambda question: html(
                f"<div class='bResultItem'><img src='482x21-of-{_asked(question)['facet']}.png'></div>"
            ),
        },
        acts=tuple(
            act
            for at in (0, 1)
            for act in (click(f".facet >> nth={at}"), click("#splashBrowsePanelContent .browseSelectPanelListItem a"))
        ),
    ),
    Feature(
        "dspace-files",
        "A repository's page follows links from resource to resource to its files, and a button shows further ones.",
        whole(
            """<ds-item-page-file-section><div class="simple-view-element"><h2 class="simple-view-element-header">Files</h2><div class="file-section"></div><div class="more"></div></div></ds-item-page-file-section><script>
const get = async url => (await fetch(url, {headers: {accept: 'application/json, text/plain, */*', 'X-CORRELATION-ID': '7'}})).json(), section = document.querySelector('.file-section'), more = document.querySelector('.more'); let list = '', at = 0;
const load = async () => { const a = await get(`${list}?page=${at}&size=2&embed=thumbnail`); section.insertAdjacentHTML('beforeend', a._embedded.bitstreams.map(b => `<ds-file-download-link><a class="dont-break-out" target="_self" href="/dspace-files/bitstreams/${b.name}/download"><img class="thumbnail-content" src="${b.thumb}" alt=""> ${b.name}</a></ds-file-download-link>`).join('')); more.innerHTML = (at + 1 < a.page.totalPages ? '<div class="mt-1"><button type="button" class="bg-transparent border-0 btn-link" data-go="1">Show more</button></div>' : '') + (at > 0 ? '<div class="mt-1"><button type="button" class="bg-transparent border-0 btn-link" data-go="0">Collapse</button></div>' : ''); };
more.addEventListener('click', e => { const b = e.target.closest('[data-go]'); if (!b) return; if (b.dataset.go === '1') at++; else { at = 0; section.innerHTML = ''; } load(); });
(async () => { const item = await get('server/api/core/items/7'), bundles = await get(item._links.bundles.href); list = bundles._embedded.bundles.find(b => b.name === 'ORIGINAL')._links.bitstreams.href; load(); })();</script>"""
        ),
        head="<style>.file-section a {display: block}</style>",
        parts=tuple(f"file{at}" for at in range(5)),
        proofs=(
            "server/api/core/items/7",
            "server/api/core/items/7/bundles",
            *(rf"server/api/core/bundles/ORIGINAL/bitstreams\?page={at}&.*" for at in range(3)),
            *(f"server/api/core/bitstreams/483x2{at}-file{at}.png" for at in range(5)),
        ),
        files={
            **{
                f"server/api/core/{name}": _hal
                for name in ("items/7", "items/7/bundles", "bundles/ORIGINAL/bitstreams")
            },
            "bitstreams/*": Reply(b"II*\0leaf", "image/tiff"),
        },
        acts=(click("[data-go='1']"), click("[data-go='1']")),
    ),
    Feature(
        "media-viewer-hash",
        "Thumbnails of an encyclopedia open a viewer by the hash of the address, which asks where the large file is.",
        whole(
            '<div class="mw-content-ltr mw-parser-output">'
            + "".join(
                f'<figure class="mw-default-size" typeof="mw:File/Thumb"><a href="/media-viewer-hash/wiki/File:{name}.jpg" class="mw-file-description"><img src="thumb/120x2{at}-thumb{name}.png" class="mw-file-element" alt="" width="120" height="20"></a><figcaption>{name}</figcaption></figure>'
                for at, name in enumerate(("Loom", "Wheel", "Kiln"))
            )
            + """</div><script>
const titles = [...document.querySelectorAll('.mw-file-description')].map(a => decodeURIComponent(a.pathname.split('/wiki/')[1])); let wrapper = null;
document.addEventListener('click', e => { const a = e.target.closest('.mw-file-description'); if (!a || e.button !== 0 || e.ctrlKey || e.metaKey) return; e.preventDefault(); location.hash = `#/media/${decodeURIComponent(a.pathname.split('/wiki/')[1])}`; });
const route = async () => { const found = /^#\\/media\\/(.+)$/.exec(decodeURIComponent(location.hash)); if (!found) { wrapper?.remove(); wrapper = null; return; } if (!wrapper) { wrapper = document.createElement('div'); wrapper.className = 'mw-mmv-wrapper'; wrapper.innerHTML = '<div class="mw-mmv-main"><div class="mw-mmv-image"></div><button class="mw-mmv-button mw-mmv-close" title="Close this tool (Esc)"></button><button class="mw-mmv-button mw-mmv-next-image" title="Show next image"></button><button class="mw-mmv-button mw-mmv-prev-image" title="Show previous image"></button></div>'; document.body.append(wrapper); }
  const at = titles.indexOf(found[1]); wrapper.querySelector('.mw-mmv-next-image').onclick = () => { location.hash = `#/media/${titles[(at + 1) % titles.length]}`; }; wrapper.querySelector('.mw-mmv-prev-image').onclick = () => { location.hash = `#/media/${titles[(at + titles.length - 1) % titles.length]}`; }; wrapper.querySelector('.mw-mmv-close').onclick = () => { location.hash = '#/'; };
  const a = await (await fetch(`w/api.php?${new URLSearchParams({action: 'query', format: 'json', formatversion: 2, prop: 'imageinfo', titles: found[1], iiprop: 'url|size|mediatype'})}`)).json(), info = a.query.pages[0].imageinfo[0]; wrapper && (wrapper.querySelector('.mw-mmv-image').innerHTML = `<img src="${info.url}" class="mw-mmv-final-image jpg" alt="">`); };
addEventListener('hashchange', route); addEventListener('keydown', e => { if (e.key === 'Escape' && wrapper) location.hash = '#/'; }); route();</script>"""
        ),
        head="<style>.mw-mmv-wrapper {position: fixed; inset: 0; background: #000; z-index: 1000} .mw-mmv-button {position: absolute; width: 48px; height: 48px; border: 0; background: #444} .mw-mmv-close {top: 8px; right: 8px} .mw-mmv-next-image {right: 8px; top: 45%} .mw-mmv-prev-image {left: 8px; top: 45%}</style>",
        parts=("loom", "wheel", "kiln"),
        proofs=(
            *(rf"w/api.php\?.*titles=File%3A{name}.jpg.*" for name in ("Loom", "Wheel", "Kiln")),
            *(f"commons/484x20-{name}.png" for name in ("loom", "wheel", "kiln")),
        ),
        files={"w/api.php": _image_info, "wiki/*": page("<h1>File</h1>")},
        acts=(
            click(".mw-file-description >> nth=0"),
            click(".mw-mmv-next-image"),
            click(".mw-mmv-next-image"),
        ),
    ),
    Feature(
        "quote-expand",
        "The title of a quotation in a forum fetches the whole post, and a button below a post fetches its replies.",
        whole(
            """<article class="topic-post" data-post-id="31"><aside class="quote" data-post="3" data-topic="12" data-username="robin"><div class="title" data-has-quote-controls="true"><div class="quote-controls"><button type="button" class="btn-flat quote-toggle"><svg class="fa d-icon d-icon-chevron-down svg-icon" width="14" height="14" aria-hidden="true"><path d="M2 4l5 6 5-6" fill="none" stroke="#000"/></svg></button></div> robin:</div><blockquote><p>The glaze came off …</p></blockquote></aside><p>I have seen the same.</p><nav class="post-controls"><button type="button" class="btn btn-icon-text show-replies" aria-expanded="false" aria-pressed="false"><span class="d-button-label">2 Replies</span></button><div class="actions"><button type="button" class="btn-icon show-more-actions" title="show more"><svg width="14" height="4" aria-hidden="true"><circle cx="2" cy="2" r="1.500"/><circle cx="7" cy="2" r="1.500"/></svg></button></div></nav><section class="embedded-posts bottom"></section></article><script>
document.querySelector('.quote .title').addEventListener('click', async e => { if (e.target.closest('a')) return; const aside = e.currentTarget.closest('aside'), block = aside.querySelector('blockquote'); if (aside.dataset.expanded) { delete aside.dataset.expanded; block.innerHTML = aside.short; return; } aside.dataset.expanded = 'true'; aside.short = block.innerHTML; const a = await (await fetch(`posts/by_number/${aside.dataset.topic}/${aside.dataset.post}.json`)).json(); if (aside.dataset.expanded) block.innerHTML = a.cooked; });
document.querySelector('.show-replies').addEventListener('click', async e => { const b = e.currentTarget, box = document.querySelector('.embedded-posts'); if (box.firstChild) { box.innerHTML = ''; b.ariaExpanded = 'false'; return; } b.ariaExpanded = 'true'; box.innerHTML = (await (await fetch('posts/31/replies.json?after=1')).json()).map(r => `<div class="reply">${r.cooked}</div>`).join(''); });</script>"""
        ),
        head="<style>.quote .title {cursor: pointer; background: #eee; padding: 8px} .quote-controls {float: right}</style>",
        parts=("quoted", "reply1", "reply2"),
        proofs=(
            "posts/by_number/12/3.json",
            r"posts/31/replies.json\?after=1",
            "485x20-quoted.png",
            "485x21-reply1.png",
            "485x22-reply2.png",
        ),
        files={
            "posts/by_number/12/3.json": data(
                '{"cooked": "<p>The glaze came off.</p><img src=\'485x20-quoted.png\'>"}'
            ),
            "posts/31/replies.json": data(
                '[{"cooked": "<img src=\'485x21-reply1.png\'>"}, {"cooked": "<img src=\'485x22-reply2.png\'>"}]'
            ),
        },
        acts=(click(".quote .title"), click(".show-replies")),
    ),
    Feature(
        "post-translation",
        "Posts of a network are translated by a service when one asks for it, and a gap between them is filled.",
        whole(
            """<div class="item-list" role="feed"></div><script>
const feed = document.querySelector('.item-list'), show = (id, text) => `<article class="status" data-id="${id}"><div class="status__content"><div class="status__content__text" lang="fi">${text}</div><button type="button" class="status__content__translate-button"><span>Translate</span></button></div></article>`;
feed.innerHTML = show(1, '<p>Lehti</p>') + '<button type="button" class="load-more load-gap" aria-label="Load more"><svg class="icon icon-ellipsis-h" width="24" height="24" aria-hidden="true"><circle cx="5" cy="12" r="2"/><circle cx="12" cy="12" r="2"/><circle cx="19" cy="12" r="2"/></svg></button>' + show(2, '<p>Oksa</p>');
feed.addEventListener('click', async e => { const t = e.target.closest('.status__content__translate-button'), gap = e.target.closest('.load-gap'); if (gap) { gap.disabled = true; const a = await (await fetch('api/v1/timelines/public?max_id=2&since_id=1')).json(); gap.outerHTML = a.map(s => `<article class="status">${s.content}</article>`).join(''); }
  if (t) { const post = t.closest('article'), body = post.querySelector('.status__content__text'); if (post.original) { body.innerHTML = post.original; post.original = ''; t.firstChild.textContent = 'Translate'; return; } post.original = body.innerHTML; const a = await (await fetch(`api/v1/statuses/${post.dataset.id}/translate`, {method: 'POST', headers: {'content-type': 'application/json'}, body: '{"lang":"en"}'})).json(); body.innerHTML = `${a.content}<small>Translated by ${a.provider}</small>`; t.firstChild.textContent = 'Show original'; } });</script>"""
        ),
        parts=("translated1", "translated2", "gap"),
        proofs=(
            "api/v1/statuses/1/translate",
            "api/v1/statuses/2/translate",
            r"api/v1/timelines/public\?max_id=2&since_id=1",
            "486x21-translated1.png",
            "486x22-translated2.png",
            "486x20-gap.png",
        ),
        files={
            "api/v1/statuses/1/translate": _translation,
            "api/v1/statuses/2/translate": _translation,
            "api/v1/timelines/public": data('[{"content": "<p>Between</p><img src=\'486x20-gap.png\'>"}]'),
        },
        acts=(
            click("[data-id='1'] .status__content__translate-button"),
            click(".load-gap"),
            click("[data-id='2'] .status__content__translate-button"),
        ),
    ),
    Feature(
        "video-description",
        "The description of a film is unfolded, and has buttons for all chapters and for the words that are spoken.",
        whole(
            """<div id="player" style="width:640px;height:200px;background:#000"></div><ytd-text-inline-expander id="description-inline-expander"><div id="snippet">How a loom is set up. </div><tp-yt-paper-button id="expand" class="button" role="button" tabindex="0" animated elevation="0" aria-disabled="false">...more</tp-yt-paper-button><div id="expanded" hidden></div><tp-yt-paper-button id="collapse" class="button" role="button" tabindex="0" aria-disabled="false" hidden>Show less</tp-yt-paper-button></ytd-text-inline-expander><div id="panels"></div><script>
const q = s => document.querySelector(s), set = open => { q('#expand').hidden = open; q('#collapse').hidden = q('#expanded').hidden = !open; if (open && !q('#expanded').firstChild) q('#expanded').innerHTML = '<ytd-horizontal-card-list-renderer><h3>Chapters</h3><button type="button" class="yt-spec-button-shape-next" data-target="chapters" aria-label="View all"><div class="yt-spec-button-shape-next__button-text-content">View all</div></button><ytd-macro-markers-list-item-renderer><img src="487x21-chapter1.png" alt=""></ytd-macro-markers-list-item-renderer></ytd-horizontal-card-list-renderer><ytd-video-description-transcript-section-renderer><h3>Transcript</h3><button type="button" class="yt-spec-button-shape-next" data-target="transcript" aria-label="Show transcript"><div class="yt-spec-button-shape-next__button-text-content">Show transcript</div></button></ytd-video-description-transcript-section-renderer>'; };
q('#expand').addEventListener('click', () => set(true)); q('#collapse').addEventListener('click', () => set(false));
document.addEventListener('click', async e => { const b = e.target.closest('[data-target]'); if (b) { const kind = b.dataset.target; q('#panels').innerHTML = '<ytd-engagement-panel-section-list-renderer visibility="ENGAGEMENT_PANEL_VISIBILITY_EXPANDED"><div id="visibility-button"><button type="button" aria-label="Close">×</button></div><div id="content"></div></ytd-engagement-panel-section-list-renderer>'; const content = q('#panels #content');
  if (kind === 'chapters') content.innerHTML = '<img src="487x22-chapter2.png" alt=""><img src="487x23-chapter3.png" alt="">'; else { const a = await (await fetch('youtubei/v1/get_transcript?prettyPrint=false', {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({context: {client: {clientName: 'WEB', hl: 'en'}}, params: 'CgtsZWFm'})})).json(); content.innerHTML = a.segments.map(s => `<p>${s.text}</p>`).join(''); proof.add(a.poster, content); } } else if (e.target.closest('#visibility-button')) q('#panels').innerHTML = ''; });</script>"""
        ),
        head="<style>tp-yt-paper-button {display: inline-block; cursor: pointer; font-weight: bold} [hidden] {display: none !important}</style>",
        parts=("chapter1", "chapter2", "chapter3", "transcript"),
        proofs=(
            *(f"487x2{at}-chapter{at}.png" for at in (1, 2, 3)),
            r"youtubei/v1/get_transcript\?prettyPrint=false",
            "487x20-transcript.png",
        ),
        files={
            "youtubei/v1/get_transcript": data(
                '{"segments": [{"text": "First, the warp."}], "poster": "487x20-transcript.png"}'
            )
        },
        acts=(click("#expand"), click("[data-target=chapters]"), click("[data-target=transcript]")),
    ),
    Feature(
        "justified-photos",
        "Photos are laid out in rows of one width by a script, in the size that fits, and further pages follow.",
        whole(
            """<div class="view photo-list-view" style="position:relative"></div><script>
const view = document.querySelector('.photo-list-view'); let at = 0, pages = 1, busy = false, y = 0, row = [];
const sight = new IntersectionObserver(es => es.forEach(e => { if (!e.isIntersecting) return; sight.unobserve(e.target); const i = new Image(); i.onload = () => proof.done('photo' + e.target.dataset.id); i.src = e.target.dataset.src; e.target.append(i); }), {rootMargin: '200px'});
const flush = last => { const ratio = row.reduce((sum, p) => sum + p.w / p.h, 0), height = last ? Math.min(260, view.clientWidth / ratio) : view.clientWidth / ratio; let x = 0; for (const p of row) { const width = height * p.w / p.h, d = document.createElement('div'); d.className = 'view photo-list-photo-view'; d.dataset.id = p.id; d.dataset.src = `photos/${p.id}_${Math.max(width, height) * devicePixelRatio > 320 ? 'b' : 'm'}.png`; d.style.cssText = `position:absolute;left:${x}px;top:${y}px;width:${width}px;height:${height}px;overflow:hidden;background:#eee`; view.append(d); sight.observe(d); x += width; } y += height + 4; row = []; view.style.height = `${y}px`; };
const more = async () => { if (busy || at >= pages) return; busy = true; const a = await (await fetch(`services/rest?method=people.getPhotos&page=${at++}&per_page=5`)).json(); pages = a.pages; for (const p of a.photos) { row.push(p); if (row.reduce((sum, p) => sum + p.w / p.h, 0) > view.clientWidth / 420) flush(false); } if (at >= pages && row.length) flush(true); busy = false; near(); };
const near = () => { if (scrollY + innerHeight * 1.5 > document.body.scrollHeight) more(); }; addEventListener('scroll', near, {passive: true}); more();</script>"""
        ),
        parts=tuple(f"photo{at}" for at in range(15)),
        proofs=(
            *(rf"services/rest\?method=people.getPhotos&page={at}&per_page=5" for at in range(3)),
            *(rf"photos/{at}_[bm].png" for at in range(15)),
        ),
        files={"services/rest": _photos, "photos/*": _photo},
    ),
    Feature(
        "post-dialog",
        "Posts of a grid open over it under an address of their own, and their pictures are turned by an arrow.",
        whole(
            '<div class="_aa-i">'
            + "".join(
                f'<a class="x1i10hfl" href="/post-dialog/p/{code}/" role="link" tabindex="0"><div class="_aagv"><img src="120x4{at}-cover{at}.png" alt="" width="120" height="120"></div><div class="_aagw"></div></a>'
                for at, code in enumerate(("CxLoom", "CxKiln"))
            )
            + """</div><script>
let dialog = null; const home = location.pathname; const shut = () => { dialog?.remove(); dialog = null; document.body.style.overflow = ''; };
const open_ = async code => { const body = new URLSearchParams({av: 0, fb_api_req_friendly_name: 'PostRootQuery', variables: JSON.stringify({shortcode: code}), doc_id: '8845758582119845'}); dialog = document.createElement('div'); dialog.className = 'overlay'; dialog.innerHTML = '<div role="dialog"><article role="presentation"><ul class="_acay"></ul></article></div><div class="corner"><div role="button" tabindex="0" class="shut"><svg aria-label="Close" role="img" width="18" height="18"><title>Close</title><path d="M3 3l12 12M15 3L3 15" stroke="#fff"/></svg></div></div>'; document.body.append(dialog); document.body.style.overflow = 'hidden';
  const items = (await (await fetch('/post-dialog/graphql/query', {method: 'POST', body})).json()).data.items, article = dialog.querySelector('article'), list = article.querySelector('ul'); let at = 0; const draw = () => { list.innerHTML = `<li class="_acaz"><img src="/post-dialog/${items[at]}" alt=""></li>`; for (const b of article.querySelectorAll('button')) b.remove(); if (at > 0) article.insertAdjacentHTML('beforeend', '<button type="button" class="_afxv" aria-label="Go back"><div class="coreSpriteLeftChevron"></div></button>'); if (at < items.length - 1) article.insertAdjacentHTML('beforeend', '<button type="button" class="_afxw" aria-label="Next"><div class="coreSpriteRightChevron"></div></button>'); }; article.onclick = e => { if (e.target.closest('._afxw')) { at++; draw(); } else if (e.target.closest('._afxv')) { at--; draw(); } }; draw();
  dialog.addEventListener('click', e => { if (e.target === dialog || e.target.closest('.shut')) history.back(); }); };
document.addEventListener('click', e => { const a = e.target.closest('a[href*="/p/"]'); if (!a) return; e.preventDefault(); history.pushState({}, '', a.href); open_(a.href.split('/p/')[1].replace('/', '')); }); addEventListener('popstate', () => { if (location.pathname === home) shut(); }); addEventListener('keydown', e => { if (e.key === 'Escape' && dialog) history.back(); });</script>"""
        ),
        head="<style>._aa-i a {position: relative; display: inline-block} ._aagw {position: absolute; inset: 0} .overlay {position: fixed; inset: 0; background: #000a; z-index: 100} [role=dialog] {margin: 80px auto; width: 640px; height: 300px; background: #fff; position: relative} ._afxw, ._afxv {position: absolute; top: 45%; width: 32px; height: 32px; border: 0; background: #aaa} ._afxw {right: 8px} ._afxv {left: 8px} .shut {position: absolute; top: 10px; right: 10px; padding: 8px; cursor: pointer}</style>",
        parts=("loom1", "loom2", "loom3", "kiln1"),
        proofs=(
            Proof("graphql/query", 2),
            *(f"489x2{at}-{name}.png" for at, name in enumerate(("loom1", "loom2", "loom3"))),
            "489x20-kiln1.png",
        ),
        files={"graphql/query": _slides, "p/*": page("<h1>Post</h1>")},
        acts=(
            click("a[href*=CxLoom]"),
            click("._afxw"),
            click("._afxw"),
            click(".shut"),
            click("a[href*=CxKiln]"),
        ),
    ),
    Feature(
        "partial-replies",
        "Elements fetch the replies to a comment when they are clicked, and the related posts when they are seen.",
        whole(
            "<shreddit-comment-tree><shreddit-comment depth='0'><p>First</p>"
            + _PARTIAL.replace("AT", "a1").replace("MORE", "2 more replies")
            + "</shreddit-comment><shreddit-comment depth='0'><p>Second</p>"
            + _PARTIAL.replace("AT", "b1").replace("MORE", "4 more replies")
            + """</shreddit-comment></shreddit-comment-tree><div style="height:2000px"></div><faceplate-partial loading="lazy" src="svc/related"><div class="skeleton" style="height:60px;background:#eee"></div></faceplate-partial><script>
customElements.define('faceplate-partial', class extends HTMLElement { connectedCallback() { if (this.getAttribute('loading') === 'lazy') { this.style.display = 'block'; const io = new IntersectionObserver(es => { if (es.some(e => e.isIntersecting)) { io.disconnect(); this.load(); } }, {rootMargin: '200px'}); io.observe(this); } else this.addEventListener('click', () => this.load(), {once: true}); }
  async load() { const cursor = this.dataset.cursor, init = cursor ? {method: 'POST', body: new URLSearchParams({cursor, csrf_token: '5d0c'})} : {}; const r = await fetch(this.getAttribute('src'), {...init, headers: {accept: 'text/vnd.reddit.partial+html, text/html;q=0.9'}}); this.insertAdjacentHTML('afterend', await r.text()); this.remove(); } });</script>"""
        ),
        parts=("a1", "b1", "b2", "related"),
        proofs=(
            Proof("svc/more-comments", 3),
            "svc/related",
            *(f"490x20-{name}.png" for name in ("a1", "b1", "b2", "related")),
        ),
        files={"svc/more-comments": _more_comments, "svc/related": html("<img src='490x20-related.png'>")},
        acts=(click("[data-cursor=a1] button"), click("[data-cursor=b1] button"), click("[data-cursor=b2] button")),
    ),
)
_SITES: Final = (
    Feature(
        "quick-view",
        "A card of a shop shows a button while the mouse is over it, which opens the product over the list.",
        whole(
            """<ul class="product-grid"><li class="card-wrapper" data-handle="jug"><a href="/quick-view/products/jug" class="full-unstyled-link">Jug</a><quick-add-opener><button type="button" class="quick-add__submit" aria-haspopup="dialog">Quick view</button></quick-add-opener></li><li class="card-wrapper" data-handle="bowl"><a href="/quick-view/products/bowl" class="full-unstyled-link">Bowl</a><quick-add-opener><button type="button" class="quick-add__submit" aria-haspopup="dialog">Quick view</button></quick-add-opener></li></ul><quick-add-modal class="quick-add-modal" hidden><div role="dialog" class="quick-add-modal__content" aria-modal="true"><button type="button" class="quick-add-modal__toggle" aria-label="Close">×</button><div class="quick-add-modal__content-info"></div></div></quick-add-modal><script>
const modal = document.querySelector('quick-add-modal'), info = modal.querySelector('.quick-add-modal__content-info');
document.addEventListener('click', async e => { const b = e.target.closest('.quick-add__submit'); if (b) { const parsed = new DOMParser().parseFromString(await (await fetch(`products/${b.closest('li').dataset.handle}?view=quick`)).text(), 'text/html'); info.replaceChildren(...parsed.querySelector('product-info').children); modal.hidden = false; } else if (e.target === modal || e.target.closest('.quick-add-modal__toggle')) { modal.hidden = true; info.innerHTML = ''; } });</script>"""
        ),
        head="<style>.product-grid {display: flex; gap: 16px; list-style: none} .card-wrapper {width: 220px; height: 160px; background: #f3f3f3} .quick-add__submit {visibility: hidden} .card-wrapper:hover .quick-add__submit {visibility: visible} .quick-add-modal {position: fixed; inset: 0; background: #0006; z-index: 101} .quick-add-modal[hidden] {display: none} .quick-add-modal__content {margin: 60px auto; width: 640px; background: #fff; padding: 20px}</style>",
        parts=("jug", "bowl"),
        proofs=(
            r"products/jug\?view=quick",
            r"products/bowl\?view=quick",
            "491x20-jug.png",
            "491x20-bowl.png",
        ),
        files={
            f"products/{name}": page(
                f"<h1>{name}</h1><product-info><img src='/quick-view/491x20-{name}.png'></product-info>"
            )
            for name in ("jug", "bowl")
        },
        acts=tuple(
            act
            for name in ("jug", "bowl")
            for act in (
                hover(f"[data-handle={name}]"),
                click(f"[data-handle={name}] button"),
                click(".quick-add-modal__toggle"),
            )
        ),
    ),
    Feature(
        "search-this-area",
        "A map of homes that was dragged has a button for the area, and its prices open cards.",
        whole(
            """<div class="map" aria-label="Map of homes" tabindex="0"><div class="map__pane"><div class="map__pins"></div></div><div class="map__controls"></div></div><div id="card"></div><script>
const map_ = document.querySelector('.map'), pane = map_.querySelector('.map__pane'), controls = map_.querySelector('.map__controls'); let middle = 13.5, from = null, shift = 0;
const search = async moved => { const a = await (await fetch(`listings?bbox=${Math.floor(middle - 1)},52,${Math.ceil(middle + 1)},54&zoom=9${moved ? '&moved=true' : ''}`)).json(); controls.innerHTML = ''; pane.querySelector('.map__pins').innerHTML = a.map((l, n) => `<button type="button" class="price-pin" data-id="${l.id}" style="left:${220 + n * 120 - shift}px;top:60px">€ ${l.price}</button>`).join(''); if (moved) proof.add(a[0].cover); };
map_.addEventListener('pointerdown', e => { if (!e.target.closest('button')) { from = e.clientX; map_.setPointerCapture(e.pointerId); } }); map_.addEventListener('pointermove', e => { if (from !== null) pane.style.transform = `translateX(${shift + e.clientX - from}px)`; });
map_.addEventListener('pointerup', e => { if (from === null) return; const by = e.clientX - from; from = null; if (Math.abs(by) < 20) return; shift += by; middle = Math.min(13.7, Math.max(13.3, middle - by / 1000)); controls.innerHTML = '<button type="button" class="search-area">Search this area</button>'; });
map_.addEventListener('click', e => { if (e.target.closest('.search-area')) search(true); const pin = e.target.closest('.price-pin'); if (pin) card.innerHTML = `<img src="492x21-${pin.dataset.id}.png" alt="">`; }); search(false);</script>"""
        ),
        head="<style>.map {position: relative; width: 700px; height: 300px; background: #cde; overflow: hidden; touch-action: none; cursor: grab} .map__pane {position: absolute; inset: 0} .price-pin {position: absolute} .map__controls {position: absolute; top: 12px; left: 0; right: 0; text-align: center; pointer-events: none} .search-area {pointer-events: auto}</style>",
        parts=("area", "attic", "barn"),
        proofs=(
            r"listings\?bbox=12,52,15,54&zoom=9",
            r"listings\?bbox=12,52,15,54&zoom=9&moved=true",
            "492x20-area.png",
            "492x21-attic.png",
            "492x21-barn.png",
        ),
        files={
            "listings": data(
                '[{"id": "attic", "price": 210, "cover": "492x20-area.png"}, {"id": "barn", "price": 340, "cover": "492x20-area.png"}]'
            )
        },
        acts=(
            click("[data-id=attic]"),
            click("[data-id=barn]"),
            Act("drag", ".map", "150"),
            click(".search-area"),
        ),
    ),
    Feature(
        "later-departures",
        "Buttons above and below the connections of a timetable ask for earlier and later ones.",
        whole(
            """<div class="reiseloesung-list-page"><div class="loadEarlier"></div><ul class="verbindung-list"></ul><div class="loadLater"></div></div><script>
const list = document.querySelector('.verbindung-list'), slot = {earlier: document.querySelector('.loadEarlier'), later: document.querySelector('.loadLater')};
const button = (way, reference) => { slot[way].innerHTML = reference ? `<button type="button" class="db-web-button" data-way="${way}" data-reference="${reference}"><span class="db-web-button__icon" aria-hidden="true"></span>${way === 'later' ? 'Later' : 'Earlier'} connections</button>` : ''; };
const load = async (reference, way) => { const a = await (await fetch('web/api/angebote/fahrplan', {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({from: 'A=1@L=8011160@', to: 'A=1@L=8000105@', reference})})).json(); list.insertAdjacentHTML(way === 'earlier' ? 'afterbegin' : 'beforeend', a.connections.map(c => `<li class="verbindung-list__item" data-id="${c.id}"><img src="${c.line}" alt=""><button type="button" class="reiseplan__details" aria-expanded="false">Details</button><div></div></li>`).join('')); if (way !== 'later') button('earlier', a.earlier); if (way !== 'earlier') button('later', a.later); };
document.querySelector('.reiseloesung-list-page').addEventListener('click', async e => { const b = e.target.closest('[data-way]'), d = e.target.closest('.reiseplan__details'); if (b) { b.disabled = true; load(b.dataset.reference, b.dataset.way); } if (d) { const open = d.ariaExpanded !== 'true', box = d.nextElementSibling; d.ariaExpanded = String(open); box.innerHTML = open ? await (await fetch(`web/api/reise/${d.closest('li').dataset.id}`)).text() : ''; } }); load('now', '');</script>"""
        ),
        parts=("now", "earlier1", "later1", "later2", "stops-now"),
        proofs=(
            Proof("web/api/angebote/fahrplan", 4),
            *(f"493x20-{name}.png" for name in ("now", "earlier1", "later1", "later2")),
            "web/api/reise/now",
            "493x21-stops-now.png",
        ),
        files={
            "web/api/angebote/fahrplan": _connections,
            "web/api/reise/*": lambda question: html(
                f"<ol><li><img src='493x21-stops-{question.path.rpartition('/')[2]}.png'></li></ol>"
            ),
        },
        acts=(
            click("[data-way=later]"),
            click("[data-reference=later2]"),
            click("[data-way=earlier]"),
            click("[data-id=now] .reiseplan__details"),
        ),
    ),
    Feature(
        "match-centre",
        "A match is told until its last whistle by answers that name the next one, and has tabs behind the hash.",
        whole(
            """<nav class="match-tabs"><a href="#ticker">Ticker</a> <a href="#lineups">Line-ups</a> <a href="#stats">Statistics</a></nav><div id="panel"></div><ol id="events" reversed></ol><script>
const poll = async url => { const a = await (await fetch(url)).json(); events.insertAdjacentHTML('afterbegin', `<li>${a.minute}′ <img src="${a.picture}" alt=""></li>`); if (a.next) setTimeout(poll, 1200, a.next); }; poll('ticker/4711-1.json');
const show = async () => { const name = location.hash.slice(1); for (const a of document.querySelectorAll('.match-tabs a')) a.setAttribute('aria-current', a.hash === location.hash ? 'page' : 'false'); for (const each of panel.children) each.hidden = each.id !== `tab-${name}`; if (!name || name === 'ticker' || document.getElementById(`tab-${name}`)) return; const tab = document.createElement('section'); tab.id = `tab-${name}`; panel.append(tab); tab.innerHTML = await (await fetch(`fragments/${name}.html`)).text(); }; addEventListener('hashchange', show); show();</script>"""
        ),
        parts=("kick-off", "goal", "whistle", "lineups", "stats"),
        proofs=(
            *(f"ticker/4711-{at}.json" for at in (1, 2, 3)),
            "494x21-kick-off.png",
            "494x22-goal.png",
            "494x23-whistle.png",
            "fragments/lineups.html",
            "fragments/stats.html",
            "494x24-lineups.png",
            "494x25-stats.png",
        ),
        files={
            "ticker/4711-1.json": data('{"minute": 1, "picture": "494x21-kick-off.png", "next": "ticker/4711-2.json"}'),
            "ticker/4711-2.json": data('{"minute": 54, "picture": "494x22-goal.png", "next": "ticker/4711-3.json"}'),
            "ticker/4711-3.json": data('{"minute": 90, "picture": "494x23-whistle.png"}'),
            "fragments/lineups.html": html("<img src='494x24-lineups.png'>"),
            "fragments/stats.html": html("<img src='494x25-stats.png'>"),
        },
        acts=(click("[href='#lineups']"), click("[href='#stats']")),
    ),
    Feature(
        "memory-game",
        "Cards of a learning game are turned by clicks, and show their pictures only while they are face up.",
        whole(
            '<div class="h5p-memory-game" role="application"><ul class="h5p-memory-list">'
            + "".join(
                f'<li class="h5p-memory-wrap h5p-row-break"><div class="h5p-memory-card" role="button" tabindex="0" aria-label="Card {at}: Unturned." data-face="{name}"><div class="h5p-front"></div><div class="h5p-back"></div></div></li>'
                for at, name in enumerate(("leaf", "seed", "root", "oak", "ash", "elm"), 1)
            )
            + """</ul></div><script>
const pairs = {leaf: 'oak', seed: 'ash', root: 'elm', oak: 'leaf', ash: 'seed', elm: 'root'}, won = new Set(); let up = [];
const turn = (card, on) => { card.classList.toggle('h5p-flipped', on); card.querySelector('.h5p-back').innerHTML = on ? `<img src="495x20-${card.dataset.face}.png" alt="">` : ''; };
document.querySelector('.h5p-memory-list').addEventListener('click', e => { const card = e.target.closest('.h5p-memory-card'); if (!card || up.includes(card) || won.has(card)) return; if (up.length === 2) { up.forEach(c => turn(c, false)); up = []; } turn(card, true); up.push(card); if (up.length === 2 && pairs[up[0].dataset.face] === up[1].dataset.face) { up.forEach(c => won.add(c)); up = []; } });</script>"""
        ),
        head="<style>.h5p-memory-list {display: flex; flex-wrap: wrap; gap: 10px; list-style: none; padding: 0} .h5p-memory-card {position: relative; width: 100px; height: 100px; overflow: hidden; cursor: pointer} .h5p-front {position: absolute; inset: 0; background: #47a} .h5p-flipped .h5p-front {display: none}</style>",
        parts=("leaf", "seed", "root", "oak", "ash", "elm"),
        proofs=tuple(f"495x20-{name}.png" for name in ("leaf", "seed", "root", "oak", "ash", "elm")),
        acts=tuple(click(f"[data-face={name}]") for name in ("leaf", "seed", "root", "oak", "ash", "elm")),
    ),
    Feature(
        "responsible-office",
        "A guide of a town asks two questions one after the other, each with radio buttons, and names the office.",
        whole(
            '<div id="guide"><form class="guide" novalidate><fieldset class="govuk-fieldset"><legend>What do you need?</legend>'
            + _radios("what", "A passport", "A parking permit")
            + """</div><script>
document.addEventListener('submit', async e => { const f = e.target; if (!f.matches('.guide')) return; e.preventDefault(); const answers = new FormData(f); if (!f.querySelector(':checked')) { f.querySelector('.govuk-error-summary')?.remove(); f.insertAdjacentHTML('afterbegin', '<div class="govuk-error-summary" role="alert"><h2>There is a problem</h2><p>Select one answer</p></div>'); return; } guide.innerHTML = await (await fetch(`advice?${new URLSearchParams(answers)}`)).text(); });</script>"""
        ),
        parts=("districts", "office"),
        proofs=(
            r"advice\?what=[12]",
            r"advice\?what=[12]&where=[12]",
            "496x20-districts.png",
            "496x21-office.png",
        ),
        files={"advice": _advice},
        acts=(click("#what-1"), click(".guide button"), click("#where-1"), click(".guide button")),
    ),
    Feature(
        "chat-choices",
        "An assistant answers after a moment, and each answer has new buttons for what to say next.",
        whole(
            """<section class="assistant" aria-label="Assistant"><div class="messages" role="log" aria-live="polite"></div><div class="quick-replies"></div></section><script>
const log_ = document.querySelector('.messages'), replies = document.querySelector('.quick-replies'), offer = choices => { replies.innerHTML = choices.map(([payload, title]) => `<button type="button" class="quick-reply" data-payload="${payload}">${title}</button>`).join(''); };
const start = () => { log_.insertAdjacentHTML('beforeend', '<div class="message message--bot">How can I help?</div>'); offer([['opening', 'Opening hours'], ['tickets', 'Tickets'], ['access', 'Accessibility']]); };
replies.addEventListener('click', async e => { const b = e.target.closest('.quick-reply'); if (!b) return; const payload = b.dataset.payload; log_.insertAdjacentHTML('beforeend', `<div class="message message--me">${b.textContent}</div>`); replies.innerHTML = ''; if (payload === 'start') return start(); log_.insertAdjacentHTML('beforeend', '<div class="message typing">…</div>'); const a = await (await fetch('webhooks/rest/webhook', {method: 'POST', headers: {'content-type': 'application/json'}, body: JSON.stringify({sender: 'guest', payload})})).json(); setTimeout(() => { log_.querySelector('.typing').remove(); for (const m of a.messages) log_.insertAdjacentHTML('beforeend', `<div class="message message--bot">${m.text || `<img src="${m.picture}" alt="">`}</div>`); offer([['start', 'Main menu']]); }, 600); }); start();</script>"""
        ),
        parts=("opening", "tickets", "access"),
        proofs=(
            Proof("webhooks/rest/webhook", 3),
            "497x20-opening.png",
            "497x20-tickets.png",
            "497x20-access.png",
        ),
        files={"webhooks/rest/webhook": _said},
        acts=(
            click("[data-payload=opening]"),
            click("[data-payload=start]"),
            click("[data-payload=tickets]"),
            click("[data-payload=start]"),
            click("[data-payload=access]"),
        ),
    ),
    Feature(
        "story-rings",
        "A ring opens the stories of a person, which follow each other by time, and go on with the next person.",
        whole(
            """<ul class="stories-tray"></ul><script>
const users = [['robin', 2], ['wren', 1], ['finch', 1]], tray = document.querySelector('.stories-tray'); tray.innerHTML = users.map(([name], n) => `<li><button type="button" aria-label="Story by ${name}, not seen" data-at="${n}"><canvas width="66" height="66"></canvas><span>${name}</span></button></li>`).join('');
const play = (user, story) => { document.querySelector('.story-viewer')?.remove(); if (user >= users.length) return; const [name, count] = users[user]; if (story >= count) return play(user + 1, 0); const v = document.createElement('section'); v.className = 'story-viewer'; v.innerHTML = `<header><div class="progress"><i></i></div><button type="button" aria-label="Close" class="story-close">×</button></header><img src="498x2${story}-${name}${story}.png" alt="">`; document.body.append(v); v.querySelector('.story-close').onclick = () => v.remove(); v.querySelector('i').onanimationend = () => play(user, story + 1); };
tray.addEventListener('click', e => { const b = e.target.closest('[data-at]'); if (b) { b.ariaLabel = b.ariaLabel.replace('not seen', 'seen'); play(+b.dataset.at, 0); } });</script>"""
        ),
        head="<style>.stories-tray {display: flex; list-style: none} .stories-tray canvas {border-radius: 50%; border: 3px solid #c37} .story-viewer {position: fixed; inset: 0; background: #111; z-index: 200} .progress {height: 3px; background: #555} .progress i {display: block; height: 3px; background: #fff; animation: fill 1.2s linear forwards} @keyframes fill {from {width: 0} to {width: 100%}}</style>",
        parts=("robin0", "robin1", "wren0", "finch0"),
        proofs=("498x20-robin0.png", "498x21-robin1.png", "498x20-wren0.png", "498x20-finch0.png"),
        acts=(click("[data-at='0']"),),
    ),
    Feature(
        "timeline-slides",
        "A timeline reads its events, shows the media of one at a time, and is turned by an arrow at its side.",
        whole(
            """<div id="timeline-embed" class="tl-timeline" tabindex="0"></div><script>
(async () => { const tl = document.getElementById('timeline-embed'), {events} = await (await fetch('timeline.json')).json(); tl.innerHTML = '<div class="tl-storyslider"><div class="tl-slider-container"></div><div class="tl-slidenav-previous"><div class="tl-slidenav-content-container"><div class="tl-slidenav-icon"></div><div class="tl-slidenav-title"></div></div></div><div class="tl-slidenav-next"><div class="tl-slidenav-content-container"><div class="tl-slidenav-icon"></div><div class="tl-slidenav-title"></div></div></div></div><div class="tl-timenav">' + events.map((e, n) => `<div class="tl-timemarker" tabindex="0" data-n="${n}" style="left:${n * 130 + 20}px"><div class="tl-timemarker-content-container"><h2 class="tl-headline">${e.headline}</h2></div></div>`).join('') + '</div>'; let at = 0; const q = s => tl.querySelector(s);
  const go = n => { at = n; q('.tl-slidenav-previous').style.display = n ? '' : 'none'; q('.tl-slidenav-next').style.display = n < events.length - 1 ? '' : 'none'; if (events[n + 1]) q('.tl-slidenav-next .tl-slidenav-title').textContent = events[n + 1].headline; if (events[n - 1]) q('.tl-slidenav-previous .tl-slidenav-title').textContent = events[n - 1].headline; for (const m of tl.querySelectorAll('.tl-timemarker')) m.classList.toggle('tl-timemarker-active', +m.dataset.n === n); q('.tl-slider-container').innerHTML = `<div class="tl-slide"><h2>${events[n].headline}</h2><div class="tl-media"></div></div>`; setTimeout(() => { if (at === n) q('.tl-media').innerHTML = `<img class="tl-media-item tl-media-image" src="${events[n].media.url}" alt="">`; }, 200); };
  tl.addEventListener('click', e => { const m = e.target.closest('.tl-timemarker'); if (e.target.closest('.tl-slidenav-next')) go(at + 1); else if (e.target.closest('.tl-slidenav-previous')) go(at - 1); else if (m) go(+m.dataset.n); }); go(0); })();</script>"""
        ),
        head="<style>.tl-storyslider {position: relative; height: 220px; padding: 0 120px; background: #fafafa} .tl-slidenav-next, .tl-slidenav-previous {position: absolute; top: 60px; width: 100px; cursor: pointer} .tl-slidenav-next {right: 0} .tl-slidenav-previous {left: 0} .tl-timenav {position: relative; height: 80px; background: #ddd} .tl-timemarker {position: absolute; width: 110px; cursor: pointer} .tl-headline {font-size: 13px}</style>",
        parts=("founded", "burnt", "rebuilt", "today"),
        proofs=(
            "timeline.json",
            *(f"499x2{at}-{name}.png" for at, name in enumerate(("founded", "burnt", "rebuilt", "today"))),
        ),
        files={
            "timeline.json": data(
                json.dumps(
                    {
                        "events": [
                            {"headline": f"{year}: {name}", "media": {"url": f"499x2{at}-{name}.png"}}
                            for at, (year, name) in enumerate(
                                ((1851, "founded"), (1899, "burnt"), (1903, "rebuilt"), (2026, "today"))
                            )
                        ]
                    }
                )
            )
        },
        acts=(click("[data-n='0']"), *(click(".tl-slidenav-next"),) * 3),
    ),
    Feature(
        "place-sheet",
        "Points of a map open a sheet at the lower edge, and its handle draws the sheet up to the reviews.",
        whole(
            """<div class="places"><button type="button" class="poi" aria-label="Old mill" data-place="mill" style="left:80px"></button><button type="button" class="poi" aria-label="Ford" data-place="ford" style="left:260px"></button><div class="vaul-slot"></div></div><script>
const slot = document.querySelector('.vaul-slot');
document.querySelector('.places').addEventListener('click', async e => { const poi = e.target.closest('.poi'), handle = e.target.closest('[data-vaul-handle]'); if (poi) { const name = poi.dataset.place; slot.innerHTML = `<div role="dialog" data-vaul-drawer data-vaul-drawer-direction="bottom" data-state="open" data-snap="0" tabindex="-1"><div data-vaul-handle aria-hidden="true" data-vaul-drawer-visible="true"><span data-vaul-handle-hitarea aria-hidden="true"></span></div><h3>${poi.ariaLabel}</h3><img src="500x20-${name}.png" alt=""><div class="reviews" data-of="${name}"></div></div>`; }
  if (handle) { const drawer = handle.parentNode, full = drawer.dataset.snap === '0'; drawer.dataset.snap = full ? '1' : '0'; const box = drawer.querySelector('.reviews'); if (full && !box.firstChild) box.innerHTML = await (await fetch(`places/${box.dataset.of}/reviews.html`)).text(); } });</script>"""
        ),
        head="<style>.places {position: relative; width: 640px; height: 440px; background: #dec; overflow: hidden} .poi {position: absolute; top: 30px; width: 32px; height: 32px; border-radius: 50%; background: #c33} [data-vaul-drawer] {position: absolute; left: 0; right: 0; bottom: 0; height: 40%; background: #fff; transition: height .3s; overflow-y: auto} [data-vaul-drawer][data-snap='1'] {height: 78%} [data-vaul-handle] {width: 60px; height: 12px; margin: 6px auto; background: #bbb; border-radius: 6px; cursor: pointer}</style>",
        parts=("mill", "ford", "reviews-mill", "reviews-ford"),
        proofs=tuple(
            pattern
            for name in ("mill", "ford")
            for pattern in (f"500x20-{name}.png", f"places/{name}/reviews.html", f"500x21-reviews-{name}.png")
        ),
        files={
            f"places/{name}/reviews.html": html(f"<p>Fine.</p><img src='500x21-reviews-{name}.png'>")
            for name in ("mill", "ford")
        },
        acts=tuple(
            act for name in ("mill", "ford") for act in (click(f"[data-place={name}]"), click("[data-vaul-handle]"))
        ),
    ),
    Feature(
        "shelf-arrows",
        "Shelves of films show grey boxes until their titles arrive, and an arrow turns a shelf under the mouse.",
        whole(
            '<div class="lolomo">'
            + "".join(
                f'<div class="lolomoRow" id="row-{name}" data-row="{name}"><h2>{name}</h2><div class="rowContainer"><div class="skeleton"></div></div></div>'
                for name in ("new", "nature", "short")
            )
            + """</div><script>
const fill = async row => { const box = row.querySelector('.rowContainer'), pages = await (await fetch(`pathEvaluator?row=${row.dataset.row}`)).json(); let at = 0; const draw = () => { box.innerHTML = `<div class="sliderContent"><div class="slider-item slider-item-0"><a href="/shelf-arrows/title/${row.dataset.row}${at}"><img class="boxart-image" src="${pages[at]}" alt=""></a></div></div>` + (at ? '<span class="handle handlePrev active" tabindex="0" role="button" aria-label="See previous titles"><b class="indicator-icon icon-leftCaret"></b></span>' : '') + (at < pages.length - 1 ? '<span class="handle handleNext active" tabindex="0" role="button" aria-label="See more titles"><b class="indicator-icon icon-rightCaret"></b></span>' : ''); }; box.onclick = e => { if (e.target.closest('.handleNext')) { at++; draw(); } else if (e.target.closest('.handlePrev')) { at--; draw(); } }; draw(); };
const io = new IntersectionObserver(es => es.forEach(e => { if (e.isIntersecting) { io.unobserve(e.target); fill(e.target); } })); for (const row of document.querySelectorAll('.lolomoRow')) io.observe(row);</script>"""
        ),
        head="<style>.lolomoRow {height: 640px} .rowContainer {position: relative; height: 140px} .skeleton {height: 140px; background: linear-gradient(90deg, #eee, #ddd, #eee)} .handle {position: absolute; top: 0; bottom: 0; width: 60px; background: #0006; opacity: 0; cursor: pointer} .handleNext {right: 0} .handlePrev {left: 0} .rowContainer:hover .handle {opacity: 1}</style>",
        parts=tuple(f"{name}{at}" for name in ("new", "nature", "short") for at in (0, 1)),
        proofs=tuple(
            pattern
            for name in ("new", "nature", "short")
            for pattern in (
                rf"pathEvaluator\?row={name}",
                f"502x20-{name}0.png",
                f"502x21-{name}1.png",
            )
        ),
        files={
            "pathEvaluator": lambda question: Reply(
                json.dumps([f"502x2{at}-{_asked(question)['row']}{at}.png" for at in (0, 1)]),
                "application/json",
                wait_seconds=0.5,
            ),
            "title/*": page("<h1>Film</h1>"),
        },
        acts=tuple(
            act
            for name in ("new", "nature", "short")
            for act in (
                _scrolled(f"#row-{name}"),
                hover(f"#row-{name} .slider-item"),
                click(f"#row-{name} .handleNext"),
            )
        ),
    ),
    Feature(
        "blur-up",
        "Pictures become sharp in three steps: a tiny one at once, a middle one when near, and the full one when seen.",
        whole(
            "".join(
                f'<div class="gatsby-image-wrapper" style="height:300px;margin-bottom:1100px" data-full="503x2{at}-full{at}.png" data-middle="503x3{at}-middle{at}.png"><img aria-hidden="true" data-placeholder-image src="tiny/20x1{at}-tiny{at}.png" alt=""></div>'
                for at in (1, 2, 3)
            )
            + """<script>
const put = async (box, src, old) => { const i = new Image(); i.dataset.mainImage = ''; i.style.opacity = 0; i.src = src; box.append(i); await i.decode(); requestAnimationFrame(() => { i.style.opacity = 1; old.style.opacity = 0; }); return i; };
for (const box of document.querySelectorAll('.gatsby-image-wrapper')) { let middle; const start = () => middle ??= put(box, box.dataset.middle, box.firstElementChild), near = new IntersectionObserver(es => { if (es.some(e => e.isIntersecting)) { near.disconnect(); start(); } }, {rootMargin: '300px'}), seen = new IntersectionObserver(es => { if (!es.some(e => e.isIntersecting)) return; seen.disconnect(); start().then(old => requestIdleCallback(() => put(box, box.dataset.full, old))); }, {threshold: [.25, .5, .75, 1]}); near.observe(box); seen.observe(box); }</script>"""
        ),
        head="<style>.gatsby-image-wrapper {position: relative} .gatsby-image-wrapper img {position: absolute; inset: 0; transition: opacity .4s}</style>",
        acts=tuple(_scrolled(f"[data-full*=full{at}]") for at in (1, 2, 3)),
    ),
    Feature(
        "count-up",
        "Numbers count up when they are seen, boxes slide in, and each has its picture at the end of its animation.",
        whole(
            "".join(
                f'<div style="height:1200px"></div><div class="stat" data-target="{target}" data-name="{name}"><span class="stat__number">0</span> {name}</div><div data-aos="fade-up" data-name="{name}-box"></div>'
                for target, name in ((120, "visitors"), (45, "loans"))
            )
            + """<script>
const once = (els, act) => { const io = new IntersectionObserver(es => es.forEach(e => { if (e.isIntersecting) { io.unobserve(e.target); act(e.target); } }), {threshold: 0.1}); els.forEach(el => io.observe(el)); };
const after = el => el.insertAdjacentHTML('beforeend', `<img src="504x20-${el.dataset.name}.png" alt="">`);
once(document.querySelectorAll('.stat'), el => { let began; const step = now => { began ??= now; const part = Math.min(1, (now - began) / 1500); el.firstElementChild.textContent = Math.round(el.dataset.target * (1 - (1 - part) ** 3)); if (part < 1) requestAnimationFrame(step); else after(el); }; requestAnimationFrame(step); });
once(document.querySelectorAll('[data-aos]'), el => { el.classList.add('aos-init', 'aos-animate'); el.addEventListener('transitionend', () => after(el), {once: true}); });</script>"""
        ),
        head="<style>.stat, [data-aos] {min-height: 80px} [data-aos] {opacity: 0; transform: translate3d(0, 60px, 0); transition: opacity .6s, transform .6s} [data-aos].aos-animate {opacity: 1; transform: none}</style>",
        parts=("visitors", "visitors-box", "loans", "loans-box"),
        proofs=tuple(f"504x20-{name}.png" for name in ("visitors", "visitors-box", "loans", "loans-box")),
    ),
    Feature(
        "try-again",
        "A part of a page can't be fetched at first, and says so with a button that tries again.",
        whole(
            """<section class="recommendations" aria-busy="true"></section><script>
const section = document.querySelector('.recommendations');
const load = async () => { section.innerHTML = '<div class="spinner" role="status">Loading …</div>'; try { const r = await fetch('api/recommendations'); if (!r.ok) throw new Error(r.status); section.innerHTML = (await r.json()).map(i => `<img src="${i.picture}" alt="">`).join(''); section.ariaBusy = 'false'; } catch { section.innerHTML = '<div role="alert" class="error-boundary"><p>Something went wrong.</p><button type="button" class="btn-retry">Try again</button></div>'; } };
section.addEventListener('click', e => { if (e.target.closest('.btn-retry')) load(); }); load();</script>"""
        ),
        parts=("suggested",),
        proofs=("api/recommendations", "508x20-suggested.png"),
        files={"api/recommendations": _flaky},
        acts=(click(".btn-retry"),),
    ),
)
VISITORS: Final = (*_LIBRARIES, *_SYSTEMS, *_SITES)
