"""A real RabbitMQ of the tests' own: on a free port of 127.0.0.1, with its data in a temporary folder."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

import pytest

from support.processes.machine_needs import free_port
from support.processes.waiting import until

_SCRIPT = Path("/usr/lib/rabbitmq/bin/rabbitmq-server")


class RabbitServer:
    """A RabbitMQ node, started by `with`; the test is skipped where RabbitMQ is not installed."""

    def __init__(self) -> None:
        epmd = shutil.which("epmd")
        if not _SCRIPT.exists() or epmd is None:
            pytest.skip("no RabbitMQ; apt-get install rabbitmq-server")
        self._folder = Path(tempfile.mkdtemp(prefix="gf-rabbit-"))
        self.port = free_port()
        self._epmd = str(free_port())
        self._process: subprocess.Popen[bytes] | None = None
        # RabbitMQ would start its own, which stays when the node is killed.
        self._names = subprocess.Popen([epmd, "-port", self._epmd, "-address", "127.0.0.1"], stderr=subprocess.DEVNULL)
        (self._folder / "plugins").write_text("[].\n")

    @property
    def url(self) -> str:
        """The broker, with its password."""
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"

    def start(self) -> Self:
        """Start the node and wait until it answers."""
        folder = self._folder
        output = (folder / "output").open("ab")
        self._process = subprocess.Popen(
            [_SCRIPT],
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={
                **os.environ,
                "HOME": str(folder),
                "ERL_EPMD_ADDRESS": "127.0.0.1",
                "ERL_EPMD_PORT": self._epmd,
                "RABBITMQ_NODENAME": f"gf{self.port}@localhost",
                "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
                "RABBITMQ_NODE_PORT": str(self.port),
                "RABBITMQ_DIST_PORT": str(free_port()),
                "RABBITMQ_MNESIA_BASE": str(folder / "data"),
                "RABBITMQ_LOG_BASE": str(folder / "logs"),
                "RABBITMQ_PID_FILE": str(folder / "pid"),
                "RABBITMQ_ENABLED_PLUGINS_FILE": str(folder / "plugins"),
                "RABBITMQ_CONFIG_FILE": str(folder / "none"),
                "RABBITMQ_CONF_ENV_FILE": str(folder / "none"),
                "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "-kernel inet_dist_use_interface {127,0,0,1}",
            },
        )
        output.close()
        until(self._answers, what="RabbitMQ to answer", within=100)
        return self

    def kill(self) -> None:
        """kill -9, with everything that belongs to the node."""
        if self._process is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait(20)
            self._process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
        self._names.kill()
        self._names.wait(20)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self._folder / "output").read_text()[-2000:]
        try:
            with socket.create_connection(("127.0.0.1", self.port), 1) as probe:
                probe.settimeout(5)
                probe.sendall(b"AMQP\x00\x00\x09\x01")
                return len(probe.recv(8)) > 0
        except OSError:
            return False
