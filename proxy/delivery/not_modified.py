"""The client gets the earlier capture, whole, when the origin answers 304 to a conditional request of the proxy.

The head is the earlier capture's, updated by the 304's as RFC 9111 section 4.3.4 has caches do. The archive gets the
304 itself, and a revisit with such a head, unless `dedup.not_modified` says otherwise. The question named the ETag of
the capture alone. So the 304 confirms the capture (RFC 9110 section 13.1.2), also when it names another ETag.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from archive.capture import Unchanged
from archive.warc.reading.reader import MAX_HTTP_HEAD
from proxy.delivery.capture_header import CaptureHeader
from proxy.delivery.delivery import Client, Delivery
from proxy.delivery.earlier import Earlier
from proxy.protocol import heads
from proxy.protocol.http1 import MOST_LINES, Framing, RequestHead, ResponseHead

_OF_THE_STORED: Final = frozenset((b"content-encoding", b"content-type"))
"""The fields that a 304 can't change: they describe the bytes that the archive has."""
_DROPPED: Final = frozenset(
    (
        *(b"content-length", b"transfer-encoding", b"trailer", b"content-range"),
        *(b"connection", b"keep-alive", b"upgrade", b"proxy-connection"),
    )
)
_CONDITIONS: Final = frozenset((b"if-none-match", b"if-modified-since"))
_OF_THE_MOMENT: Final = frozenset((b"set-cookie", b"age", b"warning", b"clear-site-data", b"alt-svc"))
"""The fields in which the earlier response spoke of its own time only."""


class _Substitute(Delivery):
    """Shows a 200 where the origin said 304; any other response as it is."""

    earlier: Earlier

    def begin(self, head: ResponseHead, framing: Framing, length: int, *, stays: bool) -> bytes:
        """Return the head for this client."""
        if head.status == 304:
            self.earlier.is_answer = True
            head, framing, length = freshened(self.earlier, head), Framing.LENGTH, self.earlier.body.length
        return super().begin(head, framing, length, stays=stays)

    def refuse(self, status: int, code: int, word: str, text: str, extra: str = "") -> None:
        """Send an error, behind which the earlier payload must not follow."""
        self.earlier.is_answer = False
        super().refuse(status, code, word, text, extra)


class Substitute(_Substitute):
    """Most clients get this substitute."""


class SubstituteWithCaptureHeader(_Substitute, CaptureHeader):
    """A client that asks for its capture's metadata gets this substitute."""


def substitute(
    client: Client, request: RequestHead, earlier: Earlier, telling: tuple[int, bool] | None, via: bytes
) -> Delivery:
    """Return the delivery for a question of ours; `telling` is the capture's date and whether its record is to be
    told.
    """
    delivery: _Substitute
    if telling is None:
        delivery = Substitute(client, request, via)
    else:
        delivery = SubstituteWithCaptureHeader(client, request, telling[0], with_record=telling[1], via=via)
    delivery.earlier = earlier
    return delivery


def without_conditions(head: RequestHead) -> RequestHead:
    """Return the request without the client's own conditions, so that the origin sends the whole."""
    return replace(head, fields=tuple(field for field in head.fields if field[0] not in _CONDITIONS))


def unchanged(earlier: Earlier, said: ResponseHead) -> Unchanged:
    """Return what the archive is to be told of a 304."""
    return Unchanged(
        earlier.original,
        earlier.digest,
        earlier.body.length,
        _recorded_head(earlier, said) if earlier.has_head else None,
    )


def _recorded_head(earlier: Earlier, said: ResponseHead) -> bytes | None:
    """Return the updated head as the revisit has it; None for a head that readers of the record would refuse.

    Readers put it before the block of the original's record, so it says of that how it ends: it may be in chunks.
    Each 304 can add fields to the head of the one before, so the sum has no bound but this one.
    """
    head = freshened(earlier, said)
    lines = [line for name, _, line in head.fields if name != b"content-length"]
    lines += [line for _, _, line in earlier.framing]
    fields = b"".join(line.rstrip(b"\r\n") + b"\r\n" for line in lines)
    recorded = b"HTTP/1.%d %d %s\r\n%s\r\n" % (head.minor, head.status, head.reason, fields)
    return recorded if len(recorded) <= MAX_HTTP_HEAD and recorded.count(b"\n") <= MOST_LINES else None


def freshened(earlier: Earlier, said: ResponseHead) -> ResponseHead:
    """Return the earlier capture's head with what the 304 says now.

    An ETag of the capture stays, since it names the bytes that the archive has.
    """
    kept = _DROPPED | _OF_THE_STORED | {name for name, _, _ in earlier.head.fields if name == b"etag"}
    new = [
        (name, value, heads.whole_line(name, value, line))
        for name, value, line in said.fields
        if name and b"\r" not in name and name not in kept
    ]
    replaced = {name for name, _, _ in new} | _DROPPED | _OF_THE_MOMENT | {b""}
    fields = [field for field in earlier.head.fields if field[0] not in replaced]
    length = b"%d" % earlier.body.length
    fields += [*new, (b"content-length", length, b"Content-Length: %s\r\n" % length)]
    return replace(earlier.head, fields=tuple(fields))
