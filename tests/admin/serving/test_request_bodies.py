"""admin/serving/request_bodies.py: what a body may be, and how it reaches the application."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

import pytest

from admin.serving.request_bodies import SMALL_BODY, RequestBodies, Scope
from admin.serving.wsgi_threads import WsgiThreads


def status_of(
    pieces: list[bytes], *, announced: int | None = None, most: int = 0, read: list[bytes] | None = None
) -> tuple[int, int]:
    """Return the status for a body that comes in these pieces, and how many of them were asked for."""
    asked = 0
    statuses: list[int] = []

    def app(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        from werkzeug.wrappers import Request, Response

        request = Request(environ)
        data = request.stream.read()
        if read is not None:
            read.append(data)
        return Response(str(len(data)))(environ, start_response)

    def guarded(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        from werkzeug.exceptions import HTTPException

        try:
            return app(environ, start_response)
        except HTTPException as error:
            return error(environ, start_response)

    async def receive() -> dict[str, Any]:
        nonlocal asked
        asked += 1
        return {"type": "http.request", "body": pieces[asked - 1], "more_body": asked < len(pieces)}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            statuses.append(message["status"])

    headers = [(b"transfer-encoding", b"chunked")]
    if announced is not None:
        headers = [(b"content-length", str(announced).encode())]
    scope: Scope = {
        "type": "http",
        "http_version": "1.1",
        "method": "POST",
        "path": "/",
        "query_string": b"",
        "headers": headers,
    }
    served = RequestBodies(WsgiThreads(guarded, workers=1), lambda _: most)
    asyncio.run(served(scope, receive, send))
    return statuses[0], asked


@pytest.mark.parametrize("announced", [None, SMALL_BODY])
def test_a_small_body_is_whole(announced: int | None) -> None:
    read: list[bytes] = []
    assert status_of([b"a", b"b" * (SMALL_BODY - 1)], announced=announced, read=read) == (200, 2)
    assert read == [b"a" + b"b" * (SMALL_BODY - 1)]


def test_nothing_is_read_of_a_body_that_is_announced_as_too_long() -> None:
    assert status_of([b"a"], announced=SMALL_BODY + 1) == (413, 0)
    assert status_of([b"a"], announced=2_000_001, most=2_000_000) == (413, 0)


def test_a_body_without_a_length_is_read_up_to_its_limit() -> None:
    assert status_of([b"a" * 10_000] * 100)[0] == 413
    assert status_of([b"a" * 10_000] * 100)[1] == 7
    status, asked = status_of([b"a" * 10_000] * 100, most=500_000)
    assert status == 413
    assert asked <= 51


@pytest.mark.parametrize("announced", [None, 1_000_000])
def test_a_long_body_arrives_whole_where_it_may_be_long(announced: int | None) -> None:
    pieces, read = [bytes([number]) * 10_000 for number in range(100)], []
    assert status_of(pieces, announced=announced, most=1_000_000, read=read) == (200, 100)
    assert read == [b"".join(pieces)]


def test_a_client_that_leaves_gets_no_thread() -> None:
    async def run() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.disconnect"}

        def app(environ: Any, start_response: Any) -> Any:
            raise AssertionError("the application was called")

        scope: Scope = {"type": "http", "headers": [(b"content-length", b"5")]}
        await RequestBodies(app)(scope, receive, app)

    asyncio.run(run())
