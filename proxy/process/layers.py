"""mitmproxy runs two addons of ours, and they put our layers in place of mitmproxy's HTTP layers.

Addons decide about connections. The relay layer (`proxy.clients.http1_layer`) handles the exchanges on a connection,
since a hook for each exchange would cost more than the exchange. Each addon has one task:

1. `Relay` puts our relay layer, or for clients of HTTP/2 our layer of streams, where mitmproxy puts its HTTP layer.
2. `LeafTlsConfig` (mitmproxy's TlsConfig with `proxy.process.leaf_certificates`) makes the certificate a client is
    shown.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from archive.files import write_once
from proxy.clients.connection import ClientConnection
from proxy.clients.http1_layer import RelayLayer
from proxy.clients.http2_layer import ClientLayer
from proxy.fetch.contracts import RequestDispatcher, Tunnel
from proxy.process.leaf_certificates import LeafTlsConfig, ensure_leaf_key
from proxy.protocol.mitmproxy_adapter import ClientTLSLayer, Master, Options, certs, events, layer

_H2: Final = b"h2"
_TLS_RECORD: Final = b"\x16\x03"
_CA_YEARS: Final = 10

OPTIONS: Final[Mapping[str, Any]] = {
    "upstream_cert": False,  # the client's certificate is made from the name it asked for
}


class Relay:
    """Puts our layers on a client's connection: TLS where the client speaks it, the relay everywhere else."""

    def __init__(
        self, connections: Mapping[str, ClientConnection], dispatcher: RequestDispatcher, max_head_bytes: int
    ) -> None:
        self._connections = connections
        self._dispatcher = dispatcher
        self._max_head_bytes = max_head_bytes

    def next_layer(self, nextlayer: layer.NextLayer) -> None:
        """Choose the next layer of a connection (mitmproxy's hook)."""
        if nextlayer.layer is not None:
            return
        context = nextlayer.context
        data = b"".join(event.data for event in nextlayer.events if isinstance(event, events.DataReceived))
        relays = [found for found in context.layers if isinstance(found, RelayLayer)]
        tunnel = relays[-1].tunnel if relays else None
        if tunnel is not None and not isinstance(context.layers[-1], ClientTLSLayer):
            if data[:2] == _TLS_RECORD[: len(data[:2])]:
                if len(data) >= len(_TLS_RECORD):
                    nextlayer.layer = ClientTLSLayer(context)
                return
            tunnel = Tunnel(tunnel.authority, tunnel.session, tunnel.trusted, tls=False)
        connection = self._connections[context.client.id]
        if tunnel is not None and context.client.alpn == _H2:
            nextlayer.layer = ClientLayer(context, connection, self._dispatcher, self._max_head_bytes, tunnel)
            return
        nextlayer.layer = RelayLayer(context, connection, self._dispatcher, self._max_head_bytes, tunnel)
        if tunnel is None:
            connection.relay = nextlayer.layer


def start_master(relay: Relay, ca_folder: Path, loop: asyncio.AbstractEventLoop, *, http2: bool = False) -> Master:
    """Return mitmproxy's master with our addons only: its options, certificates and hooks, no flows.

    With `http2`, clients are offered HTTP/2 in their TLS handshake.
    """
    ensure_ca(ca_folder)
    master = Master(Options(), event_loop=loop)
    tls = LeafTlsConfig(ensure_leaf_key(ca_folder))
    master.addons.add(relay, tls)  # type: ignore[no-untyped-call]
    master.options.update(confdir=str(ca_folder), http2=http2, **OPTIONS)  # type: ignore[no-untyped-call]
    return master


def ensure_ca(folder: Path) -> Path:
    """Return the public certificate (`ca.pem`) of this home's own authority, made on first use.

    The key is P-256: a signature or a handshake costs a sixth of what RSA costs. The folder has mode 0700, the key
    0600. The key of the leaf certificates is made here, too. Several processes may call this at once. Raises
    SettingsError when the key of the leaf certificates can't be used.
    """
    public, secret = folder / "ca.pem", folder / "mitmproxy-ca.pem"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.chmod(0o700)
    if not secret.exists() or not secret.stat().st_size:  # a power cut leaves an empty one
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = _ca_certificate(key)
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
        )
        write_once(secret, pem + certificate.public_bytes(serialization.Encoding.PEM))
    certificates = x509.load_pem_x509_certificates(secret.read_bytes())
    write_once(public, certificates[0].public_bytes(serialization.Encoding.PEM), mode=0o644)
    dhparam = folder / "mitmproxy-dhparam.pem"
    write_once(dhparam, certs.DEFAULT_DHPARAM)
    ensure_leaf_key(folder)
    return public


def _ca_certificate(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    now = datetime.datetime.now(datetime.UTC)
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COMMON_NAME, "ghostfleet"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, "ghostfleet"),
        ]
    )
    usage = x509.KeyUsage(
        digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=2))
        .not_valid_after(now + datetime.timedelta(days=365 * _CA_YEARS))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .sign(key, hashes.SHA256())
    )
