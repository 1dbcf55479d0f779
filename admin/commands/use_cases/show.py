"""The output of an operation is shown as a table or a record for people, or as one JSON document for programs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final

import click
from pydantic import BaseModel

from admin.commands.use_cases.parameters import bare
from admin.models.operation import Operation, Page
from archive.dates import Micros, iso_second
from archive.names.characters import printable

_WIDEST: Final = 60
"""Characters of a cell; `--json` has all of them."""


def show_json(result: Any) -> None:
    """Print a result as one JSON document."""
    if isinstance(result, BaseModel):
        click.echo(result.model_dump_json())
    else:
        click.echo(json.dumps(result, ensure_ascii=False, default=_plain))


def show_pages_as_json(pages: Iterable[Page[Any]]) -> None:
    """Print the items of all pages as one JSON document, page by page."""
    total, comma = None, ""
    click.echo('{"items":[', nl=False)
    for page in pages:
        total = page.total if page.total is not None else total
        for item in page.items:
            click.echo(comma + item.model_dump_json(), nl=False)
            comma = ","
    click.echo(f'],"next":null,"total":{json.dumps(total)}}}')


def show_bytes(content: bytes) -> None:
    """Write a download to standard output as it is."""
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def show(operation: Operation, result: Any, where: str) -> None:
    """Print a result for people; `where` is the address of the site."""
    if result is None:
        click.echo("Done.")
    elif isinstance(result, Page):
        show_pages(operation, [result])
        if result.next is not None:
            click.echo(f"There are more; give --all, or --after {printable(result.next)}.", err=True)
    elif isinstance(result, list):
        _show_items(result, f"There is nothing to show for `{operation.name}`.")
    else:
        for line in _record(result, where):
            click.echo(line)


def show_pages(operation: Operation, pages: Iterable[Page[Any]]) -> None:
    """Print each page as a table."""
    some = False
    for page in pages:
        if page.items:
            _show_items(page.items, "")
            some = True
    if not some:
        click.echo("The list is empty.", err=True)


def _show_items(items: Sequence[Any], nothing: str) -> None:
    if not items:
        click.echo(nothing or "The list is empty.", err=True)
        return
    for line in _table(items):
        click.echo(line)


def _table(items: Sequence[Any]) -> Iterator[str]:
    kind = type(items[0])
    names = list(kind.model_fields)
    rows = [[name.upper() for name in names]]
    rows += [[_short(_text(kind, name, getattr(item, name))) for name in names] for item in items]
    used = [at for at in range(len(names)) if any(row[at] != "-" for row in rows[1:])]
    widths = {at: max(len(row[at]) for row in rows) for at in used}
    for row in rows:
        yield "  ".join(f"{row[at]:{widths[at]}}" for at in used).rstrip()


def _record(result: BaseModel, where: str) -> Iterator[str]:
    from admin.people.invitations import OneTimeLink

    if isinstance(result, OneTimeLink):
        yield f"{where}/welcome/{result.token}"
        yield f"The link works once, until {iso_second(result.expires)}."
        return
    kind = type(result)
    width = max(map(len, kind.model_fields), default=0)
    for name in kind.model_fields:
        value = getattr(result, name)
        if isinstance(value, BaseModel):
            yield f"{name}:"
            yield from (f"  {line}" for line in _record(value, where))
        elif isinstance(value, list | tuple) and value and all(isinstance(each, BaseModel) for each in value):
            yield f"{name}:"
            yield from (f"  {line}" for line in _table(value))
        elif isinstance(value, str) and "\n" in value.strip():
            yield f"{name}:"
            yield from (f"  {printable(line)}" for line in value.splitlines())
        else:
            yield f"{name:{width}}  {_text(kind, name, value)}"


def _text(kind: type[BaseModel], name: str, value: Any) -> str:
    """Return one value in words; - for none."""
    if value is None or value == "" or (isinstance(value, list | tuple | Mapping) and not value):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    annotation = bare(kind.model_fields[name].annotation)
    if annotation is Micros and isinstance(value, int):
        return iso_second(value)
    if isinstance(value, list | tuple):
        moments = getattr(annotation, "__args__", (None,))[0] is Micros
        return ", ".join(iso_second(each) if moments else printable(_plain_text(each)) for each in value)
    if isinstance(value, Mapping):
        return ", ".join(printable(f"{key}={_plain_text(each)}") for key, each in value.items())
    return printable(_plain_text(value))


def _plain_text(value: Any) -> str:
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=_plain)


def _short(text: str) -> str:
    return text if len(text) <= _WIDEST else text[: _WIDEST - 1] + "…"


def _plain(value: object) -> object:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)
