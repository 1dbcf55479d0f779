"""A web server ends within its grace time, whatever its clients do, and leaves no connection open."""

from __future__ import annotations

import gc
import http.client
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from support.processes.waiting import until

from admin.serving.connections import BoundedConnection
from admin.serving.request_bodies import RequestBodies
from admin.serving.web_server import ServerThread, server_config
from admin.serving.wsgi_threads import WsgiThreads

SMALL_BUFFER = 65_536


@contextmanager
def asked(application: Any, version: str = "1.1") -> Iterator[socket.socket]:
    """Yield the connection of a client with small buffers that has sent a request to a served WSGI application."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SMALL_BUFFER)
        served = RequestBodies(WsgiThreads(application, workers=2))
        server = ServerThread(server_config(served, grace_seconds=1, most_at_once=10), [listening], "served")
        try:
            with socket.socket() as client:
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
                client.settimeout(60)
                client.connect(listening.getsockname())
                client.sendall(f"GET / HTTP/{version}\r\nHost: a.test\r\n\r\n".encode())
                yield client
        finally:
            server.close()


def body_of(client: socket.socket) -> bytes:
    """Return the body of the answer. Raises http.client.IncompleteRead when the answer is cut off."""
    with http.client.HTTPResponse(client) as response:
        response.begin()
        return response.read()


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_a_client_that_is_slower_than_the_application_gets_all_of_a_long_answer(version: str) -> None:
    pieces: list[int] = []

    def application(_: Any, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [])
        for number in range(100):
            pieces.append(number)
            yield bytes(1 << 18)

    with asked(application, version) as client:
        until(lambda: len(pieces) > 11, what="the pieces wait for the client")
        assert len(body_of(client)) == 100 << 18


def test_a_client_that_reads_an_answer_of_one_piece_slowly_has_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time that the server looks at the client, the client has read some bytes since, but not all."""
    monkeypatch.setattr("admin.serving.connections.READING_SECONDS", 0.1)
    whole, read, looks, clients, taking_turns = bytes(20_000_000), bytearray(), [], [], threading.Lock()
    look_at_reader = BoundedConnection._look_at_reader

    def look_and_read(connection: BoundedConnection, unsent: int) -> None:
        if looks:
            look_at_reader(connection, unsent)
        else:  # the client has not begun to read
            connection._wait_for_reader()
        with taking_turns:
            for client in clients:
                read.extend(client.recv(4 * SMALL_BUFFER))
                looks.append(unsent)

    monkeypatch.setattr(BoundedConnection, "_look_at_reader", look_and_read)

    def application(_: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Length", str(len(whole)))])
        return [whole]

    with asked(application) as client:
        clients.append(client)
        until(lambda: len(looks) > 5, what="the server looks at the client a few times")
        monkeypatch.setattr("admin.serving.connections.READING_SECONDS", 30)
        with taking_turns:  # else the server waits in a look for bytes that it can't send meanwhile
            clients.clear()
        while len(read) < len(whole) and (piece := client.recv(1 << 20)):
            read += piece
    assert len(read) > len(whole)


def test_a_client_that_does_not_read_its_answer_is_cut_off_at_the_end() -> None:
    sent: list[int] = []

    async def endless(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http":
            return
        await send({"type": "http.response.start", "status": 200, "headers": []})
        while True:
            await send({"type": "http.response.body", "body": bytes(1 << 20), "more_body": True})
            sent.append(1)

    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = ServerThread(server_config(endless, grace_seconds=1, most_at_once=10), [listening], "endless")
        with socket.create_connection(listening.getsockname()) as client:
            client.sendall(b"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
            until(lambda: bool(sent), what="the answer has begun")
            server.close()
    gc.collect()  # an open transport warns here, and a warning is an error
