"""A sheet gives some sites of a job other values of keys of the profile. Pure.

A sheet is one line of the profile's list `sheets`: the URLs for which it holds, and then values, such as
`org,example)/shop visitor=browser rendering=asynchronous`. The URLs are named in one of three ways:

- by a SURT prefix, a host name or a URL. A host name or URL stands for its SURT. The prefix matches a URL when the
  URL's SURT (`coerced`: without scheme and leading `www.`) begins with it, and the prefix ends at the border of a label
  or path: `org,example` matches `org,example,shop)/`, and does not match `org,examples)/`;
- by `regex:` and a regular expression that matches the URL from end to end, such as `regex:.*\\.pdf robots=ignore`;
- by `address:` and an address or network of the URL's host, such as `address:192.0.2.0/24 min_delay_seconds=10`. The
  host's name is looked up before the visit, so that such a sheet sets no key of the scope.

Of several sheets that match and set a key, a regular expression counts before all prefixes, a longer prefix before a
shorter one, a prefix before all addresses, a smaller network before a larger one, and of equals the last one, as in
Heritrix.

Names of stock sheets (`STOCK_SHEETS`) may come before the values and stand for theirs, such as
`example.org extra-polite recrawl-1d`. Of several that set a key, the last one counts, and the line's own value before
them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Literal, get_args

import regex

from archive.url import UrlError, canonical, host_of
from frontier.definition.networks import NetworkTable, read_network, without_port
from frontier.definition.rules.surts import coerced, coerced_prefix, read_surt
from frontier.definition.rules.url_patterns import UrlPattern, UrlPatterns

type VisitorKind = Literal["plain", "browser", "mixed"]
FORMER_VISITORS: Final[Mapping[str, VisitorKind]] = {"chromium": "browser"}
"""Names that visitors had in earlier releases, and their present names. Profiles and commands may have both."""
type RenderingMode = Literal["synchronous", "asynchronous"]
type RevisitMode = Literal["off", "fixed", "adaptive"]

LONGEST_INTERVAL: Final = 3_660 * 86_400
"""Seconds: a URL of a continuous crawl is visited again after at most so long."""

MAX_SHEETS: Final = 10_000
MAX_REGEX_SHEETS: Final = 1_000
"""Sheets by regular expression; each of them is searched in each URL."""
UNLIMITED: Final = 1_000_000_000
"""The value of `hops=none`."""
_LONGEST_LINE: Final = 4_000
_SURT: Final = re.compile(r"[^\s/]*[,)][^\s]*")
_REGEX: Final = "regex:"
_ADDRESS: Final = "address:"
_OF_SCOPE: Final = frozenset(
    ("hops", "embed_hops", "speculative_hops", "redirect_hops", "max_path_segments", "max_path_repeats")
)
"""Keys by which the scope decides about links, before names are looked up."""
_BORDERS: Final = frozenset(",:)/?&")
_MOST_COMBINATIONS: Final = 4_096
LONGEST_URL: Final = 8_192
"""Regular expressions are not searched in longer URLs, which no scope takes in."""
STOCK_SHEETS: Final[Mapping[str, Mapping[str, str]]] = {
    "fast": {"delay_factor": "0", "min_delay_seconds": "0.5", "max_delay_seconds": "1"},
    "extra-polite": {"delay_factor": "8", "min_delay_seconds": "10", "max_delay_seconds": "60"},
    "ignore-robots": {"robots": "ignore"},
    "no-max-hops": {"hops": "none"},
    "limited": {"hops": "2", "max_links": "500"},
    "resource": {"hops": "0"},
    "plus-one": {"hops": "1"},
    **{
        f"recrawl-{name}": {"revisit_mode": "fixed", "revisit_interval_seconds": str(seconds)}
        for name, seconds in (
            ("1h", 3_600),
            ("4h", 4 * 3_600),
            ("12h", 12 * 3_600),
            *((f"{days}d", days * 86_400) for days in (1, 7, 30, 90, 180, 365)),
        )
    },
    "recrawl-adaptive": {"revisit_mode": "adaptive"},
    "recrawl-never": {"revisit_mode": "off"},
}
"""The values of sheets that come with Ghostfleet, by name, after the sheets of the UK Web Archive."""
_LEFT_OUT: Final = {
    "per_host": "visits at one time are counted for a host as a whole; set politeness.per_host for the job",
    "skip_down": "priorities are served for a host as a whole; set politeness.skip_down for the job",
    "quotas": "quotas are counted for the job, hosts, domains and seeds; set quotas for the job",
    "limits": "limits are counted for the job or for a host; set limits.host_pages for the job",
    "host_pages": "pages are counted for a host as a whole; set limits.host_pages for the job",
    "scope": "a scope is made of all seeds; add an ACCEPT or REJECT rule to `rules`",
    "user_agent": "all requests of a job have one User-Agent; set user_agent for the job",
    "headers": "headers are sent to all sites; set headers for the job",
}
"""Keys of a profile that a sheet can't have, with the reason and the remedy."""


@dataclass(frozen=True, slots=True)
class PageRules:
    """The rules say who visits the pages of a site."""

    visitor: VisitorKind
    rendered_fraction: float
    rendering: RenderingMode


@dataclass(frozen=True, slots=True)
class SheetValues:
    """These are the values that sheets give to a URL. None leaves a key as it is."""

    visitor: VisitorKind | None = None
    rendered_fraction: float | None = None
    rendering: RenderingMode | None = None
    robots: Literal["obey", "ignore"] | None = None
    hops: int | None = None
    max_links: int | None = None
    embed_hops: int | None = None
    speculative_hops: int | None = None
    redirect_hops: int | None = None
    max_path_segments: int | None = None
    max_path_repeats: int | None = None
    delay_factor: float | None = None
    min_delay_seconds: float | None = None
    max_delay_seconds: float | None = None
    max_crawl_delay_seconds: float | None = None
    host_failures: int | None = None
    max_retries: int | None = None
    retry_seconds: float | None = None
    max_retry_seconds: float | None = None
    host_bytes_per_second: int | None = None
    session_budget: int | None = None
    revisit_mode: RevisitMode | None = None
    revisit_interval_seconds: float | None = None
    revisit_min_seconds: float | None = None
    revisit_max_seconds: float | None = None

    def over(self, other: SheetValues) -> SheetValues:
        """Return the values of both, where those of this sheet count first."""
        return replace(other, **self.given())

    def given(self) -> dict[str, Any]:
        """Return the values that are set, by key."""
        pairs = ((name, getattr(self, name)) for name in SHEET_KEYS)
        return {name: value for name, value in pairs if value is not None}

    def applied(self, rules: PageRules) -> PageRules:
        """Return the rules with these values."""
        return PageRules(
            self.visitor if self.visitor is not None else rules.visitor,
            self.rendered_fraction if self.rendered_fraction is not None else rules.rendered_fraction,
            self.rendering if self.rendering is not None else rules.rendering,
        )

    @property
    def visits_again(self) -> bool:
        """Return whether the sheet makes a crawl of its URLs continuous."""
        return self.revisit_mode not in (None, "off")


SHEET_KEYS: Final = tuple(each.name for each in fields(SheetValues))
"""The keys that a sheet may set."""
NO_VALUES: Final = SheetValues()


@dataclass(frozen=True, slots=True)
class Sheet:
    """A sheet sets some keys for URLs: of a SURT prefix, that an expression matches, or of hosts with an address."""

    values: SheetValues
    prefix: str = ""
    """Empty for a sheet of another kind, as are the two other keys."""
    pattern: str = ""
    network: str = ""


class Sheets:
    """The sheets of a job are looked up by URL. A look-up takes one step for each length that a prefix has."""

    def __init__(self, rules: PageRules, lines: Iterable[str]) -> None:
        """`rules` are those of the profile. Raises ValueError for a line that is no sheet."""
        self._rules = rules
        self._by_prefix: dict[str, list[int]] = {}
        self._sheets = [parse_sheet(line) for line in lines]
        self._by_pattern: list[tuple[UrlPatterns, int]] = []
        self._by_address = NetworkTable[list[int]]()
        self._has_addresses = False
        self.addresses_of: Callable[[str], Sequence[str]] = lambda _: ()
        """Return the known addresses of a host. The caller who can look names up sets this function."""
        by_network: dict[str, list[int]] = {}
        for number, sheet in enumerate(self._sheets):
            if sheet.network:
                by_network.setdefault(sheet.network, []).append(number)
            elif sheet.pattern:
                self._by_pattern.append((UrlPatterns([sheet.pattern], whole=True), number))
            else:
                self._by_prefix.setdefault(sheet.prefix, []).append(number)
        if len(self._by_pattern) > MAX_REGEX_SHEETS:
            raise ValueError(f"{len(self._by_pattern):,} sheets have a regular expression; use at most 1,000")
        for text, numbers in by_network.items():
            if (network := read_network(text)) is not None:
                self._by_address.put(network, numbers)
                self._has_addresses = True
        self._lengths = sorted({len(prefix) for prefix in self._by_prefix})
        self._combined: dict[tuple[int, ...], SheetValues] = {}

    def __len__(self) -> int:
        return len(self._sheets)

    def rules_for(self, url: str) -> PageRules:
        """Return the rules for a canonical URL."""
        if not self._sheets:
            return self._rules
        return self.values_for(url).applied(self._rules)

    def values_for(self, url: str) -> SheetValues:
        """Return the values that the sheets give to a canonical URL."""
        numbers = self.matching(url)
        if not numbers:
            return NO_VALUES
        values = self._combined.get(numbers)
        if values is None:
            values = NO_VALUES
            for number in numbers:
                values = self._sheets[number].values.over(values)
            if len(self._combined) < _MOST_COMBINATIONS:
                self._combined[numbers] = values
        return values

    def matching(self, url: str) -> tuple[int, ...]:
        """Return the numbers of the sheets that hold for a canonical URL, from 0. Later ones win over earlier ones."""
        return tuple(self._matching(url)) if self._sheets else ()

    def sources(self, url: str) -> dict[str, int]:
        """Return the number of the sheet from which each key has its value for a URL, from 0."""
        return {key: number for number in self.matching(url) for key in self._sheets[number].values.given()}

    def may_set(self, *keys: str) -> bool:
        """Return whether a sheet sets one of these keys."""
        return any(getattr(sheet.values, key) is not None for sheet in self._sheets for key in keys)

    @property
    def visits_again(self) -> bool:
        """Return whether a sheet makes a crawl of its URLs continuous."""
        return any(sheet.values.visits_again for sheet in self._sheets)

    def all_rules(self) -> list[PageRules]:
        """Return the rules of the profile, and the rules that each sheet alone makes of them."""
        combined = [sheet.values.applied(self._rules) for sheet in self._sheets]
        visitors = {rules.visitor for rules in (self._rules, *combined)}
        modes = {rules.rendering for rules in (self._rules, *combined)}
        fractions = {rules.rendered_fraction for rules in (self._rules, *combined)}
        if len(combined) < 2:
            return [self._rules, *combined]
        # Several sheets may match one URL, so that any combination of their values may occur.
        return [PageRules(visitor, max(fractions), mode) for visitor in sorted(visitors) for mode in sorted(modes)]

    def patterns(self) -> Iterator[UrlPatterns]:
        """Yield the regular expressions, for the count of those that take too long."""
        return (patterns for patterns, _ in self._by_pattern)

    def _matching(self, url: str) -> Iterator[int]:
        if self._has_addresses:
            yield from self._numbers_by_address(host_of(url))
        surt = coerced(url)
        for length in self._lengths:
            if (numbers := self._by_prefix.get(surt[:length])) is not None and _ends_at_border(surt, length):
                yield from numbers
        if len(url) <= LONGEST_URL:
            yield from (number for patterns, number in self._by_pattern if patterns.first_found(url) is not None)

    def _numbers_by_address(self, host: str) -> Iterator[int]:
        found: dict[tuple[int, ...], int] = {}
        for address in (without_port(host), *self.addresses_of(host)):
            found |= {tuple(numbers): length for length, numbers in self._by_address.found(address)}
        for numbers in sorted(found, key=lambda each: (found[each], each)):
            yield from numbers


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
    values: dict[str, Any] = {}
    named = next((number for number, word in enumerate(words[1:], 1) if word not in STOCK_SHEETS), len(words))
    for word in words[1:named]:
        values |= {name: _READERS[name](name, value) for name, value in STOCK_SHEETS[word].items()}
    stock, values = values, {}
    for word in words[named:]:
        name, equals, value = word.partition("=")
        if name in _LEFT_OUT:
            raise ValueError(f"{word[:100]!r} can't be in a sheet: {_LEFT_OUT[name]}")
        if not equals or name not in _READERS:
            raise ValueError(
                f"{word[:100]!r} sets no key that a sheet may have ({', '.join(_READERS)}), and is no stock sheet,"
                f" whose names come first ({', '.join(STOCK_SHEETS)}); {example}"
            )
        if name in values:
            raise ValueError(f"the sheet of {words[0][:100]!r} has {name} twice; write it once")
        values[name] = _READERS[name](name, value)
    values = stock | values
    given = SheetValues(**values)
    if words[0].startswith(_REGEX):
        return Sheet(given, pattern=_pattern(words[0].removeprefix(_REGEX)))
    if words[0].startswith(_ADDRESS):
        if early := sorted(_OF_SCOPE.intersection(values)):
            raise ValueError(
                f"{early[0]} can't be in a sheet by address, since the scope decides before names are looked up; write"
                " the sheet by host or SURT prefix"
            )
        return Sheet(given, network=_network(words[0].removeprefix(_ADDRESS)))
    return Sheet(given, prefix=_prefix(words[0]))


def _network(text: str) -> str:
    network = read_network(text)
    if network is None:
        raise ValueError(f"{text[:100]!r} is no address or network; write for example address:192.0.2.0/24")
    return str(network)


def _prefix(text: str) -> str:
    """Return the SURT prefix that a person wrote as a SURT, a host name or a URL."""
    if "(" in text and text.partition("(")[0] in ("", "http://", "https://"):
        return read_surt(text)[1]
    if "://" not in text and _SURT.fullmatch(text):
        return coerced_prefix(text.lower() if "/" not in text else text)
    try:
        surt = coerced(canonical(text if "://" in text else f"http://{text}"))
    except UrlError as error:
        raise ValueError(f"{text[:100]!r} is no SURT prefix, host name or URL: {error}") from error
    return surt.removesuffix("/") if surt.endswith(")/") else surt


def _pattern(text: str) -> str:
    try:
        re.compile(text)
        UrlPattern(text, whole=True)
    except (re.error, regex.error, RecursionError, OverflowError) as error:
        raise ValueError(f"{text[:100]!r} is not a regular expression: {error}; correct it") from error
    return text


def _choice(*choices: str) -> Callable[[str, str], str]:
    def read(name: str, text: str) -> str:
        value = present_visitor(text) if name == "visitor" else text
        if value not in choices:
            raise ValueError(f"{f'{name}={text}'[:100]!r} is no value of {name}; use {', '.join(choices)}")
        return value

    return read


def _number(least: float, most: float) -> Callable[[str, str], float]:
    def read(name: str, text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = least - 1
        if not least <= value <= most:
            raise ValueError(f"{name}={text[:100]} is no number from {least:g} to {most:g}; write for example 0.1")
        return value

    return read


def _whole(least: int) -> Callable[[str, str], int]:
    def read(name: str, text: str) -> int:
        if name == "hops" and text == "none":
            return UNLIMITED
        if not (text.isascii() and text.isdecimal() and len(text) <= 9 and int(text) >= least):
            raise ValueError(f"{name}={text[:100]} is no whole number from {least}; write for example {least + 1}")
        return int(text)

    return read


_DAY: Final = 86_400
_READERS: Final[Mapping[str, Callable[[str, str], Any]]] = {
    "visitor": _choice(*get_args(VisitorKind.__value__)),
    "rendered_fraction": _number(0, 1),
    "rendering": _choice(*get_args(RenderingMode.__value__)),
    "robots": _choice("obey", "ignore"),
    "hops": _whole(0),
    "max_links": _whole(1),
    "embed_hops": _whole(0),
    "speculative_hops": _whole(0),
    "redirect_hops": _whole(0),
    "max_path_segments": _whole(1),
    "max_path_repeats": _whole(1),
    "delay_factor": _number(0, 1_000),
    "min_delay_seconds": _number(0, _DAY),
    "max_delay_seconds": _number(0, _DAY),
    "max_crawl_delay_seconds": _number(0, _DAY),
    "host_failures": _whole(1),
    "max_retries": _whole(0),
    "retry_seconds": _number(0, _DAY),
    "max_retry_seconds": _number(0, _DAY),
    "host_bytes_per_second": _whole(0),
    "session_budget": _whole(1),
    "revisit_mode": _choice(*get_args(RevisitMode.__value__)),
    "revisit_interval_seconds": _number(1, LONGEST_INTERVAL),
    "revisit_min_seconds": _number(1, LONGEST_INTERVAL),
    "revisit_max_seconds": _number(1, LONGEST_INTERVAL),
}


def _ends_at_border(surt: str, length: int) -> bool:
    """Return whether a label, a host, a path segment or the query of a SURT ends after so many characters."""
    return length >= len(surt) or surt[length - 1] in _BORDERS or surt[length] in _BORDERS
