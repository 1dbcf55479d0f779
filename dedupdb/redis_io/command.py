"""This module has commands to Redis, and the Lua scripts that they may run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

type CommandArgument = bytes | str | int


class Command(NamedTuple):
    """A command has its name and arguments, and the script if it runs one."""

    name: str
    arguments: tuple[CommandArgument, ...]
    script: RedisScript | None = None
    beside: CommandArgument = ""
    """For a command without a key: a key whose server gets the command."""

    @property
    def key(self) -> CommandArgument:
        """Return the first key, which decides the server of a cluster."""
        if self.beside:
            return self.beside
        if self.script is not None:
            return self.arguments[2]
        if self.name == "XREAD":
            return self.arguments[self.arguments.index("STREAMS") + 1]
        return self.arguments[0]


@dataclass(frozen=True, slots=True)
class RedisScript:
    """A Lua script is known to Redis by the SHA-1 of its text."""

    text: str
    sha1: str

    @classmethod
    def load(cls, name: str) -> RedisScript:
        """Return the script in a file of the folder `lua`."""
        text = files("dedupdb").joinpath("lua", name).read_text("utf-8")
        return cls(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())

    def command(self, keys: Sequence[CommandArgument], arguments: Sequence[CommandArgument]) -> Command:
        """Return the command that runs the script."""
        return Command("EVALSHA", (self.sha1, len(keys), *keys, *arguments), self)
