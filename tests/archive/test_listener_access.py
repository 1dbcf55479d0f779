"""Who may speak to a listener: which settings open it to a network, which clients it admits, which Host it answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from archive.listener_access import Clients, HostNames, exposure, is_loopback
from archive.settings.load import SettingsError, load


def problem(**given: Any) -> str:
    return exposure(load({name.replace("__", "."): value for name, value in given.items()}, environment={}))


class TestExposure:
    @pytest.mark.parametrize("host", ["127.0.0.1", "127.0.1.35", "::1", "localhost"])
    def test_a_loopback_listener_needs_nothing(self, host: str) -> None:
        assert problem(proxy__host=host, admin__host=host) == ""

    @pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.7", "no-such-name.invalid", ""])
    def test_an_open_proxy_is_refused_in_one_line_that_names_setting_value_and_remedies(self, host: str) -> None:
        found = problem(proxy__host=host)

        assert f"proxy.host = {host!r}" in found
        assert all(remedy in found for remedy in ("proxy.password", "proxy.allow_clients", "127.0.0.1"))
        assert "\n" not in found

    def test_a_password_or_an_allow_list_is_enough_for_the_proxy(self) -> None:
        assert problem(proxy__host="0.0.0.0", proxy__password="secret") == ""
        assert problem(proxy__host="0.0.0.0", proxy__allow_clients="10.20.0.0/16,2001:db8::/32") == ""

    def test_the_index_server_needs_an_allow_list(self) -> None:
        found = problem(admin__host="0.0.0.0", proxy__password="secret")

        assert "admin.host = '0.0.0.0'" in found
        assert "admin.allow_clients" in found
        assert problem(admin__host="0.0.0.0", admin__allow_clients=["10.20.0.0/16"]) == ""

    @pytest.mark.parametrize("network", ["10.20.0.11/16", "10.20", "everybody", "10.0.0.0/33"])
    def test_what_is_no_network_is_refused_by_name(self, network: str) -> None:
        with pytest.raises(SettingsError, match=r"proxy\.allow_clients.*10\.20\.0\.0/16"):
            problem(proxy__allow_clients=network)

    def test_only_loopback_is_loopback(self) -> None:
        assert not is_loopback("::ffff:10.0.0.1")
        assert not is_loopback("example.invalid")


class TestClients:
    clients = Clients(("10.20.0.0/16", "2001:db8::/32"))

    @pytest.mark.parametrize(
        "peer", ["10.20.3.4", "::ffff:10.20.3.4", "2001:db8::7", "127.0.0.1", "::1", "::ffff:127.0.0.1"]
    )
    def test_admits_its_networks_and_loopback(self, peer: str) -> None:
        assert self.clients.admits(peer, "10.20.0.1")

    @pytest.mark.parametrize("peer", ["10.21.3.4", "::ffff:10.21.3.4", "2001:db9::7", "192.0.2.1", "", "unix"])
    def test_refuses_everybody_else(self, peer: str) -> None:
        assert not self.clients.admits(peer, "10.20.0.1")

    def test_admits_this_machine_by_its_network_address(self) -> None:
        assert self.clients.admits("192.0.2.1", "192.0.2.1")

    def test_admits_everybody_without_a_list(self) -> None:
        assert Clients(()).admits("192.0.2.1", "10.20.0.1")


class TestHostNames:
    names = HostNames("Recorder.example.org", ("index.example.org", "203.0.113.9"), "proxy.host_names")

    @pytest.mark.parametrize(
        "host",
        [
            "localhost",
            "LOCALHOST:8000",
            "localhost.",
            "a.localhost",
            "127.0.0.1",
            "127.0.0.1:8000",
            "127.0.1.35:1",
            "[::1]:8000",
            "[::ffff:127.0.0.1]:8000",
            "recorder.example.org:8000",
            "index.example.org",
            "INDEX.example.org.:80",
            "203.0.113.9:8000",
        ],
    )
    def test_answers_to_loopback_own_host_and_listed_names(self, host: str) -> None:
        assert self.names.refusal([host]) == ""

    @pytest.mark.parametrize(
        "host",
        [
            "evil.example",
            "evil.example:8000",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.0.2.1:8000",
            "[2001:db8::1]",
            "",
            ":8000",
            "127.0.0.1@evil.example",
            "xlocalhost",
        ],
    )
    def test_refuses_other_names_and_says_where_to_list_them(self, host: str) -> None:
        assert "proxy.host_names" in self.names.refusal([host])

    def test_refuses_several_headers(self) -> None:
        assert self.names.refusal(["localhost", "evil.example"])

    def test_answers_a_client_that_sends_none(self) -> None:
        assert self.names.refusal([]) == ""


def test_the_settings_are_documented() -> None:
    table = (Path(__file__).parents[2] / "docs" / "reference" / "settings.md").read_text("utf-8")

    for name in ("proxy.allow_clients", "proxy.host_names", "admin.allow_clients", "admin.host_names"):
        assert f"`{name}`" in table
