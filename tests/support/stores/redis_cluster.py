"""A real Redis Cluster of the tests' own: some servers that share the hash slots, and replicas of the first.

with RedisCluster(tmp_path) as cluster:
    Claims(cluster.url, …)
"""

from __future__ import annotations

import random
import signal
import socket
import subprocess
import time
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import pytest
import redis

from frontier.store import connect
from support.processes.machine_needs import redis_server
from support.processes.waiting import until
from support.stores.redis_server import RedisServer

_SLOTS: Final = 16_384
_BUS: Final = 10_000
"""The port on which servers speak to each other is that much above the one for clients."""
_PORTS: Final = range(10_240, 14_000)
"""These ports and their bus ports lie below those that `free_port` and the system give to others."""
_TRIES: Final = 10
_SECONDS: Final = 90.0
"""A busy machine may need this long for elections and copies."""
_MEET_SECONDS: Final = 5.0
"""Servers that have not met in this time are asked to meet again, because Redis drops a handshake that takes long."""


class _Server:
    def __init__(self, folder: Path, node_timeout_ms: int) -> None:
        self._folder = folder
        self._node_timeout_ms = node_timeout_ms
        folder.mkdir(parents=True)
        for last_try in [False] * _TRIES + [True]:
            self.port = _free_port()
            self.client = redis.Redis(port=self.port, protocol=2, socket_timeout=60)
            try:
                self.start()
                return
            except AssertionError:
                # Another test may have taken the port since it was found free.
                self.client.close()
                if last_try or self._process.poll() is None:
                    raise

    def start(self) -> None:
        # With appendfsync everysec, Redis holds writes back while an fsync runs, so that a kill could lose them.
        command = [
            *(redis_server(), "--bind", "127.0.0.1", "--port", str(self.port), "--dir", str(self._folder)),
            *("--cluster-enabled", "yes", "--cluster-node-timeout", str(self._node_timeout_ms)),
            *("--cluster-require-full-coverage", "no"),
            *("--hash-max-ziplist-value", "1024", "--hash-max-ziplist-entries", "512"),
            *("--repl-diskless-sync-delay", "0"),  # Redis waits 5 s for further replicas before a copy begins
            *("--save", "", "--appendonly", "yes", "--appendfsync", "no", "--logfile", str(self._folder / "log")),
        ]
        self._process = subprocess.Popen(command)
        until(self._answers, what="redis-server to answer", within=_SECONDS)

    def kill(self) -> None:
        self._process.send_signal(signal.SIGKILL)
        self._process.wait(20)

    def told(self, *words: Any) -> Any:
        """The reply to a CLUSTER command."""
        return self.client.execute_command("CLUSTER", *words)

    @property
    def id(self) -> str:
        return str(self.told("MYID").decode())

    def info(self) -> dict[str, Any]:
        return dict(self.client.cluster("info"))

    def _answers(self) -> bool:
        assert self._process.poll() is None, f"redis-server ended: {(self._folder / 'log').read_text()[-500:]}"
        try:
            return bool(self.client.ping())
        except redis.ConnectionError:
            return False


def _free_port() -> int:
    """A port for clients that is free, and whose bus port is free too."""
    while True:
        port = random.SystemRandom().choice(_PORTS)
        try:
            with ExitStack() as probes:
                for number in (port, port + _BUS):
                    probes.enter_context(socket.socket()).bind(("127.0.0.1", number))
        except OSError:
            continue
        return port


class SharedCluster(RedisServer):
    """A cluster in the place of the one server that tests usually have. No test may stop it."""

    def __init__(self, cluster: RedisCluster) -> None:
        self._cluster = cluster

    @property
    def url(self) -> str:
        """The cluster as our settings name it."""
        return self._cluster.url

    def client(self) -> Any:
        """A client of all its servers."""
        return connect(self.url, 10)

    def _end(self, number: int) -> None:
        pytest.skip("needs a server that it can stop; a cluster of its own takes too long")

    def pause(self) -> None:
        """Skip the test."""
        self._end(0)

    def alone(self) -> RedisServer:
        """Skip the test."""
        pytest.skip("changes a server, or counts its calls; the other tests have the cluster, too")


class RedisCluster:
    """`count` servers with a share of the slots each, the last `replicas` servers follow the first.

    A server that is silent for `node_timeout_ms` is taken for dead. Without replicas, no server can take the place of
    another one, and then a server that is only slow should not be taken for dead.
    """

    def __init__(self, folder: Path, count: int = 3, replicas: int = 0, *, node_timeout_ms: int | None = None) -> None:
        self._node_timeout_ms = node_timeout_ms or (5_000 if replicas else 60_000)
        self._folder = folder / "cluster"
        self._count = count
        self._replicas = replicas
        self._next_meeting = 0.0
        self.servers: list[_Server] = []

    @property
    def url(self) -> str:
        """As our settings name it, after its first server."""
        return f"cluster://127.0.0.1:{self.servers[0].port}"

    def slot(self, key: str) -> int:
        """The key's hash slot, as the servers count it."""
        return int(self.servers[-1].told("KEYSLOT", key))

    def owner(self, key: str) -> int:
        """The index of the server that has the key's slot."""
        slot = self.slot(key)
        for first, last, (_, port, *_), *_ in self.servers[-1].told("SLOTS"):
            if first <= slot <= last:
                return [server.port for server in self.servers].index(port)
        raise AssertionError(f"nobody has slot {slot}")

    def begin_move(self, key: str, to: int) -> None:
        """Let the key's slot be on its way, and what is in it be there already."""
        slot, source, target = self.slot(key), self.servers[self.owner(key)], self.servers[to]
        target.told("SETSLOT", slot, "IMPORTING", source.id)
        source.told("SETSLOT", slot, "MIGRATING", target.id)
        while keys := source.told("GETKEYSINSLOT", slot, 100):
            source.client.execute_command("MIGRATE", "127.0.0.1", target.port, "", 0, 5000, "KEYS", *keys)

    def end_move(self, key: str, to: int) -> None:
        """Give the slot to its new owner for good."""
        for server in (self.servers[to], *self.servers):
            server.told("SETSLOT", self.slot(key), "NODE", self.servers[to].id)

    def set_node_timeout(self, milliseconds: int) -> None:
        """Set how long a server may be silent before the others take it for dead."""
        for server in self.servers:
            server.client.config_set("cluster-node-timeout", milliseconds)

    def __enter__(self) -> RedisCluster:
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def _start(self) -> None:
        total = self._count + self._replicas
        self.servers += [_Server(self._folder / str(number), self._node_timeout_ms) for number in range(total)]
        bounds = [_SLOTS * number // self._count for number in range(self._count + 1)]
        for number, server in enumerate(self.servers):
            server.told("SET-CONFIG-EPOCH", number + 1)
            if number < self._count:
                server.told("ADDSLOTS", *range(bounds[number], bounds[number + 1]))
        until(self._have_met, what="the servers to meet", within=_SECONDS)
        for replica in self.servers[self._count :]:
            replica.told("REPLICATE", self.servers[0].id)
            until(
                lambda follower=replica: follower.client.info()["master_link_status"] == "up",
                what="a copy",
                within=_SECONDS,
            )  # type: ignore[misc]
        until(self._is_complete, what="the cluster to be complete", within=_SECONDS)

    def _have_met(self) -> bool:
        """Return whether all servers know all others, and ask those that do not to meet from time to time."""
        known = [server.told("NODES") for server in self.servers]
        if all(len(nodes.splitlines()) == len(self.servers) and b"handshake" not in nodes for nodes in known):
            return True
        if time.monotonic() >= self._next_meeting:
            for server in self.servers[1:]:
                server.told("MEET", "127.0.0.1", self.servers[0].port)
            self._next_meeting = time.monotonic() + _MEET_SECONDS
        return False

    def _is_complete(self) -> bool:
        infos = [server.info() for server in self.servers]
        return all(info["cluster_state"] == "ok" and info["cluster_slots_ok"] == str(_SLOTS) for info in infos)

    def _end(self) -> None:
        for server in self.servers:
            server.client.close()
            server.kill()
