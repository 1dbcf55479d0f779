"""Until the processes behind a port serve, its clients get a 503 (T26)."""

from __future__ import annotations

import socket

from admin.fleet.sockets import listen
from admin.fleet.startup_responder import ANSWER, StartupResponder


def _all_of(client: socket.socket) -> bytes:
    client.settimeout(30)
    found = b""
    while piece := client.recv(65536):
        found += piece
    return found


def test_a_request_is_answered_with_503_and_retry_after() -> None:
    (listener,) = listen("127.0.0.1", 0, option="--port")
    with listener, StartupResponder([listener]), socket.create_connection(listener.getsockname()) as client:
        client.sendall(b"GET http://example.org/ HTTP/1.1\r\nHost: example.org\r\n")
        client.sendall(b"\r\n")
        assert _all_of(client) == ANSWER
    assert ANSWER.startswith(b"HTTP/1.1 503 ")
    assert b"\r\nRetry-After: 1\r\n" in ANSWER


def test_a_silent_client_delays_no_other_and_gets_its_answer_at_the_end() -> None:
    (listener,) = listen("127.0.0.1", 0, option="--port")
    with listener, socket.create_connection(listener.getsockname()) as silent:
        with StartupResponder([listener]), socket.create_connection(listener.getsockname()) as client:
            client.sendall(b"CONNECT example.org:443 HTTP/1.1\r\n\r\n")
            assert _all_of(client) == ANSWER
        assert _all_of(silent) == ANSWER


def test_with_too_many_silent_clients_the_oldest_is_answered() -> None:
    (listener,) = listen("127.0.0.1", 0, option="--port")
    with listener, StartupResponder([listener]):
        clients = [socket.create_connection(listener.getsockname()) for _ in range(210)]
        assert _all_of(clients[0]) == ANSWER
        for client in clients:
            client.close()


def test_the_port_stays_open_after_the_end() -> None:
    (listener,) = listen("127.0.0.1", 0, option="--port")
    with listener:
        with StartupResponder([listener, listener]) as responder:
            responder.close()
        with socket.create_connection(listener.getsockname()) as client:
            listener.setblocking(True)
            served, _ = listener.accept()
            with served:
                served.sendall(b"from the process")
            assert _all_of(client) == b"from the process"
