"""Which cookies of a stored login the plain crawler sends to which URL."""

from __future__ import annotations

import pytest

from browsers.engines.interface import BrowserCookie
from browsers.logins.cookie_header import cookie_header

NOW = 1_000_000.0


@pytest.mark.parametrize(
    ("cookie", "url", "is_sent"),
    [
        (BrowserCookie("a", "1", "example.org"), "http://example.org/", True),
        (BrowserCookie("a", "1", "example.org"), "http://example.org:8080/x?y", True),
        (BrowserCookie("a", "1", "example.org"), "http://www.example.org/", False),
        (BrowserCookie("a", "1", ".example.org"), "http://www.example.org/", True),
        (BrowserCookie("a", "1", ".example.org"), "http://example.org/", True),
        (BrowserCookie("a", "1", ".example.org"), "http://badexample.org/", False),
        (BrowserCookie("a", "1", "example.org", path="/members"), "http://example.org/members", True),
        (BrowserCookie("a", "1", "example.org", path="/members"), "http://example.org/members/1", True),
        (BrowserCookie("a", "1", "example.org", path="/members"), "http://example.org/membership", False),
        (BrowserCookie("a", "1", "example.org", path="/members/"), "http://example.org/members/1", True),
        (BrowserCookie("a", "1", "example.org", secure=True), "http://example.org/", False),
        (BrowserCookie("a", "1", "example.org", secure=True), "https://example.org/", True),
        (BrowserCookie("a", "1", "example.org", expires=NOW - 1), "http://example.org/", False),
        (BrowserCookie("a", "1", "example.org", expires=NOW + 1), "http://example.org/", True),
    ],
)
def test_a_cookie_goes_to_its_host_and_path(cookie: BrowserCookie, url: str, is_sent: bool) -> None:
    assert cookie_header([cookie], url, NOW) == ("a=1" if is_sent else "")


def test_longer_paths_come_first() -> None:
    cookies = [BrowserCookie("a", "1", "example.org"), BrowserCookie("b", "2", "example.org", path="/x")]

    assert cookie_header(cookies, "http://example.org/x", NOW) == "b=2; a=1"


def test_a_value_that_no_header_can_have_is_left_out() -> None:
    cookies = [BrowserCookie("a", "1\r\nX: y", "example.org"), BrowserCookie("b", "2", "example.org")]

    assert cookie_header(cookies, "http://example.org/x", NOW) == "b=2"
