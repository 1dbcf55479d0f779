"""What stands between those who read requests and those who answer them, whichever protocol the client speaks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from proxy.delivery import Client
from proxy.gate import Session
from proxy.http1 import RequestHead


class Exchanging(Protocol):
    """An exchange under way, as the client's side sees it."""

    @property
    def id(self) -> str:
        """What all log lines about it have in common; empty for what is not logged."""

    @property
    def request_is_whole(self) -> bool:
        """Whether the request's last byte is here."""

    @property
    def wants_no_more(self) -> bool:
        """Whether the client must stop sending for now."""

    @property
    def ends_with_client(self) -> bool:
        """Whether there is no end but the client's leaving."""

    def request_data(self, data: bytes) -> int:
        """The next bytes of the request's body; how many belong to it. Raises BadMessage, OSError."""

    def client_data(self, data: bytes) -> None:
        """Bytes of a switched protocol."""

    def client_writable(self) -> None:
        """The client takes more again."""

    def client_left(self) -> None:
        """The client is gone."""


@dataclass(frozen=True, slots=True)
class Tunnel:
    """What a CONNECT asked for: requests inside it go there, on behalf of that session."""

    authority: str
    session: Session
    trusted: bool
    tls: bool


class Desk(Protocol):
    """Where requests are taken in."""

    def begin(
        self, head: RequestHead, tunnel: Tunnel | None, listener: Session | None, client: Client, *, is_local: bool
    ) -> Exchanging:
        """Start the exchange. Raises Refused or BadMessage."""

    def connect(self, head: RequestHead, listener: Session | None, *, is_local: bool) -> Tunnel:
        """Judge a CONNECT. Raises Refused or BadMessage."""
