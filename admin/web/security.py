"""Headers, keys and checks of hosts protect the site against other sites."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import quote, urlsplit

from flask import Flask, Response, abort, g, request

from archive.listener_access import HostNames

KEY_FILE: Final = "admin.key"
SAFE_METHODS: Final = frozenset(("GET", "HEAD", "OPTIONS"))
"""Requests by other methods change something."""
NO_FRAMES: Final = "'none'"
_BASE: Final = "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"


def secret_key(home: Path) -> bytes:
    """Return the key by which this installation signs forms; made at the first start, readable by its owner only."""
    path = home / KEY_FILE
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(32))
    return path.read_bytes()


def protect(app: Flask, names: HostNames) -> None:
    """Check the Host header of every request, and send security headers with every answer."""

    def check_host() -> None:
        g.nonce = secrets.token_urlsafe(16)
        if refusal := names.refusal(request.headers.getlist("Host")):
            abort(421, refusal)
        if request.method not in SAFE_METHODS and is_from_another_site():
            abort(403, "another site sent this request; open the page of this site, and repeat it there")

    def add_headers(response: Response) -> Response:
        nonce = g.get("nonce", "")
        response.headers.setdefault(
            "Content-Security-Policy",
            f"{_BASE}; script-src 'self' 'nonce-{nonce}'; style-src 'self' 'nonce-{nonce}'; img-src 'self' data:;"
            f" font-src 'self'; connect-src 'self'; frame-src {g.get('frame_sources', NO_FRAMES)}",
        )
        response.headers.setdefault("X-Content-Type-Options", "nosniff")
        response.headers.setdefault("Referrer-Policy", "same-origin")
        response.headers.setdefault("X-Frame-Options", "DENY")
        response.headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
        if request.endpoint != "static":
            response.headers.setdefault("Cache-Control", "no-store")
        return response

    app.before_request(check_host)
    app.after_request(add_headers)


def allow_frames(sources: str) -> None:
    """Let the present page have frames from these sources, such as the viewer's origin, and from no others."""
    g.frame_sources = sources or NO_FRAMES


def is_from_another_site() -> bool:
    """Return whether a browser says that a page of another origin sent the request.

    Programs send neither of the headers. On a site that is reached by TLS, a page without TLS is another site. The
    scheme is not compared otherwise, since a proxy of which the settings do not tell may speak TLS.
    """
    if request.headers.get("Sec-Fetch-Site", "same-origin") not in ("same-origin", "none"):
        return True
    origin = request.headers.get("Origin")
    if origin is None:
        return False
    scheme, _, host = origin.partition("://")
    return host != request.headers.get("Host") or (request.is_secure and scheme != "https")


def sent_address() -> str:
    """Return the path of the present request with its query, as a target of a login; another site chooses no query."""
    path, query = quote(request.path), request.query_string.decode("latin-1")
    return f"{path}?{query}" if query and not is_from_another_site() else path


def asked_target() -> str:
    """Return the path of this site that the parameter `next` names; another site chooses no query."""
    target = safe_target(request.args.get("next", ""), "/")
    return urlsplit(target).path if is_from_another_site() else target


def safe_target(target: str, default: str) -> str:
    """Return a path of this site to go to after a login; `default` for anything that could lead elsewhere."""
    if not target.startswith("/") or target.startswith(("//", "/\\")) or any(ord(char) < 33 for char in target):
        return default
    parts = urlsplit(target)
    return target if not parts.scheme and not parts.netloc else default
