"""What is said to the proxy stays with the proxy: no origin gets it, no record holds it, no log tells it."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator

import pytest
from support.archive.warc_reader import files
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, certificate_authority, response, server_tls
from support.proxy.running_proxy import ROUTES, Route, RunningProxy, credentials, request

ADDRESS = "127.0.1.36"
SECRET = "grave-secret"
FOR_THE_PROXY = (
    f"Proxy-Authorization: Basic {base64.b64encode(f'anybody:{SECRET}'.encode()).decode()}",
    "Proxy-Connection: keep-alive",
    'Warcprox-Meta: {"metadata": {"seed": "http://seed.test/", "hop_path": "L"}}',
    "Keep-Alive: timeout=5",
)


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[RunningProxy, RawOrigin, RawOrigin]]:
    folder = tmp_path_factory.mktemp("headers")
    authority = certificate_authority()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    settings = {"proxy.upstream_ca": folder / "ca.pem", "proxy.password": SECRET}
    with (
        RawOrigin(ADDRESS) as plain,
        RawOrigin(ADDRESS, tls=server_tls(authority, ADDRESS)) as secure,
        RunningProxy(folder / "home", settings) as proxy,
    ):
        for origin in (plain, secure):
            origin.otherwise(lambda asked: (Send(response(page(asked.split(b" ", 2)[1]))),))
        yield proxy, plain, secure


@pytest.mark.parametrize("route", ROUTES)
def test_headers_for_the_proxy_go_no_further(stage: tuple[RunningProxy, RawOrigin, RawOrigin], route: Route) -> None:
    proxy, plain, secure = stage
    origin, path = plain if route == "plain" else secure, f"/headers/{route}"
    if route == "connect":
        with proxy.tunnel(origin.authority, FOR_THE_PROXY[0]) as client:
            lines = [f"GET {path} HTTP/1.1", f"Host: {origin.authority}", *FOR_THE_PROXY, "", ""]
            reply = client.ask("\r\n".join(lines).encode())
    else:
        reply = proxy.get(origin.url(path), *FOR_THE_PROXY, route=route)

    assert reply.status == 200
    (record,) = proxy.records().of(origin.url(path), "request")
    assert record.block == origin.received(path)
    names = [line.partition(b":")[0].lower() for line in record.block.split(b"\r\n")]
    assert not [name for name in names if name.startswith(b"proxy-") or name in (b"warcprox-meta", b"keep-alive")]


def test_headers_named_by_connection_go_no_further(stage: tuple[RunningProxy, RawOrigin, RawOrigin]) -> None:
    proxy, origin, _ = stage
    proxy.get(origin.url("/hop"), FOR_THE_PROXY[0], "Connection: X-Only-Here", "X-Only-Here: 1", "TE: trailers")

    assert b"X-Only-Here" not in origin.received("/hop")


def test_without_the_password_nothing_is_fetched(stage: tuple[RunningProxy, RawOrigin, RawOrigin]) -> None:
    proxy, origin, _ = stage
    for headers in ((), ("Proxy-Authorization: Basic bm9ib2R5Ondyb25n",), ("Proxy-Authorization: Digest x",)):
        reply = proxy.get(origin.url("/closed"), *headers)
        assert reply.status == 407
        assert (reply.header("Proxy-Authenticate") or "").startswith("Basic")
    assert origin.asked("/closed") == []


def test_a_session_of_a_page_obeys_no_commands(stage: tuple[RunningProxy, RawOrigin, RawOrigin]) -> None:
    """On a browser's own port any script of any page may set headers: they are dropped, and counted."""
    proxy, origin, _ = stage
    session = proxy.control("POST", "/sessions", {"collection": "default", "listen": True})
    meta = json.dumps({"warc-prefix": "stolen", "dedup-ok": False})
    with proxy.connect((session["host"], session["port"])) as client:
        assert client.ask(request("plain", origin.url("/page"), f"Warcprox-Meta: {meta}")).status == 200

    (record,) = proxy.records().of(origin.url("/page"), "request")
    assert b"stolen" not in record.block
    assert not record.path.name.startswith("stolen")
    proxy.control("DELETE", f"/sessions/{session['id']}")


def test_secrets_are_in_no_file(stage: tuple[RunningProxy, RawOrigin, RawOrigin]) -> None:
    proxy, origin, _ = stage
    session = proxy.control("POST", "/sessions", {"collection": "default"})
    assert proxy.get(origin.url("/secret"), credentials(session)).status == 200

    written = [proxy.log, *proxy.home.glob("logs/*")]
    encoded = FOR_THE_PROXY[0].rpartition(" ")[2]
    for path in written:
        text = path.read_text("utf-8", "replace")
        assert SECRET not in text
        assert encoded not in text
        assert session["token"] not in text
    assert files(proxy.folder())
    assert all(SECRET.encode() not in record.block for record in proxy.records().records)
