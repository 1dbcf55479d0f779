"""All hostile clients at once, in random order: afterwards the proxy is as it was before, and so is what it wrote."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.archive.warc_reader import files
from support.clients.hostile_clients import BEHAVIOURS, Ground, attack, occupy
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, certificate_authority, response, server_tls
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy

ADDRESS = "127.0.1.83"
MEGABYTE = 1 << 20
GROWTH = 32 * MEGABYTE
"""Most that a second attack may add to what the first has left: heaps settle, leaks don't."""


@pytest.fixture
def origins(tmp_path: Path) -> Iterator[tuple[RawOrigin, RawOrigin]]:
    authority = certificate_authority()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    giant = response(b"m" * 8 * MEGABYTE)
    with RawOrigin(ADDRESS) as plain, RawOrigin(ADDRESS, tls=server_tls(authority, ADDRESS)) as secure:
        for origin in (plain, secure):
            origin.otherwise(lambda asked: (Send(response(page(asked.split(b" ", 2)[1][:99]))),))
            origin.script("/giant", Send(giant))
        yield plain, secure


@pytest.mark.slow  # `test_hostile_requests.py` and `test_hostile_neighbours.py` have one client at a time
@pytest.mark.timeout(300)
def test_after_all_of_them_at_once_the_proxy_is_as_before(tmp_path: Path, origins: tuple[RawOrigin, RawOrigin]) -> None:
    plain, secure = origins
    seed = random.randrange(1 << 32)
    memory: list[int] = []
    print(f"seed {seed}")
    settings = {
        "proxy.upstream_ca": tmp_path / "ca.pem",
        "proxy.keep_alive_seconds": 1,
        "proxy.orphan_seconds": 2,
        "proxy.request_seconds": 30,
        "proxy.connections_per_host": 100,  # holders take theirs, as clients may
    }
    with RunningProxy(tmp_path / "home", settings) as proxy:
        _serves(proxy, plain, secure, "before")
        fds = until(lambda: _quiet(proxy) and _descriptors(proxy), what="the first connections to be closed")
        for number in range(2):
            ground = Ground(proxy.address, plain.authority, secure.authority)
            holding = occupy(ground)
            attack(ground, list(BEHAVIOURS.values()), random.Random(seed + number))
            _serves(proxy, plain, secure, f"during {number}")
            ground.released.set()
            for thread in holding:
                thread.join(60)
            until(lambda: _quiet(proxy), what="every connection to be closed", within=60)
            _serves(proxy, plain, secure, f"after {number}")
            memory.append(_resident(proxy))
        until(lambda: _quiet(proxy) and _descriptors(proxy) <= fds + 4, what="as few descriptors as before", within=60)
        proxy.stop()

    assert memory[1] - memory[0] < GROWTH, memory
    for origin in origins:
        assert [visit.path for visit in origin.visits if b"smuggled" in visit.received] == []
    said = "".join(path.read_text("utf-8", "replace") for path in [proxy.log, *proxy.home.glob("logs/*")])
    assert re.findall(r"Traceback|never retrieved|relaying failed|Unhandled|crashed", said) == []
    done = proxy.command("check", *map(str, files(proxy.folder())))
    assert done.returncode == 0, done.stdout[-3000:]


def _serves(proxy: RunningProxy, plain: RawOrigin, secure: RawOrigin, name: str) -> None:
    """An exchange of each kind, and the status."""
    for number, origin in enumerate((plain, secure)):
        reply = proxy.get(origin.url(f"/{name}/{number}".replace(" ", "-")), route="connect" if number else "plain")
        assert (reply.status, reply.whole) == (200, True)
    assert proxy.status()["role"]


def _quiet(proxy: RunningProxy) -> bool:
    """Whether nothing is under way, and the only client is the one that asks."""
    status = proxy.status()
    return status["active_requests"] == 0 and status["connections"] == 1


def _descriptors(proxy: RunningProxy) -> int:
    return len(list(Path(f"/proc/{proxy.status()['pid']}/fd").iterdir()))


def _resident(proxy: RunningProxy) -> int:
    """Bytes of memory that the recording process has now."""
    return int(Path(f"/proc/{proxy.status()['pid']}/statm").read_text().split()[1]) * 4096
