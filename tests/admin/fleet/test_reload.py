"""Settings read again while a fleet runs."""

from __future__ import annotations

from pathlib import Path

from admin.fleet.reload import reloaded_settings, settings_that_need_restart
from archive.settings.load import load


def test_settings_of_the_parent_stay_and_are_named(home: Path) -> None:
    running = load({"home": str(home)}, environment={})
    changes = {"proxy.port": 9, "proxy.via": "new", "redis.url": "redis://x/", "archive.operator": "us"}
    read = load({"home": str(home), **changes}, environment={})

    chosen = reloaded_settings(running, read)

    assert (chosen.proxy.port, chosen.redis) == (running.proxy.port, running.redis)
    assert (chosen.proxy.via, chosen.archive.operator) == ("new", "us")
    assert list(settings_that_need_restart(running, read)) == ["redis.url", "proxy.port"]
    assert list(settings_that_need_restart(running, running)) == []
