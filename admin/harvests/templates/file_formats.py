"""A template can be uploaded as YAML, TOML or JSON. TOML and JSON become YAML, in which templates are kept."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable
from typing import Any, Final

from admin.harvests.templates.verification import TEXT, decoded
from admin.harvests.templates.yaml_edit import EditRefused, changed_text
from admin.models.errors import InvalidInput, Problem
from frontier.definition.yaml_document import MAX_BYTES, YamlRefused

_SUFFIXES: Final = (".yaml", ".yml", ".toml", ".json")
_TOML_LINE: Final = re.compile(r" ?\(at line (\d{1,9}), column \d+\)")
MAX_FILE_BYTES: Final = MAX_BYTES
"""Bytes of a file that is uploaded."""


def text_of_file(name: str, data: bytes) -> str:
    """Return the text of an uploaded file in YAML. Raises InvalidInput, with the line where the format has one.

    The name's end tells the format. A YAML file stays as it is, to the byte.
    """
    suffix = next((each for each in _SUFFIXES if name.lower().endswith(each)), None)
    if suffix is None:
        shown = name.rpartition("/")[2][:100]
        raise InvalidInput(Problem(TEXT, f"the file {shown!r} is none of {', '.join(_SUFFIXES)}; give it such a name"))
    text = decoded(data)
    if suffix in (".yaml", ".yml"):
        return text
    values = _values(_read_toml if suffix == ".toml" else _read_json, text.removeprefix("\ufeff"), suffix[1:].upper())
    if not isinstance(values, dict):
        raise InvalidInput(Problem(TEXT, "the file is no table; write an object of keys and values, such as {}"))
    try:
        return changed_text("", values)
    except (EditRefused, YamlRefused, AssertionError, RecursionError, TypeError) as error:
        message = "the file has values that a template can't have; write texts, numbers, lists and tables"
        raise InvalidInput(Problem(TEXT, message)) from error


def _values(read: Callable[[str], Any], text: str, form: str) -> Any:
    try:
        return read(text)
    except json.JSONDecodeError as error:
        raise InvalidInput(Problem(TEXT, f"the file is no {form}: {error.msg}; correct it", error.lineno)) from error
    except tomllib.TOMLDecodeError as error:
        found = _TOML_LINE.search(str(error))
        line = int(found[1]) if found else None
        reason = _TOML_LINE.sub("", str(error))
        raise InvalidInput(Problem(TEXT, f"the file is no {form}: {reason}; correct it", line)) from error
    except (RecursionError, ValueError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise InvalidInput(Problem(TEXT, f"the file is no {form}: {reason}; correct it")) from error


def _read_toml(text: str) -> Any:
    return tomllib.loads(text.replace("\r\n", "\n"))


def _read_json(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_table, parse_constant=_no_constant)


def _table(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the pairs as a table. Raises ValueError for a key that is given twice."""
    table: dict[str, Any] = {}
    for key, value in pairs:
        if key in table:
            raise ValueError(f"the key {key[:100]!r} is given twice; remove one")
        table[key] = value
    return table


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")
