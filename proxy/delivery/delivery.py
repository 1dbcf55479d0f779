"""The response as one client gets it: relayed as it comes, its end held back until it is known to be kept."""

from __future__ import annotations

from typing import Final, Protocol

from proxy.protocol import heads
from proxy.protocol.http1 import Framing, RequestHead, ResponseHead, hides_body
from proxy.recording.keep import Kept

_REASONS: Final = {
    400: "Bad Request",
    403: "Forbidden",
    **heads.LIMIT_PHRASES,
    502: "Bad Gateway",
    503: "Service Unavailable",
    504: "Gateway Timeout",
}


class Client(Protocol):
    """The client's side of one exchange has these methods."""

    @property
    def is_full(self) -> bool:
        """The client reads more slowly than the origin sends."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return what of its request could not be passed on, in the words of crawl.log."""

    def send(self, data: bytes) -> None:
        """Send bytes to the client."""

    def finish(self, *, keep_alive: bool, last: bytes = b"") -> None:
        """End the response with these `last` bytes."""

    def abort(self) -> None:
        """Break the connection visibly: the response will never be whole."""

    def upgraded(self) -> None:
        """Switch protocols, as the origin did: the client's bytes belong to it from now on."""

    def take_more(self) -> None:
        """Take more bytes of the client; there is room again."""


class Delivery:
    """The delivery hands one response to a client. Once the client has left, everything here does nothing."""

    def __init__(self, client: Client, request: RequestHead, via: bytes = b"") -> None:
        self._client: Client | None = client
        self._via = via
        self._request = request
        self._held = b""
        self._shape = Framing.LENGTH
        self._stays = False
        self._sent = False

    @property
    def is_wanted(self) -> bool:
        """Return whether the client is still there."""
        return self._client is not None

    @property
    def is_full(self) -> bool:
        """Return whether the origin should pause for the client's sake."""
        return self._client is not None and self._client.is_full

    @property
    def remarks(self) -> tuple[str, ...]:
        """Return what of its request a client that is still there could not have passed on."""
        return self._client.remarks if self._client is not None else ()

    @property
    def may_switch(self) -> bool:
        """Return whether the client asked for a WebSocket: only then may its next bytes go to this origin as they
        are.
        """
        return (self._request.get(b"upgrade") or b"").lower() == b"websocket"

    @property
    def wants_payload(self) -> bool:
        """Return whether the client must get the body without its chunks: it speaks HTTP/1.0, which has none."""
        return self._shape is Framing.CHUNKED and self._request.minor == 0

    def begin(self, head: ResponseHead, framing: Framing, length: int, *, stays: bool) -> bytes:
        """Return the head for this client, to be passed on or held with the body's first bytes.

        A body that ends with its connection is sent in chunks to an HTTP/1.1 client: so its end is a visible one,
        and the client's connection stays.
        """
        is_old = self._request.minor == 0
        self._shape = framing
        self._stays = (
            stays
            and not (is_old and framing in (Framing.CLOSE, Framing.CHUNKED))
            and not hides_body(head.status, framing, length)
        )
        return heads.client_head(head, framing, length, close=not self._stays, old_client=is_old, via=self._via)

    def shaped(self, piece: bytes) -> bytes:
        """Return bytes of the body in this client's framing."""
        return heads.chunk(piece) if self._shape is Framing.CLOSE and self._request.minor == 1 else piece

    def pass_on(self, data: bytes) -> None:
        """Pass on bytes that needn't wait."""
        if data and self._client is not None:
            self._sent = True
            self._client.send(data)

    def hold(self, data: bytes) -> None:
        """Hold the response's last bytes."""
        self._held = data + heads.LAST_CHUNK if self._shape is Framing.CLOSE and self._request.minor == 1 else data

    def let_go(self) -> None:
        """Send what was held: the response is kept, and the client may see its end."""
        client, self._client = self._client, None
        if client is not None:
            client.finish(keep_alive=self._stays, last=self._held)

    def cut(self) -> None:
        """Break off: what the client got is known to be short, or could not be kept."""
        client, self._client = self._client, None
        if client is not None:
            client.abort()

    def kept(self, kept: Kept) -> None:
        """Note what became of the capture, before `let_go`; most deliveries ignore it."""

    def refuse(self, status: int, code: int, word: str, text: str, extra: str = "") -> None:
        """Send an error of the proxy, or break the connection when the origin's response has begun already. `extra` is
        further header lines.
        """
        if self._sent:
            self.cut()
            return
        client, self._client = self._client, None
        if client is not None:
            extra += f"Ghostfleet-Error: {code} {word}\r\n" + ("Retry-After: 5\r\n" if status == 503 else "")
            client.send(heads.plain_answer(status, _REASONS.get(status, "Bad Gateway"), text, extra=extra))
            client.finish(keep_alive=False)

    def interim(self, head: ResponseHead) -> None:
        """Send a 100 Continue to a client that waits for one (RFC 9110 section 10.1.1)."""
        if self._client is not None and self._request.get(b"expect") is not None:
            self._client.send(heads.client_head(head, Framing.NONE, 0, close=False, old_client=False))

    def switch(self, head: ResponseHead) -> None:
        """Switch to the protocol that the origin uses from here on."""
        self.pass_on(heads.without_bare_cr(head.raw))
        if self._client is not None:
            self._client.upgraded()

    def hang_up(self) -> None:
        """End a switched protocol that the origin ended: what was passed on still arrives."""
        client, self._client = self._client, None
        if client is not None:
            client.finish(keep_alive=False)

    def take_more(self) -> None:
        """Let the client go on sending."""
        if self._client is not None:
            self._client.take_more()

    def leave(self) -> None:
        """Note that the client has left."""
        self._client = None
