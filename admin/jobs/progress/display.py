"""Show a running job: as a panel on a terminal, as a line every few seconds elsewhere, or as JSON lines."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol, TextIO

from admin.jobs.status_names import status_text
from admin.output_line import write_line
from admin.units import counted, human_bytes
from frontier.lease import Wait, WaitKind

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

PLAIN_SECONDS: Final = 5.0
_NOTICES: Final = 4


@dataclass(frozen=True, slots=True)
class View:
    """The view describes a job at one moment. `bytes` counts responses, `urls` pages and the URLs that they embed."""

    name: str
    seconds: float
    """The duration of this attempt."""
    pages: int
    failed: int
    queued: int
    in_flight: int
    hosts_waiting: int
    urls: int
    bytes: int
    duplicates: int
    """URLs whose payload the collection already had."""
    urls_per_second: float
    """The mean of the last ten seconds."""
    errors: Mapping[str, int] = field(default_factory=dict)
    """The number of failures by kind, such as `timed out (-4)`."""
    waits: Sequence[str] = ()
    """One text for some of the waiting hosts, such as `a.example: next visit in 12 s`."""
    restarts: int = 0
    stopping: bool = False
    paused: str = ""
    """The reason of a pause; empty when the job is not paused."""
    paused_seconds: float = 0.0
    renders: int = 0
    """Pages that wait for the queue of renders, or are being rendered by it."""
    rendered: int = 0
    """Pages that the queue of renders has rendered."""
    render_oldest_seconds: float | None = None
    """How long the oldest page has waited for its render; None when no page waits."""
    render_p95_seconds: float | None = None
    """The time that 95 of 100 rendered pages did not exceed between fetch and render; None before the first render."""
    spilled: int = 0
    """Queued URLs that wait in files, as the queues of their hosts are long."""
    renders_lag: bool = False
    """A page has waited too long for its render."""
    seeds: int = 0
    """All seeds of the job."""
    seeds_queued: int = 0
    """The seeds that were read from the list of seeds and queued."""
    bloom: str = ""
    """The state of the Bloom filter in a line; empty for a job whose seen test is exact."""

    @property
    def duplicate_share(self) -> float:
        """Return the share of duplicates, from 0 to 1."""
        return self.duplicates / self.urls if self.urls else 0.0


class Display(Protocol):
    """A display shows a job while it runs."""

    def show(self, view: View) -> None:
        """Show the job's current view. Called a few times a second."""

    def note(self, line: str) -> None:
        """Show a notice."""

    def close(self) -> None:
        """Close the display."""


class PlainDisplay:
    """The display prints a line every few seconds, and one for each notice."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._next = 0.0

    def show(self, view: View) -> None:
        """Print a line, unless the last one is younger than five seconds."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + PLAIN_SECONDS
            self._write(one_line(view))

    def note(self, line: str) -> None:
        """Print the line as it is."""
        self._write(line)

    def close(self) -> None:
        """Do nothing, because this display has no resources."""


class JsonDisplay:
    """The display prints JSON lines: `{"event": "progress", …}` each second, and `{"event": "notice", "text": …}`."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._next = 0.0

    def show(self, view: View) -> None:
        """Print the fields of the view, unless the last line is younger than a second."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + 1.0
            self._emit("progress", {**asdict(view), "duplicate_share": round(view.duplicate_share, 4)})

    def note(self, line: str) -> None:
        """Print the text of the notice."""
        self._emit("notice", {"text": line})

    def close(self) -> None:
        """Do nothing, because this display has no resources."""

    def _emit(self, event: str, facts: Mapping[str, Any]) -> None:
        self._write(json.dumps({"event": event, **facts}, ensure_ascii=False))


class LiveDisplay:
    """The display is a panel that stays in place on a terminal."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self._notices: list[str] = []
        self._view: View | None = None
        self._live = Live(console=Console(file=stream), auto_refresh=False, transient=True)
        self._live.start()

    def show(self, view: View) -> None:
        """Draw the panel with this view."""
        self._view = view
        self._draw()

    def note(self, line: str) -> None:
        """Show the notice below the panel, with the last few before it."""
        self._notices = [*self._notices, line][-_NOTICES:]
        self._draw()

    def close(self) -> None:
        """Remove the panel from the terminal."""
        self._live.stop()

    def _draw(self) -> None:
        from rich.text import Text

        notices = Text("\n".join(self._notices), style="yellow")
        self._live.update(_panel(self._view, notices) if self._view else notices, refresh=True)


def display_for(stream: TextIO, *, as_json: bool) -> Display:
    """Return the display for this stream."""
    if not as_json and stream.isatty():
        return LiveDisplay(stream)

    def write(line: str) -> None:
        write_line(stream, line)

    return JsonDisplay(write) if as_json else PlainDisplay(write)


def one_line(view: View) -> str:
    """Return the view in one line: `00:01:05  12 pages, 7 queued, …`."""
    parts = [
        counted(view.pages, "page"),
        f"{view.queued} queued",
        f"{view.in_flight} in progress",
        f"{counted(view.urls, 'URL')} at {view.urls_per_second:.1f}/s",
        human_bytes(view.bytes),
        f"{view.duplicate_share:.0%} duplicates",
    ]
    parts += filter(None, [renders_text(view), seeds_text(view)])
    if waiting := waiting_text(view):
        parts.append(waiting)
    parts += [f"{count} × {kind}" for kind, count in view.errors.items()]
    return f"{clock(view.seconds)}  {', '.join(parts)}{paused_text(view)}{'; stopping' if view.stopping else ''}"


def paused_text(view: View) -> str:
    """Return `; paused for 00:05:10 (by an operator)`; empty when the job is not paused."""
    return f"; paused for {clock(view.paused_seconds)} ({view.paused})" if view.paused else ""


def renders_text(view: View) -> str:
    """Return `7 renders queued (oldest 00:01:05), 12 rendered (95% within 00:00:09)`; empty without renders."""
    if not view.renders and not view.rendered:
        return ""
    oldest = f" (oldest {clock(view.render_oldest_seconds)})" if view.render_oldest_seconds is not None else ""
    lag = f" (95% within {clock(view.render_p95_seconds)})" if view.render_p95_seconds is not None else ""
    behind = ", lagging behind" if view.renders_lag else ""
    return f"{counted(view.renders, 'render')} queued{oldest}, {view.rendered} rendered{lag}{behind}"


def seeds_text(view: View) -> str:
    """Return `seeds 12% queued (120,000 of 1,000,000)`; empty when all seeds are queued."""
    if view.seeds_queued >= view.seeds:
        return ""
    share = view.seeds_queued / view.seeds
    return f"seeds {share:.0%} queued ({view.seeds_queued:,} of {view.seeds:,})"


def waiting_text(view: View) -> str:
    """Return the waiting hosts and their reasons: `2 hosts waiting (a.example: next visit in 12 s; b.example: …)`."""
    count = view.hosts_waiting
    known = "; ".join(view.waits)
    if not count:
        return f"waiting: {known}" if known else ""
    return f"{counted(count, 'host')} waiting{f' ({known})' if known else ''}"


def wait_text(wait: Wait) -> str:
    """Return in words why a host or URL waits."""
    seconds = f"{math.ceil(wait.seconds)} s"
    match wait.kind:
        case WaitKind.HELD:
            return f"{wait.what}: in use by job {wait.job}"
        case WaitKind.VISITED:
            return f"{wait.what}: a visit is in progress"
        case WaitKind.BLOCKED:
            return f"{wait.what}: blocked for {seconds}"
        case WaitKind.DUE:
            return f"{wait.what}: next visit in {clock(wait.seconds)}"
        case WaitKind.GROUP:
            return f"queue group {wait.what}: next visit in {seconds}, or when a visit ends"
        case WaitKind.RETRY:
            return f"{wait.what}: {f'{status_text(wait.code)}, ' if wait.code else ''}next try in {seconds}"
        case _:
            return f"{wait.what}: next visit in {seconds}"


def clock(seconds: float) -> str:
    """Return a duration as `HH:MM:SS`."""
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
    footer = "finishing the visits in progress; Ctrl-C stops at once" if view.stopping else "Ctrl-C stops the crawl"
    content = Group(table, notices) if notices else table
    return Panel(content, title=Text(title), subtitle=Text(footer, style="dim"), title_align="left")


def _rows(view: View) -> list[tuple[str, str]]:
    return [
        ("pages", f"{view.pages:,} done, {view.in_flight:,} in progress, {view.queued:,} queued"),
        ("URLs", f"{view.urls:,} archived, {view.urls_per_second:.1f} per second"),
        ("bytes", human_bytes(view.bytes)),
        ("duplicates", f"{view.duplicate_share:.0%} of the URLs"),
        ("hosts waiting", str(view.hosts_waiting)),
        *(("", wait) for wait in view.waits),
        *([("renders", renders_text(view))] if renders_text(view) else []),
        *([("seeds", seeds_text(view).removeprefix("seeds "))] if seeds_text(view) else []),
        *([("in files", f"{view.spilled:,} URLs of long queues")] if view.spilled else []),
        *([("seen test", view.bloom)] if view.bloom else []),
        *([("restarts", str(view.restarts))] if view.restarts else []),
        *([("paused", f"for {clock(view.paused_seconds)} ({view.paused})")] if view.paused else []),
    ]
