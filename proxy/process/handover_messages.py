"""A recording process hands its sessions, with their listening sockets, to the process that replaces it.

The parent gives both processes one end of a unix socket pair. Each message is one line of JSON. The new process sends
`{"do": "take"}` when it has everything but listeners. The old one answers with one line for each `HandedOver`, and
`{"end": true}` as the last line. A line with `"listens"` carries a listening socket (SCM_RIGHTS), so no connection in
the socket's queue is lost. Later the new process sends a `SessionCommand` for each session that still has exchanges in
progress in the old process, and the old process answers with a report.

`proxy.process.handover.predecessor` and `proxy.process.handover.successor` use these messages. A new release may
replace a process of an older one, so the JSON keys stay as they are.
"""

from __future__ import annotations

import json
import os
import select
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, Self

from proxy.sessions.session import SessionReport

LINE_LIMIT: Final = 1 << 26
"""Longest line of JSON in bytes: a session may have thousands of rules."""
_TAKE: Final = "take"
_END: Final = {"end": True}
_PIECE: Final = 1 << 16
_FDS: Final = 250
"""Linux passes 253 descriptors at once."""
_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class SessionState:
    """The new process makes the same session again from this state."""

    id: str
    token: str
    request_json: dict[str, Any]
    """The JSON object of the control request that made the session, with all changes since."""
    report: SessionReport

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the state in a line of the old process."""
        return cls(value["id"], value["token"], value["given"], SessionReport.from_json(value["report"]))

    def to_json(self) -> dict[str, Any]:
        """Return the object that stands in the line."""
        report = self.report.handover_json()
        return {"id": self.id, "token": self.token, "given": self.request_json, "report": report}


@dataclass(frozen=True, slots=True)
class HandedOver:
    """A session and the socket of its own port are handed over together."""

    session: SessionState | None
    """None for the port that serves all sessions without a port of their own."""
    listener: socket.socket | None = None


class SessionVerb(StrEnum):
    """The new process asks the old one for these actions on a session."""

    REPORT = "report"
    OPEN = "open"
    """Serve a new session on the connections that the old process still has."""
    CHANGE = "change"
    FINISH = "finish"


@dataclass(frozen=True, slots=True)
class SessionCommand:
    """The new process asks the old one to do something with a session, and to report its counts."""

    verb: SessionVerb
    session_id: str
    request_json: dict[str, Any] | None = None
    """The session's control request, for OPEN and CHANGE."""
    token: str | None = None
    """The session's token, for OPEN."""
    finish_files: bool | None = None
    """For FINISH: whether to close the WARC files that the session wrote to."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the command in a line of the new process."""
        verb, session_id = SessionVerb(value["do"]), value["session"]
        return cls(verb, session_id, value.get("given"), value.get("token"), value.get("files"))

    def to_json(self) -> dict[str, Any]:
        """Return the object that stands in the line."""
        optional = {"given": self.request_json, "token": self.token, "files": self.finish_files}
        given = {name: value for name, value in optional.items() if value is not None}
        return {"do": self.verb.value, "session": self.session_id, **given}


class NotHandedOver(OSError):
    """The old process did not hand its sessions over: it has ended, or does not answer."""


def send_state(stream: socket.socket, items: Iterable[HandedOver]) -> None:
    """Send everything; the listeners may be closed afterwards. Blocks. Raises OSError."""
    for item in items:
        value = item.session.to_json() if item.session is not None else {"direct": True}
        if item.listener is None:
            _send(stream, line(value))
        else:
            _send(stream, line({**value, "listens": True}), (item.listener.fileno(),))
    _send(stream, line(_END))


def receive_state(stream: socket.socket) -> list[HandedOver]:
    """Ask the old process for everything it has. Blocks. Raises NotHandedOver."""
    stream.settimeout(_SECONDS)
    data, fds = b"", list[int]()
    try:
        stream.sendall(line({"do": _TAKE}))
        while not data.endswith(line(_END)):
            piece, more, _, _ = socket.recv_fds(stream, _PIECE, _FDS)
            fds += more
            if not piece:
                raise NotHandedOver("the previous process has ended")
            data += piece
    except OSError as error:
        for fd in fds:
            os.close(fd)
        raise error if isinstance(error, NotHandedOver) else NotHandedOver(str(error)) from error
    left = iter(fds)
    found = [json.loads(text) for text in data.splitlines()]
    return [_handed_over(value, _listener(next(left)) if value.get("listens") else None) for value in found[:-1]]


def asks_for_state(value: Mapping[str, Any]) -> bool:
    """Return whether a line of the new process is the one that `receive_state` sends."""
    return bool(value["do"] == _TAKE)


def line(value: Mapping[str, Any]) -> bytes:
    """Return one message as a line of JSON."""
    return json.dumps(value).encode() + b"\n"


def _handed_over(value: Mapping[str, Any], listener: socket.socket | None) -> HandedOver:
    return HandedOver(SessionState.from_json(value) if "id" in value else None, listener)


def _listener(fd: int) -> socket.socket:
    os.set_inheritable(fd, False)
    return socket.socket(fileno=fd)


def _send(stream: socket.socket, data: bytes, fds: tuple[int, ...] = ()) -> None:
    """Send everything, on a stream that may be non-blocking."""
    while data:
        if not select.select([], [stream], [], _SECONDS)[1]:
            raise TimeoutError("the new process does not read the state that it asked for")
        try:
            sent = socket.send_fds(stream, [data], fds) if fds else stream.send(data)
        except BlockingIOError:
            continue
        data, fds = data[sent:], ()
