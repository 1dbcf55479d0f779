"""Visitors over a real proxy: what a test needs to send one, and to see what was kept."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from archive.settings.load import Settings, load
from browsers.engines.choice import ProxyTrust, proxy_trust
from browsers.ghosts.ghost import Ghost
from browsers.proxying.control_client import Control, read_token
from browsers.visit import Visit, VisitOrder
from support.origins.raw_origin import Close, Send
from support.proxy.running_proxy import RunningProxy

_numbers = count(1)


class Fleet:
    """A running proxy, and a client of its control port. Each order gets a collection of its own unless told."""

    def __init__(self, proxy: RunningProxy) -> None:
        self.proxy = proxy
        self.home = proxy.home
        self.control = Control(proxy.ready["controls"][0], read_token(proxy.home))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.control.close()

    def settings(self, **browsers: Any) -> Settings:
        """Settings of a visitor in this home; `page_seconds=5` sets browsers.page_seconds."""
        names = {f"browsers.{name}": value for name, value in browsers.items()}
        return load({"home": str(self.home), **names}, environment={})

    @property
    def trusted(self) -> ProxyTrust:
        """What makes a browser trust the proxy."""
        return proxy_trust(self.home, self.proxy.ready["proxy"])

    def order(self, url: str, **changes: Any) -> VisitOrder:
        """An order to visit a URL, in a new collection, with a crawl.log."""
        name = f"c{next(_numbers)}"
        order = VisitOrder(url=url, collection=name, job="job", source=url, log_dir=str(self.home / "logs" / name))
        return replace(order, **changes)

    def crawl_log(self, order: VisitOrder) -> list[list[str]]:
        """The columns of each line of the order's crawl.log."""
        path = Path(order.log_dir or "") / "crawl.log"
        return [line.split(maxsplit=12) for line in path.read_text("utf-8").splitlines()] if path.exists() else []


class EngineFleet(Fleet):
    """A fleet whose settings name the browser engine of its ghosts."""

    def __init__(self, proxy: RunningProxy, engine: str) -> None:
        super().__init__(proxy)
        self._engine = engine

    def settings(self, **browsers: Any) -> Settings:
        """Settings of a visitor with the engine, unless another one is given."""
        return super().settings(**{"engine": self._engine, **browsers})


AT_ONCE = 4
"""Visits of `visited_together` at a time: a visit mostly waits."""


def visited_together(ghost: Ghost, orders: Sequence[VisitOrder]) -> list[Visit]:
    """Visit the pages, a few at a time, and return the visits in the order of the orders."""
    with ThreadPoolExecutor(AT_ONCE) as threads:
        return list(threads.map(ghost.visit, orders))


def page(body: str, *, head: str = "", status: str = "200 OK", headers: str = "") -> Send:
    """An HTML page as one step of an origin's script."""
    text = f"<!doctype html><html><head>{head}</head><body>{body}</body></html>".encode()
    return document(text, "text/html; charset=utf-8", status=status, headers=headers)


def document(body: bytes, content_type: str, *, status: str = "200 OK", headers: str = "") -> Send:
    """Any document as one step of an origin's script; `headers` are whole lines."""
    head = f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    return Send(head.encode() + body)


def redirect(to: str, status: str = "302 Found") -> Send:
    """A redirect as one step of an origin's script."""
    return Send(f"HTTP/1.1 {status}\r\nLocation: {to}\r\nContent-Length: 0\r\n\r\n".encode())


CUT_SHORT = (
    Send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5000\r\n\r\n<html><a href=/x>"),
    Close(),
)
"""A page that ends before its end."""
