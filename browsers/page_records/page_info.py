"""`urn:pageinfo:` describes a visit: what the page asked for, what the archive has of it, and how the visit went.

`urls` and `counts` have the form that Browsertrix gave them. A request with another method than GET stands under its
URL with `__wb_method` and its body, as in indexes. `digest` is the payload's of a whole answer. `fromCache` marks a URL
that the browser's cache answered, so that the proxy got no request for it. `initiator` names what made the page ask,
such as `script http://a.example/app.js:12`, as far as the browser tells.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from typing import Any, Final

from archive.ended_exchange import EndedExchange
from archive.warc.records.request_query import asked_url
from browsers.engines.traffic import AskedExchange
from browsers.links.headers import REDIRECTS
from browsers.page_records.comparison import TrafficComparison, bare_url
from frontier.definition.scope import MAX_CHAIN

_OK: Final = 200


def asked_urls(asked: Sequence[AskedExchange], kept: Sequence[EndedExchange] = ()) -> dict[str, dict[str, Any]]:
    """Return status, media type, kind and error by URL. The last answer of a URL counts.

    The proxy knows the bodies of requests. Of several requests with one method to one URL, the first that the browser
    reports is the first that the proxy kept.
    """
    ended: defaultdict[tuple[str, str], deque[EndedExchange]] = defaultdict(deque)
    for exchange in kept:
        ended[exchange.method, bare_url(exchange.url)].append(exchange)
    found: dict[str, dict[str, Any]] = {}
    for each in asked:
        request = each.request
        if not request.url.startswith("http"):
            continue
        mime = each.headers.get("content-type", "").partition(";")[0].strip().lower()
        entry: dict[str, Any] = {"status": each.status, "mime": mime, "type": request.kind}
        exchanges = ended.get((request.method, bare_url(request.url)))
        answer = exchanges.popleft() if exchanges else None
        url = asked_url(request.url.partition("#")[0], request.method, answer.query if answer is not None else None)
        if request.initiator and not request.is_main:
            entry["initiator"] = request.initiator
        if each.is_cached and exchanges is None:
            entry["fromCache"] = True
        if answer is not None and answer.status == each.status == _OK and answer.digest and not answer.truncated:
            entry["digest"] = answer.digest
        found[url] = entry | ({"error": each.error} if each.error else {})
    return found


def redirect_chain(asked: Sequence[AskedExchange]) -> list[dict[str, Any]]:
    """Return URL and status of the page's first answer, and of each answer to which HTTP redirects led from it."""
    chain: list[dict[str, Any]] = []
    for each in asked:
        if each.request.is_main:
            chain.append({"url": each.request.url.partition("#")[0], "status": each.status})
            if each.status not in REDIRECTS or len(chain) > MAX_CHAIN:
                break
    return chain


def comparison_json(comparison: TrafficComparison) -> dict[str, Any]:
    """Return the comparison of the browser's list with the proxy's."""
    differences: dict[str, list[Mapping[str, Any]]] = {}
    for each in comparison.named:
        entry: dict[str, Any] = {"url": each.url, "method": each.method, "status": each.status}
        differences.setdefault(each.difference.value, []).append(
            entry | ({"detail": each.detail} if each.detail else {})
        )
    return {
        "kept": comparison.kept,
        "unlisted": comparison.unlisted,
        "inFlight": comparison.in_flight,
        "counts": {kind.value: count for kind, count in (comparison.counts or {}).items()},
        "differences": differences,
    }
