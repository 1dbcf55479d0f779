"""Clients that go on fetching while something is done to the proxy, and tell of every request that went wrong.

with SteadyLoad(proxy, plain, secure) as load:
    ...restart the proxy...
assert load.wrong == []
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

from support.clients.raw_client import BrokenOff, Client
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.waiting import until
from support.proxy.running_proxy import Route, RunningProxy, request


class SteadyLoad:
    """One thread for each client; each asks for URLs that nobody asked for before."""

    def __init__(self, proxy: RunningProxy, plain: RawOrigin, secure: RawOrigin) -> None:
        self.wrong: list[str] = []
        """One line for each request that was refused, broken off or answered wrongly."""
        self.seen: list[str] = []
        """URLs whose whole response a client got."""
        self._proxy, self._plain, self._secure = proxy, plain, secure
        self._numbers = itertools.count()
        self._over = threading.Event()
        self._clients: list[threading.Thread] = []
        for origin in (plain, secure):
            origin.otherwise(lambda asked: (Send(response(b"page %s\n" % asked.split(b" ", 2)[1])),))

    def __enter__(self) -> Self:
        self.add("keep-alive", "plain", self._proxy.connect)
        self.add("pausing", "plain", self._proxy.connect, pause=0.3)
        self.add("one-each", "plain", self._proxy.connect, closes=True)
        self.add("tunnel", "connect", self._tunnel)
        self.add("pausing-tunnel", "connect", self._tunnel, pause=0.3)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        for client in self._clients:
            client.join(60)

    def add(
        self,
        name: str,
        route: Route,
        connect: Callable[[], Client],
        *headers: str,
        pause: float = 0.05,
        closes: bool = False,
    ) -> None:
        """Another client; with `closes` it takes a new connection for each request."""
        arguments = (name, route, connect, headers, pause, closes)
        self._clients.append(threading.Thread(target=self._run, args=arguments, name=name, daemon=True))
        self._clients[-1].start()

    def goes_on(self, requests: int = 20) -> None:
        """Returns when so many more responses have come."""
        before = len(self.seen)
        until(lambda: len(self.seen) >= before + requests, what=f"{requests} more responses")

    def of(self, name: str) -> list[str]:
        """The URLs that one client got."""
        return [url for url in self.seen if f"/{name}/" in url]

    def _tunnel(self) -> Client:
        return self._proxy.tunnel(self._secure.authority)

    def _run(
        self,
        name: str,
        route: Route,
        connect: Callable[[], Client],
        headers: tuple[str, ...],
        pause: float,
        closes: bool,
    ) -> None:
        client: Client | None = None
        while not self._over.wait(pause):
            path = f"/{name}/{next(self._numbers)}"
            url = (self._secure if route == "connect" else self._plain).url(path)
            try:
                client = client or connect()
                reply = client.ask(request(route, url, *headers))
            except (OSError, BrokenOff, AssertionError) as error:
                self.wrong.append(f"{url}: {error!r}")
                client = None
                continue
            if reply.status != 200 or not reply.whole or reply.body != f"page {path}\n".encode():
                self.wrong.append(f"{url}: {reply}")
            self.seen.append(url)
            if closes or reply.header("Connection") == "close":
                client.close()
                client = None
        if client is not None:
            client.close()
