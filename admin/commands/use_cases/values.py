"""Options and files become the values of an operation's input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

import click
from pydantic import BaseModel

from admin.models.moments import MOMENT_REMEDY, moment_of
from admin.models.operation import LONGEST_TEXT
from admin.options import InputError, Size
from archive.dates import Micros


class Moment(click.ParamType[int]):
    """The parameter is a moment: `2027-01-15`, `2027-01-15T08:00+01:00`, or digits as `moment_of` reads them."""

    name = "date"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Micros:
        """Return the moment in microseconds; a date without a zone is UTC."""
        try:
            return moment_of(str(value))
        except ValueError:
            self.fail(f"{str(value)[:60]!r} is no date; {MOMENT_REMEDY}", param, ctx)


class ByteLimit(Size):
    """The parameter is a number of bytes such as 500MB, or -1 for no limit."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes."""
        return -1 if str(value) == "-1" else super().convert(value, param, ctx)


class KeyValue(click.ParamType[tuple[str, Any]]):
    """The parameter is a pair: `KEY=VALUE`. With `reads_json`, a value that is JSON is read as JSON."""

    name = "key=value"

    def __init__(self, *, reads_json: bool) -> None:
        self._reads_json = reads_json

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, Any]:
        """Return the key and the value."""
        if isinstance(value, tuple):
            return value
        key, equals, text = str(value).partition("=")
        if not (key and equals):
            self.fail(f"{str(value)[:60]!r} is no pair; write KEY=VALUE", param, ctx)
        return key, _json_or_text(text) if self._reads_json else text


class Whole(click.ParamType[Any]):
    """The parameter is a value of a model: JSON in braces, or the text of its first field.

    A slash may divide a first and a second field when both are texts, such as DOMAIN/CONFIGURATION.
    """

    name = "value"

    def __init__(self, model: type[BaseModel]) -> None:
        texts = [name for name, field in model.model_fields.items() if field.annotation in (str, str | None)]
        self._first, self._second = texts[0], texts[1] if len(texts) > 1 else ""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value as a mapping, which the model checks later."""
        text = str(value)
        if text.startswith("{") and isinstance(found := _json_or_text(text), dict):
            return found
        if self._second and "/" in text:
            first, _, second = text.partition("/")
            return {self._first: first, self._second: second}
        return {self._first: text}


def read_text(file: str, field: str) -> str:
    """Return the text of a file in UTF-8; - is standard input. Raises InputError."""
    raw = read_bytes(file, field)
    try:
        return raw.decode("utf-8-sig") if field != "text" else raw.decode()
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(f"{field}: line {line} of {file} is not UTF-8; save the file as UTF-8") from error


def read_secret(file: str, field: str) -> str:
    """Return the first line of a file; - is standard input. A command line would show a secret to others."""
    return read_text(file, field).partition("\n")[0].removesuffix("\r")


def read_bytes(file: str, field: str) -> bytes:
    """Return the bytes of a file of at most LONGEST_TEXT bytes. Raises InputError."""
    with opened_file(file, field) as stream:
        try:
            raw = stream.read(LONGEST_TEXT + 1)
        except OSError as error:
            raise InputError(f"{field}: {file} can't be read: {error.strerror}; name another file") from error
    if len(raw) > LONGEST_TEXT:
        raise InputError(f"{field}: {file} has more than {LONGEST_TEXT:,} bytes; divide the file")
    return raw


def opened_file(file: str, field: str) -> IO[bytes]:
    """Return an open file; - is standard input, which stays open. Raises InputError."""
    try:
        return click.open_file(file, "rb")
    except OSError as error:
        raise InputError(f"{field}: {file} can't be read: {error.strerror}; name another file, or -") from error


def read_mapping(file: str) -> dict[str, Any]:
    """Return the fields of a file in JSON or YAML. Raises InputError."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    text = read_text(file, "--from")
    try:
        try:
            found = json.loads(text)
        except ValueError:
            found = YAML(typ="safe", pure=True).load(text)
    except (YAMLError, ValueError, RecursionError) as error:
        why = " ".join(str(error).split())[:200]
        raise InputError(f"--from: {file} is neither JSON nor YAML: {why}; correct the file") from error
    if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found):
        raise InputError(f"--from: {file} has no fields; write FIELD: VALUE on each line")
    return dict(found)


def put(values: dict[str, Any], dotted: str, value: Any) -> None:
    """Set a value by its dotted name. Raises InputError when a part of the name has a value already."""
    *groups, last = dotted.split(".")
    place = values
    for group in groups:
        inner = place.setdefault(group, {})
        if not isinstance(inner, dict):
            raise InputError(f"--set {dotted}: {group} has a value and no fields; leave out what follows {group}")
        place = inner
    place[last] = value


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text
