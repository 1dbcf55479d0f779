"""A query says which captures are searched for in the capture index, and in which order. This module runs no query.

The names of parameters are those of pywb's CDX server. `parse` reads them from a query string.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, Literal, cast, get_args

from archive import url as urls
from archive.capture import Capture
from archive.dates import Micros, parse_date
from dedupdb.captures import filters
from dedupdb.captures.filters import Filter, FilterError

type UrlMatch = Literal["exact", "prefix", "host", "domain"]
type Sort = Literal["default", "reverse", "closest"]

MATCHES: Final[tuple[str, ...]] = get_args(UrlMatch.__value__)
SORTS: Final[tuple[str, ...]] = get_args(Sort.__value__)
MAX_LAST: Final = 10_000
"""Most captures that a negative limit may ask for: they are held in memory, to be turned round."""
MAX_FILTERS: Final = 20
BLOCK: Final = 3_000
"""Rows in a block, as in pywb's compressed indexes; the size of a page is told in blocks."""
MAX_BLOCKS: Final = 100
"""Most blocks of a page."""
_TRUE: Final = ("true", "1", "yes", "on")
_FALSE: Final = ("false", "0", "no", "off")
_SCHEME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://")
_NO_HOST: Final = ("urn:", "dns:", "whois:", "metadata:", "filedesc:")
"""How the URLs of records begin that were never fetched from a web server."""


class QueryError(ValueError):
    """A parameter can't be used. `parameter` names it; the message is one line."""

    def __init__(self, parameter: str, reason: str) -> None:
        super().__init__(f"parameter {parameter}: {reason}")
        self.parameter = parameter


@dataclass(frozen=True, slots=True)
class KeyRange:
    """The range has the keys from `low` on and below `high`. With `high` None it has the key `low` alone."""

    low: str
    high: str | None = None


@dataclass(frozen=True, slots=True)
class NumberedPage:
    """The query asks for one page, counted from 0, of `size` index rows each."""

    number: int
    size: int


@dataclass(frozen=True, slots=True)
class ResumeMark:
    """The mark is a row of the index behind which an answer goes on."""

    key: str
    date: Micros
    id: int

    def __str__(self) -> str:
        return f"{self.key} {self.date} {self.id}"


@dataclass(frozen=True, slots=True)
class Query:
    """The query asks for captures of a collection whose keys are in `ranges`, which are in order and do not overlap.

    `since` and `until` are both included. A negative limit asks for the last captures, in the same order. The sort
    "closest" without the parameter `closest` means the newest first.
    """

    collection: str
    ranges: tuple[KeyRange, ...]
    since: Micros | None = None
    until: Micros | None = None
    limit: int | None = None
    sort: Sort = "default"
    closest: Micros | None = None
    filters: tuple[Filter, ...] = ()
    allowed: tuple[Filter, ...] = ()
    """The conditions of the captures that readers may know of. The other captures are as good as absent."""
    page: NumberedPage | None = None
    counts_skips: bool = False
    """The captures that the filters leave out are counted."""
    after: ResumeMark | None = None
    """The row behind which the search begins."""

    @property
    def goes_backward(self) -> bool:
        """Return whether the index is read from its end, as for a negative limit."""
        if self.sort == "closest":
            return False
        return (self.sort == "reverse") is not (self.limit is not None and self.limit < 0)

    def accepts(self, capture: Capture) -> bool:
        """Return whether a capture with a fitting key has a fitting date and passes all filters."""
        if self.since is not None and capture.date < self.since:
            return False
        if self.until is not None and capture.date > self.until:
            return False
        return all(condition.accepts(capture) for condition in self.filters)

    def allows(self, capture: Capture) -> bool:
        """Return whether readers may know of the capture."""
        return all(condition.accepts(capture) for condition in self.allowed)


def parse(collection: str, single: Mapping[str, str], filter_texts: Sequence[str] = ()) -> Query:
    """Return the query that `url`, `matchType`, `from`, `to`, `limit`, `sort`, `closest` and the filters describe.

    An empty parameter counts as not given. Raises QueryError.
    """
    given = {name: value for name, value in single.items() if value}
    if flag(given, "reverse"):
        given["sort"] = given.get("sort", "reverse")
    if "urlkey" in given:
        match, ranges = _of_key(given["urlkey"], given)
    else:
        match, ranges = _what(given.get("url", ""), given.get("matchType"))
    sort = _one_of("sort", given.get("sort", "default"), SORTS)
    if sort == "closest" and match != "exact" and single.get("closest") == "":
        sort = "default"  # as pywb asks a remote index that it wants all of
    if sort == "closest" and match != "exact":
        raise QueryError("sort", f"closest needs matchType=exact, not {match}")
    query = Query(
        collection,
        ranges,
        since=_moment("from", given["from"]) if "from" in given else None,
        until=_moment("to", given["to"], last=True) if "to" in given else None,
        limit=_limit(given.get("limit"), sort),
        sort=cast(Sort, sort),
        closest=_moment("closest", given["closest"]) if given.get("closest", "now") != "now" else None,
        filters=_filters(filter_texts),
        page=_page(given, sort),
        counts_skips=flag(given, "showSkipCount") or flag(given, "lastSkipTimestamp"),
        after=_resume(given),
    )
    if query.since is not None and query.until is not None and query.since > query.until:
        raise QueryError("from", f"{given['from']!r} is later than to={given['to']!r}")
    return query


def flag(given: Mapping[str, str], parameter: str) -> bool:
    """Return the value of a parameter that is true or false. The default is false. Raises QueryError."""
    value = given.get(parameter, "").lower()
    if value not in ("", *_TRUE, *_FALSE):
        raise QueryError(parameter, f"{value[:40]!r} is neither true nor false")
    return value in _TRUE


def page_size(given: Mapping[str, str]) -> int:
    """Return the number of blocks in a page. Raises QueryError."""
    return _whole("pageSize", given.get("pageSize") or "1", least=1, most=MAX_BLOCKS)


def _page(given: Mapping[str, str], sort: str) -> NumberedPage | None:
    blocks = page_size(given)
    if "page" not in given:
        return None
    number = _whole("page", given["page"], least=0, most=10**9)
    if sort != "default":
        raise QueryError("page", f"can't be used with sort={sort}")
    if given.get("limit", "").startswith("-"):
        raise QueryError("page", "can't be used with a negative limit")
    return NumberedPage(number, blocks * BLOCK)


def _whole(parameter: str, text: str, *, least: int, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and least <= int(text) <= most):
        raise QueryError(parameter, f"{text[:40]!r} is not a whole number from {least} to {most}")
    return int(text)


def key_ranges(url: str, match: UrlMatch) -> tuple[KeyRange, ...]:
    """Return the ranges of the keys of the URLs, in order. Raises UrlError when `url` is no URL.

    exact: this key. prefix: keys that begin with it. host: this host, on any port unless the URL names one. domain: the
    host and every name below it.
    """
    key = urls.key(url)
    if match == "exact":
        return (KeyRange(key),)
    if match == "prefix":
        return (beginning_with(key),)
    host, parenthesis, _ = key.partition(")")
    if not parenthesis:
        raise urls.UrlError(f"{url[:200]!r} has no host")
    ends = [")"] if ":" in host.rpartition("]")[2] else [")", ":"]
    if match == "domain" and not host.replace(".", "").isdigit() and not host.startswith("["):
        # In the order of the bytes: ")" and "," and ":" enclose no letter that a host name may have.
        ends = [")", ",", ":"] if len(ends) == 2 else ends
    return tuple(beginning_with(host + end) for end in ends)


def end_of(digits: str) -> Micros:
    """Return the last microsecond of a date with 4 to 14 digits, so that `to=2025` includes New Year's Eve."""
    start = datetime.fromtimestamp(parse_date(digits) // 1_000_000, UTC)
    if len(digits) == 4:
        after = start.replace(year=start.year + 1)
    elif len(digits) == 6:
        after = (start + timedelta(days=31)).replace(day=1)
    else:
        after = start + {8: timedelta(days=1), 10: timedelta(hours=1), 12: timedelta(minutes=1)}.get(
            len(digits), timedelta(seconds=1)
        )
    return int(after.timestamp()) * 1_000_000 - 1


def _what(url: str, match_type: str | None) -> tuple[UrlMatch, tuple[KeyRange, ...]]:
    if not url:
        raise QueryError("url", "is missing; give a URL, *.host or url/*")
    if "\0" in url:
        raise QueryError("url", "has a NUL character")
    bare, meant = _wildcard(url) if match_type != "exact" else (url, "exact")
    match = _one_of("matchType", match_type or meant, MATCHES)
    try:
        return cast(UrlMatch, match), key_ranges(_absolute(bare), cast(UrlMatch, match))
    except urls.UrlError as error:
        raise QueryError("url", str(error)) from error


def _wildcard(url: str) -> tuple[str, UrlMatch]:
    """Return the match type and the URL without its wildcard: `*.host` asks for a domain, `url*` for a prefix.

    A `*` elsewhere is part of the URL, and so is any `*` with matchType=exact.
    """
    if url.startswith("*."):
        return url[2:], "domain"
    if url.endswith("*") and len(url) > 1:
        return url[:-1], "prefix"
    return url, "exact"


def _absolute(url: str) -> str:
    """Return the URL as the index has it. A URL without scheme gets http.

    A URL such as `urn:…` has no canonical form and stays as it is.
    """
    if url.startswith(_NO_HOST) and len(url) <= urls.MAX_LENGTH:
        return url
    return urls.canonical(url if _SCHEME.match(url) else f"http://{url}")


def beginning_with(prefix: str) -> KeyRange:
    """Return the range of the keys that begin with a text, which is not empty."""
    return KeyRange(prefix, prefix[:-1] + chr(ord(prefix[-1]) + 1))


def _one_of(parameter: str, value: str, allowed: Sequence[str]) -> str:
    if value not in allowed:
        raise QueryError(parameter, f"{value[:40]!r} is unknown; use one of {', '.join(allowed)}")
    return value


def _moment(parameter: str, digits: str, *, last: bool = False) -> Micros:
    try:
        if not (digits.isascii() and digits.isdigit() and len(digits) in (4, 6, 8, 10, 12, 14)):
            raise ValueError
        return end_of(digits) if last else parse_date(digits)
    except (ValueError, OverflowError) as error:
        reason = f"{digits[:40]!r} is no date; write 4, 6, 8, 10, 12 or 14 digits, such as 20260131"
        raise QueryError(parameter, reason) from error


def _of_key(key: str, given: Mapping[str, str]) -> tuple[UrlMatch, tuple[KeyRange, ...]]:
    """Return the range of a key of the index, which stands in place of a URL."""
    if "url" in given:
        raise QueryError("urlkey", "can't be used with url; leave one of them out")
    if "\0" in key or len(key) > urls.MAX_LENGTH:
        raise QueryError("urlkey", f"{key[:40]!r} is no key of the index")
    match = _one_of("matchType", given.get("matchType", "exact"), ("exact", "prefix"))
    return cast(UrlMatch, match), (KeyRange(key) if match == "exact" else beginning_with(key),)


def _resume(given: Mapping[str, str]) -> ResumeMark | None:
    """Return the mark in `resumeKey`, which an earlier answer gave."""
    has_limit = not given.get("limit", "-").startswith("-")
    for name in ("showResumeKey", "resumeKey"):
        if (name == "resumeKey" and name in given) or (name == "showResumeKey" and flag(given, name)):
            if given.get("sort", "default") != "default" or "page" in given or given.get("limit", "").startswith("-"):
                raise QueryError(name, "goes with the default order alone; leave out sort, page and a negative limit")
            if name == "showResumeKey" and not has_limit:
                raise QueryError(name, "needs a limit, after which the answer can go on")
    if "resumeKey" not in given:
        return None
    key, _, rest = given["resumeKey"].partition(" ")
    found = re.fullmatch(r"(-?[0-9]{1,18}) ([0-9]{1,18})", rest, re.ASCII)
    if not found or "\0" in key:
        raise QueryError("resumeKey", f"{given['resumeKey'][:40]!r} is not the key of an earlier answer")
    return ResumeMark(key, int(found[1]), int(found[2]))


def _limit(text: str | None, sort: str) -> int | None:
    if text is None:
        return None
    if not re.fullmatch("-?[0-9]{1,18}", text, re.ASCII):
        raise QueryError("limit", f"{text[:40]!r} is not a whole number")
    limit = int(text)
    if limit < -MAX_LAST:
        raise QueryError("limit", f"{limit} asks for more than the last {MAX_LAST}; use sort=reverse and stop reading")
    if limit < 0 and sort == "closest":
        raise QueryError("limit", "can't be negative with sort=closest")
    return limit


def _filters(texts: Sequence[str]) -> tuple[Filter, ...]:
    if len(texts) > MAX_FILTERS:
        raise QueryError("filter", f"is given {len(texts)} times, more than {MAX_FILTERS}")
    try:
        return tuple(filters.parse(text) for text in texts)
    except FilterError as error:
        raise QueryError("filter", str(error)) from error
