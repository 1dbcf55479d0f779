"""The texts for HTTP statuses and Heritrix's status codes in reports, progress and summary."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

from archive import crawl_log

STATUS_TEXTS: Final = {
    crawl_log.UNTRIED: "not tried",
    crawl_log.DNS_LOOKUP: "name not found",
    crawl_log.CONNECT: "no connection",
    crawl_log.LOST: "connection lost",
    crawl_log.TIMEOUT: "timed out",
    crawl_log.RUNTIME: "not recorded",
    crawl_log.DNS: "name not found",
    crawl_log.BAD_URL: "can't be fetched",
    crawl_log.RETRIES: "too many retries",
    crawl_log.NO_SUCH_NAME: "no such name",
    crawl_log.NO_ADDRESS: "name without address",
    crawl_log.DEFERRED: "deferred",
    crawl_log.ROBOTS_UNREACHABLE: "robots.txt can't be fetched",
    crawl_log.EMPTY: "empty response",
    crawl_log.SERIOUS: "given up, because its workers died",
    crawl_log.CHAFF: "crawler trap",
    crawl_log.TOO_MANY_HOPS: "too many hops",
    crawl_log.TOO_MANY_EMBEDS: "too many embeds in a row",
    crawl_log.ALREADY_SEEN: "already seen",
    crawl_log.OUT_OF_SCOPE: "out of scope",
    crawl_log.BLOCKED: "refused; private addresses need --allow-private",
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
"""Codes of URLs that a rule or limit excluded (Heritrix's "disregards"). They are no failures."""


def status_text(code: int) -> str:
    """Return the text and the code: `timed out (-4)`, `Not Found (404)`."""
    if code in STATUS_TEXTS:
        return f"{STATUS_TEXTS[code]} ({code})"
    try:
        return f"{HTTPStatus(code).phrase} ({code})"
    except ValueError:
        return f"status {code}"


def is_failure(code: int) -> bool:
    """Return whether a wanted URL got no response. An HTTP error is a response and is recorded."""
    return code <= 0 and code not in DISREGARDED
