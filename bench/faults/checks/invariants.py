"""What must hold whatever broke, each promise a test of what is left of a round. The words are those of I1 to I13.

Pure but for reading: nothing here mends anything, except that the last one rebuilds Redis and SQL from the disk.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from admin.bench.faults.case import Case, digest, payload_of
from admin.bench.faults.heard import conversations
from admin.bench.faults.records import Stored, bare
from admin.bench.faults.site import answer, upload
from admin.bench.faults.traces import Known, columns, rebuild
from archive.check import check
from dedupdb.claims import Want
from frontier.embedded import RedisProblem


def _torn(case: Case) -> Iterator[str]:
    yield from case.traces.torn
    yield from (f"{name} is left over" for name in case.traces.strays)


def _ids(case: Case) -> Iterator[str]:
    counted = Counter(record.id for record in case.traces.records)
    yield from (f"record id {name} stands in {count} records" for name, count in counted.items() if count > 1)


def _blocks(case: Case) -> Iterator[str]:
    """A record holds the origin's bytes: all of them, or what came of them and says so."""
    for record in case.answers():
        raw = answer(record.target).raw
        if record.kind == "revisit":
            raw = raw[: raw.index(b"\r\n\r\n") + 4]
        is_right = raw.startswith(record.block) if record.is_truncated else record.block == raw
        if not is_right:
            yield f"{record.url}: {record.kind} {record.id} does not hold what the origin sent"


def _uploads(case: Case) -> Iterator[str]:
    """A request's record holds what the client sent, whole: the origin had read it before it answered."""
    for record in case.traces.records:
        if record.kind == "request":
            body = record.block.partition(b"\r\n\r\n")[2]
            if body != upload(record.target):
                yield f"{record.url}: request {record.id} does not hold what its client sent"


def _pairs(case: Case) -> Iterator[str]:
    tied: dict[str, list[Stored]] = {}
    for record in case.traces.records:
        if record.kind == "request":
            tied.setdefault(bare(record.field("WARC-Concurrent-To")), []).append(record)
    for record in case.answers():
        requests = tied.pop(record.id, [])
        if len(requests) != 1 or requests[0].path != record.path:
            yield f"{record.kind} {record.id} has {len(requests)} requests in {record.path.name}"
        elif bare(record.field("WARC-Concurrent-To")) != requests[0].id:
            yield f"{record.kind} {record.id} does not name its request"
    yield from (f"the response {name} of a request is nowhere" for name in tied)


def _revisits(case: Case) -> Iterator[str]:
    for record in case.traces.records:
        if record.kind != "revisit" or record.is_of_another_archive:
            continue
        original = case.original_of(record)
        if original is None:
            yield f"the original of {record.id} is nowhere"
        elif original.kind != "response" or original.is_truncated:
            yield f"the original of {record.id} is a {original.kind}, or truncated"
        elif original.path == record.path and original.offset > record.offset:
            yield f"the original of {record.id} comes after it"


def _index(case: Case) -> Iterator[str]:
    """Records, sidecars and SQL tell the same."""
    records = {(r.id, case.name_of(r), r.offset, r.length) for r in case.traces.records if r.kind not in _UNINDEXED}
    lines = {(x["id"], x["filename"], int(x["offset"]), int(x["length"])) for x in case.traces.lines}
    yield from (f"record without its line in a sidecar: {one}" for one in sorted(records - lines))
    yield from (f"line in a sidecar without its record: {one}" for one in sorted(lines - records))
    if len(lines) != len(case.traces.lines):
        yield f"{len(case.traces.lines) - len(lines)} lines stand twice in sidecars"
    names = columns(case.evidence.home)
    if not names:
        yield "there is no index at all"
        return
    places = [names.index(name) for name in ("record_id", "filename", "offset", "length")]
    rows = {tuple(row[place] for place in places) for row in case.traces.rows}
    yield from (f"line in a sidecar without its row in SQL: {one}" for one in sorted(lines - rows))
    yield from (f"row in SQL without its line in a sidecar: {one}" for one in sorted(rows - lines))


def _ended(case: Case) -> Iterator[str]:
    yield from case.traces.stuck


def _published(case: Case) -> Iterator[str]:
    for name, was in case.evidence.published.items():
        path = case.archive / name
        if not path.exists():
            yield f"{name} was closed, and is gone"
        elif digest(path) != was:
            yield f"{name} was closed, and has changed"


def _log(case: Case) -> Iterator[str]:
    """A line that names a record is right; each response that was seen has its line."""
    places = {(case.name_of(r), r.offset): r for r in case.answers()}
    logged: set[tuple[str, int]] = set()
    for line in case.traces.log:
        place = (line.extra.get("warcFilename"), line.extra.get("warcFileOffset"))
        if place != (None, None) and (place not in places or places[place].url != line.url):
            yield f"crawl.log names a record of {line.url} at {place}; it is not there"
        logged.add((line.url, line.code))
    if case.evidence.log_is_whole:
        yield from (f"torn: {text}" for text in case.traces.torn_log)
    yield from (
        f"crawl.log has no line of {one.url}" for one in case.evidence.logged if (one.url, one.status) not in logged
    )


def _rebuilt(case: Case) -> Iterator[str]:
    """Redis and SQL, made again from the disk, are what they were, and lead only to what is there."""
    try:
        found = rebuild(case.evidence.home, case.evidence.collection)
    except RedisProblem as problem:
        yield str(problem)
        return
    if found.rows != found.rows_again:
        yield f"SQL has {len(found.rows - found.rows_again)} rows that the disk has not, and lacks " + str(
            len(found.rows_again - found.rows)
        )
    yield from _astray(case, found.known, "Redis")
    yield from _astray(case, found.known_again, "the Redis made again")
    yield from (f"Redis knows {key!r}, and made again it does not" for key in found.known.keys() - found.known_again)
    if case.evidence.dedup_is_whole:
        yield from (f"Redis has forgotten {key!r}" for key in found.known_again.keys() - found.known)


def _astray(case: Case, known: Known, which: str) -> Iterator[str]:
    for (key, name), original in known.items():
        record = case.by_id.get(original.record_id)
        if record is None or record.kind != "response" or record.is_truncated:
            yield f"{which} knows {original.record_id} of {original.url}, which is no whole response in a WARC"
            continue
        if (original.filename, original.offset) != (case.name_of(record), record.offset):
            yield f"{which} has {original.record_id} in {original.filename} at {original.offset}; it does not lie there"
        payload = payload_of(record)
        want = Want(case.evidence.collection, hashlib.sha256(payload).digest(), len(payload))
        if (want.places[0][0], want.field) != (key, name):
            yield f"{which} knows other bytes of {original.record_id} than it has"


def _checked(case: Case) -> Iterator[str]:
    yield from map(str, check(case.archive))


_UNINDEXED: Final = ("warcinfo", "request")
PROMISES: Final[Mapping[str, Callable[[Case], Iterator[str]]]] = {
    "files are whole": _torn,
    "record ids are unique": _ids,
    "records hold the origin's bytes": _blocks,
    "request and response are both there": _pairs,
    "requests hold their bodies": _uploads,
    "conversations have no gap": conversations,
    "revisits have their original": _revisits,
    "index and records agree": _index,
    "every exchange comes to its end": _ended,
    "closed files stay": _published,
    "ghostfleet check finds nothing": _checked,
    "crawl.log is right": _log,
    "Redis and SQL can be made again": _rebuilt,
}
