"""The arguments and fields of an operation become arguments and options of its command.

What a path names, and the one field that a thing can't be without, are arguments; everything else is an option. Texts
that may be long come from a file or from standard input.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Final, TypeAliasType, Union, get_args, get_origin

import click
from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo

from admin.api.arguments import parameters_model, path_parameters
from admin.commands.use_cases.values import ByteLimit, KeyValue, Moment, Whole, read_secret, read_text
from admin.models.field_descriptions import descriptions
from admin.models.operation import Operation
from archive.dates import Micros

FILE: Final = click.Path(allow_dash=True)
_NAMING: Final = ("domain", "event", "name", "note", "alias_of", "owner", "verb")
"""Required fields that are arguments, not options."""
_LONG: Final = ("text", "seeds")
"""Texts that come from a file."""
_FIRST: Final = "text"
"""A required text of this name is an argument."""
_HELP: Final[Mapping[str, str]] = {
    "after": "Begin after this place: the `next` of the page before.",
    "attributes": "Key of the crawl profile that is set otherwise; the value is JSON or a text.",
    "audience": "People for whom the harvest is made.",
    "comments": "Comments.",
    "crawl": "Only tasks about this run of a crawl.",
    "edition": "Change only this edition, which `show --json` prints; somebody else's change is not overwritten.",
    "limit": "Most items of one page.",
    "max_bytes": "Most bytes; -1 is no limit.",
    "max_objects": "Most objects; -1 is no limit.",
    "max_rate": "Most visits in a minute to each host of the domain, 1 to 1,000,000.",
    "name": "New name.",
    "queues": "Only work on queues of crawls, or none of this work.",
    "reason": "Reason, which the audit keeps.",
    "search": "Only names with this text.",
    "template": "Name of a template.",
}
"""Help for fields that have no description."""


@dataclass(frozen=True, slots=True)
class Input:
    """The input is one argument or option of a command, and says where its value goes."""

    field: str
    parameter: click.Parameter
    in_body: bool
    read: Callable[[Any], Any]
    """Makes the field's value of what click gives."""

    @property
    def shown(self) -> str:
        """The name by which messages call the input."""
        return str(self.parameter.opts[-1]) if isinstance(self.parameter, click.Option) else self.field.upper()


def inputs_of(operation: Operation) -> list[Input]:
    """Return the inputs of an operation's command: arguments first, in the order in which they are typed."""
    in_path = path_parameters(operation)
    found = []
    fields = parameters_model(operation).model_fields
    for name in in_path:
        found.append(_argument(name, fields[name], "path"))
    found += [_option(name, field, "query", "") for name, field in fields.items() if name not in in_path]
    taken = {each.field for each in found}
    if operation.input is not None:
        described = descriptions(operation.input)
        for name, field in operation.input.model_fields.items():
            is_argument = field.is_required() and name in (*_NAMING, _FIRST) and not _is_replaced(operation, name)
            if is_argument:
                found.append(_argument(name, field, "body", name in taken))
            else:
                found.append(_option(name, field, "body", described.get(name, "")))
    last = [each for each in found if each.field == _FIRST and isinstance(each.parameter, click.Argument)]
    return [each for each in found if each not in last] + last


def _is_replaced(operation: Operation, name: str) -> bool:
    """Return whether the field's present value is kept: a PUT begins with what is there."""
    return operation.method == "PUT" and name in path_parameters(operation)


def _argument(name: str, field: FieldInfo, place: str, is_new: bool = False) -> Input:
    kind, read, _ = _kind(name, field)
    metavar = "FILE" if kind is FILE else f"{'NEW_' if is_new else ''}{name.upper()}"
    if isinstance(kind, click.Choice):
        metavar = f"[{'|'.join(kind.choices)}]"
    return Input(name, click.Argument([f"{place}_{name}"], type=kind, metavar=metavar), place == "body", read)


def _option(name: str, field: FieldInfo, place: str, description: str) -> Input:
    kind, read, is_many = _kind(name, field)
    shown = name.removeprefix("is_").replace("_", "-")
    option = shown.removesuffix("s") if is_many and kind is not FILE and not _is_mapping(field) else shown
    flags = f"--{option}/--no-{option}" if kind is click.BOOL else f"--{option}"
    made = click.Option(
        [f"{place}_{name}", flags],
        type=kind,
        multiple=is_many,
        default=None,
        metavar="FILE" if kind is FILE else _metavar(kind),
        help=_help(name, field, description, is_many=is_many, is_file=kind is FILE),
    )
    return Input(name, made, place == "body", read)


def _help(name: str, field: FieldInfo, description: str, *, is_many: bool, is_file: bool) -> str:
    text = field.description or description or _HELP.get(name) or name.removeprefix("is_").replace("_", " ")
    text = " ".join(text.split()).rstrip(".")
    text = text[:1].upper() + text[1:] + "."
    notes = [" The file may be - for standard input." if is_file else "", " Repeatable." if is_many else ""]
    default = "" if field.is_required() else _shown_default(field.default)
    return text + "".join(notes) + (f"  [{default}]" if default else "")


def _shown_default(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else ""


def _metavar(kind: click.ParamType[Any]) -> str | None:
    if kind is click.STRING:
        return "TEXT"
    return {"date": "DATE", "size": "SIZE", "key=value": "KEY=VALUE", "value": "VALUE"}.get(kind.name)


def _kind(name: str, field: FieldInfo) -> tuple[click.ParamType[Any], Callable[[Any], Any], bool]:
    """Return click's type of a field, what makes the field's value of it, and whether it is repeatable."""
    annotation = bare(field.annotation)
    if annotation is Micros:
        return Moment(), _same, False
    if annotation is str and name in _LONG:
        return FILE, lambda file: read_text(file, name), False
    if annotation is SecretStr:
        return FILE, lambda file: read_secret(file, name), False
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return click.Choice([str(each.value) for each in annotation]), _same, False
    if annotation is int and name.endswith("_bytes"):
        return ByteLimit(), _same, False
    if annotation in (bool, int, float):
        return {bool: click.BOOL, int: click.INT, float: click.FLOAT}[annotation], _same, False
    if _is_mapping(field):
        reads_json = bare(get_args(annotation)[1]) is not str
        return KeyValue(reads_json=reads_json), dict, True
    if get_origin(annotation) in (tuple, list):
        inner = bare(get_args(annotation)[0])
        is_model = isinstance(inner, type) and issubclass(inner, BaseModel)
        return Whole(inner) if is_model else click.STRING, list, True
    return click.STRING, _same, False


def _is_mapping(field: FieldInfo) -> bool:
    origin = get_origin(bare(field.annotation))
    return isinstance(origin, type) and issubclass(origin, Mapping)


def bare(annotation: Any) -> Any:
    """Return an annotation without None, metadata and names of types, except `Micros`."""
    if annotation is Micros:
        return annotation
    if isinstance(annotation, TypeAliasType):
        return bare(annotation.__value__)
    origin = get_origin(annotation)
    if origin is Annotated:
        return bare(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        kinds = [each for each in get_args(annotation) if each is not type(None)]
        return bare(kinds[0]) if len(kinds) == 1 else annotation
    return annotation


def _same(value: Any) -> Any:
    return value
