"""Clients that ask a proxy for one URL after another and note every response whose end they saw."""

from __future__ import annotations

import random
import threading
from contextlib import suppress

from support.archive.warc_reader import Archive
from support.clients.raw_client import BrokenOff
from support.origins.raw_origin import RawOrigin
from support.proxy.running_proxy import RunningProxy, request


def body(path: str) -> bytes:
    """What `path` holds: 20 KB on average that don't pack. Every third is shared by several paths of all names."""
    number = int(path.rpartition("/")[2])
    draw = random.Random(number // 30 if number % 3 == 0 else path)
    return draw.randbytes(draw.randrange(200, 40_000))


def path_of(url: str) -> str:
    """The path of a URL."""
    return "/" + url.partition("//")[2].partition("/")[2]


class Load:
    """Clients at work, each on a connection of its own, until their connection breaks or they are refused."""

    def __init__(self, proxy: RunningProxy, origin: RawOrigin, name: str, clients: int = 8) -> None:
        self._proxy, self._origin, self._name = proxy, origin, name
        self.seen: list[str] = []
        self.wrong: list[str] = []
        self._numbers = iter(range(1_000_000))
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._work, daemon=True) for _ in range(clients)]
        for thread in self._threads:
            thread.start()

    def finish(self) -> list[str]:
        """Waits for the clients to end; the URLs whose responses they saw whole."""
        for thread in self._threads:
            thread.join(60)
            assert not thread.is_alive(), "a client still waits"
        assert self.wrong == [], "responses with other bytes than the origin sent"
        return self.seen

    def _work(self) -> None:
        with suppress(OSError, BrokenOff), self._proxy.connect() as client:
            while True:
                with self._lock:
                    url = self._origin.url(f"/{self._name}/{next(self._numbers)}")
                reply = client.ask(request("plain", url))
                if not reply.whole or reply.status != 200:
                    return
                with self._lock:
                    (self.seen if reply.body == body(path_of(url)) else self.wrong).append(url)


def check_kept(archive: Archive, acknowledged: list[str], hint: str = "") -> None:
    """Every acknowledged response is there with its bytes, and every revisit of the archive has its original."""
    by_id = {record.id: record for record in archive.records}
    kept = {record.url: record for record in archive.kinds("response", "revisit")}
    lost = [url for url in acknowledged if url not in kept]
    assert lost == [], f"{len(lost)} of {len(acknowledged)} acknowledged responses are in no WARC {hint}"
    for record in kept.values():
        original = record if record.kind == "response" else by_id.get(record.field("WARC-Refers-To") or "")
        assert original is not None, f"the original of {record.url} is nowhere {hint}"
        assert original.kind == "response"
        assert original.block.partition(b"\r\n\r\n")[2] == body(path_of(record.url)), f"{record.url} {hint}"
    tied = {record.field("WARC-Concurrent-To") for record in archive.kinds("request")}
    assert tied == {record.id for record in archive.kinds("response", "revisit")}, f"a pair is torn apart {hint}"
