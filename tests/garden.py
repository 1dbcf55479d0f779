"""The garden site: a small, dynamic web site on loopback that the tests and the demo crawl.

Several host names, http and https. It listens on free ports; its URLs carry none, because whoever fetches from it
maps the names (`GardenSite.resolve` is what `--resolve` wants). Its pages lie in `site/`, what is computed and how
everything is framed is in `garden_pages.py`.
"""

from __future__ import annotations

import ssl
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import garden_certificates as certificates
from garden_pages import HOSTS, LINKED_PAGES, LISTED_PAGES, answer_to
from garden_server import Server
from garden_wire import Answer, Request

UNTRUSTED_HOST: Final = "wild.garden.test"
"""Serves https with a certificate that it signed itself."""


class GardenSite:
    """The site. `start()` it or use it as a context manager; `stop()` closes every port and connection."""

    hosts: Final = (*HOSTS, UNTRUSTED_HOST)

    def __init__(self) -> None:
        self.http_port = 0
        self.https_port = 0
        self._requests: list[Request] = []
        self._lock = threading.Lock()
        self._server = Server(self._answer)
        self._temporary = tempfile.TemporaryDirectory(prefix="garden-")

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()

    @property
    def ca_pem(self) -> Path:
        """The public certificate of the site's own authority, to be trusted by whoever fetches."""
        return Path(self._temporary.name) / "ca.pem"

    @property
    def resolve(self) -> dict[str, str]:
        """Where the site's names lead: `name:port` to `address:port`."""
        ports = {80: self.http_port, 443: self.https_port}
        return {f"{host}:{port}": f"127.0.0.1:{real}" for host in self.hosts for port, real in ports.items()}

    @property
    def requests(self) -> list[Request]:
        """Everything that was asked of the site since `forget_requests`, oldest first."""
        with self._lock:
            return list(self._requests)

    def forget_requests(self) -> None:
        """Empties the request log."""
        with self._lock:
            self._requests.clear()

    @staticmethod
    def urls(*, listed: bool = True) -> list[str]:
        """Every page of www.garden.test that links lead to and, if `listed`, those only in the site map."""
        return [*LINKED_PAGES, *(LISTED_PAGES if listed else ())]

    def start(self) -> None:
        """Listens on two free ports of 127.0.0.1."""
        self.https_port = self._server.listen(self._tls_context())
        self.http_port = self._server.listen()

    def stop(self) -> None:
        """Closes the ports and every connection; what was asked stays readable in `requests`."""
        self._server.stop()
        self._temporary.cleanup()

    def _answer(self, request: Request) -> Answer:
        with self._lock:
            self._requests.append(request)
        return answer_to(request)

    def _tls_context(self) -> ssl.SSLContext:
        """The trusted certificate, but the self-signed one for the wild host."""
        folder = self.ca_pem.parent
        authority = certificates.authority()
        self.ca_pem.write_bytes(authority.public_pem())
        trusted = certificates.server_context(certificates.certificate(HOSTS, authority), folder)
        wild = certificates.server_context(certificates.certificate([UNTRUSTED_HOST], None), folder)

        def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
            if name == UNTRUSTED_HOST:
                connection.context = wild

        trusted.sni_callback = choose
        return trusted
