"""admin/serving/wsgi_threads.py: whole answers are sent at once, others piece by piece."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from admin.serving.request_bodies import RequestBodies
from admin.serving.wsgi_threads import WsgiThreads

type Messages = list[dict[str, Any]]


def answers(
    app: Callable[[dict[str, Any], Any], Iterable[bytes]], method: str = "GET", sent: Messages | None = None
) -> Messages:
    """Return the messages with which the application answers; they are added to `sent` as they come."""
    found: Messages = [] if sent is None else sent

    async def run() -> None:
        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            found.append(message)

        scope = {
            "type": "http",
            "http_version": "1.1",
            "method": method,
            "path": "/",
            "query_string": b"",
            "headers": [],
        }
        await RequestBodies(WsgiThreads(app, workers=2))(scope, receive, send)  # type: ignore[arg-type]

    asyncio.run(run())
    return found


def test_a_page_is_a_head_and_one_piece() -> None:
    def app(_: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Length", "4")])
        return [b"page"]

    head, body = answers(app)
    assert (head["type"], head["status"]) == ("http.response.start", 200)
    assert (body["body"], body["more_body"]) == (b"page", False)


def test_an_answer_without_a_body_is_complete() -> None:
    def app(_: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Length", "4")])
        return []

    head, body = answers(app, "HEAD")
    assert head["status"] == 200
    assert (body["body"], body.get("more_body", False)) == (b"", False)


def test_pieces_are_sent_before_the_answer_is_complete() -> None:
    sent: Messages = []
    first_was_sent = threading.Event()

    class Noted(list[dict[str, Any]]):
        def append(self, message: dict[str, Any]) -> None:
            super().append(message)
            if message.get("body") == b"one":
                first_was_sent.set()

    def app(_: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [("Content-Length", "6")])
        yield b"one"
        assert first_was_sent.wait(60)
        yield b"two"

    sent = answers(app, sent=Noted())
    assert [message.get("body") for message in sent] == [None, b"one", b"two", b""]
    assert [message.get("more_body", False) for message in sent[1:]] == [True, True, False]


def test_an_answer_whose_length_nobody_told_ends_with_an_empty_piece() -> None:
    def app(_: dict[str, Any], start_response: Any) -> list[bytes]:
        start_response("200 OK", [])
        return [b"page"]

    assert [message.get("body") for message in answers(app)] == [None, b"page", b""]


def test_clients_that_do_not_read_their_answers_keep_no_other_request_waiting() -> None:
    def app(environ: dict[str, Any], start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [])
        return iter([b"x"] * (1_000 if environ["PATH_INFO"] == "/long" else 1))

    async def run() -> list[Any]:
        served = RequestBodies(WsgiThreads(app, workers=2))
        left = asyncio.Event()

        async def receive() -> dict[str, Any]:
            await left.wait()
            return {"type": "http.disconnect"}

        async def never(_: Any) -> None:
            await left.wait()

        def request(path: str, send: Any) -> Any:
            scope = {
                "type": "http",
                "http_version": "1.1",
                "method": "GET",
                "path": path,
                "query_string": b"",
                "headers": [],
            }
            return served(scope, receive, send)

        found: list[Any] = []

        async def keep(message: Any) -> None:
            found.append(message)

        slow = [asyncio.create_task(request("/long", never)) for _ in range(20)]
        await asyncio.wait_for(request("/", keep), 60)
        assert not any(task.done() for task in slow)
        left.set()
        await asyncio.wait_for(asyncio.gather(*slow), 60)  # the rest of what nobody reads is not computed
        return found

    assert [message.get("body") for message in asyncio.run(run())] == [None, b"x", b""]
