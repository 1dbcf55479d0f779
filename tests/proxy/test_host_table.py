"""Which entry of a table stands for a host."""

from __future__ import annotations

import pytest

from proxy.host_table import HostTable

TABLE = {
    "example.org": "exact",
    "example.org:8443": "port",
    "*.example.org": "below",
    "*.deep.example.org": "deeper",
    "*.example.org:8443": "below, port",
    "[::1]:80": "v6",
    "Mixed.Example.NET": "case",
}


@pytest.mark.parametrize(
    ("host", "port", "found"),
    [
        ("example.org", 443, "exact"),
        ("example.org", 8443, "port"),
        ("www.example.org", 443, "below"),
        ("a.deep.example.org", 443, "deeper"),
        ("www.example.org", 8443, "below, port"),
        ("[::1]", 80, "v6"),
        ("mixed.example.net", 80, "case"),
        ("[::1]", 81, None),
        ("notexample.org", 80, None),
        ("org", 80, None),
    ],
)
def test_the_most_exact_entry_wins(host: str, port: int, found: str | None) -> None:
    assert HostTable(TABLE).find(host, port) == found


def test_a_star_is_every_other_host() -> None:
    table = HostTable({"*": "all", "a.example": "one"})

    assert (table.find("a.example", 1), table.find("b.example", 1), table.find("[::1]", 1)) == ("one", "all", "all")


def test_an_empty_table_is_false_and_knows_nobody() -> None:
    assert not HostTable({})
    assert HostTable({}).find("example.org", 80) is None
    assert HostTable({"a": 1})
