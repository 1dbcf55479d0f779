"""A garden site that keeps the requests that it answered, for tests that look at them."""

from __future__ import annotations

import threading

from admin.demo.garden import GardenSite
from admin.demo.wire import Answer, Request


class WatchedGarden(GardenSite):
    """The requests can still be read after `stop()`."""

    def __init__(self) -> None:
        super().__init__()
        self._requests: list[Request] = []
        self._lock = threading.Lock()

    @property
    def requests(self) -> list[Request]:
        """Return all requests since `forget_requests`, oldest first."""
        with self._lock:
            return list(self._requests)

    def forget_requests(self) -> None:
        """Empty the request log."""
        with self._lock:
            self._requests.clear()

    def answer(self, request: Request) -> Answer:
        """Note the request, and return the answer."""
        with self._lock:
            self._requests.append(request)
        return super().answer(request)
