"""Errors of connecting, as clients and crawl.log are told of them."""

from __future__ import annotations

import ssl

import pytest

from proxy.fetch.failures import failure_to_connect
from proxy.origins.dead_hosts import DeadHost
from proxy.origins.egress import EgressFailed
from proxy.origins.resolver import AddressRefused, NameNotFound
from proxy.origins.upstream import PoolExhausted


@pytest.mark.parametrize(
    ("error", "code", "word", "status"),
    [
        (NameNotFound("no a.example"), -6, "dns", 502),
        (AddressRefused("a.example is at 10.0.0.1"), -5001, "private", 403),
        (EgressFailed("down"), -2, "egress", 502),
        (PoolExhausted("all 2 are in use"), -5, "crowded", 503),
        (TimeoutError(), -2, "connect-timeout", 504),
        (ssl.SSLError(1, "handshake"), -2, "tls", 502),
        (ConnectionRefusedError(111, "refused"), -2, "refused", 502),
    ],
)
def test_each_error_has_its_code_word_and_status(error: OSError, code: int, word: str, status: int) -> None:
    now, again = failure_to_connect(error), failure_to_connect(DeadHost(error))

    assert (now.code, now.word, now.status, now.detail) == (code, word, status, str(error))
    assert (now.logged, now.annotations) == (code, (word,))
    assert (again.code, again.word, again.status) == (code, word, status)
    assert (again.logged, again.annotations) == (-404, (word, "dead-host"))
    assert "remembered" in again.detail
