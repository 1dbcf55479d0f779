"""An outage of Redis begins at a chosen command of a client, before the server has it or behind its answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import redis
from redis.connection import AbstractConnection


class Outage:
    """The outage may begin or not. Pipelines count as one command."""

    def __init__(self, place: int, *, is_answer_lost: bool) -> None:
        self._place, self._is_answer_lost, self._sent = place, is_answer_lost, 0
        self._thread = threading.get_ident()
        self.has_begun = False

    def send(self, original: Any, connection: Any, command: Any, **options: Any) -> None:
        """Send a command of this thread, or fail like a lost connection."""
        if threading.get_ident() != self._thread:
            return original(connection, command, **options)
        if self.has_begun:
            raise redis.ConnectionError("the server is gone")
        self._sent += 1
        if self._sent < self._place:
            return original(connection, command, **options)
        self.has_begun = True
        if self._is_answer_lost:
            original(connection, command, **options)
            connection.read_response()
            connection.disconnect()
        raise redis.ConnectionError("the server is gone")


@contextmanager
def outage(monkeypatch: pytest.MonkeyPatch, place: int, *, is_answer_lost: bool) -> Iterator[Outage]:
    """Let no command of this thread reach Redis from number `place` on; with `is_answer_lost` that one still does.

    The client tries again without pauses.
    """
    made = Outage(place, is_answer_lost=is_answer_lost)
    original = AbstractConnection.send_packed_command
    with monkeypatch.context() as patched:
        patched.setattr(
            AbstractConnection,
            "send_packed_command",
            lambda connection, command, **options: made.send(original, connection, command, **options),
        )
        patched.setattr("redis.retry.sleep", lambda _seconds: None)
        yield made
