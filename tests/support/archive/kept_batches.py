"""What the tests of keeping share: batches, what became of them, and what the index says."""

from __future__ import annotations

import json
from collections.abc import Sequence

from archive.capture import Capture, Exchange
from archive.settings.load import Settings
from dedupdb.claims.claims import PayloadKey
from proxy.recording.keep import KeepOutcome, Kept


def impatient(position: int) -> bool:
    """No more waiting for other writers."""
    return False


def patient(position: int) -> bool:
    """There is time to wait for other writers."""
    return True


def url(name: str) -> str:
    return f"http://example.org/{name}"


def want(item: Exchange) -> PayloadKey:
    assert item.digests
    taken = item.digests
    return PayloadKey(item.context.collection, taken.payload_sha256, taken.payload_length, algorithm=taken.algorithm)


def captures(outcomes: Sequence[KeepOutcome]) -> list[Capture]:
    """The captures of outcomes that are all kept."""
    found = [outcome.capture for outcome in outcomes if isinstance(outcome, Kept)]
    assert len(found) == len(outcomes), outcomes
    return [capture for capture in found if capture is not None]


def lines(settings: Settings, collection: str = "news") -> list[dict[str, str]]:
    """The JSON of every index line."""
    paths = settings.index_dir(collection).glob("*.cdxj")
    return [json.loads(line.split(" ", 2)[2]) for path in paths for line in path.read_text().splitlines()]
