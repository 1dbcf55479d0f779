"""A WebSocket leads from a person's page to the browser of a capture session, which the capture process runs.

The person must have a session of the site, and must have made the capture session, or be an administrator. Pictures of
pages are sent as pictures: nothing of an archived page runs in the site's origin.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from admin.capture_sessions import sessions
from admin.capture_sessions.screens import socket_path
from admin.models.capture_tables import CaptureDoor, CaptureState
from admin.models.database import Database
from admin.models.errors import DatabaseRefused, UseCaseError
from admin.models.transaction import Actor, Right, check_right
from admin.site.live import FindActor, Receive, Scope, Send
from archive.listener_access import HostNames
from browsers.remote.framing import MOST_BYTES, MessageKind, ScreenMessage, packed, read_message

PATH: Final = re.compile(r"/capture/(\d{1,18})/screen/live")
_MOST_OPEN: Final = 100
_MOST_JSON: Final = MOST_BYTES
_LIFE_SECONDS: Final = 900.0
"""After this time the person is looked up again, since a login ends and a right may be taken away."""
_CONNECT_SECONDS: Final = 90.0
"""Longest wait for the capture process. With its first session, that starts a proxy, and a busy machine takes long."""


class ScreenSockets:
    """Answers WebSockets to the screens of capture sessions."""

    def __init__(self, database: Database, home: Path, names: HostNames, find_actor: FindActor) -> None:
        self._database, self._home, self._names, self._find_actor = database, home, names, find_actor
        self._open: set[asyncio.Task[Any]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one WebSocket until one side leaves."""
        await receive()
        match = PATH.fullmatch(scope["path"])
        number = int(match[1]) if match is not None else 0
        if not number or self._is_foreign(scope) or not await asyncio.to_thread(self._may, scope, number):
            await send({"type": "websocket.close", "code": 4403, "reason": "log in, and open a session of your own"})
            return
        if len(self._open) >= _MOST_OPEN:
            await send({"type": "websocket.close", "code": 4503, "reason": "too many screens are open"})
            return
        await send({"type": "websocket.accept"})
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._serve(number, lambda: self._may(scope, number), receive, send)
        except asyncio.CancelledError:
            pass  # the server stops
        finally:
            self._open.discard(task)
            with suppress(Exception):
                await send({"type": "websocket.close", "code": 1000})

    def stop(self) -> None:
        """End all screens, so that the server need not wait for them."""
        for task in list(self._open):
            task.cancel()

    async def _serve(self, number: int, may: Callable[[], bool], receive: Receive, send: Send) -> None:
        opened = await self._connect(send)
        if opened is None:
            why = "the capture process does not run; ghostfleet up runs it"
            await send({"type": "websocket.send", "text": json.dumps({"t": "over", "text": why})})
            return
        reader, writer = opened
        tasks = [
            asyncio.create_task(_to_person(reader, send)),
            asyncio.create_task(_from_person(number, receive, writer)),
            asyncio.create_task(self._watch(may)),
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            writer.close()

    async def _connect(self, send: Send) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        """Return the connection to the capture process, which may just start its proxy; None when it does not come."""
        loop = asyncio.get_running_loop()
        deadline, opened, told = loop.time() + _CONNECT_SECONDS, None, ""
        while opened is None and loop.time() < deadline:
            with suppress(OSError):
                opened = await asyncio.open_unix_connection(socket_path(self._home), limit=1_000_000)
            said = "" if opened is not None else "Waiting for the capture process, which ghostfleet up runs."
            if said != told:
                told = said
                await send({"type": "websocket.send", "text": json.dumps({"t": "say", "text": said})})
            if opened is None:
                await asyncio.sleep(0.3)
        return opened

    async def _watch(self, may: Callable[[], bool]) -> None:
        while await asyncio.to_thread(may):
            await asyncio.sleep(_LIFE_SECONDS)

    def _is_foreign(self, scope: Scope) -> bool:
        """Return whether another site's page opens the WebSocket, or names the site by a name that is not its own."""
        headers = [(name.lower(), value.decode("latin-1")) for name, value in scope["headers"]]
        hosts = [value for name, value in headers if name == b"host"]
        origins = [value for name, value in headers if name == b"origin"]
        if self._names.refusal(hosts) or len(hosts) != 1:
            return True
        return len(origins) != 1 or origins[0].partition("://")[2] != hosts[0]

    def _may(self, scope: Scope, number: int) -> bool:
        """Return whether the person may steer the session now."""
        cookie = next((value.decode("latin-1") for name, value in scope["headers"] if name.lower() == b"cookie"), "")
        client = scope.get("client") or ("", 0)
        with suppress(DatabaseRefused, UseCaseError):
            actor = self._find_actor(cookie, str(client[0]))
            return actor is not None and self._may_steer(actor, number)
        return False

    def _may_steer(self, actor: Actor, number: int) -> bool:
        check_right(actor, Right.OPERATE)
        with self._database.reading(actor) as reading:
            row = sessions.find(reading, number)
            is_live = row.state in (CaptureState.OPEN, CaptureState.PAUSED)
            return is_live and row.door is CaptureDoor.SCREEN and sessions.may_steer(reading, row)


async def _to_person(reader: asyncio.StreamReader, send: Send) -> None:
    while (message := await read_message(reader)) is not None:
        if message.kind is MessageKind.JSON:
            await send({"type": "websocket.send", "text": message.data.decode("utf-8", "replace")})
        else:
            await send({"type": "websocket.send", "bytes": message.kind.encode() + message.data})


async def _from_person(number: int, receive: Receive, writer: asyncio.StreamWriter) -> None:
    is_first = True
    while True:
        event = await receive()
        if event["type"] == "websocket.disconnect":
            return
        text = event.get("text") or ""
        if not text or len(text) > _MOST_JSON:
            continue
        try:
            sent = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if not isinstance(sent, dict):
            continue
        if is_first:
            url, opens = str(sent.get("url", "about:blank"))[:65_536], sent.get("open") is True
            sent, is_first = {"session": number, "url": url, "open": opens}, False
        writer.write(packed(ScreenMessage.of_json(sent)))
        await writer.drain()
