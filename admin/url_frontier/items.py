"""The items of URLFrontier's interface become candidates and outcomes of visits, and leases become items. Pure.

Metadata has the names that Apache StormCrawler uses. `url.path` has the URLs from the seed to this one, and `depth`
their number. `fetch.statusCode`, `fetch.byteLength` and `fetch.loadingTime` (in milliseconds) describe a visit. An item
with `fetch.exception` or `error.cause`, but without a status, was not fetched. `isSeed` is ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from admin.url_frontier import urlfrontier_pb2 as messages
from archive import crawl_log
from archive.url import MAX_LENGTH
from frontier.definition.scope import Candidate, is_embedded
from frontier.lease import Lease
from frontier.politeness import VisitOutcome

_PATH: Final = "url.path"
_DEPTH: Final = "depth"
_SEED: Final = "isSeed"
_STATUS: Final = "fetch.statusCode"
_BYTES: Final = "fetch.byteLength"
_TIME: Final = "fetch.loadingTime"
_REDIRECT: Final = "_redirTo"
_FAILURES: Final = ("fetch.exception", "error.cause")
_MOST_DEPTH: Final = 255
_MOST_NUMBER: Final = 2**53
_DAY_MS: Final = 86_400_000


def is_seed(info: messages.URLInfo) -> bool:
    """Return whether the client calls a discovered URL a seed."""
    return _first(info, _SEED).lower() == "true"


def candidate_of(info: messages.URLInfo) -> Candidate:
    """Return the candidate of a discovered URL. Without metadata, the URL counts as one link from a seed."""
    path = info.metadata[_PATH].values if _PATH in info.metadata else ()
    depth = min(_number(info, _DEPTH, 1), _MOST_DEPTH)
    via = path[-1][:MAX_LENGTH] if path else None
    source = path[0][:MAX_LENGTH] if path else None
    return Candidate(url=info.url, hop_path="L" * max(depth, 1), via=via, source=source, depth=max(depth, 1))


def outcome_of(info: messages.URLInfo, lease: Lease, delay_seconds: float | None) -> VisitOutcome:
    """Return the outcome of a visit that a client reports. The client decides whether the URL is tried again."""
    failed = any(name in info.metadata for name in _FAILURES)
    code = _number(info, _STATUS, crawl_log.CONNECT if failed else 200)
    if not 100 <= code <= 999:
        code = crawl_log.CONNECT
    return VisitOutcome(
        code,
        bytes=_number(info, _BYTES, 0),
        duration_ms=min(_number(info, _TIME, 0), _DAY_MS),
        crawl_delay_seconds=delay_seconds,
        redirect=_first(info, _REDIRECT)[:MAX_LENGTH].replace("\n", "") or None,
        is_document=200 <= code < 300 and not is_embedded(lease.hop_path),
        is_last=True,
    )


def info_of(lease: Lease, crawl: str) -> messages.URLInfo:
    """Return the item of a leased URL."""
    return info(lease.url, lease.host, crawl, _origin(lease.via, lease.source, lease.depth))


def info(url: str, key: str, crawl: str, metadata: Mapping[str, Sequence[str]]) -> messages.URLInfo:
    """Return an item."""
    found = messages.URLInfo(url=url, key=key, crawlID=crawl)
    for name, values in metadata.items():
        found.metadata[name].values.extend(values)
    return found


def _origin(via: str | None, source: str | None, depth: int) -> dict[str, list[str]]:
    path = list(dict.fromkeys(url for url in (source, via) if url))
    return {_PATH: path, _DEPTH: [str(depth)]} if path else {_DEPTH: [str(depth)]}


def _first(info: messages.URLInfo, name: str) -> str:
    values = info.metadata[name].values if name in info.metadata else ()
    return values[0] if values else ""


def _number(info: messages.URLInfo, name: str, otherwise: int) -> int:
    text = _first(info, name)
    return min(int(text), _MOST_NUMBER) if text.isascii() and text.isdecimal() and len(text) <= 19 else otherwise
