"""Each invariant must hold after any fault. It is a function that yields what does not hold.

The functions only read, except for the last one, which makes Redis and SQL again from the disk.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from archive.warc.upkeep.check import check
from bench.faults.checks.check_input import CheckInput, digest, payload_of
from bench.faults.checks.home_contents import DedupEntries, columns, rebuild
from bench.faults.checks.records import WarcRecord, bare
from bench.faults.checks.websocket_logs import check_conversations
from bench.faults.traffic.site import answer, upload
from dedupdb.claims.claims import PayloadKey
from frontier.private_redis.server import RedisProblem


def _torn(given: CheckInput) -> Iterator[str]:
    yield from given.contents.damaged
    yield from (f"{name} should not exist after an orderly end" for name in given.contents.leftovers)


def _ids(given: CheckInput) -> Iterator[str]:
    counted = Counter(record.id for record in given.contents.records)
    yield from (f"record id {name} is used by {count} records" for name, count in counted.items() if count > 1)


def _blocks(given: CheckInput) -> Iterator[str]:
    """Yield the records that do not hold the bytes of the origin. A truncated record must hold their beginning."""
    for record in given.answers():
        raw = answer(record.target).raw
        if record.kind == "revisit":
            raw = raw[: raw.index(b"\r\n\r\n") + 4]
        is_right = raw.startswith(record.block) if record.is_truncated else record.block == raw
        if not is_right:
            yield f"{record.url}: {record.kind} {record.id} does not hold what the origin sent"


def _uploads(given: CheckInput) -> Iterator[str]:
    """Yield the requests that do not hold the whole upload of the client."""
    for record in given.contents.records:
        if record.kind == "request":
            body = record.block.partition(b"\r\n\r\n")[2]
            if body != upload(record.target):
                yield f"{record.url}: request {record.id} does not hold what its client sent"


def _pairs(given: CheckInput) -> Iterator[str]:
    tied: dict[str, list[WarcRecord]] = {}
    for record in given.contents.records:
        if record.kind == "request":
            tied.setdefault(bare(record.field("WARC-Concurrent-To")), []).append(record)
    for record in given.answers():
        requests = tied.pop(record.id, [])
        if len(requests) != 1 or requests[0].path != record.path:
            yield f"{record.kind} {record.id} has {len(requests)} requests in {record.path.name}"
        elif bare(record.field("WARC-Concurrent-To")) != requests[0].id:
            yield f"{record.kind} {record.id} does not name its request"
    yield from (f"the response {name} of a request is missing" for name in tied)


def _revisits(given: CheckInput) -> Iterator[str]:
    for record in given.contents.records:
        if record.kind != "revisit" or record.is_of_another_archive:
            continue
        original = given.original_of(record)
        if original is None:
            yield f"the original of {record.id} is missing"
        elif original.kind != "response" or original.is_truncated:
            yield f"the original of {record.id} is a {original.kind}, or truncated"
        elif original.path == record.path and original.offset > record.offset:
            yield f"the original of {record.id} comes after it"


def _index(given: CheckInput) -> Iterator[str]:
    """Yield the differences between records, sidecars and SQL."""
    records = {(r.id, given.name_of(r), r.offset, r.length) for r in given.contents.records if r.kind not in _UNINDEXED}
    lines = {(x["id"], x["filename"], int(x["offset"]), int(x["length"])) for x in given.contents.lines}
    yield from (f"record without its line in a sidecar: {one}" for one in sorted(records - lines))
    yield from (f"line in a sidecar without its record: {one}" for one in sorted(lines - records))
    if len(lines) != len(given.contents.lines):
        yield f"{len(given.contents.lines) - len(lines)} lines stand twice in sidecars"
    names = columns(given.expectations.home)
    if not names:
        yield "there is no index"
        return
    places = [names.index(name) for name in ("record_id", "filename", "offset", "length")]
    rows = {tuple(row[place] for place in places) for row in given.contents.rows}
    yield from (f"line in a sidecar without its row in SQL: {one}" for one in sorted(lines - rows))
    yield from (f"row in SQL without its line in a sidecar: {one}" for one in sorted(rows - lines))


def _ended(given: CheckInput) -> Iterator[str]:
    yield from given.contents.unfinished


def _published(given: CheckInput) -> Iterator[str]:
    for name, was in given.expectations.published.items():
        path = given.archive / name
        if not path.exists():
            yield f"{name} was closed and is missing"
        elif digest(path) != was:
            yield f"{name} was closed and has changed"


def _log(given: CheckInput) -> Iterator[str]:
    """Yield the lines of crawl.log that name a wrong record, and the seen responses without a line."""
    places = {(given.name_of(r), r.offset): r for r in given.answers()}
    logged: set[tuple[str, int]] = set()
    for line in given.contents.log:
        place = (line.extra.get("warcFilename"), line.extra.get("warcFileOffset"))
        if place != (None, None) and (place not in places or places[place].url != line.url):
            yield f"crawl.log names a record of {line.url} at {place}; it is not there"
        logged.add((line.url, line.code))
    if given.expectations.log_is_whole:
        yield from (f"crawl.log has a damaged line: {text}" for text in given.contents.damaged_log_lines)
    yield from (
        f"crawl.log has no line of {one.url}"
        for one in given.expectations.logged
        if (one.url, one.status) not in logged
    )


def _rebuilt(given: CheckInput) -> Iterator[str]:
    """Yield the differences of Redis and SQL after both were made again from the disk, and entries without a record."""
    try:
        found = rebuild(given.expectations.home, given.expectations.collection)
    except RedisProblem as problem:
        yield str(problem)
        return
    if found.rows != found.rows_again:
        yield f"SQL has {len(found.rows - found.rows_again)} rows that the disk has not, and lacks " + str(
            len(found.rows_again - found.rows)
        )
    yield from _wrong_entries(given, found.entries, "Redis")
    yield from _wrong_entries(given, found.entries_again, "the Redis made again")
    yield from (
        f"Redis knows {key!r}, and made again it does not" for key in found.entries.keys() - found.entries_again
    )
    if given.expectations.dedup_is_whole:
        yield from (f"Redis has forgotten {key!r}" for key in found.entries_again.keys() - found.entries)


def _wrong_entries(given: CheckInput, entries: DedupEntries, which: str) -> Iterator[str]:
    for (key, name), original in entries.items():
        record = given.by_id.get(original.record_id)
        if record is None or record.kind != "response" or record.is_truncated:
            yield f"{which} knows {original.record_id} of {original.url}, which is no whole response in a WARC"
            continue
        if (original.filename, original.offset) != (given.name_of(record), record.offset):
            yield f"{which} has {original.record_id} in {original.filename} at {original.offset}; it does not lie there"
        payload = payload_of(record)
        want = PayloadKey(given.expectations.collection, hashlib.sha256(payload).digest(), len(payload))
        if (want.places[0][0], want.field) != (key, name):
            yield f"{which} knows other bytes of {original.record_id} than it has"


def _checked(given: CheckInput) -> Iterator[str]:
    """Yield the problems that `check` finds, except in records that are not expected.

    A revisit may have been written just before the file of its original was removed.
    """
    yield from (str(problem) for problem in check(given.archive) if problem.record_id not in given.contents.unexpected)


_UNINDEXED: Final = ("warcinfo", "request")
INVARIANTS: Final[Mapping[str, Callable[[CheckInput], Iterator[str]]]] = {
    "files are whole": _torn,
    "record ids are unique": _ids,
    "records hold the origin's bytes": _blocks,
    "request and response are both there": _pairs,
    "requests hold their bodies": _uploads,
    "conversations have no gap": check_conversations,
    "revisits have their original": _revisits,
    "index and records agree": _index,
    "every exchange comes to its end": _ended,
    "closed files stay": _published,
    "ghostfleet check finds nothing": _checked,
    "crawl.log is right": _log,
    "Redis and SQL can be made again": _rebuilt,
}
