"""Names are looked up once, at the same time, and no caller waits for ever."""

from __future__ import annotations

import threading

import pytest

from frontier import name_lookups
from frontier.name_lookups import NameLookups, ResolvedHost, resolved


def test_names_are_looked_up_once_and_addresses_never() -> None:
    asked: list[str] = []

    def resolve(name: str) -> ResolvedHost:
        asked.append(name)
        return ResolvedHost(("192.0.2.1",), "edge.cdn.test") if name == "a.test" else ResolvedHost()

    lookups = NameLookups(resolve)
    found = lookups.all_of(["a.test:8080", "b.test", "192.0.2.7:81", "[2001:db8::1]"])
    assert found["a.test:8080"] == ResolvedHost(("192.0.2.1",), "edge.cdn.test")
    assert found["b.test"] == ResolvedHost()
    assert found["192.0.2.7:81"].addresses == ("192.0.2.7",)
    assert found["[2001:db8::1]"].addresses == ("2001:db8::1",)
    lookups.names_of("a.test")
    lookups.names_of("b.test")
    assert sorted(asked) == ["a.test", "b.test"]
    lookups.close()


def test_a_resolver_that_does_not_answer_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(name_lookups, "_WAIT_SECONDS", 0.05)
    begun, go_on, asked = threading.Event(), threading.Event(), []

    def resolve(name: str) -> ResolvedHost:
        asked.append(name)
        begun.set()
        go_on.wait()
        return ResolvedHost(("192.0.2.1",))

    lookups = NameLookups(resolve)
    assert lookups.names_of("slow.test") == ResolvedHost()
    assert lookups.names_of("slow.test") == ResolvedHost()
    assert begun.wait(60)
    assert asked == ["slow.test"], "a name is not asked for again while the resolver is asked"
    go_on.set()
    lookups.close()


def test_the_resolver_of_the_system_knows_its_own_name() -> None:
    assert resolved("localhost").addresses
    assert resolved("no-such-name.invalid") == ResolvedHost()
    assert resolved("a" * 300) == ResolvedHost()
