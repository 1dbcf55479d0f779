"""DNS answers in the form Heritrix gives them."""

from __future__ import annotations

from pathlib import Path

import pytest

from archive.dates import parse_date
from proxy.origins.dns import DnsAnswer, only_nameserver


def test_an_answer_is_a_date_and_a_line_per_address() -> None:
    answer = DnsAnswer("www.example.org", ("192.0.2.1", "2001:db8::1"), parse_date("20261121081500"), 300)

    assert answer.uri == "dns:www.example.org"
    assert answer.block() == (
        b"20261121081500\n"
        b"www.example.org.\t300\tIN\tA\t192.0.2.1\n"
        b"www.example.org.\t300\tIN\tAAAA\t2001:db8::1\n"
        b"; from the system's resolver, which tells no TTL; believed for 300 s\n"
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# none\n", None),
        ("search example.org\nnameserver 192.0.2.53\noptions edns0\n", "192.0.2.53"),
        ("nameserver 192.0.2.53\nnameserver 192.0.2.54\n", None),
        ("nameserver\n", None),
    ],
)
def test_the_server_asked_is_known_when_there_is_one(tmp_path: Path, text: str, found: str | None) -> None:
    path = tmp_path / "resolv.conf"
    path.write_text(text)

    assert only_nameserver(path) == found
    assert only_nameserver(tmp_path / "missing") is None
