"""Users' own addons implement this interface: they decide before a fetch, and are told after a record is durable.

An addon is an object with `before_connect`, `after_keep` or both, usually of a class derived from `Addon`. The setting
`proxy.addons` names it: a `.py` file whose `addon` it is, or an entry point of the group `ghostfleet.addons`.
`docs/how-to/extending.md` has an example; `proxy.scripting.user_addons` loads and runs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from archive.capture import Capture
from proxy.sessions.spec import SessionSpec

__all__ = ["Addon", "Asked", "Block", "Capture", "Decision", "Rewrite", "SessionSpec"]


@dataclass(frozen=True, slots=True)
class Asked:
    """A request is about to be fetched, as its client sent it; what it said to the proxy itself is left out."""

    session_id: str
    """Of the control port; `default` for traffic without a session."""
    session: SessionSpec
    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    """Names in lower case, values as Latin-1 text, in the order they came."""

    def header(self, name: str) -> str | None:
        """Return value of the first header of that name, in any case."""
        wanted = name.lower()
        return next((value for found, value in self.headers if found == wanted), None)


@dataclass(frozen=True, slots=True)
class Block:
    """The request is not fetched: its client gets 403 with the reason, crawl.log a line with code -5002."""

    reason: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """The request is fetched as if its session were another; None leaves a field as it is."""

    collection: str | None = None
    job: str | None = None
    prefix: str | None = None
    """Of WARC file names; `-` archives nothing."""
    egress: str | None = None
    """The proxy to go out by, or `direct`, as in the session API."""
    wishes: Mapping[str, Any] = field(default_factory=dict)
    """Further policy, with the keys of `Warcprox-Meta`: `dedup-ok`, `limits`, `blocks`, `stats`, …; together with
    what the session and the request wish."""


type Decision = Block | Rewrite | None
"""None lets the request pass as it is."""


class Addon:
    """An addon may do this; override what is needed. One object serves a whole process."""

    name: str = ""
    """The name in logs, `/status` and refusals; empty is how the addon was named in `proxy.addons`."""
    when_failing: Literal["block", "allow"] = "block"
    """The fate of a request when `before_connect` raises: a rule that can't be asked should not be broken."""

    def before_connect(self, asked: Asked) -> Decision:
        """Judge a request before anything of it goes out. Called on the event loop: answer from memory.

        Not called for requests that are answered from the archive or by the proxy itself.
        """
        return None

    def after_keep(self, capture: Capture) -> None:
        """Take notice that a record is durable, with its place. Called on a thread of the addons' own, one call at a
        time.

        Every indexed record is told of: responses, revisits, resources, metadata. While more than 10,000 wait
        because addons are slow, further ones are not told of (counted as `addon_missed`); records never wait.
        """

    def close(self) -> None:
        """Close: the process ends. Called on the same thread as `after_keep`, behind the last of them."""
