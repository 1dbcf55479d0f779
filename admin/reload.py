"""Settings read again while a fleet runs: what can take effect in new recording processes, and what can't (pure)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from archive.settings import Settings

_LASTING: Final = ("redis", "database", "storage", "admin")
"""Sections of what goes on while the proxies are replaced: Redis, and the indexer with its uploader."""
_LASTING_OF_PROXY: Final = ("host", "port", "control_port", "processes")
"""The parent has the sockets."""


def possible_now(running: Settings, read: Settings) -> Settings:
    """The settings that new processes of a running fleet get."""
    proxy = read.proxy.model_copy(update={name: getattr(running.proxy, name) for name in _LASTING_OF_PROXY})
    lasting = {name: getattr(running, name) for name in _LASTING}
    return read.model_copy(update={"home": running.home, "proxy": proxy, **lasting})


def changed_for_later(running: Settings, read: Settings) -> Iterator[str]:
    """Dotted names of the changed settings that only a fleet started anew obeys."""
    for section in _LASTING:
        for name in type(getattr(read, section)).model_fields:
            if getattr(getattr(read, section), name) != getattr(getattr(running, section), name):
                yield f"{section}.{name}"
    for name in _LASTING_OF_PROXY:
        if getattr(read.proxy, name) != getattr(running.proxy, name):
            yield f"proxy.{name}"
