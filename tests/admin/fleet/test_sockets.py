"""Ports: shared among our own processes, never with strangers."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

from admin.sockets import PortError, address, listen


@pytest.mark.parametrize("count", [1, 3])
def test_a_taken_port_is_named_with_the_remedy(count: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortError, match=f"port {port} of 127.0.0.1 is taken; choose another with --port"):
            listen("127.0.0.1", port, count, option="--port")


def test_the_port_of_another_fleet_is_not_joined_though_it_could_be() -> None:
    with _listening(2) as first, pytest.raises(PortError, match="is taken"):
        listen("127.0.0.1", first[0].getsockname()[1], 2, option="--port")


def test_all_sockets_of_a_fleet_have_one_port_and_accept() -> None:
    with _listening(3) as opened:
        assert len({address(each) for each in opened}) == 1
        with socket.create_connection(opened[0].getsockname()):
            pass


def test_an_impossible_host_is_explained() -> None:
    with pytest.raises(PortError, match=r"can't listen on 192.0.2.1:8000"):
        listen("192.0.2.1", 8000, option="--port")


class _listening(ExitStack):
    def __init__(self, count: int) -> None:
        super().__init__()
        self._opened = [self.enter_context(each) for each in listen("127.0.0.1", 0, count, option="--port")]

    def __enter__(self) -> list[socket.socket]:  # type: ignore[override]
        return self._opened
