"""Live streams tell open pages that something has changed (server-sent events); the pages then ask for the new part.

A stream sends the event `changed` when the marks of its subject differ from those before: for a job, its state and its
newest sample; for the overview, all jobs under way and all harvesters. A page whose stream breaks asks again every
twenty seconds.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, MutableMapping
from contextlib import suppress
from typing import Any, Final

from sqlalchemy import func, select

from admin.models.database import Database
from admin.models.errors import DatabaseRefused
from admin.models.job_tables import Harvester, HarvestJob, JobCommand, JobSample, JobStatus
from admin.models.transaction import Actor
from archive.listener_access import HostNames

type Scope = MutableMapping[str, Any]
type Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
type Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
type FindActor = Callable[[str, str], Actor | None]
"""Returns who has a session; it gets the Cookie header and the client's address."""

PREFIX: Final = "/live/"
MOST_STREAMS: Final = 200
_LOOK_SECONDS: Final = 2.0
_COMMENT_SECONDS: Final = 15.0
_LIFE_SECONDS: Final = 1800.0
"""After this time a stream ends, and the page opens it again: the session is checked anew."""
_JOB: Final = re.compile(r"/live/jobs/(\d{1,18})")


class LiveStreams:
    """Answers GET requests below /live/."""

    def __init__(self, database: Database, names: HostNames, find_actor: FindActor) -> None:
        self._database = database
        self._names = names
        self._find_actor = find_actor
        self._open: set[asyncio.Task[Any]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        if refusal := self._names.refusal(
            [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
        ):
            await _refuse(send, 421, refusal)
            return
        client = scope.get("client") or ("", 0)
        actor = await asyncio.to_thread(self._known, headers.get("cookie", ""), str(client[0]))
        if actor is None:
            await _refuse(send, 401, "log in first")
            return
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2] != headers.get("host"):
            await _refuse(send, 403, "this stream is for pages of the site only")
            return
        look = self._subject(scope["path"])
        if look is None or scope["method"] != "GET":
            await _refuse(send, 404, "there is no such stream")
            return
        if len(self._open) >= MOST_STREAMS:
            await _refuse(send, 503, "too many pages are open; this one asks again by itself")
            return
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        try:
            await self._stream(look, actor, receive, send)
        finally:
            self._open.discard(task)

    def stop(self) -> None:
        """End all streams, so that the server need not wait for them."""
        for task in list(self._open):
            task.cancel()

    def _known(self, cookie: str, address: str) -> Actor | None:
        with suppress(DatabaseRefused):
            return self._find_actor(cookie, address)
        return None

    def _subject(self, path: str) -> Callable[[Actor], str] | None:
        """Return the function that gives the marks of the stream's subject; None for an unknown path."""
        if path == "/live/overview":
            return self._overview
        if match := _JOB.fullmatch(path):
            number = int(match[1])
            return lambda actor: self._job(actor, number)
        return None

    async def _stream(self, look: Callable[[Actor], str], actor: Actor, receive: Receive, send: Send) -> None:
        await send(
            {
                "type": "http.response.start",
                "status": 200,
                "headers": [
                    (b"content-type", b"text/event-stream; charset=utf-8"),
                    (b"cache-control", b"no-store"),
                    (b"x-accel-buffering", b"no"),
                    (b"x-content-type-options", b"nosniff"),
                ],
            }
        )
        await _send(send, b"retry: 5000\n\n")
        loop = asyncio.get_running_loop()
        ends, commented, before = loop.time() + _LIFE_SECONDS, loop.time(), ""
        left = asyncio.ensure_future(_disconnected(receive))
        try:
            while loop.time() < ends and not left.done():
                now = await asyncio.to_thread(self._looked, look, actor)
                if now and now != before:
                    if before:
                        self._database.note_change()  # the pages that ask now must not get what was read before
                        await _send(send, f"id: {now}\nevent: changed\ndata: {now}\n\n".encode())
                        commented = loop.time()
                    before = now
                if loop.time() - commented > _COMMENT_SECONDS:
                    await _send(send, b": still here\n\n")
                    commented = loop.time()
                await asyncio.wait([left], timeout=_LOOK_SECONDS)
        except asyncio.CancelledError:
            pass  # the server stops
        finally:
            left.cancel()
        with suppress(Exception):
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _looked(self, look: Callable[[Actor], str], actor: Actor) -> str:
        try:
            return look(actor)
        except DatabaseRefused:
            return ""

    def _job(self, actor: Actor, number: int) -> str:
        with self._database.reading(actor) as transaction:
            edition = transaction.session.scalar(select(HarvestJob.edition).where(HarvestJob.id == number))
            sample = transaction.session.scalar(select(func.max(JobSample.id)).where(JobSample.job_id == number))
            done = transaction.session.scalar(select(func.max(JobCommand.done)).where(JobCommand.job_id == number))
        return f"{edition}-{sample or 0}-{done or 0}"

    def _overview(self, actor: Actor) -> str:
        with self._database.reading(actor) as transaction:
            newest = transaction.session.scalar(select(func.max(HarvestJob.id)))
            started = transaction.session.scalar(
                select(func.max(HarvestJob.heard)).where(HarvestJob.status == JobStatus.STARTED)
            )
            states = transaction.session.execute(select(Harvester.name, Harvester.state).order_by(Harvester.name))
            shown = ",".join(f"{name}={state}" for name, state in states)
        return f"{newest or 0}-{started or 0}-{hash(shown) & 0xFFFFFFFF}"


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _send(send: Send, body: bytes) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": True})


async def _refuse(send: Send, status: int, why: str) -> None:
    body = why.encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        (b"x-content-type-options", b"nosniff"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
