"""The commands of `log` analyse the crawl.log of a job, or of Heritrix, and print tables of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from admin.options import InputError, JobFailed, common, load_settings
from admin.units import counted, human_bytes

if TYPE_CHECKING:
    from admin.log_analysis.columns.intake import IntakeProgress
    from admin.log_analysis.columns.intake_state import IntakeState
    from admin.log_analysis.columns.readings import Reading
    from admin.log_analysis.named_logs import NamedLog
    from archive.settings.load import Settings

_ORDERS: Final = (
    *("errors", "urls", "bytes", "retries", "robots", "delay_ms", "malformed", "deep", "repeating", "capped"),
)


@click.group("log")
def log() -> None:
    """Analyse the crawl.log of a job, or of Heritrix: time lines, hosts, search, indicators, alerts.

    NAME is the name of a job, of a run, the number of a job of a harvest, or the name of a log from elsewhere.
    """


def _door[F: Callable[..., Any]](command: F) -> F:
    """Add the options that all these commands have, and turn faults into one line."""

    @wraps(command)
    def checked(home: Path | None, settings_file: Path | None, **given: Any) -> Any:
        from admin.log_analysis.columns.log_blocks import LogTrouble

        try:
            return command(load_settings(home, settings_file), **given)
        except ValueError as error:
            raise InputError(str(error)) from error
        except LogTrouble as error:
            raise JobFailed(str(error)) from error

    return common(click.option("--json", "as_json", is_flag=True, help="Print JSON.")(checked))  # type: ignore[return-value]


@log.command("analyse")
@click.argument("name", metavar="PATH|NAME")
@click.option("--name", "own_name", default="", metavar="NAME", help="Name of the analysis of a log from elsewhere.")
@click.option("--anew", is_flag=True, help="Forget what was read before, and read the whole log again.")
@_door
def analyse(settings: Settings, name: str, own_name: str, anew: bool, as_json: bool) -> None:
    """Read the new lines of a log, plain or gzip, growing or finished; Ctrl-C keeps what was read.

    PATH is a crawl.log of this program or of Heritrix 3.
    """
    from admin.log_analysis.named_logs import find_log, log_at

    found = log_at(settings, Path(name), own_name) if own_name or Path(name).is_file() else find_log(settings, name)
    state = _taken_in(found, anew=anew)
    if as_json:
        _print_json({"name": found.name, **_facts(state)})
        return
    for line in _summary(found, state):
        click.echo(line)


@log.command("list")
@_door
def list_logs(settings: Settings, as_json: bool) -> None:
    """List the logs from elsewhere that were analysed in this home; `job list` lists the jobs."""
    from admin.log_analysis.columns.intake_state import read_state
    from admin.log_analysis.named_logs import foreign_logs

    for each in foreign_logs(settings):
        if (state := read_state(each.folder)) is not None:
            if as_json:
                _print_json({"name": each.name, **_facts(state)})
            else:
                click.echo(f"{each.name}  {counted(state.lines, 'line')}  {state.source}")


@log.command("timeline")
@click.argument("name")
@click.option("--step", type=click.IntRange(0), default=0, metavar="SECONDS", help="Length of a step.  [by the log]")
@_door
def timeline(settings: Settings, name: str, step: int, as_json: bool) -> None:
    """Print URLs, bytes, new and finished hosts, and errors by class, in steps of time."""
    from admin.log_analysis.timeline import timeline as of_log
    from archive.dates import iso_second

    with _reading(settings, name) as (reading, _):
        found = of_log(reading, step)
    if as_json:
        _print_json(found)
        return
    head = ("TIME", "LINES", "URLS", "BYTES", "NEW", "FINISHED", "ERRORS")
    _print_table(
        head,
        (
            (
                *(iso_second(each.at), each.lines, each.urls, human_bytes(each.bytes)),
                *(each.new_hosts, each.finished_hosts),
                ", ".join(f"{kind} {count}" for kind, count in each.errors.items()),
            )
            for each in found.points
        ),
    )


@log.command("hosts")
@click.argument("name")
@click.option("--order", type=click.Choice(_ORDERS), default="errors", show_default=True, help="Largest number first.")
@click.option("--text", default="", help="Part of the name of the hosts.")
@click.option("--domain", default="", help="Registered domain of the hosts.")
@click.option("--limit", type=click.IntRange(1, 500), default=50, show_default=True, help="Most hosts.")
@click.option("--after", default="", help="The `next` of the page before.")
@_door
def hosts(settings: Settings, name: str, order: str, as_json: bool, **given: Any) -> None:
    """Print hosts, the worst first: URLs, bytes, delays, retries, refusals by robots.txt, statuses, text."""
    from admin.log_analysis.host_table import HostOrder
    from admin.log_analysis.host_table import hosts as of_log

    with _reading(settings, name) as (reading, _):
        found = of_log(reading, order=HostOrder(order), **given)
    if as_json:
        _print_json(found)
        return
    head = ("HOST", "URLS", "BYTES", "ERRORS", "2XX", "3XX", "4XX", "5XX", "NONE", "ROBOTS", "RETRIES", "DELAY", "TEXT")
    _print_table(
        head,
        (
            (
                *(each.host, each.urls, human_bytes(each.bytes), each.errors, each.status_2xx, each.status_3xx),
                *(each.status_4xx, each.status_5xx, each.no_response, each.robots, each.retries),
                *(f"{each.delay_ms / 1000:.1f}s", f"{each.text_share:.0%}"),
            )
            for each in found.hosts
        ),
    )
    _tell_next(found.next)


@log.command("statuses")
@click.argument("name")
@click.option("--host", default="", help="Only lines of this host.")
@_door
def statuses(settings: Settings, name: str, host: str, as_json: bool) -> None:
    """Print how the lines are distributed by status, and the responses by media type."""
    from admin.log_analysis.distribution import distribution

    with _reading(settings, name) as (reading, _):
        found = distribution(reading, host)
    if as_json:
        _print_json(found)
        return
    for title, shares in (("STATUS", found.statuses), ("TYPE", found.types)):
        rows = ((each.name, each.urls, human_bytes(each.bytes), f"{each.part:.1%}") for each in shares)
        _print_table((title, "URLS", "BYTES", "SHARE"), rows)


@log.command("search")
@click.argument("name")
@click.option("--host", default="", help="A host, or a registered domain with all its hosts.")
@click.option("--status", default="", help="A code (404, -2), a hundred (4xx), or a class of errors (dns).")
@click.option("--since", default="", metavar="TIME", help="Not before this time, such as 2026-11-21T08:00Z.")
@click.option("--until", default="", metavar="TIME", help="Before this time.")
@click.option("--text", default="", help="Part of the URL.")
@click.option("--limit", type=click.IntRange(1, 500), default=100, show_default=True, help="Most lines.")
@click.option("--after", default="", help="The `next` of the page before.")
@_door
def search(settings: Settings, name: str, since: str, until: str, as_json: bool, **given: Any) -> None:
    """Print lines of the log in the order of time."""
    from admin.log_analysis.line_search import LineQuery
    from admin.log_analysis.line_search import search as in_log
    from admin.models.moments import moment_of
    from archive.dates import iso_second

    for option, text in (("since", since), ("until", until)):
        if text:
            try:
                given[option] = moment_of(text)
            except ValueError as error:
                raise InputError(f"--{option} {text[:60]!r}: {error}") from error
    with _reading(settings, name) as (reading, _):
        found = in_log(reading, LineQuery(**given))
    if as_json:
        _print_json(found)
        return
    rows = ((iso_second(each.time), each.code, each.bytes, each.mime or "-", each.url) for each in found.lines)
    _print_table(("TIME", "STATUS", "BYTES", "TYPE", "URL"), rows)
    _tell_next(found.next)


@log.command("indicators")
@click.argument("name")
@click.option("--reference", default="", metavar="NAME", help="The run to compare with.  [the previous finished run]")
@_door
def indicators(settings: Settings, name: str, reference: str, as_json: bool) -> None:
    """Compare a log with that of a reference run; the verdict is the worst of all indicators."""
    from admin.log_analysis.comparison import compare
    from admin.log_analysis.named_logs import default_reference, find_log

    found = find_log(settings, name)
    other = find_log(settings, reference) if reference else default_reference(found)
    for each in (found, other):
        if each is not None:
            _taken_in(each)
    result = compare(found, other)
    if as_json:
        _print_json(result)
        return
    click.echo(f"{result.verdict}, compared with {result.reference or 'no reference run'}")
    rows = ((each.verdict, each.value, each.title, each.reason) for each in result.indicators)
    _print_table(("VERDICT", "VALUE", "INDICATOR", "REASON"), rows)


@log.command("alerts")
@click.argument("name")
@_door
def alerts(settings: Settings, name: str, as_json: bool) -> None:
    """Print anomalies: traps, malformed URLs, capped hosts, silence, bursts of errors, a crawl that stands still."""
    from admin.log_analysis.alert_facts import alert_facts
    from admin.log_analysis.alerts import alerts as of_log
    from archive.dates import now_micros

    with _reading(settings, name) as (reading, found):
        result = of_log(alert_facts(reading, now_micros(), is_running=found.is_running))
    if as_json:
        _print_json(result)
        return
    _print_table(("RULE", "SUBJECT", "TEXT"), ((each.rule, each.subject or "-", each.text) for each in result))


@contextmanager
def _reading(settings: Settings, name: str) -> Iterator[tuple[Reading, NamedLog]]:
    """Read the new lines of a log, and open its columns."""
    from admin.log_analysis.columns.readings import open_reading
    from admin.log_analysis.named_logs import find_log

    found = find_log(settings, name)
    _taken_in(found)
    with open_reading(found.folder) as reading:
        yield reading, found


def _taken_in(found: NamedLog, *, anew: bool = False) -> IntakeState:
    """Read the new lines, and show the progress of a long intake."""
    from admin.log_analysis.columns.intake import take_in

    is_shown = sys.stderr.isatty()

    def show(progress: IntakeProgress) -> None:
        if is_shown and progress.done < progress.size:
            share = progress.done / max(progress.size, 1)
            click.echo(f"\r{found.name}: {share:.0%} of {human_bytes(progress.size)} ", err=True, nl=False)

    state = take_in(found.path, found.folder, show=show, anew=anew)
    if is_shown:
        click.echo("\r\033[K", err=True, nl=False)
    if state.trouble:
        click.echo(f"ghostfleet: {state.trouble}; the lines that were read are analysed", err=True)
    return state


def _facts(state: IntakeState) -> dict[str, Any]:
    return {key: value for key, value in asdict(state).items() if key not in ("parts", "head")}


def _summary(found: NamedLog, state: IntakeState) -> Iterator[str]:
    yield f"{found.name}: {counted(state.lines, 'line')}, {human_bytes(state.place)} of {state.source}"
    if state.broken:
        yield f"  {counted(state.broken, 'line')} can't be read, for instance:"
        yield from (f"    line {each.number}: {each.text[:100]}" for each in state.broken_lines[:5])
    if state.tail:
        yield f"  the last line has no end yet; its {counted(state.tail, 'byte')} are not counted"
    if state.rotations:
        yield f"  the log began anew {counted(state.rotations, 'time')}; lines that nobody had read before are missing"


def _print_json(value: Any) -> None:
    def plain(found: Any) -> Any:
        return asdict(found) if is_dataclass(found) and not isinstance(found, type) else str(found)

    click.echo(json.dumps(value, default=plain, ensure_ascii=False))


def _print_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    cells = [head, *([_cell(each) for each in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        click.echo("  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip())


def _cell(value: object) -> str:
    text = f"{value:,}" if isinstance(value, int) else str(value)
    return "".join(char if char.isprintable() else "?" for char in text)


def _tell_next(place: str) -> None:
    if place:
        click.echo(f"there are more; add --after '{place}'", err=True)
