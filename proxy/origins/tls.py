"""TLS towards origins needs to know whom to trust, which certificates to show, and what the origin showed.

A certificate is verified first; when that fails the origin is spoken to all the same, by a context that forgives
everything, and the records say why. Sessions are resumed where no egress is in use: through an egress they would tell
an origin that two visitors are one.
"""

from __future__ import annotations

import ssl
from collections.abc import Sequence
from typing import Any, Final

from archive.settings import ProxySettings
from archive.settings.load import SettingsError
from proxy.host_table import HostTable
from proxy.ttl_cache import TtlCache

_LEGACY_CONNECT: Final = getattr(ssl, "OP_LEGACY_SERVER_CONNECT", 0x4)
_LEGACY_RENEGOTIATION: Final = 1 << 18
"""OpenSSL's SSL_OP_ALLOW_UNSAFE_LEGACY_RENEGOTIATION, which the ssl module has no name for."""
_RESUME_SECONDS: Final = 600.0
_RESUME_ENTRIES: Final = 512

type Chain = tuple[bytes, ...]
"""Certificates as DER, the origin's own first; empty when there was no TLS."""


class OriginContext(ssl.SSLContext):
    """A client's context that offers each host the session it had there last.

    asyncio and uvloop take no session to resume, but both call `wrap_bio`, and that takes one.
    """

    sessions: TtlCache[str, tuple[ssl.SSLSession, Chain]] | None = None

    def wrap_bio(
        self,
        incoming: ssl.MemoryBIO,
        outgoing: ssl.MemoryBIO,
        server_side: bool = False,
        server_hostname: str | bytes | None = None,
        session: ssl.SSLSession | None = None,
    ) -> ssl.SSLObject:
        """Wrap the buffers as the base class does, and resume a session."""
        if session is None and self.sessions is not None and isinstance(server_hostname, str):
            known = self.sessions.get(server_hostname)
            session = known[0] if known else None
        return super().wrap_bio(incoming, outgoing, server_side, server_hostname, session)


class TlsContexts:
    """TLS contexts are made once for one process. Raises SettingsError for a certificate file that can't be
    used.
    """

    def __init__(self, settings: ProxySettings) -> None:
        self._settings = settings
        self._client_certificates = HostTable(settings.client_certificates)
        self._contexts: dict[tuple[str | None, bool, bool], OriginContext] = {}
        for certificate in (None, *settings.client_certificates.values()):
            for verify in (True, False):
                name = (certificate, verify, True)
                self._contexts[name] = self._context(*name)

    def context(self, host: str, port: int, *, verify: bool, resume: bool) -> OriginContext:
        """Return the TLS context for that origin."""
        name = (self._client_certificates.find(host, port), verify, resume)
        if name not in self._contexts:
            self._contexts[name] = self._context(*name)
        return self._contexts[name]

    def _context(self, certificate: str | None, verify: bool, resume: bool) -> OriginContext:
        context = OriginContext(ssl.PROTOCOL_TLS_CLIENT)
        context.set_alpn_protocols(["http/1.1"])
        if resume:
            context.sessions = TtlCache(_RESUME_SECONDS, _RESUME_ENTRIES)
        if verify:
            context.load_default_certs()
            self._load(context, "upstream_ca", self._settings.upstream_ca)
        else:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            context.minimum_version = ssl.TLSVersion.MINIMUM_SUPPORTED
            context.set_ciphers("ALL:@SECLEVEL=0")
        if not verify or self._settings.legacy_renegotiation:
            context.options |= _LEGACY_CONNECT
        if self._settings.legacy_renegotiation:
            context.options |= _LEGACY_RENEGOTIATION
        self._load(context, "client_certificates", certificate)
        return context

    @staticmethod
    def _load(context: ssl.SSLContext, setting: str, path: str | None) -> None:
        if not path:
            return
        try:
            if setting == "upstream_ca":
                context.load_verify_locations(path)
            else:
                context.load_cert_chain(path, password="")  # never ask on the terminal
        except OSError as error:
            raise SettingsError(f"setting proxy.{setting}: {path} can't be used: {error}") from error


def chain_of(tls: ssl.SSLObject) -> Chain:
    """Return the origin's certificates; for a resumed session, those of the handshake that made the session."""
    known = _known(tls)
    if tls.session_reused and known is not None:
        return known[1]
    # Python 3.12 has this method on a private inner object only. From 3.13 on it is public.
    inner = tls if hasattr(tls, "get_unverified_chain") else getattr(tls, "_sslobj", None)
    found: Sequence[Any] = getattr(inner, "get_unverified_chain", tuple)() or ()
    if found:
        return tuple(one if isinstance(one, bytes) else ssl.PEM_cert_to_DER_cert(one.public_bytes()) for one in found)
    leaf = tls.getpeercert(binary_form=True)
    return (leaf,) if leaf else ()


def keep_session(tls: ssl.SSLObject) -> None:
    """Remember the session for the next connection. Call this when the origin has answered: tickets come late."""
    context, host, session = tls.context, tls.server_hostname, tls.session
    if not isinstance(context, OriginContext) or context.sessions is None or not host or session is None:
        return
    if session.has_ticket or tls.version() != "TLSv1.3":
        context.sessions.note(host, (session, chain_of(tls)))


def forget_session(context: OriginContext, host: str) -> None:
    """Forget the session, which may have been the cause of a failed handshake."""
    if context.sessions is not None:
        context.sessions.forget(host)


def _known(tls: ssl.SSLObject) -> tuple[ssl.SSLSession, Chain] | None:
    context, host = tls.context, tls.server_hostname
    if not isinstance(context, OriginContext) or context.sessions is None or not host:
        return None
    return context.sessions.get(host)
