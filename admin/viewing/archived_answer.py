"""An archived response becomes an answer of the viewer: the same bytes, without headers that would act on the viewer.

The player's worker gets the archived body as it is. A header that commands the browser would act on the viewer's
origin, so it is renamed: `Set-Cookie` to `X-Proxy-Set-Cookie`, which the player hands to the page alone, and the others
to `X-Archive-Orig-NAME`. A redirect leads to the viewer's own address of its target. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, urljoin, urlsplit

from proxy.protocol.http1 import ResponseHead

_ORIGINAL: Final = b"x-archive-orig-"
_RENAMED: Final = frozenset(
    (
        *(b"accept-ch", b"access-control-allow-credentials", b"access-control-allow-headers"),
        *(b"access-control-allow-methods", b"access-control-allow-origin", b"access-control-allow-private-network"),
        *(b"access-control-expose-headers", b"access-control-max-age", b"activate-storage-access"),
        *(b"allow-connection-allowlist-from", b"connection-allowlist", b"connection-allowlist-report-only"),
        *(b"alt-svc", b"cache-control", b"clear-site-data", b"content-security-policy"),
        *(b"content-security-policy-report-only", b"critical-ch", b"cross-origin-embedder-policy"),
        *(b"cross-origin-embedder-policy-report-only", b"cross-origin-opener-policy", b"document-policy"),
        *(b"cross-origin-opener-policy-report-only", b"cross-origin-resource-policy", b"expect-ct", b"expires"),
        *(b"feature-policy", b"link", b"nel", b"no-vary-search", b"origin-agent-cluster", b"permissions-policy"),
        *(b"pragma", b"proxy-authenticate", b"public-key-pins", b"refresh", b"report-to", b"reporting-endpoints"),
        *(b"document-isolation-policy", b"set-login", b"shared-storage-write"),
        *(b"service-worker", b"service-worker-allowed", b"speculation-rules", b"strict-transport-security"),
        *(b"supports-loading-mode", b"use-as-dictionary", b"vary", b"www-authenticate", b"x-frame-options"),
    )
)
_PLAYER_COMMANDS: Final = (b"x-orig-", b"x-redirect-", b"x-wabac-", b"x-proxy-", b"x-archive-")
"""Headers that the player's worker obeys begin so; an archived response must not have them."""
_NEVER: Final = frozenset((b"connection", b"keep-alive", b"transfer-encoding", b"trailer", b"upgrade"))
_NAME: Final = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CONTROLS: Final = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_REDIRECTS: Final = frozenset((301, 302, 303, 307, 308))
_LEAST, _MOST = 200, 599
_URL_CHARACTERS: Final = "!#$%&'()*+,/:;=?@[]~"


@dataclass(frozen=True, slots=True)
class ArchivedAnswer:
    """An archived answer has the status and the headers with which the viewer sends an archived body."""

    status: int
    headers: tuple[tuple[bytes, bytes], ...]


def archived_answer(head: ResponseHead, url: str, prefix: str, timestamp: str) -> ArchivedAnswer:
    """Return the answer for the archived response of `url`; `prefix` is the path before `<timestamp>id_/<url>`."""
    target = redirect_target(head, url)
    headers = list(_headers(head))
    if target is not None:
        headers.append((b"location", f"{prefix}{timestamp}id_/{target}".encode("ascii")))
    headers.append((b"cache-control", b"no-store"))
    headers.append((b"cross-origin-resource-policy", b"same-origin"))
    if _LEAST <= head.status <= _MOST:
        return ArchivedAnswer(head.status, tuple(headers))
    # A worker can't make a response with such a status (the Fetch standard allows 200 to 599).
    headers.append((b"ghostfleet-archived-status", b"%d" % head.status))
    return ArchivedAnswer(_MOST, tuple(headers))


def _headers(head: ResponseHead) -> Iterator[tuple[bytes, bytes]]:
    cookies: list[bytes] = []
    for name, value, _ in head.fields:
        if name in _NEVER or not _NAME.fullmatch(name) or name.startswith(_PLAYER_COMMANDS):
            continue
        if (
            name == b"location" and head.status in _REDIRECTS
        ):  # the viewer has one of its own; elsewhere it is read only
            continue
        clean = _CONTROLS.sub(b" ", value).strip()
        if name == b"set-cookie":
            cookies.append(clean)
        else:
            yield (_ORIGINAL + name if name in _RENAMED else name), clean
    if cookies:
        yield b"x-proxy-set-cookie", b", ".join(cookies)


def redirect_target(head: ResponseHead, url: str) -> str | None:
    """Return the absolute URL to which the response redirects; None when it does not, or to no web page."""
    location = head.get(b"location")
    if head.status not in _REDIRECTS or location is None:
        return None
    text = location.strip().decode("utf-8", "replace")
    try:
        found = urljoin(url, text)
        if urlsplit(found).scheme not in ("http", "https") or not urlsplit(found).hostname:
            return None
    except ValueError:
        return None
    return quote(found, safe=_URL_CHARACTERS)


def plain_answer(status: int, text: str, media_type: str, more: Iterable[tuple[bytes, bytes]] = ()) -> ArchivedAnswer:
    """Return the answer of the viewer itself with a text of that media type."""
    size = len(text.encode())
    return ArchivedAnswer(
        status,
        (
            (b"content-type", f"{media_type}; charset=utf-8".encode()),
            (b"content-length", b"%d" % size),
            (b"cache-control", b"no-store"),
            (b"x-content-type-options", b"nosniff"),
            (b"content-security-policy", b"default-src 'none'; style-src 'unsafe-inline'; sandbox"),
            (b"cross-origin-resource-policy", b"same-origin"),
            *more,
        ),
    )
