"""The plain crawler keeps the cookies that a chain of redirects sets, until the chain ends.

Many sites send a visitor without a cookie away and back, and show the page to a visitor who brings the cookie. The
cookies travel as text with the queued target of each redirect, so that another worker can go on after a restart. A
page's links begin without cookies. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from http.cookiejar import Cookie, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any, Final

from archive.json_text import compact_json

if TYPE_CHECKING:
    import httpx  # its code is loaded when the first redirect sets a cookie

MAX_COOKIES: Final = 30
MAX_TEXT: Final = 8_000
"""Largest number of characters of the names, values, domains and paths of all cookies. Newer ones are left out."""
_REVISITS: Final = 3
"""A target that was seen before is visited again when a cookie changed at most so many redirects ago."""

_SHORT_SECONDS: Final = 60
"""A cookie that runs out later by less than this time has not changed."""

type _Row = tuple[str, str, str, bool, bool, str, bool, int]
"""Name, value, domain, whether the site named the domain, whether it includes the hosts below, path, whether https, and
the second since 1970 at which the cookie runs out; 0 for a cookie without a date."""


@dataclass(frozen=True, slots=True)
class ChainCookies:
    """The cookies of one chain of redirects. `steps` counts the redirects since a cookie changed or was removed."""

    rows: tuple[_Row, ...] = ()
    steps: int = _REVISITS

    @classmethod
    def read(cls, text: str) -> ChainCookies:
        """Return the cookies of a text that `text` made; none for another text."""
        try:
            steps, rows = json.loads(text) if text else (_REVISITS, ())
            return cls(tuple(_row(row) for row in rows), int(steps))
        except (TypeError, ValueError):
            return cls()

    def text(self) -> str:
        """Return the cookies as `read` takes them; empty when there is no cookie and none was removed lately."""
        return compact_json([self.steps, self.rows]) if self.rows or self.may_revisit else ""

    def of_domain(self, domain: str) -> ChainCookies:
        """Return the cookies for hosts of a registered domain, as they are kept for later visits of the job."""
        # The cookie jar of Python adds .local to a host without a dot.
        named = domain if "." in domain else f"{domain}.local"
        rows = (row for row in self.rows if row[2].lstrip(".") == named or row[2].endswith(f".{named}"))
        return ChainCookies(tuple(rows), _REVISITS)

    def with_kept(self, kept: ChainCookies) -> ChainCookies:
        """Return the cookies with those that were kept for the job, which count first."""
        places = {(row[0], row[2], row[5]) for row in kept.rows}
        own = (row for row in self.rows if (row[0], row[2], row[5]) not in places)
        return ChainCookies(tuple(_bounded((*kept.rows, *own))), self.steps)

    def changed_since(self, before: ChainCookies) -> ChainCookies:
        """Return the cookies that other cookies do not have."""
        return replace(self, rows=tuple(row for row in self.rows if not _is_among(row, before.rows)))

    def header(self, url: str) -> str:
        """Return the value of the field Cookie for a URL; empty without a cookie for the URL."""
        if not self.rows:
            return ""
        import httpx

        request = httpx.Request("GET", url)
        _jar(self.rows).set_cookie_header(request)
        return str(request.headers.get("cookie", ""))

    def after(self, url: str, fields: Sequence[str]) -> ChainCookies:
        """Return the cookies after the URL redirected with these values of Set-Cookie.

        A value that is not printable ASCII is left out.
        """
        fields = [field for field in fields[:MAX_COOKIES] if field.isascii() and field.isprintable()]
        if not fields:
            return replace(self, steps=self.steps + 1)
        import httpx

        jar = _jar(self.rows)
        answer = httpx.Response(302, headers=[("set-cookie", field) for field in fields])
        answer.request = httpx.Request("GET", url)
        jar.extract_cookies(answer)
        jar.jar.clear_expired_cookies()
        rows = tuple(_bounded(_row_of(cookie) for cookie in jar.jar))
        is_changed = {row[:-1] for row in rows} != {row[:-1] for row in self.rows}
        return ChainCookies(rows, 0 if is_changed else self.steps + 1)

    @property
    def is_new(self) -> bool:
        """Return whether the last redirect changed a cookie. A cookie that runs out at another time has not changed."""
        return self.steps == 0

    def is_like(self, other: ChainCookies) -> bool:
        """Return whether the cookies are the same, and run out at about the same time."""
        return len(self.rows) == len(other.rows) and all(_is_among(row, other.rows) for row in self.rows)

    @property
    def may_revisit(self) -> bool:
        """Return whether the answer to a URL that was seen before may differ now, since a cookie changed lately."""
        return self.steps < _REVISITS


def _jar(rows: Iterable[_Row]) -> httpx.Cookies:
    import httpx

    cookies = httpx.Cookies()
    # A cookie without Domain goes to its own host only, and not to hosts below.
    cookies.jar.set_policy(DefaultCookiePolicy(strict_ns_domain=DefaultCookiePolicy.DomainStrictNonDomain))
    for name, value, domain, is_named, is_below, path, is_secure, end in rows:
        cookies.jar.set_cookie(
            Cookie(
                version=0,
                name=name,
                value=value,
                port=None,
                port_specified=False,
                domain=domain,
                domain_specified=is_named,
                domain_initial_dot=is_below,
                path=path,
                path_specified=True,
                secure=is_secure,
                expires=end or None,
                discard=not end,
                comment=None,
                comment_url=None,
                rest={},
            )
        )
    return cookies


def _row_of(cookie: Cookie) -> _Row:
    return (
        cookie.name,
        cookie.value or "",
        cookie.domain,
        cookie.domain_specified,
        cookie.domain_initial_dot,
        cookie.path,
        cookie.secure,
        max(int(cookie.expires or 0), 0),
    )


def _row(values: Sequence[Any]) -> _Row:
    name, value, domain, is_named, is_below, path, is_secure, end = (*values, 0) if len(values) == 7 else values
    return str(name), str(value), str(domain), bool(is_named), bool(is_below), str(path), bool(is_secure), int(end)


def _is_among(row: _Row, rows: Iterable[_Row]) -> bool:
    """Return whether the rows have the same cookie, which runs out at about the same time."""
    return any(
        row[:-1] == other[:-1] and bool(row[-1]) == bool(other[-1]) and abs(row[-1] - other[-1]) < _SHORT_SECONDS
        for other in rows
    )


def _bounded(rows: Iterable[_Row]) -> Iterable[_Row]:
    """Yield the rows that fit in the bounds."""
    room, left = MAX_TEXT, MAX_COOKIES
    for row in rows:
        size = len(row[0]) + len(row[1]) + len(row[2]) + len(row[5])
        if left and size <= room:
            left, room = left - 1, room - size
            yield row
