"""What the client gets when the origin says 304 to a question of ours: the earlier capture, whole.

The head is the earlier capture's, updated by the 304's as RFC 9111 section 4.3.4 has caches do; the archive has the
304 itself.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from proxy.delivery import Client, Delivery
from proxy.history import Earlier
from proxy.http1 import Framing, RequestHead, ResponseHead
from proxy.telling import Telling

_OF_THE_STORED: Final = frozenset((b"content-encoding", b"content-type"))
"""What a 304 can't change: it describes the bytes that the archive has."""
_DROPPED: Final = frozenset(
    (
        *(b"content-length", b"transfer-encoding", b"trailer", b"content-range"),
        *(b"connection", b"keep-alive", b"upgrade", b"proxy-connection"),
    )
)
_OF_THE_MOMENT: Final = frozenset((b"set-cookie", b"age", b"warning", b"clear-site-data", b"alt-svc"))
"""What the earlier response said of its own time only."""


class _Substitute(Delivery):
    """Shows a 200 where the origin said 304; any other response as it is."""

    earlier: Earlier

    def begin(self, head: ResponseHead, framing: Framing, *, stays: bool) -> bytes:
        """The head for this client."""
        if head.status == 304:
            self.earlier.is_answer = True
            head, framing = freshened(self.earlier, head), Framing.LENGTH
        return super().begin(head, framing, stays=stays)


class Substitute(_Substitute):
    """For most clients."""


class TellingSubstitute(_Substitute, Telling):
    """For one that wants to hear of its capture."""


def substitute(
    client: Client, request: RequestHead, earlier: Earlier, telling: tuple[int, bool] | None, via: bytes
) -> Delivery:
    """The delivery for a question of ours; `telling` is the capture's date and whether its record is to be told."""
    delivery: _Substitute
    if telling is None:
        delivery = Substitute(client, request, via)
    else:
        delivery = TellingSubstitute(client, request, telling[0], with_record=telling[1], via=via)
    delivery.earlier = earlier
    return delivery


def freshened(earlier: Earlier, said: ResponseHead) -> ResponseHead:
    """The earlier capture's head with what the 304 says now."""
    new = [field for field in said.fields if field[0] and field[0] not in _DROPPED | _OF_THE_STORED]
    replaced = {name for name, _, _ in new} | _DROPPED | _OF_THE_MOMENT | {b""}
    fields = [field for field in earlier.head.fields if field[0] not in replaced]
    length = b"%d" % earlier.body.length
    fields += [*new, (b"content-length", length, b"Content-Length: %s\r\n" % length)]
    return replace(earlier.head, fields=tuple(fields))
