"""Firefox's errors get the names that Chromium has for them, since an engine's errors have one name each. Pure."""

from __future__ import annotations

import re
from typing import Final

_NAMES: Final = {
    "NS_ERROR_CONNECTION_REFUSED": "ERR_CONNECTION_REFUSED",
    "NS_ERROR_CORRUPTED_CONTENT": "ERR_INVALID_HTTP_RESPONSE",
    "NS_ERROR_INVALID_CONTENT_ENCODING": "ERR_CONTENT_DECODING_FAILED",
    "NS_ERROR_INVALID_SIGNATURE": "ERR_FAILED",
    "NS_ERROR_MALFORMED_URI": "ERR_INVALID_URL",
    "NS_ERROR_NET_EMPTY_RESPONSE": "ERR_EMPTY_RESPONSE",
    "NS_ERROR_NET_INTERRUPT": "ERR_CONNECTION_CLOSED",
    "NS_ERROR_NET_PARTIAL_TRANSFER": "ERR_CONTENT_LENGTH_MISMATCH",
    "NS_ERROR_NET_RESET": "ERR_EMPTY_RESPONSE",
    "NS_ERROR_NET_TIMEOUT": "ERR_TIMED_OUT",
    "NS_ERROR_NET_TIMEOUT_EXTERNAL": "ERR_TIMED_OUT",
    "NS_ERROR_PORT_ACCESS_NOT_ALLOWED": "ERR_UNSAFE_PORT",
    "NS_ERROR_PROXY_AUTHENTICATION_FAILED": "ERR_PROXY_AUTH_REQUESTED",
    "NS_ERROR_PROXY_BAD_GATEWAY": "ERR_TUNNEL_CONNECTION_FAILED",
    "NS_ERROR_PROXY_BAD_REQUEST": "ERR_TUNNEL_CONNECTION_FAILED",
    "NS_ERROR_PROXY_CONNECTION_REFUSED": "ERR_PROXY_CONNECTION_FAILED",
    "NS_ERROR_PROXY_FORBIDDEN": "ERR_TUNNEL_CONNECTION_FAILED",
    "NS_ERROR_PROXY_GATEWAY_TIMEOUT": "ERR_TUNNEL_CONNECTION_FAILED",
    "NS_ERROR_PROXY_SERVICE_UNAVAILABLE": "ERR_TUNNEL_CONNECTION_FAILED",
    "NS_ERROR_REDIRECT_LOOP": "ERR_TOO_MANY_REDIRECTS",
    "NS_ERROR_UNKNOWN_HOST": "ERR_NAME_NOT_RESOLVED",
    "NS_ERROR_UNKNOWN_PROTOCOL": "ERR_UNKNOWN_URL_SCHEME",
    "NS_ERROR_UNKNOWN_PROXY_HOST": "ERR_PROXY_CONNECTION_FAILED",
    "MOZILLA_PKIX_ERROR_SELF_SIGNED_CERT": "ERR_CERT_AUTHORITY_INVALID",
    "SEC_ERROR_UNKNOWN_ISSUER": "ERR_CERT_AUTHORITY_INVALID",
    "connectionFailure": "ERR_CONNECTION_REFUSED",
    "contentEncodingError": "ERR_CONTENT_DECODING_FAILED",
    "deniedPortAccess": "ERR_UNSAFE_PORT",
    "malformedURI": "ERR_INVALID_URL",
    "netInterrupt": "ERR_CONNECTION_CLOSED",
    "netReset": "ERR_EMPTY_RESPONSE",
    "netTimeout": "ERR_TIMED_OUT",
    "nssBadCert": "ERR_CERT_AUTHORITY_INVALID",
    "nssFailure2": "ERR_FAILED",
    "proxyConnectFailure": "ERR_PROXY_CONNECTION_FAILED",
    "redirectLoop": "ERR_TOO_MANY_REDIRECTS",
}
"""Chromium's names by Firefox's names, which are of XPCOM, of NSS, or of pages such as `about:neterror?e=netReset`."""
_WORD: Final = re.compile(r"[A-Za-z0-9_]+")
ABORTED: Final = "NS_BINDING_ABORTED"
"""Another navigation, a download, or an answer without a document replaced the navigation."""


def reason_of(message: str) -> str:
    """Return Chromium's name of the error that a message of Firefox names; ERR_FAILED for an unknown one."""
    for word in _WORD.findall(message):
        if word in _NAMES:
            return _NAMES[word]
        if word == ABORTED:
            return "ERR_ABORTED"
    return "ERR_FAILED"
