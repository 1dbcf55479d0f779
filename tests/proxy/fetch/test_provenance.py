"""What the archive keeps of DNS, TLS and egress, end to end: through a recording process, read from its WARC files."""

from __future__ import annotations

import base64
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest
import trustme
from support.archive.oracles import fastwarc_check, warcio_kinds
from support.archive.warc_reader import Stored, files
from support.clients.raw_client import Reply
from support.origins.egress_proxies import HttpProxy, Socks5
from support.origins.raw_origin import Close, RawOrigin, Send, response, server_tls
from support.origins.raw_origin import certificate_authority as another_authority
from support.processes.waiting import until
from support.proxy.proxy_process import ADDRESS, ProxyProcess
from support.proxy.running_proxy import Client, at_rest, credentials, request
from support.stores.redis_server import RedisServer

from archive import crawl_log

CERTIFICATES = "urn:certificates"


@pytest.fixture(scope="module")
def telling(
    tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer, origin_ca: Path
) -> Iterator[ProxyProcess]:
    """A process that tells of names of its table as well."""
    settings = {
        "proxy.upstream_ca": str(origin_ca),
        "proxy.resolve": {"*.example": ADDRESS},
        "proxy.record_resolve": True,
    }
    with ProxyProcess(tmp_path_factory.mktemp("telling") / "home", proxy_redis.url, settings) as running:
        yield running


def of(proxy: ProxyProcess, collection: str, uri: str) -> list[Stored]:
    return [record for record in proxy.records(collection, growing=True).records if record.url == uri]


class TestDns:
    def test_an_answer_is_kept_once_per_collection(self, telling: ProxyProcess, origin: RawOrigin) -> None:
        origin.otherwise(lambda asked: (Send(response(asked[:30])),))
        sessions = [telling.session(collection=name, job="daily") for name in ("one", "one", "other")]
        for number, session in enumerate(sessions):
            for path in ("a", "b"):
                url = f"http://dns.example:{origin.port}/{number}{path}"
                assert telling.get(url, credentials(session)).status == 200
            telling.control("DELETE", f"/sessions/{session['id']}")

        (record,) = of(telling, "one", "dns:dns.example")
        assert len(of(telling, "other", "dns:dns.example")) == 1
        assert record.kind == "response"
        assert record.field("Content-Type") == "text/dns"
        assert record.field("WARC-Job-ID") == "daily"
        date, line, comment = record.block.decode().splitlines()
        assert date == "".join(filter(str.isdigit, (record.field("WARC-Date") or "")[:19]))
        assert line == f"dns.example.\t300\tIN\tA\t{ADDRESS}"
        assert "proxy.resolve" in comment
        (entry,) = [line for line in telling.sidecar_lines("one") if line["url"] == "dns:dns.example"]
        assert entry["mime"] == "text/dns"

    def test_names_of_the_table_are_not_told_unless_asked(
        self, tmp_path: Path, proxy_redis: RedisServer, origin: RawOrigin
    ) -> None:
        origin.otherwise(lambda _: (Send(response(b"hello")),))
        settings = {"proxy.resolve": {"quiet.example": ADDRESS}, "dedup.enabled": False}
        with ProxyProcess(tmp_path / "home", proxy_redis.url, settings) as proxy:
            proxy.get(f"http://quiet.example:{origin.port}/")
            proxy.get(f"http://{origin.authority}/")
            proxy.stop()

            assert {record.kind for record in proxy.records().records} == {"warcinfo", "request", "response"}
            assert not any(record.url.startswith("dns:") for record in proxy.records().records)


class TestCertificates:
    def test_a_chain_is_kept_once_and_tied_to_the_first_page(
        self, telling: ProxyProcess, secure_origin: RawOrigin
    ) -> None:
        secure_origin.otherwise(lambda asked: (Send(response(asked[:20])), Close()))
        session = telling.session(collection="chains", page_id="visit-1")
        for number in range(3):
            telling.get(secure_origin.url(f"/{number}"), credentials(session), route="absolute")
        telling.control("DELETE", f"/sessions/{session['id']}")

        (record,) = of(telling, "chains", f"{CERTIFICATES}:{secure_origin.authority}")
        (page,) = telling.records("chains", growing=True).of(secure_origin.url("/0"), "response")
        assert record.kind == "metadata"
        assert record.field("Content-Type") == "application/pem-certificate-chain"
        assert record.field("WARC-Concurrent-To") == page.id
        assert record.field("WARC-IP-Address") == ADDRESS
        assert record.field("WARC-Page-ID") == "visit-1"
        assert record.field("WARC-TLS-Verification") is None
        assert record.field("WARC-Cipher-Suite") == page.field("WARC-Cipher-Suite")
        assert ssl.PEM_cert_to_DER_cert(record.block.decode()) == ssl.PEM_cert_to_DER_cert(
            ssl.get_server_certificate((ADDRESS, secure_origin.port))
        )

    def test_a_chain_that_is_not_trusted_says_so(self, telling: ProxyProcess) -> None:
        with RawOrigin(ADDRESS, tls=server_tls(another_authority(), ADDRESS)) as origin:
            origin.otherwise(lambda _: (Send(response(b"hello")),))
            session = telling.session(collection="doubt")
            assert telling.get(origin.url("/"), credentials(session), route="absolute").status == 200
            telling.control("DELETE", f"/sessions/{session['id']}")

            (record,) = of(telling, "doubt", f"{CERTIFICATES}:{origin.authority}")
            assert "certificate" in (record.field("WARC-TLS-Verification") or "")

    def test_other_readers_agree(self, tmp_path: Path, proxy_redis: RedisServer, secure_origin: RawOrigin) -> None:
        secure_origin.otherwise(lambda _: (Send(response(b"hello")),))
        settings = {"proxy.resolve": {"*.example": ADDRESS}, "proxy.record_resolve": True, "dedup.enabled": False}
        with ProxyProcess(tmp_path / "home", proxy_redis.url, settings) as proxy:
            proxy.get(f"https://a.example:{secure_origin.port}/", route="absolute")
            proxy.stop()

            (path,) = files(proxy.folder())
            assert sorted(warcio_kinds(path)) == ["metadata", "request", "response", "response", "warcinfo"]
            fastwarc_check(path)

    def test_they_are_not_counted_as_urls(self, telling: ProxyProcess, secure_origin: RawOrigin) -> None:
        secure_origin.otherwise(lambda _: (Send(response(b"hello")),))
        before = at_rest(telling)["urls_processed"]
        session = telling.session(collection="counted")
        telling.get(secure_origin.url("/"), credentials(session), route="absolute")
        report = telling.control("DELETE", f"/sessions/{session['id']}")

        assert report["urls"] == 1
        assert telling.status()["urls_processed"] == before + 1


class TestEgress:
    @pytest.mark.parametrize("route", ["plain", "connect", "absolute"])
    @pytest.mark.parametrize("kind", ["socks5", "http"])
    def test_of_a_session_is_used_named_and_keeps_its_secrets(
        self, telling: ProxyProcess, authority: trustme.CA, kind: str, route: str
    ) -> None:
        tls = None if route == "plain" else server_tls(authority, "far.onion")
        proxy_class = Socks5 if kind == "socks5" else HttpProxy
        with (
            RawOrigin(ADDRESS, tls=tls) as origin,
            proxy_class({"far.onion": ADDRESS}, user="me", password="hush") as egress,
        ):
            origin.otherwise(lambda asked: (Send(response(asked.split(b"\r\n")[0])),))
            session = telling.session(collection="far", egress=f"{kind}://me:hush@{egress.authority}", listen=True)
            url = f"{'https' if tls else 'http'}://far.onion:{origin.port}/{kind}-{route}"

            reply = ask(telling, session, route, url)
            telling.control("DELETE", f"/sessions/{session['id']}")

            assert (reply.status, reply.body) == (200, f"GET /{kind}-{route} HTTP/1.1".encode())
            forwarded = kind == "http" and route == "plain"
            assert egress.asked == [url if forwarded else f"far.onion:{origin.port}"]
            found = telling.records("far", growing=True).of(url, "response", "request")
            assert [record.field("WARC-Proxy-Host") for record in found] == [f"{kind}://{egress.authority}"] * 2
            assert [record.field("WARC-IP-Address") for record in found] == [None] * 2
            secret = base64.b64encode(b"me:hush")
            assert not any(secret in record.block or b"hush" in record.block for record in found)
            assert found[1].block.startswith(f"GET /{kind}-{route} HTTP/1.1\r\n".encode())
            assert b"hush" not in origin.received(f"/{kind}-{route}")
            assert of(telling, "far", "dns:far.onion") == []

    def test_of_a_host_pattern_is_used_and_shared_by_nobody_else(
        self, tmp_path: Path, proxy_redis: RedisServer, origin: RawOrigin
    ) -> None:
        origin.otherwise(lambda _: (Send(response(b"hello")),))
        with Socks5({"a.onion": ADDRESS, ADDRESS: ADDRESS}) as socks:
            settings = {"proxy.egress": {"*.onion": f"socks5://{socks.authority}"}}
            with ProxyProcess(tmp_path / "home", proxy_redis.url, settings) as proxy:
                assert proxy.get(f"http://a.onion:{origin.port}/").status == 200
                assert proxy.get(origin.url("/")).status == 200
                session = proxy.session(egress=f"socks5://{socks.authority}")
                assert proxy.get(origin.url("/"), credentials(session)).status == 200

            assert socks.asked == [f"a.onion:{origin.port}", origin.authority]
            assert origin.connections == 3

    def test_passes_websockets_through_a_tunnel(self, telling: ProxyProcess, origin: RawOrigin) -> None:
        switch = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
        origin.script("/ws", Send(switch + b"\x81\x02hi"), Close())
        with HttpProxy() as egress:
            session = telling.session(collection="ws", egress=f"http://{egress.authority}", listen=True)
            headers = ("Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Key: x")
            with Client(socket.create_connection((session["host"], session["port"]), 30)) as client:
                client.send(request("plain", origin.url("/ws"), *headers))
                assert client.read_some(len(switch) + 4).endswith(b"\x81\x02hi")
            telling.control("DELETE", f"/sessions/{session['id']}")

            assert egress.asked == [origin.authority]

    def test_that_is_down_is_told(self, telling: ProxyProcess, origin: RawOrigin) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        session = telling.session(egress=f"http://127.0.0.1:{port}")

        reply = telling.get(origin.url("/"), credentials(session))

        assert (reply.status, reply.header("Ghostfleet-Error")) == (502, "-2 egress")

    def test_that_is_none_is_refused_when_the_session_is_made(self, telling: ProxyProcess) -> None:
        with pytest.raises(AssertionError, match=r"400.*egress.*ftp://"):
            telling.session(egress="ftp://me:hush@a:1")


def test_a_dead_host_is_answered_at_once_with_its_reason_and_logged(telling: ProxyProcess, tmp_path: Path) -> None:
    with socket.create_server((ADDRESS, 0)) as free:
        port = free.getsockname()[1]
    session = telling.session(log_dir=str(tmp_path))

    def asked() -> Reply:
        return telling.get(f"http://{ADDRESS}:{port}/", credentials(session))

    first = asked()
    again = until(lambda: _known(asked()), what="a request so soon after a failure that the host is known as dead")
    report = telling.control("DELETE", f"/sessions/{session['id']}")

    assert [(reply.status, reply.header("Ghostfleet-Error")) for reply in (first, again)] == [(502, "-2 refused")] * 2
    lines = [crawl_log.parse(line) for line in (tmp_path / "crawl.log").read_text().splitlines()]
    found = [(line.code, line.annotations) for line in lines]
    assert (found[0], found[-1]) == ((-2, ("refused",)), (-404, ("refused", "dead-host")))
    assert (report["failed"], report["errors"]) == (len(lines), {"-2": len(lines)})
    assert "dead_hosts" in telling.status()


def _known(reply: Reply) -> Reply | None:
    return reply if b"remembered" in reply.body else None


def ask(proxy: ProxyProcess, session: dict[str, object], route: str, url: str):
    """One URL by the session's own port, or for tunnels with its credentials."""
    if route == "connect":
        authority, slash, path = url.partition("//")[2].partition("/")
        with proxy.tunnel(authority, credentials(session)) as client:
            return client.ask(f"GET {slash}{path} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    return proxy.get(url, credentials(session), route=route)
