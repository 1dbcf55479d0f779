"""The heartbeat renews leases during long visits."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from archive.steady_work import SteadyWork
from frontier.lease import Lease
from frontier.store import FrontierUnavailable

log = logging.getLogger(__name__)


class LeaseHeartbeat:
    """The heartbeat renews every held lease from one thread, well before its end. It is a context manager."""

    def __init__(self, renew: Callable[[Lease], bool], every_seconds: float) -> None:
        self._renew = renew
        self._every_seconds = every_seconds
        self._held: dict[str, Lease] = {}
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()

    @contextmanager
    def holding(self, lease: Lease) -> Iterator[None]:
        """Renew the lease during the block."""
        with self._lock:
            self._held[lease.token] = lease
        try:
            yield
        finally:
            with self._lock:
                self._held.pop(lease.token, None)

    def _beat(self) -> None:
        renew = SteadyWork("the renewal of leases", self._renew_one)
        while not self._over.wait(self._every_seconds):
            with self._lock:
                held = list(self._held.values())
            for lease in held:
                renew(lease)

    def _renew_one(self, lease: Lease) -> None:
        try:
            if not self._renew(lease):
                log.warning("the lease of %s (try %d) has expired during its visit", lease.url, lease.attempt)
        except FrontierUnavailable as error:
            log.warning("the lease of %s was not renewed: %s", lease.url, error)
