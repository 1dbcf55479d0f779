"""How long one exchange may take, and how much of a body is taken. Pure; times are the event loop's, in seconds."""

from __future__ import annotations

from archive.sections import ProxySettings


class Bounds:
    """Of an exchange that began at `now`: first it may take its time to connect."""

    __slots__ = ("_settings", "_silence", "_total", "longest")

    def __init__(self, settings: ProxySettings, now: float) -> None:
        self._settings = settings
        self._silence = now + settings.connect_seconds
        self._total = now + settings.total_seconds
        self.longest = settings.max_body_bytes
        """Bytes of a body at which it ends; 0 is no limit."""

    def wait(self, now: float, seconds: float) -> None:
        """The next step may take that long from now."""
        self._silence = now + seconds

    def wait_longer(self, seconds: float) -> None:
        """The present step may take so much longer."""
        self._silence += seconds

    def orphaned(self, now: float, so_far: int) -> None:
        """The client has left, with `so_far` bytes of the body here: the rest must be quick and small."""
        settings = self._settings
        self._total = min(self._total, now + settings.orphan_seconds)
        if settings.orphan_bytes:
            most = so_far + settings.orphan_bytes
            self.longest = min(self.longest or most, most)

    def is_up(self, now: float) -> bool:
        """Whether the present step, or the whole exchange, has taken too long."""
        return now >= self._silence or now >= self._total

    def is_over(self, now: float) -> bool:
        """Whether the whole exchange has taken too long."""
        return now >= self._total
