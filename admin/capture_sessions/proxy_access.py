"""The address and the credentials by which a browser records into a capture session.

The token is not stored. It is computed from the secret of the home and the id of the session, so that the capture
process can give the session the same credentials after a restart.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from dataclasses import dataclass
from typing import Final

from admin.fleet.home_folder import control_token
from admin.models.capture_tables import CaptureSession
from archive.local_endpoints import host_and_port
from archive.settings.load import Settings
from proxy.clients.check_page import CHECK_HOST

CHECK_URL: Final = f"http://{CHECK_HOST}/"


@dataclass(frozen=True, slots=True)
class ProxyAccess:
    """A browser uses this proxy with these credentials."""

    host: str
    port: int
    user: str
    password: str

    @property
    def address(self) -> str:
        """Return host:port of the proxy."""
        return host_and_port(self.host, self.port)

    @property
    def pac_url(self) -> str:
        """Return the URL of the file for automatic proxy configuration."""
        return f"http://{self.address}/proxy.pac"


def access_of(settings: Settings, session: CaptureSession) -> ProxyAccess:
    """Return how the person's own browser reaches the session."""
    chosen = settings.capture
    return ProxyAccess(chosen.host, chosen.port, session.proxy_session, token_of(settings, session.proxy_session))


def token_of(settings: Settings, proxy_session: str) -> str:
    """Return the token of the session of the recording proxy with this id."""
    secret = control_token(settings.home).encode()
    digest = hmac.new(secret, f"capture session {proxy_session}".encode(), hashlib.sha256).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")
