"""`ghostfleet proxies`: the recording processes that are listed in Redis."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from admin.options import InputError, common, load_settings

if TYPE_CHECKING:
    from archive.settings import Settings
    from dedupdb.registry import Member

_LINE: Final = "{:<22} {:<22} {:<22} {:>8} {:>5}  {}"


@click.command("proxies")
@common
@click.option("--redis-url", metavar="URL", help="The fleet's Redis.  [setting redis.url, or the home's own]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
def proxies(home: Path | None, settings_file: Path | None, redis_url: str | None, as_json: bool) -> None:
    """List the recording processes that said within the last heartbeats that they serve.

    A load of 1 is as much as a process can take. The fleet that is asked for is that of the Redis.
    """
    from dedupdb.redis_link import DedupUnavailable
    from dedupdb.registry import Registry

    settings = load_settings(home, settings_file)
    url = redis_url or settings.redis.url or _own_redis(settings)
    try:
        with Registry(url, timeout_seconds=settings.redis.timeout_seconds) as registry:
            members = registry.members()
    except DedupUnavailable as error:
        raise InputError(f"the proxies can't be listed: {error}") from error
    if not as_json:
        click.echo(_LINE.format("MACHINE", "PROXY", "CONTROL", "PID", "LOAD", "SINCE"))
    for member in members:
        click.echo(json.dumps(asdict(member)) if as_json else _row(member))


def _row(member: Member) -> str:
    since = datetime.fromtimestamp(member.since, UTC).isoformat(timespec="seconds")
    return _LINE.format(member.host, member.address, member.control, member.pid, f"{member.load:.2f}", since)


def _own_redis(settings: Settings) -> str:
    """Where the home's private Redis is, while it runs."""
    from frontier.guard import is_up
    from frontier.socketplace import socket_path

    folder = settings.home / "redis"
    if not folder.is_dir() or not is_up(address := socket_path(folder)):
        raise InputError(f"no fleet is running in {settings.home}; choose another with --home, or give --redis-url")
    return f"unix://{address}"
