"""CDX lines with eleven columns, parted by spaces, as most tools of web archives read them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from archive.capture import Capture

HEAD: Final = " CDX N b a m s k r M S V g"
"""Key, date, URL, media type, status, digest, redirect, meta tags, length, offset and file name."""


def line(capture: Capture) -> str:
    """Return the capture's line, without a line end."""
    status = "-" if capture.status is None else str(capture.status)
    columns = (
        *(capture.key, capture.timestamp, capture.url, capture.cdx_mime, status, capture.digest or "-", "-", "-"),
        *(str(capture.length), str(capture.offset), capture.filename),
    )
    return " ".join(column.replace(" ", "%20") or "-" for column in columns)


def lines(captures: Iterable[Capture]) -> Iterator[str]:
    """Yield the head and a line for each capture, in the order given."""
    yield HEAD
    yield from map(line, captures)
