"""Values of a YAML document are changed in its text, and every character that need not change stays as it was.

The nodes of `frontier.definition.yaml_document` know their places, so a changed value is replaced where it stands.
Entries and items that come or go are whole lines in block style, and parts between commas in brackets and braces. The
result is read again at the end: a text that would not have the wanted values is never returned.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from frontier.definition.yaml_document import (
    YamlDocument,
    YamlEntry,
    YamlList,
    YamlNode,
    YamlRefused,
    YamlScalar,
    YamlTable,
    plain_value,
    read_document,
)

_BOM: Final = "\ufeff"
_LINE_END: Final = re.compile(r"\r\n|\r|\n")
_SAFE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_/-]*", re.ASCII)
"""Texts that mean the same without quotes everywhere, unless they are among the words below."""
_WORDS: Final = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))
"""Some of these are no texts in YAML 1.2, the others were none in YAML 1.1."""
_ESCAPES: Final = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_SPACE: Final = " \t\r\n"
_STEP: Final = 2


class EditRefused(ValueError):
    """The text can't be changed so; the message says why, and what to do instead."""


def changed_text(text: str, wanted: Mapping[str, Any]) -> str:
    """Return the text with exactly these values. Raises YamlRefused for a text that can't be read, and EditRefused."""
    document = read_document(text)
    if _same(document.values(), wanted):
        return text
    has_end = not text or _LINE_END.fullmatch(text[-1]) is not None
    if not has_end:
        document = read_document(text + _line_end(text))
    result = _Editor(document).changed(wanted)
    if not has_end:
        result = result.removesuffix(_line_end(text))
    try:
        is_right = _same(read_document(result).values(), wanted)
    except YamlRefused:
        is_right = False
    if not is_right:
        raise EditRefused("the text is written in a way that the form can't change; change the text by hand")
    return result


def scalar_text(value: Any, style: str = "") -> str:
    """Return a value as YAML writes it on one line; `style` is the quote to use when the value allows it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return json.dumps(value)
    assert isinstance(value, str), value
    if style == "" and _SAFE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    if style != '"' and all(" " <= char <= "~" or (char > "\xa0" and char.isprintable()) for char in value):
        return "'" + value.replace("'", "''") + "'"
    return '"' + "".join(map(_escaped, value)) + '"'


def flow_text(value: Any) -> str:
    """Return a value on one line, with lists in brackets and tables in braces."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar_text(key)}: {flow_text(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow_text, value)) + "]"
    return scalar_text(value)


def block_lines(key: str, value: Any, step: int = _STEP, offset: int = _STEP) -> Iterator[str]:
    """Yield the lines of an entry in block style; a list's dashes stand `offset` columns to the right of the key."""
    name = scalar_text(key)
    if isinstance(value, Mapping) and value:
        yield f"{name}:"
        for inner, each in value.items():
            yield from (" " * step + line for line in block_lines(inner, each, step, offset))
    elif isinstance(value, list | tuple) and value:
        yield f"{name}:"
        yield from (" " * offset + "- " + flow_text(each) for each in value)
    else:
        yield f"{name}: {flow_text(value)}"


def _escaped(char: str) -> str:
    if char in _ESCAPES:
        return _ESCAPES[char]
    if " " <= char <= "~" or (char > "\xa0" and char.isprintable()):
        return char
    code = ord(char)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def _same(one: Any, other: Any) -> bool:
    """Return whether two values are equal; 1, 1.0 and true are not."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _line_end(text: str) -> str:
    found = _LINE_END.search(text)
    return found[0] if found else "\n"


@dataclass(frozen=True, slots=True)
class _Part:
    """A part is an element in brackets or braces. `lead` and `trail` stand around it, `tail` follows its comma."""

    lead: str
    text: str
    trail: str
    tail: str


@dataclass(slots=True)
class _Editor:
    document: YamlDocument
    edits: list[tuple[int, int, str]] = field(default_factory=list)
    text: str = field(init=False)
    end: str = field(init=False)
    step: int = field(init=False)
    offset: int = field(init=False)

    def __post_init__(self) -> None:
        self.text = self.document.text
        self.end = _line_end(self.text)
        self.step, self.offset = self._indentation()

    def changed(self, wanted: Mapping[str, Any]) -> str:
        """Return the text with the wanted values."""
        top = self.document.top
        if top.is_flow:
            self.edits.append((top.start, top.end, self._flow(top, wanted)))
        else:
            self._block_table(top, wanted, len(self.text) if not top.entries else None)
        result, at = [], 0
        for start, end, replacement in sorted(self.edits, key=lambda edit: edit[:2]):
            result += [self.text[at:start], replacement]
            at = max(at, end)
        return "".join([*result, self.text[at:]])

    # ---- Block style: an entry, or an item, has lines of its own --------------------------------------------------

    def _block_table(self, table: YamlTable, wanted: Mapping[str, Any], at: int | None = None) -> None:
        last = at
        for entry in table.entries:
            last = self._after(self._end_of(entry))
            if entry.name not in wanted:
                self._remove_lines(entry.key.start, self._end_of(entry), "?")
            elif not _same(plain_value(entry.value), wanted[entry.name]):
                self._block_value(entry, wanted[entry.name])
        known = {entry.name for entry in table.entries}
        column = self._column(table.entries[0].key.start) if table.entries else 0
        lines = [
            " " * column + line
            for name, value in wanted.items()
            if name not in known
            for line in block_lines(name, value, self.step, self.offset)
        ]
        if lines:
            assert last is not None
            self.edits.append((last, last, "".join(line + self.end for line in lines)))

    def _block_value(self, entry: YamlEntry, wanted: Any) -> None:
        value, colon = entry.value, self._colon(entry)
        if isinstance(value, YamlTable) and isinstance(wanted, Mapping) and wanted and value.entries:
            if value.is_flow:
                self.edits.append((value.start, value.end, self._flow(value, wanted)))
            else:
                self._block_table(value, wanted)
        elif isinstance(value, YamlList) and isinstance(wanted, list | tuple) and wanted and value.items:
            if value.is_flow:
                self.edits.append((value.start, value.end, self._flow(value, wanted)))
            else:
                self._block_list(value, wanted)
        else:
            self._replace(entry, colon, wanted)

    def _replace(self, entry: YamlEntry, colon: int, wanted: Any) -> None:
        """Put another kind of value, or an empty one, in the place of what is there."""
        value = entry.value
        lines: list[str] = []
        inline = ""
        if not isinstance(wanted, Mapping | list | tuple):
            style = value.style if isinstance(value, YamlScalar) and value.style in ("'", '"') else ""
            inline = " " + scalar_text(wanted, style)
        elif not wanted:
            inline = " " + flow_text(wanted)
        else:
            indent = " " * self._column(entry.key.start)
            lines = [indent + line for line in list(block_lines("k", wanted, self.step, self.offset))[1:]]
        if isinstance(value, YamlScalar) or value.is_flow:
            self._replace_inline(value, colon, inline)
        else:
            self.edits.append((colon, colon, inline))
            self._remove_children(value)
        if lines:
            at = self._after(self._end_of(entry))
            self.edits.append((at, at, "".join(line + self.end for line in lines)))

    def _replace_inline(self, value: YamlNode, colon: int, inline: str) -> None:
        if isinstance(value, YamlScalar) and value.start == value.end:  # nothing stands there
            self.edits.append((colon, colon, inline))
        elif isinstance(value, YamlScalar) and value.style in ("|", ">"):
            self.edits.append((colon, value.end, inline + self.end))
        elif inline and self.text[colon : value.start].strip(" \t") == "":
            self.edits.append((value.start, value.end, inline.removeprefix(" ")))
        else:
            self.edits.append((colon, value.end, inline))

    def _remove_children(self, value: YamlList | YamlTable) -> None:
        if isinstance(value, YamlTable):
            for entry in value.entries:
                self._remove_lines(entry.key.start, self._end_of(entry), "?")
        else:
            for dash, end in self._items(value):
                self._remove_lines(dash, end, "")

    def _block_list(self, node: YamlList, wanted: Sequence[Any]) -> None:
        places = list(self._items(node))
        indent = " " * self._column(places[0][0])
        for first, last, fresh in _steps([plain_value(item) for item in node.items], wanted):
            for index, value in zip(range(first, last), fresh, strict=False):
                self._replace_item(node.items[index], places[index], value)
            for dash, end in places[first + len(fresh) : last]:
                self._remove_lines(dash, end, "")
            if more := fresh[last - first :]:
                at = self._after(places[last - 1][1]) if last else self._line_start(places[0][0])
                self.edits.append((at, at, "".join(f"{indent}- {flow_text(each)}{self.end}" for each in more)))

    def _replace_item(self, item: YamlNode, place: tuple[int, int], value: Any) -> None:
        dash, end = place
        if not isinstance(item, YamlScalar):
            raise EditRefused("an item of a list is a table or a list itself; change the text by hand")
        style = item.style if item.style in ("'", '"') else ""
        new = flow_text(value) if isinstance(value, Mapping | list | tuple) else scalar_text(value, style)
        if item.style in ("|", ">"):
            self.edits.append((dash + 1, item.end, f" {new}{self.end}"))
        elif item.start == item.end:
            self.edits.append((end, end, f" {new}"))
        else:
            self.edits.append((item.start, item.end, new))

    def _remove_lines(self, start: int, end: int, allowed: str) -> None:
        """Remove the lines from `start` to `end`; before `start` there may be spaces and the sign `allowed`."""
        begin = self._line_start(start)
        if self.text[begin:start].strip(" ") not in ("", allowed):
            raise EditRefused("several values stand on one line; change the text by hand")
        self.edits.append((begin, self._after(end), ""))

    # ---- Flow style: elements stand between commas -----------------------------------------------------------------

    def _flow(self, node: YamlList | YamlTable, wanted: Any) -> str:
        """Return the text of a list in brackets, or a table in braces, with the wanted values."""
        parts, opening, closing, has_comma = self._parts(node)
        if not parts:
            return flow_text(wanted)
        made: list[_Part] = []
        is_on_lines = parts[-1].tail != ""
        fresh = _Part(parts[-1].lead if is_on_lines else " ", "", "", self.end if is_on_lines else "")
        if isinstance(node, YamlTable):
            for entry, part in zip(node.entries, parts, strict=True):
                if entry.name in wanted:
                    made.append(_with(part, self._flow_entry(entry, part, wanted[entry.name])))
            known = {entry.name for entry in node.entries}
            more = [f"{scalar_text(name)}: {flow_text(each)}" for name, each in wanted.items() if name not in known]
            made += [_with(fresh, text) for text in more]
        else:
            at = 0
            for first, last, values in _steps([plain_value(item) for item in node.items], wanted):
                made += parts[at:first]
                olds = zip(node.items[first:last], parts[first:last], values, strict=False)
                made += [_with(part, self._flow_value(item, part.text, value)) for item, part, value in olds]
                made += [_with(fresh, flow_text(value)) for value in values[last - first :]]
                at = last
            made += parts[at:]
        if not made:
            return self.text[node.start] + self.text[node.end - 1]
        made[0] = _Part(parts[0].lead, made[0].text, made[0].trail, made[0].tail)
        inner = "".join(
            part.lead + part.text + part.trail + ("," if number < len(made) - 1 or has_comma else "") + part.tail
            for number, part in enumerate(made)
        )
        return self.text[node.start] + opening + inner + closing + self.text[node.end - 1]

    def _flow_entry(self, entry: YamlEntry, part: _Part, wanted: Any) -> str:
        if _same(plain_value(entry.value), wanted):
            return part.text
        if isinstance(entry.value, YamlScalar) and entry.value.start == entry.value.end:
            return f"{self.text[entry.key.start : entry.key.end]}: {flow_text(wanted)}"
        before = self.text[entry.key.start : entry.value.start]
        return before + self._flow_value(entry.value, self.text[entry.value.start : entry.value.end], wanted)

    def _flow_value(self, node: YamlNode, text: str, wanted: Any) -> str:
        if _same(plain_value(node), wanted):
            return text
        if isinstance(node, YamlScalar):
            style = node.style if node.style in ("'", '"') else ""
            is_scalar = not isinstance(wanted, Mapping | list | tuple)
            return scalar_text(wanted, style) if is_scalar else flow_text(wanted)
        is_alike = isinstance(wanted, Mapping) if isinstance(node, YamlTable) else isinstance(wanted, list | tuple)
        return self._flow(node, wanted) if is_alike and wanted else flow_text(wanted)

    def _parts(self, node: YamlList | YamlTable) -> tuple[list[_Part], str, str, bool]:
        """Return the elements, the text after the opening and before the closing bracket, and whether the last element
        has a comma.
        """
        if isinstance(node, YamlTable):
            spans = [(entry.key.start, self._end_of(entry)) for entry in node.entries]
        else:
            spans = [(item.start, item.end) for item in node.items]
        parts: list[_Part] = []
        opening, at = self._to_line_end(node.start + 1, spans[0][0] if spans else node.end - 1)
        closing, has_comma = "", False
        for number, (start, end) in enumerate(spans):
            following = spans[number + 1][0] if number + 1 < len(spans) else node.end - 1
            comma = self._skip(end)
            has_comma = self.text[comma] == ","
            trail_end = comma if has_comma else end
            tail, after = self._to_line_end(trail_end + has_comma, following)
            parts.append(_Part(self.text[at:start], self.text[start:end], self.text[end:trail_end], tail))
            at = after
        closing = self.text[at : node.end - 1]
        return parts, opening, closing, has_comma

    def _to_line_end(self, start: int, end: int) -> tuple[str, int]:
        """Return the text from `start` to its line's end, and that end; no text when the line goes beyond `end`."""
        found = _LINE_END.search(self.text, start, end)
        return (self.text[start : found.end()], found.end()) if found else ("", start)

    # ---- Places ----------------------------------------------------------------------------------------------------

    def _items(self, node: YamlList) -> Iterator[tuple[int, int]]:
        """Yield where each item's dash stands, and where the item ends."""
        at = node.start
        for item in node.items:
            dash = self._skip(at)
            at = self._end(item, dash + 1)
            yield dash, at

    def _end_of(self, entry: YamlEntry) -> int:
        return self._end(entry.value, self._colon(entry))

    def _end(self, node: YamlNode, empty: int) -> int:
        """Return where the node's own text ends; `empty` is the place of a node without any."""
        if isinstance(node, YamlScalar):
            return node.end if node.end > node.start else empty
        if node.is_flow:
            return node.end
        if isinstance(node, YamlTable):
            return self._end_of(node.entries[-1])
        *_, (_, end) = self._items(node)
        return end

    def _colon(self, entry: YamlEntry) -> int:
        """Return the place after the colon between key and value, or the key's end when there is none."""
        at = self._skip(entry.key.end)
        return at + 1 if self.text[at : at + 1] == ":" else entry.key.end

    def _skip(self, at: int) -> int:
        """Return the place of the next character that is neither space nor comment."""
        while at < len(self.text):
            if self.text[at] in _SPACE:
                at += 1
            elif self.text[at] == "#":
                found = _LINE_END.search(self.text, at)
                at = found.end() if found else len(self.text)
            else:
                break
        return at

    def _after(self, at: int) -> int:
        """Return the beginning of the next line; `at` itself when a line begins there already."""
        starts = self.document.line_starts
        if at and starts[bisect_right(starts, at) - 1] == at:
            return at
        index = bisect_right(starts, at)
        return starts[index] if index < len(starts) else len(self.text)

    def _line_start(self, at: int) -> int:
        start = self.document.line_starts[bisect_right(self.document.line_starts, at) - 1]
        return start + len(_BOM) if self.text.startswith(_BOM, start) else start

    def _column(self, at: int) -> int:
        """Return the column of a key or a dash; a key after a question mark counts as the mark."""
        before = self.text[self._line_start(at) : at]
        return before.index("?") if before.strip(" ") == "?" else len(before)

    def _indentation(self) -> tuple[int, int]:
        """Return by how many columns the document indents tables, and the dashes of lists."""
        step = offset = None
        for entry in self.document.top.entries:
            value = entry.value
            if isinstance(value, YamlScalar) or value.is_flow:
                continue
            column = self._column(entry.key.start)
            if isinstance(value, YamlTable) and step is None:
                step = max(1, self._column(value.entries[0].key.start) - column)
            elif isinstance(value, YamlList) and offset is None:
                offset = max(0, self._column(value.start) - column)
        step = step if step is not None else (offset or _STEP)
        return step, offset if offset is not None else step


def _with(part: _Part, text: str) -> _Part:
    return _Part(part.lead, text, part.trail, part.tail)


def _steps(old: Sequence[Any], new: Sequence[Any]) -> Iterator[tuple[int, int, list[Any]]]:
    """Yield what to change in a list: the old items from the first number to the second become the new ones.

    Items that stay are matched from both ends and then in their order, so that the time grows with the length alone.
    """
    keys = [json.dumps(item) for item in old]
    wanted = [json.dumps(item) for item in new]
    low = 0
    while low < min(len(keys), len(wanted)) and keys[low] == wanted[low]:
        low += 1
    high = 0
    while high < min(len(keys), len(wanted)) - low and keys[-1 - high] == wanted[-1 - high]:
        high += 1
    places: dict[str, list[int]] = {}
    for index in range(low, len(keys) - high):
        places.setdefault(keys[index], []).append(index)
    at, fresh = low, list[Any]()
    for value, key in zip(new[low : len(new) - high], wanted[low : len(wanted) - high], strict=True):
        found = places.get(key, [])
        place = bisect_left(found, at)
        if place == len(found):
            fresh.append(value)
            continue
        if found[place] > at or fresh:
            yield at, found[place], fresh
        at, fresh = found[place] + 1, []
    if at < len(keys) - high or fresh:
        yield at, len(keys) - high, fresh
