"""What a CDX server elsewhere is asked about one payload, and which line of its answer is an original. Pure.

Asked is for captures of the URL with the digest: `fl=timestamp,digest,original`, as plain text. pywb, OutbackCDX and
Wayback's CDX server understand every word of it. A negative limit, for the last captures, would be Wayback's alone:
pywb and OutbackCDX answer it with nothing. Literals are what all three take for a filter (as part of the field, as
the whole of it, as a regular expression), so the digest is filtered by in base32, as nearly every archive has it.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import urlencode

from archive import url as urls
from archive.capture import Micros, Original, parse_date
from archive.cdx_address import CdxAddress
from archive.digest import base32
from archive.digest import parse as parse_digest
from dedupdb.claims import Want

_LIMIT: Final = 10
_TIMESTAMP: Final = re.compile(r"(\d{14})(?:\d{3})?", re.ASCII)
_ABSOLUTE: Final = re.compile(r"https?://[^/]", re.IGNORECASE)


def target(address: CdxAddress, want: Want) -> str:
    """Path and query to ask for. `want.digest` is a SHA-1."""
    asked = [
        ("url", want.url),
        ("matchType", "exact"),  # else a * at either end of the URL would ask for many
        ("output", "text"),
        ("fl", "timestamp,digest,original"),
        ("filter", "!mimetype:warc/revisit"),
        ("filter", f"digest:{base32(want.digest)}"),
        ("limit", str(_LIMIT)),
    ]
    given = f"{address.parameters}&" if address.parameters else ""
    return f"{address.path}?{given}{urlencode(asked, errors='replace')}"


def original_in(answer: bytes, want: Want, archive: str, now: Micros) -> Original | None:
    """The first capture in the lines that holds these bytes; None when there is none. What can't be read is no capture.

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
