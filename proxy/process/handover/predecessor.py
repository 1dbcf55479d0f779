"""The process whose place this one took, while it still finishes what it had: asked about sessions that both serve."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final

from proxy.handover import LINE_LIMIT, line

log = logging.getLogger(__name__)

_ANSWER_SECONDS: Final = 10.0


class Predecessor:
    """Knows what the old process counted of each session, and tells it what becomes of them."""

    def __init__(self, stream: socket.socket) -> None:
        self.is_there = True
        """Whether it still has anything under way."""
        self.last_words: Mapping[str, dict[str, Any]] = {}
        """By session, what it had counted when it ended."""
        self._stream = stream
        self._writer: asyncio.StreamWriter | None = None
        self._answers: dict[int, asyncio.Future[dict[str, Any] | None]] = {}
        self._numbers = itertools.count()
        self._listening: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen to it from now on."""
        reader, self._writer = await asyncio.open_unix_connection(sock=self._stream, limit=LINE_LIMIT)
        self._listening = asyncio.get_running_loop().create_task(self._listen(reader))

    async def ask(self, verb: str, session: str, *, seconds: float = _ANSWER_SECONDS, **facts: Any) -> dict[str, Any]:
        """What it says of a session after doing as told: `report`, `finish`, `open`, `change`.

        Empty when it has ended without a word, does not answer, or never knew the session.
        """
        if not self.is_there or self._writer is None:
            return self.last_words.get(session, {})
        number = next(self._numbers)
        answer = self._answers[number] = asyncio.get_running_loop().create_future()
        self._writer.write(line({"n": number, "do": verb, "session": session, **facts}))
        try:
            return await asyncio.wait_for(answer, seconds) or self.last_words.get(session, {})
        except TimeoutError:
            log.warning("the predecessor did not answer for session %s in %.0f s", session, seconds)
            return {}
        finally:
            self._answers.pop(number, None)

    def close(self) -> None:
        """Ask it no more."""
        if self._listening is not None:
            self._listening.cancel()
        if self._writer is not None:
            self._writer.close()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        with suppress(OSError, ValueError):
            while text := await reader.readline():
                said = json.loads(text)
                if "last_words" in said:
                    self.last_words = said["last_words"]
                elif (answer := self._answers.get(said["n"])) is not None and not answer.done():
                    answer.set_result(said["report"])
        self.is_there = False
        for answer in self._answers.values():
            if not answer.done():
                answer.set_result(None)
