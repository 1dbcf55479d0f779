"""`ghostfleet bench faults` runs a fault campaign."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from bench.faults.campaign import Campaign, FaultUnavailable
from bench.faults.episode import Episode
from bench.faults.kinds import KINDS
from bench.faults.report import as_json, broken, table
from bench.peers.peer import cache_folder

_TABLE_WIDTH: Final = 110


@click.command()
@click.option("--rounds", default=20, show_default=True, type=click.IntRange(1), help="Number of faults.")
@click.option(
    "--seed",
    type=int,
    help="Seed of the random choices; the same seed repeats a campaign.  [random; the results name it]",
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(list(KINDS)),
    metavar="KIND",
    help=f"Kind of fault, one of {', '.join(KINDS)}; repeatable.",
)
@click.option(
    "--deliver",
    type=click.Choice(["durable", "written", "at_once"]),
    help="Setting proxy.deliver; without durability, a kill must lose responses.  [durable]",
)
@click.option(
    "--output", type=click.Path(path_type=Path, dir_okay=False), help="File to which the results are written as JSON."
)
@click.option(
    "--keep", type=click.Path(path_type=Path, file_okay=False), help="Folder to which homes with errors are copied."
)
@click.option("--json", "as_data", is_flag=True, help="Print the results as JSON.")
def faults(
    rounds: int,
    seed: int | None,
    only: Sequence[str],
    deliver: str | None,
    output: Path | None,
    keep: Path | None,
    as_data: bool,
) -> None:
    """Break the system while the proxy works, and check that no response or WebSocket is lost whose end a client saw.

    Processes are killed, Redis hangs, disks are full, fail or lose power, and origins and clients reset connections.
    After a few faults, all WARC files, indexes and logs are checked. Without root, faults that need a disk of their own
    are left out; the command fails when --only names one of them.
    """
    chosen = random.SystemRandom().randrange(1 << 31) if seed is None else seed
    settings = {"proxy.deliver": deliver} if deliver else {}
    file = output or cache_folder("results") / f"faults-{datetime.now(UTC):%Y%m%d%H%M%S}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    played: list[Episode] = []
    try:
        for episode in Campaign(rounds, chosen, only, settings, keep).run(lambda text: click.echo(text, err=True)):
            played.append(episode)
            file.write_text(as_json(played, chosen), "utf-8")
            for violation in episode.violations:
                click.echo(f"  {violation.invariant}: {violation.message}", err=True)
    except FaultUnavailable as error:
        raise click.ClickException(str(error)) from None
    finally:  # an interrupted campaign prints its results, too
        _tell(played, chosen, file, as_data=as_data)
    if any(episode.violations for episode in played):
        raise click.ClickException("checks failed; the errors are listed above")


def _tell(played: Sequence[Episode], seed: int, file: Path, *, as_data: bool) -> None:
    if as_data:
        click.echo(as_json(played, seed))
        return
    Console(width=max(Console().width, _TABLE_WIDTH)).print(table(played, seed))
    for line in broken(played):
        click.echo(line)
    if played:
        click.echo(f"results: {file}")
