"""Ports: shared among our own processes, never with strangers."""

from __future__ import annotations

import socket
from contextlib import ExitStack

import pytest

from admin.fleet.sockets import PortError, address, listen, restricted
from archive.listener_access import Clients


@pytest.mark.parametrize("count", [1, 3])
def test_a_port_in_use_is_named_with_the_remedy(count: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(PortError, match=f"port {port} of 127.0.0.1 is in use; choose another with --port"):
            listen("127.0.0.1", port, count, option="--port")


def test_the_port_of_another_fleet_is_not_shared() -> None:
    with _listening(2) as first, pytest.raises(PortError, match="is in use"):
        listen("127.0.0.1", first[0].getsockname()[1], 2, option="--port")


def test_all_sockets_of_a_fleet_have_one_port_and_accept() -> None:
    with _listening(3) as opened:
        assert len({address(each) for each in opened}) == 1
        with socket.create_connection(opened[0].getsockname()):
            pass


def test_an_impossible_host_is_explained() -> None:
    with pytest.raises(PortError, match=r"can't listen on 192.0.2.1:8000"):
        listen("192.0.2.1", 8000, option="--port")


def test_a_restricted_listener_accepts_only_allowed_clients() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("198.51.100.1", 9))
        except OSError:
            pytest.skip("needs a machine with a network")
        network = probe.getsockname()[0]
    with restricted(socket.create_server(("127.0.0.1", 0)), Clients(("203.0.113.0/24",))) as listener:
        with socket.create_connection(listener.getsockname(), source_address=(network, 0)) as stranger:
            with pytest.raises(ConnectionAbortedError):
                listener.accept()
            assert stranger.recv(1) == b""
        with socket.create_connection(listener.getsockname()):
            listener.accept()[0].close()


def test_a_listener_without_an_allow_list_is_not_changed() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert restricted(listener, Clients(())) is listener


class _listening(ExitStack):
    def __init__(self, count: int) -> None:
        super().__init__()
        self._opened = [self.enter_context(each) for each in listen("127.0.0.1", 0, count, option="--port")]

    def __enter__(self) -> list[socket.socket]:  # type: ignore[override]
        return self._opened
