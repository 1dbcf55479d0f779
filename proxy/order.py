"""What a client asks for, judged and ready to be fetched."""

from __future__ import annotations

from archive.facts import fact
from proxy.byterange import ByteRange
from proxy.gate import Session
from proxy.history import Earlier
from proxy.http1 import Framing, RequestHead
from proxy.policy import Policy
from proxy.upstream import Destination


@fact(frozen=True, slots=True)
class Order:
    """One request: its head as the client sent it, and what the origin is to get."""

    session: Session
    head: RequestHead
    url: str
    destination: Destination
    origin_head: bytes
    framing: Framing
    length: int
    policy: Policy
    part: ByteRange | None = None
    """What the client gets of the whole; None for all of it."""
    earlier: Earlier | None = None
    """The capture that the origin is asked about; None when it is not asked."""

    @property
    def shown_url(self) -> str:
        """The URL as log lines may have it."""
        return self.session.spec.redaction.url(self.url)
