"""Settings read again while a fleet runs."""

from __future__ import annotations

from pathlib import Path

from admin.reload import changed_for_later, possible_now
from archive.settings import load


def test_what_the_parent_holds_stays_and_is_told_of(home: Path) -> None:
    running = load({"home": str(home)}, environment={})
    changes = {"proxy.port": 9, "proxy.via": "new", "redis.url": "redis://x/", "archive.operator": "us"}
    read = load({"home": str(home), **changes}, environment={})

    chosen = possible_now(running, read)

    assert (chosen.proxy.port, chosen.redis) == (running.proxy.port, running.redis)
    assert (chosen.proxy.via, chosen.archive.operator) == ("new", "us")
    assert list(changed_for_later(running, read)) == ["redis.url", "proxy.port"]
    assert list(changed_for_later(running, running)) == []
