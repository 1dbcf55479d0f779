"""The alarm of renders begins when a page has waited too long for its render, and ends when no page has. Pure."""

from __future__ import annotations

from frontier.lease import RenderProgress


class LagAlarm:
    """The alarm is on while the oldest render has waited for longer than `limit_seconds`."""

    def __init__(self, limit_seconds: float) -> None:
        self.limit_seconds = limit_seconds
        self.is_on = False

    def look(self, renders: RenderProgress) -> str:
        """Return a line when the alarm begins or ends, and otherwise an empty text."""
        was_on, age = self.is_on, renders.oldest_seconds or 0.0
        self.is_on = age > self.limit_seconds
        if self.is_on == was_on:
            return ""
        if not self.is_on:
            return f"renders have caught up: no page has waited for more than {self.limit_seconds:.0f} s"
        return (
            f"renders lag behind: a page has waited for {age:.0f} s, {renders.depth} are queued;"
            f" frontier.render_lag_seconds is {self.limit_seconds:.0f}"
        )
