"""The public address of the admin site is an origin, in one form."""

from __future__ import annotations

import pytest

from archive.settings.load import SettingsError, load


@pytest.mark.parametrize(
    ("given", "kept", "names"),
    [
        ("", "", ()),
        ("https://Archive.Example.ORG/", "https://archive.example.org", ("archive.example.org",)),
        ("https://archive.example.org:443", "https://archive.example.org", ("archive.example.org",)),
        ("http://archive.example.org:8443/", "http://archive.example.org:8443", ("archive.example.org",)),
        ("https://[2001:DB8::1]:444", "https://[2001:db8::1]:444", ("2001:db8::1",)),
    ],
)
def test_an_origin_is_kept_in_one_form_and_its_name_is_answered(given: str, kept: str, names: tuple[str, ...]) -> None:
    admin = load({"admin.public_url": given}, environment={}).admin
    assert (admin.public_url, admin.site_names) == (kept, names)


@pytest.mark.parametrize(
    "given",
    [
        *("javascript:alert(1)", "archive.example.org", "ftp://archive.example.org", "https://", "https:///x"),
        *("https://a b", "https://user@archive.example.org", "https://archive.example.org/admin", "https://a?b", "//a"),
        *("https://archive.example.org\r\nX: y", "https://a/#b", "https://a:b", "https://-a-"),
    ],
)
def test_what_is_no_origin_is_refused(given: str) -> None:
    with pytest.raises(SettingsError, match=r"setting admin\.public_url"):
        load({"admin.public_url": given}, environment={})


def test_networks_of_proxies_are_checked() -> None:
    admin = load({"admin.trusted_proxies": "127.0.0.1, 10.0.0.0/8"}, environment={}).admin
    assert admin.trusted_proxies == ("127.0.0.1", "10.0.0.0/8")
    with pytest.raises(SettingsError, match=r"setting admin\.trusted_proxies"):
        load({"admin.trusted_proxies": "*"}, environment={})
