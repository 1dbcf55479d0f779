"""What a recording process hands to the one that takes its place: its sessions, with their listening sockets.

Both ends of a unix socket pair come from the parent. The successor asks `{"do": "take"}` when it has everything but
listeners. The answer is one JSON line for each heirloom, the last says `{"end": true}`; a line that says `"listens"`
carries a listening socket (SCM_RIGHTS), so that no connection in its queue is lost. Later both talk about sessions
that have exchanges under way in the old process (`proxy.predecessor`, `proxy.successor`).
"""

from __future__ import annotations

import json
import os
import select
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

LINE_LIMIT: Final = 1 << 26
"""Longest line between the two: a session may have thousands of rules."""
_END: Final = {"end": True}
_PIECE: Final = 1 << 16
_FDS: Final = 250
"""Linux passes 253 descriptors at once."""
_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Heirloom:
    """One thing that is handed over: what it is, and the socket that listens for it, if there is one."""

    facts: dict[str, Any]
    listener: socket.socket | None = None


class NotHandedOver(OSError):
    """The predecessor did not hand over: it is gone, or does not answer."""


def give(stream: socket.socket, heirlooms: Iterable[Heirloom]) -> None:
    """Send everything; the listeners may be closed afterwards. Blocks. Raises OSError."""
    for heirloom in heirlooms:
        if heirloom.listener is None:
            _send(stream, line(heirloom.facts))
        else:
            _send(stream, line({**heirloom.facts, "listens": True}), (heirloom.listener.fileno(),))
    _send(stream, line(_END))


def take(stream: socket.socket) -> list[Heirloom]:
    """Ask the predecessor for everything it has. Blocks. Raises NotHandedOver."""
    stream.settimeout(_SECONDS)
    data, fds = b"", list[int]()
    try:
        stream.sendall(line({"do": "take"}))
        while not data.endswith(line(_END)):
            piece, more, _, _ = socket.recv_fds(stream, _PIECE, _FDS)
            fds += more
            if not piece:
                raise NotHandedOver("the predecessor has ended")
            data += piece
    except OSError as error:
        for fd in fds:
            os.close(fd)
        raise error if isinstance(error, NotHandedOver) else NotHandedOver(str(error)) from error
    left = iter(fds)
    found = [json.loads(text) for text in data.splitlines()]
    return [Heirloom(facts, _listener(next(left)) if facts.get("listens") else None) for facts in found[:-1]]


def line(facts: dict[str, Any]) -> bytes:
    """One message between the two."""
    return json.dumps(facts).encode() + b"\n"


def _listener(fd: int) -> socket.socket:
    os.set_inheritable(fd, False)
    return socket.socket(fileno=fd)


def _send(stream: socket.socket, data: bytes, fds: tuple[int, ...] = ()) -> None:
    """Everything, on a stream that may be non-blocking."""
    while data:
        if not select.select([], [stream], [], _SECONDS)[1]:
            raise TimeoutError("the successor does not take what it asked for")
        try:
            sent = socket.send_fds(stream, [data], fds) if fds else stream.send(data)
        except BlockingIOError:
            continue
        data, fds = data[sent:], ()
