"""Ports of sessions: shared out among the processes, used in turn."""

from __future__ import annotations

import pytest

from proxy.process.listeners import SessionPorts


def test_without_a_range_the_system_chooses() -> None:
    assert list(SessionPorts("", 3, 4).candidates()) == [0]


def test_no_two_processes_share_a_port() -> None:
    shares = [set(SessionPorts("20000-20009", index, 3).candidates()) for index in range(3)]

    assert set.union(*shares) == set(range(20000, 20010))
    assert sum(map(len, shares)) == 10


def test_a_port_is_used_again_only_after_all_others() -> None:
    ports = SessionPorts("20000-20002", 0, 1)

    assert [next(ports.candidates()) for _ in range(4)] == [20000, 20001, 20002, 20000]


def test_a_range_that_is_too_small_is_named() -> None:
    with pytest.raises(ValueError, match="20000-20000"):
        SessionPorts("20000-20000", 1, 2)
