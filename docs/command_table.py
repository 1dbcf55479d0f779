"""This script writes docs/reference/commands.md from the commands: `.venv/bin/python docs/command_table.py`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from admin.cli import COMMANDS, ghostfleet
from admin.commands.use_cases.making import UseCaseCommand

TARGET: Final = Path(__file__).resolve().parent / "reference" / "commands.md"
HEAD: Final = """\
# Commands

`./run COMMAND` in a checkout and `ghostfleet COMMAND` after an installation are the same. `--help` of each command
prints what stands here. A script makes this page from the commands: `.venv/bin/python docs/command_table.py`.

| command | effect |
|---|---|
"""


SHARED: Final = ("--json", "--server", "--from", "--set", "--all", "--yes", "--home", "--settings")
SHARED_TEXT: Final = """
## Options of commands of use cases

The commands `domain`, `template`, `schedule`, `harvest`, `channel`, `trap`, `extended-field`, `user`, `notification`
and `audit` share these options; their tables have only the other ones. Exit codes: 0 done; 1 refused, since there is no
such thing or its state does not allow the change; 2 the input or the database can't be used.

| option | meaning |
|---|---|
| `--json` | Print one JSON document. |
| `--all` | Print all pages of a list. |
| `--from FILE` | Take the fields from a file in JSON or YAML, or from - for standard input; options win over it. |
| `--set FIELD=VALUE` | Set a field by its name in the API; the value is JSON or a text. Repeatable. |
| `--yes` | Do not ask for confirmation of a deletion. |
| `--server URL` | Use the REST API of this admin site with the API token in GHOSTFLEET_TOKEN. |
| `--home PATH` | Folder that holds all data. |
| `--settings PATH` | Further settings file (TOML). |
"""


def document() -> str:
    """Return the whole page as Markdown."""
    rows = "".join(f"| [`{name}`](#ghostfleet-{name}) | {_cell(entry.help)} |\n" for name, entry in COMMANDS.items())
    context = click.Context(ghostfleet, info_name="ghostfleet")
    parts = [HEAD, rows]
    for name in COMMANDS:
        command = ghostfleet.get_command(context, name)
        assert command is not None
        parts += _described(command, f"ghostfleet {name}", 2)
    parts.append(SHARED_TEXT)
    return "".join(parts)


def _described(command: click.Command, name: str, level: int) -> Iterator[str]:
    """Yield the sections of one command and of its sub-commands."""
    is_use_case = isinstance(command, UseCaseCommand)
    text = (command.help or "").partition("\n\n\b")[0] if is_use_case else command.help or ""
    yield f"\n{'#' * level} {name}\n\n{_prose(text)}\n"
    context = click.Context(command, info_name=name)
    rows = [record for each in command.get_params(context) if (record := each.get_help_record(context))]
    rows = [(shown, text) for shown, text in rows if text and "--help" not in shown]
    if is_use_case:
        rows = [(shown, text) for shown, text in rows if shown.split()[0] not in SHARED]
    usage = " ".join(command.collect_usage_pieces(context)) if not isinstance(command, click.Group) else "COMMAND …"
    yield f"\n```console\n$ {name} {usage}\n```\n"
    if rows:
        yield "\n| option | meaning |\n|---|---|\n"
        yield from (f"| `{_cell(shown)}` | {_cell(text)} |\n" for shown, text in rows)
    if isinstance(command, click.Group):
        for each in command.list_commands(context):
            inner = command.get_command(context, each)
            if inner is not None and not inner.hidden:
                yield from _described(inner, f"{name} {each}", level + 1)


def _prose(text: str) -> str:
    """Return click's help text as Markdown: paragraphs after a backspace mark keep their lines."""
    parts = []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.lstrip().startswith("\b"):
            body = "\n".join(line for line in paragraph.splitlines() if line.strip() != "\b")
            parts.append(f"```text\n{body}\n```")
        else:
            parts.append(" ".join(paragraph.split()).replace("<", "\\<"))
    return "\n\n".join(parts)


def _cell(text: str) -> str:
    """Return the text for a cell of a table."""
    return re.sub(r"(?<!\\)\|", r"\\|", " ".join(text.split())).replace("*", "\\*")


if __name__ == "__main__":
    TARGET.write_text(document(), "utf-8")
