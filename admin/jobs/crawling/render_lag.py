"""The alarm of renders begins when a page has waited too long for its render, and ends when no page has. Pure."""

from __future__ import annotations

from typing import Final

from frontier.lease import RenderProgress

LATE_SECONDS: Final = 3600.0
"""A page that has waited longer than this for its render is late."""


class LagAlarm:
    """The alarm is on while the oldest render is late."""

    def __init__(self) -> None:
        self.is_on = False

    def look(self, renders: RenderProgress) -> str:
        """Return a line when the alarm begins or ends, and otherwise an empty text."""
        was_on, age = self.is_on, renders.oldest_seconds or 0.0
        self.is_on = age > LATE_SECONDS
        if self.is_on == was_on:
            return ""
        if not self.is_on:
            return f"renders have caught up: no page has waited for more than {LATE_SECONDS:.0f} s"
        return (
            f"renders lag behind: a page has waited for {age:.0f} s, {renders.depth} are queued; add"
            " render workers (browsers.render_workers)"
        )
