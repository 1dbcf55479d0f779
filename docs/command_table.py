"""This script writes docs/reference/commands.md from the commands: `.venv/bin/python docs/command_table.py`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from admin.cli import COMMANDS, ghostfleet

TARGET: Final = Path(__file__).resolve().parent / "reference" / "commands.md"
HEAD: Final = """\
# Commands

`./run COMMAND` in a checkout and `ghostfleet COMMAND` after an installation are the same. `--help` of each command
prints what stands here. A script makes this page from the commands: `.venv/bin/python docs/command_table.py`.

| command | effect |
|---|---|
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
    return "".join(parts)


def _described(command: click.Command, name: str, level: int) -> Iterator[str]:
    """Yield the sections of one command and of its sub-commands."""
    yield f"\n{'#' * level} {name}\n\n{_prose(command.help or '')}\n"
    context = click.Context(command, info_name=name)
    rows = [record for each in command.get_params(context) if (record := each.get_help_record(context))]
    rows = [(shown, text) for shown, text in rows if text and "--help" not in shown]
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
