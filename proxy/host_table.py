"""A table maps hosts to values: `name`, `name:port`, `*.name` (all names below it) or `*` (every host). Pure."""

from __future__ import annotations

from collections.abc import Mapping


class HostTable[T]:
    """A table of the settings is asked by host and port; the most exact entry wins, with a port before without."""

    def __init__(self, table: Mapping[str, T]) -> None:
        self._table = {name.lower(): value for name, value in table.items()}

    def __bool__(self) -> bool:
        return bool(self._table)

    def find(self, host: str, port: int) -> T | None:
        """Return the entry for a host (lower case, IPv6 in brackets); None when there is none."""
        if not self._table:
            return None
        labels = host.split(".")
        patterns = ["*." + ".".join(labels[start:]) for start in range(1, len(labels))]
        for pattern in (host, *patterns, "*"):
            for name in (f"{pattern}:{port}", pattern):
                if name in self._table:
                    return self._table[name]
        return None
