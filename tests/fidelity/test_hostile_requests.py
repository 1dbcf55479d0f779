"""A hostile request gets the answer it deserves, and no origin is ever asked for what hides in it."""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest
from support.clients.hostile_requests import HOSTILE
from support.clients.raw_client import BrokenOff, Client
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, response
from support.proxy.running_proxy import RunningProxy

ADDRESS = "127.0.1.82"


@pytest.fixture(scope="module")
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as running:
        running.otherwise(lambda asked: (Send(response(page(asked.split(b" ", 2)[1][:99]))),))
        yield running


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    with RunningProxy(tmp_path_factory.mktemp("hostile") / "home") as running:
        yield running


def test_a_hostile_request_is_answered_and_smuggles_nothing(proxy: RunningProxy, origin: RawOrigin) -> None:
    for hostile in HOSTILE:
        status = first_status(proxy, hostile.sent.replace(b"AUTHORITY", origin.authority.encode()))

        assert status in hostile.statuses, hostile.name
        assert [visit.path for visit in origin.visits if "smuggled" in visit.path] == [], hostile.name


def first_status(proxy: RunningProxy, sent: bytes) -> int:
    """Status of the first answer to these bytes, after which the client says no more; 0 for a close without one."""
    with proxy.connect() as client:
        try:
            client.send(sent)
            client.stream.shutdown(socket.SHUT_WR)
        except ConnectionError:
            pass  # it had heard enough
        return _status(client)


def _status(client: Client) -> int:
    try:
        return client.read_reply().status
    except BrokenOff:
        return 0
