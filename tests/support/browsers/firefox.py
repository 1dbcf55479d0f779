"""A real Firefox of Debian, driven by WebDriver BiDi over its own port: pages, frames and scripts."""

from __future__ import annotations

import itertools
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest
from wsproto import ConnectionType, WSConnection
from wsproto.events import AcceptConnection, CloseConnection, Message, Ping, Request

_SECONDS = 90
_ADDRESS = re.compile(rb"BiDi listening on ws://127\.0\.0\.1:([0-9]+)")


class Firefox:
    """Runs from `with` to its end, with an empty profile. Skips the test when no Firefox is installed."""

    def __init__(self, preferences: Mapping[str, bool | int | str] | None = None) -> None:
        self._preferences = dict(preferences or {})

    def __enter__(self) -> Self:
        executable = shutil.which("firefox-esr") or shutil.which("firefox")
        if executable is None:
            pytest.skip("no Firefox; apt-get install firefox-esr")
        self._folder = tempfile.mkdtemp(prefix="firefox-")
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in self._preferences.items()]
        (Path(self._folder) / "user.js").write_text("\n".join(lines))
        self._process = subprocess.Popen(
            [executable, "--headless", "--no-remote", "--profile", self._folder, "--remote-debugging-port=0"],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._folder, "MOZ_CRASHREPORTER_DISABLE": "1"},
            start_new_session=True,
        )
        self._numbers = itertools.count(1)
        try:
            port = self._port()
            self._socket = socket.create_connection(("127.0.0.1", port), timeout=_SECONDS)
            self._socket.settimeout(_SECONDS)
            self._wire = WSConnection(ConnectionType.CLIENT)
            self._messages: list[dict[str, Any]] = []
            self._text = ""
            self._is_open = False
            self._socket.sendall(self._wire.send(Request(host=f"127.0.0.1:{port}", target="/session")))
            while not self._is_open:
                self._hear()
            self.call("session.new", capabilities={})
            self._page = self.call("browsingContext.getTree")["contexts"][0]["context"]
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._socket.close()
        self._end()

    def go(self, url: str) -> None:
        """Open the page, and return when it is loaded."""
        self.call("browsingContext.navigate", context=self._page, url=url, wait="complete")

    def frames(self) -> dict[str, str]:
        """The names of the page and of all its frames, by the address of each."""
        found: dict[str, str] = {}
        waiting = self.call("browsingContext.getTree", root=self._page)["contexts"]
        while waiting:
            each = waiting.pop()
            found[each["url"]] = each["context"]
            waiting += each["children"] or []
        return found

    def evaluate(self, frame: str, expression: str) -> Any:
        """The value of a script in a frame, as JSON has it; None when the frame is gone or the script fails."""
        found = self.command(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({expression})))()",
            target={"context": frame},
            awaitPromise=True,
        )
        value = found.get("result", {}).get("result", {}).get("value")
        return None if value is None else json.loads(value)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The result of a command."""
        answer = self.command(method, **parameters)
        assert answer["type"] == "success", answer
        result: dict[str, Any] = answer["result"]
        return result

    def command(self, method: str, **parameters: Any) -> dict[str, Any]:
        """The answer to a command."""
        number = next(self._numbers)
        text = json.dumps({"id": number, "method": method, "params": parameters})
        self._socket.sendall(self._wire.send(Message(data=text)))
        while True:
            for at, message in enumerate(self._messages):
                if message.get("id") == number:
                    return self._messages.pop(at)
            self._hear()

    def _hear(self) -> None:
        data = self._socket.recv(65_536)
        assert data, "Firefox closed the connection"
        self._wire.receive_data(data)
        for event in self._wire.events():
            if isinstance(event, AcceptConnection):
                self._is_open = True
            elif isinstance(event, Ping):
                self._socket.sendall(self._wire.send(event.response()))
            elif isinstance(event, CloseConnection):
                raise ConnectionError("Firefox ended the session")
            elif isinstance(event, Message):
                self._text += str(event.data)
                if event.message_finished:
                    self._messages.append(json.loads(self._text))
                    self._text = ""

    def _port(self) -> int:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            if found := _ADDRESS.search(line):
                return int(found[1])
        raise AssertionError("Firefox ended before it listened")

    def _end(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()
        shutil.rmtree(self._folder, ignore_errors=True)
