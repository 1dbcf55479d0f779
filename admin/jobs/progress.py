"""How a running job looks: a live panel on a terminal, a line every few seconds elsewhere, JSON lines on request."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

PLAIN_SECONDS: Final = 5.0
_NOTICES: Final = 4
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")


@dataclass(frozen=True, slots=True)
class View:
    """A job at one moment. Bytes are those of responses; `urls` counts what was kept, pages and what they embed."""

    name: str
    seconds: float
    """Worked on in this sitting."""
    pages: int
    failed: int
    queued: int
    in_flight: int
    hosts_waiting: int
    urls: int
    bytes: int
    duplicates: int
    """URLs whose payload the collection held already."""
    urls_per_second: float
    """Over the last seconds."""
    errors: Mapping[str, int] = field(default_factory=dict)
    """Failures by kind, in words."""
    restarts: int = 0
    stopping: bool = False

    @property
    def duplicate_share(self) -> float:
        """From 0 to 1."""
        return self.duplicates / self.urls if self.urls else 0.0


class Display(Protocol):
    """Something that shows a job while it runs."""

    def show(self, view: View) -> None:
        """The job as it is now; called a few times a second."""

    def note(self, line: str) -> None:
        """Something happened that people should know."""

    def close(self) -> None:
        """No more of this job."""


class PlainDisplay:
    """A line every few seconds, and one for each notice."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._next = 0.0

    def show(self, view: View) -> None:
        """A line, when the last one is old enough."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PLAIN_SECONDS
            self._write(one_line(view))

    def note(self, line: str) -> None:
        """The line as it is."""
        self._write(line)

    def close(self) -> None:
        """Nothing is held."""


class JsonDisplay:
    """One JSON object per line: `{"event": "progress", …}` each second, `{"event": "notice", "text": …}`."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._next = 0.0

    def show(self, view: View) -> None:
        """The view's fields by their names."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + 1.0
            self._emit("progress", {**asdict(view), "duplicate_share": round(view.duplicate_share, 4)})

    def note(self, line: str) -> None:
        """The text of the notice."""
        self._emit("notice", {"text": line})

    def close(self) -> None:
        """Nothing is held."""

    def _emit(self, event: str, facts: Mapping[str, Any]) -> None:
        self._write(json.dumps({"event": event, **facts}, ensure_ascii=False))


class LiveDisplay:
    """A panel that stays in place on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self._notices: list[str] = []
        self._view: View | None = None
        self._live = Live(console=Console(file=stream), auto_refresh=False, transient=True)
        self._live.start()

    def show(self, view: View) -> None:
        """Draw the panel anew."""
        self._view = view
        self._draw()

    def note(self, line: str) -> None:
        """Kept in the panel's last lines."""
        self._notices = [*self._notices, line][-_NOTICES:]
        self._draw()

    def close(self) -> None:
        """Give the terminal back; the panel disappears, the summary follows."""
        self._live.stop()

    def _draw(self) -> None:
        from rich.text import Text

        notices = Text("\n".join(self._notices), style="yellow")
        self._live.update(_panel(self._view, notices) if self._view else notices, refresh=True)


def display_for(stream: TextIO, *, as_json: bool) -> Display:
    """The display that suits this stream."""
    if not as_json and stream.isatty():
        return LiveDisplay(stream)

    def write(line: str) -> None:
        stream.write(line + "\n")
        stream.flush()

    return JsonDisplay(write) if as_json else PlainDisplay(write)


def one_line(view: View) -> str:
    """The view for a log: `00:01:05  12 pages, 7 queued, …`."""
    parts = [
        f"{view.pages} pages",
        f"{view.queued} queued",
        f"{view.in_flight} in flight",
        f"{view.urls} URLs at {view.urls_per_second:.1f}/s",
        human_bytes(view.bytes),
        f"{view.duplicate_share:.0%} known",
    ]
    if view.hosts_waiting:
        parts.append(f"{view.hosts_waiting} hosts waiting")
    parts += [f"{count} × {kind}" for kind, count in view.errors.items()]
    return f"{clock(view.seconds)}  {', '.join(parts)}{'; stopping' if view.stopping else ''}"


def human_bytes(count: float) -> str:
    """`512 B`, `23.4 kB`, `1.2 GB`: decimal units."""
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"


def clock(seconds: float) -> str:
    """`HH:MM:SS`."""
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"


def _panel(view: View, notices: Text) -> RenderableType:
    from rich.console import Group
    from rich.panel import Panel
    from rich.table import Table
    from rich.text import Text

    table = Table.grid(padding=(0, 3))
    for name, value in _rows(view):
        table.add_row(Text(name, style="dim"), Text(value))
    for kind, count in view.errors.items():
        table.add_row(Text("failed", style="red"), Text(f"{count} × {kind}"))
    title = f"{view.name}  {clock(view.seconds)}"
    footer = "finishing what is in flight; Ctrl-C again ends it now" if view.stopping else "Ctrl-C stops cleanly"
    content = Group(table, notices) if notices else table
    return Panel(content, title=Text(title), subtitle=Text(footer, style="dim"), title_align="left")


def _rows(view: View) -> list[tuple[str, str]]:
    return [
        ("pages", f"{view.pages} done, {view.in_flight} in flight, {view.queued} queued"),
        ("URLs", f"{view.urls} kept, {view.urls_per_second:.1f} per second"),
        ("bytes", human_bytes(view.bytes)),
        ("known already", f"{view.duplicate_share:.0%} of URLs"),
        ("hosts waiting", str(view.hosts_waiting)),
        *([("restarts", str(view.restarts))] if view.restarts else []),
    ]
