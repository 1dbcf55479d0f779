"""Replay a collection in a browser: the browser's options, and a proxy session for one date."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import httpx

from admin.fleet import home_folder
from admin.fleet.fleet import Addresses
from admin.fleet.process import StartError
from admin.jobs.runs import find_runs
from archive.settings.load import Settings
from browsers.engines.chromium.flags import NO_DATAGRAMS, trust_flag
from browsers.engines.chromium.trust import trusted_keys
from browsers.visit import FleetUnavailable

_SECONDS: Final = 30.0


@dataclass(frozen=True, slots=True)
class Window:
    """The window has what a browser needs for a replay: proxy address, CA certificate and key hashes."""

    collection: str
    proxy: str
    authority: Path
    trusted: tuple[str, ...]
    """The hashes of the keys whose certificates the browser trusts (`browsers.engines.chromium.trust.trusted_keys`)."""

    def chromium_flags(self, profile: Path) -> list[str]:
        """Return the options with which Chromium or Chrome shows only the collection. `profile` is an empty folder."""
        return [
            f"--user-data-dir={profile}",
            f"--proxy-server=http://{self.proxy}",
            "--proxy-bypass-list=<-loopback>",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            trust_flag(self.trusted),
            "--disable-quic",
            *NO_DATAGRAMS,
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--no-default-browser-check",
        ]

    def lines(self) -> Iterator[str]:
        """Yield the instructions for people."""
        yield f"Collection {self.collection} is replayed through the HTTP proxy {self.proxy} (http and https)."
        yield f"Configure a browser to use this proxy and to trust {self.authority}, or start one with these options:"
        yield "  chromium " + " ".join(f"'{flag}'" for flag in self.chromium_flags(Path("/tmp/ghostfleet-replay")))
        yield "Ctrl-C ends the replay."


def open_window(settings: Settings, collection: str, addresses: Addresses, datetime: str | None) -> Window:
    """Return the data to replay a collection at a date (4 to 17 digits), or with its latest captures.

    A date needs a proxy session, which has a port of its own. Raises StartError when the proxy refuses the session, or
    when the hashes of its keys can't be read.
    """
    authority = settings.home / "ca" / "ca.pem"
    try:
        trusted = trusted_keys(settings.home, addresses.proxy)
    except FleetUnavailable as error:
        raise StartError(f"the key hashes of the proxy {addresses.proxy} can't be read: {error.reason}") from error
    if datetime is None:
        return Window(collection, addresses.proxy, authority, trusted)
    spec = {"collection": collection, "mode": "replay", "datetime": datetime, "listen": True}
    headers = {"Authorization": f"Bearer {home_folder.control_token(settings.home)}"}
    try:
        with httpx.Client(trust_env=False, timeout=_SECONDS) as client:
            answer = client.post(f"http://{addresses.controls[0]}/sessions", json=spec, headers=headers)
    except httpx.HTTPError as error:
        raise StartError(f"the proxy did not open a session for --datetime {datetime}: {error}") from error
    if answer.status_code != httpx.codes.CREATED:
        raise StartError(f"the proxy did not open a session for --datetime {datetime}: {answer.text.strip()}")
    session = answer.json()
    return Window(collection, f"{session['host']}:{session['port']}", authority, trusted)


def first_page(settings: Settings, collection: str) -> str | None:
    """Return the first seed of the collection's latest run; None without a run."""
    runs = list(find_runs(settings.collection(collection) / "jobs"))
    return next(runs[-1].seeds().urls(), None) if runs else None
