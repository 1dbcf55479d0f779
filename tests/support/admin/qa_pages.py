"""Both sides of a page for tests of judgements: the capture, and what a visit in replay saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from admin.qa.judging.captured_page import CapturedPage
from archive.dates import parse_date
from browsers.engines.traffic import AskedExchange, BrowserRequest, MainAnswer
from browsers.ghosts.page import PageSnapshot
from browsers.ghosts.replay_visit import ReplayedPage
from browsers.page_quality.probe import PageProbe

URL = "http://a.test/"
AT = parse_date("20261126080000")
GOOD = MainAnswer(URL, 200, {})


def captured_page(
    *,
    view: bytes | None = None,
    text: str | None = None,
    urls: Mapping[str, Mapping[str, Any]] | None = None,
    status: int = 200,
    links: Sequence[str] | None = None,
    **note: Any,
) -> CapturedPage:
    """What the crawl kept of the page."""
    told = {
        "status": status,
        "finalUrl": URL,
        "urls": urls or {},
        "viewport": {"width": 640, "height": 512},
        "scale": 1.0,
        **note,
    }
    known = frozenset(links) if links is not None else None
    return CapturedPage(URL, "page", AT, told, view=view, text=text, links=known)


def replayed(
    *,
    view: bytes | None = None,
    text: str | None = None,
    main: MainAnswer = GOOD,
    missing: Sequence[str] = (),
    good: Sequence[str] = (),
    notes: Sequence[str] = (),
    final_url: str = URL,
    password_fields: int = 0,
    links: Sequence[str] = (),
    errors: Sequence[str] = (),
) -> ReplayedPage:
    """What a ghost saw of the page in replay."""
    probe = PageProbe(password_fields=password_fields)
    snapshot = PageSnapshot(main=main, final_url=final_url, view=view, text=text, probe=probe, notes=list(notes))
    snapshot.dom = "<html></html>"
    snapshot.links = [(url, "a/@href") for url in links]
    snapshot.errors = [{"text": text, "count": 1} for text in errors]
    asked = [_asked(url, 404, {"ghostfleet-replay": "miss"}) for url in missing]
    page = AskedExchange(BrowserRequest(URL, "GET", "document", is_main=True), AT, main.status, main.headers)
    return ReplayedPage(snapshot, (page, *asked, *(_asked(url, 200, {}) for url in good)))


def _asked(url: str, status: int, headers: Mapping[str, str]) -> AskedExchange:
    kind = "stylesheet" if url.endswith(".css") else "image"
    return AskedExchange(BrowserRequest(url, "GET", kind), AT, status, headers)
