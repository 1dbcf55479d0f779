"""A YAML document is read into nodes that know their places in the text, within limits that hold for any upload.

YAML 1.2 with its core schema is read: one document of tables, lists, texts, numbers, true, false and null. Anchors,
aliases, tags and directives are refused, since an alias can multiply a small text without end. `ruamel.yaml` takes
the text apart; the events that it yields become nodes here, without recursion, and no object of its own is made.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    NodeEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)
from ruamel.yaml.reader import ReaderError

from archive.names.characters import in_words

MAX_BYTES: Final = 1_000_000
MAX_KEYS: Final = 5_000
MAX_VALUES: Final = 20_000
"""Values of tables and lists, in all."""
MAX_LINES: Final = 20_000
MAX_DEPTH: Final = 8
"""Tables and lists within each other; the deepest value of a profile is on the second level."""
_MAX_PROBLEMS: Final = 100
_LONGEST_NUMBER: Final = 400
"""Characters; a longer number is a text."""

_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_PLAIN: Final = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
_INTEGER: Final = re.compile(r"[-+]?[0-9][0-9_]*", re.ASCII)
_BASED: Final = re.compile(r"0o[0-7]+|0x[0-9a-fA-F]+", re.ASCII)
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_SPECIAL: Final = re.compile(r"([-+]?)\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_TOO_MUCH: Final = "a document may have {most:,} {what}; this one has more: shorten it"

type YamlNode = YamlScalar | YamlList | YamlTable
type YamlValue = str | int | float | bool | None
type YamlPath = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class YamlProblem:
    """A problem says why a text is not read as YAML, and in which line, counted from 1."""

    line: int | None
    message: str


class YamlRefused(ValueError):
    """The text is no YAML document, or one that goes beyond the limits. All problems found are named."""

    def __init__(self, *problems: YamlProblem) -> None:
        super().__init__("; ".join(f"line {each.line}: {each.message}" for each in problems))
        self.problems = problems


@dataclass(frozen=True, slots=True)
class YamlScalar:
    """A scalar is a single value. `start` and `end` are its characters in the text, quotes included."""

    start: int
    end: int
    line: int
    value: YamlValue
    style: str
    """Empty for a plain one, else its quote, or the sign of its block: ' " | >"""


@dataclass(slots=True)
class YamlList:
    """A list has items. Only the end of one in brackets (`is_flow`) is the end of its text."""

    start: int
    end: int
    line: int
    is_flow: bool
    items: list[YamlNode] = field(default_factory=list)


@dataclass(slots=True)
class YamlEntry:
    """An entry of a table has a key and a value."""

    key: YamlScalar
    value: YamlNode

    @property
    def name(self) -> str:
        """The key is a text."""
        return str(self.key.value)


@dataclass(slots=True)
class YamlTable:
    """A table has keys and values. Only the end of one in braces (`is_flow`) is the end of its text."""

    start: int
    end: int
    line: int
    is_flow: bool
    entries: list[YamlEntry] = field(default_factory=list)
    pending: YamlScalar | None = None
    """While the text is read: the key whose value comes next."""

    def get(self, name: str) -> YamlEntry | None:
        """Return the entry with this key; None when the table has no such key."""
        return next((entry for entry in self.entries if entry.name == name), None)


@dataclass(frozen=True, slots=True)
class YamlDocument:
    """A document is a text and the table that the text holds."""

    text: str
    top: YamlTable
    line_starts: tuple[int, ...]

    def values(self) -> dict[str, Any]:
        """Return the plain values of all keys."""
        found = plain_value(self.top)
        assert isinstance(found, dict)
        return found

    def line_of(self, path: YamlPath) -> int | None:
        """Return the line of what has this path of keys and indices, or of the nearest thing around it."""
        node: YamlNode = self.top
        line: int | None = None
        for part in path:
            if isinstance(node, YamlTable) and (entry := node.get(str(part))) is not None:
                line, node = entry.key.line, entry.value
            elif isinstance(node, YamlList) and isinstance(part, int) and part < len(node.items):
                node = node.items[part]
                line = node.line
            else:
                break
        return line


def read_document(text: str) -> YamlDocument:
    """Return the document. Raises YamlRefused; the time is bounded by the limits of this module."""
    _check_size(text)
    starts = (0, *(found.end() for found in _LINE_END.finditer(text)))
    return YamlDocument(text, _Reading(text, starts).top(), starts)


def plain_value(node: YamlNode) -> Any:
    """Return the node's content as dicts, lists and plain values."""
    if isinstance(node, YamlTable):
        return {entry.name: plain_value(entry.value) for entry in node.entries}
    if isinstance(node, YamlList):
        return [plain_value(item) for item in node.items]
    return node.value


def _check_size(text: str) -> None:
    try:
        size = len(text.encode()) if len(text) <= MAX_BYTES else len(text)
    except UnicodeEncodeError as error:
        line = _line_number(text, error.start)
        raise YamlRefused(YamlProblem(line, "half of a surrogate pair stands here; save the file as UTF-8")) from error
    if size > MAX_BYTES:
        raise YamlRefused(YamlProblem(None, _TOO_MUCH.format(most=MAX_BYTES, what="bytes")))
    if sum(1 for _ in _LINE_END.finditer(text)) > MAX_LINES:
        raise YamlRefused(YamlProblem(MAX_LINES, _TOO_MUCH.format(most=MAX_LINES, what="lines")))


def _line_number(text: str, index: int) -> int:
    return 1 + sum(1 for _ in _LINE_END.finditer(text, 0, index))


class _Reading:
    """Builds nodes from ruamel's events, and collects what is wrong with them."""

    def __init__(self, text: str, starts: tuple[int, ...]) -> None:
        self._text = text
        self._starts = starts
        self._problems: list[YamlProblem] = []
        self._open: list[YamlList | YamlTable] = []
        self._root: YamlNode | None = None
        self._documents = self._keys = self._values = 0

    def top(self) -> YamlTable:
        """Return the outermost table. Raises YamlRefused."""
        try:
            for event in self._events():
                self._take(event)
        except YAMLError as error:
            self._problems.append(self._syntax(error))
        if isinstance(self._root, YamlScalar) and self._root.value is None:
            self._root = None  # comments alone
        if self._root is not None and not isinstance(self._root, YamlTable) and not self._problems:
            self._refuse(self._root.start, "the text holds no table of keys and values; write lines such as `hops: 20`")
        if self._problems:
            raise YamlRefused(*self._problems)
        end = len(self._text)
        return self._root if isinstance(self._root, YamlTable) else YamlTable(end, end, len(self._starts), False)

    def _events(self) -> Iterator[Event]:
        yield from YAML(typ="safe", pure=True).parse(self._text)

    def _take(self, event: Event) -> None:
        if isinstance(event, DocumentStartEvent):
            self._start_document(event)
        elif isinstance(event, AliasEvent):
            self._refuse(event.start_mark.index, f"the alias *{event.anchor} is not allowed; repeat the value instead")
            self._add(YamlScalar(event.start_mark.index, event.end_mark.index, self._line(event), None, ""))
        elif isinstance(event, ScalarEvent):
            self._check_properties(event)
            self._add(self._scalar(event))
        elif isinstance(event, MappingStartEvent | SequenceStartEvent):
            self._check_properties(event)
            kind = YamlTable if isinstance(event, MappingStartEvent) else YamlList
            start = event.start_mark.index
            self._add(node := kind(start, event.end_mark.index, self._line(event), bool(event.flow_style)))
            self._open.append(node)
            if len(self._open) > MAX_DEPTH:
                self._stop(start, _TOO_MUCH.format(most=MAX_DEPTH, what="levels of tables and lists"))
        elif isinstance(event, MappingEndEvent | SequenceEndEvent):
            ended = self._open.pop()
            ended.end = event.end_mark.index
            if isinstance(ended, YamlTable):
                self._check_keys(ended)

    def _start_document(self, event: DocumentStartEvent) -> None:
        self._documents += 1
        if self._documents > 1:
            self._stop(event.start_mark.index, "a second document begins here; leave one document in the text")
        if event.version not in (None, (1, 2)) or event.tags:
            self._refuse(0, "the text has a directive (% at the line's beginning); leave it out: this is YAML 1.2")

    def _check_properties(self, event: NodeEvent) -> None:
        if event.anchor is not None:
            self._refuse(event.start_mark.index, f"the anchor &{event.anchor} is not allowed; repeat the value instead")
        if (tag := getattr(event, "ctag", None)) is not None:
            self._refuse(event.start_mark.index, f"the tag {tag} is not allowed; leave it out")

    def _add(self, node: YamlNode) -> None:
        """Put a node into the table or list that is open."""
        if not self._open:
            self._root = node
            return
        parent = self._open[-1]
        if isinstance(parent, YamlTable) and parent.pending is None:
            self._add_key(parent, node)
            return
        self._values += 1
        if self._values > MAX_VALUES:
            self._stop(node.start, _TOO_MUCH.format(most=MAX_VALUES, what="values"))
        if isinstance(parent, YamlList):
            parent.items.append(node)
        elif parent.pending is not None:
            parent.entries.append(YamlEntry(parent.pending, node))
            parent.pending = None

    def _add_key(self, table: YamlTable, node: YamlNode) -> None:
        self._keys += 1
        if self._keys > MAX_KEYS:
            self._stop(node.start, _TOO_MUCH.format(most=MAX_KEYS, what="keys"))
        if not isinstance(node, YamlScalar) or not isinstance(node.value, str) or node.style in ("|", ">"):
            self._refuse(node.start, "a key is a text on one line; write a name such as hops, or put it in quotes")
            node = YamlScalar(node.start, node.end, node.line, f"key {self._keys}", "")
        table.pending = node

    def _check_keys(self, table: YamlTable) -> None:
        first: dict[str, int] = {}
        for entry in table.entries:
            if entry.name in first:
                shown = entry.name[:100]
                self._refuse(
                    entry.key.start, f"the key {shown!r} is given twice, first in line {first[entry.name]}; remove one"
                )
            first.setdefault(entry.name, entry.key.line)

    def _scalar(self, event: ScalarEvent) -> YamlScalar:
        style = event.style or ""
        value = event.value if style or not event.implicit[0] else _resolved(event.value)
        return YamlScalar(event.start_mark.index, event.end_mark.index, self._line(event), value, style)

    def _line(self, event: Event) -> int:
        return self._line_at(event.start_mark.index)

    def _line_at(self, index: int) -> int:
        return bisect_right(self._starts, index)

    def _refuse(self, index: int, message: str) -> None:
        self._problems.append(YamlProblem(self._line_at(index), message))
        if len(self._problems) >= _MAX_PROBLEMS:
            raise YamlRefused(*self._problems)

    def _stop(self, index: int, message: str) -> None:
        self._problems.append(YamlProblem(self._line_at(index), message))
        raise YamlRefused(*self._problems)

    def _syntax(self, error: YAMLError) -> YamlProblem:
        """Return what the parser complains of; it stops at its first complaint."""
        if isinstance(error, ReaderError):
            sign = chr(error.character) if isinstance(error.character, int) else str(error.character)
            return YamlProblem(self._line_at(error.position), f"{in_words(sign)} is not allowed; remove it")
        if isinstance(error, MarkedYAMLError) and (mark := error.problem_mark or error.context_mark) is not None:
            context = f" {error.context}" if error.context else ""
            column = mark.index - self._starts[self._line_at(mark.index) - 1] + 1
            return YamlProblem(
                self._line_at(mark.index), f"column {column} is no YAML:{context} {error.problem}; {_hint(error)}"
            )
        return YamlProblem(None, f"the text is no YAML: {str(error)[:200]}")


def _hint(error: MarkedYAMLError) -> str:
    problem = str(error.problem)
    if "'\\t'" in problem:
        return "indent by spaces, and put texts with tabs in double quotes"
    if "mapping values are not allowed" in problem:
        return "put a text with a colon in quotes, and indent the keys of a table alike"
    if "that cannot start any token" in problem:
        return "put the text in quotes"
    return "compare the indentation, brackets and quotes of this line and the line before"


def _resolved(text: str) -> YamlValue:
    """Return the value of a plain text by the core schema of YAML 1.2; numbers may have underscores besides."""
    if text in _PLAIN:
        return _PLAIN[text]
    if len(text) > _LONGEST_NUMBER:
        return text
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", ""))
    if _BASED.fullmatch(text):
        return int(text, 0)
    if _FLOAT.fullmatch(text):
        return float(text.replace("_", ""))
    if special := _SPECIAL.fullmatch(text):
        return float(special[1] + "inf") if special[1] is not None else float("nan")
    return text
