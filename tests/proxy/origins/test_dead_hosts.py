"""What makes a host dead, and what does not."""

from __future__ import annotations

import errno
import socket
import ssl

import pytest

from proxy.origins.dead_hosts import DeadHost, DeadHosts, is_host_error
from proxy.origins.egress import EgressFailed
from proxy.origins.resolver import AddressRefused, NameNotFound


def name_not_found(code: int) -> NameNotFound:
    error = NameNotFound("a.example")
    error.__cause__ = socket.gaierror(code, "")
    return error


@pytest.mark.parametrize(
    ("error", "is_dead"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "refused"), True),
        (OSError(errno.EHOSTUNREACH, "no route"), True),
        (TimeoutError(), True),
        (name_not_found(socket.EAI_NONAME), True),
        (name_not_found(socket.EAI_AGAIN), False),
        (OSError(errno.EMFILE, "too many open files"), False),
        (OSError(errno.ENETUNREACH, "our network is down"), False),
        (EgressFailed("down"), False),
        (AddressRefused("private"), False),
        (ssl.SSLError(1, "handshake"), False),
    ],
)
def test_only_errors_that_the_host_caused_count(error: OSError, is_dead: bool) -> None:
    assert is_host_error(error) is is_dead


def test_a_dead_host_is_answered_with_the_reason_and_others_are_tried() -> None:
    dead = DeadHosts(60)
    refused = ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    dead.note("a.example", refused)
    dead.note("b.example", OSError(errno.EMFILE, "too many open files"))

    with pytest.raises(DeadHost, match=r"refused.*proxy\.dead_host_seconds") as raised:
        dead.check("a.example")
    dead.check("b.example")

    assert raised.value.reason is refused
    assert len(dead) == 1


def test_nothing_is_remembered_when_switched_off() -> None:
    dead = DeadHosts(0)
    dead.note("a.example", TimeoutError())

    dead.check("a.example")
    assert len(dead) == 0


class Clock:
    """A clock that the test sets."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def seconds_dead(dead: DeadHosts, clock: Clock) -> int:
    """For how many seconds from now the host is believed dead."""
    for second in range(1000):
        try:
            dead.check("a.example")
        except DeadHost:
            clock.now += 1
        else:
            return second
    raise AssertionError("the host is believed dead for ever")


def test_a_host_is_believed_dead_for_longer_each_time_until_it_is_reached() -> None:
    """T25: a restart of two seconds must not fail the pages of a whole minute."""
    clock, refused = Clock(), ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    dead = DeadHosts(10, clock)

    def failed() -> int:
        dead.note("a.example", refused)
        return seconds_dead(dead, clock)

    assert [failed() for _ in range(6)] == [1, 2, 4, 8, 10, 10]
    dead.reached("a.example")
    assert failed() == 1


def test_failures_of_connections_that_were_opened_together_count_once() -> None:
    clock, refused = Clock(), ConnectionRefusedError(errno.ECONNREFUSED, "refused")
    dead = DeadHosts(60, clock)

    for _ in range(50):
        dead.note("a.example", refused)

    assert seconds_dead(dead, clock) == 1


def test_a_host_that_took_long_to_fail_is_believed_dead_for_as_long() -> None:
    clock = Clock()
    dead = DeadHosts(60, clock)

    dead.note("a.example", TimeoutError(), took=20)

    assert seconds_dead(dead, clock) == 20
