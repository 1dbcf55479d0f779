"""The garden site is a small, dynamic web site on loopback that the tests and the demos crawl.

It has several host names, http and https. It listens on free ports. Its URLs name no port, because a client maps the
names (`GardenSite.resolve` has the form of `--resolve`). Its pages are in `site/`; `pages.py` has what is computed,
and how everything is framed.
"""

from __future__ import annotations

import ssl
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from admin.demo import certificates
from admin.demo.pages import HOSTS, LINKED_PAGES, LISTED_PAGES, NEIGHBOURS, answer_to
from admin.demo.server import GardenServer
from admin.demo.wire import Answer, Request

UNTRUSTED_HOST: Final = "wild.garden.test"
"""This host serves https with a certificate that it signed itself."""


class GardenSite:
    """The site serves from `start()` to `stop()`, or as a context manager."""

    hosts: Final = (*HOSTS, *NEIGHBOURS, UNTRUSTED_HOST)

    def __init__(self) -> None:
        self.http_port = 0
        self.https_port = 0
        self._server = GardenServer(self.answer)
        self._temporary = tempfile.TemporaryDirectory(prefix="garden-")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def ca_pem(self) -> Path:
        """Return the public certificate of the site's own authority, which clients must trust."""
        return Path(self._temporary.name) / "ca.pem"

    @property
    def resolve(self) -> dict[str, str]:
        """Return the addresses of the site's names: `name:port` to `address:port`."""
        ports = {80: self.http_port, 443: self.https_port}
        return {f"{host}:{port}": f"127.0.0.1:{real}" for host in self.hosts for port, real in ports.items()}

    @staticmethod
    def urls(*, listed: bool = True) -> list[str]:
        """Return each page of www.garden.test that links lead to and, if `listed`, those only in the site map."""
        return [*LINKED_PAGES, *(LISTED_PAGES if listed else ())]

    def start(self) -> None:
        """Listen on two free ports of 127.0.0.1."""
        self.https_port = self._server.listen(self._tls_context())
        self.http_port = self._server.listen()

    def stop(self) -> None:
        """Close the ports and all connections."""
        self._server.stop()
        self._temporary.cleanup()

    def answer(self, request: Request) -> Answer:
        """Return the answer to a request."""
        return answer_to(request)

    def _tls_context(self) -> ssl.SSLContext:
        """Return a context with the trusted certificate, and the self-signed one for the wild host."""
        folder = self.ca_pem.parent
        authority = certificates.authority()
        self.ca_pem.write_bytes(authority.public_pem())
        trusted = certificates.server_context(certificates.certificate((*HOSTS, *NEIGHBOURS), authority), folder)
        wild = certificates.server_context(certificates.certificate([UNTRUSTED_HOST], None), folder)

        def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            if name == UNTRUSTED_HOST:
                connection.context = wild

        trusted.sni_callback = choose
        return trusted
