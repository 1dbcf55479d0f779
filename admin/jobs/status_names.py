"""Heritrix's status codes in words: what the reports, the live view and the summary call a failure."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from archive import crawl_log

WORDS: Final = {
    crawl_log.UNTRIED: "not tried",
    crawl_log.DNS_LOOKUP: "name not found",
    crawl_log.CONNECT: "no connection",
    crawl_log.LOST: "connection lost",
    crawl_log.TIMEOUT: "timed out",
    crawl_log.RUNTIME: "not kept",
    crawl_log.DNS: "name not found",
    crawl_log.BAD_URL: "can't be fetched",
    crawl_log.RETRIES: "too many retries",
    crawl_log.NO_SUCH_NAME: "no such name",
    crawl_log.NO_ADDRESS: "name without address",
    crawl_log.DEFERRED: "put off",
    crawl_log.ROBOTS_UNREACHABLE: "robots.txt not to be had",
    crawl_log.EMPTY: "empty answer",
    crawl_log.SERIOUS: "error of ours",
    crawl_log.CHAFF: "trap",
    crawl_log.TOO_MANY_HOPS: "too many hops",
    crawl_log.TOO_MANY_EMBEDS: "too many embeds in a row",
    crawl_log.ALREADY_SEEN: "seen already",
    crawl_log.OUT_OF_SCOPE: "out of scope",
    crawl_log.BLOCKED: "refused; a private address needs --allow-private",
    crawl_log.BLOCKED_BY_RULE: "blocked by a rule",
    crawl_log.QUOTA: "quota reached",
    crawl_log.TIME_LIMIT: "time limit reached",
    crawl_log.MIXED_CONTENT: "mixed content",
    crawl_log.CANCELLED: "cancelled by the browser",
    crawl_log.DELETED: "deleted",
    crawl_log.KILLED: "stopped",
    crawl_log.ROBOTS: "robots.txt forbids it",
}
DISREGARDED: Final = frozenset(
    {
        crawl_log.CHAFF,
        crawl_log.TOO_MANY_HOPS,
        crawl_log.TOO_MANY_EMBEDS,
        crawl_log.ALREADY_SEEN,
        crawl_log.OUT_OF_SCOPE,
        crawl_log.BLOCKED_BY_RULE,
        crawl_log.QUOTA,
        crawl_log.TIME_LIMIT,
        crawl_log.MIXED_CONTENT,
        crawl_log.CANCELLED,
        crawl_log.DELETED,
        crawl_log.ROBOTS,
    }
)
"""Codes of URLs that were left alone on purpose (Heritrix's "disregards"), which is no failure."""


def word(code: int) -> str:
    """What the code means: `timed out (-4)`, `Not Found (404)`."""
    if code in WORDS:
        return f"{WORDS[code]} ({code})"
    try:
        return f"{HTTPStatus(code).phrase} ({code})"
    except ValueError:
        return f"status {code}"


def is_failure(code: int) -> bool:
    """Whether nothing came although it was wanted. An HTTP error is an answer, and is kept."""
    return code <= 0 and code not in DISREGARDED
