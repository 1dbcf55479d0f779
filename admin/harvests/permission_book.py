"""The permission book says which sites a harvest may fetch, by the permissions of their owners.

The permission of the longest site decides: that of https://example.org/news/ before that of example.org. The deciding
functions have no I/O; `read_book` reads the table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Final

from sqlalchemy import select
from sqlalchemy.orm import Session

from admin.models.curation_tables import PermissionState, SitePermission
from archive.dates import Micros
from archive.loose_key import loose_key
from archive.settings.curation import PermissionRule


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
        is_barred = standing is not PermissionStanding.GRANTED if self.rule == "only-granted" else standing in BARRED
        return standing if is_barred else None

    def standing(self, key: str) -> PermissionStanding:
        """Return how the permission of the longest site of this loose key stands."""
        for length in self._lengths:
            found = self.sites.get(key[:length]) if length <= len(key) else None
            if found is not None and (length == len(key) or _is_border(key, length)):
                return found
        return PermissionStanding.NONE

    def barred_parts(self, domain: str) -> Iterator[str]:
        """Yield a regular expression for each barred part of a domain whose other parts may be harvested."""
        if self.rule == "ignored":
            return
        own = loose_key(f"http://{domain}/").partition(")")[0]
        for prefix in self._barred:
            if prefix.startswith((f"{own},", f"{own})")):
                yield _expression(prefix)

    @cached_property
    def _lengths(self) -> list[int]:
        return sorted({len(prefix) for prefix in self.sites}, reverse=True)

    @cached_property
    def _barred(self) -> list[str]:
        return sorted(prefix for prefix, each in self.sites.items() if each in BARRED)


def read_book(session: Session, rule: PermissionRule, now: Micros) -> PermissionBook:
    """Return the book of a harvest with this rule; nothing is read when the harvest asks for no permission."""
    if rule == "ignored":
        return PermissionBook()
    query = select(SitePermission.prefix, SitePermission.state, SitePermission.granted_until)
    return PermissionBook(
        rule,
        {prefix: standing_of(PermissionState(state), until, now) for prefix, state, until in session.execute(query)},
    )


def _is_border(key: str, length: int) -> bool:
    """Return whether a site may end here within a key: `org,example` is no beginning of `org,example2)/`."""
    return key[length - 1] in ")/?&=,:" or key[length] in "),/?:" or ")" in key[:length]


def _expression(prefix: str) -> str:
    """Return a regular expression of the URLs whose loose keys begin so, whatever their scheme is."""
    host, bracket, path = prefix.partition(")")
    name = re.escape(".".join(reversed(host.split(","))))
    return (
        rf"^https?://(?:www\d*\.)?{name}(?::\d+)?{re.escape(path)}"
        if bracket
        else rf"^https?://(?:[^/?#]*\.)?{name}(?::\d+)?(?:/|$)"
    )
