"""An answer through the proxy is the site's response, a failure of the site, or a failure on our side. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from archive import crawl_log
from browsers.visit import FleetUnavailable

ERROR_HEADER: Final = "ghostfleet-error"
"""The proxy's own answers have this header: `<Heritrix code> <word>`. Code 0 is a failure on our side."""
NOT_KEPT: Final = "not-kept"
"""The proxy's word for a response that could not be written."""
_PROXY_STATUSES: Final = frozenset((403, 502, 503, 504))
_NEGATIVE: Final = re.compile(r"-\d{1,5}")
_LONGEST_RETRY_AFTER: Final = 31 * 86_400.0

_WORDS: Final = {
    crawl_log.DNS_LOOKUP: "dns",
    crawl_log.CONNECT: "refused",
    crawl_log.LOST: "lost",
    crawl_log.TIMEOUT: "timeout",
    crawl_log.RUNTIME: "unexpected",
    crawl_log.DNS: "dns",
    crawl_log.BAD_URL: "unfetchable",
}


def word(code: int) -> str:
    """Return the word for a negative code, as in the proxy's error header."""
    return _WORDS.get(code, "failed")


def proxy_error(status: int, headers: Mapping[str, str]) -> tuple[int, str] | None:
    """Return (code, word) when the proxy itself made this answer; None for a response of the site.

    `headers` must have lower-case names or ignore case. Raises FleetUnavailable when the proxy can't record at present.
    """
    text = headers.get(ERROR_HEADER) if status in _PROXY_STATUSES else None
    if text is None:
        return None
    number, _, reason = text.strip().partition(" ")
    try:
        code = int(number)
    except ValueError:
        return crawl_log.RUNTIME, text.strip()[:40] or "unexpected"
    if code >= 0:
        raise FleetUnavailable(reason or "unavailable", retry_after(headers), may_be_the_page=reason == NOT_KEPT)
    return code, reason or word(code)


def worst_error(errors: Mapping[str, int]) -> tuple[int, str] | None:
    """Return (code, word) of the most frequent failure of a session, for a page without any response."""
    codes = [(count, int(code)) for code, count in errors.items() if _NEGATIVE.fullmatch(code)]
    if not codes:
        return None
    code = max(codes)[1]
    return code, word(code)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds of Retry-After (RFC 9110 section 10.2.3), a number or a date; None for another value."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), _LONGEST_RETRY_AFTER)
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = (moment - (now or datetime.now(UTC))).total_seconds()
    return min(max(seconds, 0.0), _LONGEST_RETRY_AFTER)
