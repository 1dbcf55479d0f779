"""Where a request goes: its target, what the record will call it, and what is no target at all."""

from __future__ import annotations

import pytest

from archive.settings import ProxySettings
from proxy.fetch.contracts import Tunnel
from proxy.fetch.target import target_of
from proxy.origins.upstream import Destination
from proxy.protocol.http1 import BadMessage, RequestHead
from proxy.sessions.gate import Gate

HTTP = Destination("example.org", 80, tls=False)
HTTPS = Destination("example.org", 443, tls=True)


def request(target: str) -> RequestHead:
    return RequestHead("GET", target, 1, ())


def tunnel(authority: str, *, tls: bool = True) -> Tunnel:
    return Tunnel(authority, Gate(ProxySettings()).default, trusted=True, tls=tls)


@pytest.mark.parametrize(
    ("target", "destination", "url"),
    [
        ("http://example.org/", HTTP, "http://example.org/"),
        ("http://example.org", HTTP, "http://example.org/"),
        ("https://example.org/a", HTTPS, "https://example.org/a"),
        ("HTTP://Example.ORG:80/A", HTTP, "http://example.org/A"),
        ("http://example.org?q=1", HTTP, "http://example.org/?q=1"),
        ("http://example.org:/", HTTP, "http://example.org/"),
        ("http://example.org./", HTTP, "http://example.org/"),
        ("http://example.org:8080/", Destination("example.org", 8080, False), "http://example.org:8080/"),
        ("https://example.org:80/", Destination("example.org", 80, True), "https://example.org:80/"),
        ("http://user:secret@example.org/", HTTP, "http://example.org/"),
        ("http://example.org/a#b", HTTP, "http://example.org/a"),
        ("http://example.org#b/c", HTTP, "http://example.org/"),
        ("http://example.org/%00/%2e%2e/../x", HTTP, "http://example.org/%00/%2e%2e/../x"),
        ('http://example.org/a|b[c]^`{}"<>\\', HTTP, 'http://example.org/a|b[c]^`{}"<>\\'),
        ("http://example.org/\xc3\xa4?\xfc%20", HTTP, "http://example.org/%C3%A4?%FC%20"),
        ("http://b\xfccher.example/", Destination("xn--bcher-kva.example", 80, False), "http://xn--bcher-kva.example/"),
        ("http://[::1]:8080/", Destination("[::1]", 8080, False), "http://[::1]:8080/"),
        ("http://[0:0::1]/", Destination("[::1]", 80, False), "http://[::1]/"),
        ("http://2130706433/", Destination("127.0.0.1", 80, False), "http://127.0.0.1/"),
        ("http://0x7f.1/", Destination("127.0.0.1", 80, False), "http://127.0.0.1/"),
    ],
)
def test_an_absolute_target_names_its_origin_and_keeps_its_path(
    target: str, destination: Destination, url: str
) -> None:
    found = target_of(request(target), None)

    assert found is not None
    assert (found.destination, found.url) == (destination, url)


@pytest.mark.parametrize("target", ["/", "/status", "/http://example.org/", "//example.org/"])
def test_a_path_alone_is_for_the_proxy_itself(target: str) -> None:
    assert target_of(request(target), None) is None


@pytest.mark.parametrize(
    "target",
    [
        "example.org",
        "example.org:443",
        "*",
        "ftp://example.org/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "http:///path",
        "http://",
        "http:example.org",
        "http://example.org:0/",
        "http://example.org:99999/",
        "http://example.org:http/",
        "http://example.org:\xb2/",
        "http://example.org:" + "9" * 5000 + "/",
        "http://example.org:-1/",
        "http://exa mple.org/",
        "http://example..org/",
        "http://[::1%25eth0]/",
        "http://[::1/",
        "http://256.1.1.1/",
    ],
)
def test_what_is_no_target_is_refused(target: str) -> None:
    with pytest.raises(BadMessage):
        target_of(request(target), None)


@pytest.mark.parametrize(
    ("authority", "target", "url"),
    [
        ("example.org:443", "/a?b", "https://example.org/a?b"),
        ("example.org:8443", "/", "https://example.org:8443/"),
        ("example.org:443", "/a#b", "https://example.org/a"),
        ("[::1]:443", "/", "https://[::1]/"),
        ("example.org:443", "https://example.org/abs", "https://example.org/abs"),
        ("example.org:443", "http://elsewhere.example/abs", "https://example.org/abs"),
    ],
)
def test_within_a_tunnel_everything_goes_where_the_tunnel_goes(authority: str, target: str, url: str) -> None:
    found = target_of(request(target), tunnel(authority))

    assert found is not None
    assert found.url == url
    assert found.destination.tls


def test_a_tunnel_without_tls_leads_to_plain_http() -> None:
    found = target_of(request("/a"), tunnel("example.org:80", tls=False))

    assert found is not None
    assert (found.url, found.destination) == ("http://example.org/a", HTTP)
