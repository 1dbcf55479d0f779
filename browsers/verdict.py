"""What a ghost's sighting means for the URL: the site's status, the site's failure, or our own. Pure."""

from __future__ import annotations

from typing import Final

from archive import crawl_log
from browsers import outcome
from browsers.found import Found
from browsers.links import media_type
from browsers.page import Look
from browsers.pageinfo import Sighting, fetched_urls
from browsers.proxyclient import SessionReport
from browsers.visit import FleetUnavailable, Visit

OURS: Final = {
    "ERR_PROXY_CONNECTION_FAILED": "proxy-unreachable",
    "ERR_CERT_AUTHORITY_INVALID": "proxy-not-trusted",
    "ERR_PROXY_AUTH_REQUESTED": "session-lost",
}
"""Chromium's errors that say something of the proxy and nothing of the site."""
SITES: Final = {
    "ERR_TIMED_OUT": (crawl_log.TIMEOUT, "timeout"),
    "ERR_CONNECTION_TIMED_OUT": (crawl_log.TIMEOUT, "timeout"),
    "ERR_EMPTY_RESPONSE": (crawl_log.LOST, "lost"),
    "ERR_CONNECTION_CLOSED": (crawl_log.LOST, "lost"),
    "ERR_CONNECTION_RESET": (crawl_log.LOST, "lost"),
    "ERR_INCOMPLETE_CHUNKED_ENCODING": (crawl_log.LOST, "short"),
    "ERR_CONTENT_LENGTH_MISMATCH": (crawl_log.LOST, "short"),
    "ERR_TUNNEL_CONNECTION_FAILED": (crawl_log.CONNECT, "refused"),
    "ERR_UNSAFE_PORT": (crawl_log.BAD_URL, "unfetchable"),
    "ERR_INVALID_HTTP_RESPONSE": (crawl_log.BAD_URL, "unreadable"),
    "ERR_INVALID_RESPONSE": (crawl_log.BAD_URL, "unreadable"),
    "ERR_RESPONSE_HEADERS_TOO_BIG": (crawl_log.BAD_URL, "unreadable"),
    "ERR_CONTENT_DECODING_FAILED": (crawl_log.BAD_URL, "unreadable"),
}
"""Chromium's errors, as Heritrix would have called them."""


def visit_of(sighting: Sighting, found: Found, report: SessionReport | None, duration_ms: int) -> Visit:
    """The visit's result. `report` is the proxy's account of it, None when captures are still being written.

    Raises FleetUnavailable when the page has holes, or is missing, by our own fault.
    """
    if report is not None and report.not_kept:
        raise FleetUnavailable(outcome.NOT_KEPT, may_be_the_page=True)
    look = sighting.look
    notes = (*look.notes, *(() if report is not None else ("captures-in-flight",)))
    size = report.bytes if report is not None else 0
    failure = _failure(sighting, report)
    if failure is not None:
        code, reason = failure
        return Visit(code, duration_ms, size, annotations=notes, error=reason)
    status, headers = _answer(sighting)
    fetched = fetched_urls(sighting.order.url, sighting.asked)
    return Visit(
        code=status,
        duration_ms=duration_ms,
        bytes=size,
        content_type=media_type(headers.get("content-type", "")),
        links=found.links,
        annotations=(*notes, *found.annotations, *(("not-rendered",) if look.failure else ())),
        retry_after=outcome.retry_after(headers),
        fetched=tuple(sorted(fetched)),
    )


def _failure(sighting: Sighting, report: SessionReport | None) -> tuple[int, str] | None:
    """(code, word) when the URL had no answer of the site's; raises FleetUnavailable when the reason is ours."""
    look = sighting.look
    if look.main is not None:
        return outcome.proxy_error(look.main.status, look.main.headers) or _broken_off(sighting, look.main.url)
    if look.failure in OURS:
        raise FleetUnavailable(OURS[look.failure])
    if _redirect(sighting) is not None:
        return None
    told = outcome.worst_error(report.errors) if report is not None else None
    return told or _by_name(look)


def _broken_off(sighting: Sighting, url: str) -> tuple[int, str] | None:
    """Set when the document ended short; one that the browser itself let go of (a download) did not."""
    asked = sighting.asked.get(url)
    name = asked.error.removeprefix("net::") if asked is not None and asked.error else ""
    return SITES.get(name)


def _by_name(look: Look) -> tuple[int, str]:
    if not look.failure:
        return crawl_log.TIMEOUT, "timeout"
    return SITES.get(look.failure, (crawl_log.RUNTIME, look.failure.lower()))


def _answer(sighting: Sighting) -> tuple[int, dict[str, str]]:
    """Status and headers of the final document, or of the redirect that led nowhere."""
    main = sighting.look.main
    if main is not None:
        return main.status, dict(main.headers)
    return _redirect(sighting) or 0, {}


def _redirect(sighting: Sighting) -> int | None:
    """The status of a redirect that never arrived: the ordered URL itself was answered, and is archived."""
    asked = sighting.asked.get(sighting.order.url)
    return asked.status if asked is not None and asked.status in range(300, 400) else None
