"""These groups have a command for each operation. A group imports the operations when one of its commands is asked for.

`ghostfleet --help` imports nothing of this: its lines stand in the table of `admin.cli`.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from typing import Final

import click

from admin.commands.use_cases.places import GROUPS, place_of

SPECIAL: Final[Mapping[tuple[str, ...], str]] = {
    ("domain", "upload"): "admin.commands.use_cases.uploads:upload_domains",
    ("domain", "upload-seeds"): "admin.commands.use_cases.uploads:upload_seeds",
    ("template", "upload"): "admin.commands.use_cases.template_files:upload",
    ("template", "download"): "admin.commands.use_cases.template_files:download",
    ("qa", "run"): "admin.commands.qa:run",
    ("qa", "work"): "admin.commands.qa:work",
    ("session", "work"): "admin.commands.sessions:work",
}
"""Commands that do more than one operation, or stream a file: each is a function, as `module:name`."""


class UseCaseGroup(click.Group):
    """The group has the commands of the operations that have their place in it."""

    def __init__(self, words: tuple[str, ...]) -> None:
        super().__init__(words[-1], help=GROUPS[words], no_args_is_help=True)
        self._words = words

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of groups and commands."""
        return sorted({place[len(self._words)] for place in self._inside()})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command or the group of this name; None for an unknown name."""
        from admin.commands.use_cases.making import make_command

        words = (*self._words, cmd_name)
        if words in GROUPS:
            return UseCaseGroup(words)
        if words in SPECIAL:
            module, _, name = SPECIAL[words].partition(":")
            command = getattr(importlib.import_module(module), name)
            assert isinstance(command, click.Command)
            return command
        operation = _operations().get(words)
        return make_command(operation, cmd_name) if operation is not None else None

    def _inside(self) -> list[tuple[str, ...]]:
        """Return the places of all commands in this group and in the groups in it."""
        depth = len(self._words)
        return [place for place in (*_operations(), *SPECIAL) if place[:depth] == self._words and len(place) > depth]


@cache
def _operations() -> Mapping[tuple[str, ...], str]:
    """Return the names of operations by their places."""
    from admin.operations import OPERATIONS

    places = ((place_of(operation.name), operation.name) for operation in OPERATIONS)
    return {place: name for place, name in places if place is not None}


domain: Final = UseCaseGroup(("domain",))
extended_field: Final = UseCaseGroup(("extended-field",))
trap: Final = UseCaseGroup(("trap",))
template: Final = UseCaseGroup(("template",))
schedule: Final = UseCaseGroup(("schedule",))
harvest: Final = UseCaseGroup(("harvest",))
channel: Final = UseCaseGroup(("channel",))
user: Final = UseCaseGroup(("user",))
capture: Final = UseCaseGroup(("capture",))
qa: Final = UseCaseGroup(("qa",))
session: Final = UseCaseGroup(("session",))
curate: Final = UseCaseGroup(("curate",))
audit: Final = UseCaseGroup(("audit",))
notification: Final = UseCaseGroup(("notification",))
