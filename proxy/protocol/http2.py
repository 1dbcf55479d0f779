"""This module has the state machine of HTTP/2 (RFC 9113) for clients: mitmproxy's, with windows of a bounded size.

mitmproxy takes in as much of a body as the peer cares to send. Here a stream's window is one mebibyte and is given
back only as its bytes are taken, so that who sends too fast is the one who waits.

This is the only module that imports h2, and the only one that uses names which h2 keeps private. The other modules
import `events`, `ErrorCodes` and `ProtocolError` from here. `tests/test_library_contracts.py` compares the private
names with the installed release.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from h2 import events as events
from h2.config import H2Configuration
from h2.errors import ErrorCodes as ErrorCodes
from h2.events import Event
from h2.exceptions import ProtocolError as ProtocolError
from h2.settings import SettingCodes

from archive.capture import Trailers
from proxy.protocol.answer import HOP_BY_HOP
from proxy.protocol.heads import NEVER_FORWARDED
from proxy.protocol.http1 import TOKEN, BadMessage
from proxy.protocol.mitmproxy_adapter import BufferedH2Connection

WINDOW: Final = 1 << 20
_FULL: Final = 1 << 18
_LINE_ENDS: Final = re.compile(rb"[\x00\r\n]")
_FORBIDDEN: Final = HOP_BY_HOP - {b"te"}
_PSEUDO: Final = frozenset((b":method", b":scheme", b":authority", b":path"))
_NO_TRAILERS: Final = HOP_BY_HOP | {b"content-length", b"host"}
"""Behind a body these would say anew where it goes or ends (RFC 9110 section 6.5.1)."""

type Headers = Iterable[tuple[bytes, bytes]]


@dataclass
class GoAway(Event):
    """The peer takes no streams above `last_stream_id`; those up to it go on."""

    last_stream_id: int
    error_code: int

    @property
    def is_orderly(self) -> bool:
        """Return whether the peer only means to close: then its streams under way will be finished."""
        return self.error_code == ErrorCodes.NO_ERROR


class Http2Wire(BufferedH2Connection):
    """An HTTP/2 wire holds one connection's state: bytes in, events out; output waits in `data_to_send`."""

    def __init__(self, *, max_head_bytes: int) -> None:
        super().__init__(
            H2Configuration(
                client_side=False,
                header_encoding=False,
                validate_inbound_headers=False,
                normalize_inbound_headers=False,
                validate_outbound_headers=False,
                normalize_outbound_headers=False,
            )
        )
        self.local_settings.initial_window_size = WINDOW
        self.local_settings[SettingCodes.MAX_HEADER_LIST_SIZE] = max_head_bytes
        self.local_settings.acknowledge()
        self.decoder.max_header_list_size = max_head_bytes

    def events(self, data: bytes) -> list[Event]:
        """Return what these bytes say. Raises ProtocolError; what to answer then is in `data_to_send`."""
        try:
            found: list[Event] = self.receive_data(data)
        except (ValueError, IndexError) as error:  # h2 lets these through on some malformed frames
            raise ProtocolError(f"malformed frame: {error}") from error
        rest = self.incoming_buffer._data
        if len(rest) >= 3 and int.from_bytes(rest[:3]) > self.max_inbound_frame_size:
            # h2 would first take in the whole frame, up to 16 MiB (section 4.2).
            self.close_connection(ErrorCodes.FRAME_SIZE_ERROR)
            raise ProtocolError("a frame is longer than allowed")
        return found

    def buffered(self, stream_id: int) -> int:
        """Return bytes of that stream that wait for its peer's window."""
        return sum(len(item.data) for item in self.stream_buffers.get(stream_id, ()))

    def is_full(self, stream_id: int) -> bool:
        """Return whether more should not be sent on that stream for now."""
        return stream_id in self.stream_buffers and self.buffered(stream_id) > _FULL

    def _begin_new_stream(self, stream_id: int, allowed_ids: Any) -> Any:
        """Return a new stream of h2 that does not check Content-Length.

        h2 would end the whole connection for one wrong length. Here the reader of the body judges the length.
        """
        stream = super()._begin_new_stream(stream_id, allowed_ids)
        stream._track_content_length = lambda length, end_stream: None  # type: ignore[method-assign]
        return stream

    def _receive_goaway_frame(self, frame: Any) -> tuple[list[Any], list[Event]]:
        """Return the frame as `GoAway`, and let the streams up to the last one named go on (section 6.8).

        h2 would refuse every further frame.
        """
        return [], [GoAway(frame.last_stream_id, frame.error_code)]


def header_lines(headers: Headers, *, forbidden: frozenset[bytes]) -> list[bytes]:
    """Return the fields behind the pseudo-headers as HTTP/1 lines without ends. Raises BadMessage (section 8.2)."""
    lines: list[bytes] = []
    for name, value in headers:
        if name.startswith(b":"):
            continue
        if not TOKEN.fullmatch(name) or name in forbidden or _LINE_ENDS.search(value):
            raise BadMessage(f"header {name[:100]!r} can't be in HTTP/2, or its value is none")
        lines.append(name + b": " + value)
    return lines


def pseudo(headers: Headers) -> dict[bytes, bytes]:
    """Return the pseudo-headers. Raises BadMessage for one that is repeated (section 8.3)."""
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if name.startswith(b":"):
            if name in found or _LINE_ENDS.search(value):
                raise BadMessage(f"pseudo-header {name[:100]!r} is repeated, or its value is none")
            found[name] = value
    return found


def request_lines(headers: Headers) -> bytes:
    """Return a request as HTTP/1.1 says it. Raises BadMessage.

    Cookies in several fields become one (section 8.2.3). A body without a length goes in chunks; the caller says so.
    """
    headers = list(headers)
    known, lines = pseudo(headers), header_lines(headers, forbidden=_FORBIDDEN)
    _check_request(headers)
    method, path, authority = (known.get(name, b"") for name in (b":method", b":path", b":authority"))
    if not path.startswith((b"/", b"*")) or not method or not known.get(b":scheme"):
        raise BadMessage(f"a request of {method[:20]!r} for {path[:100]!r} by {known.get(b':scheme', b'')[:20]!r}")
    cookies = [line for line in lines if line.startswith(b"cookie:")]
    if len(cookies) > 1:
        whole = b"cookie: " + b"; ".join(line.partition(b": ")[2] for line in cookies)
        at = lines.index(cookies[0])
        lines = [line for line in lines if not line.startswith(b"cookie:")]
        lines.insert(at, whole)
    if authority:
        lines = [b"host: " + authority, *(line for line in lines if not line.startswith(b"host:"))]
    return b"\r\n".join((method + b" " + path + b" HTTP/1.1", *lines, b""))


def _check_request(headers: Iterable[tuple[bytes, bytes]]) -> None:
    """Check what clients, other than origins, must obey (sections 8.2 and 8.3). Raises BadMessage."""
    is_behind = False
    for name, value in headers:
        if not name.startswith(b":"):
            is_behind = True
            if name != name.lower():
                raise BadMessage(f"header {name[:100]!r} has capital letters")
            if name == b"te" and value != b"trailers":
                raise BadMessage(f"TE: {value[:100]!r} where only 'trailers' may be said")
        elif is_behind or name not in _PSEUDO:
            raise BadMessage(f"pseudo-header {name[:100]!r} stands behind others, or is none of a request")


def request_trailers(headers: Headers) -> list[bytes]:
    """Return lines of the fields behind a request's body, without those that are for us. Raises BadMessage."""
    fields = [(name, value) for name, value in headers if name not in NEVER_FORWARDED]
    if pseudo(fields):
        raise BadMessage("a pseudo-header among the trailers")
    return header_lines(fields, forbidden=_NO_TRAILERS)


def sendable(fields: Headers) -> Trailers:
    """Return the fields of a head or of trailers that HTTP/2 can say (section 8.2)."""
    named = ((name.lower(), value) for name, value in fields)
    return tuple((name, value) for name, value in named if TOKEN.fullmatch(name) and name not in HOP_BY_HOP)
