"""This module processes the captures of a query before they are written: collapse, resolve revisits, count.

Each step reads its captures one after the other and holds a bounded number of them in memory. The words and their
meaning are those of pywb's and Wayback's CDX servers.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import batched
from typing import Final

from archive.capture import Capture
from dedupdb.captures.capture_index import Captures, limited
from dedupdb.captures.filters import FIELDS, FilterError, field_name
from dedupdb.captures.query import Query, QueryError, flag

RESOLVED: Final = ("orig.length", "orig.offset", "orig.filename")
"""Fields that `resolveRevisits` adds: where the payload is."""
MAX_COLLAPSES: Final = 10
_AT_ONCE: Final = 100
_MOST_DIGESTS: Final = 50_000
"""Digests of one URL that are counted; of more, the one that was met longest ago is forgotten."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A shown capture has the fields that the query adds."""

    capture: Capture
    extra: tuple[tuple[str, str], ...] = ()
    last: Capture | None = None
    """The last capture that it stands for, when captures behind it were left out."""


@dataclass(frozen=True, slots=True)
class Work:
    """The work has the steps that a query asks for."""

    collapses: tuple[Callable[[Capture], str], ...] = ()
    resolves: bool = False
    counts_duplicates: bool = False
    counts_skips: bool = False
    tells_last_skip: bool = False

    @property
    def extra(self) -> tuple[str, ...]:
        """Return the names of the fields that the steps add, in their order."""
        wanted = (
            (self.resolves, RESOLVED),
            (self.counts_duplicates, ("dupecount",)),
            (self.counts_skips, ("skipcount",)),
            (self.tells_last_skip, ("endtimestamp",)),
        )
        return tuple(name for is_wanted, names in wanted if is_wanted for name in names)


@dataclass(slots=True)
class _Group:
    """A group is a capture that is shown, and the captures after it that are not shown."""

    capture: Capture
    token: tuple[str, ...]
    skipped: int = 0
    last: str = "-"
    end: Capture | None = None


def parse(given: Mapping[str, str], collapses: Sequence[str], query: Query) -> Work:
    """Return the work that `collapse`, `collapseTime`, `resolveRevisits`, `showDupeCount`, `showSkipCount` and
    `lastSkipTimestamp` ask for. Raises QueryError.
    """
    texts = [text for text in collapses if text]
    if len(texts) > MAX_COLLAPSES:
        raise QueryError("collapse", f"is given {len(texts)} times, more than {MAX_COLLAPSES}")
    tokens = [_collapse(text) for text in texts]
    if time := given.get("collapseTime"):
        tokens += [_cut("timestamp", "collapseTime", time), FIELDS["status"]]
    work = Work(
        tuple(tokens),
        resolves=flag(given, "resolveRevisits"),
        counts_duplicates=flag(given, "showDupeCount"),
        counts_skips=flag(given, "showSkipCount"),
        tells_last_skip=flag(given, "lastSkipTimestamp"),
    )
    if query.sort == "closest" and tokens:
        raise QueryError("collapse" if texts else "collapseTime", "can't be used with sort=closest")
    for name, is_wanted in (
        ("showDupeCount", work.counts_duplicates),
        ("showSkipCount", work.counts_skips),
        ("lastSkipTimestamp", work.tells_last_skip),
    ):
        if is_wanted and (query.sort != "default" or query.goes_backward):
            raise QueryError(name, "counts in the order of time; leave out sort and a negative limit")
    return work


def find(captures: Captures, query: Query, work: Work) -> Iterator[Shown]:
    """Return the captures of the query after all steps. Raises the errors of `Captures.search`."""
    found: Iterator[Shown]
    if work.collapses or query.counts_skips:
        looked_at = captures.looked_at(query)
        groups = limited(_groups(looked_at, work.collapses, keeps_last=query.goes_backward), query)
        found = (Shown(group.capture, _skips(group, work), group.end) for group in groups)
    else:
        found = (Shown(capture) for capture in captures.search(query))
    if query.allowed:
        found = (replace(shown, capture=_without_hidden_original(query, shown.capture)) for shown in found)
    if work.counts_duplicates:
        found = _with_duplicates(found)
    return _resolved(captures, query, found) if work.resolves else found


def _collapse(text: str) -> Callable[[Capture], str]:
    name, _, length = text.partition(":")
    return _cut(name, "collapse", length) if length or ":" in text else _field(name)


def _cut(name: str, parameter: str, length: str) -> Callable[[Capture], str]:
    if not (length.isascii() and length.isdecimal() and len(length) < 6 and int(length)):
        raise QueryError(parameter, f"{length[:40]!r} is not a number of characters; write for instance timestamp:8")
    whole, end = _field(name), int(length)
    return lambda capture: whole(capture)[:end]


def _field(name: str) -> Callable[[Capture], str]:
    try:
        return FIELDS[field_name(name)]
    except FilterError as error:
        raise QueryError("collapse", str(error)) from error


def _groups(
    looked_at: Iterable[tuple[Capture, bool]], collapses: Sequence[Callable[[Capture], str]], *, keeps_last: bool
) -> Iterator[_Group]:
    """Yield groups of equal neighbours. The earliest is shown, which is the last one of a scan backward."""
    group: _Group | None = None
    for capture, is_wanted in looked_at:
        token = tuple(value(capture) for value in collapses) if is_wanted else ()
        if group is not None and (not is_wanted or (collapses and token == group.token)):
            group.skipped, group.last, group.end = group.skipped + 1, capture.timestamp, capture
            if is_wanted and keeps_last:
                group.capture = capture
        elif is_wanted:
            if group is not None:
                yield group
            group = _Group(capture, token)
    if group is not None:
        yield group


def _skips(group: _Group, work: Work) -> tuple[tuple[str, str], ...]:
    counted = (("skipcount", str(group.skipped)),) if work.counts_skips else ()
    return (*counted, ("endtimestamp", group.last)) if work.tells_last_skip else counted


def _with_duplicates(found: Iterable[Shown]) -> Iterator[Shown]:
    """Yield each capture with the number of earlier captures of the same URL that have the same digest."""
    key, counts = "", OrderedDict[str, int]()
    for shown in found:
        if shown.capture.key != key:
            key, counts = shown.capture.key, OrderedDict()
        digest = shown.capture.digest or "-"
        count = counts.pop(digest, -1) + 1
        counts[digest] = count
        if len(counts) > _MOST_DIGESTS:
            counts.popitem(last=False)
        yield replace(shown, extra=(("dupecount", str(count)), *shown.extra))


def _without_hidden_original(query: Query, capture: Capture) -> Capture:
    """Return the capture; a revisit does not name an original of which readers may not know."""
    named = capture.refers_to
    if named is None or query.allows(replace(capture, url=named.url, date=named.date)):
        return capture
    return replace(capture, refers_to=None)


def _resolved(captures: Captures, query: Query, found: Iterator[Shown]) -> Iterator[Shown]:
    """Yield revisits with the type and status of their originals, and with the position of the payload."""
    for batch in batched(found, _AT_ONCE):
        wanted = {shown.capture.refers_to.record_id for shown in batch if shown.capture.refers_to}
        originals = captures.by_records(query.collection, wanted - {""}) if wanted - {""} else {}
        for shown in batch:
            named = shown.capture.refers_to
            original = originals.get(named.record_id) if named else None
            capture, place = shown.capture, ("-", "-", "-")
            if original is not None and query.allows(original):
                place = (str(original.length), str(original.offset), original.filename)
                capture = replace(capture, kind="response", mime=original.mime, status=original.status)
            yield replace(shown, capture=capture, extra=(*zip(RESOLVED, place, strict=True), *shown.extra))
