"""The command `crawl` turns its options into settings and a definition; `admin.jobs.crawling.crawl` does the work."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from admin.collections.names import CollectionName
from admin.options import (
    INTERRUPTED,
    JOB_FAILED,
    Duration,
    InputError,
    Size,
    common,
    fetching,
    fetching_settings,
    load_settings,
)
from admin.output_line import write_line
from admin.units import human_bytes
from frontier.definition.sheets import present_visitor

if TYPE_CHECKING:
    from admin.jobs.definition import Definition
    from admin.jobs.results.summary import Summary
    from archive.settings.load import Settings

_DEFINITION: Final = ("visitor", "rendered_fraction", "rendering", "scope", "hops", "robots", "user_agent")
"""These options are profile keys of the same name."""


class _VisitorChoice(click.Choice[str]):
    """The names of the visitors may be those of earlier releases, which the help does not show."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the present name of the visitor. Raises BadParameter."""
        return super().convert(present_visitor(value), param, ctx)


@click.command("crawl")
@click.argument("seeds", nargs=-1, metavar="SEED…")
@common
@click.option("--collection", type=CollectionName(), metavar="NAME", help="Collection to record into.  [default]")
@click.option(
    "--job", metavar="NAME", help="Name of the job.  [the collection's name and a hash of the seeds and the scope]"
)
@click.option(
    "--seeds-file", type=click.Path(path_type=Path), metavar="FILE", help="File with further seeds, one URL per line."
)
@click.option(
    "--profile",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Profile (YAML, TOML or JSON), or the name of a stock one; options win over it.",
)
@click.option(
    "--visitor",
    type=_VisitorChoice(["plain", "browser", "mixed"]),
    help="How pages are visited: plain HTTP, a headless browser, or both.  [plain]",
)
@click.option(
    "--rendered-fraction",
    type=click.FloatRange(0, 1),
    metavar="F",
    help="Fraction of the pages that `mixed` visits in the browser.  [0.1]",
)
@click.option(
    "--rendering",
    type=click.Choice(["synchronous", "asynchronous"]),
    help="When the browser opens a page: at its turn in the crawl, or later, by a queue of its own.  [synchronous]",
)
@click.option(
    "--render-workers",
    type=click.IntRange(1, 256),
    metavar="N",
    help="Number of pages of this queue that are rendered at once.  [2]",
)
@click.option(
    "--scope",
    type=click.Choice(["page", "prefix", "host", "domain", "any"]),
    help="Which URLs belong to a seed: the same page, path prefix, host or domain, or any URL.  [host]",
)
@click.option(
    "--include", multiple=True, metavar="REGEX", help="Add URLs that match this pattern to the scope. Repeatable."
)
@click.option(
    "--exclude", multiple=True, metavar="REGEX", help="Remove URLs that match this pattern from the scope. Repeatable."
)
@click.option(
    "--hops", type=click.IntRange(0), metavar="N", help="Largest number of links between a seed and a page.  [no limit]"
)
@click.option(
    "--limit-pages",
    type=click.IntRange(1),
    metavar="N",
    help="Stop after this number of pages; what these pages embed is still fetched.",
)
@click.option(
    "--limit-urls", type=click.IntRange(1), metavar="N", help="Stop after this number of URLs, embedded ones included."
)
@click.option("--limit-bytes", type=Size(), metavar="SIZE", help="Stop after this number of bytes, such as 500MB.")
@click.option("--limit-time", type=Duration(), metavar="T", help="Stop after this time, such as 90s, 15m or 2h.")
@click.option("--workers", type=click.IntRange(1, 256), metavar="N", help="Number of pages visited at once.  [2]")
@click.option("--proxies", type=click.IntRange(1, 64), metavar="N", help="Number of recording processes.  [1]")
@click.option(
    "--delay",
    type=click.FloatRange(0),
    metavar="SECONDS",
    help="Pause between two visits to one host.  [5 times the last visit's duration, from 3 to 30]",
)
@click.option("--robots", type=click.Choice(["obey", "ignore"]), help="Whether robots.txt is obeyed.  [obey]")
@click.option("--user-agent", metavar="TEXT", help="User-Agent of all requests.  [setting archive.user_agent]")
@click.option(
    "--header",
    "headers",
    multiple=True,
    metavar="NAME: VALUE",
    help="Header field to send with every request, to every site. Repeatable.",
)
@fetching
@click.option("--wacz", "as_wacz", is_flag=True, help="Write a WACZ package with the job's captures at the end.")
@click.option(
    "--on-end", metavar="COMMAND", help="Shell command to run at the end; standard input is the summary as JSON."
)
@click.option(
    "--on-end-url",
    envvar="GHOSTFLEET_ON_END_URL",
    metavar="URL",
    help="URL to POST the summary to at the end. Put a URL with a secret into the environment variable instead, where "
    "other users can't see it.  [$GHOSTFLEET_ON_END_URL]",
)
@click.option("--json", "as_json", is_flag=True, help="Print progress and summary as JSON lines.")
def crawl(seeds: tuple[str, ...], home: Path | None, settings_file: Path | None, as_json: bool, **flags: Any) -> int:
    """Crawl web sites into a collection on this machine, and show the progress.

    SEED is a URL. Run the same command again to resume an unfinished job. After a finished job it crawls the sites
    again, and unchanged responses are stored as revisit records. The first Ctrl-C finishes the visits in progress, the
    second stops at once.

    \b
    Exit codes:
      0    finished: all URLs in scope were visited, and every seed answered
      1    failed: no seed answered, a process died again and again, or the package of --wacz can't be written
      2    bad input: no crawl was begun
      3    gaps: seeds, hosts that were set aside, or single URLs are missing
      4    limit: a limit ended the crawl, and URLs are left
      5    stopped: an operator stopped the crawl, and URLs are left
      130  interrupted: a signal such as Ctrl-C ended the crawl, and URLs are left
    """
    settings = load_settings(home, settings_file, _as_settings(flags))
    definition = _definition(seeds, flags, settings)
    _check_hook(flags["on_end_url"])
    summary, hurried = _run(settings, settings_file, definition, as_json)
    if summary is None:
        click.echo("ghostfleet: interrupted before the crawl began", err=True)
        return INTERRUPTED
    for line in [json.dumps(summary.as_json(), ensure_ascii=False)] if as_json else summary.lines():
        write_line(sys.stdout, line)
    is_packaged = not flags["as_wacz"] or _write_wacz(summary, settings, as_json)
    _run_end_hooks(summary, settings, flags["on_end"], flags["on_end_url"])
    return INTERRUPTED if hurried else summary.exit_code or (0 if is_packaged else JOB_FAILED)


def _run(
    settings: Settings, settings_file: Path | None, definition: Definition, as_json: bool
) -> tuple[Summary | None, bool]:
    """Return the job's summary, or None when a signal came before the crawl began; and whether a second signal came.

    Raises InputError for faults that are expected.
    """
    from admin.fleet.home_folder import HomeError
    from admin.fleet.process import StartError, StartInterrupted
    from admin.fleet.sockets import PortError
    from admin.jobs.crawling.crawl import Crawl
    from admin.jobs.interrupts import Interrupts
    from admin.jobs.progress.display import display_for
    from admin.jobs.runs import RunError
    from frontier.definition.job import JobError
    from frontier.store import FrontierUnavailable

    with Interrupts() as interrupts:
        display = display_for(sys.stdout, as_json=as_json)
        try:
            summary = Crawl(settings, definition, display, interrupts, settings_file=settings_file).run()
        except StartInterrupted:
            return None, True
        except (PortError, HomeError, StartError, RunError, JobError, FrontierUnavailable) as error:
            raise InputError(str(error)) from error
        finally:
            display.close()
        return summary, interrupts.asked_to_hurry()


def _write_wacz(summary: Summary, settings: Settings, as_json: bool) -> bool:
    """Write a package with the captures of the job's run; return whether it has all of them."""
    from admin.collections.transfer.packaging import Packager
    from admin.collections.transfer.selection import ExportProblem, Selection

    run = Path(summary.folder).name
    target = settings.collection(summary.collection) / "wacz" / f"{run}.wacz"
    try:
        result = Packager(settings, summary.collection, target, Selection(job=run), title=run, for_readers=False).run()
    except (ExportProblem, ValueError, OSError) as error:
        click.echo(f"ghostfleet: the package {target} was not written: {error}", err=True)
        return False
    for line in result.missing:
        click.echo(f"ghostfleet: missing in the package: {line}", err=True)
    facts = {"event": "wacz", **result.as_json()}
    click.echo(json.dumps(facts) if as_json else f"  WACZ       {result.file} ({human_bytes(result.bytes)})")
    return not result.missing


def _check_hook(url: str | None) -> None:
    from admin.jobs.results.end_hooks import HookError, check_url

    try:
        if url:
            check_url(url)
    except HookError as error:
        raise InputError(str(error)) from error


def _run_end_hooks(summary: Summary, settings: Settings, command: str | None, url: str | None) -> None:
    """Run the command and POST the summary. Errors are printed and change neither state nor exit code."""
    if not (command or url):
        return
    from admin.jobs.results.end_hooks import post, run_command

    facts = summary.as_json()
    errors = [run_command(command, facts, str(settings.home), seconds=settings.admin.on_end_seconds)] if command else []
    errors += [post(url, facts)] if url else []
    for error in filter(None, errors):
        click.echo(f"ghostfleet: {error}", err=True)


def _as_settings(flags: dict[str, Any]) -> dict[str, Any]:
    return {
        "browsers.workers": flags["workers"],
        "browsers.render_workers": flags["render_workers"],
        "proxy.processes": flags["proxies"],
        "proxy.collection": flags["collection"],
        **fetching_settings(flags),
    }


def _fixed_delay(seconds: float | None) -> dict[str, Any]:
    """Return the profile keys of `--delay`: a pause that does not depend on a visit's duration.

    A longer Crawl-Delay of robots.txt is still obeyed.
    """
    factor = None if seconds is None else 0.0
    names = ("politeness.min_delay_seconds", "politeness.max_delay_seconds")
    return dict.fromkeys(names, seconds) | {"politeness.delay_factor": factor}


def _definition(seeds: tuple[str, ...], flags: dict[str, Any], settings: Settings) -> Definition:
    from admin.jobs.crawling.seed_queueing import SeedNotes
    from admin.jobs.definition import define, headers_of
    from frontier.definition.job import JobError

    try:
        headers = headers_of(flags["headers"])
    except JobError as error:
        raise InputError(str(error)) from error
    profile = {name: flags[name] for name in _DEFINITION} | {
        "include": flags["include"] or None,
        "exclude": flags["exclude"] or None,
        "headers": headers,
        "limits.pages": flags["limit_pages"],
        "limits.urls": flags["limit_urls"],
        "limits.bytes": flags["limit_bytes"],
        "limits.seconds": flags["limit_time"],
        **_fixed_delay(flags["delay"]),
    }
    try:
        return define(
            seeds=seeds,
            seeds_file=flags["seeds_file"],
            profile_file=flags["profile"],
            flags=profile,
            collection=settings.proxy.collection,
            job=flags["job"],
            told=SeedNotes(lambda line: click.echo(f"ghostfleet: {line}", err=True), "reading seeds"),
        )
    except JobError as error:
        raise InputError(str(error)) from error
