"""Search crawl.log and links.log of a job from their newest lines on, while the crawl writes them.

Memory does not grow with the logs. Only as much is read as the answer needs, and no longer than a bound of time; an
answer that ends before says at which place the next one goes on.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from admin.jobs.status_names import is_failure, status_text
from archive import crawl_log
from archive.crawl_log import LogLine
from archive.dates import Micros, iso_date
from archive.rotated_log import LogPlace, NewestFirst
from archive.url import UrlError, canonical, key
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.query import KeyRange, Query
from frontier.definition.rules.surts import authority_of, coerced, read_host, read_surt, without_port
from frontier.links.log import LinkDecision

_ORDER_MICROS: Final = 600_000_000
"""A line may be this much older than a line before it, since several processes write the log."""
_MOST_BYTES: Final = 64_000_000
"""Bytes of the lines of one answer, which are held in memory."""
_TRIES: Final = re.compile(r"(\d{1,6})t")
_PLACE: Final = re.compile(r'duplicate:"([^",]+),(\d{1,18})"')
_NEAR_MICROS: Final = 1_000
"""A line has the start of an exchange in milliseconds, and the index has it in microseconds."""


@dataclass(frozen=True, slots=True)
class UrlChoice:
    """The choice takes the URLs of one SURT prefix, the one URL that is given, or all. http and https are the same."""

    prefix: str = ""
    url: str = ""

    @classmethod
    def of(cls, *, host: str = "", prefix: str = "", url: str = "") -> UrlChoice:
        """Return the choice of a host, a SURT prefix or the beginning of a URL, or a URL. Raises ValueError.

        Only one of them may be given.
        """
        if (host != "") + (prefix != "") + (url != "") > 1:
            raise ValueError("--host, --prefix and --url exclude each other; give one of them")
        if host:
            return cls(prefix=read_host(host))
        if url or re.match(r"https?://[^(/]+/.", prefix):
            try:
                surt = coerced(canonical(url or prefix))
            except UrlError as error:
                raise ValueError(f"{(url or prefix)[:100]!r} is no URL: {error}") from error
            return cls(url=surt) if url else cls(prefix=surt)
        if not prefix:
            return cls()
        is_exception, surt = read_surt(prefix)
        if is_exception:
            raise ValueError(f"--prefix {prefix[:100]!r} is an exception; leave out the minus")
        return cls(prefix=surt)

    @property
    def needle(self) -> bytes:
        """Return bytes that every line with such a URL has in lower case: the name of the host."""
        labels = without_port(authority_of(self.prefix or self.url))
        is_address = labels.startswith("[") or re.fullmatch(r"[0-9.]+", labels)
        return (labels if is_address else ".".join(reversed(labels.split(",")))).encode()

    def takes(self, url: str) -> bool:
        """Return whether the choice takes a URL."""
        if not self.prefix and not self.url:
            return True
        try:
            surt = coerced(canonical(url))
        except UrlError:
            return False
        if self.url:
            return surt == self.url
        if ")" in self.prefix:
            return surt.startswith(self.prefix)
        name = without_port(authority_of(surt))
        return name == self.prefix or name.startswith(f"{self.prefix},")


@dataclass(frozen=True, slots=True)
class AttemptQuery:
    """The query asks for lines of crawl.log that fulfil all conditions, the newest first."""

    urls: UrlChoice = UrlChoice()
    codes: tuple[tuple[int, int], ...] = ()
    """The least and the largest code of each range; empty for all codes."""
    only_failed: bool = False
    since: Micros | None = None
    until: Micros | None = None
    limit: int = 100
    before: LogPlace | None = None
    seconds: float = 20.0

    def takes(self, line: LogLine) -> bool:
        """Return whether a line fulfils the conditions other than that of its time."""
        if self.codes and not any(least <= line.code <= most for least, most in self.codes):
            return False
        if self.only_failed and not is_failure(line.code):
            return False
        return self.urls.takes(line.url)


@dataclass(frozen=True, slots=True)
class FetchAttempt:
    """An attempt is one line of crawl.log: a try to fetch a URL, or the decision not to fetch it."""

    at: Micros
    url: str
    code: int
    reason: str
    tries: int
    """The number of the try, counted from 1."""
    hop_path: str
    via: str
    seed: str
    bytes: int | None
    mime: str
    duration_ms: int
    digest: str
    file: str
    """The WARC file with the record; empty when there is none, as for a failure."""
    offset: int | None
    original: str
    """File and offset of the payload that is not stored again; empty for a payload of its own."""
    method: str
    annotations: tuple[str, ...]
    only_annotates: bool
    """Another line tells of the same visit, and this one only adds annotations."""
    started: Micros | None = field(repr=False)

    def as_json(self) -> dict[str, Any]:
        """Return the attempt with names for programs."""
        return {
            "time": iso_date(self.at),
            "started": iso_date(self.started) if self.started is not None else None,
            **{name: getattr(self, name) for name in self.__dataclass_fields__ if name not in ("at", "started")},
        }


@dataclass(frozen=True, slots=True)
class LogAnswer[Row]:
    """The answer has rows, the newest first. `next` is where the next answer goes on; None at the end of the log."""

    rows: Sequence[Row]
    next: LogPlace | None
    damaged: int = 0
    """Lines that can't be read."""


def attempts(log: Path, query: AttemptQuery) -> LogAnswer[FetchAttempt]:
    """Return the attempts in a crawl.log. A log that is not there yet has none. Raises OSError."""

    def read(raw: bytes) -> LogLine:
        return crawl_log.parse(raw.decode("utf-8", "replace"))

    found = _search(
        log, query.urls, read, query.takes, query.since, query.until, query.limit, query.before, query.seconds
    )
    return LogAnswer([attempt_of(line) for line in found.rows], found.next, found.damaged)


@dataclass(frozen=True, slots=True)
class LinkQuery:
    """The query asks for lines of links.log that fulfil all conditions, the newest first."""

    urls: UrlChoice = UrlChoice()
    reasons: tuple[str, ...] = ()
    since: Micros | None = None
    until: Micros | None = None
    limit: int = 100
    before: LogPlace | None = None
    seconds: float = 20.0

    def takes(self, decision: LinkDecision) -> bool:
        """Return whether a decision fulfils the conditions other than that of its time."""
        return (not self.reasons or decision.reason in self.reasons) and self.urls.takes(decision.url)


def link_decisions(log: Path, query: LinkQuery) -> LogAnswer[LinkDecision]:
    """Return the decisions in a links.log. A log that is not there yet has none. Raises OSError."""
    return _search(
        log,
        query.urls,
        LinkDecision.read,
        query.takes,
        query.since,
        query.until,
        query.limit,
        query.before,
        query.seconds,
    )


def needs_place(found: FetchAttempt) -> bool:
    """Return whether the capture index may know the WARC file of a response whose line names none."""
    is_response = found.code > 0 and found.started is not None and not found.only_annotates
    return is_response and not found.file and found.method == "GET" and "notArchived" not in found.annotations


def with_places(found: Sequence[FetchAttempt], captures: Captures, collection: str) -> Iterator[FetchAttempt]:
    """Yield the attempts. A response whose line names no WARC file gets the place that the capture index has.

    Raises CapturesError.
    """
    for each in found:
        if not needs_place(each) or each.started is None:
            yield each
            continue
        surt = _index_key(each.url)
        query = Query(collection, (KeyRange(surt),), each.started - _NEAR_MICROS, each.started + _NEAR_MICROS, limit=1)
        capture = next(captures.search(query), None) if surt else None
        yield each if capture is None else replace(each, file=capture.filename, offset=capture.offset)


def attempt_of(line: LogLine) -> FetchAttempt:
    """Return the attempt of which a line of crawl.log tells."""
    tries = next((int(found[1]) for note in line.annotations if (found := _TRIES.fullmatch(note))), 1)
    place = next((f"{found[1]},{found[2]}" for note in line.annotations if (found := _PLACE.fullmatch(note))), "")
    offset = line.extra.get("warcFileOffset")
    return FetchAttempt(
        at=line.time,
        url=line.url,
        code=line.code,
        reason=status_text(line.code).removesuffix(f" ({line.code})"),
        tries=tries,
        hop_path=line.hop_path,
        via=line.via,
        seed=line.source,
        bytes=line.size,
        mime=line.mime,
        duration_ms=line.duration_ms,
        digest=line.digest,
        file=str(line.extra.get("warcFilename", "")),
        offset=offset if isinstance(offset, int) else None,
        original=place,
        method=str(line.extra.get("method", "GET")),
        annotations=line.annotations,
        only_annotates=bool(line.extra.get(crawl_log.ANNOTATES)),
        started=line.started,
    )


def read_codes(texts: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return the ranges of texts such as `-6,404` and `5xx`. Raises ValueError with the remedy."""
    ranges = []
    for text in ",".join(texts).split(","):
        bare = text.strip().lower()
        if found := re.fullmatch(r"([1-9])xx", bare):
            ranges.append((int(found[1]) * 100, int(found[1]) * 100 + 99))
        elif re.fullmatch(r"-?\d{1,5}", bare):
            ranges.append((int(bare), int(bare)))
        elif bare:
            raise ValueError(f"--code {text[:60]!r} is no code; write for example -6, 404 or 5xx")
    return tuple(ranges)


def _search[Row: (LogLine, LinkDecision)](
    log: Path,
    urls: UrlChoice,
    read: Callable[[bytes], Row],
    takes: Callable[[Row], bool],
    since: Micros | None,
    until: Micros | None,
    limit: int,
    before: LogPlace | None,
    seconds: float,
) -> LogAnswer[Row]:
    ends = time.monotonic() + seconds
    needle = urls.needle
    reader = NewestFirst(log, before=before, needle=needle, is_over=lambda: time.monotonic() > ends)
    rows: list[Row] = []
    damaged = size = 0
    for place, raw in reader:
        if needle and needle not in raw.lower():
            continue
        try:
            row = read(raw)
        except ValueError:
            damaged += 1
            continue
        if since is not None and row.time < since:
            if row.time < since - _ORDER_MICROS:
                return LogAnswer(rows, None, damaged)
            continue
        if (until is None or row.time < until) and takes(row):
            rows.append(row)
            size += len(raw)
            if len(rows) >= limit or size > _MOST_BYTES:
                return LogAnswer(rows, place, damaged)
    return LogAnswer(rows, reader.reached, damaged)


def _index_key(url: str) -> str:
    with suppress(UrlError):
        return key(canonical(url))
    return ""
