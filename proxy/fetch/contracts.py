"""Layers that read requests and objects that answer them meet in these interfaces, for HTTP/1 and HTTP/2 alike."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from proxy.delivery.delivery import Client
from proxy.protocol.http1 import RequestHead
from proxy.sessions.session import Session


class RequestSink(Protocol):
    """The client's side gives a request's bytes to this part of an exchange, and tells it about the client."""

    @property
    def id(self) -> str:
        """Return the name that all log lines about the exchange share; an empty string when nothing is logged."""

    @property
    def request_is_whole(self) -> bool:
        """Return whether the request's last byte is here."""

    @property
    def wants_no_more(self) -> bool:
        """Return whether the client must stop sending for now."""

    def request_data(self, data: bytes) -> int:
        """Take the next bytes of the request's body. Return how many of them belong to the body. Raises BadMessage,
        OSError.
        """

    def client_writable(self) -> None:
        """Note that the client takes more bytes again."""

    def client_left(self) -> None:
        """Note that the client has left."""


class Upgradable(Protocol):
    """The client's side asks this part of an exchange about a change of protocol, or a response without an end."""

    @property
    def ends_with_client(self) -> bool:
        """Return whether there is no end but the client's leaving."""

    def client_data(self, data: bytes) -> None:
        """Take bytes of the protocol that client and origin have switched to."""


class ClientExchange(RequestSink, Upgradable, Protocol):
    """The client's side sees an exchange in progress in this way."""


class NeverUpgraded:
    """Exchanges that end by themselves and switch no protocol inherit the answers to `Upgradable`."""

    @property
    def ends_with_client(self) -> bool:
        return False

    def client_data(self, data: bytes) -> None:
        """Ignore the bytes: no protocol was switched."""


@dataclass(frozen=True, slots=True)
class Tunnel:
    """A CONNECT asked for this: requests inside the tunnel go there, for that session."""

    authority: str
    session: Session
    trusted: bool
    tls: bool


class RequestDispatcher(Protocol):
    """The dispatcher takes requests in."""

    def begin(
        self,
        head: RequestHead,
        tunnel: Tunnel | None,
        listener: Session | None,
        client: Client,
        *,
        is_local: bool,
        address: str,
    ) -> ClientExchange:
        """Start the exchange. `address` is the client's. Raises Refused or BadMessage."""

    def connect(self, head: RequestHead, listener: Session | None, *, is_local: bool, address: str) -> Tunnel:
        """Judge a CONNECT. Raises Refused or BadMessage."""
