"""Captures of a collection by URL, date, media type, status, kind and job, in pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from admin.collections.browsing.index import index_of
from admin.models.errors import InvalidInput, Problem
from admin.models.operation import OutputModel, Page
from admin.models.transaction import Transaction
from archive.capture import Capture
from archive.dates import Micros, parse_date
from dedupdb.captures import query as queries
from dedupdb.captures.finder import EVERYTHING, CaptureConditions, UnknownRow
from dedupdb.captures.query import KeyRange, QueryError

MOST: Final = 500
KINDS: Final = ("response", "revisit", "resource", "metadata", "conversion")
_STATUS: Final = re.compile(r"([1-9])xx|([0-9]{1,5})", re.IGNORECASE | re.ASCII)
_MIME: Final = re.compile(r"[^*\0]{1,255}\*?|\*")
_DIGITS: Final = re.compile(r"[0-9]{4}(?:[0-9]{2}){0,5}", re.ASCII)
_LONGEST: Final = 9_000
_LAST: Final = parse_date("99991231235959") + 999_999
"""The end of the last year that a date can have; a record of anybody's may name it."""

_NOTES: Final = KeyRange("metadata:", "metadata;")
"""The keys of the documents that a harvester writes about its jobs."""
_SITES: Final = (KeyRange("", _NOTES.low), KeyRange(str(_NOTES.high), EVERYTHING[0].high))
_NOTES_LAST: Final = (*_SITES, _NOTES)
_NOTES_FIRST: Final = (_NOTES, *_SITES)


class CaptureLine(OutputModel):
    """One capture as the index has it. `file` and `offset` tell it from all others."""

    url: str
    key: str
    date: Micros
    timestamp: str
    """The 14 digits of the date, in UTC."""
    mime: str
    status: int | None
    kind: str
    method: str
    digest: str | None
    payload_length: int
    file: str
    offset: int
    length: int
    """Bytes of the record as it is stored."""
    record_id: str
    job: str | None
    page_id: str | None
    truncated: str | None
    refers_to_url: str | None = None
    refers_to_date: Micros | None = None
    """The original of a revisit."""


class CapturePage(Page[CaptureLine]):
    """One page of captures. It may be short, and still have a next one: see `looked_at`."""

    looked_at: int = 0
    """How many captures were looked at for this page; 0 when the conditions left none out."""


def list_captures(
    transaction: Transaction,
    name: str,
    *,
    url: str | None = None,
    match: str | None = None,
    since: str | None = None,
    until: str | None = None,
    mime: str | None = None,
    status: str | None = None,
    kind: str | None = None,
    job: str | None = None,
    order: str = "key",
    after: str | None = None,
    limit: int = 50,
) -> CapturePage:
    """Return captures in the order of key and date, or backwards for `order` "newest".

    Without a URL, the documents about jobs (metadata://…) come after the captures of sites.

    `match` is exact, prefix, host or domain; `*.host` and `url*` say it in the URL itself. `since` and `until` take a
    year, a month, a day or a moment, and include it. `mime` may end with `*`, and `status` may be such as 4xx.
    """
    problems: list[Problem] = []
    ranges = _ranges(problems, url, match)
    if ranges == EVERYTHING:
        ranges = _NOTES_FIRST if order == "newest" else _NOTES_LAST  # a backward search begins at the last range
    conditions = CaptureConditions(
        since=_moment(problems, "since", since),
        until=_moment(problems, "until", until, is_end=True),
        mime=_mime(problems, mime),
        status=_status(problems, status),
        kind=_kind(problems, kind),
        job=job or None,
    )
    if order not in ("key", "newest"):
        problems.append(Problem("order", f"{order[:40]!r} is unknown; use key or newest"))
    if not 1 <= limit <= MOST:
        problems.append(Problem("limit", f"{limit} is no number of captures; use 1 to {MOST}"))
    problems += _order_of_dates(conditions)
    row = _row(problems, after)
    if problems:
        raise InvalidInput(*problems)
    with index_of(transaction.settings, name) as index:
        try:
            found = index.finder.find(name, ranges, conditions, after=row, limit=limit, is_backward=order == "newest")
        except UnknownRow as error:
            raise InvalidInput(
                Problem("after", f"{after!r} is no capture of this list, or was removed; begin at the first page")
            ) from error
    return CapturePage(
        items=[capture_line(capture) for capture in found.captures],
        next=None if found.next is None else str(found.next),
        looked_at=found.looked_at,
    )


def capture_line(capture: Capture) -> CaptureLine:
    """Return the capture for pages and programs."""
    original = capture.refers_to
    return CaptureLine(
        url=capture.url,
        key=capture.key,
        date=capture.date,
        timestamp=capture.timestamp,
        mime=capture.mime,
        status=capture.status,
        kind=capture.kind,
        method=capture.method,
        digest=capture.digest,
        payload_length=capture.payload_length,
        file=capture.filename,
        offset=capture.offset,
        length=capture.length,
        record_id=capture.record_id,
        job=capture.job,
        page_id=capture.page_id,
        truncated=capture.truncated,
        refers_to_url=original.url if original else None,
        refers_to_date=original.date if original else None,
    )


def _ranges(problems: list[Problem], url: str | None, match: str | None) -> tuple[KeyRange, ...]:
    text = (url or "").strip()
    if not text:
        if match not in (None, "", "exact", "prefix"):
            problems.append(Problem("url", f"is empty; give the {match} whose captures you want"))
        return EVERYTHING
    if len(text) > _LONGEST:
        problems.append(Problem("url", f"has {len(text):,} characters; use at most {_LONGEST:,}"))
        return EVERYTHING
    try:
        return queries.parse("any", {"url": text, "matchType": match or ""}).ranges
    except QueryError as error:
        field = "match" if error.parameter == "matchType" else "url"
        problems.append(Problem(field, str(error).partition(": ")[2]))
    except UnicodeError:
        problems.append(Problem("url", f"{text[:200]!a} is no text; leave out half characters"))
    return EVERYTHING


def _moment(problems: list[Problem], field: str, text: str | None, *, is_end: bool = False) -> Micros | None:
    digits = re.sub(r"[-:TZ ]", "", text or "")
    if not digits:
        return None
    try:
        if not _DIGITS.fullmatch(digits):
            raise ValueError
        start = parse_date(digits)
        return (_LAST if digits.startswith("9999") else queries.end_of(digits)) if is_end else start
    except (ValueError, OverflowError):
        problems.append(Problem(field, f"{(text or '')[:40]!r} is no date; write such as 2026, 2026-11 or 2026-11-23"))
    return None


def _order_of_dates(conditions: CaptureConditions) -> Iterator[Problem]:
    if conditions.since is not None and conditions.until is not None and conditions.since > conditions.until:
        yield Problem("since", "is later than until; exchange the two")


def _mime(problems: list[Problem], text: str | None) -> str | None:
    mime = (text or "").strip().lower()
    if mime and not _MIME.fullmatch(mime):
        problems.append(Problem("mime", f"{mime[:100]!r} is no media type; write such as text/html or image/*"))
        return None
    return mime if mime not in ("", "*") else None


def _status(problems: list[Problem], text: str | None) -> tuple[int, int] | None:
    given = (text or "").strip()
    if not given:
        return None
    found = _STATUS.fullmatch(given)
    if found is None:
        problems.append(Problem("status", f"{given[:40]!r} is no status; write such as 404 or 4xx"))
        return None
    if found[1]:
        return int(found[1]) * 100, int(found[1]) * 100 + 99
    return int(found[2]), int(found[2])


def _kind(problems: list[Problem], text: str | None) -> str | None:
    if text and text not in KINDS:
        problems.append(Problem("kind", f"{text[:40]!r} is unknown; use one of {', '.join(KINDS)}"))
    return text or None


def _row(problems: list[Problem], after: str | None) -> int | None:
    if not after:
        return None
    if not (after.isascii() and after.isdecimal() and len(after) <= 18):
        problems.append(Problem("after", f"{after[:40]!r} is no place in this list; use the `next` of the page before"))
        return None
    return int(after)
