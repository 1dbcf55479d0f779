"""Compare the links of a page's capture with those of its replay. Pure.

Links count as one when their keys are equal (`archive.url.key`), so that the scheme does not
matter. A link that differs from a new one of the replay in numbers and query alone has only changed: pages
make links with times and random values in each visit.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from archive.url import UrlError, key

_VARIABLE: Final = re.compile(r"\?.*|\d+", re.DOTALL)
"""Parts of a URL that a page may make up in each visit."""
_MOST_NAMED: Final = 20


@dataclass(frozen=True, slots=True)
class LinkComparison:
    """The links that the page had at its capture, and those that the replay lacks."""

    captured: int
    """The number of different links of the capture."""
    lost: int = 0
    examples: tuple[str, ...] = ()
    """URLs of lost links, at most 20."""

    @property
    def lost_share(self) -> float:
        """Return the share of the captured links that are lost, from 0 to 1."""
        return self.lost / self.captured if self.captured else 0.0


def compare_links(captured: Iterable[str], replayed: Iterable[str]) -> LinkComparison:
    """Return the comparison of the URLs of links at the capture and in replay."""
    before = {_key(url): url for url in captured}
    after = {_key(url): url for url in replayed}
    new = Counter(_shape(url) for name, url in after.items() if name not in before)
    lost = []
    for name, url in before.items():
        if name in after:
            continue
        shape = _shape(url)
        if new[shape] > 0:
            new[shape] -= 1
        else:
            lost.append(url)
    return LinkComparison(len(before), len(lost), tuple(lost[:_MOST_NAMED]))


def _key(url: str) -> str:
    try:
        return key(url)
    except UrlError:
        return url


def _shape(url: str) -> str:
    return _VARIABLE.sub("", url)
