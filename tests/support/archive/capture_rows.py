"""Captures as tests need them: all facts filled in, any of them changed by name."""

from __future__ import annotations

import hashlib
from typing import Any

from archive import url as urls
from archive.capture import Capture
from archive.dates import parse_date


def capture(url: str = "http://example.org/", date: str = "20260102030405", **changed: Any) -> Capture:
    """A capture of `url`; `date` as in a CDX file. Its record id follows from collection, file and offset."""
    facts: dict[str, Any] = {
        "collection": "news",
        "key": urls.key(url),
        "date": parse_date(date),
        "url": url,
        "mime": "text/html",
        "status": 200,
        "digest": "B2LTWWPUOYAH7UIPQ7ZUPQ4VMBSVC36A",
        "kind": "response",
        "filename": "news-20260102030405-1-0.warc.gz",
        "offset": 0,
        "length": 321,
        "payload_length": 5,
        "sha256": hashlib.sha256(url.encode()).hexdigest(),
    }
    facts |= changed
    name = f"{facts['collection']} {facts['filename']} {facts['offset']}".encode()
    digest = hashlib.md5(name, usedforsecurity=False).hexdigest()
    facts.setdefault("record_id", f"{digest[:8]}-{digest[8:12]}-{digest[12:16]}-{digest[16:20]}-{digest[20:]}")
    return Capture(**facts)
