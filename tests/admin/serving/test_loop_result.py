"""admin/serving/loop_result.py: a process ends though threads wait for an event loop that is closed."""

from __future__ import annotations

import os
import subprocess

import pytest
from support.processes.python_code import PLACES, code_command

ANSWERS = """
import asyncio, sys, threading
from support.processes.waiting import until
from admin.serving.request_bodies import RequestBodies
from admin.serving.wsgi_threads import WsgiThreads

is_closing, will_wait = threading.Event(), threading.Event()

def app(environ, start_response):
    start_response("200 OK", [])
    yield b"first"
    is_closing.wait()
    if sys.argv[1] == "upload":
        will_wait.set()
        environ["wsgi.input"].read()
    for number in range(50):
        if number == 10:  # the queue of the client is full
            will_wait.set()
        yield b"x"
    raise AssertionError("the thread waits for nobody")

def waits(loop):
    names = [task.get_coro().__qualname__ for task in asyncio.all_tasks(loop)]
    return will_wait.is_set() and {"_Responder._put", "wait_for"} & set(names)

async def main():
    loop, begun = asyncio.get_running_loop(), asyncio.Event()

    async def receive():
        await asyncio.Event().wait()

    async def send(message):
        if message.get("body"):
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                is_closing.set()

    headers = [(b"content-length", b"100000")] if sys.argv[1] == "upload" else []
    scope = {"type": "http", "http_version": "1.1", "method": "POST", "path": "/", "query_string": b"",
             "headers": headers}
    served = RequestBodies(WsgiThreads(app, workers=2), lambda _: 100_000)
    asyncio.create_task(served(scope, receive, send))
    await begun.wait()
    # The default executor is busy, for example with a slow database, until the thread of the application waits.
    loop.run_in_executor(None, lambda: until(lambda: waits(loop), what="the thread to wait"))

asyncio.run(main())
print("closed", flush=True)
"""


@pytest.mark.parametrize("kind", ["download", "upload"])
def test_a_process_ends_though_a_request_began_to_wait_while_the_loop_was_closed(kind: str) -> None:
    found = subprocess.run(
        code_command(ANSWERS, kind),
        env={**os.environ, **PLACES},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
    )
    assert (found.stdout, found.returncode) == ("closed\n", 0)
