"""A collection as the web it was: what a browser must be told to look at it, and a session for one date."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from admin import homefolder
from admin.fleet import Addresses
from admin.process import StartError
from admin.runs import find_runs
from archive.settings import Settings
from browsers.trust import spki_hash

_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Window:
    """Where a collection can be looked at: a proxy's host:port, and the public certificate it signs with."""

    collection: str
    proxy: str
    authority: Path

    def chromium_flags(self, profile: Path) -> list[str]:
        """What makes Chromium or Chrome show the collection and nothing else; `profile` is a folder of its own."""
        return [
            f"--user-data-dir={profile}",
            f"--proxy-server=http://{self.proxy}",
            "--proxy-bypass-list=<-loopback>",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            f"--ignore-certificate-errors-spki-list={spki_hash(self.authority.read_bytes())}",
            "--disable-quic",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--no-default-browser-check",
        ]

    def lines(self) -> Iterator[str]:
        """How to look at it, for people."""
        yield f"Collection {self.collection} is replayed through the HTTP proxy {self.proxy} (http and https)."
        yield f"Let a browser use that proxy and trust {self.authority}, or start one that does:"
        yield "  chromium " + " ".join(f"'{flag}'" for flag in self.chromium_flags(Path("/tmp/ghostfleet-replay")))
        yield "Ctrl-C ends it."


def open_window(settings: Settings, collection: str, addresses: Addresses, datetime: str | None) -> Window:
    """The window onto a collection as it was at a date (4 to 17 digits); without one, at its latest.

    A date needs a session, which has a port of its own. Raises StartError when the proxy refuses it.
    """
    authority = settings.home / "ca" / "ca.pem"
    if datetime is None:
        return Window(collection, addresses.proxy, authority)
    wish = {"collection": collection, "mode": "replay", "datetime": datetime, "listen": True}
    headers = {"Authorization": f"Bearer {homefolder.control_token(settings.home)}"}
    try:
        with httpx.Client(trust_env=False, timeout=_SECONDS) as client:
            answer = client.post(f"http://{addresses.controls[0]}/sessions", json=wish, headers=headers)
    except httpx.HTTPError as error:
        raise StartError(f"the proxy did not open a session for {datetime}: {error}") from error
    if answer.status_code != httpx.codes.CREATED:
        raise StartError(f"the proxy did not open a session for {datetime}: {answer.text.strip()}")
    made = answer.json()
    return Window(collection, f"{made['host']}:{made['port']}", authority)


def first_page(settings: Settings, collection: str) -> str | None:
    """The first seed of the collection's latest run; None when no run is known."""
    runs = list(find_runs(settings.collection(collection) / "jobs"))
    seeds = runs[-1].seeds() if runs else []
    return seeds[0] if seeds else None
