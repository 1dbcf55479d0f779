"""This module describes what a client asks the archive for. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from archive.dates import Micros
from proxy.protocol.byte_range import ByteRange
from proxy.protocol.http1 import FieldLines
from proxy.replay.matching.visits import PageLoad


@dataclass(frozen=True, slots=True)
class WantedCapture:
    """A client asks the archive for this."""

    collection: str
    url: str
    method: str
    date: Micros | None
    ranges: tuple[ByteRange, ...]
    is_conditional: bool
    """A 304 may answer, when it has the validator that `fields` name."""
    exchange: str = ""
    """The id of the exchange in log lines."""
    body: str | None = None
    """The request's body as `archive.warc.records.request_query` writes it; None without a body."""
    body_sha256: str | None = None
    """The SHA-256 in hexadecimal digits of a body of which `body` has the beginning alone; None for other bodies."""
    fields: FieldLines = ()
    """The header lines of the request, by which one of several representations is chosen."""
    visit: PageLoad | None = None
    """The page visit to which the request belongs, as far as that is known."""
    page: PageLoad | None = None
    """The page visit that the request begins; None for everything but documents."""
    takes_similar: bool = False
    """The capture of a URL that differs only in volatile parts is an answer."""
    date_is_fixed: bool = False
    """The request itself names the date. The date of the visited page does not replace it then."""
    is_unchanged: bool = False
    """Documents come as they were recorded, without scripts of replay, and the nearest in time first."""
    untold: frozenset[str] = frozenset()
    """Header fields, in lower case, that the client can't send. They choose no representation."""
