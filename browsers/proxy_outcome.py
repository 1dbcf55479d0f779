"""What an answer of the proxy means for the URL: the site's status, the site's failure, or our own. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Final

from archive import crawl_log
from browsers.visit import FleetUnavailable

ERROR_HEADER: Final = "ghostfleet-error"
"""Header by which the proxy says that an answer is its own: `<Heritrix code> <word>`; code 0 is our own trouble."""
NOT_KEPT: Final = "not-kept"
"""The proxy's word for an answer that came and could not be written."""
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
    """The word for a negative code, as the proxy's error header uses it."""
    return _WORDS.get(code, "failed")


def proxy_error(status: int, headers: Mapping[str, str]) -> tuple[int, str] | None:
    """(code, word) when the proxy itself made this answer since the site gave none; None for a site's own answer.

    `headers` is looked up case-sensitively in lower case unless the mapping knows better. Raises FleetUnavailable
    when the proxy says that it can't keep anything at present.
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
    """(code, word) of a session's most frequent failure, for a page that showed no answer at all."""
    codes = [(count, int(code)) for code, count in errors.items() if _NEGATIVE.fullmatch(code)]
    if not codes:
        return None
    code = max(codes)[1]
    return code, word(code)


def retry_after(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Seconds named by Retry-After (RFC 9110 section 10.2.3), a number or a date; None without a usable one."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    if text.isascii() and text.isdigit():
        return min(float(text[:12]), _LONGEST_RETRY_AFTER)
    try:
        moment = parsedate_to_datetime(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    seconds = (moment - (now or datetime.now(UTC))).total_seconds()
    return min(max(seconds, 0.0), _LONGEST_RETRY_AFTER)
