"""An incoming request is a client's request as it was read: its head, the form of its body, and who sent it."""

from __future__ import annotations

from archive.fast_frozen import fast_frozen
from proxy.delivery.delivery import Client
from proxy.fetch.target import Target
from proxy.protocol.http1 import Framing, RequestHead
from proxy.sessions.request_options import Meta
from proxy.sessions.session import Session


@fast_frozen(frozen=True, slots=True)
class IncomingRequest:
    """The request goes to what answers it: a fetch, the archive, or a session's scripts."""

    head: RequestHead
    framing: Framing
    length: int
    """Bytes of the body when `framing` is `Framing.LENGTH`."""
    target: Target
    session: Session
    meta: Meta
    """The wishes in the request's headers Warcprox-Meta and Ghostfleet-Accept."""
    client: Client
    """The client's side, which takes the response."""
    address: str = ""
    """The client's address; empty when nobody asks for it."""
