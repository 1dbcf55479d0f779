"""Patch mode answers from the archive when it can, and fetches and records what is missing there."""

from __future__ import annotations

import logging
from collections.abc import Callable

from proxy.delivery.delivery import Client
from proxy.fetch.contracts import ClientExchange, NeverUpgraded
from proxy.protocol import heads
from proxy.protocol.http1 import Framing, RequestHead
from proxy.refusal import Refused
from proxy.replay.replayer import Replay

log = logging.getLogger(__name__)


def asks_archive(head: RequestHead, framing: Framing, *, is_upgrade: bool) -> bool:
    """Return whether an archived answer would do: whatever sends data, or switches protocols, wants the live web."""
    return head.method in ("GET", "HEAD") and framing is Framing.NONE and not is_upgrade


class Patch(NeverUpgraded):
    """A request that is a replay first, and a fetch after a miss."""

    def __init__(
        self, client: Client, replay: Callable[[Callable[[], None]], Replay], fetch: Callable[[], ClientExchange]
    ):
        """`replay` gets what to call at a miss; `fetch` may raise Refused."""
        self._client = client
        self._fetch = fetch
        self._now: ClientExchange = replay(self._missed)

    @property
    def id(self) -> str:
        return self._now.id

    @property
    def request_is_whole(self) -> bool:
        return self._now.request_is_whole

    @property
    def ends_with_client(self) -> bool:
        return self._now.ends_with_client

    @property
    def wants_no_more(self) -> bool:
        return self._now.wants_no_more

    def request_data(self, data: bytes) -> int:
        """Return 0: only requests without a body come here."""
        return self._now.request_data(data)

    def client_writable(self) -> None:
        self._now.client_writable()

    def client_left(self) -> None:
        self._now.client_left()

    def _missed(self) -> None:
        try:
            self._now = self._fetch()
        except Refused as refused:
            self._client.send(heads.refusal(refused.status, refused.word, str(refused)))
            self._client.finish(keep_alive=False)
