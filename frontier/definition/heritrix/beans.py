"""The beans of a Heritrix 3 configuration (`crawler-beans.cxml`) are read from Spring's XML. Pure.

The file comes from anybody, so that its size, depth and number of elements are bounded, and entities are refused.
Overrides (beans of the class `PropertyOverrideConfigurer`) are put in place of the values that they override, as Spring
does. Imported files are named and not followed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final
from xml.parsers import expat

MAX_BYTES: Final = 4_000_000
MAX_DEPTH: Final = 60
MAX_ELEMENTS: Final = 100_000
MAX_OVERRIDES: Final = 20_000
_LARGEST_INDEX: Final = 10_000
_MOST_STEPS: Final = 20
"""Steps of the path of an override, such as `scope.rules[2].maxHops`."""
_BEANS: Final = "http://www.springframework.org/schema/beans"
_PROPERTY_ATTRIBUTES: Final = "http://www.springframework.org/schema/p"
_OVERRIDES: Final = "PropertyOverrideConfigurer"
_STEP: Final = re.compile(r"([^.\[\]]+)((?:\[[^\[\]]*\])*)")
_INDEX: Final = re.compile(r"\[([^\[\]]*)\]")
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}

type Value = Text | Bean | Reference | Items | Entries | Nothing


class BeansUnreadable(ValueError):
    """A file is no configuration of Heritrix 3. The message is one line with the remedy."""


@dataclass(frozen=True, slots=True)
class Text:
    """A text is a single value."""

    text: str
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Nothing:
    """An element `null` stands for no value."""

    line: int | None = None


@dataclass(frozen=True, slots=True)
class Reference:
    """A reference names a bean that stands elsewhere."""

    name: str
    line: int | None = None


@dataclass(slots=True)
class Items:
    """A list has values in order."""

    items: list[Value] = field(default_factory=list)
    line: int | None = None


@dataclass(slots=True)
class Entries:
    """A map has values by key."""

    entries: dict[str, Value] = field(default_factory=dict)
    line: int | None = None


@dataclass(slots=True)
class Bean:
    """A bean has a class and properties."""

    name: str = ""
    """Empty for a bean within another one."""
    class_name: str = ""
    """The last part of the name of the class."""
    properties: dict[str, Value] = field(default_factory=dict)
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Override:
    """An override gives a value to a path, and `problem` says why it could not be put in place."""

    path: str
    value: Value
    problem: str = ""


@dataclass(slots=True)
class BeansFile:
    """A file has beans, after its overrides were put in place."""

    beans: list[Bean] = field(default_factory=list)
    imports: list[Text] = field(default_factory=list)
    """Files that the file names, which are not followed."""
    lost: list[Override] = field(default_factory=list)
    """Overrides that have no place, since the bean is not in this file."""
    by_name: dict[str, Bean] = field(default_factory=dict)

    def bean(self, value: Value | None) -> Bean | None:
        """Return the bean that a value is or names; None for another value."""
        if isinstance(value, Reference):
            return self.by_name.get(value.name)
        return value if isinstance(value, Bean) else None

    def of_class(self, *names: str) -> Iterator[Bean]:
        """Yield the beans on the first level that have one of these classes."""
        return (bean for bean in self.beans if bean.class_name in names)


@dataclass(slots=True)
class _Element:
    space: str
    name: str
    attributes: dict[str, str]
    line: int
    parts: list[str] = field(default_factory=list)
    children: list[_Element] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.parts)


def read_beans(data: bytes) -> BeansFile:
    """Return the beans of a file. Raises BeansUnreadable."""
    if len(data) > MAX_BYTES:
        raise BeansUnreadable(f"it has more than {MAX_BYTES:,} bytes; take out what the crawl does not need")
    root = _Reading().root(data)
    if root.name != "beans":
        more = "; an order.xml of Heritrix 1 can't be read" if root.name == "crawl-order" else ""
        raise BeansUnreadable(
            f"its first element is <{root.name[:100]}> and not <beans>{more}; name a crawler-beans.cxml of Heritrix 3"
        )
    found = BeansFile()
    _collect(found, root)
    for bean in found.beans:
        if bean.name:
            found.by_name[bean.name] = bean
    for bean in found.beans:
        for inner in _within(bean):
            if inner.name:
                found.by_name.setdefault(inner.name, inner)
    _put_overrides(found)
    return found


def as_texts(value: Value | None) -> tuple[Text, ...]:
    """Return the texts of a list, or the one text; nothing for another value."""
    if isinstance(value, Text):
        return (value,)
    if isinstance(value, Items):
        return tuple(each for each in value.items if isinstance(each, Text))
    return ()


def line_of(value: Value | None) -> int | None:
    """Return the line on which a value begins."""
    return value.line if value is not None else None


class _Reading:
    """Builds elements while expat takes the file apart."""

    def __init__(self) -> None:
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.EntityDeclHandler = self._entity
        self._parser.ExternalEntityRefHandler = self._outside
        self._parser.SkippedEntityHandler = self._entity
        self._open: list[_Element] = []
        self._root: _Element | None = None
        self._count = 0

    def root(self, data: bytes) -> _Element:
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            raise BeansUnreadable(
                f"line {error.lineno} column {error.offset + 1} is not XML: {expat.ErrorString(error.code)};"
                " correct the file, or name another one"
            ) from error
        except (ValueError, LookupError) as error:
            if isinstance(error, BeansUnreadable):
                raise
            raise BeansUnreadable(f"its text can't be read: {error}; save the file as UTF-8") from error
        if self._root is None:
            raise BeansUnreadable("it has no element; name a crawler-beans.cxml of Heritrix 3")
        return self._root

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._count += 1
        line = self._parser.CurrentLineNumber
        if self._count > MAX_ELEMENTS:
            raise BeansUnreadable(f"line {line}: it has more than {MAX_ELEMENTS:,} elements; shorten the file")
        if len(self._open) >= MAX_DEPTH:
            raise BeansUnreadable(f"line {line}: more than {MAX_DEPTH} elements lie within each other; flatten them")
        space, _, local = name.rpartition(" ")
        element = _Element(space, local, attributes, line)
        if self._open:
            self._open[-1].children.append(element)
        elif self._root is None:
            self._root = element
        self._open.append(element)

    def _end(self, _: str) -> None:
        self._open.pop()

    def _text(self, text: str) -> None:
        if self._open:
            self._open[-1].parts.append(text)

    def _entity(self, name: str, *_: object) -> None:
        line = self._parser.CurrentLineNumber
        raise BeansUnreadable(f"line {line} has the entity {name[:100]!r}, which is refused; write the text itself")

    def _outside(self, *_: object) -> int:
        line = self._parser.CurrentLineNumber
        raise BeansUnreadable(f"line {line} reads another file by an entity, which is refused; write the text itself")


def _collect(found: BeansFile, root: _Element) -> None:
    for child in root.children:
        if child.name == "beans":
            _collect(found, child)
        elif child.name == "bean" and child.space in ("", _BEANS):
            found.beans.append(_bean(child))
        elif child.name in ("import", "include", "property-placeholder", "property-override"):
            place = child.attributes.get("resource") or child.attributes.get("href") or child.attributes.get("location")
            found.imports.append(Text(place or "", child.line))


def _bean(element: _Element) -> Bean:
    attributes = element.attributes
    name = attributes.get("id") or re.split(r"[,;\s]+", attributes.get("name", "").strip())[0]
    bean = Bean(name, re.split(r"[.$]", attributes.get("class", "").strip())[-1], line=element.line)
    if attributes.get("parent"):
        bean.properties["(parent)"] = Text(attributes["parent"], element.line)
    for key, text in attributes.items():
        space, _, local = key.rpartition(" ")
        if space == _PROPERTY_ATTRIBUTES:
            is_reference = local.endswith("-ref")
            name = local.removesuffix("-ref")
            bean.properties[name] = Reference(text, element.line) if is_reference else Text(text, element.line)
    for child in element.children:
        if child.name == "property":
            bean.properties[child.attributes.get("name", "")] = _property(child)
        elif child.name == "constructor-arg":
            place = child.attributes.get("name") or child.attributes.get("index") or ""
            bean.properties[f"(constructor {place})".replace(" )", ")")] = _property(child)
        elif child.name in ("list", "set", "array"):
            bean.properties["rules"] = _value(child)
    return bean


def _property(element: _Element) -> Value:
    attributes = element.attributes
    if "value" in attributes:
        return Text(attributes["value"], element.line)
    if "ref" in attributes:
        return Reference(attributes["ref"], element.line)
    return next((_value(child) for child in element.children if child.name != "description"), Nothing(element.line))


def _value(element: _Element) -> Value:
    line, children = element.line, element.children
    match element.name:
        case "bean":
            return _bean(element)
        case "ref" | "idref":
            names = (element.attributes.get(key) for key in ("bean", "local", "parent"))
            return Reference(next((name for name in names if name), ""), line)
        case "list" | "set" | "array":
            return Items([_value(child) for child in children if child.name != "description"], line)
        case "map":
            entries = [child for child in children if child.name == "entry"]
            return Entries({_key(entry): _entry(entry) for entry in entries}, line)
        case "props":
            return Entries(
                {
                    each.attributes.get("key", ""): Text(each.text, each.line)
                    for each in children
                    if each.name == "prop"
                },
                line,
            )
        case "null":
            return Nothing(line)
        case _:
            return Text(element.text, line)


def _key(entry: _Element) -> str:
    inner = next((child for child in entry.children if child.name == "key"), None)
    found = "".join(child.text for child in inner.children) or inner.text if inner is not None else ""
    return (entry.attributes.get("key") or found).strip()


def _entry(entry: _Element) -> Value:
    if "value" in entry.attributes:
        return Text(entry.attributes["value"], entry.line)
    if "value-ref" in entry.attributes:
        return Reference(entry.attributes["value-ref"], entry.line)
    return next((_value(child) for child in entry.children if child.name != "key"), Nothing(entry.line))


def _within(value: Value) -> Iterator[Bean]:
    """Yield the beans within a value. The depth of the file bounds that of the calls."""
    match value:
        case Bean():
            inner = list(value.properties.values())
        case Items():
            inner = value.items
        case Entries():
            inner = list(value.entries.values())
        case _:
            return
    for each in inner:
        if isinstance(each, Bean):
            yield each
        yield from _within(each)


def _put_overrides(found: BeansFile) -> None:
    count = 0
    for bean in [each for each in found.beans if each.class_name == _OVERRIDES]:
        for path, value in _overrides(bean):
            count += 1
            if count > MAX_OVERRIDES:
                raise BeansUnreadable(f"it has more than {MAX_OVERRIDES:,} overrides; shorten the file")
            if (problem := put_value(found, path, value)) is not None:
                found.lost.append(Override(path, value, problem))
        for name in ("location", "locations", "fileEncoding"):
            if name != "fileEncoding":
                found.imports += as_texts(bean.properties.get(name))
    found.beans = [each for each in found.beans if each.class_name != _OVERRIDES]


def _overrides(bean: Bean) -> Iterator[tuple[str, Value]]:
    match bean.properties.get("properties"):
        case Text(text, line):
            for number, key, value in property_lines(text):
                yield key, Text(value, None if line is None else line + number)
        case Entries(entries):
            yield from entries.items()
        case _:
            return


def property_lines(text: str) -> Iterator[tuple[int, str, str]]:
    """Yield the number of the line from 0, the key and the value of each entry of a Java property list."""
    lines = re.split(r"\r\n|\r|\n", text)
    number = 0
    while number < len(lines):
        first, parts = number, [lines[number].lstrip()]
        number += 1
        if not parts[0] or parts[0][0] in "#!":
            continue
        while _is_continued(parts[-1]) and number < len(lines):
            parts[-1] = parts[-1][:-1]
            parts.append(lines[number].lstrip())
            number += 1
        written = re.match(r"((?:[^\\=:\s]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(.*)", "".join(parts), re.S)
        if written is not None:
            yield first, _unescaped(written[1]), _unescaped(written[2])


def _is_continued(line: str) -> bool:
    return (len(line) - len(line.rstrip("\\"))) % 2 == 1


def _unescaped(text: str) -> str:
    def plain(found: re.Match[str]) -> str:
        return chr(int(found[1], 16)) if found[1] else _ESCAPES.get(found[2], found[2])

    return re.sub(r"\\(?:u([0-9a-fA-F]{4})|(.))", plain, text, flags=re.S)


def _steps(path: str) -> list[str | int] | None:
    """Return the names and indices of a path such as `scope.rules[2].maxHops`; None for another text."""
    steps: list[str | int] = []
    for part in path.strip().split("."):
        found = _STEP.fullmatch(part)
        if found is None:
            return None
        steps.append(found[1])
        for index in _INDEX.findall(found[2]):
            steps.append(int(index) if index.isascii() and index.isdecimal() and len(index) < 6 else index.strip("'\""))
    return steps if 2 <= len(steps) <= _MOST_STEPS else None


def put_value(found: BeansFile, path: str, value: Value) -> str | None:
    """Put a value in its place. Return why there is no such place; None when it was put."""
    steps = _steps(path)
    if steps is None:
        return "the path is not of the form bean.property"
    bean = found.by_name.get(str(steps[0]))
    if bean is None:
        return f"the file has no bean {str(steps[0])[:100]!r}"
    return _set(found, bean, steps[1:], value)


def _set(found: BeansFile, at: Value, steps: Sequence[str | int], value: Value) -> str | None:
    for number, step in enumerate(steps):
        is_last = number == len(steps) - 1
        inner = value if is_last else _inner(at, step)
        if isinstance(inner, Reference) and not is_last:
            inner = found.by_name.get(inner.name)
        if inner is None:
            inner = Items() if isinstance(steps[number + 1], int) else Bean()
        match at:
            case Bean():
                if is_last or _inner(at, step) is None:
                    at.properties[str(step)] = inner
            case Entries():
                at.entries[str(step)] = inner
            case Items() if isinstance(step, int) and step < len(at.items):
                if is_last:
                    at.items[step] = inner
            case Items() if isinstance(step, int) and step == len(at.items) < _LARGEST_INDEX:
                at.items.append(inner)
            case _:
                return f"there is no {str(step)[:100]!r} at its place"
        at = inner
    return None


def _inner(at: Value, step: str | int) -> Value | None:
    match at:
        case Bean():
            return at.properties.get(str(step))
        case Entries():
            return at.entries.get(str(step))
        case Items() if isinstance(step, int) and step < len(at.items):
            return at.items[step]
        case _:
            return None


def steps_of(found: BeansFile, path: str) -> tuple[Bean | None, str, str]:
    """Return the bean to which a path leads, the bean's name or class, and the property's name.

    The bean is None when the file does not have it; then the names are those of the path.
    """
    steps = _steps(path)
    if steps is None:
        return None, "", path
    at: Value | None = found.by_name.get(str(steps[0]))
    for step in steps[1:-1]:
        at = _inner(at, step) if at is not None else None
        if isinstance(at, Reference):
            at = found.by_name.get(at.name)
    if isinstance(at, Bean):
        return at, at.name or at.class_name, str(steps[-1])
    return None, str(steps[0]), ".".join(map(str, steps[1:]))
