"""A conditional fetch first looks into the archive, and then asks whether the origin has anything newer.

When there is an earlier capture the request goes out with its validators. A 304 is kept as a `server-not-modified`
revisit, and then the client gets the earlier payload from here; any other answer takes its usual way.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

from archive.dates import now_micros
from proxy.delivery.delivery import Client
from proxy.delivery.earlier import Earlier
from proxy.fetch.contracts import ClientExchange, NeverUpgraded
from proxy.fetch.order import Order
from proxy.fetch.services import Services
from proxy.log_lines import about
from proxy.protocol import heads
from proxy.refusal import Refused
from proxy.replay.history import History, may_be_asked

log = logging.getLogger(__name__)

_THREADS: Final = 4

type Begin = Callable[[Order, Client], ClientExchange]
"""Starts a fetch. Raises Refused."""


class Conditions:
    """Starts fetches that ask whether something changed."""

    def __init__(self, history: History, services: Services) -> None:
        self._history = history
        self._services = services
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="history")

    def wanted(self, order: Order) -> bool:
        """Return whether settings, session or request want it, and the request allows it."""
        policy = order.policy
        return (
            self._history.is_wanted(policy.context, policy.options.conditional)
            and order.session.spec.mode == "record"
            and policy.refusal is None
            and order.part is None
            and may_be_asked(order.head)
        )

    def begin(self, order: Order, client: Client, fetch: Begin) -> Conditional:
        """Look, and then fetch."""
        conditional = Conditional(order, client, self._services, fetch)
        self._services.run(conditional.look(self._find))
        return conditional

    async def _find(self, order: Order) -> Earlier | None:
        loop = asyncio.get_running_loop()
        context = order.policy.context
        return await loop.run_in_executor(self._threads, self._history.find, context, order.url, order.head)

    def stop(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=False, cancel_futures=True)


class Conditional(NeverUpgraded):
    """A conditional request is one request without a body: a look, a fetch, and sometimes the earlier payload.

    It stands between the connection and the fetch: to the one it is the exchange, to the other the client.
    """

    request_is_whole = True
    remarks: tuple[str, ...] = ()

    def __init__(self, order: Order, client: Client, services: Services, fetch: Begin) -> None:
        self.started = now_micros()
        self._order = order
        self._client: Client | None = client
        self._services = services
        self._fetch = fetch
        self._now: ClientExchange | None = None
        self._earlier: Earlier | None = None
        self._pieces: Iterator[bytes] | None = None
        self._stays = False
        self._deadline = float("inf")
        self._is_over = False
        order.session.began()
        services.active.add(self)

    async def look(self, find: Callable[[Order], Awaitable[Earlier | None]]) -> None:
        """Find the earlier capture, then fetch."""
        try:
            self._earlier = await find(self._order)
        except Exception:  # whatever it is: the request itself can still be fetched
            log.exception("looking for an earlier capture of %s failed", self._order.url)
        client = self._client
        if client is None:
            self._end()
            return
        self._services.active.discard(self)
        try:
            self._now = self._fetch(asked(self._order, self._earlier), self)
        except Refused as refused:
            self._end()
            client.send(heads.refusal(refused.status, refused.word, str(refused)))
            client.finish(keep_alive=False)

    @property
    def shown_url(self) -> str:
        """The URL as status pages and log lines may have it."""
        return self._order.shown_url

    @property
    def is_with_writer(self) -> bool:
        """Return False: keeping is the fetch's part."""
        return False

    # -- to the connection ----------------------------------------------------------------------------------------

    @property
    def id(self) -> str:
        return self._now.id if self._now is not None else ""

    @property
    def wants_no_more(self) -> bool:
        return self._now is not None and self._now.wants_no_more

    @property
    def ends_with_client(self) -> bool:
        return self._now is not None and self._pieces is None and self._now.ends_with_client

    def request_data(self, data: bytes) -> int:
        """Return 0: only requests without a body come here."""
        return 0

    def client_writable(self) -> None:
        if self._pieces is not None:
            self._serve()
        elif self._now is not None:
            self._now.client_writable()

    def client_left(self) -> None:
        now, is_served = self._now, self._pieces is not None
        self._end()
        if now is not None and not is_served:
            now.client_left()

    # -- to the fetch ---------------------------------------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        return self._client is not None and self._client.is_full

    def send(self, data: bytes) -> None:
        if self._client is not None:
            self._client.send(data)

    def finish(self, *, keep_alive: bool, last: bytes = b"") -> None:
        """End the response when it is whole, or its head is: then the payload comes from here."""
        if self._earlier is None or not self._earlier.is_answer:
            client = self._client
            self._end()
            if client is not None:
                client.finish(keep_alive=keep_alive, last=last)
            return
        self.send(last)
        self._stays, self._pieces = keep_alive, self._earlier.body.chunks()
        self._services.active.add(self)
        self._serve()

    def abort(self) -> None:
        client = self._client
        self._end()
        if client is not None:
            client.abort()

    def upgraded(self) -> None:
        """Refuse; an upgrade is no plain GET."""

    def take_more(self) -> None:
        if self._client is not None:
            self._client.take_more()

    # -- the earlier payload --------------------------------------------------------------------------------------

    def tick(self, now: float) -> None:
        """Give up a client that takes nothing."""
        if self._pieces is not None and now > self._deadline:
            self.abort()

    def break_off(self) -> None:
        """End it now."""
        self.abort()

    def _serve(self) -> None:
        client, pieces = self._client, self._pieces
        self._deadline = self._services.loop.time() + self._services.settings.idle_seconds
        try:
            while client is not None and pieces is not None and not client.is_full:
                piece = next(pieces, None)
                if piece is None:
                    self._end()
                    client.finish(keep_alive=self._stays)
                    return
                client.send(piece)
        except OSError as error:
            log.error("%s: the spool failed: %s", self._order.url, error, extra=about(self.id))
            self.abort()

    def _end(self) -> None:
        """Do nothing more for the client; a fetch may go on without it."""
        earlier, self._earlier = self._earlier, None
        self._client = self._pieces = None
        if earlier is not None:
            earlier.close()
        if not self._is_over:
            self._is_over = True
            self._services.active.discard(self)
            self._order.session.ended()


def asked(order: Order, earlier: Earlier | None) -> Order:
    """Return the order as it goes to the origin: with the questions about the earlier capture."""
    if earlier is None:
        return order
    return replace(order, earlier=earlier, origin_head=order.origin_head[:-2] + earlier.questions + b"\r\n")
