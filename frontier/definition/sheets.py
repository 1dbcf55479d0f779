"""A sheet gives some sites of a job other values of the keys that decide who visits a page. Pure.

A sheet is one line of the profile's list `sheets`: a SURT prefix, a host name or a URL, and then values, such as
`org,example)/shop visitor=browser rendering=asynchronous`. A host name or URL stands for its SURT. The prefix matches
a URL when the URL's SURT (`coerced`: without scheme and leading `www.`) begins with it, and the prefix ends at
the border of a label or path: `org,example` matches `org,example,shop)/`, and does not match `org,examples)/`. Of
several sheets that match and set a key, the one with the longest prefix counts, and of equals the last one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

from archive.url import UrlError, canonical, key

type VisitorKind = Literal["plain", "browser", "mixed"]
FORMER_VISITORS: Final[Mapping[str, VisitorKind]] = {"chromium": "browser"}
"""Names that visitors had in earlier releases, and their present names. Profiles and commands may have both."""
type RenderingMode = Literal["synchronous", "asynchronous"]

MAX_SHEETS: Final = 10_000
_LONGEST_LINE: Final = 4_000
_SURT: Final = re.compile(r"[^\s/]*[,)][^\s]*")
_WWW: Final = re.compile(r"^([^,:)]+(?:,[^,:)]+)+),www\d*(?=[:)])")
_CHOICES: Final[Mapping[str, tuple[str, ...]]] = {
    "visitor": get_args(VisitorKind.__value__),
    "rendering": get_args(RenderingMode.__value__),
}
_FRACTION: Final = "rendered_fraction"
_BORDERS: Final = frozenset(",:)/?&")


@dataclass(frozen=True, slots=True)
class PageRules:
    """The rules say who visits the pages of a site."""

    visitor: VisitorKind
    rendered_fraction: float
    rendering: RenderingMode


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet sets some keys for the URLs of a SURT prefix. None leaves a key as it is."""

    prefix: str
    visitor: VisitorKind | None = None
    rendered_fraction: float | None = None
    rendering: RenderingMode | None = None

    def applied(self, rules: PageRules) -> PageRules:
        """Return the rules with the values of this sheet."""
        return PageRules(
            self.visitor if self.visitor is not None else rules.visitor,
            self.rendered_fraction if self.rendered_fraction is not None else rules.rendered_fraction,
            self.rendering if self.rendering is not None else rules.rendering,
        )


class Sheets:
    """The sheets of a job are looked up by URL. A look-up takes one step for each length that a prefix has."""

    def __init__(self, rules: PageRules, lines: Iterable[str]) -> None:
        """`rules` are those of the profile. Raises ValueError for a line that is no sheet."""
        self._rules = rules
        self._by_prefix: dict[str, list[Sheet]] = {}
        for line in lines:
            sheet = parse_sheet(line)
            self._by_prefix.setdefault(sheet.prefix, []).append(sheet)
        self._lengths = sorted({len(prefix) for prefix in self._by_prefix})

    def rules_for(self, url: str) -> PageRules:
        """Return the rules for a canonical URL."""
        rules = self._rules
        if not self._by_prefix:
            return rules
        surt = coerced(url)
        for length in self._lengths:
            for sheet in self._by_prefix.get(surt[:length], ()):
                if _ends_at_border(surt, length):
                    rules = sheet.applied(rules)
        return rules

    def all_rules(self) -> list[PageRules]:
        """Return the rules of the profile, and the rules that each sheet alone makes of them."""
        combined = [sheet.applied(self._rules) for sheets in self._by_prefix.values() for sheet in sheets]
        visitors = {rules.visitor for rules in (self._rules, *combined)}
        modes = {rules.rendering for rules in (self._rules, *combined)}
        fractions = {rules.rendered_fraction for rules in (self._rules, *combined)}
        if len(combined) < 2:
            return [self._rules, *combined]
        # Several sheets may match one URL, so that any combination of their values may occur.
        return [PageRules(visitor, max(fractions), mode) for visitor in sorted(visitors) for mode in sorted(modes)]


def coerced(url: str) -> str:
    """Return the key of a canonical URL without a leading `www.`."""
    return _WWW.sub(r"\1", key(url))


def present_visitor[T](value: T) -> T | VisitorKind:
    """Return the present name of a visitor. Anything else comes back as it is."""
    return FORMER_VISITORS.get(value, value) if isinstance(value, str) else value


def parse_sheet(line: str) -> Sheet:
    """Return the sheet of a line. Raises ValueError, whose message has the remedy."""
    example = "write for example `org,example)/ visitor=browser rendering=asynchronous`"
    if len(line) > _LONGEST_LINE:
        raise ValueError(f"a sheet has {len(line):,} characters; use at most {_LONGEST_LINE:,}")
    words = line.split()
    if len(words) < 2:
        raise ValueError(f"{line[:100]!r} is no sheet, since a sheet has a SURT prefix and a value; {example}")
    values: dict[str, str] = {}
    for word in words[1:]:
        name, equals, value = word.partition("=")
        if not equals or name not in (*_CHOICES, _FRACTION):
            known = ", ".join((*_CHOICES, _FRACTION))
            raise ValueError(f"{word[:100]!r} sets no key that a sheet may have ({known}); {example}")
        if name in values:
            raise ValueError(f"the sheet of {words[0][:100]!r} has {name} twice; write it once")
        value = present_visitor(value) if name == "visitor" else value
        if name in _CHOICES and value not in _CHOICES[name]:
            raise ValueError(f"{word[:100]!r} is no value of {name}; use {', '.join(_CHOICES[name])}")
        values[name] = value
    return Sheet(
        _prefix(words[0]),
        visitor=next((each for each in get_args(VisitorKind.__value__) if each == values.get("visitor")), None),
        rendered_fraction=_fraction(values[_FRACTION]) if _FRACTION in values else None,
        rendering=next((each for each in get_args(RenderingMode.__value__) if each == values.get("rendering")), None),
    )


def _prefix(text: str) -> str:
    """Return the SURT prefix that a person wrote as a SURT, a host name or a URL."""
    if "://" not in text and _SURT.fullmatch(text):
        return _WWW.sub(r"\1", text.lower() if "/" not in text else text)
    try:
        surt = coerced(canonical(text if "://" in text else f"http://{text}"))
    except UrlError as error:
        raise ValueError(f"{text[:100]!r} is no SURT prefix, host name or URL: {error}") from error
    return surt.removesuffix("/") if surt.endswith(")/") else surt


def _fraction(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError(f"rendered_fraction={text[:100]} is no number from 0 to 1; write for example 0.1")
    return value


def _ends_at_border(surt: str, length: int) -> bool:
    """Return whether a label, a host, a path segment or the query of a SURT ends after so many characters."""
    return length >= len(surt) or surt[length - 1] in _BORDERS or surt[length] in _BORDERS
