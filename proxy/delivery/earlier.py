"""An origin can be asked whether a page has changed since an earlier capture of its URL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from archive.capture import Message, Original
from proxy.protocol.http1 import Field, ResponseHead


@dataclass(slots=True)
class Earlier:
    """An earlier capture has the whole payload, and the questions that an origin may be asked about it."""

    original: Original
    head: ResponseHead
    """Of the newest capture with this payload."""
    body: Message
    """The payload, its content coding kept; without a head."""
    questions: bytes
    """Header lines to ask with; empty when the client asks for itself."""
    close: Callable[[], None]
    """Lets the payload go."""
    digest: str = ""
    """The payload's, as the original's record names it, with its label."""
    framing: tuple[Field, ...] = ()
    """The fields of the original's head that tell how its block ends."""
    has_head: bool = True
    """The revisit record has the page's head rather than the 304."""
    is_answer: bool = False
    """The origin has said that this is what the client is to get."""
