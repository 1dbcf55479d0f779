"""Say by which commands people open a capture in replay."""

from __future__ import annotations

import shlex
from dataclasses import dataclass

from archive import url as urls
from archive.program_name import command


@dataclass(frozen=True, slots=True)
class ReplayHint:
    """The hint says what opens one capture."""

    open_command: str
    """Opens a browser window on this machine."""
    proxy_command: str
    """Starts a replay proxy, and prints its address and how a browser uses it."""


def replay_hint(collection: str, url: str, timestamp: str) -> ReplayHint | None:
    """Return the commands that open a capture; None for a record without a web URL.

    The commands are quoted for a shell, because URLs come from outside.
    """
    try:
        address = urls.canonical(url)
    except urls.UrlError:
        return None
    return ReplayHint(
        open_command=command(f"open {collection} {shlex.quote(address)} --datetime {timestamp}"),
        proxy_command=command(f"replay {collection} --datetime {timestamp}"),
    )
