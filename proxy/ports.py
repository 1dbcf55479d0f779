"""Which ports sessions listen on: any free one, or this process's share of a range that a firewall knows. Pure."""

from __future__ import annotations

from collections.abc import Iterator


class SessionPorts:
    """The ports of `first-last` that are this process's: every n-th one, for n processes."""

    def __init__(self, span: str, index: int, processes: int) -> None:
        """An empty span leaves the choice to the system. Raises ValueError for one that leaves this process none."""
        self._own: tuple[int, ...] = ()
        self._next = 0
        if span:
            first, _, last = span.partition("-")
            self._own = tuple(range(int(first) + index, min(int(last), 65535) + 1, processes))
            if not self._own:
                raise ValueError(f"proxy.session_ports = {span} has no port for process {index} of {processes}")

    def candidates(self) -> Iterator[int]:
        """Ports to try, each once, those used longest ago first; 0 is any."""
        if not self._own:
            yield 0
            return
        start = self._next
        for step in range(len(self._own)):
            place = (start + step) % len(self._own)
            self._next = place + 1
            yield self._own[place]
