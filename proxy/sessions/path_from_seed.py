"""crawl.log tells where a request comes from: hop path, via, and the name of the log. Pure.

Traffic without a session is logged as warcprox logs it: a file for each `warc-prefix`, and a via that is the request's
`Referer` or what its `Warcprox-Meta` says.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from urllib.parse import quote

from archive.url import UrlError, ascii_host
from proxy.sessions.spec import SessionSpec

_URL: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*://)([^/?#@]*@)?([^/?#:@\[\]]+)(.*)", re.DOTALL)
_NUMBER: Final = re.compile(r"[1-9][0-9]{0,5}")
_PRINTABLE: Final = "".join(map(chr, range(0x21, 0x7F)))


def log_ending(port: int) -> str:
    """Return how the names of the logs of the proxy at that port of this machine end."""
    return f"-{socket.gethostname().partition('.')[0]}-{port}.log"


def log_name(spec: SessionSpec, prefix: str | None) -> str:
    """Return the name of the log for a request with that `warc-prefix`; empty for the session's only one."""
    return f"{prefix or 'crawl'}{spec.log_ending}" if spec.log_ending else ""


def hop_path_and_via(
    spec: SessionSpec, facts: Mapping[str, str], url: str, referrer: str | None
) -> tuple[str, str | None]:
    """Return the hop path and the via of a URL; `facts` are the request's own, `referrer` its Referer header.

    What a page asks for beside itself is an embed of it: hop `E`. A brozzler-like client names its page in
    `brozzled_url`, and its embeds are hop `B`, as in warcprox's crawl log.
    """
    hop_path = facts.get("hop_path", spec.hop_path)
    if spec.page_url is not None and url != spec.page_url:
        return hop_path + "E", referrer or spec.page_url
    brozzled = facts.get("brozzled_url")
    page = brozzled and ascii_url(brozzled)
    if page and page != url:
        return hop_path + "B", page
    if not spec.log_ending:
        return hop_path, facts.get("hop_via_url", spec.via)
    if referrer is not None and ("hop_path" in facts or not (brozzled or "hop_via_url" in facts)):
        return hop_path, _percent_encoded(referrer.encode("latin-1", "replace"))
    via = facts.get("hop_via_url") if "hop_path" in facts else None
    return hop_path, via and ascii_url(via)


def attempt_number(spec: SessionSpec, facts: Mapping[str, str], url: str) -> int:
    """Return the number of the try of a URL. Parts of a page that is tried again are not told from new ones."""
    text = facts.get("attempt") or (spec.attempt if url == spec.page_url else "")
    return int(text) if text and _NUMBER.fullmatch(text) else 1


def ascii_url(url: str) -> str:
    """Return the URL as requests name it: its host in IDNA, everything else percent-encoded where it isn't ASCII."""
    if url.isascii():
        return url
    found = _URL.fullmatch(url)
    if found is not None:
        with suppress(UrlError):
            url = f"{found[1]}{found[2] or ''}{ascii_host(found[3])}{found[4]}"
    return _percent_encoded(url.encode("utf-8", "replace"))


def _percent_encoded(text: bytes) -> str:
    return quote(text, safe=_PRINTABLE)
