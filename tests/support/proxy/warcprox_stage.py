"""What the tests of warcprox's behaviours share: a proxy, its client, an origin for any name below `localhost`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from support.clients.brozzler_client import MetaClient
from support.origins.raw_origin import RawOrigin, Send, Step, response
from support.proxy.running_proxy import RunningProxy

ADDRESS = "127.0.1.71"


@dataclass(frozen=True)
class Stage:
    """The proxy, a client of it, a plain and a secure origin."""

    proxy: RunningProxy
    client: MetaClient
    plain: RawOrigin
    secure: RawOrigin
    log_dir: Path

    def url(self, path: str, host: str = "localhost", *, secure: bool = False) -> str:
        """A URL of either origin under any name."""
        origin = self.secure if secure else self.plain
        return f"{'https' if secure else 'http'}://{host}:{origin.port}{path}"


def payload(request: bytes) -> tuple[Step, ...]:
    """`/x/y`: a body that depends on y alone, a header that tells x; so that equal payloads have different URLs."""
    _, first, second, *_ = (request.split(b" ", 2)[1] + b"//").split(b"/")
    body = b"A payload for warcprox's clients! " + second * 10 + b"\n"
    whole = response(body, b"Content-Type: text/plain", b"X-Tells: " + first)
    return (Send(whole.removesuffix(body) if request.startswith(b"HEAD ") else whole),)
