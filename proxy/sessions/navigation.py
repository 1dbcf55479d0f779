"""Tell from a request's head whether a browser opens a page by it. Pure.

Browsers say so in `Sec-Fetch-Dest` (W3C Fetch Metadata), which they send to https and to this machine alone. To other
sites they send `Upgrade-Insecure-Requests: 1` with each document, so that the document of a frame counts as a page.
"""

from __future__ import annotations

from archive.crawl_log import NAVIGATION
from proxy.protocol.http1 import RequestHead

__all__ = ["NAVIGATION", "opens_page"]


def opens_page(head: RequestHead) -> bool:
    """Return whether the request is for the document of a window."""
    destination = head.get(b"sec-fetch-dest")
    if destination is not None:
        return destination == b"document"
    return head.method in ("GET", "POST") and head.get(b"upgrade-insecure-requests") == b"1"
