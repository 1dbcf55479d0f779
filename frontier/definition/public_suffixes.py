"""The list of public suffixes, below which domains are registered, is read once."""

from __future__ import annotations

from functools import cache

from publicsuffixlist import PublicSuffixList


@cache
def public_suffixes() -> PublicSuffixList:
    """Return the list. A suffix that the list does not have counts as a suffix of one label."""
    return PublicSuffixList()
