"""This module writes captures in the output forms of the CDX server, one line of text each.

- cdxj: `<key> <timestamp> {json}`, as in the sidecars. With chosen fields, the object has only those. - json: one
object for each line (pywb). With Wayback's field names: an array of arrays with a header row. - text: the chosen
fields, separated by spaces - cdx: the eleven columns `N b a m s k r M S V g`; the columns for redirect and meta tags
are always "-"

Fields that a query adds, such as those of `resolveRevisits`, come after the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from archive.json_text import compact_json
from archive.warc import cdxj
from dedupdb.captures.filters import FIELDS, FilterError, field_name
from dedupdb.captures.query import QueryError
from dedupdb.cdx.results import Shown

OUTPUTS: Final = ("cdxj", "json", "text", "cdx")
DEFAULT_FIELDS: Final = (*("urlkey", "timestamp", "url", "mime", "status", "digest", "length", "offset", "filename"),)
WAYBACK_NAMES: Final = frozenset({"original", "mimetype", "statuscode"})
_ELEVEN: Final = ("urlkey", "timestamp", "url", "mime", "status", "digest")
_PLACE: Final = ("length", "offset", "filename")


@dataclass(frozen=True, slots=True)
class OutputForm:
    """A form says how captures are written: the media type, and the lines of any number of them."""

    media_type: str
    lines: Callable[[Iterable[Shown]], Iterator[str]]


def form(output: str, fields: str, extra: Sequence[str] = ()) -> OutputForm:
    """Return the form for `output` and `fl`, which has names separated by commas. Raises QueryError.

    `extra` are the fields that a query adds to captures. They come last when no fields are chosen.
    """
    names = [name.strip() for name in fields.split(",") if name.strip()]
    try:
        known = [name if name in extra else field_name(name) for name in names]
    except FilterError as error:
        raise QueryError("fl", str(error)) from error
    if output == "json" and WAYBACK_NAMES.intersection(names):
        return OutputForm("application/json", lambda found: _array_of_arrays(names, known, found))
    if output == "json":
        chosen = list(zip(names, known, strict=True)) or [(name, name) for name in (*DEFAULT_FIELDS, *extra)]
        return OutputForm("application/x-ndjson", _each(lambda shown: _object(chosen, shown)))
    if output == "text":
        return OutputForm("text/plain", _each(lambda shown: _columns(known or (*DEFAULT_FIELDS, *extra), shown)))
    if output == "cdx":
        return OutputForm("text/plain", _each(lambda shown: _eleven(extra, shown)))
    if output == "cdxj":
        return OutputForm("text/x-cdxj", _each(lambda shown: _keyed(known, shown) if known else _line(shown)))
    raise QueryError("output", f"{output[:40]!r} is unknown; use one of {', '.join(OUTPUTS)}")


def _each(line: Callable[[Shown], str]) -> Callable[[Iterable[Shown]], Iterator[str]]:
    return lambda found: (f"{line(shown)}\n" for shown in found)


def _value(name: str, shown: Shown) -> str:
    for found, value in shown.extra:
        if found == name:
            return value
    return FIELDS[name](shown.capture)


def _object(chosen: Sequence[tuple[str, str]], shown: Shown) -> str:
    return compact_json({name: _value(known, shown) for name, known in chosen})


def _line(shown: Shown) -> str:
    line = cdxj.line(shown.capture)
    if not shown.extra:
        return line
    return f"{line.removesuffix('}')},{compact_json(dict(shown.extra)).removeprefix('{')}"


def _keyed(names: Sequence[str], shown: Shown) -> str:
    said = {name: _value(name, shown) for name in names if name not in ("urlkey", "timestamp")}
    return f"{shown.capture.key} {shown.capture.timestamp} {compact_json(said)}"


def _columns(names: Sequence[str], shown: Shown) -> str:
    return " ".join("".join(_value(name, shown).split()) or "-" for name in names)


def _eleven(extra: Sequence[str], shown: Shown) -> str:
    return f"{_columns(_ELEVEN, shown)} - - {_columns((*_PLACE, *extra), shown)}"


def _array_of_arrays(names: Sequence[str], known: Sequence[str], found: Iterable[Shown]) -> Iterator[str]:
    yield f"[{compact_json(names)}"
    for shown in found:
        yield f",\n{compact_json([_value(name, shown) for name in known])}"
    yield "]\n"
