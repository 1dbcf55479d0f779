"""Decide rules take URLs in or out, under the names that Heritrix gives them. The last rule that decides counts.

A rule is one line of the profile's list `rules`: `ACCEPT` or `REJECT`, the name of the rule, and its arguments, such as
`REJECT MatchesRegex .*/print/.*`. A rule decides about the URLs to which it applies, and passes all others. The ending
`DecideRule` of Heritrix's names may be written or left out. `rule_kinds.RULE_KINDS` has all rules.

Neighbours of one kind and one decision are looked up together, so that a profile may have 100,000 of them.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Final, Literal

from archive.bounded_memory import BoundedMemory
from frontier.definition.rules.kinds import (
    HERITRIX_ONLY,
    NOTHING_KNOWN,
    RULE_KINDS,
    Find,
    KnownFacts,
    Link,
    LinkFacts,
    Readers,
    RuleKind,
    RuleNeed,
)
from frontier.definition.rules.list_files import ListFileError, WatchedList
from frontier.definition.rules.url_patterns import UrlPatterns

type Verdict = Literal["ACCEPT", "REJECT"]
MAX_RULES: Final = 100_000
LONGEST_RULE: Final = 8_000
MOST_SHOWN_APART: Final = 500
"""People see each rule of so many alone."""
_MOST_CHARACTERS: Final = 50_000_000
_ENDING: Final = "DecideRule"
_SHOWN: Final = 300
_EXAMPLE: Final = "write for example `REJECT MatchesRegex .*/print/.*`"
_BY_NAME: Final[Mapping[str, RuleKind]] = {
    name.lower(): kind for kind in RULE_KINDS for name in (kind.name, *kind.other_names)
}


@dataclass(frozen=True, slots=True)
class RuleLine:
    """A line has one rule. `arguments` are as its author wrote them."""

    decision: Verdict
    kind: RuleKind
    arguments: str
    parts: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    """The parts of the arguments, as the kind takes them apart."""

    @property
    def text(self) -> str:
        """Return the line in its one form."""
        return f"{self.decision} {self.kind.name} {self.arguments}".rstrip()


@dataclass(frozen=True, slots=True)
class RuleDecision:
    """A rule has decided. `reason` is one word, and `rule` names the rule and what it found."""

    decision: Verdict
    reason: str
    rule: str
    number: int
    """The place of the rule in the list, from 1."""
    needs: RuleNeed | None = None
    """The facts that the rule needs besides the link."""


@dataclass(frozen=True, slots=True)
class RuleStep:
    """A rule, or a run of rules that are alike, has made its own decision; None when it passes the link."""

    name: str
    decision: RuleDecision | None
    needs: RuleNeed | None


@dataclass(frozen=True, slots=True)
class _Group:
    """Rules of one kind and one decision that are looked up together."""

    decision: Verdict
    kind: RuleKind
    first: int
    texts: tuple[str, ...]
    numbers: Mapping[str, int]
    """The number of the rule, by what was found; the first rule's for all others."""
    find: Find


_PARSED: Final = BoundedMemory[RuleLine](2 * MAX_RULES, _MOST_CHARACTERS)
"""Rules by their lines. To check a line with an expression takes 0.2 ms, and an edit keeps most lines of a profile."""


class RuleChain:
    """The rules of a job decide about links. Threads may share them."""

    def __init__(self, lines: Iterable[str], *, is_joined: bool = True) -> None:
        """Make the rules of these lines. Raises ValueError for a line that is no rule. Files are read when needed.

        With `is_joined`, neighbours that are alike are looked up together.
        """
        self.lines = tuple(parse_rule(line) for line in lines)
        self._is_joined = is_joined
        self._patterns: list[UrlPatterns] = []
        self._files: list[WatchedList[Find]] = []
        self._groups = tuple(self._grouped())
        self.needs = frozenset(line.kind.needs for line in self.lines if line.kind.needs is not None)
        """The facts besides links that some of the rules need."""

    def __bool__(self) -> bool:
        return bool(self._groups)

    def decide(self, link: Link, known: KnownFacts = NOTHING_KNOWN) -> RuleDecision | None:
        """Return the decision of the last rule that decides about a link; None when all rules pass it."""
        facts = LinkFacts(link, known)
        for group in reversed(self._groups):
            if (found := group.find(facts)) is not None:
                return _decision(group, found)
        return None

    def steps(self, link: Link) -> Iterator[RuleStep]:
        """Yield each rule with its own decision, in order. Of many rules, neighbours that are alike are one step."""
        facts, chain = LinkFacts(link), self
        if len(self._groups) < len(self.lines) <= MOST_SHOWN_APART:
            chain = RuleChain((line.text for line in self.lines), is_joined=False)
        for group in chain._groups:
            found = group.find(facts)
            more = f" (and {len(group.texts) - 1:,} more)" if len(group.texts) > 1 else ""
            yield RuleStep(
                f"rule {group.first}: {_shown(group.texts[0])}{more}",
                _decision(group, found) if found is not None else None,
                group.kind.needs,
            )

    def load_files(self) -> None:
        """Read all files of the rules. Raises ListFileError."""
        for each in self._files:
            each.load()

    def file_problems(self) -> tuple[str, ...]:
        """Return why files of the rules can't be used at present."""
        return tuple(each.problem for each in self._files if each.problem)

    def patterns(self) -> Sequence[UrlPatterns]:
        """Return all lists of patterns, for the count of those that take too long."""
        return self._patterns

    def _grouped(self) -> Iterator[_Group]:
        number = 1
        readers = Readers(self._patterns, self._files)
        for (decision, kind, is_joined), lines in groupby(self.lines, key=_likeness):
            found = list(lines)
            for batch in [found] if is_joined and self._is_joined else [[line] for line in found]:
                items = [(item, number + at) for at, line in enumerate(batch) for item in line.parts]
                yield _Group(
                    decision,
                    kind,
                    number,
                    tuple(line.text for line in batch),
                    {kind.found(item): at for item, at in reversed(items)} if len(batch) > 1 else {},
                    kind.make([item for item, _ in items], readers),
                )
                number += len(batch)


def parse_rule(line: str) -> RuleLine:
    """Return the rule of a line. Raises ValueError, whose message has the remedy."""
    if (rule := _PARSED.get(line)) is None:
        rule = _parsed(line)
        _PARSED.put(line, rule)
    return rule


def _parsed(line: str) -> RuleLine:
    if len(line) > LONGEST_RULE:
        raise ValueError(f"a rule has {len(line):,} characters; use at most {LONGEST_RULE:,}")
    verdict, _, rest = line.strip().partition(" ")
    name, _, arguments = rest.strip().partition(" ")
    arguments = arguments.strip()
    decision: Verdict
    match verdict.upper():
        case "ACCEPT":
            decision = "ACCEPT"
        case "REJECT":
            decision = "REJECT"
        case _:
            raise ValueError(f"{verdict[:100]!r} is neither ACCEPT nor REJECT; {_EXAMPLE}")
    if not name:
        raise ValueError(f"{line[:100]!r} names no rule; {_EXAMPLE}")
    kind = _BY_NAME.get(name.removesuffix(_ENDING).lower())
    if kind is None:
        raise ValueError(_unknown(name))
    try:
        parts = tuple(kind.read(arguments))
    except ValueError as error:
        raise ValueError(f"{kind.name}: {error}; write {kind.name} {kind.arguments}".rstrip()) from error
    return RuleLine(decision, kind, arguments, parts)


def may_name_file(line: str) -> bool:
    """Return False for a line that names no list file, without reading the rule: a profile may have 100,000 of them."""
    lower = line.lower()
    return "list" in lower or "file" in lower


def list_file_of(line: str) -> str | None:
    """Return the list file that a rule names; None when the line has none, or is no rule."""
    try:
        rule = parse_rule(line)
    except ValueError:
        return None
    return rule.arguments if rule.kind.has_file else None


def regex_of(line: str) -> str | None:
    """Return the regular expression that a rule has; None when the line has none, or is no rule."""
    try:
        rule = parse_rule(line)
    except ValueError:
        return None
    return rule.arguments if rule.kind.arguments == "REGEX" else None


def with_list_file(line: str, file: Path) -> str:
    """Return the line of a rule with another list file."""
    rule = parse_rule(line)
    return RuleLine(rule.decision, rule.kind, str(file)).text


def file_problem(line: str) -> str | None:
    """Return why the list file of a rule can't be used; None when it can."""
    try:
        RuleChain([line]).load_files()
    except ListFileError as error:
        return str(error)
    return None


def _likeness(line: RuleLine) -> tuple[Verdict, RuleKind, bool]:
    """Return what neighbours share that are looked up together. An exception holds within its own line alone."""
    has_exception = any(word.startswith("-") for word in line.arguments.split()) if line.kind.is_joined else False
    return line.decision, line.kind, line.kind.is_joined and not has_exception


def _decision(group: _Group, found: str) -> RuleDecision:
    number = group.numbers.get(found, group.first)
    text = group.texts[number - group.first]
    detail = f": {_shown(found)}" if found and found not in text else ""
    rule = f"rule {number}: {_shown(text)}{detail}"
    return RuleDecision(group.decision, group.kind.reason, rule, number, group.kind.needs)


def _shown(text: str) -> str:
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "…"


def _unknown(name: str) -> str:
    bare = name.removesuffix(_ENDING)
    if (why := HERITRIX_ONLY.get(bare)) is not None:
        return f"the rule {bare} can't be used: {why}"
    near = difflib.get_close_matches(bare[:100].lower(), _BY_NAME, n=1, cutoff=0.5)
    return f"{name[:100]!r} is no rule; " + (f"did you mean {_BY_NAME[near[0]].name}?" if near else _EXAMPLE)
