"""A queued URL as Redis keeps it (a line each for host and place, then short JSON), and what its scripts are told."""

from __future__ import annotations

import json
from typing import Any, Final

from archive.jsontext import compact_json
from frontier.lease import Lease
from frontier.politeness import Step
from frontier.scope import Candidate, Priority

_SEED: Final = 1
_EMPTY: Final[tuple[Any, ...]] = ("", int(Priority.STANDARD), 0, "", "", "", 0)


def pack(candidate: Candidate) -> str:
    """The JSON of a candidate's record; empty fields at its end are left out."""
    fields = [
        candidate.url,
        int(candidate.priority),
        candidate.depth,
        candidate.hop_path,
        candidate.via or "",
        candidate.source or "",
        _SEED if candidate.is_seed else 0,
    ]
    while not fields[-1]:
        fields.pop()
    return compact_json(fields)


def unpack(record: bytes) -> Candidate | None:
    """The candidate in a whole record; None when it is damaged."""
    try:
        values: Any = json.loads(record.split(b"\n", 2)[2])
        if not isinstance(values, list) or not values:
            return None
        url, priority, depth, hop_path, via, source, flags = [*values, *_EMPTY[len(values) :]]
        return Candidate(
            url=str(url),
            hop_path=str(hop_path),
            via=str(via) or None,
            source=str(source) or None,
            depth=int(depth),
            is_seed=bool(flags & _SEED),
            priority=Priority(priority),
        )
    except (IndexError, TypeError, ValueError):
        return None


def place(candidate: Candidate) -> int:
    """The part of a place in the queue that comes before the sequence number: by priority, then by depth."""
    return int(candidate.priority) * 256 + min(candidate.depth, 255)


def leased(
    candidate: Candidate, *, id: str, token: str, worker: str, tries: int, failures: int, seconds: float
) -> Lease:
    """The lease of a candidate."""
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
    )


def finish_arguments(
    id: str,
    token: str,
    worker: str,
    host: str,
    step: Step,
    code: int,
    *,
    bytes: int = 0,
    counts: bool = True,
    most_failures: int = 1,
    seed: str = "",
) -> tuple[str | int, ...]:
    """What finish.lua takes, in its order."""
    waits = (step.url_wait_ms, step.host_wait_ms, int(step.host_failed))
    return (id, token, worker, step.ending, code, bytes, *waits, int(counts), most_failures, seed, host)
