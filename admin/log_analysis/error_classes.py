"""An error class groups the status codes of crawl.log by the part that failed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from admin.jobs.status_names import DISREGARDED
from archive import crawl_log


class ErrorClass(StrEnum):
    """A line of crawl.log belongs to one of these classes."""

    NONE = "none"
    """The server answered, and not with an error."""
    DNS = "dns"
    CONNECTION = "connection"
    TIMEOUT = "timeout"
    CLIENT = "http-4xx"
    SERVER = "http-5xx"
    ROBOTS = "robots"
    """The robots.txt of the site forbids the URL, or could not be fetched."""
    EXCLUDED = "excluded"
    """A rule or limit excluded the URL."""
    OTHER = "other"


FAULTS: Final = (
    ErrorClass.DNS,
    ErrorClass.CONNECTION,
    ErrorClass.TIMEOUT,
    ErrorClass.CLIENT,
    ErrorClass.SERVER,
    ErrorClass.OTHER,
)
"""Classes of URLs that were wanted and not fetched. Refusals by robots.txt and by rules are none of these."""
CODES: Final[Mapping[ErrorClass, tuple[int, ...]]] = {
    ErrorClass.DNS: (crawl_log.DNS_LOOKUP, crawl_log.DNS, crawl_log.NO_SUCH_NAME, crawl_log.NO_ADDRESS),
    ErrorClass.CONNECTION: (crawl_log.CONNECT, crawl_log.LOST, crawl_log.EMPTY),
    ErrorClass.TIMEOUT: (crawl_log.TIMEOUT,),
    ErrorClass.ROBOTS: (crawl_log.ROBOTS, crawl_log.ROBOTS_UNREACHABLE),
    ErrorClass.EXCLUDED: tuple(sorted(DISREGARDED - {crawl_log.ROBOTS})),
}
"""The codes of Heritrix by class; all others below 1 are `other`."""


def class_sql(column: str) -> str:
    """Return the class of the status code in a column, as an expression of SQL."""
    cases = "".join(f" WHEN {column} IN {(*codes, codes[0])} THEN '{name}'" for name, codes in CODES.items())
    return (
        f"CASE WHEN {column} >= 500 THEN '{ErrorClass.SERVER}' WHEN {column} >= 400 THEN '{ErrorClass.CLIENT}'"
        f" WHEN {column} > 0 THEN '{ErrorClass.NONE}'{cases} ELSE '{ErrorClass.OTHER}' END"
    )
