"""Messages between the process with the browsers and the site: a length, a kind, and the content. No I/O of its own."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

MOST_BYTES: Final = 96_000_000
"""Largest message: files that a person uploads, in base64, or one that a page gives to the person."""
_HEAD: Final = struct.Struct(">IB")


class MessageKind(StrEnum):
    """A message has content of one of these kinds."""

    JSON = "j"
    PICTURE = "p"
    """The facts of a picture as JSON, behind their length in two bytes, then the picture itself."""
    DOWNLOAD = "d"
    """The name of a file as JSON, behind its length in two bytes, then the file itself."""


@dataclass(frozen=True, slots=True)
class ScreenMessage:
    """A message has a kind and its bytes."""

    kind: MessageKind
    data: bytes

    @classmethod
    def of_json(cls, value: Mapping[str, Any]) -> ScreenMessage:
        """Return the message with this value."""
        return cls(MessageKind.JSON, json.dumps(value, separators=(",", ":")).encode("utf-8", "replace"))

    @classmethod
    def of_content(cls, kind: MessageKind, facts: Mapping[str, Any], content: bytes) -> ScreenMessage:
        """Return the message with a picture or a file, and facts about it."""
        head = json.dumps(facts, separators=(",", ":")).encode("utf-8", "replace")[:65_535]
        return cls(kind, struct.pack(">H", len(head)) + head + content)

    @property
    def json(self) -> dict[str, Any]:
        """Return the value. Raises ValueError for what is no JSON object."""
        found = json.loads(self.data)
        if not isinstance(found, dict):
            raise ValueError("the message is not an object")
        return found


def packed(message: ScreenMessage) -> bytes:
    """Return the message as it goes over the socket."""
    return _HEAD.pack(len(message.data), ord(message.kind)) + message.data


async def read_message(reader: asyncio.StreamReader) -> ScreenMessage | None:
    """Return the next message; None at the end, and for what is too long or of no known kind."""
    try:
        length, kind = _HEAD.unpack(await reader.readexactly(_HEAD.size))
        if length > MOST_BYTES:
            return None
        return ScreenMessage(MessageKind(chr(kind)), await reader.readexactly(length))
    except (asyncio.IncompleteReadError, ConnectionError, ValueError):
        return None
