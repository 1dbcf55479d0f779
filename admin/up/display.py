"""Show the health of an installation: a block that stays in place on a terminal, a line for each change elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol, TextIO

from admin.fleet.installation_file import Part, PartState
from admin.output_line import write_line
from archive.dates import now_micros

if TYPE_CHECKING:
    from rich.table import Table

_STYLES: Final = {
    PartState.READY: "green",
    PartState.STARTING: "yellow",
    PartState.RESTARTING: "yellow",
    PartState.ENDING: "yellow",
    PartState.FAILED: "red",
}
_LONGEST_REASON: Final = 100
_MICROS: Final = 1_000_000


class InstallationDisplay(Protocol):
    """A display shows an installation while it runs."""

    def show(self, parts: Sequence[Part], work: Mapping[int, str]) -> None:
        """Show the parts. `work` says by process id what harvesters do. Called a few times a second."""

    def say(self, line: str) -> None:
        """Print a line that stays."""

    def close(self) -> None:
        """Close the display."""


class LineDisplay:
    """The display prints a line for each change of a part's state."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._states: dict[str, PartState] = {}

    def show(self, parts: Sequence[Part], work: Mapping[int, str]) -> None:
        """Print a line for each part whose state is not the last one; nothing for parts that are ready at first."""
        for part in parts:
            before = self._states.get(part.name, PartState.READY)
            self._states[part.name] = part.state
            if part.state is not before and part.state is not PartState.ENDING:
                self.say(f"{part.name} is {part.state}" + (f", process {part.pid}" if part.pid else ""))

    def say(self, line: str) -> None:
        """Print the line."""
        write_line(self._stream, f"ghostfleet: {line}")

    def close(self) -> None:
        """Do nothing, because this display has no resources."""


class BlockDisplay:
    """The display is a table that stays in place at the end of the terminal's output."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console
        from rich.live import Live

        self._console = Console(file=stream, highlight=False)
        self._live = Live(console=self._console, auto_refresh=False, transient=True)
        self._live.start()
        self._shown: object = None

    def show(self, parts: Sequence[Part], work: Mapping[int, str]) -> None:
        """Draw the table again when something has changed."""
        ages = [_age(part) for part in parts]
        shown = (tuple(parts), tuple(ages), tuple(sorted(work.items())))
        if shown != self._shown:
            self._shown = shown
            self._live.update(_table(parts, ages, work), refresh=True)

    def say(self, line: str) -> None:
        """Print the line above the table."""
        self._console.print(line, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Remove the table from the terminal."""
        self._live.stop()


def display_for(stream: TextIO, *, as_lines: bool) -> InstallationDisplay:
    """Return the display for this stream."""
    return LineDisplay(stream) if as_lines or not stream.isatty() else BlockDisplay(stream)


def _table(parts: Sequence[Part], ages: Sequence[str], work: Mapping[int, str]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for title in ("part", "state", "process", "for", ""):
        table.add_column(title, no_wrap=title != "", overflow="ellipsis")
    for part, age in zip(parts, ages, strict=True):
        table.add_row(
            Text(part.name),
            Text(part.state, style=_STYLES[part.state]),
            Text(str(part.pid or "")),
            Text(age),
            Text(_remark(part, work)),
        )
    return table


def _remark(part: Part, work: Mapping[int, str]) -> str:
    if part.pid in work:
        return work[part.pid]
    if not part.restarts and part.state is PartState.READY:
        return ""
    times = f"started again {part.restarts} times; " if part.restarts > 1 else ""
    return (times + part.why)[:_LONGEST_REASON]


def _age(part: Part) -> str:
    """Return how long the part has run, in its largest unit, so that the text seldom changes."""
    if not part.pid:
        return ""
    seconds = max(0, (now_micros() - part.since) // _MICROS)
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
