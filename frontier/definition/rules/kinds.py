"""Each kind of rule says to which links it applies. Names and meanings are those of Heritrix's decide rules.

A rule about addresses passes each link until the host's name was looked up, just before the visit. A rule about an
answer (status, type, length) passes each link until the URL was fetched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal, Protocol

import regex

from archive.url import UrlError, canonical
from frontier.definition.networks import NetworkTable, read_network
from frontier.definition.rules.list_files import ListFileError, WatchedList
from frontier.definition.rules.pattern_index import is_plainly_valid
from frontier.definition.rules.surts import SurtPrefixes, coerced, read_domain, read_host, read_surt
from frontier.definition.rules.url_patterns import UrlPatterns
from frontier.definition.rules.url_shape import path_segments, repeats

type Find = Callable[["LinkFacts"], str | None]
"""The function returns what of the rule applies to a link, which may be empty; None when the rule does not apply."""

type RuleNeed = Literal["addresses", "answer"]
"""A rule needs the addresses of the host, or the answer to the URL."""

LONGEST_PATTERN: Final = 4_000
LONGEST_PATH: Final = 1_000
_NUMBER: Final = re.compile(r"[0-9]{1,6}", re.ASCII)
_BYTES: Final = re.compile(r"[0-9]{1,15}", re.ASCII)
_STATUS: Final = re.compile(r"-?[0-9]{1,5}", re.ASCII)
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*", re.ASCII)
_END_OF_LINKS: Final = "LSM"
_FILES: Final = {
    "IMAGES": "avif bmp gif ico jfif jp2 jpeg jpg png svg tif tiff webp",
    "AUDIO": "aac aiff flac m4a mid mp3 oga ogg opus ra wav wma",
    "VIDEO": "3gp avi flv m4s m4v mkv mov mp4 mpeg mpg ogv ts webm wmv",
    "MISC": "7z bz2 doc docx epub exe gz iso jar odp ods odt pdf ppt pptx rar rtf swf tar xls xlsx zip",
}
"""Endings of file names, by the preset of Heritrix's MatchesFilePattern."""


class Link(Protocol):
    """A link is what a scope decides about. Its URL is canonical."""

    @property
    def url(self) -> str: ...

    @property
    def hop_path(self) -> str: ...

    @property
    def via(self) -> str | None: ...

    @property
    def source(self) -> str | None: ...

    @property
    def is_seed(self) -> bool: ...


@dataclass(frozen=True, slots=True)
class FetchedAnswer:
    """The answer to a URL, as rules need it."""

    status: int
    """The HTTP status, or a negative code of Heritrix."""
    content_type: str
    """Media type in lower case, without parameters; empty when unknown."""
    size: int
    """Bytes of the body on the wire."""


@dataclass(frozen=True, slots=True)
class KnownFacts:
    """These facts are known of a link only later than its URL. None is unknown."""

    addresses: Sequence[str] | None = None
    answer: FetchedAnswer | None = None


NOTHING_KNOWN: Final = KnownFacts()


class LinkFacts:
    """Several rules ask for the same facts about a link, which are found once."""

    __slots__ = ("_segments", "_surt", "_via", "known", "link")

    def __init__(self, link: Link, known: KnownFacts = NOTHING_KNOWN) -> None:
        self.link = link
        self.known = known
        self._surt: str | None = None
        self._via: str | None = None
        self._segments: list[str] | None = None

    @property
    def surt(self) -> str:
        """Return the SURT of the link, without `www.`."""
        if self._surt is None:
            self._surt = coerced(self.link.url)
        return self._surt

    @property
    def via_surt(self) -> str:
        """Return the SURT of the page that has the link; empty when there is none."""
        if self._via is None:
            self._via = coerced(self.link.via) if self.link.via else ""
        return self._via

    @property
    def segments(self) -> list[str]:
        """Return the segments of the path."""
        if self._segments is None:
            self._segments = path_segments(self.link.url)
        return self._segments

    @property
    def hops(self) -> int:
        """Return the number of steps from the seed. A long path begins with the number of the steps left out."""
        dropped, _, shown = self.link.hop_path.rpartition("+")
        return (int(dropped) if dropped.isdecimal() else 0) + len(shown)


@dataclass(frozen=True, slots=True)
class Readers:
    """The lists of a chain of rules, which are counted and watched together."""

    patterns: list[UrlPatterns]
    files: list[WatchedList[Find]]


@dataclass(frozen=True, slots=True)
class RuleKind:
    """A kind of rule has a name, a reason in one word, and a test of links."""

    name: str
    reason: str
    arguments: str
    """The arguments as people write them, for messages and documentation."""
    meaning: str
    read: Callable[[str], Sequence[Any]]
    """Takes the arguments apart. Raises ValueError."""
    make: Callable[[Sequence[Any], Readers], Find]
    """Makes the test of the parts of the arguments."""
    other_names: tuple[str, ...] = ()
    is_joined: bool = False
    """Neighbours of this kind are looked up together."""
    has_file: bool = False
    """The argument is a file."""
    needs: RuleNeed | None = None
    """The facts without which the rule passes every link."""

    def found(self, item: Any) -> str:
        """Return what the test returns when it finds this part of the arguments."""
        return item[1] if isinstance(item, tuple) else str(item)


def _words(arguments: str) -> list[str]:
    words = arguments.split()
    if not words:
        raise ValueError("there is no argument")
    return words


def _nothing(arguments: str) -> Sequence[str]:
    if arguments:
        raise ValueError(f"{arguments[:100]!r} is too much, since this rule has no argument")
    return ("",)


def _number(arguments: str) -> Sequence[int]:
    if not _NUMBER.fullmatch(arguments):
        raise ValueError(f"{arguments[:100]!r} is no whole number")
    return (int(arguments),)


def _size(arguments: str) -> Sequence[int]:
    if not _BYTES.fullmatch(arguments):
        raise ValueError(f"{arguments[:100]!r} is no number of bytes")
    return (int(arguments),)


def _size_bounds(arguments: str) -> Sequence[tuple[int, int | None]]:
    """Return the bounds of `from=N to=N`, of which one may be left out."""
    found: dict[str, int] = {}
    for word in _words(arguments):
        name, _, value = word.partition("=")
        if name not in ("from", "to") or not _BYTES.fullmatch(value):
            raise ValueError(f"{word[:100]!r} is neither from=N nor to=N")
        found[name] = int(value)
    return ((found.get("from", 0), found.get("to")),)


def _status(text: str) -> int:
    if not _STATUS.fullmatch(text):
        raise ValueError(f"{text[:100]!r} is no status")
    return int(text)


def _statuses(arguments: str) -> Sequence[int]:
    return [_status(word) for word in _words(arguments)]


def _status_bounds(arguments: str) -> Sequence[tuple[int, int]]:
    words = _statuses(arguments)
    if len(words) != 2:
        raise ValueError(f"{arguments[:100]!r} has not two numbers")
    return ((words[0], words[1]),)


def _networks(arguments: str) -> Sequence[str]:
    words = _words(arguments)
    for word in words:
        if read_network(word) is None:
            raise ValueError(f"{word[:100]!r} is no address or network")
    return words


def _regex(arguments: str) -> Sequence[str]:
    if not arguments:
        raise ValueError("there is no regular expression")
    if len(arguments) > LONGEST_PATTERN:
        raise ValueError(f"the regular expression has {len(arguments):,} characters; use at most {LONGEST_PATTERN:,}")
    if not is_plainly_valid(arguments):
        try:
            re.compile(arguments)
            regex.compile(arguments)
        except (re.error, regex.error, RecursionError, OverflowError) as error:
            raise ValueError(f"{arguments[:100]!r} is not a regular expression: {error}") from error
    return (arguments,)


def _surts(arguments: str) -> Sequence[tuple[bool, str]]:
    return [read_surt(word) for word in _words(arguments)]


def _domains(arguments: str) -> Sequence[tuple[bool, str]]:
    return [(False, read_domain(word)) for word in _words(arguments)]


def _hosts(arguments: str) -> Sequence[tuple[bool, str]]:
    return [(False, read_host(word)) for word in _words(arguments)]


def _schemes(arguments: str) -> Sequence[str]:
    words = [word.lower().removesuffix(":") for word in _words(arguments)]
    for word in words:
        if not _SCHEME.fullmatch(word):
            raise ValueError(f"{word[:100]!r} is no scheme")
    return words


def _urls(arguments: str) -> Sequence[str]:
    try:
        return [canonical(word) for word in _words(arguments)]
    except UrlError as error:
        raise ValueError(str(error)) from error


def _file(arguments: str) -> Sequence[str]:
    if not arguments or "\0" in arguments or len(arguments) > LONGEST_PATH:
        raise ValueError(f"{arguments[:100]!r} is no name of a file")
    return (arguments,)


def _presets(arguments: str) -> Sequence[str]:
    words = [word.upper() for word in _words(arguments)]
    for word in words:
        if word not in (*_FILES, "ALL"):
            raise ValueError(f"{word[:100]!r} is none of {', '.join((*_FILES, 'ALL'))}")
    return words


def _limits(arguments: str) -> Sequence[tuple[int, int]]:
    """Return the numbers of `trans=2 spec=1`, which are Heritrix's defaults."""
    found = {"trans": 2, "spec": 1}
    for word in arguments.split():
        name, _, value = word.partition("=")
        if name not in found or not _NUMBER.fullmatch(value):
            raise ValueError(f"{word[:100]!r} is neither trans=N nor spec=N")
        found[name] = int(value)
    return ((found["trans"], found["spec"]),)


def _by_surt(items: Sequence[Any], _: Readers) -> Find:
    prefixes = SurtPrefixes(items)
    return lambda facts: prefixes.prefix_of(facts.surt)


def _by_via_surt(items: Sequence[Any], _: Readers) -> Find:
    prefixes = SurtPrefixes(items)
    return lambda facts: prefixes.prefix_of(facts.via_surt) if facts.via_surt else None


def _by_url(items: Sequence[Any], readers: Readers) -> Find:
    readers.patterns.append(patterns := UrlPatterns(items, whole=True))
    return lambda facts: patterns.first_found(facts.link.url)


def _by_via(items: Sequence[Any], readers: Readers) -> Find:
    readers.patterns.append(patterns := UrlPatterns(items, whole=True))
    return lambda facts: patterns.first_found(facts.link.via) if facts.link.via else None


def _by_hop_path(items: Sequence[Any], readers: Readers) -> Find:
    readers.patterns.append(patterns := UrlPatterns(items, whole=True))
    return lambda facts: patterns.first_found(facts.link.hop_path)


def _when(test: Callable[[LinkFacts, Any], bool]) -> Callable[[Sequence[Any], Readers], Find]:
    """Return the maker of a rule that has one argument, and finds nothing in particular."""

    def make(items: Sequence[Any], _: Readers) -> Find:
        return lambda facts: "" if test(facts, items[0]) else None

    return make


def _not(make: Callable[[Sequence[Any], Readers], Find]) -> Callable[[Sequence[Any], Readers], Find]:
    """Return the maker of the opposite rule."""

    def opposite(items: Sequence[Any], readers: Readers) -> Find:
        find = make(items, readers)
        return lambda facts: "" if find(facts) is None else None

    return opposite


def _watched(read: Callable[[Readers, list[str], Path], Find], *, opposite: bool = False) -> Any:
    """Return the maker of a rule whose list is in a file."""

    def make(items: Sequence[Any], readers: Readers) -> Find:
        own = Readers([], [])
        readers.files.append(watched := WatchedList(Path(items[0]), partial(read, own)))

        def find(facts: LinkFacts) -> str | None:
            content = watched.content()
            if content is None:
                return None
            found = content(facts)
            if opposite:
                return "" if found is None else None
            return found

        return find

    return make


def _read_surt_list(_: Readers, lines: list[str], path: Path) -> Find:
    return _by_surt(_entries(lines, path, read_surt), Readers([], []))


def _read_domain_list(_: Readers, lines: list[str], path: Path) -> Find:
    return _by_surt([(False, found) for found in _entries(lines, path, read_domain)], Readers([], []))


def _read_regex_list(readers: Readers, lines: list[str], path: Path) -> Find:
    return _by_url([found for line in _entries(lines, path, _regex) for found in line], readers)


def _entries[T](lines: list[str], path: Path, read: Callable[[str], T]) -> list[T]:
    """Return the entries of a list file. Raises ListFileError for the first line that is none."""
    found = []
    for number, line in enumerate(lines, 1):
        bare = line.strip()
        if bare and not bare.startswith("#"):
            try:
                found.append(read(bare))
            except ValueError as error:
                raise ListFileError(f"the list {path} line {number}: {error}") from error
    return found


def _is_transclusion(facts: LinkFacts, limits: tuple[int, int]) -> bool:
    """Return whether the steps since the last link are few embeds, guesses and redirects."""
    path = facts.link.hop_path.rpartition("+")[2]
    tail = path[max(path.rfind(letter) for letter in _END_OF_LINKS) + 1 :]
    guesses, redirects = tail.count("X"), tail.count("R")
    return bool(tail) and len(tail) - redirects <= limits[0] and guesses <= limits[1]


def _by_file_name(items: Sequence[Any], _: Readers) -> Find:
    endings = {ending for item in items for ending in _endings(item).split()}

    def find(facts: LinkFacts) -> str | None:
        name = facts.segments[-1] if facts.segments else ""
        ending = name.rpartition(".")[2].lower()
        return f".{ending}" if "." in name and ending in endings else None

    return find


def _endings(preset: str) -> str:
    return " ".join(_FILES.values()) if preset == "ALL" else _FILES[preset]


def _not_in_set(items: Sequence[Any], _: Readers) -> Find:
    schemes = frozenset(items)

    def find(facts: LinkFacts) -> str | None:
        scheme = facts.link.url.partition(":")[0]
        return None if scheme in schemes else scheme

    return find


def _by_source(items: Sequence[Any], _: Readers) -> Find:
    seeds = frozenset(items)
    return lambda facts: facts.link.source if facts.link.source in seeds else None


def _by_address(items: Sequence[Any], _: Readers) -> Find:
    table = NetworkTable[str]()
    for item in items:
        if (network := read_network(item)) is not None:
            table.put(network, item)

    def find(facts: LinkFacts) -> str | None:
        for address in facts.known.addresses or ():
            if any(True for _ in table.found(address)):
                return address
        return None

    return find


def _of_answer(test: Callable[[FetchedAnswer, Any], str | None]) -> Callable[[Sequence[Any], Readers], Find]:
    """Return the maker of a rule that has one argument, and is about the answer."""

    def make(items: Sequence[Any], _: Readers) -> Find:
        return lambda facts: None if facts.known.answer is None else test(facts.known.answer, items[0])

    return make


def _answer_matches(
    value: Callable[[FetchedAnswer], str], *, opposite: bool = False
) -> Callable[[Sequence[Any], Readers], Find]:
    """Return the maker of a rule whose expression matches a text of the answer, or does not with `opposite`."""

    def make(items: Sequence[Any], readers: Readers) -> Find:
        readers.patterns.append(patterns := UrlPatterns(items, whole=True))

        def find(facts: LinkFacts) -> str | None:
            if facts.known.answer is None:
                return None
            text = value(facts.known.answer)
            return text if (patterns.first_found(text) is None) is opposite else None

        return find

    return make


def _by_status(items: Sequence[Any], _: Readers) -> Find:
    statuses = frozenset(items)

    def find(facts: LinkFacts) -> str | None:
        answer = facts.known.answer
        return str(answer.status) if answer is not None and answer.status in statuses else None

    return find


def _in_status_bounds(answer: FetchedAnswer, bounds: tuple[int, int]) -> str | None:
    return str(answer.status) if bounds[0] <= answer.status <= bounds[1] else None


def _outside_status_bounds(answer: FetchedAnswer, bounds: tuple[int, int]) -> str | None:
    return None if bounds[0] <= answer.status <= bounds[1] else str(answer.status)


def _below_size(answer: FetchedAnswer, most: int) -> str | None:
    return f"{answer.size} bytes" if answer.size < most else None


def _to_size(answer: FetchedAnswer, most: int) -> str | None:
    return f"{answer.size} bytes" if answer.size <= most else None


def _over_size(answer: FetchedAnswer, most: int) -> str | None:
    return f"{answer.size} bytes" if answer.size > most else None


def _in_size_bounds(answer: FetchedAnswer, bounds: tuple[int, int | None]) -> str | None:
    least, most = bounds
    return f"{answer.size} bytes" if least <= answer.size and (most is None or answer.size <= most) else None


RULE_KINDS: Final = (
    RuleKind(
        "All", "all", "", "every URL", _nothing, _when(lambda _facts, _: True), ("Accept", "Reject")
    ),
    RuleKind(
        "SeedAccept", "seed", "", "seeds, and the targets of their redirects", _nothing,
        _when(lambda facts, _: facts.link.is_seed), ("Seed",),
    ),
    RuleKind("SurtPrefixed", "surt", "SURT…", "URLs with one of these SURT prefixes", _surts, _by_surt, (), True),
    RuleKind("NotSurtPrefixed", "surt", "SURT…", "URLs with none of these SURT prefixes", _surts, _not(_by_surt)),
    RuleKind(
        "SurtListFile", "surt-list", "FILE", "URLs with one of the SURT prefixes in a file, which is watched", _file,
        _watched(_read_surt_list), ("WatchedFileSurtPrefixed",), has_file=True,
    ),
    RuleKind(
        "NotSurtListFile", "surt-list", "FILE", "URLs with none of the SURT prefixes in a file", _file,
        _watched(_read_surt_list, opposite=True), has_file=True,
    ),
    RuleKind(
        "DomainListFile", "domain-list", "FILE", "URLs on one of the domains in a file, one on each line", _file,
        _watched(_read_domain_list), has_file=True,
    ),
    RuleKind(
        "NotDomainListFile", "domain-list", "FILE", "URLs on none of the domains in a file", _file,
        _watched(_read_domain_list, opposite=True), has_file=True,
    ),
    RuleKind(
        "MatchesRegex", "regex", "REGEX", "URLs that the expression matches from end to end", _regex, _by_url, (), True
    ),
    RuleKind(
        "NotMatchesRegex", "regex", "REGEX", "URLs that the expression does not match", _regex, _not(_by_url)
    ),
    RuleKind(
        "MatchesListRegex", "regex-list", "FILE", "URLs that one of the expressions in a file matches", _file,
        _watched(_read_regex_list), has_file=True,
    ),
    RuleKind(
        "NotMatchesListRegex", "regex-list", "FILE", "URLs that none of the expressions in a file matches", _file,
        _watched(_read_regex_list, opposite=True), has_file=True,
    ),
    RuleKind(
        "MatchesFilePattern", "file-name", "PRESET…",
        "URLs whose path ends like a file: IMAGES, AUDIO, VIDEO, MISC or ALL", _presets, _by_file_name,
    ),
    RuleKind(
        "HopsPathMatchesRegex", "hops-path", "REGEX",
        "URLs whose hop path the expression matches, such as `.*RRRRR`", _regex, _by_hop_path,
    ),
    RuleKind(
        "TooManyHops", "too-many-hops", "N", "URLs more than N steps of any kind away from their seed", _number,
        _when(lambda facts, most: facts.hops > most),
    ),
    RuleKind(
        "Transclusion", "transclusion", "trans=N spec=N",
        "what pages embed: at most `trans` embeds and `spec` guesses since the last link; redirects do not count",
        _limits, _when(_is_transclusion), ("TransclusionHops",),
    ),
    RuleKind(
        "TooManyPathSegments", "deep-path", "N", "URLs with more than N path segments", _number,
        _when(lambda facts, most: len(facts.segments) > most),
    ),
    RuleKind(
        "PathologicalPath", "repeating-path", "N", "URLs that repeat the same path segments more than N times", _number,
        _when(lambda facts, most: repeats(facts.segments) > most),
    ),
    RuleKind("SchemeNotInSet", "scheme", "SCHEME…", "URLs with none of these schemes", _schemes, _not_in_set),
    RuleKind("OnDomains", "domain", "DOMAIN…", "URLs on these domains", _domains, _by_surt, (), True),
    RuleKind("NotOnDomains", "domain", "DOMAIN…", "URLs on none of these domains", _domains, _not(_by_surt)),
    RuleKind("OnHosts", "host", "HOST…", "URLs on these hosts", _hosts, _by_surt, (), True),
    RuleKind("NotOnHosts", "host", "HOST…", "URLs on none of these hosts", _hosts, _not(_by_surt)),
    RuleKind(
        "HasVia", "via", "", "URLs that another page names", _nothing, _when(lambda facts, _: bool(facts.link.via))
    ),
    RuleKind(
        "HasViaRegex", "via", "REGEX", "URLs of pages whose own URL the expression matches", _regex, _by_via, (), True
    ),
    RuleKind("ViaSurtPrefixed", "via", "SURT…", "URLs of pages with one of these SURT prefixes", _surts, _by_via_surt),
    RuleKind(
        "NotViaSurtPrefixed", "via", "SURT…", "URLs of pages with none of these SURT prefixes", _surts,
        _not(_by_via_surt),
    ),
    RuleKind(
        "PrerequisiteAccept", "prerequisite", "", "URLs that are asked for before others, such as robots.txt", _nothing,
        _when(lambda facts, _: facts.link.hop_path.endswith("P")), ("Prerequisite",),
    ),
    RuleKind("SourceSeed", "source", "SEED…", "URLs that were found from these seeds", _urls, _by_source),
    RuleKind(
        "IpAddressSet", "address", "ADDRESS…",
        "URLs of hosts with one of these addresses, or an address in one of these networks", _networks, _by_address,
        needs="addresses",
    ),
    RuleKind(
        "ContentTypeMatchesRegex", "content-type", "REGEX",
        "answers whose media type the expression matches, such as `video/.*`", _regex,
        _answer_matches(lambda answer: answer.content_type), needs="answer",
    ),
    RuleKind(
        "ContentTypeNotMatchesRegex", "content-type", "REGEX",
        "answers whose media type the expression does not match", _regex,
        _answer_matches(lambda answer: answer.content_type, opposite=True), needs="answer",
    ),
    RuleKind("FetchStatus", "status", "STATUS…", "answers with one of these statuses", _statuses, _by_status,
             needs="answer"),
    RuleKind(
        "MatchesStatusCode", "status", "FROM TO", "answers with a status from the first number to the second",
        _status_bounds, _of_answer(_in_status_bounds), needs="answer",
    ),
    RuleKind(
        "NotMatchesStatusCode", "status", "FROM TO", "answers with a status outside these bounds", _status_bounds,
        _of_answer(_outside_status_bounds), needs="answer",
    ),
    RuleKind(
        "FetchStatusMatchesRegex", "status", "REGEX", "answers whose status the expression matches, such as `5..`",
        _regex, _answer_matches(lambda answer: str(answer.status)), ("FetchStatusMatches",), needs="answer",
    ),
    RuleKind(
        "FetchStatusNotMatchesRegex", "status", "REGEX", "answers whose status the expression does not match", _regex,
        _answer_matches(lambda answer: str(answer.status), opposite=True), ("FetchStatusNotMatches",), needs="answer",
    ),
    RuleKind(
        "ContentLength", "size", "BYTES", "answers with fewer bytes", _size, _of_answer(_below_size), needs="answer"
    ),
    RuleKind(
        "ResponseContentLength", "size", "from=BYTES to=BYTES", "answers with so many bytes, both bounds included",
        _size_bounds, _of_answer(_in_size_bounds), needs="answer",
    ),
    RuleKind(
        "ResourceNoLongerThan", "size", "BYTES", "answers with at most so many bytes", _size, _of_answer(_to_size),
        needs="answer",
    ),
    RuleKind(
        "ResourceLongerThan", "size", "BYTES", "answers with more bytes", _size, _of_answer(_over_size), needs="answer"
    ),
)  # fmt: skip
"""All kinds of rules."""
HERITRIX_ONLY: Final = {
    "ExternalGeoLocation": "we have no places of addresses; list networks by IpAddressSet, or hosts by OnHosts",
    "Scripted": "profiles have no programs; write the test as regular expressions",
    "ClassKeyMatchesRegex": "queues are by host; write MatchesRegex with the host",
    "IdenticalDigest": "the links of an unchanged answer are all known, and none of them is queued again",
    "Compressibility": "bodies are not compressed for a test; write ContentTypeMatchesRegex or ResourceLongerThan",
}
"""Rules of Heritrix that have no counterpart, with the reason or the remedy."""
