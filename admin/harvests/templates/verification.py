"""A template is verified before it is kept: everything that is wrong with its text is named at once, with its line.

Three levels follow each other: the text is YAML within limits; its values make a profile that has every key that jobs
set; and its patterns and contact address are fit for a crawl.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from admin.harvests.input_checks import refuse
from admin.harvests.templates.expressions import MOST_PATTERNS, slow_patterns
from admin.harvests.templates.required_keys import REQUIRED_KEYS
from admin.models.errors import InvalidInput, Problem
from frontier.definition.job import Profile
from frontier.definition.meaning import CONTACT
from frontier.definition.profile import profile_problems
from frontier.definition.rules.chain import list_file_of, regex_of
from frontier.definition.rules.list_files import is_plain_name
from frontier.definition.yaml_document import MAX_BYTES, YamlDocument, YamlRefused, read_document

TEXT: Final = "text"
"""The field that problems of the text as a whole name."""
_PLACEHOLDER: Final = re.compile(
    r"(?<![\w-])(?:[\w-]+\.)*example\.(?:com|net|org|edu)(?![\w-])|\.(?:example|invalid)(?![\w-])"
    r"|\b(?:ENTER|REPLACE|YOUR|CHANGE)_\w+|\bCHANGEME\b",
    re.ASCII | re.IGNORECASE,
)
"""Contact addresses that nobody reads: reserved names (RFC 2606) and what sample files have in their place."""


def decoded(data: bytes) -> str:
    """Return the text of an uploaded file. Raises InvalidInput."""
    if len(data) > MAX_BYTES:
        raise InvalidInput(Problem(TEXT, f"the file has {len(data):,} bytes; a template has at most {MAX_BYTES:,}"))
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InvalidInput(Problem(TEXT, "the file is UTF-16; save it as UTF-8"))
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"the byte 0x{data[error.start]:02x} is no UTF-8; save the file as UTF-8"
        raise InvalidInput(Problem(TEXT, message, line)) from error


def typed_text(typed: str, before: str) -> str:
    """Return the text of a form as its author meant it: a browser sends every line end as CR LF.

    The line ends become those of the text that the form showed; a text that had none gets LF.
    """
    has_windows_ends = "\r\n" in before and "\n" not in before.replace("\r\n", "")
    unix = typed.replace("\r\n", "\n")
    return unix.replace("\n", "\r\n") if has_windows_ends else unix


def read_text(text: str) -> YamlDocument:
    """Return the document in a template's text. Raises InvalidInput."""
    try:
        return read_document(text)
    except YamlRefused as error:
        raise InvalidInput(*(Problem(TEXT, each.message, each.line) for each in error.problems)) from error


def problems_of(text: str) -> tuple[Problem, ...]:
    """Return everything that keeps the text from being a template, in the order of the lines."""
    try:
        document = read_text(text)
    except InvalidInput as error:
        return tuple(error.problems)
    values = document.values()
    wrong = list(_wrong(document, values))
    found = [*_absent(document), *wrong, *_unfit(document, values, {each.field for each in wrong})]
    return tuple(sorted(dict.fromkeys(found), key=lambda each: each.line or 0))


def checked_profile(text: str) -> Profile:
    """Return the profile of a template's text. Raises InvalidInput with all problems."""
    refuse(problems_of(text))
    return Profile.model_validate(read_text(text).values())


def _absent(document: YamlDocument) -> Iterator[Problem]:
    for required in REQUIRED_KEYS:
        node: Any = document.values()
        path = tuple(required.key.split("."))
        for part in path:
            node = node.get(part, _ABSENT) if isinstance(node, Mapping) else _ABSENT
        if node is _ABSENT:
            yield Problem(
                required.key,
                f"the key {required.key} is absent, and jobs set it to {required.reason};"
                f" add it, for instance `{required.example}`",
                document.line_of(path),
            )


_ABSENT: Final = object()


def _wrong(document: YamlDocument, values: Mapping[str, Any]) -> Iterator[Problem]:
    for each in profile_problems(values, document.line_of):
        yield Problem(each.key, each.message, each.line)


def _unfit(document: YamlDocument, values: Mapping[str, Any], wrong: Collection[str]) -> Iterator[Problem]:
    for key in ("include", "exclude"):
        patterns = values.get(key)
        if not isinstance(patterns, list):
            continue
        if len(patterns) > MOST_PATTERNS:
            message = f"{key} has {len(patterns):,} patterns; use at most {MOST_PATTERNS:,}, or a list of crawler traps"
            yield Problem(key, message, document.line_of((key,)))
            continue
        places = [index for index in range(len(patterns)) if f"{key}.{index}" not in wrong]
        for number, why in slow_patterns([patterns[index] for index in places]):
            index = places[number]
            yield Problem(f"{key}.{index}", f"{key}.{index}: {why}", document.line_of((key, index)))
    yield from _unfit_rules(document, values)
    yield from _contact(document, values)


def _unfit_rules(document: YamlDocument, values: Mapping[str, Any]) -> Iterator[Problem]:
    rules = values.get("rules")
    found = [(at, line) for at, line in enumerate(rules if isinstance(rules, list) else ()) if isinstance(line, str)]
    for at, line in found:
        if (name := list_file_of(line)) is not None and not is_plain_name(name):
            message = (
                f"rules.{at}: {name[:200]!r} is no file of the home's folder `lists`; write a name such as traps.txt"
            )
            yield Problem(f"rules.{at}", message, document.line_of(("rules", at)))
    patterns = [(at, pattern) for at, line in found if (pattern := regex_of(line)) is not None]
    if len(patterns) > MOST_PATTERNS:
        message = f"rules have {len(patterns):,} expressions; use at most {MOST_PATTERNS:,}, or MatchesListRegex"
        yield Problem("rules", message, document.line_of(("rules",)))
        return
    for number, why in slow_patterns([pattern for _, pattern in patterns]):
        at = patterns[number][0]
        yield Problem(f"rules.{at}", f"rules.{at}: {why}", document.line_of(("rules", at)))


def _contact(document: YamlDocument, values: Mapping[str, Any]) -> Iterator[Problem]:
    """Yield what is wrong with the address at which webmasters reach the operator."""
    agent = values.get("user_agent")
    if isinstance(agent, str) and agent:
        line = document.line_of(("user_agent",))
        if found := _PLACEHOLDER.search(agent):
            yield Problem("user_agent", f"user_agent has {found[0]!r}, a placeholder; write your own address", line)
        elif values.get("user_agent_contact") != "optional" and not CONTACT.search(agent):
            yield Problem(
                "user_agent",
                f"user_agent = {agent[:200]!r} has no contact; add your page or mail address, such as"
                " (+https://…/about-our-crawls), or write '' for the setting archive.user_agent",
                line,
            )
    headers = values.get("headers")
    for name, value in headers.items() if isinstance(headers, dict) else ():
        if name.lower() == "from" and isinstance(value, str) and (found := _PLACEHOLDER.search(value)):
            line = document.line_of(("headers", name))
            message = f"headers.{name} has {found[0]!r}, a placeholder; write your own address"
            yield Problem(f"headers.{name}", message, line)
