"""A conversation held at one of its ends."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator

from admin.bench.faults.conversation import Conversation, Side
from admin.bench.faults.frames import Garbled, read, written
from admin.bench.faults.reader import Reader


def talk(stream: socket.socket, reader: Reader, target: str, side: Side) -> Iterator[int]:
    """Says one side's words and listens to the other's; gives the number of turns that are over, from 0 on.

    Raises Garbled when anything else is heard than was to be, and Broken and OSError when the connection ends.
    """
    other: Side = "origin" if side == "client" else "client"
    masks = random.Random(f"masks {target}") if side == "client" else None
    turns = Conversation.at(target).turns
    for over, turn in enumerate(turns):
        yield over
        stream.sendall(b"".join(written(word, masks) for word in turn.of(side)))
        for number, expected in enumerate(turn.of(other)):
            heard = read(reader, masked=other == "client")
            if heard != expected:
                raise Garbled(f"word {number} of turn {over}: opcode {heard.opcode}, {len(heard.payload)} bytes")
    yield len(turns)
