"""The records that a ghost's visit leaves beside the captures. Pure.

| record | type | content |
|---|---|---|
| `urn:view:<url>` | resource, image/png | the window after the page settled, before behaviours |
| `urn:viewAfterConsent:<url>` | resource, image/png | the window after consent, when something asked for it |
| `urn:thumbnail:<url>` | resource, image/jpeg | the later one of these views, 640 pixels wide |
| `urn:volatile:<url>` | resource, image/png | a mask of this window: white where the page changes by itself |
| `urn:fullPage:<url>` | resource, image/png | the whole page before behaviours |
| `urn:fullPageFinal:<url>` | resource, image/png | the whole page after behaviours, when these changed it |
| `urn:text:<url>` | resource, text/plain | the text that a reader sees before behaviours |
| `urn:textFinal:<url>` | resource, text/plain | the text after behaviours, when it is another one |
| `urn:dom:<url>` | resource, text/html | the DOM after behaviours, serialised |
| `urn:har:<url>`, `urn:pdf:<url>`, `urn:imageMap:<url>` | resource | by setting |
| `<url>` | metadata, application/warc-fields | the links found, a line each, as Heritrix writes them |
| `urn:pageinfo:<url>` | resource, application/json | what the page asked for, what was kept, how the visit went |

Webrecorder's programs gave the names of view, thumbnail, fullPage, text, pdf and pageinfo, so its viewers show these
records. By setting, some records have the names of brozzler or of UKWA's renderer as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Final

from archive.dates import Micros, iso_date
from archive.json_text import compact_json
from archive.settings import BrowserSettings
from browsers.behaviors.outcomes import BehaviorEnd, BehaviorOutcome
from browsers.engines.pictures import (
    SMALL_THUMBNAIL_WIDTH,
    WEBRECORDER_THUMBNAIL_WIDTH,
    as_jpeg,
    is_of_one_colour,
    thumbnail,
)
from browsers.engines.traffic import AskedExchange, PageRequest
from browsers.ghosts.page import PageSnapshot
from browsers.page_quality.flaws import MAX_DOM, MAX_URLS, PageEvidence, PageFlaw, PageFlawType
from browsers.page_records.comparison import TrafficComparison, compare
from browsers.page_records.har import har_of
from browsers.page_records.image_map import image_map
from browsers.page_records.page_info import asked_urls, comparison_json, redirect_chain
from browsers.proxying.control_client import RecordType, SessionExchanges
from browsers.visit import FoundLink, VisitOrder

_TEXT: Final = "text/plain; charset=utf-8"
_HTML: Final = "text/html; charset=utf-8"


@dataclass(frozen=True, slots=True)
class PageRecord:
    """A record is written beside the captures of a page."""

    kind: RecordType
    uri: str
    content_type: str
    block: bytes


@dataclass(frozen=True, slots=True)
class PageVisit:
    """A finished visit has the order, the snapshot, and the requests of the page."""

    order: VisitOrder
    page_id: str
    began: Micros
    snapshot: PageSnapshot
    asked: Mapping[str, PageRequest]
    requests: int
    browser: str
    width: int
    height: int
    scale: float = 1.0
    """Device pixels for each CSS pixel of the window. Pictures have one pixel for each CSS pixel."""
    exchanges: Sequence[AskedExchange] = ()
    """The first requests of the page, in their order."""
    random_seed: int = 0
    """The seed of the page's random numbers (`browsers.ghosts.page_random`)."""
    flaws: tuple[PageFlaw, ...] = ()
    """Signs that the page is not what its URL promises."""
    is_logged_out: bool = False
    """True if the page does not show the login that it should show."""
    unrecorded: tuple[str, ...] = ()
    """Names of the request headers whose values no record may have."""

    @property
    def window(self) -> dict[str, Any]:
        """Return the size and scale of the window, for the JSON metadata of the records."""
        return {"viewport": {"width": self.width, "height": self.height}, "scale": self.scale}


def derived_records(
    page_visit: PageVisit, links: tuple[FoundLink, ...], settings: BrowserSettings
) -> Iterator[PageRecord]:
    """Yield the records of one visit that the settings ask for, except the page information."""
    snapshot, url, wanted = page_visit.snapshot, page_visit.order.url, settings.page_records
    if snapshot.view is not None:
        if "view" in wanted:
            yield PageRecord("resource", f"urn:view:{url}", "image/png", snapshot.view)
        if snapshot.view_after_consent is not None and "view-after-consent" in wanted:
            yield PageRecord("resource", f"urn:viewAfterConsent:{url}", "image/png", snapshot.view_after_consent)
        if "thumbnail" in wanted:
            small = thumbnail(snapshot.view_after_consent or snapshot.view, WEBRECORDER_THUMBNAIL_WIDTH)
            yield PageRecord("resource", f"urn:thumbnail:{url}", "image/jpeg", small)
    if snapshot.volatile is not None and "volatile" in wanted:
        yield PageRecord("resource", f"urn:volatile:{url}", "image/png", snapshot.volatile)
    if snapshot.full_page is not None and "full-page" in wanted:
        yield PageRecord("resource", f"urn:fullPage:{url}", "image/png", snapshot.full_page)
    if snapshot.full_page_final is not None and "full-page-final" in wanted:
        yield PageRecord("resource", f"urn:fullPageFinal:{url}", "image/png", snapshot.full_page_final)
    if snapshot.text and "text" in wanted:
        yield PageRecord("resource", f"urn:text:{url}", _TEXT, _utf8(snapshot.text))
    if snapshot.text_final and "text-final" in wanted:
        yield PageRecord("resource", f"urn:textFinal:{url}", _TEXT, _utf8(snapshot.text_final))
    if snapshot.dom is not None and "dom" in wanted:
        yield PageRecord("resource", f"urn:dom:{url}", _HTML, _utf8(snapshot.dom))
    yield from _by_wish(page_visit, settings)
    if links and "links" in wanted:
        lines = "".join(f"outlink: {link.url} {link.hop} {link.context}\r\n" for link in links)
        yield PageRecord("metadata", url, "application/warc-fields", lines.encode())


def page_info_record(page_visit: PageVisit, links: tuple[FoundLink, ...], kept: SessionExchanges) -> PageRecord:
    """Return `urn:pageinfo:`. The caller writes it last, so that its presence shows that all records are there."""
    info = _page_info(page_visit, links, kept, compare(page_visit.exchanges, kept))
    return PageRecord("resource", f"urn:pageinfo:{page_visit.order.url}", "application/json", _utf8(compact_json(info)))


def evidence_of(page_visit: PageVisit) -> PageEvidence:
    """Return what is known of the page, for the rules that look for flaws."""
    snapshot = page_visit.snapshot
    text = snapshot.text_final or snapshot.text
    picture = snapshot.full_page_final or snapshot.full_page or snapshot.view
    return PageEvidence(
        url=page_visit.order.url,
        final_url=snapshot.final_url,
        status=snapshot.main.status if snapshot.main else 0,
        headers=snapshot.main.headers if snapshot.main else {},
        title=snapshot.title,
        text=text or "",
        dom=(snapshot.dom or "")[:MAX_DOM],
        urls=tuple(islice(page_visit.asked, MAX_URLS)),
        password_fields=snapshot.probe.password_fields,
        has_age_question=snapshot.has_age_question,
        covered_by=snapshot.probe.covered_by,
        is_of_one_colour=text is not None and not text.strip() and picture is not None and is_of_one_colour(picture),
        is_rendered=text is not None,
    )


def budget_flaws(outcomes: Sequence[BehaviorOutcome]) -> tuple[PageFlaw, ...]:
    """Return a flaw for each behaviour that gave up controls for its budget. The last outcome of each counts."""
    last = {outcome.id: outcome for outcome in outcomes}
    return tuple(
        PageFlaw(PageFlawType.BUDGET, outcome.id, outcome.detail)
        for outcome in last.values()
        if outcome.ended is BehaviorEnd.BUDGET
    )


def _by_wish(page_visit: PageVisit, settings: BrowserSettings) -> Iterator[PageRecord]:
    """Yield HAR, PDF and image map under Webrecorder's kind of names, and records under the names of others."""
    snapshot, url, names = page_visit.snapshot, page_visit.order.url, settings.record_names
    whole = snapshot.full_page_final or snapshot.full_page
    made: list[tuple[str, str, str, bytes]] = []
    if "har" in settings.page_records:
        made.append(("urn:har:", "har:", "application/json", _har(page_visit)))
    if snapshot.pdf is not None:
        made.append(("urn:pdf:", "pdf:", "application/pdf", snapshot.pdf))
    if "image-map" in settings.page_records and whole is not None:
        areas = _utf8(image_map(whole, "image/png", url, snapshot.areas))
        made.append(("urn:imageMap:", "imagemap:", _HTML, areas))
    for ours, ukwas, content_type, block in made:
        yield PageRecord("resource", f"{ours}{url}", content_type, block)
        if "ukwa" in names:
            yield PageRecord("resource", f"{ukwas}{url}", content_type, block)
    if "ukwa" in names and snapshot.dom is not None:
        yield PageRecord("resource", f"onreadydom:{url}", _HTML, _utf8(snapshot.dom))
    if names and whole is not None:
        is_jpeg = "brozzler" in names
        block, content_type = (as_jpeg(whole), "image/jpeg") if is_jpeg else (whole, "image/png")
        yield PageRecord("resource", f"screenshot:{url}", content_type, block)
    if names and snapshot.view is not None:
        small = thumbnail(snapshot.view_after_consent or snapshot.view, SMALL_THUMBNAIL_WIDTH)
        yield PageRecord("resource", f"thumbnail:{url}", "image/jpeg", small)


def _har(page_visit: PageVisit) -> bytes:
    log = har_of(
        page_visit.exchanges,
        page_id=page_visit.page_id,
        url=page_visit.order.url,
        title=page_visit.snapshot.title,
        began=page_visit.began,
        loaded=page_visit.snapshot.loaded,
        browser=page_visit.browser,
        unrecorded=page_visit.unrecorded,
    )
    return _utf8(compact_json(log))


def _page_info(
    page_visit: PageVisit, links: tuple[FoundLink, ...], kept: SessionExchanges, comparison: TrafficComparison
) -> dict[str, object]:
    snapshot = page_visit.snapshot
    scroll = snapshot.behaviors.scroll
    urls = asked_urls(page_visit.exchanges, kept.exchanges)
    failed = sum(1 for entry in urls.values() if entry.get("error") or entry["status"] >= 400)
    return {
        "pageid": page_visit.page_id,
        "url": page_visit.order.url,
        "finalUrl": snapshot.final_url,
        "ts": iso_date(kept.page_date if kept.page_date is not None else page_visit.began),
        "title": snapshot.title,
        "status": snapshot.main.status if snapshot.main else 0,
        "chain": redirect_chain(page_visit.exchanges),
        "urls": urls,
        "counts": {"requests": page_visit.requests, "urls": len(urls), "failed": failed, "links": len(links)},
        "proxy": comparison_json(comparison),
        "scroll": {"steps": scroll.steps, "height": scroll.height, "ended": scroll.ended},
        "behaviors": [_outcome(outcome) for outcome in snapshot.behaviors.outcomes],
        **page_visit.window,
        "randomSeed": page_visit.random_seed,
        "browser": page_visit.browser,
        "boxes": snapshot.boxes,
        **({"errors": snapshot.errors} if snapshot.errors is not None else {}),
        "notes": snapshot.notes,
        "flaws": [
            {"type": flaw.type.value, "rule": flaw.rule} | ({"detail": flaw.detail} if flaw.detail else {})
            for flaw in page_visit.flaws
        ],
    }


def _outcome(outcome: BehaviorOutcome) -> dict[str, Any]:
    """Return an outcome for the page information. Controls that were given up stand there when there are some."""
    told = asdict(outcome)
    given_up = told.pop("given_up")
    return told | ({"givenUp": list(given_up)} if given_up else {})


def _utf8(text: str) -> bytes:
    """Return the text as UTF-8. Lone surrogates of a page become question marks."""
    return text.encode("utf-8", "replace")
