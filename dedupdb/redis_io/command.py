"""One command to Redis, and the scripts that some of them run."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import NamedTuple

type Argument = bytes | str | int


class Command(NamedTuple):
    """One Redis command: its name and arguments, and the script it runs if it runs one."""

    name: str
    arguments: tuple[Argument, ...]
    script: Script | None = None
    beside: Argument = ""
    """For a command without a key: the one whose server it is about."""

    @property
    def key(self) -> Argument:
        """The first of its keys, by which a cluster knows the server that it belongs to."""
        if self.beside:
            return self.beside
        if self.script is not None:
            return self.arguments[2]
        if self.name == "XREAD":
            return self.arguments[self.arguments.index("STREAMS") + 1]
        return self.arguments[0]


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua script, known to Redis by the SHA-1 of its text."""

    text: str
    sha1: str

    @classmethod
    def load(cls, name: str) -> Script:
        """The script in a file of this folder."""
        text = files("dedupdb").joinpath(name).read_text("utf-8")
        return cls(text, hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest())

    def command(self, keys: Sequence[Argument], arguments: Sequence[Argument]) -> Command:
        """A run of the script."""
        return Command("EVALSHA", (self.sha1, len(keys), *keys, *arguments), self)
