"""archive/settings/values/cdx_address.py: what it takes to ask a CDX server, and a name of it that anybody may see."""

from __future__ import annotations

import pytest

from archive.settings.values.cdx_address import parse


@pytest.mark.parametrize(
    ("text", "name", "port"),
    [
        ("http://cdx.example.org/web/cdx", "http://cdx.example.org/web/cdx", 80),
        ("https://cdx.example.org:8443", "https://cdx.example.org:8443/", 8443),
        ("https://anna:secret@cdx.example.org/cdx?key=secret", "https://cdx.example.org/cdx", 443),
        ("http://[::1]:8080/cdx#part", "http://[::1]:8080/cdx", 8080),
        ("http://cdx.example.org/Bücher/cdx", "http://cdx.example.org/B%C3%BCcher/cdx", 80),
    ],
)
def test_its_name_has_no_secrets(text: str, name: str, port: int) -> None:
    address = parse(text)

    assert (address.name, address.port) == (name, port)
    assert "secret" not in repr(address)


def test_user_password_and_parameters_are_kept_for_asking() -> None:
    address = parse("http://anna:p%40ss@cdx.example.org/cdx?key=k&x=1")

    assert address.authorization == "Basic YW5uYTpwQHNz"
    assert address.parameters == "key=k&x=1"
    assert parse("http://cdx.example.org/").authorization == ""


@pytest.mark.parametrize(
    "text",
    ["", "cdx.example.org", "ftp://secret@x/", "http://", "http://secret@x:no/", "http://x/a secret", "http://ö/"],
)
def test_what_is_no_address_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(ValueError, match="a CDX server is named") as caught:
        parse(text)
    assert "secret" not in str(caught.value)
