"""The commands `queue …` show the queues of a job, and change them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from admin.commands.jobs.steering import NotRunningError, complete_job, steering_errors
from admin.options import CommandRefused, Duration, InputError, Size, common, load_settings
from admin.units import counted

if TYPE_CHECKING:
    from admin.jobs.control.queues import HostContent
    from admin.jobs.control.steering import FoundJob
    from frontier.lease import Wait
    from frontier.queue import Frontier
    from frontier.queues.entry import QueueEntry
    from frontier.reports import HostQueue

_STATES: Final = ("queued", "leased", "failed", "excluded")
_PRIORITIES: Final = ("high", "standard", "system")
_NO_LIMIT: Final = "none"
_LIMITS: Final = ("pages", "urls", "bytes", "seconds", "host_pages")


class LimitValue(click.ParamType[Any]):
    """The parameter is a limit in the form of another parameter, or `none` for no limit."""

    name = "limit"

    def __init__(self, kind: click.ParamType[Any]) -> None:
        self._kind = kind

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the limit, or the word `none`."""
        if value == _NO_LIMIT:
            return _NO_LIMIT
        return self._kind.convert(value, param, ctx)


def _of_job[F: Callable[..., Any]](function: F) -> F:
    """Add the options `--job`, `--home` and `--settings`."""
    option = click.option(
        "--job",
        metavar="NAME",
        shell_complete=complete_job,
        help="Name of a job, or of a run (with its timestamp).  [the job that runs]",
    )
    return common(option(function))


@click.group("queue")
def queue() -> None:
    """Show the queued URLs of a job by host, and change them while the job runs or after it was stopped."""


@queue.command("list")
@_of_job
@click.option(
    "--limit", default=50, show_default=True, type=click.IntRange(1, 100_000), metavar="N", help="Most hosts."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per host.")
def list_hosts(home: Path | None, settings_file: Path | None, job: str | None, limit: int, as_json: bool) -> None:
    """List the hosts with the longest queues, and those that were set aside.

    DUE is the time until the next visit. VISITS are those in progress. FAILED are failed visits in a row.
    """
    from admin.jobs.control.queues import host_queues

    with _frontier(home, settings_file, job) as (_, frontier):
        found = host_queues(frontier, limit)
        if as_json:
            for each in found:
                click.echo(json.dumps(_host_facts(each), ensure_ascii=False))
            return
        resting = frontier.desk.resting()
    rows = [("QUEUED", "DUE", "VISITS", "FAILED", "HOST", "WHY")]
    rows += [
        (str(each.queued), _due(each), str(each.visits), str(each.failures), each.host, _why(each)) for each in found
    ]
    _print_table(rows, numbers=4)
    if resting:
        click.echo(f"{counted(resting, 'URL')} of all hosts rest until their next try")


@queue.command("show")
@_of_job
@click.argument("host")
@click.option("--limit", default=50, show_default=True, type=click.IntRange(1, 100_000), metavar="N", help="Most URLs.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per URL.")
def show(home: Path | None, settings_file: Path | None, job: str | None, host: str, limit: int, as_json: bool) -> None:
    """Show the URLs of a host: those that are visited now, those that wait in their order, and those that rest.

    HOST has its port when that is not the default of the scheme. A URL of the host may be given, too.
    """
    from admin.jobs.control.queues import host_content

    with _frontier(home, settings_file, job) as (_, frontier):
        found = host_content(frontier, _host(host), limit)
    if as_json:
        for entry in (*found.leased, *found.waiting, *found.resting):
            click.echo(json.dumps(entry.as_json(), ensure_ascii=False))
        return
    for line in _host_lines(found):
        click.echo(line)


@queue.command("search")
@_of_job
@click.argument("expression", metavar="REGEX")
@click.option("--state", "states", multiple=True, type=click.Choice(_STATES), help="Only this state. Repeatable.")
@click.option("--limit", default=100, show_default=True, type=click.IntRange(1), metavar="N", help="Most URLs.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per URL.")
def search(
    home: Path | None,
    settings_file: Path | None,
    job: str | None,
    expression: str,
    states: tuple[str, ...],
    limit: int,
    as_json: bool,
) -> None:
    """Search the URLs that are not done: those in which a regular expression is found, in no order.

    Exit code 1 when there is none.
    """
    from admin.jobs.control import queues

    shown = 0
    with _frontier(home, settings_file, job) as (_, frontier):
        for entry in queues.search(frontier, expression, states or _STATES):  # type: ignore[arg-type]
            shown += 1
            click.echo(json.dumps(entry.as_json(), ensure_ascii=False) if as_json else _line(entry))
            if shown >= limit:
                click.echo(f"there may be more than {counted(shown, 'URL')}; --limit shows more", err=True)
                return
    if not shown:
        raise CommandRefused(f"no URL has {expression[:200]!r}")


@queue.command("export")
@_of_job
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@click.option(
    "--seen",
    "with_seen",
    is_flag=True,
    help="Write the fingerprints, or the Bloom filter, of all URLs that were seen, too.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def export(
    home: Path | None, settings_file: Path | None, job: str | None, file: Path, with_seen: bool, as_json: bool
) -> None:
    """Write all URLs that are not done into FILE, one JSON object on each line; with .gz at its end compressed.

    The file has all of their state, also the cookies of redirects, so that only you can read it. With --seen, an
    import into another job also leaves out what this job has visited.
    """
    from admin.jobs.control import queues

    with _frontier(home, settings_file, job) as (target, frontier), _file_errors(file):
        found = queues.export(target, frontier, file, with_seen=with_seen)
    if as_json:
        click.echo(
            json.dumps({"file": str(file), "urls": dict(found.urls), "seen": found.seen, "blocks": found.blocks})
        )
        return
    click.echo(found.line(str(file)))


@queue.command("import")
@_of_job
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option("--any-scope", is_flag=True, help="Queue URLs that are out of the job's scope, too.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def import_urls(
    home: Path | None, settings_file: Path | None, job: str | None, file: Path, any_scope: bool, as_json: bool
) -> int:
    """Add the URLs of a file of `queue export` to a job. Only `url` is needed on a line.

    URLs that the job knows already are counted and left alone. A line that can't be used is named with its number,
    and the rest goes on; the exit code is then 1.
    """
    from admin.jobs.control import queues

    with _frontier(home, settings_file, job) as (target, frontier), _file_errors(file):
        found = queues.import_file(target, frontier, file, any_scope=any_scope)
    if as_json:
        facts = {**asdict(found), "refused": dict(found.refused)}
        facts["problems"] = [{"line": number, "why": why} for number, why in found.problems]
        click.echo(json.dumps(facts, ensure_ascii=False))
    else:
        for line in found.problem_lines(str(file)):
            click.echo(line, err=True)
        click.echo(f"{target.name}: {found.line()}")
    return int(found.unusable > 0)


@queue.command("delete")
@_of_job
@click.argument("expression", metavar="REGEX")
@click.option("--yes", is_flag=True, help="Delete the URLs. Without it, their number is shown and nothing is changed.")
@click.option("--dry-run", is_flag=True, help="Show the number of URLs, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def delete(
    home: Path | None, settings_file: Path | None, job: str | None, expression: str, yes: bool, dry_run: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Delete the queued URLs in which a regular expression is found. They count as excluded, and stay seen.

    URLs that are being visited stay. URLs that are found later are queued again, if they are new; add a pattern to
    `exclude` of the profile, or to the rules of a harvest job, against those.
    """
    from admin.jobs.control import queues

    with _frontier(home, settings_file, job) as (target, frontier):
        if dry_run or not yes:
            count = queues.matching(frontier, expression)
            if as_json:
                click.echo(json.dumps({"matching": count, "deleted": 0}))
            else:
                click.echo(f"{counted(count, 'queued URL')} of {target.name} would be deleted")
            if not dry_run and count:
                raise InputError("nothing was deleted; give --yes to delete these URLs")
            return
        deleted = queues.delete(target, frontier, expression)
    click.echo(json.dumps({"deleted": deleted}) if as_json else f"{target.name}: {counted(deleted, 'URL')} deleted")


@queue.command("add")
@_of_job
@click.argument("urls", nargs=-1, required=True, metavar="URL…")
@click.option(
    "--priority", default="high", show_default=True, type=click.Choice(_PRIORITIES), help="Place in the host's queue."
)
@click.option("--force", is_flag=True, help="Visit URLs again that the job has visited.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per URL.")
def add(
    home: Path | None, settings_file: Path | None, job: str | None, urls: tuple[str, ...], priority: str, force: bool,
    as_json: bool,
) -> int:  # fmt: skip
    """Queue URLs that are in the job's scope. `job add-seed` adds seeds, which extend the scope.

    One line per URL says whether it was queued, was known already, or was refused. Exit code 1 when one was refused.
    """
    from admin.jobs.control import queues
    from frontier.definition.job import Seed
    from frontier.definition.scope import Priority

    with _frontier(home, settings_file, job) as (target, frontier):
        parsed = list(dict.fromkeys(Seed.parse(url).url for url in urls))
        answers = queues.add(target, frontier, parsed, priority=Priority[priority.upper()], force=force)
    for answer in answers:
        why = f": {answer.reason}" if answer.reason else ""
        click.echo(json.dumps(asdict(answer)) if as_json else f"{answer.outcome:8} {answer.url}{why}")
    return int(any(answer.outcome == "refused" for answer in answers))


@queue.command("block")
@_of_job
@click.argument("host")
@click.option("--for", "seconds", type=Duration(), metavar="TIME", help="Such as 90s, 15m or 2h.  [until unblock]")
def block(home: Path | None, settings_file: Path | None, job: str | None, host: str, seconds: float | None) -> None:
    """Visit a host no more, by no job of the same shard. Its URLs stay queued, and visits in progress are finished."""
    from admin.jobs.control import queues

    name = _host(host)
    with _frontier(home, settings_file, job) as (target, frontier):
        queues.block(target, frontier, name, seconds)
    click.echo(f"{name} is blocked {'until `queue unblock`' if seconds is None else f'for {seconds:g} s'}")


@queue.command("unblock")
@_of_job
@click.argument("host")
def unblock(home: Path | None, settings_file: Path | None, job: str | None, host: str) -> None:
    """End the block of a host; take a host back into the job that was set aside, for example after failures."""
    from admin.jobs.control import queues

    name = _host(host)
    with _frontier(home, settings_file, job) as (target, frontier):
        changed = queues.unblock(target, frontier, name)
    click.echo(f"{name} {'is visited again' if changed else 'was neither blocked nor set aside'}")


@queue.command("budget")
@_of_job
@click.option("--pages", type=LimitValue(click.IntRange(1)), metavar="N", help="Most pages of the job.")
@click.option("--urls", type=LimitValue(click.IntRange(1)), metavar="N", help="Most URLs of the job.")
@click.option("--bytes", "bytes_", type=LimitValue(Size()), metavar="SIZE", help="Most bytes of the job, such as 5GB.")
@click.option("--seconds", type=LimitValue(Duration()), metavar="TIME", help="Longest time of the job, such as 2h.")
@click.option("--host-pages", type=LimitValue(click.IntRange(1)), metavar="N", help="Most pages of each host.")
@click.option("--json", "as_json", is_flag=True, help="Print the limits as JSON.")
def budget(
    home: Path | None, settings_file: Path | None, job: str | None, pages: Any, urls: Any, bytes_: Any, seconds: Any,
    host_pages: Any, as_json: bool,
) -> None:  # fmt: skip
    """Set limits of a job, or show those that are in force. `none` removes a limit.

    Workers keep to the limits from their next claim on. A host that was set aside at its limit of pages goes on when
    that limit is raised.
    """
    from admin.jobs.control import queues

    given = dict(zip(_LIMITS, (pages, urls, bytes_, seconds, host_pages), strict=True))
    changes = {name: None if value == _NO_LIMIT else value for name, value in given.items() if value is not None}
    with _frontier(home, settings_file, job) as (target, frontier):
        limits = queues.budget(target, frontier, changes).model_dump(exclude_none=True)
    if as_json:
        click.echo(json.dumps({name: limits.get(name) for name in _LIMITS}))
        return
    said = ", ".join(f"{name} {_plain(value)}" for name, value in limits.items())
    click.echo(f"{target.name}: limits in force: {said or 'none'}")


@queue.command("rebuild")
@common
@click.option("--job", required=True, metavar="NAME", shell_complete=complete_job, help="Name of a job, or of a run.")
@click.option(
    "--log",
    "logs",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="A further crawl.log of the job, such as that of workers on another machine. Repeatable.",
)
@click.option("--revisit-pages", is_flag=True, help="Extract the links of stored pages, and queue those that are new.")
@click.option("--anew", is_flag=True, help="Drop the queues that Redis has of the job first.")
@click.option("--json", "as_json", is_flag=True, help="Print the account as JSON.")
def rebuild(
    home: Path | None, settings_file: Path | None, job: str, logs: tuple[Path, ...], revisit_pages: bool, anew: bool,
    as_json: bool,
) -> None:  # fmt: skip
    """Rebuild the queues of a job of `crawl` that Redis has lost; then resume the job with its own command.

    URLs that crawl.log or the capture index have as done are marked as seen, and not visited again. URLs whose last
    visits failed for a while are queued again, with all of their tries, and so are seeds that were not done. The
    limits count what was done before.

    Links that were found and never visited stand in no log. --revisit-pages finds those of stored pages again, without
    a request to their sites, but not the links that only scripts of a page make. `queue import` takes the rest from a
    file of `queue export`, when there is one. Renders that waited, tries, delays of hosts, pauses and rules of
    operators are lost.
    """
    from admin.fleet.home_folder import HomeError
    from admin.jobs.control.rebuild import rebuild as rebuild_job
    from admin.jobs.control.steering import find
    from dedupdb.captures.schema import CapturesError
    from frontier.definition.job import JobError
    from frontier.private_redis.server import RedisProblem

    def say(line: str) -> None:
        click.echo(line, err=True)

    settings = load_settings(home, settings_file)
    with steering_errors():
        target = find(settings, job)
        try:
            account = rebuild_job(target, logs=logs, with_pages=revisit_pages, anew=anew, say=say)
        except (JobError, RedisProblem, CapturesError, HomeError, OSError) as error:
            raise InputError(str(error)) from error
    if as_json:
        click.echo(json.dumps(asdict(account)))
        return
    for line in account.text():
        click.echo(line)


@contextmanager
def _frontier(home: Path | None, file: Path | None, job: str | None) -> Iterator[tuple[FoundJob, Frontier]]:
    """Yield a job and its frontier. Expected errors are raised as InputError, with exit code 2 or 6."""
    from admin.jobs.control.queues import opened
    from admin.jobs.control.steering import find, running_names
    from frontier.definition.job import JobError
    from frontier.private_redis.server import RedisProblem

    settings = load_settings(home, file)
    with steering_errors():
        if job is None:
            names = running_names(settings)
            if not names:
                raise NotRunningError("no job runs here; name one with --job")
            if len(names) > 1:
                raise InputError(f"several jobs run: {', '.join(names)}; name one with --job")
            job = names[0]
        target = find(settings, job)
        try:
            with opened(target) as frontier:
                yield target, frontier
        except (JobError, RedisProblem) as error:
            raise InputError(str(error)) from error


@contextmanager
def _file_errors(file: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        why = error.strerror or str(error)
        raise InputError(f"FILE {file}: {why}; check the folder and its permissions") from error


def _host(text: str) -> str:
    """Return the host that a person named, also by a URL. Raises InputError."""
    from archive.url import UrlError, named_host

    try:
        return named_host(text)
    except UrlError as error:
        raise InputError(f"HOST {text[:200]!r} is no host: {error}; write for example www.example.org") from error


def _host_facts(found: HostQueue) -> dict[str, Any]:
    return {
        "host": found.host,
        "queued": found.queued,
        "due_seconds": round(found.due_seconds, 3),
        "visits": found.visits,
        "failures": found.failures,
        "session_visits": found.session_visits,
        "aside": found.aside or None,
        "wait": found.wait.kind.value if found.wait else None,
        "blocked_seconds": round(_block_seconds(found.wait), 3),
        "is_beyond_limit": found.is_beyond,
    }


def _block_seconds(wait: Wait | None) -> float:
    return wait.seconds if wait is not None and wait.kind == "blocked" else 0.0


def _due(found: HostQueue) -> str:
    if found.aside or found.is_beyond:
        return "-"
    return f"{math.ceil(found.due_seconds)} s" if found.due_seconds else "now"


def _why(found: HostQueue) -> str:
    from admin.jobs.progress.display import wait_text

    if found.aside:
        return f"set aside: {found.aside}"
    if found.is_beyond:
        return "beyond the limit of pages"
    return wait_text(found.wait).removeprefix(f"{found.host}: ") if found.wait else ""


def _host_lines(found: HostContent) -> Iterator[str]:
    why = _why(found.queue)
    session = f"; {counted(found.queue.session_visits, 'visit')} of its session" if found.queue.session_visits else ""
    yield f"{found.queue.host}: {counted(found.queue.queued, 'URL')} queued{f'; {why}' if why else ''}{session}"
    for entry in (*found.leased, *found.waiting, *found.resting):
        yield _line(entry)
    if len(found.waiting) < found.queue.queued:
        yield f"and {found.queue.queued - len(found.waiting)} more; --limit shows more"


def _line(entry: QueueEntry) -> str:
    """Return a URL in one line: state, priority, depth, hop path, URL, and what else is to be said."""
    candidate = entry.candidate
    notes = [f"via {candidate.via}"] if candidate.via else []
    if entry.tries:
        notes.append(f"{entry.tries} failed")
    if entry.rest_seconds:
        notes.append(f"next try in {math.ceil(entry.rest_seconds)} s")
    if entry.worker:
        notes.append(f"visited by {entry.worker}")
    if entry.code:
        notes.append(f"code {entry.code}")
    path = candidate.hop_path or "-"
    said = f"  ({', '.join(notes)})" if notes else ""
    return f"{entry.state:8} {candidate.priority.name.lower():8} {candidate.depth:3} {path:6} {entry.url}{said}"


def _print_table(rows: Sequence[Sequence[str]], *, numbers: int) -> None:
    """Print rows as columns; the first `numbers` columns are right-aligned."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            f"{text:>{width}}" if at < numbers else f"{text:{width}}"
            for at, (text, width) in enumerate(zip(row, widths, strict=True))
        ]
        click.echo("  ".join(cells).rstrip())


def _plain(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else str(value)
