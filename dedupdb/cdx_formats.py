"""The forms in which captures leave the CDX server, one line of text each.

- cdxj: `<key> <timestamp> {json}`, as in the sidecars; with chosen fields, only those in the object
- json: an object per line (pywb); an array of arrays with a head row when Wayback's field names are asked for
- text: the chosen fields, separated by spaces
- cdx: the eleven columns `N b a m s k r M S V g`; redirect and meta tags are always "-"
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from archive import cdxj
from archive.capture import Capture
from archive.jsontext import compact_json
from dedupdb.filters import FIELDS, FilterError, field_name
from dedupdb.query import QueryError

OUTPUTS: Final = ("cdxj", "json", "text", "cdx")
DEFAULT_FIELDS: Final = (*("urlkey", "timestamp", "url", "mime", "status", "digest", "length", "offset", "filename"),)
WAYBACK_NAMES: Final = frozenset({"original", "mimetype", "statuscode"})
_ELEVEN: Final = ("urlkey", "timestamp", "url", "mime", "status", "digest")
_PLACE: Final = ("length", "offset", "filename")


@dataclass(frozen=True, slots=True)
class Form:
    """How captures are written: the media type, and the lines of any number of them."""

    media_type: str
    lines: Callable[[Iterable[Capture]], Iterator[str]]


def form(output: str, fields: str) -> Form:
    """The form that `output` and `fl` (names separated by commas) ask for. Raises QueryError."""
    names = [name.strip() for name in fields.split(",") if name.strip()]
    try:
        known = [field_name(name) for name in names]
    except FilterError as error:
        raise QueryError("fl", str(error)) from error
    if output == "json" and WAYBACK_NAMES.intersection(names):
        return Form("application/json", lambda captures: _array_of_arrays(names, known, captures))
    if output == "json":
        return Form("application/x-ndjson", _each(lambda capture: _object(names or DEFAULT_FIELDS, capture)))
    if output == "text":
        return Form("text/plain", _each(lambda capture: _columns(known or DEFAULT_FIELDS, capture)))
    if output == "cdx":
        return Form("text/plain", _each(_eleven))
    if output == "cdxj":
        return Form("text/x-cdxj", _each(lambda capture: _keyed(known, capture) if known else cdxj.line(capture)))
    raise QueryError("output", f"{output[:40]!r} is none of {', '.join(OUTPUTS)}")


def _each(line: Callable[[Capture], str]) -> Callable[[Iterable[Capture]], Iterator[str]]:
    return lambda captures: (f"{line(capture)}\n" for capture in captures)


def _object(names: Sequence[str], capture: Capture) -> str:
    return compact_json({name: FIELDS[field_name(name)](capture) for name in names})


def _keyed(names: Sequence[str], capture: Capture) -> str:
    said = {name: FIELDS[name](capture) for name in names if name not in ("urlkey", "timestamp")}
    return f"{capture.key} {capture.timestamp} {compact_json(said)}"


def _columns(names: Sequence[str], capture: Capture) -> str:
    return " ".join("".join(FIELDS[name](capture).split()) or "-" for name in names)


def _eleven(capture: Capture) -> str:
    return f"{_columns(_ELEVEN, capture)} - - {_columns(_PLACE, capture)}"


def _array_of_arrays(names: Sequence[str], known: Sequence[str], captures: Iterable[Capture]) -> Iterator[str]:
    yield f"[{compact_json(names)}"
    for capture in captures:
        yield f",\n{compact_json([FIELDS[name](capture) for name in known])}"
    yield "]\n"
