"""An operation becomes a click command."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path
from typing import Any, Final

import click
from pydantic import BaseModel, ValidationError

from admin.commands.use_cases.doors import Caller, LocalCaller, RemoteCaller, needs_user
from admin.commands.use_cases.parameters import FILE, Input, inputs_of
from admin.commands.use_cases.show import show, show_bytes, show_json, show_pages, show_pages_as_json
from admin.commands.use_cases.values import KeyValue, put, read_mapping
from admin.models.errors import InvalidInput, Problem
from admin.models.operation import Operation, Page
from admin.models.validation import check_storable, problems_of
from admin.operations import OPERATIONS
from admin.options import InputError, common, load_settings

TOKEN: Final = "GHOSTFLEET_TOKEN"
_BY_NAME: Final = {operation.name: operation for operation in OPERATIONS}
_EXIT_CODES: Final = """

\b
Exit codes:
  0  done
  1  refused: there is no such thing, or its state does not allow this
  2  the input or the database can't be used"""


class UseCaseCommand(click.Command):
    """The command has the options and the exit codes that all commands of use cases have."""


def make_command(name: str, verb: str) -> click.Command:
    """Return the command of an operation; `verb` is its last word."""
    operation = _BY_NAME[name]
    inputs = inputs_of(operation)
    options = list(_further_options(operation, inputs))

    def run(**given: Any) -> None:
        _run(operation, inputs, given)

    command = UseCaseCommand(
        verb,
        params=[*(each.parameter for each in inputs), *options],
        callback=run,
        help=operation.summary + _EXIT_CODES,
        short_help=operation.summary,
    )
    return with_doors(command)


def with_doors(command: click.Command) -> click.Command:
    """Add `--json`, `--server`, `--home` and `--settings` to a command."""
    command.params.append(click.Option(["--json", "as_json"], is_flag=True, help="Print one JSON document."))
    command.params.append(
        click.Option(
            ["--server"],
            metavar="URL",
            help=f"Use the REST API of this admin site with the API token in {TOKEN}, not the database of the home.",
        )
    )
    command.params.append(click.Option(["--token"], envvar=TOKEN, default="", hidden=True))
    marked = common(_nothing)
    command.params += reversed(getattr(marked, "__click_params__", []))
    del marked.__click_params__  # type: ignore[attr-defined]
    return command


def open_caller(given: Mapping[str, Any]) -> Caller:
    """Return the caller that the options `--server`, `--home`, `--settings` and `--as` name. Raises InputError."""
    if given.get("server"):
        if given.get("as_user"):
            raise InputError("--as is for the database of the home; with --server the token's user acts")
        return RemoteCaller(given["server"], given["token"])
    return LocalCaller(load_settings(given.get("home"), given.get("settings_file")), given.get("as_user") or "")


def operation_of(name: str) -> Operation:
    """Return the operation of this name."""
    return _BY_NAME[name]


def checked(model: type[BaseModel], values: Mapping[str, Any], inputs: Sequence[Input] = ()) -> BaseModel:
    """Return an input model with these values. Raises InputError that names the options."""
    try:
        try:
            found = model.model_validate(values)
        except ValidationError as error:
            raise problems_of(error) from error
        check_storable(found)
    except InvalidInput as error:
        names = {each.field: each.shown for each in inputs if each.in_body}
        raise InputError("; ".join(_named(each, names) for each in error.problems)) from error
    return found


def confirmed(what: str, *, yes: bool) -> None:
    """Ask the user before something that can't be undone. Raises InputError without a yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise InputError(f"{what} can't be undone; give --yes to do it")
    if not click.confirm(f"{what}?"):
        raise InputError(f"{what}: not done, the answer was no")


def _further_options(operation: Operation, inputs: Sequence[Input]) -> Iterator[click.Option]:
    fields = {each.field for each in inputs if each.in_body}
    if operation.input is not None:
        yield click.Option(
            ["--from", "from_file"], type=FILE, metavar="FILE",
            help="Take the fields from this file in JSON or YAML, or from - for standard input; options win over it.",
        )  # fmt: skip
        if "set" not in fields:
            yield click.Option(
                ["--set", "set_values"], type=KeyValue(reads_json=True), multiple=True, metavar="FIELD=VALUE",
                help="Set a field by its name in the API, dotted for inner ones; the value is JSON or a text."
                " Repeatable.",
            )  # fmt: skip
    if operation.is_list and any(each.field == "after" for each in inputs):
        yield click.Option(["--all", "all_pages"], is_flag=True, help="Print all pages.")
    if operation.method == "DELETE":
        yield click.Option(["--yes"], is_flag=True, help="Do not ask for confirmation.")
    if needs_user(operation):
        yield click.Option(["--as", "as_user"], metavar="USER", help="Name of the user whose things these are.")


def _run(operation: Operation, inputs: Sequence[Input], given: Mapping[str, Any]) -> None:
    values = {each: given[each.parameter.name or ""] for each in inputs}
    parameters = {each.field: each.read(value) for each, value in values.items() if not each.in_body and _is(value)}
    with closing(_caller(operation, given)) as caller:
        body = None
        if operation.input is not None:
            body = checked(operation.input, _fields(operation, caller, parameters, values, given), inputs)
        if operation.method == "DELETE":
            about = ", ".join(str(value) for value in parameters.values())
            confirmed(f"{operation.name} {about}", yes=given["yes"])
        _answer(operation, caller, parameters, body, given)


def _caller(operation: Operation, given: Mapping[str, Any]) -> Any:
    if needs_user(operation) and operation.name != "message.list" and not (given["as_user"] or given["server"]):
        raise InputError("--as is missing; name the user whose things these are, as `ghostfleet user list` shows them")
    return open_caller(given)


def _fields(
    operation: Operation,
    caller: Caller,
    parameters: Mapping[str, Any],
    values: Mapping[Input, Any],
    given: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the fields of the body: present ones for a PUT, those of a file, those of options, those of `--set`."""
    assert operation.input is not None
    fields: dict[str, Any] = {}
    if operation.method == "PUT" and (shows := _shown_by(operation.path)) is not None:
        present = caller(shows, parameters, None).model_dump(mode="json")
        fields = {name: present[name] for name in operation.input.model_fields if name in present}
    if given["from_file"]:
        fields |= read_mapping(given["from_file"])
    fields |= {each.field: each.read(value) for each, value in values.items() if each.in_body and _is(value)}
    for name, value in given.get("set_values", ()):
        put(fields, name, value)
    return fields


@cache
def _shown_by(path: str) -> Operation | None:
    """Return the operation that shows what a PUT replaces."""
    return next((each for each in OPERATIONS if each.method == "GET" and each.path == path), None)


def _answer(
    operation: Operation, caller: Caller, parameters: dict[str, Any], body: BaseModel | None, given: Mapping[str, Any]
) -> None:
    if given.get("all_pages"):
        pages = _pages(lambda after: caller(operation, parameters | ({"after": after} if after else {}), body))
        if given["as_json"]:
            show_pages_as_json(pages)
        else:
            show_pages(operation, pages)
        return
    result = caller(operation, parameters, body)
    if isinstance(result, bytes):
        show_bytes(result)
    elif given["as_json"]:
        show_json(result)
    else:
        show(operation, result, caller.where)


def _pages(page_after: Callable[[str | None], Page[Any]]) -> Iterator[Page[Any]]:
    page = page_after(None)
    yield page
    while page.next is not None:
        page = page_after(page.next)
        yield page


def _is(value: Any) -> bool:
    """Return whether the user gave a value."""
    return value is not None and value != ()


def _named(problem: Problem, names: Mapping[str, str]) -> str:
    first, _, rest = problem.field.partition(".")
    shown = names.get(first, first) + (f".{rest}" if rest else "")
    return f"{shown or 'input'}: {problem.message}"


def _nothing(home: Path | None, settings_file: Path | None) -> None:
    """Carry the options that all commands have."""
