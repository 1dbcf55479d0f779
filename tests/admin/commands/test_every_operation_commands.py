"""admin/commands/use_cases: each operation has a command, or a reason for having none."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

import click

from admin.cli import COMMANDS, ghostfleet
from admin.commands.use_cases.groups import SPECIAL
from admin.commands.use_cases.places import GROUPS, LEFT_OUT, place_of
from admin.models.operation import Operation
from admin.operations import OPERATIONS

TO_DO = "add its noun to NOUNS and GROUPS of admin/commands/use_cases/places.py, or the operation to LEFT_OUT"


def command_of(words: tuple[str, ...]) -> tuple[click.Command, click.Context]:
    command: click.Command = ghostfleet
    context = click.Context(command, info_name="ghostfleet")
    for word in words:
        assert isinstance(command, click.Group)
        found = command.get_command(context, word)
        assert found is not None, f"there is no command {' '.join(words)}"
        command, context = found, click.Context(found, parent=context, info_name=word)
    return command, context


def test_each_operation_has_a_command_with_help() -> None:
    for operation in OPERATIONS:
        look_at_command(operation)


def look_at_command(operation: Operation) -> None:
    place = place_of(operation.name)
    if place is None:
        assert operation.name in LEFT_OUT, f"{operation.name} has no command: {TO_DO}"
        return
    assert place[0] in COMMANDS, f"{operation.name}: {place[0]} is not in the table of admin/cli.py"
    assert place[:-1] in GROUPS, f"{operation.name} has no command: {TO_DO}"
    command, context = command_of(place)
    names = [name for each in command.params for name in (*each.opts, *each.secondary_opts)]
    assert len(names) == len(set(names))
    assert command.get_help(context)
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    assert [each.name for each in options if not each.help] == []
    assert {"as_json", "home", "settings_file", "server"} <= {each.name for each in options}


def test_each_place_is_taken_once_and_each_reason_names_a_command() -> None:
    places = [place for operation in OPERATIONS if (place := place_of(operation.name)) is not None]
    assert len(places) == len(set(places))
    assert set(LEFT_OUT) <= {operation.name for operation in OPERATIONS}
    for instead in LEFT_OUT.values():
        command_of(tuple(instead.split()))


def test_each_group_lists_exactly_what_it_has() -> None:
    def inside(words: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        command, context = command_of(words)
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                yield from inside((*words, name))
        else:
            yield words

    listed = {words for group in {words[:1] for words in GROUPS} for words in inside(group)}
    assert listed == {place_of(operation.name) for operation in OPERATIONS} - {None} | set(SPECIAL)


def test_help_of_the_program_imports_no_use_case() -> None:
    script = (
        "import sys; from click.testing import CliRunner; from admin.cli import ghostfleet;"
        "assert CliRunner().invoke(ghostfleet, ['--help']).exit_code == 0;"
        "print([name for name in ('sqlalchemy', 'flask', 'pydantic') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
