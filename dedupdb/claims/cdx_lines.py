"""This module writes the question about one payload to a CDX server of another archive, and finds the original in the
answer. No I/O.

The question is for the last captures of the URL, as `fl=timestamp,digest,original` in plain text. It uses only
parameters that pywb, OutbackCDX and Wayback's CDX server share. Only Wayback knows a negative limit, so the question is
for the captures closest to now. A filter by digest would have to know whether the archive writes base32 or, as warcprox
by default, base16.
"""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import parse_qsl, urlencode

from archive import url as urls
from archive.capture import Original
from archive.dates import Micros, parse_date, timestamp14
from archive.digest import parse as parse_digest
from archive.settings.values.cdx_address import CdxAddress
from dedupdb.claims.claims import PayloadKey

_LIMIT: Final = 20
"""Number of captures that are asked for. A payload that is further back is kept once more."""
_TIMESTAMP: Final = re.compile(r"(\d{14})(?:\d{3})?", re.ASCII)
_ABSOLUTE: Final = re.compile(r"https?://[^/]", re.IGNORECASE)


def target(address: CdxAddress, payload: PayloadKey, now: Micros) -> str:
    """Return path and query of the question, with the parameters of the address that do not contradict it."""
    asked = [
        ("url", payload.url),
        ("matchType", "exact"),  # otherwise a * at either end of the URL would ask for many URLs
        ("output", "text"),
        ("fl", "timestamp,digest,original"),
        ("filter", "!mimetype:warc/revisit"),
        ("sort", "closest"),
        ("closest", timestamp14(now)),
        ("limit", str(_LIMIT)),
        ("gzip", "false"),  # Wayback would compress its answer in any case
    ]
    ours = {name for name, _ in asked} - {"filter"}
    given = [pair for pair in parse_qsl(address.parameters, keep_blank_values=True) if pair[0] not in ours]
    return f"{address.path}?{urlencode([*given, *asked], errors='replace')}"


def original_in(answer: bytes, payload: PayloadKey, archive: str, now: Micros) -> Original | None:
    """Return the first capture of the payload in the lines; None when there is none. Unreadable lines are ignored.

    `payload.digest` is a SHA-1. The lines have it in base32 or base16, with a label or without.

    The capture has its date to the second and no record id. Where dedup is limited to a URL, the capture has this URL.
    """
    for line in answer.split(b"\n"):
        found = _capture(line, payload, archive)
        if found is not None and 0 < found.date <= now and payload.border in ("", found.url, urls.key(found.url)):
            return found
    return None


def _capture(line: bytes, payload: PayloadKey, archive: str) -> Original | None:
    try:
        words = line.decode().split()
        if len(words) not in (2, 3):
            return None
        stamp, digest, named = (*words, "-")[:3]
        url = payload.url if named == "-" else named  # pywb knows the field by another name, and answers -
        date = _TIMESTAMP.fullmatch(stamp)
        algorithm, value = parse_digest(digest if ":" in digest else f"sha1:{digest}")
        if date is None or (algorithm, value) != ("sha1", payload.digest):
            return None
        if not url.isprintable() or not _ABSOLUTE.match(url):
            return None
        return Original("", url, parse_date(date[1]), archive=archive)
    except ValueError:  # not UTF-8, or a date such as 31 June
        return None
