"""proxy/fetch/ending.py: an exchange that is over leaves nothing that only the garbage collector could free."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from typing import Any, cast
from unittest.mock import MagicMock

from support.archive.exchanges import exchange

from archive.capture import Exchange
from archive.settings import ProxySettings
from proxy.fetch.ending import ExchangeEnding
from proxy.fetch.failures import LOST, TIMEOUT
from proxy.fetch.progress import ExchangeProgress


class Owner:
    """An exchange as its ending sees it: each has a reference to the other."""

    def __init__(self) -> None:
        progress = ExchangeProgress(ProxySettings(), 0.0, lambda: 0.0)
        part: Any = MagicMock()
        part.keeps = False
        self.is_over = 0
        self.ending = ExchangeEnding(part, part, part, part, progress, part, self.over)

    def over(self) -> None:
        self.is_over += 1


def test_an_exchange_that_is_over_is_freed_at_once() -> None:
    """A cycle of references kept 40 MB of ended exchanges in a busy process, until the collector came."""
    owner = Owner()
    freed = weakref.ref(owner)
    gc.disable()
    try:
        owner.ending.failed(TIMEOUT)
        assert owner.is_over == 1
        del owner
        assert freed() is None
    finally:
        gc.enable()


def test_only_the_first_end_counts() -> None:
    owner = Owner()
    for _ in range(3):
        owner.ending.failed(TIMEOUT)
    assert owner.is_over == 1


def test_responses_are_searched_for_typed_secrets_beside_the_event_loop() -> None:
    threads = list[int]()

    def is_shown_by(_: object) -> bool:
        threads.append(threading.get_ident())
        return True

    async def run() -> Exchange:
        services: Any = MagicMock()
        services.loop, services.run = asyncio.get_running_loop(), asyncio.ensure_future
        services.gate.is_draining = False
        submitted = services.loop.create_future()
        services.recorder.submit = lambda exchange, _: submitted.set_result(exchange)
        transcript: Any = MagicMock()
        transcript.secrets.is_shown_by = is_shown_by
        transcript.unreadable = lambda *_: exchange("/")
        part: Any = MagicMock()
        progress = ExchangeProgress(ProxySettings(), 0.0, lambda: 0.0)
        ending = ExchangeEnding(part, transcript, part, part, progress, services, part)
        ending.unreadable(b"?", "no head", LOST)
        return cast("Exchange", await submitted)

    found = asyncio.run(run())
    assert found.annotations == ("showsSecret",)
    assert threads != [threading.get_ident()]
