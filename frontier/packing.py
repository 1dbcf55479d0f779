"""This module packs a queued URL for Redis, and the end of a visit.

A record has the host and the score on a line each, and then short JSON. The end of a visit is MessagePack.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import msgpack

from archive.json_text import compact_json
from frontier.definition.revisit import RevisitHistory
from frontier.definition.scope import Candidate, Priority, is_embedded
from frontier.lease import Lease

_SEED: Final = 1
_EMPTY: Final[tuple[Any, ...]] = ("", int(Priority.STANDARD), 0, "", "", "", 0, "")


def pack(candidate: Candidate) -> str:
    """Return the JSON of a candidate's record, without empty fields at its end."""
    fields = [
        candidate.url,
        int(candidate.priority),
        candidate.depth,
        candidate.hop_path,
        candidate.via or "",
        candidate.source or "",
        _SEED if candidate.is_seed else 0,
        candidate.cookies,
    ]
    while not fields[-1]:
        fields.pop()
    return compact_json(fields)


def unpack(record: bytes) -> Candidate | None:
    """Return the candidate of a record; None when the record is damaged."""
    try:
        values: Any = json.loads(record.split(b"\n", 2)[2])
        if not isinstance(values, list) or not values:
            return None
        url, priority, depth, hop_path, via, source, flags, cookies = [*values, *_EMPTY[len(values) :]]
        return Candidate(
            url=str(url),
            hop_path=str(hop_path),
            via=str(via) or None,
            source=str(source) or None,
            depth=int(depth),
            is_seed=bool(flags & _SEED),
            priority=Priority(priority),
            cookies=str(cookies),
        )
    except (IndexError, TypeError, ValueError):
        return None


def queue_score(candidate: Candidate) -> int:
    """Return the upper part of the queue score: the priority, then the depth. A sequence number follows.

    Embeds come first in their priority, so that a page is soon complete, also when a limit of pages ends the job.
    """
    slot = 0 if is_embedded(candidate.hop_path) else min(candidate.depth + 1, 255)
    return int(candidate.priority) * 256 + slot


def leased(
    candidate: Candidate,
    *,
    id: str,
    token: str,
    worker: str,
    tries: int,
    failures: int,
    lost: int,
    seconds: float,
    history: str = "",
) -> Lease:
    """Return the lease of a candidate."""
    return Lease(
        id=id,
        token=token,
        worker=worker,
        url=candidate.url,
        hop_path=candidate.hop_path,
        via=candidate.via,
        source=candidate.source,
        depth=candidate.depth,
        is_seed=candidate.is_seed,
        priority=candidate.priority,
        attempt=tries + 1,
        host_failures=failures,
        seconds=seconds,
        cookies=candidate.cookies,
        lost=lost,
        history=RevisitHistory.unpacked(history),
    )


def candidate_of(lease: Lease) -> Candidate:
    """Return the candidate of a lease."""
    return Candidate(lease.url, lease.hop_path, lease.via, lease.source, lease.depth, lease.is_seed, lease.priority)


_Packed = bytes  # the class has a field `bytes`


@dataclass(frozen=True, slots=True)
class EndedVisit:
    """The visit whose lease ends, as finish.lua reads it: a table of these names."""

    id: str
    token: str
    worker: str
    host: str
    ending: str
    code: str
    url_wait_ms: int = 0
    host_wait_ms: int = 0
    host_failed: bool = False
    own_delay_ms: int = 0
    """The least delay of the host, when robots.txt or a sheet asks for a longer one than the job."""
    is_broken_off: bool = False
    """True for a visit that was given back. The host rests for its own delay, as after a whole visit."""
    is_try: bool = True
    """False for a visit that was given back without a fault of the URL."""
    most_failures: int = 1
    """The number of failures in a row that sets the host aside."""
    session_budget: int = 1
    """The number of visits after which the host goes behind the hosts that wait."""
    bytes: int = 0
    is_document: bool = False
    urls: int = 1
    """The number of URLs that the visit fetched."""
    seed: str = ""
    """The line of the report of seeds; empty if the URL is no seed."""
    fetched: Sequence[str] = ()
    """The ids of the URLs that a render fetched."""
    revisit: str = ""
    """The packed history of a URL that is to be visited again; empty for any other URL."""
    revisit_ms: int = 0
    """The time until that visit is due."""
    spender: Sequence[str] = ()
    """The domain and the seed whose quotas the visit counts for; empty in a job without quotas."""
    duration_ms: int = 0
    """The duration of the visit."""

    def packed(self) -> _Packed:
        """Return the table as MessagePack, without fields that have their default."""
        values = ((name, getattr(self, name), default) for name, default in _FIELDS)
        named = {name: value for name, value, default in values if value != default}
        return _Packed(msgpack.packb(named, unicode_errors="surrogatepass"))


_FIELDS: Final = tuple((field.name, field.default) for field in fields(EndedVisit))
