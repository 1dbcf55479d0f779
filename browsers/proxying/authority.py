"""This module gets the certificate of the recording proxy's authority, from the home or from the proxy."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import httpx

from browsers.visit import FleetUnavailable

_SECONDS: Final = 10.0


def authority_of(home: Path, proxy: str) -> bytes:
    """Return the certificate of the proxy's authority as PEM. Raises FleetUnavailable when there is none."""
    authority = published(home, proxy, "ca.pem")
    if authority is None:
        raise FleetUnavailable("no-ca-certificate")
    return authority


def published(home: Path, proxy: str, name: str) -> bytes | None:
    """Return that file of the home's `ca` folder, else the proxy's page of that name (host:port).

    None stands for a proxy without this page. Raises FleetUnavailable when the proxy does not answer.
    """
    file = home / "ca" / name
    if file.is_file():
        return file.read_bytes()
    try:
        answer = httpx.get(f"http://{proxy}/{name}", trust_env=False, timeout=_SECONDS)
        if answer.status_code == httpx.codes.NOT_FOUND:
            return None
        answer.raise_for_status()
    except httpx.HTTPError as error:
        raise FleetUnavailable("no-ca-certificate") from error
    return answer.content
