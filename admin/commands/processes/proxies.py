"""The command `proxies` lists the recording processes that are registered in Redis."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from admin.options import InputError, common, load_settings

if TYPE_CHECKING:
    from archive.settings.load import Settings
    from dedupdb.fleet.registry import Member

_LINE: Final = "{:<22} {:<22} {:<22} {:>8} {:>5}  {}"


@click.command("proxies")
@common
@click.option("--redis-url", metavar="URL", help="Redis of the fleet.  [setting redis.url, or the home's own]")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per process.")
def proxies(home: Path | None, settings_file: Path | None, redis_url: str | None, as_json: bool) -> None:
    """List the running recording processes with their addresses and load.

    Each process registers in Redis by a heartbeat; a process without a recent heartbeat is not listed. Where several
    machines share one Redis, the processes of all are listed. A load of 1 means that a process can't take more.
    """
    from dedupdb.fleet.registry import Registry
    from dedupdb.redis_io.link import DedupUnavailable

    settings = load_settings(home, settings_file)
    url = redis_url or settings.redis.url or _own_redis(settings)
    try:
        with Registry(url, timeout_seconds=settings.redis.timeout_seconds) as registry:
            members = registry.members()
    except DedupUnavailable as error:
        raise InputError(f"the recording processes can't be listed: {error}") from error
    if not as_json:
        click.echo(_LINE.format("MACHINE", "PROXY", "CONTROL", "PID", "LOAD", "SINCE"))
    for member in members:
        click.echo(json.dumps(asdict(member)) if as_json else _row(member))


def _row(member: Member) -> str:
    since = datetime.fromtimestamp(member.since, UTC).isoformat(timespec="seconds")
    return _LINE.format(member.host, member.address, member.control, member.pid, f"{member.load:.2f}", since)


def _own_redis(settings: Settings) -> str:
    """Return the URL of the home's private Redis. Raises InputError when it is not running."""
    from frontier.private_redis.guard import is_up
    from frontier.private_redis.socket_path import socket_path

    folder = settings.home / "redis"
    if not folder.is_dir() or not is_up(address := socket_path(folder)):
        raise InputError(
            f"no fleet is running in {settings.home}; choose another home with --home, or give --redis-url"
        )
    return f"unix://{address}"
