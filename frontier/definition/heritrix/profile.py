"""A Heritrix 3 configuration becomes a profile, with a finding for each of its keys. Pure.

Values that Heritrix uses when the file does not set them stand in the profile, too, where our usual value may differ.
No key and no bean stops the conversion: what has no counterpart is named with a remedy. The result is a profile that
loads, since a value that our own checks refuse is taken out and named.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from archive.names.characters import printable
from archive.version import SOFTWARE
from frontier.definition.heritrix.beans import (
    Bean,
    BeansFile,
    Entries,
    Items,
    Nothing,
    Override,
    Reference,
    Text,
    Value,
    as_texts,
    line_of,
    put_value,
    read_beans,
    steps_of,
)
from frontier.definition.heritrix.keys import (
    BY_PATH,
    CLASSES,
    KEYS,
    PROCESS_CLASSES,
    SCOPE_KEYS,
    SEEN_RULES,
    USUAL_SEEN,
    HeritrixKey,
    Outcome,
    is_placeholder,
    truth,
)
from frontier.definition.heritrix.scope import (
    SECRET,
    KeyFinding,
    ScopeMaking,
    java_regex,
    scope_values,
    shown,
    with_value,
)
from frontier.definition.job import Profile, wrong_headers
from frontier.definition.meaning import meaning_problems
from frontier.definition.profile import profile_problems
from frontier.definition.rules.rewrites import MAX_REWRITES, parse_rewrite
from frontier.definition.sheets import MAX_REGEX_SHEETS, MAX_SHEETS, SHEET_KEYS, parse_sheet

_SHEET_CLASSES: Final = ("Sheet", "SurtPrefixesSheetAssociation", "DecideRuledSheetAssociation")
_CREDENTIALS: Final = ("HttpAuthenticationCredential", "HtmlFormCredential", "Rfc2617Credential")
_USUAL_AGENT: Final = "Mozilla/5.0 (compatible; heritrix/@VERSION@ +@OPERATOR_CONTACT_URL@)"
_OWN_NAME: Final = re.compile(r"heritrix/@VERSION@", re.I)
_TABLES: Final = ("limits", "seen", "politeness", "headers")
_ORDER: Final = (
    *("user_agent", "robots", "scope", "hops", "embed_hops", "speculative_hops", "redirect_hops", "max_path_segments"),
    *("max_path_repeats", "max_links", "guessed_links", "rules", "sheets", "limits", "quotas"),
    *("politeness", "seen", "headers"),
)
_JAVA_GROUP: Final = re.compile(r"\$\{?([0-9])\}?")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,100}", re.ASCII)
_YAML_WORDS: Final = frozenset(("true", "false", "null", "on", "off", "yes", "no", "y", "n"))
"""These are put in quotes, so that readers of YAML 1.1 take them as texts, too."""
_MOST_FINDINGS: Final = 50_000
_MOST_CHECKS: Final = 20
_PROFILE_BROWSER: Final = (
    "`ghostfleet profile browser create NAME --url URL` keeps a login, which browser_profile or logins use"
)


@dataclass(frozen=True, slots=True)
class Conversion:
    """A conversion has the values of the profile, and what became of each key of Heritrix."""

    values: dict[str, Any]
    findings: tuple[KeyFinding, ...]
    seeds: tuple[str, ...] = ()
    """The seeds in the file, which are no part of a profile."""

    def count(self, outcome: Outcome) -> int:
        """Return the number of findings of this outcome."""
        return sum(1 for each in self.findings if each.outcome == outcome)


@dataclass(slots=True)
class _Making:
    file: BeansFile
    values: dict[str, Any] = field(default_factory=dict)
    findings: list[KeyFinding] = field(default_factory=list)
    given: set[tuple[str, str]] = field(default_factory=set)
    seeds: list[str] = field(default_factory=list)
    sheets: dict[str, tuple[dict[str, Any], bool]] = field(default_factory=dict)
    """The values of each sheet that was looked at, and whether it blocks its URLs."""

    def put(self, key: str, value: Any) -> str:
        table, _, name = key.partition(".")
        if table == "quotas":
            self.values.setdefault(table, []).append(f"{name}={value}")
            return f"{table}: {name}={value}"
        if name:
            self.values.setdefault(table, {})[name] = value
        else:
            self.values[key] = value
        return f"{key}: {_in_yaml(value)}"


def convert(data: bytes) -> Conversion:
    """Return the profile of a `crawler-beans.cxml`. Raises BeansUnreadable for another file."""
    file = read_beans(data)
    _add_usual_beans(file)
    making = _Making(file)
    for place in file.imports:
        why = "the file is not read; convert it by itself, or put its beans into this file"
        making.findings.append(KeyFinding("import", place.text.strip()[:200], "not-mapped", (), why, place.line))
    for lost in file.lost:
        value = "(not shown)" if SECRET.search(lost.path) else shown(lost.value)
        why = f"{lost.problem}; an imported file may have it"
        making.findings.append(KeyFinding(lost.path[:200], value, "not-mapped", (), why, line_of(lost.value)))
    scope = _scope_of(file)
    made = scope_values(file, scope)
    making.values.update(made.values)
    for bean in file.beans:
        if bean is not scope and not _is_of_scope(bean):
            _take_bean(making, bean)
    _take_agent(making)
    _take_defaults(making)
    _take_canonicalisation(making)
    making.findings += made.findings
    rules = made.rules
    sheets, sheet_rules = _sheets(making)
    if rules or making.values.get("rules") or sheet_rules:
        making.values["rules"] = [*rules, *making.values.get("rules", ()), *sheet_rules]
    if sheets:
        making.values["sheets"] = sheets
    _join_quotas(making)
    _check(making)
    values = {key: making.values[key] for key in _ORDER if making.values.get(key) not in (None, [], {})}
    if len(making.findings) > _MOST_FINDINGS:
        why = f"the report has at most {_MOST_FINDINGS:,} lines; the further ones are left out"
        left_out = KeyFinding("report", f"{len(making.findings):,} lines", "not-mapped", (), why)
        making.findings = [*making.findings[: _MOST_FINDINGS - 1], left_out]
    return Conversion(values, tuple(making.findings), tuple(making.seeds))


def _add_usual_beans(file: BeansFile) -> None:
    """Give usual beans to overrides of beans that the file does not have, such as those of imported files."""
    classes = {usual: class_name for class_name, usual in reversed(list(CLASSES.items()))}
    lost = []
    for each in file.lost:
        name = each.path.partition(".")[0].strip()
        if name in classes and name not in file.by_name:
            file.by_name[name] = Bean(name, classes[name], line=line_of(each.value))
            file.beans.append(file.by_name[name])
        problem = put_value(file, each.path, each.value)
        if problem is not None:
            lost.append(Override(each.path, each.value, problem))
    file.lost = lost


def yaml_text(values: dict[str, Any], head: Iterable[str] = ()) -> str:
    """Return a profile as YAML; `head` are lines of comments."""
    lines = [f"# {printable(line, ' ')}" for line in head]
    for key, value in values.items():
        if isinstance(value, dict):
            lines.append(f"{key}:")
            lines += [f"  {_yaml_name(name)}: {_in_yaml(each)}" for name, each in value.items()]
        elif isinstance(value, list):
            lines.append(f"{key}:")
            lines += [f"  - {_in_yaml(each)}" for each in value]
        else:
            lines.append(f"{key}: {_in_yaml(value)}")
    return "\n".join(lines) + "\n"


def _yaml_name(name: str) -> str:
    return name if _NAME.fullmatch(name) and name.lower() not in _YAML_WORDS else _in_yaml(name)


def _in_yaml(value: Any) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if re.fullmatch(r"[a-z][a-z_-]*", value) and value not in _YAML_WORDS:
        return value
    if value.isprintable():
        return "'" + value.replace("'", "''") + "'"
    return json.dumps(value)


def _scope_of(file: BeansFile) -> Bean | None:
    for scoper in file.of_class("CandidateScoper", "Preselector"):
        if (found := file.bean(scoper.properties.get("scope"))) is not None:
            return found
    return file.by_name.get("scope")


def _is_of_scope(bean: Bean) -> bool:
    """Return whether a bean is a rule that stands alone, and is reported where a scope or sheet names it."""
    return bean.class_name.endswith(("DecideRule", "DecideRuleSequence"))


def _take_bean(making: _Making, bean: Bean) -> None:
    usual = CLASSES.get(bean.class_name, "")
    if not bean.class_name and bean.name in CLASSES.values():
        usual = bean.name  # its class is that of its parent
    name = bean.name or usual or bean.class_name or "bean"
    if bean.class_name in _SHEET_CLASSES or bean.class_name.endswith("CanonicalizationPolicy"):
        return
    if bean.class_name == "CredentialStore" or bean.class_name in _CREDENTIALS:
        _take_credentials(making, bean, name)
        return
    if not usual and bean.class_name not in PROCESS_CLASSES:
        why = "nothing is known about this class; look for its effect in docs/reference/profiles.md"
        making.findings.append(KeyFinding(name, bean.class_name, "not-mapped", (), why, bean.line))
        return
    for property_name, value in bean.properties.items():
        _take_property(making, bean, (usual, property_name), f"{name}.{property_name}", value)


def _take_property(making: _Making, bean: Bean, path: tuple[str, str], name: str, value: Value) -> None:
    text = "(not shown)" if SECRET.search(path[1]) else shown(value)

    def say(outcome: Outcome, why: str, *result: str) -> None:
        making.findings.append(KeyFinding(name, text, outcome, result, why, line_of(value)))

    key = BY_PATH.get(path)
    making.given.add(path)
    if path == ("seeds", "textSource"):
        _take_seeds(making, value, say)
    elif path[0] == "metadata" and path[1] in ("userAgentTemplate", "operatorContactUrl", "operatorFrom"):
        return  # _take_agent joins them
    elif path == ("preparer", "canonicalizationPolicy"):
        return  # _take_canonicalisation reads it
    elif path == ("fetchHttp", "acceptHeaders"):
        _take_headers(making, value, say)
    elif path[0] == "preselector" and path[1] in ("blockAll", "blockByRegex", "allowByRegex"):
        _take_block(making, path[1], value, say)
    elif key is not None and key.read is not None:
        _take_key(making, key, value, say)
    elif key is not None:
        say(key.outcome, key.why)
    elif (why := PROCESS_CLASSES.get(bean.class_name)) is not None:
        say("ignored", why)
    elif path[1] in ("enabled", "shouldProcessRule"):
        say("not-mapped", "steps can't be switched off one by one; reject the URLs by rules")
    elif path[1] in ("scope", "serverCache", "credentialStore", "cookieStore", "loggerModule", "bdb", "seeds"):
        say("ignored", "the beans of Heritrix name each other by this property")
    else:
        say("not-mapped", "nothing is known about this key; look for its effect in docs/reference/profiles.md")


def _take_key(making: _Making, key: HeritrixKey, value: Value, say: Any) -> None:
    assert key.read is not None
    if not isinstance(value, Text):
        say("not-mapped", f"the value is no text; set {key.target} by hand")
        return
    try:
        read = key.read(value.text)
    except ValueError as error:
        say("not-mapped", str(error))
        return
    if read is None:
        say("mapped", f"{key.target} is left out, which means the same")
        return
    results = [making.put(key.target, read)]
    if key.target == "politeness.retry_seconds":
        results.append(making.put("politeness.max_retry_seconds", read))
    say(key.outcome, key.why, *results)


def _take_defaults(making: _Making) -> None:
    """Set what Heritrix uses when the file does not say otherwise."""
    for key in KEYS:
        if key.default and (key.bean, key.name) not in making.given and key.read is not None:
            results = [making.put(key.target, key.read(key.default))]
            if key.target == "politeness.retry_seconds":
                results.append(making.put("politeness.max_retry_seconds", key.read(key.default)))
            name = f"{key.bean}.{key.name}"
            making.findings.append(KeyFinding(name, key.default, "mapped", tuple(results), "", is_default=True))


def _take_agent(making: _Making) -> None:
    """Make the User-Agent of the template and the contact."""
    bean = next(making.file.of_class("CrawlMetadata"), None) or making.file.by_name.get("metadata") or Bean()
    texts = {
        name: value.text.strip()
        for name in ("userAgentTemplate", "operatorContactUrl", "operatorFrom")
        if isinstance(value := bean.properties.get(name), Text)
    }
    name = bean.name or "metadata"
    contact, sender = texts.get("operatorContactUrl", ""), texts.get("operatorFrom", "")
    template = texts.get("userAgentTemplate") or _USUAL_AGENT
    line = line_of(bean.properties.get("operatorContactUrl"))
    if sender and not is_placeholder(sender):
        if any(True for _ in wrong_headers({"From": sender})):
            why = "the address has a character that a header can't have; set headers.From by hand"
            making.findings.append(KeyFinding(f"{name}.operatorFrom", sender[:200], "not-mapped", (), why))
        else:
            result = (making.put("headers.From", sender),)
            making.findings.append(KeyFinding(f"{name}.operatorFrom", sender[:200], "mapped", result))
    elif sender:
        why = "the value is a placeholder; set headers.From by hand"
        making.findings.append(KeyFinding(f"{name}.operatorFrom", sender[:200], "not-mapped", (), why))
    if not contact or is_placeholder(contact):
        contact = sender if sender and not is_placeholder(sender) else ""
    if not contact or is_placeholder(template):
        why = "there is no contact yet; set user_agent to your crawler's name with a page or mail address"
        found = KeyFinding(
            f"{name}.operatorContactUrl", texts.get("operatorContactUrl", "")[:200], "not-mapped", (), why, line
        )
        making.findings.append(found)
        return
    agent = _OWN_NAME.sub(SOFTWARE, template).replace("@VERSION@", SOFTWARE.partition("/")[2])
    agent = agent.replace("@OPERATOR_CONTACT_URL@", contact)
    if contact not in agent:
        agent = f"{agent} (+{contact})"
    agent = " ".join(agent.split())
    result = (making.put("user_agent", agent),)
    for key in ("userAgentTemplate", "operatorContactUrl"):
        text = texts.get(key)
        if text or key == "userAgentTemplate":
            found = KeyFinding(
                f"{name}.{key}", (text or template)[:200], "mapped", result, BY_PATH[("metadata", key)].why,
                line_of(bean.properties.get(key)), is_default=not text,
            )  # fmt: skip
            making.findings.append(found)


def _take_seeds(making: _Making, value: Value, say: Any) -> None:
    source = making.file.bean(value)
    text = source.properties.get("value") if source is not None else None
    path = shown(source.properties.get("path")) if source is not None else ""
    lines = [line.strip() for each in as_texts(text) for line in each.text.splitlines()]
    seeds = [line for line in lines if line and line[0] not in "#+-" and not is_placeholder(line)]
    making.seeds += seeds
    if path:
        say("not-mapped", f"a profile has no seeds; give the list by `--seeds-file {path}`")
    else:
        say("not-mapped", f"a profile has no seeds; write those of this file, {len(seeds):,}, by --seeds-output")
    if directives := [line for line in lines if line.startswith(("+", "-"))]:
        why = "lines of seeds that begin with + or - change the scope; add SurtPrefixed lines to rules"
        making.findings.append(
            KeyFinding("seeds.textSource", ", ".join(directives)[:200], "not-mapped", (), why, line_of(text))
        )


def _take_headers(making: _Making, value: Value, say: Any) -> None:
    results: list[str] = []
    refused: list[str] = []
    for each in as_texts(value):
        for line in filter(None, map(str.strip, each.text.splitlines())):
            header, _, content = line.partition(":")
            content = " ".join(content.split())
            problem = next((why for _, why in wrong_headers({header.strip(): content})), None)
            if problem is None:
                results.append(making.put(f"headers.{header.strip()}", content))
            else:
                refused.append(problem)
    outcome: Outcome = "mapped" if results and not refused else "partly" if results else "not-mapped"
    say(outcome, "; ".join(refused[:3]) or ("" if results else "the list is empty"), *results)


def _take_block(making: _Making, name: str, value: Value, say: Any) -> None:
    if not isinstance(value, Text | Nothing):
        say("not-mapped", "the value is no text; set rules by hand")
        return
    text = value.text.strip() if isinstance(value, Text) else ""
    try:
        if name == "blockAll":
            if not truth(text):
                say("ignored", "false blocks nothing")
            else:
                say("mapped", "", making.put("rules", [*making.values.get("rules", ()), "REJECT All"]))
        elif not text:
            say("ignored", "there is no expression")
        else:
            kind = "MatchesRegex" if name == "blockByRegex" else "NotMatchesRegex"
            rule = f"REJECT {kind} {java_regex(text)}"
            ScopeMaking().add_rule(rule)
            making.put("rules", [*making.values.get("rules", ()), rule])
            say("mapped", "", f"rules: {rule}")
    except ValueError as error:
        say("not-mapped", str(error))


def _take_canonicalisation(making: _Making) -> None:
    """Set the keys of `seen`, whose usual values are not those of Heritrix."""
    policy, name = _policy(making.file)
    line = policy.line if policy is not None else None
    listed = policy.properties.get("rules") if policy is not None else None
    is_default = not isinstance(listed, Items)
    found = [making.file.bean(each) for each in listed.items] if isinstance(listed, Items) else []
    beans = [bean for bean in found if bean is not None and truth(shown(bean.properties.get("enabled", Text("true"))))]
    names = [bean.class_name for bean in beans] if not is_default else list(USUAL_SEEN)
    if any(
        isinstance(value, Bean | Reference) and making.file.bean(value) is None
        for value in (listed.items if isinstance(listed, Items) else ())
    ):
        why = "a rule is no bean of this file; look at the keys of seen"
        making.findings.append(KeyFinding(name, "", "not-mapped", (), why, line))
    on = {SEEN_RULES[each] for each in names if each in SEEN_RULES}
    for key in ("session_ids", "lowercase", "www", "extra_slashes", "fix_query"):
        making.put(f"seen.{key}", "on" if key in on else "off")
    rewrites: list[str] = []
    for bean in beans:
        if bean.class_name == "RegexRule":
            try:
                if len(rewrites) == MAX_REWRITES:
                    raise ValueError(f"seen.rewrites has at most {MAX_REWRITES} lines; join some of the rules")
                rewrites.append(_rewrite_of(bean))
            except ValueError as error:
                making.findings.append(KeyFinding(name, "RegexRule", "not-mapped", (), str(error), line))
            else:
                result = (f"seen.rewrites: {rewrites[-1]}",)
                making.findings.append(KeyFinding(name, "RegexRule", "mapped", result, "", line))
    if rewrites:
        making.put("seen.rewrites", rewrites)
    for each in names:
        if each == "RegexRule":
            continue
        if each in SEEN_RULES:
            result = (f"seen.{SEEN_RULES[each]}: on",)
            making.findings.append(KeyFinding(name, each, "mapped", result, "", line, is_default))
        elif each == "StripUserinfoRule":
            why = "names and passwords within URLs are no part of the form by which URLs are compared"
            making.findings.append(KeyFinding(name, each, "ignored", (), why, line))
        else:
            why = "seen has no key for this rule; URLs that it makes equal are fetched apart"
            making.findings.append(KeyFinding(name, each, "not-mapped", (), why, line))


def _rewrite_of(bean: Bean) -> str:
    """Return the rewrite that a RegexRule becomes. Raises ValueError."""
    given = {key: value.text for key, value in bean.properties.items() if isinstance(value, Text)}
    template = given.get("format", "$1").replace("\\", r"\\")
    line = f"^(?:{java_regex(given.get('regex', '(.*)'))})$ => {_JAVA_GROUP.sub(r'\\\1', template)}"
    parse_rewrite(line)
    return line


def _policy(file: BeansFile) -> tuple[Bean | None, str]:
    for preparer in file.of_class("FrontierPreparer"):
        if (found := file.bean(preparer.properties.get("canonicalizationPolicy"))) is not None:
            return found, found.name or "preparer.canonicalizationPolicy"
    found = next((bean for bean in file.beans if bean.class_name.endswith("CanonicalizationPolicy")), None)
    return found, found.name if found is not None and found.name else "canonicalizationPolicy"


def _take_credentials(making: _Making, bean: Bean, name: str) -> None:
    """Name the logins of a file, without names of users and passwords."""
    held = bean.properties.get("credentials")
    values: Iterable[Value] = (
        held.entries.values() if isinstance(held, Entries) else held.items if isinstance(held, Items) else ()
    )
    found = (
        [bean] if bean.class_name in _CREDENTIALS else [inner for each in values if (inner := making.file.bean(each))]
    )
    for each in found:
        domain = shown(each.properties.get("domain")) or "an unnamed site"
        kind = {"HtmlFormCredential": "a form"}.get(each.class_name, "HTTP authentication")
        key = f"{name}.{each.name}" if each.name and each is not bean else name
        why = f"user names and passwords are not taken over; {_PROFILE_BROWSER}"
        making.findings.append(
            KeyFinding(key, f"{each.class_name} of {domain}: {kind}", "not-mapped", (), why, each.line)
        )
    if not found and bean.properties:
        making.findings.append(KeyFinding(name, shown(held), "not-mapped", (), _PROFILE_BROWSER, bean.line))


def _sheets(making: _Making) -> tuple[list[str], list[str]]:
    """Return the lines of `sheets`, and lines of `rules` for sheets that block."""
    file = making.file
    sheets = {bean.name: bean for bean in file.of_class("Sheet") if bean.name}
    used: set[str] = set()
    lines: list[str] = []
    rules: list[str] = []
    ruled: list[tuple[int, Bean]] = []
    for bean in file.of_class("SurtPrefixesSheetAssociation"):
        prefixes = [each.text.strip() for each in as_texts(bean.properties.get("surtPrefixes")) if each.text.strip()]
        lines += _associated(making, bean, prefixes, sheets, used, rules)
    for bean in file.of_class("DecideRuledSheetAssociation"):
        order = shown(bean.properties.get("order"))
        ruled.append((int(order) if re.fullmatch(r"-?[0-9]{1,9}", order) else 0, bean))
    for _, bean in sorted(ruled, key=lambda pair: pair[0]):
        lines += _associated(making, bean, _places(making, bean), sheets, used, rules)
    for name, sheet in sheets.items():
        if name not in used:
            why = "no association of this file names the sheet, so that it holds for no URL"
            making.findings.append(KeyFinding(f"sheet {name}", "", "ignored", (), why, sheet.line))
    return lines, rules


def _places(making: _Making, bean: Bean) -> list[str]:
    """Return the beginnings of sheet lines that a decide rule becomes."""
    value = bean.properties.get("rules")
    rule = making.file.bean(value.items[0] if isinstance(value, Items) and len(value.items) == 1 else value)
    name, why = f"sheet association {bean.name}".strip(), ""
    try:
        match rule.class_name if rule is not None else "":
            case "MatchesRegexDecideRule" if rule is not None:
                texts = as_texts(rule.properties.get("regex"))
                return [f"regex:{java_regex(each.text)}" for each in texts]
            case "MatchesListRegexDecideRule" if rule is not None:
                if shown(rule.properties.get("listLogicalOr")).lower() == "false":
                    raise ValueError("listLogicalOr=false asks for all expressions at once")
                texts = as_texts(rule.properties.get("regexList"))
                if len(texts) > MAX_REGEX_SHEETS:
                    raise ValueError(f"the list has {len(texts):,} expressions; use at most {MAX_REGEX_SHEETS:,}")
                return [f"regex:{java_regex(each.text)}" for each in texts]
            case _:
                what = rule.class_name if rule is not None else shown(value)
                why = f"sheets hold by a SURT prefix or an expression, and not by {what or 'another rule'}"
    except ValueError as error:
        why = str(error)
    shown_names = shown(bean.properties.get("targetSheetNames"))
    making.findings.append(KeyFinding(name, shown_names, "not-mapped", (), why, bean.line))
    return []


def _associated(
    making: _Making, bean: Bean, places: list[str], sheets: dict[str, Bean], used: set[str], rules: list[str]
) -> Iterator[str]:
    """Yield a line of `sheets` for each place of an association."""
    names = [each.text.strip() for each in as_texts(bean.properties.get("targetSheetNames"))]
    used.update(names)
    if not places:
        return
    values: dict[str, Any] = {}
    blocks = False
    where = f"{len(places)} places" if len(places) > 1 else places[0][:100]
    for name in dict.fromkeys(names):
        sheet = sheets.get(name)
        if sheet is None:
            why = "the sheet is not in this file; an imported file may have it"
            making.findings.append(KeyFinding(f"sheet {name}", where, "not-mapped", (), why, bean.line))
            continue
        if name not in making.sheets:
            making.sheets[name] = _sheet_values(making, name, sheet)
        values |= making.sheets[name][0]
        blocks |= making.sheets[name][1]
    settings = " ".join(f"{key}={value}" for key, value in values.items())
    for place in places:
        try:
            if blocks:
                kind = "MatchesRegex" if place.startswith("regex:") else "SurtPrefixed"
                rules.append(
                    ScopeMaking().add_rule(f"REJECT {kind} {place.removeprefix('regex:')}").removeprefix("rules: ")
                )
                making.findings.append(
                    KeyFinding("sheet association", place[:200], "mapped", (f"rules: {rules[-1]}",), "", bean.line)
                )
            if settings:
                parse_sheet(f"{place} {settings}")
                making.findings.append(
                    KeyFinding(
                        "sheet association", place[:200], "mapped", (f"sheets: {place} {settings}",), "", bean.line
                    )
                )
                yield f"{place} {settings}"
        except ValueError as error:
            making.findings.append(
                KeyFinding("sheet association", place[:200], "not-mapped", (), str(error), bean.line)
            )


def _sheet_values(making: _Making, name: str, sheet: Bean) -> tuple[dict[str, Any], bool]:
    """Return the values of a sheet, and whether it blocks its URLs."""
    values: dict[str, Any] = {}
    blocks = False
    entries = sheet.properties.get("map")
    for path, value in entries.entries.items() if isinstance(entries, Entries) else ():
        blocks |= _take_entry(making, f"sheet {name}: {path}", path, value, values)
    return values, blocks


def _take_entry(making: _Making, name: str, path: str, value: Value, values: dict[str, Any]) -> bool:
    """Take an entry of a sheet into `values`. Return whether the sheet blocks its URLs."""
    at, bean_name, property_name = steps_of(making.file, path)
    class_name = at.class_name if at is not None else ""
    usual = CLASSES.get(class_name, bean_name)
    text = "(not shown)" if SECRET.search(property_name) else shown(value)

    def say(outcome: Outcome, why: str, *result: str) -> None:
        making.findings.append(KeyFinding(name, text, outcome, result, why, line_of(value)))

    try:
        if (usual, property_name) == ("preselector", "blockAll"):
            is_blocked = truth(text)
            say("mapped", "" if is_blocked else "false blocks nothing")
            return is_blocked
        key = BY_PATH.get((usual, property_name))
        if (scope_key := SCOPE_KEYS.get((class_name, property_name))) is not None:
            values[scope_key] = int(text)
            say("mapped", "", f"sheet: {scope_key}={text}")
        elif (class_name, property_name) == ("TooManyHopsDecideRule", "enabled") and not truth(text):
            values["hops"] = "none"
            say("mapped", "", "sheet: hops=none")
        elif key is not None and key.read is not None and (own := key.target.rpartition(".")[2]) in SHEET_KEYS:
            read = key.read(text)
            if read is not None:
                values[own] = read
            say(key.outcome, key.why, f"sheet: {own}={read}")
        elif key is not None:
            say("not-mapped", key.why or "sheets can't set this key for single sites")
        else:
            say("not-mapped", "sheets have no such key; docs/reference/profiles.md names those that they have")
    except ValueError as error:
        say("not-mapped", str(error))
    return False


def _join_quotas(making: _Making) -> None:
    """Keep the smallest of several limits that become one quota, since Heritrix stops at the first one reached."""
    least: dict[str, int] = {}
    for line in making.values.get("quotas", ()):
        name, _, value = line.partition("=")
        least[name] = min(int(value), least.get(name, int(value)))
    making.values["quotas"] = [f"{name}={value}" for name, value in least.items()]
    for name, value in least.items():
        why = "a smaller limit of the file becomes the same quota, and counts"
        making.findings = with_value(making.findings, f"quotas: {name}=", value, why)


def _check(making: _Making) -> None:
    """Take out what our own checks refuse, so that the profile loads."""
    values = making.values
    polite = values.get("politeness", {})
    least, most = polite.get("min_delay_seconds"), polite.get("max_delay_seconds")
    if least is not None and most is not None and least > most:
        why = "the longest delay wins over the shortest one in Heritrix, so that both are equal"
        result = (making.put("politeness.min_delay_seconds", most),)
        making.findings.append(KeyFinding("disposition.minDelayMs", f"{least} s", "partly", result, why))
    if len(values.get("sheets", ())) > MAX_SHEETS:
        why = f"a profile has at most {MAX_SHEETS:,} sheets; the further ones are left out"
        making.findings.append(KeyFinding("sheets", f"{len(values['sheets']):,}", "partly", (), why))
        values["sheets"] = values["sheets"][:MAX_SHEETS]
    for _ in range(_MOST_CHECKS):
        problems = [(each.key.split("."), each.message) for each in profile_problems(values)]
        if not problems:
            profile = Profile.model_validate(values)
            problems = [
                (list(map(str, each.path)), each.message)
                for each in meaning_problems(profile, values.keys())
                if not each.is_warning
            ]
        if not problems:
            return
        keys = {path[0] if path[0] not in _TABLES else ".".join(path[:2]): message for path, message in problems}
        for key, message in keys.items():
            table, _, name = key.partition(".")
            if name and isinstance(values.get(table), dict):
                values[table].pop(name, None)
            else:
                values.pop(table, None)
            making.findings = [
                replace(each, outcome="not-mapped", result=(), why="our own checks refuse the value")
                if any(result.startswith(f"{key}:") for result in each.result)
                else each
                for each in making.findings
            ]
            making.findings.append(KeyFinding(key, "", "not-mapped", (), f"{message}; the key is left out"))
