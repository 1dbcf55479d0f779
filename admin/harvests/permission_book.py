"""The permission book says which sites a harvest may fetch, by the permissions of their owners.

The permission of the longest site decides: that of https://example.org/news/ before that of example.org. The deciding
functions have no I/O; `read_book` reads the table.
"""

from __future__ import annotations

import logging
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from admin.models.curation_tables import PermissionState, SitePermission
from archive.dates import Micros
from archive.loose_key import is_border, loose_key
from archive.settings.curation import PermissionRule

_LONGEST_TRAP: Final = 4_000
"""Characters of the longest expression that a profile takes."""
_LONGEST_OF_SITE: Final = 2_000
_LONGEST_PATH: Final = 900
_BEGINNING: Final = "(?i)^https?://"
_PORT: Final = re.compile(r"(.*?)(:\d+)?")
_LOG: Final = logging.getLogger(__name__)


class PermissionStanding(StrEnum):
    """A permission stands so at a moment."""

    GRANTED = "granted"
    ASKED = "asked"
    REFUSED = "refused"
    WITHDRAWN = "withdrawn"
    EXPIRED = "expired"
    NONE = "none"
    """Nobody has asked for permission."""


BARRED: Final = frozenset((PermissionStanding.REFUSED, PermissionStanding.WITHDRAWN, PermissionStanding.EXPIRED))
"""The owner of the site does not allow its use, or not any more."""


def standing_of(state: PermissionState, granted_until: Micros | None, now: Micros) -> PermissionStanding:
    """Return how a permission stands now: a granted one expires at its moment. Pure."""
    if state == PermissionState.GRANTED and granted_until is not None and now >= granted_until:
        return PermissionStanding.EXPIRED
    return PermissionStanding(str(state))


@dataclass(frozen=True)
class PermissionBook:
    """A permission book has the standings of sites, by the beginning of their keys, and the rule of one harvest."""

    rule: PermissionRule = "ignored"
    sites: Mapping[str, PermissionStanding] = field(default_factory=dict)

    def why_barred(self, url: str) -> PermissionStanding | None:
        """Return the standing because of which the harvest leaves the URL out; None when the harvest takes it."""
        if self.rule == "ignored" or (not self.sites and self.rule == "unless-refused"):
            return None
        standing = self.standing(loose_key(url))
        return standing if self._is_barred(standing) else None

    def standing(self, key: str) -> PermissionStanding:
        """Return how the permission of the longest site of this loose key stands."""
        for length in self._lengths:
            found = self.sites.get(key[:length]) if length <= len(key) else None
            if found is not None and is_border(key, length):
                return found
        return PermissionStanding.NONE

    def barred_parts(self, domain: str) -> Iterator[str]:
        """Yield a regular expression for each barred part of a domain, for the whole domain too when it is barred.

        Seeds may lie in parts of a barred domain that may be harvested.
        """
        if self.rule == "ignored":
            return
        own = loose_key(f"http://{domain}/").partition(")")[0]
        if own not in self.sites and self._is_barred(self.standing(own)):
            yield self._trap(own)
        for site in self._parts(own):
            if self._is_barred(self.sites[site]):
                yield self._trap(site)

    def _trap(self, site: str) -> str:
        """Return a regular expression of the URLs of a barred site without those of its parts that may be harvested.

        Parts for which the expression has no room stay barred.
        """
        barred = _expression(site)
        if len(barred) > _LONGEST_OF_SITE:
            barred = _expression(site.partition("?")[0][:_LONGEST_PATH])
        taken: list[str] = []
        room = _LONGEST_TRAP - len(_BEGINNING) - len("(?!)") - len(barred)
        for part in self._parts(site):
            if self._is_barred(self.sites[part]):
                continue
            expression = _expression(part)
            if len(expression) >= room:
                _LOG.warning(
                    "%s and what follows are left out, though they may be harvested: the crawler trap of %s has no room"
                    " for more exceptions; note fewer and larger sites in the permission book", part, site,
                )  # fmt: skip
                break
            taken.append(expression)
            room -= len(expression) + len("|")
        return f"{_BEGINNING}{f'(?!{"|".join(taken)})' if taken else ''}{barred}"

    def _is_barred(self, standing: PermissionStanding) -> bool:
        return standing is not PermissionStanding.GRANTED if self.rule == "only-granted" else standing in BARRED

    def _parts(self, site: str) -> Iterator[str]:
        """Yield the sites that lie within a site, itself among them."""
        for at in range(bisect_left(self._prefixes, site), len(self._prefixes)):
            prefix = self._prefixes[at]
            if not prefix.startswith(site):
                return
            if is_border(prefix, len(site)):
                yield prefix

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted({len(prefix) for prefix in self.sites}, reverse=True)

    @cached_property
    def _prefixes(self) -> list[str]:
        return sorted(self.sites)


def read_book(session: Session, rule: PermissionRule, now: Micros) -> PermissionBook:
    """Return the book of a harvest with this rule; nothing is read when the harvest asks for no permission."""
    if rule == "ignored":
        return PermissionBook()
    query = select(SitePermission.prefix, SitePermission.state, SitePermission.granted_until)
    return PermissionBook(
        rule,
        {prefix: standing_of(PermissionState(state), until, now) for prefix, state, until in session.execute(query)},
    )


def _expression(prefix: str) -> str:
    """Return a regular expression of what follows the scheme in the canonical URLs of a site, in any case.

    The parameters of a query count in any order, and others may stand beside them.
    """
    host, bracket, rest = prefix.partition(")")
    found = _PORT.fullmatch(host)
    assert found is not None
    name = re.escape(".".join(reversed(found[1].split(","))))
    if not bracket:
        return rf"(?:[^/]*\.)?{name}[:/]"
    path, _, query = rest.partition("?")
    start = rf"(?:www\d*\.)?{name}{found[2] or ''}{re.escape(path)}"
    if not query:
        return start
    *others, last = (re.escape(each) for each in query.split("&"))
    parameters = "".join(f"(?=(?:.*&)?{each}(?:&|$))" for each in others)
    return rf"{start}\?{parameters}(?=(?:.*&)?{last})"
