"""One exchange gets a kept or new connection to its origin, and gives it back or drops it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from archive.capture import Message, Origin
from proxy.fetch.order import Order
from proxy.origins.upstream import ConnectionFacts, Pool, Upstream, UpstreamUser, always

IDEMPOTENT: Final = frozenset(("GET", "HEAD", "OPTIONS", "TRACE"))
"""Methods that may be sent again when a used connection turned out to be dead."""
_NOBODY: Final = Origin()


class OriginLine:
    """The line has no user before `ask` and after `hang_up`: its events then go nowhere."""

    __slots__ = (
        *("_destination", "_is_apart", "_is_used_one", "_may_repeat", "_pool", "_upstream"),
        *("facts", "is_whole", "origin"),
    )

    def __init__(self, order: Order, pool: Pool) -> None:
        self._destination = order.destination
        self._may_repeat = order.head.method in IDEMPOTENT
        self._is_used_one = False
        self._pool = pool
        self._upstream: Upstream | None = None
        self._is_apart = False
        self.is_whole: Callable[[], bool] = always
        """Tells whether the request is all there."""
        self.origin = _NOBODY
        """Whom we spoke to last."""
        self.facts: ConnectionFacts | None = None

    @property
    def is_open(self) -> bool:
        return self._upstream is not None

    @property
    def is_full(self) -> bool:
        """Return whether the origin takes nothing more for now."""
        return self._upstream is not None and self._upstream.is_full

    def kept(self) -> Upstream | None:
        """Return a connection kept from an earlier exchange; None when there is none that may be used."""
        return self._pool.idle(self._destination) if self._may_repeat else None

    async def opened(self) -> Upstream:
        """Return a new connection, or one that became free meanwhile and may be used. Raises OSError."""
        return await self._pool.connect(self._destination, self.is_whole, takes_used=self._may_repeat)

    def repeats(self) -> bool:
        """Return whether the request is to be sent again, because its connection had been used before.

        The origin had closed it just then (RFC 9112 section 9.3.1). A request is repeated once, on a new connection.
        """
        self._may_repeat = False
        return self._is_used_one

    def put_back(self, upstream: Upstream) -> None:
        """Give back a connection that is not needed after all."""
        self._pool.give_back(self._destination, upstream)

    def ask(self, upstream: Upstream, user: UpstreamUser, request: Message) -> None:
        """Send what there is of the request; from now on `user` gets what the origin says."""
        upstream.user = user
        self._upstream, self.origin, self.facts = upstream, upstream.origin, upstream.facts
        self._is_used_one = upstream.was_used
        if self.is_whole is not always and self.is_whole():
            self.upload_ended()
        pieces, egress = request.chunks(), self._destination.egress
        if egress is not None and egress.forwards(tls=self._destination.tls):
            upstream.write(egress.forwarded(next(pieces), self._destination.authority))
        for piece in pieces:
            upstream.write(piece)

    def upload_ended(self) -> None:
        """Note that the request is all there now."""
        self._pool.upload_ended(self._destination, self._upstream)

    def write(self, data: bytes) -> None:
        """Write more of the request to the origin."""
        if self._upstream is not None:
            self._upstream.write(data)

    def pause(self) -> None:
        """Let the origin wait."""
        if self._upstream is not None:
            self._upstream.pause()

    def resume(self) -> None:
        """Listen to the origin again."""
        if self._upstream is not None:
            self._upstream.resume()

    def slow_down(self) -> None:
        """Let the origin have less time than others: what it says is mostly framing."""
        if self._upstream is not None:
            self._upstream.slow_down()

    def answered(self) -> None:
        """Note that the origin has given its answer."""
        if self._upstream is not None:
            self._upstream.answered()

    def free_place(self) -> None:
        """Set the connection apart for a conversation of perhaps hours: others need not wait for its end to connect to
        the origin.
        """
        self._is_apart = True
        self._pool.free_place(self._destination)

    def hang_up(self, *, reusable: bool = False) -> None:
        """End the use of the connection; `reusable` when the connection stands exactly between two messages."""
        upstream, self._upstream = self._upstream, None
        if upstream is None:
            return
        if self._is_apart:
            upstream.abort()
        elif reusable:
            self._pool.give_back(self._destination, upstream)
        else:
            self._pool.drop(self._destination, upstream)
