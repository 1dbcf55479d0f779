"""The commands `job attempts` and `job links` search the logs of a job, also while it runs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from admin.commands.jobs.steering import complete_job, steering_errors, target_of
from admin.options import InputError, common
from admin.units import counted, human_bytes

if TYPE_CHECKING:
    from admin.jobs.control.log_queries import FetchAttempt, LogAnswer
    from admin.jobs.control.steering import FoundJob
    from admin.jobs.runs import Run
    from frontier.links.log import LinkDecision

_MOST_ROWS: Final = 10_000


def _search_options[F: Callable[..., Any]](function: F) -> F:
    """Add the argument NAME, and the options that choose lines of a log."""

    @wraps(function)
    def checked(**given: Any) -> Any:
        try:
            return function(**given)
        except ValueError as error:
            raise InputError(str(error)) from error

    for option in (
        click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line."),
        click.option("--after", default="", metavar="PLACE", help="Where the answer before has ended."),
        click.option(
            "--seconds", type=click.FloatRange(0.1, 3_600), default=20, show_default=True, help="Longest search."
        ),
        click.option(
            "--limit",
            type=click.IntRange(1, _MOST_ROWS),
            default=100,
            show_default=True,
            metavar="N",
            help="Most rows.",
        ),
        click.option("--until", default="", metavar="TIME", help="Before this time."),
        click.option("--since", default="", metavar="TIME", help="Not before this time, such as 2026-11-21T08:00Z."),
        click.option("--url", default="", metavar="URL", help="Only this URL."),
        click.option(
            "--prefix",
            default="",
            metavar="SURT|URL",
            help="Only URLs with this beginning, such as org,example or https://example.org/a.",
        ),
        click.option("--host", default="", metavar="HOST", help="Only this host."),
        click.argument("name", shell_complete=complete_job),
    ):
        checked = option(checked)
    return common(checked)  # type: ignore[return-value]


@click.command("attempts")
@_search_options
@click.option("--code", "codes", multiple=True, metavar="CODES", help="Only these codes, such as -6,404 or 5xx.")
@click.option("--failed", "only_failed", is_flag=True, help="Only URLs that got no response.")
@click.option("--log", "log", type=click.Path(path_type=Path), metavar="PATH", help="Another crawl.log of the job.")
def attempts(
    home: Path | None,
    settings_file: Path | None,
    name: str,
    codes: tuple[str, ...],
    only_failed: bool,
    log: Path | None,
    as_json: bool,
    **given: Any,
) -> None:
    """Print each try to fetch a URL, the newest first, with WARC file and offset, also while the job runs.

    A failure is a row too, with its reason and the number of the try. The log is read from its end, as far as needed.
    NAME is the name of a job, or of a run (with its timestamp, as in `job list`).
    """
    from admin.jobs.control.log_queries import AttemptQuery, read_codes
    from admin.jobs.control.log_queries import attempts as in_log
    from archive.rotated_log import log_exists

    if log is not None and not log_exists(log):
        raise InputError(f"--log {log} is not there; give the path of a crawl.log")
    with _log_errors():
        target = target_of(home, settings_file, name)
        run = _run(target)
        query = AttemptQuery(**_conditions(given), codes=read_codes(codes), only_failed=only_failed)
        found = in_log(log or run.crawl_log, query)
        rows = list(_placed(target, run.state.collection, found.rows))
    if as_json:
        for row in rows:
            click.echo(json.dumps(row.as_json(), ensure_ascii=False))
    else:
        _print_table(("TIME", "CODE", "TRY", "BYTES", "URL", "REASON", "PLACE"), map(_attempt_row, rows))
    _tell_rest(found, "crawl.log")


@click.command("links")
@_search_options
@click.option("--reason", "reasons", multiple=True, metavar="WORD", help="Only this reason, such as scope. Repeatable.")
def links(
    home: Path | None, settings_file: Path | None, name: str, reasons: tuple[str, ...], as_json: bool, **given: Any
) -> None:
    """Print the links that were rejected, the newest first, with reason and rule, also while the job runs.

    The setting logs.links = "on" makes the workers write them. Without it only their counts and the last ten thousand
    are kept, as the reports have them. NAME is the name of a job, or of a run.
    """
    from admin.jobs.control.log_queries import LinkQuery, link_decisions
    from archive.rotated_log import log_exists
    from frontier.links.log import FILE_NAME

    with _log_errors():
        run = _run(target_of(home, settings_file, name))
        log = run.folder / FILE_NAME
        if not log_exists(log):
            raise InputError(f"{run.state.name} has no {FILE_NAME}; crawl with the setting logs.links = on to have one")
        found = link_decisions(log, LinkQuery(**_conditions(given), reasons=reasons))
    if as_json:
        for row in found.rows:
            click.echo(row.text())
    else:
        _print_table(("TIME", "REASON", "RULE", "HOPS", "URL", "VIA"), map(_link_row, found.rows))
    _tell_rest(found, FILE_NAME)


COMMANDS: Final = (attempts, links)


def _conditions(given: dict[str, Any]) -> dict[str, Any]:
    """Return the conditions of a query by the options. Raises ValueError."""
    from admin.jobs.control.log_queries import UrlChoice
    from archive.rotated_log import LogPlace

    return {
        "urls": UrlChoice.of(host=given["host"], prefix=given["prefix"], url=given["url"]),
        "since": _moment("since", given["since"]),
        "until": _moment("until", given["until"]),
        "limit": given["limit"],
        "before": LogPlace.read(given["after"]) if given["after"] else None,
        "seconds": given["seconds"],
    }


def _moment(option: str, text: str) -> int | None:
    from admin.models.moments import moment_of

    try:
        return moment_of(text) if text else None
    except ValueError as error:
        raise ValueError(f"--{option} {text[:60]!r}: {error}") from error


def _placed(target: FoundJob, collection: str, rows: Iterable[FetchAttempt]) -> Iterator[FetchAttempt]:
    """Yield the rows with the places of the capture index; as they are where the index can't be asked."""
    from admin.jobs.control.log_queries import needs_place, with_places
    from dedupdb.captures.capture_index import Captures
    from dedupdb.captures.schema import CapturesError

    rows = list(rows)
    if not any(map(needs_place, rows)):
        yield from rows
        return
    try:
        with Captures(target.settings.database_url) as captures:
            placed = list(with_places(rows, captures, collection))
    except CapturesError as error:
        click.echo(f"ghostfleet: the capture index was not asked: {error}", err=True)
        placed = rows
    yield from placed


def _run(target: FoundJob) -> Run:
    if target.run is None:
        raise InputError(
            f"the folder of job {target.name} is not in {target.settings.home}; give the --home that has it"
        )
    return target.run


@contextmanager
def _log_errors() -> Iterator[None]:
    with steering_errors():
        try:
            yield
        except OSError as error:
            raise InputError(f"{error.filename}: {error.strerror}; check the path and its permissions") from error


def _attempt_row(each: FetchAttempt) -> tuple[object, ...]:
    from archive.dates import iso_second

    place = f"{each.file}:{each.offset}" if each.file else f"= {each.original}" if each.original else "-"
    tries = "+" if each.only_annotates else each.tries
    size = "-" if each.bytes is None else human_bytes(each.bytes)
    return iso_second(each.at), each.code, tries, size, each.url, each.reason, place


def _link_row(each: LinkDecision) -> tuple[object, ...]:
    from archive.dates import iso_second

    return iso_second(each.time), each.reason, each.rule or "-", each.hop_path or "-", each.url, each.via or "-"


def _print_table(head: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> None:
    cells = [head, *(tuple(map(_cell, row)) for row in rows)]
    widths = [min(max(map(len, column)), 80) for column in zip(*cells, strict=True)]
    for row in cells:
        click.echo("  ".join(f"{text:{width}}" for text, width in zip(row, widths, strict=True)).rstrip())


def _cell(value: object) -> str:
    return "".join(char if char.isprintable() else "?" for char in str(value)) or "-"


def _tell_rest(found: LogAnswer[Any], file: str) -> None:
    if found.damaged:
        click.echo(f"{counted(found.damaged, 'line')} of {file} can't be read", err=True)
    if found.next is not None:
        click.echo(f"older lines were not read; add --after {found.next}", err=True)
