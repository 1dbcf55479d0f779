"""`ghostfleet crawl`: flags to settings and definition; the work itself is `admin.crawl`."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from admin.options import (
    INTERRUPTED,
    JOB_FAILED,
    Duration,
    InputError,
    Size,
    common,
    fetching,
    load_settings,
    resolve_table,
)

if TYPE_CHECKING:
    from admin.definition import Definition
    from admin.summary import Summary
    from archive.settings import Settings

_DEFINITION: Final = ("visitor", "rendered_fraction", "scope", "hops", "robots")
"""Flags that are profile keys of the same name."""


@click.command("crawl")
@click.argument("seeds", nargs=-1, metavar="SEED…")
@common
@click.option("--collection", default=None, metavar="NAME", help="Collection to add to.  [default]")
@click.option("--job", metavar="NAME", help="Name of the job.  [the collection's, and a hash of seeds and scope]")
@click.option("--seeds-file", type=click.Path(path_type=Path), metavar="FILE", help="More seeds, one per line.")
@click.option("--profile", type=click.Path(path_type=Path), metavar="FILE", help="Profile, TOML or JSON; flags win.")
@click.option("--visitor", type=click.Choice(["plain", "chromium", "mixed"]), help="Who visits pages.  [plain]")
@click.option(
    "--rendered-fraction", type=click.FloatRange(0, 1), metavar="F", help="Share that `mixed` renders.  [0.1]"
)
@click.option(
    "--scope", type=click.Choice(["page", "prefix", "host", "domain", "any"]), help="What the seeds span.  [host]"
)
@click.option("--hops", type=click.IntRange(0), metavar="N", help="Links followed away from a seed.  [no limit]")
@click.option("--limit-pages", type=click.IntRange(1), metavar="N", help="Stop after so many visits.")
@click.option("--limit-bytes", type=Size(), metavar="SIZE", help="Stop after so many bytes, such as 500MB.")
@click.option("--limit-time", type=Duration(), metavar="T", help="Stop after so long, such as 90s, 15m or 2h.")
@click.option("--workers", type=click.IntRange(1, 256), metavar="N", help="Visits that go on at once.  [2]")
@click.option("--proxies", type=click.IntRange(1, 64), metavar="N", help="Recording processes.  [1]")
@click.option("--delay", type=click.FloatRange(0), metavar="SECONDS", help="Pause on one host.  [5 visits, 3 to 30]")
@click.option("--robots", type=click.Choice(["obey", "ignore"]), help="Whether robots.txt decides.  [obey]")
@fetching
@click.option("--json", "as_json", is_flag=True, help="Progress and summary as JSON lines.")
def crawl(seeds: tuple[str, ...], home: Path | None, settings_file: Path | None, as_json: bool, **flags: Any) -> int:
    """Run one job to its end on this machine, and show how it goes.

    SEED is a URL. The same command again goes on where an unfinished job was; after a finished one it harvests anew,
    and what did not change is kept as revisits. The first Ctrl-C finishes what is in flight, the second ends it now.
    """
    settings = load_settings(home, settings_file, _as_settings(flags))
    definition = _definition(seeds, flags, settings)
    summary, hurried = _run(settings, definition, as_json)
    if summary is None:
        click.echo("ghostfleet: stopped before it had begun", err=True)
        return INTERRUPTED
    for line in [json.dumps(summary.as_json(), ensure_ascii=False)] if as_json else summary.lines():
        click.echo(line)
    if hurried:
        return INTERRUPTED
    return JOB_FAILED if summary.status == "failed" else 0


def _run(settings: Settings, definition: Definition, as_json: bool) -> tuple[Summary | None, bool]:
    """The job's summary, and whether a second signal cut it short; None when a signal came before it had begun.

    Expected faults become one line.
    """
    from admin.crawl import Crawl
    from admin.homefolder import HomeError
    from admin.interrupts import Interrupts
    from admin.process import Abandoned, StartError
    from admin.progress import display_for
    from admin.runs import RunError
    from admin.sockets import PortError
    from frontier.job import JobError
    from frontier.store import FrontierUnavailable

    with Interrupts() as interrupts:
        display = display_for(sys.stdout, as_json=as_json)
        try:
            summary = Crawl(settings, definition, display, interrupts).run()
        except Abandoned:
            return None, True
        except (PortError, HomeError, StartError, RunError, JobError, FrontierUnavailable) as error:
            raise InputError(str(error)) from error
        finally:
            display.close()
        return summary, interrupts.in_haste()


def _as_settings(flags: dict[str, Any]) -> dict[str, Any]:
    return {
        "browsers.workers": flags["workers"],
        "proxy.processes": flags["proxies"],
        "proxy.collection": flags["collection"],
        "proxy.allow_private": flags["allow_private"],
        "proxy.upstream_ca": flags["upstream_ca"],
        "proxy.resolve": resolve_table(flags["resolve"]),
    }


def _fixed_delay(seconds: float | None) -> dict[str, Any]:
    """`--delay`: this pause whatever a visit took; a longer Crawl-Delay is still obeyed."""
    factor = None if seconds is None else 0.0
    names = ("politeness.min_delay_seconds", "politeness.max_delay_seconds")
    return dict.fromkeys(names, seconds) | {"politeness.delay_factor": factor}


def _definition(seeds: tuple[str, ...], flags: dict[str, Any], settings: Settings) -> Definition:
    from admin.definition import define
    from frontier.job import JobError

    profile = {name: flags[name] for name in _DEFINITION} | {
        "limits.pages": flags["limit_pages"],
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
        )
    except JobError as error:
        raise InputError(str(error)) from error
