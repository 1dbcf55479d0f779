"""A web server ends within its grace time, whatever its clients do, and leaves no connection open."""

from __future__ import annotations

import gc
import socket
from typing import Any

from support.processes.waiting import until

from admin.serving.web_server import ServerThread, server_config


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
