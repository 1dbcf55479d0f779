"""archive/loose_key.py: keys as players compute them."""

from __future__ import annotations

import pytest

from archive.loose_key import loose_key


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://www.Example.com/A/B/?b=2&a=1&a=0", "com,example)/a/b/?a=0&a=1&b=2"),
        ("https://www12.example.com:8443/", "com,example:8443)/"),
        ("http://mywww.example.com/", "com,example,mywww)/"),
        ("http://static.www.example.com/", "com,example,www,static)/"),
        ("http://example.com:80", "com,example)/"),
        ("http://127.0.0.1:81/x", "1,0,0,127:81)/x"),
        ("http://[::1]:81/x", "[::1]:81)/x"),
        ("http://www.", "www)/"),
        ("http://example.com/?", "com,example)/"),
        ("http://example.com/ä?q=Ä", "com,example)/%c3%a4?q=%c3%84"),
        ("urn:text:http://example.com/", "urn:text:http://example.com/"),
        ("dns:two words", "dns:two%20words"),
    ],
)
def test_the_key_is_that_of_replayweb_page(url: str, expected: str) -> None:
    assert loose_key(url) == expected
