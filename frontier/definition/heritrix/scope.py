"""The decide rules of a Heritrix scope become keys of a profile, and lines of its list `rules`. Pure.

Heritrix runs through the rules in order, and the last one that decides counts. Our built-in steps come first, and the
lines of `rules` after them, in the same manner as in Heritrix. A rule therefore becomes a key as long as no line of
`rules` has to come before it, and from then on a line, at its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from frontier.definition.heritrix.beans import (
    Bean,
    BeansFile,
    Entries,
    Items,
    Nothing,
    Reference,
    Text,
    Value,
    as_texts,
)
from frontier.definition.heritrix.beans import line_of as line_of_value
from frontier.definition.heritrix.keys import Outcome, is_placeholder, truth, whole
from frontier.definition.rules.chain import MAX_RULES, parse_rule
from frontier.definition.rules.kinds import HERITRIX_ONLY, LONGEST_PATTERN

UNBOUNDED: Final = 100_000
"""The value of a bound that Heritrix does not have; no URL reaches it."""
_ENDING: Final = "DecideRule"
_SEQUENCE: Final = "DecideRuleSequence"
_MOST_NESTED: Final = 20
_MOST_RULES: Final = 20_000
_MOST_EXPRESSIONS: Final = 5_000
"""Expressions of lists. Each of them is compiled several times, and longer lists belong in a file."""
_SURTS_OF_LINE: Final = 7_000
_MOST_REDIRECTS: Final = 20
"""Redirects in a row that the scope takes in at most. Heritrix does not count redirects of what a page embeds."""
_QUOTED: Final = re.compile(r"\\Q(.*?)(?:\\E|\Z)", re.S)
_GROUP_NAME: Final = re.compile(r"\(\?<(?=[A-Za-z])")
_LATE_FLAGS: Final = re.compile(r"\^?(?:\.\*)?(\(\?[imsx]+\))")
_SEED_SCOPES: Final = {"SurtPrefixed": "prefix", "OnDomains": "domain", "OnHosts": "host"}
_BY_WIDTH: Final = ("prefix", "host", "domain", "any")
"""The scopes that rules by seeds become. Each of them takes in all URLs of those before it."""
_BOUNDS: Final = frozenset(("hops", "max_path_segments", "max_path_repeats"))
_REJECTING: Final = frozenset(("TooManyHops", "TooManyPathSegments", "PathologicalPath", "SchemeNotInSet", "Reject"))
_WITHOUT_ARGUMENT: Final = {"HasVia": "HasVia"}
_OF_REGEX: Final = frozenset(
    (
        *("MatchesRegex", "NotMatchesRegex", "HopsPathMatchesRegex", "HasViaRegex"),
        *("ContentTypeMatchesRegex", "ContentTypeNotMatchesRegex"),
        *("FetchStatusMatchesRegex", "FetchStatusNotMatchesRegex"),
    )
)
_AFTER_ANSWER: Final = "decides whether the links of the answer are followed"
_LEAST_STATUS: Final = 0
_MOST_STATUS: Final = 600
SECRET: Final = re.compile(r"passw|secret|credential|token|login", re.I)
_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class KeyFinding:
    """A finding says what became of a key of Heritrix."""

    key: str
    """Bean and property, such as disposition.delayFactor."""
    value: str
    outcome: Outcome
    result: tuple[str, ...] = ()
    """The keys of the profile with their values, such as `hops: 20`."""
    why: str = ""
    line: int | None = None
    is_default: bool = False
    """The file does not set the key, so that the value is Heritrix's own."""


def with_value(findings: Iterable[KeyFinding], key: str, value: Any, why: str) -> list[KeyFinding]:
    """Return the findings with the value that a key has in the end, and `why` where that is another value.

    `key` is the beginning of a result, such as `scope: `.
    """
    result = f"{key}{value}"
    return [
        replace(
            each,
            result=tuple(result if text.startswith(key) else text for text in each.result),
            why="; ".join(filter(None, (each.why, why))),
        )
        if any(text.startswith(key) and text != result for text in each.result)
        else each
        for each in findings
    ]


@dataclass(slots=True)
class ScopeMaking:
    """A scope grows rule by rule."""

    values: dict[str, Any] = field(default_factory=dict)
    rules: list[str] = field(default_factory=list)
    findings: list[KeyFinding] = field(default_factory=list)
    has_base: bool = False
    """A rule about all URLs, or about the seeds, was read."""
    expressions: int = 0
    looked_at: int = 0
    """Places of rules that were looked at. References may lead to the same rules again and again."""

    def add(
        self, key: str, value: str, outcome: Outcome, why: str = "", result: Iterable[str] = (), line: int | None = None
    ) -> None:
        """Note what became of a rule."""
        self.findings.append(KeyFinding(key, value, outcome, tuple(result), why, line))

    def put(self, key: str, value: Any) -> str:
        """Set a key of the profile. Return the key and the value as a text."""
        self.values[key] = value
        return f"{key}: {value}"

    def add_rule(self, line: str) -> str:
        """Add a line of `rules` if it can be used. Raises ValueError."""
        if len(self.rules) >= MAX_RULES:
            raise ValueError(f"a profile has at most {MAX_RULES:,} rules; put the list in a file")
        self.rules.append(parse_rule(line).text)
        return f"rules: {self.rules[-1]}"


def shown(value: Value | None) -> str:
    """Return a value in few words, for a report."""
    match value:
        case Text(text):
            return " ".join(text.split())[:_SHOWN]
        case Reference(name):
            return f"the bean {name[:_SHOWN]}"
        case Bean():
            return value.class_name[:_SHOWN] or "a bean"
        case Items(items):
            texts = [each.text.strip() for each in items if isinstance(each, Text)]
            return ", ".join(texts)[:_SHOWN] if texts and len(texts) == len(items) else f"{len(items)} values"
        case Entries(entries):
            return f"{len(entries)} entries"
        case Nothing() | None:
            return ""


def java_regex(text: str) -> str:
    """Return a regular expression of Java in Python's form. Raises ValueError for one that can't be written so."""
    pattern = text.strip()
    if is_placeholder(pattern):
        raise ValueError("the expression has a placeholder, which is filled in elsewhere; add the rule by hand")
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"the expression has {len(pattern):,} characters; write at most {LONGEST_PATTERN:,}")
    if "\n" in pattern or "\r" in pattern:
        raise ValueError("the expression has several lines; write it on one line")
    pattern = _QUOTED.sub(lambda found: re.escape(found[1]), pattern)
    if re.search(r"\[[^\]]*(?:&&|(?<!\\)\[(?!:))", pattern):
        raise ValueError("the expression joins sets of characters ([a-z&&[^b]]), which Python can't; rewrite it")
    pattern = _GROUP_NAME.sub("(?P<", pattern).replace(r"\z", r"\Z")
    if (late := _LATE_FLAGS.match(pattern)) is not None and late.start(1) > 0:
        pattern = late[1] + pattern[: late.start(1)] + pattern[late.end(1) :]
    return pattern


def scope_values(file: BeansFile, scope: Bean | None) -> ScopeMaking:
    """Return the keys and rules that a scope becomes, with a finding for each of its rules."""
    making = ScopeMaking()
    if scope is None:
        making.add("scope", "", "not-mapped", "the file has no bean scope; set scope and rules by hand")
        return making
    for path, bean in _flat(file, scope, making, "scope", 0):
        _take(file, bean, path, making)
    if making.looked_at > _MOST_RULES:
        making.add("scope", "", "not-mapped", f"the scope has more than {_MOST_RULES:,} rules; the rest is left out")
    _close(making)
    return making


def _flat(file: BeansFile, at: Bean, making: ScopeMaking, path: str, depth: int) -> Iterator[tuple[str, Bean]]:
    """Yield the rules of a sequence in order. A sequence within it decides as if its rules stood in its place."""
    if at.class_name != _SEQUENCE:
        yield path, at
        return
    rules = at.properties.get("rules")
    if isinstance(rules, Reference):
        making.add(f"{path}.rules", shown(rules), "not-mapped", "the list stands elsewhere; set rules by hand")
    if "logToFile" in at.properties:
        why = "`ghostfleet scope` explains decisions, and the log of a job has those that reject"
        making.add(f"{path}.logToFile", shown(at.properties["logToFile"]), "ignored", why, line=at.line)
    for number, value in enumerate(
        rules.items if isinstance(rules, Items) else [rules] if isinstance(rules, Bean) else []
    ):
        making.looked_at += 1
        if making.looked_at > _MOST_RULES:
            return
        place = f"{path}.rules[{number}]"
        bean = file.bean(value)
        if bean is None:
            why = "the rule is no bean of this file; add it to rules by hand"
            making.add(place, shown(value), "not-mapped", why, line=line_of_value(value))
        elif depth >= _MOST_NESTED:
            making.add(place, shown(value), "not-mapped", f"more than {_MOST_NESTED} sequences lie within each other")
        else:
            yield from _flat(file, bean, making, place, depth + 1)


def _kind(bean: Bean) -> str:
    return bean.class_name.removesuffix(_ENDING)


def _take(file: BeansFile, bean: Bean, path: str, making: ScopeMaking) -> None:
    """Add what one rule becomes."""
    name = f"{path} {_kind(bean)}".strip()
    try:
        if "enabled" in bean.properties and not truth(shown(bean.properties["enabled"])):
            making.add(name, "", "ignored", "the rule is switched off", line=bean.line)
            return
        decision = _decision(bean)
        _take_kind(file, bean, name, decision, making)
    except ValueError as error:
        making.add(name, _arguments(bean), "not-mapped", f"{error}", line=bean.line)


def _decision(bean: Bean) -> str:
    usual = "REJECT" if _kind(bean) in _REJECTING else "ACCEPT"
    found = bean.properties.get("decision")
    decision = found.text.strip().upper() if isinstance(found, Text) else usual
    if decision == "NONE":
        raise ValueError("the rule decides nothing (decision NONE); leave it out")
    if decision not in ("ACCEPT", "REJECT"):
        raise ValueError(f"the decision {decision[:100]!r} is neither ACCEPT nor REJECT; add the rule by hand")
    return decision


def _arguments(bean: Bean) -> str:
    shown_values = (
        f"{key}={shown(value)}" for key, value in bean.properties.items() if key not in ("decision", "enabled")
    )
    return ", ".join(shown_values)[:_SHOWN]


def _number(bean: Bean, name: str, usual: int) -> int:
    value = bean.properties.get(name)
    return whole(value.text) if isinstance(value, Text) else usual


def _truth(bean: Bean, name: str, *, usual: bool) -> bool:
    value = bean.properties.get(name)
    return truth(value.text) if isinstance(value, Text) and value.text.strip() else usual


def _take_kind(file: BeansFile, bean: Bean, name: str, decision: str, making: ScopeMaking) -> None:
    kind, line, arguments = _kind(bean), bean.line, _arguments(bean)
    match kind:
        case "Reject" | "Accept":
            decision = kind.upper()
            _take_all(decision, name, making, line)
        case "SurtPrefixed" | "OnDomains" | "OnHosts" | "NotSurtPrefixed" | "NotOnDomains" | "NotOnHosts":
            _take_surts(file, bean, name, decision, making)
        case "TooManyHops":
            _take_hops(_number(bean, "maxHops", 20), name, decision, making, line)
        case "Transclusion":
            limits = _number(bean, "maxTransHops", 2), _number(bean, "maxSpeculativeHops", 1)
            _take_transclusion(limits, name, decision, making, line)
        case "PathologicalPath":
            most = _number(bean, "maxRepetitions", 2)
            if most == 0:
                making.add(name, "maxRepetitions=0", "ignored", "0 switches the rule off", line=line)
            else:
                _take_bound(("max_path_repeats", kind, most), name, decision, making, line)
        case "TooManyPathSegments":
            _take_bound(("max_path_segments", kind, _number(bean, "maxPathDepth", 20)), name, decision, making, line)
        case "MatchesListRegex" | "NotMatchesListRegex":
            _take_regexes(bean, name, decision, making)
        case "MatchesFilePattern":
            _take_file_pattern(bean, name, decision, making)
        case "SchemeNotInSet":
            _take_schemes(bean, name, decision, making)
        case "PrerequisiteAccept":
            making.add(
                name,
                "",
                "ignored",
                "robots.txt is asked for in any case, and names are looked up by the proxies",
                line=line,
            )
        case "SeedAccept" | "Seed":
            result = [making.add_rule(f"{decision} SeedAccept")] if making.rules or decision == "REJECT" else []
            making.add(name, "", "mapped", "" if result else "seeds are taken in by a built-in step", result, line)
        case "IpAddressSet" | "FetchStatus" | "MatchesStatusCode" | "NotMatchesStatusCode":
            _add_known(name, arguments, [f"{decision} {kind} {_known_arguments(bean)}"], making, line)
        case "ResponseContentLength" | "ResourceNoLongerThan" | "ResourceLongerThan":
            _add_known(name, arguments, [f"{decision} {kind} {_known_arguments(bean)}"], making, line)
        case "ContentLength":
            most = _number(bean, "contentLengthThreshold", -1)
            if most < 0:
                raise ValueError("the rule has no threshold, so that it takes all answers in; leave it out")
            # Heritrix takes shorter answers in and rejects all others.
            lines = [f"REJECT ResponseContentLength from={most}", f"ACCEPT ContentLength {most}"]
            _add_known(name, arguments, lines, making, line)
        case "ViaSurtPrefixed":
            surts, _ = _surts(file, bean)
            if not surts:
                raise ValueError("the rule has no prefixes in this file; add a line ViaSurtPrefixed to rules")
            making.add(name, arguments, "mapped", "", [making.add_rule(f"{decision} {kind} {' '.join(surts)}")], line)
        case _ if kind in _OF_REGEX:
            value = bean.properties.get("regex")
            pattern = java_regex(value.text if isinstance(value, Text) else ".")
            _add_known(name, arguments, [f"{decision} {kind} {pattern}"], making, line)
        case _ if kind in _WITHOUT_ARGUMENT:
            making.add(name, "", "mapped", "", [making.add_rule(f"{decision} {kind}")], line)
        case _:
            why = HERITRIX_ONLY.get(kind) or "no rule of ours has this class; write its effect as other lines of rules"
            making.add(name, arguments, "not-mapped", why, line=line)


def _add_known(name: str, arguments: str, lines: Iterable[str], making: ScopeMaking, line: int | None) -> None:
    """Add lines of `rules`, and say so when they decide about the answer to a URL."""
    results = [making.add_rule(each) for each in lines]
    is_late = any(parse_rule(each.removeprefix("rules: ")).kind.needs == "answer" for each in results)
    making.add(name, arguments, "mapped", _AFTER_ANSWER if is_late else "", results, line)


def _known_arguments(bean: Bean) -> str:
    """Return the arguments of a rule about addresses or about answers. Raises ValueError for a rule without any."""
    match _kind(bean):
        case "IpAddressSet":
            found = " ".join(each.text.strip() for each in as_texts(bean.properties.get("ipAddresses")))
        case "FetchStatus":
            found = " ".join(each.text.strip() for each in as_texts(bean.properties.get("statusCodes")))
        case "MatchesStatusCode" | "NotMatchesStatusCode":
            least = _number(bean, "lowerBound", _LEAST_STATUS)
            found = f"{least} {_number(bean, 'upperBound', _MOST_STATUS)}"
        case "ResponseContentLength":
            upper = bean.properties.get("upperBound")
            found = f"from={_number(bean, 'lowerBound', 0)}" + (f" to={shown(upper)}" if upper is not None else "")
        case _:
            threshold = bean.properties.get("contentLengthThreshold")
            found = shown(threshold) if threshold is not None else ""
    if not found:
        raise ValueError("the rule has no values in this file; add it to rules by hand")
    return found


def _take_all(decision: str, name: str, making: ScopeMaking, line: int | None) -> None:
    """Add a rule about all URLs. The first rule of a usual scope rejects them, as our scope does in the end."""
    if making.rules or making.has_base:
        why = "all rules before this one decide nothing, since the last rule counts"
        making.add(name, "", "mapped", why, [making.add_rule(f"{decision} All")], line)
    elif decision == "REJECT":
        making.has_base = True
        making.add(name, "", "mapped", "what no rule takes in is rejected here, too", line=line)
    else:
        making.has_base = True
        making.add(name, "", "mapped", "", [making.put("scope", "any")], line)


def _surts(file: BeansFile, bean: Bean) -> tuple[list[str], str]:
    """Return the SURT prefixes in the file itself, and the file of further ones."""
    found: list[str] = []
    outside = shown(bean.properties.get("surtsSourceFile"))
    source = bean.properties.get("surtsSource")
    inner = file.bean(source)
    if inner is not None and inner.class_name == "ConfigFile":
        outside = outside or shown(inner.properties.get("path"))
    elif inner is not None:
        found += _surt_lines(inner.properties.get("value"))
    elif isinstance(source, Text):
        found += _surt_lines(source)
    return found, outside


def _surt_lines(value: Value | None) -> list[str]:
    """Return the prefixes of a text: lines, of which those without `+` are seeds in Heritrix's files."""
    lines = (line.strip() for text in as_texts(value) for line in text.text.splitlines())
    return [line.removeprefix("+").strip().split(" ")[0] for line in lines if line and not line.startswith("#")]


def _take_surts(file: BeansFile, bean: Bean, name: str, decision: str, making: ScopeMaking) -> None:
    kind, line, arguments = _kind(bean), bean.line, _arguments(bean)
    surts, outside = _surts(file, bean)
    of_seeds = _truth(bean, "seedsAsSurtPrefixes", usual=True)
    results, whys = [], []
    outcome: Outcome = "mapped"
    if of_seeds and kind in _SEED_SCOPES and decision == "ACCEPT":
        own = _SEED_SCOPES[kind]
        making.put("scope", max(own, making.values.get("scope", own), key=_BY_WIDTH.index))
        results.append(f"scope: {own}")
        if making.rules or making.values.keys() & _BOUNDS:
            outcome = "partly"
            whys.append(
                "the seeds' prefixes are a built-in step, and what a rule before this one rejects stays rejected"
            )
        making.has_base = True
    elif of_seeds:
        outcome = "partly" if surts else "not-mapped"
        whys.append(
            f"`{decision} {kind}` by the seeds' own prefixes has no counterpart; set scope, or write the prefixes"
        )
    surts = list(_usable(surts, f"{decision} {kind}", name, making, line))
    if surts:
        results += _surt_rules(surts, decision, kind, making)
    if outside and not is_placeholder(outside):
        outcome = "partly" if results else "not-mapped"
        list_kind = "DomainListFile" if "Domains" in kind else "SurtListFile"
        prefix = "Not" if kind.startswith("Not") else ""
        whys.append(f"the file {outside} is not read; add `{decision} {prefix}{list_kind} {outside}` to rules")
    if _truth(bean, "alsoCheckVia", usual=False):
        outcome = "partly" if results else "not-mapped"
        whys.append("alsoCheckVia has no counterpart for seeds; add a line `ACCEPT ViaSurtPrefixed SURT` to rules")
    if not results and not whys:
        making.add(name, arguments, "ignored", "the rule has no prefixes, so that it decides nothing", line=line)
        return
    making.add(name, arguments, outcome, "; ".join(whys), results, line)


def _usable(surts: Iterable[str], rule: str, name: str, making: ScopeMaking, line: int | None) -> Iterator[str]:
    """Yield the prefixes that can be used, and name the others."""
    for each in surts:
        try:
            parse_rule(f"{rule} {each}")
        except ValueError as error:
            making.add(f"{name} surtsSource", each[:_SHOWN], "not-mapped", str(error), line=line)
        else:
            yield each


def _surt_rules(surts: list[str], decision: str, kind: str, making: ScopeMaking) -> list[str]:
    """Add lines of `rules` with these prefixes."""
    if kind.startswith("Not"):
        return [making.add_rule(f"{decision} {kind} {' '.join(surts)}")]
    results: list[str] = []
    batch: list[str] = []
    length = 0
    for each in surts:
        if batch and length + len(each) > _SURTS_OF_LINE:
            results.append(making.add_rule(f"{decision} {kind} {' '.join(batch)}"))
            batch, length = [], 0
        batch.append(each)
        length += len(each) + 1
    return [*results, making.add_rule(f"{decision} {kind} {' '.join(batch)}")]


def _take_hops(most: int, name: str, decision: str, making: ScopeMaking, line: int | None) -> None:
    value = f"maxHops={most}"
    if decision != "REJECT" or making.rules or "hops" in making.values:
        making.add(name, value, "mapped", "", [making.add_rule(f"{decision} TooManyHops {most}")], line)
        return
    why = "hops counts links and forms alone, and Heritrix counts redirects, too"
    if not making.has_base or ("scope" not in making.values):
        why += "; in Heritrix, later rules that take URLs in win over this one"
    making.add(name, value, "partly", why, [making.put("hops", most)], line)


def _take_transclusion(
    limits: tuple[int, int], name: str, decision: str, making: ScopeMaking, line: int | None
) -> None:
    embeds, guesses = limits
    value = f"maxTransHops={embeds}, maxSpeculativeHops={guesses}"
    if decision != "ACCEPT" or making.rules or "embed_hops" in making.values:
        rule = making.add_rule(f"{decision} Transclusion trans={embeds} spec={guesses}")
        making.add(name, value, "mapped", "", [rule], line)
        return
    results = [
        making.put("embed_hops", embeds),
        making.put("speculative_hops", guesses),
        making.put("redirect_hops", _MOST_REDIRECTS),
    ]
    why = "embeds and guesses are counted apart, and in Heritrix together; redirects have a bound"
    making.add(name, value, "partly", why, results, line)


def _take_bound(bound: tuple[str, str, int], name: str, decision: str, making: ScopeMaking, line: int | None) -> None:
    """Add a bound on the path, which is a key unless a rule before it takes URLs in."""
    key, kind, most = bound
    takes_in = any(rule.startswith("ACCEPT") for rule in making.rules)
    if decision != "REJECT" or takes_in or key in making.values or most < 1:
        result = making.add_rule(f"{decision} {kind} {most}")
    else:
        result = making.put(key, most)
    making.add(name, str(most), "mapped", "", [result], line)


def _take_regexes(bean: Bean, name: str, decision: str, making: ScopeMaking) -> None:
    """Add a line for each expression of a list; one that can't be used does not keep the others out."""
    line = bean.line
    patterns = as_texts(bean.properties.get("regexList"))
    if not patterns:
        making.add(name, "", "ignored", "the list is empty, so that the rule decides nothing", line=line)
        return
    if len(patterns) > 1 and not _truth(bean, "listLogicalOr", usual=True):
        raise ValueError("listLogicalOr=false asks for all expressions at once; write them as one expression")
    if _kind(bean).startswith("Not"):
        joined = "|".join(f"(?:{java_regex(each.text)})" for each in patterns)
        results = [making.add_rule(f"{decision} NotMatchesRegex {joined}")]
        making.add(name, f"{len(patterns)} expressions", "mapped", "", results, line)
        return
    for number, each in enumerate(patterns):
        place = f"{name} regexList[{number}]"
        making.expressions += 1
        if making.expressions > _MOST_EXPRESSIONS:
            why = f"only {_MOST_EXPRESSIONS:,} expressions are taken over; write `{decision} MatchesListRegex FILE`"
            making.add(place, f"{len(patterns) - number:,} expressions", "not-mapped", why, line=each.line or line)
            return
        try:
            result = making.add_rule(f"{decision} MatchesRegex {java_regex(each.text)}")
        except ValueError as error:
            making.add(place, shown(each), "not-mapped", str(error), line=each.line or line)
        else:
            making.add(place, shown(each), "mapped", "", [result], each.line or line)


def _take_file_pattern(bean: Bean, name: str, decision: str, making: ScopeMaking) -> None:
    preset = (shown(bean.properties.get("usePreset")) or "ALL").upper()
    value = bean.properties.get("regex")
    if preset == "CUSTOM":
        pattern = java_regex(value.text if isinstance(value, Text) else ".")
        result = making.add_rule(f"{decision} MatchesRegex {pattern}")
        making.add(name, shown(value), "mapped", "", [result], bean.line)
    else:
        result = making.add_rule(f"{decision} MatchesFilePattern {preset}")
        making.add(name, preset, "partly", "our lists of endings are newer than those of Heritrix", [result], bean.line)


def _take_schemes(bean: Bean, name: str, decision: str, making: ScopeMaking) -> None:
    given = [each.text.strip().lower() for each in as_texts(bean.properties.get("schemes"))]
    schemes = given or ["http", "https"]
    if decision == "REJECT" and {"http", "https"} <= set(schemes):
        making.add(
            name,
            ", ".join(given),
            "ignored",
            "URLs with other schemes than http and https are always rejected",
            line=bean.line,
        )
        return
    result = making.add_rule(f"{decision} SchemeNotInSet {' '.join(schemes)}")
    making.add(name, ", ".join(given), "mapped", "", [result], bean.line)


def _close(making: ScopeMaking) -> None:
    """Set the keys whose usual values would add a bound that the scope of Heritrix does not have."""
    values = making.values
    missing: Mapping[str, tuple[Any, str]] = {
        "scope": (
            "page",
            "no rule takes in the seeds' prefixes, so that only seeds and what rules take in are in scope",
        ),
        "embed_hops": (0, "no rule takes in what pages embed from elsewhere"),
        "max_path_segments": (UNBOUNDED, "no rule bounds the segments of a path in this place"),
        "max_path_repeats": (UNBOUNDED, "no rule bounds repeated segments of a path in this place"),
    }
    for key, (value, why) in missing.items():
        if key in values:
            continue
        results = [making.put(key, value)]
        if key == "embed_hops":
            results += [making.put("speculative_hops", 0), making.put("redirect_hops", 0)]
        making.findings.append(KeyFinding("scope", "", "mapped", tuple(results), why, is_default=True))
    why = "another rule has a wider scope, which takes in these URLs, too"
    making.findings = with_value(making.findings, "scope: ", values["scope"], why)
