"""`ghostfleet bench`: the benches, one command each."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
from rich.console import Console

from admin.bench import soaking
from admin.bench.corpus import FILES
from admin.bench.faults.cli import faults
from admin.bench.peers import KINDS, PeerUnavailable
from admin.bench.peers.peer import cache_folder
from admin.bench.report import Row, as_json, comparison, rows, table
from admin.bench.rounds import Bench, Measured, Plan

SCHEMES: Final = ("http", "connect", "absolute")
OURS: Final = "ghostfleet"
TABLE_WIDTH: Final = 100


@click.group()
def bench() -> None:
    """Measure this installation beside its peers, on this machine."""


def _listed(_: click.Context, parameter: click.Parameter, value: str) -> list[str]:
    known = SCHEMES if parameter.name == "schemes" else tuple(KINDS)
    names = [name.strip() for name in value.split(",") if name.strip()]
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is not known; choose from {', '.join(known)}")
    return names


@bench.command()
@click.option(
    "--requests", default=FILES, show_default=True, type=click.IntRange(1), help="Files asked for in a round."
)
@click.option("--seconds", default=600.0, show_default=True, type=click.FloatRange(1), help="Longest time of a round.")
@click.option(
    "--rounds", default=3, show_default=True, type=click.IntRange(1), help="Rounds; peers take turns in each."
)
@click.option("--connections", default=32, show_default=True, type=click.IntRange(1), help="Client connections.")
@click.option("--processes", default=1, show_default=True, type=click.IntRange(1), help="Processes of our proxy.")
@click.option("--schemes", default=",".join(SCHEMES), show_default=True, callback=_listed, help="What to measure.")
@click.option("--peers", default="ghostfleet,warcprox", show_default=True, callback=_listed, help="Whom to measure.")
@click.option("--output", type=click.Path(path_type=Path, dir_okay=False), help="File for the results as JSON.")
@click.option("--json", "as_data", is_flag=True, help="Print the results as JSON.")
def proxy(
    requests: int,
    seconds: float,
    rounds: int,
    connections: int,
    processes: int,
    schemes: Sequence[str],
    peers: Sequence[str],
    output: Path | None,
    as_data: bool,
) -> None:
    """Recording proxies side by side: speed, CPU, memory, and whether all they answered is in a WARC.

    The load is 4,000 distinct files of 23 KB mean, two thirds text, asked for once each on keep-alive connections;
    gzip, dedup and durability are on. A peer is installed from PyPI into its own environment when first asked for.
    """
    plan = Plan([KINDS[name]() for name in peers], schemes, rounds, requests, seconds, connections, processes)
    found = _measure(plan)
    data = as_json(plan, found)
    file = output or cache_folder("results") / f"proxy-{datetime.now(UTC):%Y%m%d%H%M%S}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(data, "utf-8")
    if as_data:
        click.echo(data)
    else:
        title = f"{requests:,} files of 23 KB, {connections} connections, {rounds} rounds, {processes} of our processes"
        Console(width=max(Console().width, TABLE_WIDTH)).print(table(found, title))
        for line in comparison(found, OURS):
            click.echo(line)
        click.echo(f"results: {file}")
    if any(row.missing or row.damaged for row in found if row.peer == OURS):
        raise click.ClickException("our proxy acknowledged responses that are not in a WARC, see the results file")


bench.add_command(faults)


@bench.command()
@click.option("--seconds", default=600.0, show_default=True, type=click.FloatRange(1), help="How long the load lasts.")
@click.option("--every", default=60.0, show_default=True, type=click.FloatRange(0.1), help="Seconds between samples.")
@click.option("--scheme", default="connect", show_default=True, type=click.Choice(SCHEMES), help="What to load with.")
@click.option("--connections", default=32, show_default=True, type=click.IntRange(1), help="Client connections.")
def soak(seconds: float, every: float, scheme: str, connections: int) -> None:
    """Our proxy under load for long: memory and file descriptors over time, and whether they stay flat."""
    found = soaking.soak(seconds, every, scheme, connections, lambda sample: click.echo(str(sample)))
    click.echo(
        f"{found.acknowledged:,} answered, {found.errors:,} failed; later half: {found.mb_per_hour:+.1f} MB and "
        f"{found.descriptors_per_hour:+.1f} descriptors an hour"
    )
    if not found.is_flat or found.errors:
        raise click.ClickException("not flat" if not found.is_flat else "some requests failed")
    click.echo("flat")


def _measure(plan: Plan) -> list[Row]:
    running = Bench(plan)
    measured: list[Measured] = []
    try:
        for one in running.run(lambda text: click.echo(text, err=True)):
            measured.append(one)
    except PeerUnavailable as error:
        raise click.ClickException(str(error)) from error
    finally:
        running.close()
    return rows(measured)
