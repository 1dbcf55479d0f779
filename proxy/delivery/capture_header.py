"""A response may tell its client what becomes of the capture, in a `Warcprox-Meta` header.

`accept: ["capture-metadata"]` is answered as warcprox does, with the capture's time, at no delay. Who asks for
`capture-record` too gets the record's id and whether it is a revisit, which is known only once it is kept, while a
header must come first. So the head of such a response waits for its end, as long as the whole has at most 64 KiB and
is no event stream; larger ones are passed on as they come, and then tell the time alone.
"""

from __future__ import annotations

from typing import Any, Final

from archive.dates import Micros, iso_date
from proxy.delivery.delivery import Client, Delivery
from proxy.protocol.http1 import Framing, RequestHead, ResponseHead
from proxy.recording.keep import Kept
from proxy.refusal import meta_line

_PATIENCE_BYTES: Final = 65_536


def capture_meta(date: Micros, kept: Kept | None) -> dict[str, Any]:
    """Return the header's JSON: warcprox's whole seconds, and the record when it is known."""
    told: dict[str, Any] = {"timestamp": f"{iso_date(date)[:19]}Z"}
    capture = kept.capture if kept is not None else None
    if kept is not None and capture is not None:
        told |= {
            "record-id": f"urn:uuid:{capture.record_id}",
            "revisit": kept.is_revisit,
            "filename": capture.filename,
            "offset": capture.offset,
        }
    elif kept is not None:
        told["record-id"] = None
    return {"capture-metadata": told}


class CaptureHeader(Delivery):
    """The delivery has a head that tells of the capture."""

    def __init__(
        self, client: Client, request: RequestHead, date: Micros, *, with_record: bool, via: bytes = b""
    ) -> None:
        super().__init__(client, request, via)
        self._date = date
        self._with_record = with_record
        self._kept: Kept | None = None
        self._head = b""
        self._early: list[bytes] = []

    def begin(self, head: ResponseHead, framing: Framing, length: int, *, stays: bool) -> bytes:
        """Return the head itself waits here, or is given back with what can be told at once."""
        self._head = super().begin(head, framing, length, stays=stays)
        if self._with_record and head.mime != "text/event-stream":
            return b""
        return self._take_head()

    def pass_on(self, data: bytes) -> None:
        """Pass on bytes that needn't wait, unless for the head."""
        if not self._head:
            super().pass_on(data)
            return
        self._early.append(data)
        if sum(map(len, self._early)) > _PATIENCE_BYTES:
            super().pass_on(self._take_head() + self._take_early())

    def kept(self, kept: Kept) -> None:
        """Note what became of the capture."""
        self._kept = kept

    def let_go(self) -> None:
        """Send head, body and end: the response is kept."""
        self._held = self._take_head() + self._take_early() + self._held
        super().let_go()

    def cut(self) -> None:
        """Break off behind what there is."""
        super().pass_on(self._take_head() + self._take_early())
        super().cut()

    def _take_head(self) -> bytes:
        head, self._head = self._head, b""
        line = meta_line(capture_meta(self._date, self._kept)).encode() if head else b""
        return head.removesuffix(b"\r\n") + line + b"\r\n" if head else b""

    def _take_early(self) -> bytes:
        early, self._early = b"".join(self._early), []
        return early
