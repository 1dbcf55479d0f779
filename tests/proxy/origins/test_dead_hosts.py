"""What makes a host dead, and what does not."""

from __future__ import annotations

import errno
import socket
import ssl

import pytest

from proxy.addresses import AddressRefused, NameNotFound
from proxy.deadhosts import DeadHost, DeadHosts, is_of_the_host
from proxy.egress import EgressFailed


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
def test_only_what_is_wrong_over_there_counts(error: OSError, is_dead: bool) -> None:
    assert is_of_the_host(error) is is_dead


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
