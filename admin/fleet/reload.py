"""Decide which changed settings take effect when the recording processes are replaced (pure)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from archive.settings.load import Settings

_FIXED_SECTIONS: Final = ("redis", "database", "storage", "admin")
"""These sections concern Redis and the indexer, which are not replaced."""
_FIXED_IN_PROXY: Final = ("host", "port", "control_port", "processes")
"""These settings concern the sockets, which the parent keeps open."""


def reloaded_settings(running: Settings, read: Settings) -> Settings:
    """Return the settings for new processes of a running fleet."""
    proxy = read.proxy.model_copy(update={name: getattr(running.proxy, name) for name in _FIXED_IN_PROXY})
    fixed = {name: getattr(running, name) for name in _FIXED_SECTIONS}
    return read.model_copy(update={"home": running.home, "proxy": proxy, **fixed})


def settings_that_need_restart(running: Settings, read: Settings) -> Iterator[str]:
    """Yield the dotted names of the changed settings that take effect only when the whole fleet is started again."""
    for section in _FIXED_SECTIONS:
        for name in type(getattr(read, section)).model_fields:
            if getattr(getattr(read, section), name) != getattr(getattr(running, section), name):
                yield f"{section}.{name}"
    for name in _FIXED_IN_PROXY:
        if getattr(read.proxy, name) != getattr(running.proxy, name):
            yield f"proxy.{name}"
