"""What a CDX server elsewhere is asked about one payload, and which line of its answer is an original. Pure.

Asked is for the last captures of the URL: `fl=timestamp,digest,original`, as plain text. pywb, OutbackCDX and Wayback's
CDX server understand every word of it, but not more: a negative limit is Wayback's alone (the others answer it with
nothing), so the last are those closest to now; and a filter by digest would have to know in which encoding the archive
has it, for warcprox writes base16 unless it is told otherwise.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, urlencode

from archive import url as urls
from archive.capture import Original
from archive.cdx_address import CdxAddress
from archive.dates import Micros, parse_date, timestamp14
from archive.digest import parse as parse_digest
from dedupdb.claims import Want

_LIMIT: Final = 20
"""Of a page that changes to and fro, a capture further back is not found, and its payload kept once more."""
_TIMESTAMP: Final = re.compile(r"(\d{14})(?:\d{3})?", re.ASCII)
_ABSOLUTE: Final = re.compile(r"https?://[^/]", re.IGNORECASE)


def target(address: CdxAddress, want: Want, now: Micros) -> str:
    """Path and query to ask for. Of the address's own parameters all that are not ours, and any filters."""
    asked = [
        ("url", want.url),
        ("matchType", "exact"),  # else a * at either end of the URL would ask for many
        ("output", "text"),
        ("fl", "timestamp,digest,original"),
        ("filter", "!mimetype:warc/revisit"),
        ("sort", "closest"),
        ("closest", timestamp14(now)),
        ("limit", str(_LIMIT)),
        ("gzip", "false"),  # Wayback's would pack its answer whether or not it may
    ]
    ours = {name for name, _ in asked} - {"filter"}
    given = [pair for pair in parse_qsl(address.parameters, keep_blank_values=True) if pair[0] not in ours]
    return f"{address.path}?{urlencode([*given, *asked], errors='replace')}"


def original_in(answer: bytes, want: Want, archive: str, now: Micros) -> Original | None:
    """The first capture in the lines that holds these bytes; None when there is none. What can't be read is no capture.

    `want.digest` is a SHA-1, in the lines in base32 or base16, with its label or without.

    Its date is known to the second, its record id is not. Where the settings keep dedup within a URL, it is of that.
    """
    for line in answer.split(b"\n"):
        found = _capture(line, want, archive)
        if found is not None and 0 < found.date <= now and want.border in ("", found.url, urls.key(found.url)):
            return found
    return None


def _capture(line: bytes, want: Want, archive: str) -> Original | None:
    try:
        words = line.decode().split()
        if len(words) not in (2, 3):
            return None
        stamp, digest, named = (*words, "-")[:3]
        url = want.url if named == "-" else named  # as pywb has it, which knows the field by another name
        date = _TIMESTAMP.fullmatch(stamp)
        algorithm, value = parse_digest(digest if ":" in digest else f"sha1:{digest}")
        if date is None or (algorithm, value) != ("sha1", want.digest):
            return None
        if not url.isprintable() or not _ABSOLUTE.match(url):
            return None
        return Original("", url, parse_date(date[1]), archive=archive)
    except ValueError:  # no UTF-8, or a 31st of June
        return None
