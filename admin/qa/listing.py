"""Find the pages that a QA session judges in the capture index.

A page that a ghost captured has a record `urn:pageinfo:`. Any other document of HTML with status 200 is a page of the
plain crawler. A session has the newest capture of each page.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final
from urllib.parse import urlsplit

from sqlalchemy import and_, func, or_, select

from admin.collections.browsing.index import OpenIndex
from admin.collections.browsing.records import RecordTrouble, read_block
from admin.models.errors import InvalidInput, Problem
from admin.models.qa_tables import PageChoice
from archive.capture import Capture, RecordKind
from archive.dates import Micros
from archive.settings.load import Settings
from archive.url import host_of, key
from dedupdb.captures.schema import CAPTURES, reading, to_capture

INFO_PREFIX: Final = "urn:pageinfo:"
_C: Final = CAPTURES.c
_WINDOW: Final = 20_000
"""Rows of the index that are looked at in one query."""
_STOP_PAGES: Final = 100
"""After so many weighed pages, the sample asks again whether it has to stop."""
_SAMPLE: Final = re.compile(r"([0-9]{1,9})|([0-9]{1,3}(?:\.[0-9]{1,3})?)\s*%|(0?\.[0-9]{1,6})")
_MOST_INFO: Final = 8_000_000
_HTML: Final = ("text/html", "application/xhtml+xml")


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A capture of a page. `row` is its number in the capture index, and `weight` orders pages for a sample.

    A page that has no capture has the date 0, and `why` says why it can't be judged.
    """

    url: str
    page_id: str
    captured: Micros
    is_rendered: bool
    row: int
    weight: float = 0.0
    why: str = ""

    @property
    def host(self) -> str:
        """Return the host of the page, at most 255 characters of it."""
        return host_of(self.url)[:255] if self.url.startswith("http") else ""

    @property
    def url_hash(self) -> str:
        """Return the SHA-256 of the URL in hexadecimal."""
        return sha256(self.url.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class PageTarget:
    """The pages of a target belong to a collection; with a `job`, to that run; with `urls`, only these URLs count."""

    collection: str
    job: str | None = None
    urls: frozenset[str] = frozenset()

    def has(self, url: str) -> bool:
        """Return whether the URL is one of the target's."""
        return not self.urls or url in self.urls


@dataclass(frozen=True, slots=True)
class SampleSize:
    """The size of a sample is a number of pages, or a share of all."""

    pages: int | None = None
    share: float | None = None

    def of(self, total: int) -> int:
        """Return the number of pages of the sample, at least one when there is a page."""
        if self.pages is not None:
            return min(self.pages, total)
        return min(total, max(1, round((self.share or 0) * total)))


def sample_size(text: str) -> SampleSize | None:
    """Return the size that the text names, such as 200, 10% or 0.1; None for an empty text. Raises InvalidInput."""
    text = text.strip()
    if not text:
        return None
    found = _SAMPLE.fullmatch(text)
    if found and found[1] and int(found[1]) > 0:
        return SampleSize(pages=int(found[1]))
    share = float(found[2]) / 100 if found and found[2] else float(found[3]) if found and found[3] else 0.0
    if not 0 < share <= 1:
        raise InvalidInput(
            Problem(
                "sample", f"{text[:40]!r} is no sample; write a number of pages, such as 200, or a share such as 10%"
            )
        )
    return SampleSize(share=share)


def list_pages(
    index: OpenIndex, target: PageTarget, after: int, stop: Callable[[], bool], *, is_growing: bool = False
) -> tuple[list[FoundPage], int]:
    """Return the newest capture of each page behind row `after`, and the last row that was looked at.

    In a growing target, only pages of ghosts are found: a document may be a part of a page whose visit goes on. `stop`
    is called often; when it returns True, what was found so far is returned.
    """
    rendered: dict[str, FoundPage] = {}
    plain: dict[str, FoundPage] = {}
    rendered_ids: set[str] = set()
    for capture, row in _rows(index, target, after, stop):
        after = max(after, row)
        if capture.url.startswith(INFO_PREFIX):
            url = capture.url.removeprefix(INFO_PREFIX)
            if capture.page_id:
                rendered_ids.add(capture.page_id)
            found = FoundPage(url, capture.page_id or "", capture.date, is_rendered=True, row=row)
            pages = rendered
        else:
            found = FoundPage(
                capture.url,
                capture.page_id or "",
                capture.date,
                is_rendered=False,
                row=row,
                weight=capture.payload_length,
            )
            pages = plain
        if target.has(found.url) and (found.url not in pages or pages[found.url].captured <= found.captured):
            pages[found.url] = found
    found_pages = dict(rendered)
    if not is_growing:
        # Browsertrix gives the id of the visit to the documents of a page, and not to its page information.
        rendered_ids |= {page.page_id for url, page in plain.items() if page.page_id and url in rendered}
        for url, page in plain.items():
            is_part = page.page_id in rendered_ids or page.url in rendered
            if not is_part:
                found_pages[url] = page
    return sorted(found_pages.values(), key=lambda page: page.row), after


def missing_pages(target: PageTarget, pages: Sequence[FoundPage]) -> list[FoundPage]:
    """Return a page without a capture for each URL of the target that none of these pages has."""
    why = f"the {'collection' if target.job is None else 'job'} has no captured page with this URL"
    missing = target.urls - {page.url for page in pages}
    return [FoundPage(url, "", 0, is_rendered=False, row=0, why=why) for url in sorted(missing)]


def choose(
    settings: Settings,
    index: OpenIndex,
    target: PageTarget,
    pages: list[FoundPage],
    size: SampleSize | None,
    choice: PageChoice,
    stop: Callable[[], bool] = lambda: False,
) -> list[FoundPage]:
    """Return the pages of the sample, those that the rule prefers first.

    `stop` is called often; when it returns True, the sample is one of the pages that were weighed so far.
    """
    if size is None:
        return pages

    def weight(page: FoundPage) -> float:
        if choice is PageChoice.SIZE:
            return _size(index, target, page)
        if choice is PageChoice.IMPORTANCE:
            return _importance(page)
        if choice is PageChoice.SUSPICION:
            return _suspicion(settings, index, target, page)
        return -float(int(page.url_hash[:12], 16))

    def weighed_pages() -> Iterator[FoundPage]:
        for number, page in enumerate(pages):
            if number % _STOP_PAGES == 0 and stop():
                return
            yield replace(page, weight=weight(page))

    weighed = weighed_pages()
    return heapq.nlargest(size.of(len(pages)), weighed, key=lambda page: (page.weight, page.url_hash))


def note_of(settings: Settings, index: OpenIndex, collection: str, page_id: str, url: str) -> dict[str, Any]:
    """Return the page information that the ghost wrote; empty when there is none that can be read."""
    capture = newest_record(index, collection, INFO_PREFIX + url, page_id)
    if capture is None:
        return {}
    try:
        block, is_whole = read_block(settings, capture, _MOST_INFO)
        found = json.loads(block) if is_whole else {}
    except (RecordTrouble, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def newest_record(
    index: OpenIndex, collection: str, url: str, page_id: str, kind: RecordKind | None = None
) -> Capture | None:
    """Return the newest record of this URL, and of this kind, that belongs to the visit; None without one.

    Without a `page_id`, the records of all visits count.
    """
    wanted = [_C.collection == collection, _C.key == key(url), _C.url == url]
    if page_id:
        wanted.append(_C.page_id == page_id)
    if kind is not None:
        wanted.append(_C.kind == kind)
    query = select(CAPTURES).where(*wanted).order_by(_C.date.desc(), _C.id.desc()).limit(1)
    with reading(index.engine) as connection:
        row = connection.execute(query).first()
    return to_capture(row) if row is not None else None


def _rows(index: OpenIndex, target: PageTarget, after: int, stop: Callable[[], bool]) -> Iterator[tuple[Capture, int]]:
    """Yield the captures that may be pages, in the order of the index."""
    is_page = or_(
        and_(_C.kind == "resource", _C.url.between(INFO_PREFIX, INFO_PREFIX + chr(0x10FFFF))),
        and_(_C.kind.in_(("response", "revisit")), _C.mime.in_(_HTML), _C.status == 200, _C.method == "GET"),
    )
    wanted = [_C.collection == target.collection, is_page]
    if target.job is not None:
        wanted.append(_C.job == target.job)
    with reading(index.engine) as connection:
        newest = connection.scalar(select(func.max(_C.id))) or 0
    while after < newest and not stop():
        end = min(after + _WINDOW, newest)
        query = select(CAPTURES).where(_C.id > after, _C.id <= end, *wanted).order_by(_C.id)
        with reading(index.engine) as connection:
            rows = connection.execute(query).all()
        for row in rows:
            yield to_capture(row), row.id
        after = end


def _importance(page: FoundPage) -> float:
    """Return more for pages with short paths and without a query."""
    parts = urlsplit(page.url)
    depth = len([part for part in parts.path.split("/") if part])
    return -(depth + (1 if parts.query else 0)) - len(page.url) / 100_000


def _size(index: OpenIndex, target: PageTarget, page: FoundPage) -> float:
    capture = newest_record(index, target.collection, page.url, page.page_id)
    return capture.payload_length if capture is not None else 0


def _suspicion(settings: Settings, index: OpenIndex, target: PageTarget, page: FoundPage) -> float:
    """Return more for a page with flaws, failed requests and steps that were cut short."""
    if not page.is_rendered:
        return 0.0
    note = note_of(settings, index, target.collection, page.page_id, page.url)
    counts, flaws, notes = note.get("counts"), note.get("flaws"), note.get("notes")
    failed = counts.get("failed") if isinstance(counts, dict) else 0
    return (
        10.0 * (len(flaws) if isinstance(flaws, list) else 0)
        + (failed if isinstance(failed, int) else 0)
        + (len(notes) if isinstance(notes, list) else 0)
        + (100.0 if not note else 0.0)
    )
