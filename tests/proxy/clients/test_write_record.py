"""warcprox's way of handing in records: `WARCPROX_WRITE_RECORD` through the proxy's own port."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator

import pytest
from support.clients.raw_client import Client, Reply
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, response
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import credentials
from support.stores.redis_server import RedisServer


@pytest.fixture(scope="module")
def wary(tmp_path_factory: pytest.TempPathFactory, proxy_redis: RedisServer) -> Iterator[ProxyProcess]:
    """A process that trusts nobody on its main port."""
    settings = {"proxy.trust_clients": "none"}
    with ProxyProcess(tmp_path_factory.mktemp("wary") / "home", proxy_redis.url, settings) as running:
        yield running


def write(
    client: Client,
    url: str,
    *lines: str,
    kind: str | None = "resource",
    body: bytes = b"block",
    method: str = "WARCPROX_WRITE_RECORD",
    media: str = "text/plain",
) -> Reply:
    """Hand in a record over a connection."""
    fields = [f"Content-Type: {media}"] if media else []
    fields += [f"WARC-Type: {kind}"] if kind else []
    head = [f"{method} {url} HTTP/1.1", *fields, *lines, f"Content-Length: {len(body)}", "", ""]
    client.send("\r\n".join(head).encode() + body)
    return client.read_reply(method)


class TestWriting:
    @pytest.mark.parametrize("kind", ["resource", "metadata", "conversion"])
    def test_is_answered_once_the_record_is_durable(self, proxy: ProxyProcess, kind: str) -> None:
        url = f"http://example.org/written-{kind}"
        with proxy.connect() as client:
            assert write(client, url, kind=kind, body=b"block of " + kind.encode()).status == 204
            assert client.ask(b"GET /status HTTP/1.1\r\n\r\n").status == 200, "the connection stays"

        (record,) = proxy.records().of(url)
        assert (record.kind, record.block) == (kind, b"block of " + kind.encode())
        assert record.field("Content-Type") == "text/plain"
        assert record.id.removeprefix("<urn:uuid:").rstrip(">") in {line["id"] for line in proxy.sidecar_lines()}

    @pytest.mark.parametrize("url", ["screenshot:http://example.org/", "urn:view:http://example.org/", "thumbnail:x"])
    def test_may_be_about_anything_that_has_a_uri(self, proxy: ProxyProcess, url: str) -> None:
        with proxy.connect() as client:
            assert write(client, url, media="image/jpeg").status == 204

        assert proxy.records().of(url)[0].kind == "resource"

    @pytest.mark.parametrize(
        ("given", "recorded"),
        [("urn:view:über", "urn:view:%C3%BCber"), ("http://example.org/à", "http://example.org/%C3%A0")],
    )
    def test_about_a_uri_with_letters_of_any_language_names_it_in_ascii(
        self, proxy: ProxyProcess, given: str, recorded: str
    ) -> None:
        with proxy.connect() as client:
            assert write(client, given, media="text/plain; title=é").status == 204

        (record,) = proxy.records().of(recorded)
        assert record.field("Content-Type") == "text/plain; title=é"

    def test_of_a_large_block_keeps_it_to_the_byte(self, proxy: ProxyProcess) -> None:
        url, block = "http://example.org/large-block", bytes(range(256)) * 10_000
        with proxy.connect() as client:
            assert write(client, url, body=block).status == 204

        assert proxy.records().of(url)[0].block == block

    def test_obeys_warcprox_meta(self, proxy: ProxyProcess) -> None:
        meta = json.dumps({"warc-prefix": "derived"})
        with proxy.connect() as client:
            assert write(client, "http://example.org/prefixed", f"Warcprox-Meta: {meta}").status == 204

        assert proxy.records().of("http://example.org/prefixed")[0].path.name.startswith("derived-")

    def test_by_putmeta_makes_a_metadata_record(self, proxy: ProxyProcess) -> None:
        with proxy.connect() as client:
            assert write(client, "http://example.org/putmeta", method="PUTMETA", kind=None).status == 204

        assert proxy.records().of("http://example.org/putmeta")[0].kind == "metadata"


class TestRefusing:
    @pytest.mark.parametrize("kind", ["response", "request", "revisit", "warcinfo", "continuation", "", None])
    def test_whatever_could_be_a_forgery(self, proxy: ProxyProcess, kind: str | None) -> None:
        url = f"http://bank.example/forged-{kind}"
        with proxy.connect() as client:
            reply = write(client, url, kind=kind)
            assert reply.status == 400
            assert b"WARC-Type" in reply.body

        assert proxy.records().of(url) == []

    @pytest.mark.parametrize(
        ("url", "lines", "media"),
        [
            ("/path", (), "text/plain"),
            ("no-uri", (), "text/plain"),
            ("http://example.org/r", (), ""),
            ("http://example.org/r", ("Warcprox-Meta: {",), "text/plain"),
            ("http://example.org/r", ('Warcprox-Meta: {"warc-prefix": "../x"}',), "text/plain"),
        ],
    )
    def test_what_is_no_record(self, proxy: ProxyProcess, url: str, lines: tuple[str, ...], media: str) -> None:
        with proxy.connect() as client:
            assert write(client, url, *lines, media=media).status == 400

    @pytest.mark.parametrize(
        "mark", [*(mark.encode() for mark in "\u0085\u2028\u2029\u009f\u00a0\u200e\ufeff"), b"\x85", b"\x9f", b"\xa0"]
    )
    def test_line_separators_and_control_characters_by_name(self, proxy: ProxyProcess, mark: bytes) -> None:
        """They can not stand in a WARC header: such a record was lost, and counted so (T30)."""
        before = proxy.status()["lost"]

        def answer(url: bytes, media: bytes) -> Reply:
            head = [b"WARCPROX_WRITE_RECORD %b HTTP/1.1" % url, b"WARC-Type: resource", b"Content-Type: %b" % media]
            with proxy.connect() as client:
                client.send(b"\r\n".join([*head, b"Content-Length: 1", b"", b"x"]))
                return client.read_reply()

        for field, reply in (
            ("WARC-Target-URI", answer(b"urn:x%by" % mark, b"text/plain")),
            ("WARC-Target-URI", answer(b"http://example.org/x%by" % mark, b"text/plain")),
            ("Content-Type", answer(b"urn:x", b"text/plain; x=%by" % mark)),
        ):
            assert reply.status == 400, field
            assert field.encode() in reply.body
            assert len(reply.body.splitlines()) == 1
            assert reply.body.isascii()
        assert proxy.status()["lost"] == before

    def test_a_block_of_unknown_length(self, proxy: ProxyProcess) -> None:
        with proxy.connect() as client:
            client.send(
                b"WARCPROX_WRITE_RECORD http://a/ HTTP/1.1\r\nWARC-Type: resource\r\nContent-Type: text/plain\r\n"
                b"Transfer-Encoding: chunked\r\n\r\n5\r\nblock\r\n0\r\n\r\n"
            )
            assert client.read_reply().status == 400

    @pytest.mark.parametrize("method", ["WARCPROX_WRITE_RECORD", "PUTMETA"])
    def test_and_counting_clients_that_may_not(self, wary: ProxyProcess, method: str) -> None:
        before = wary.status()["control_refused"]
        session = wary.session(listen=True)
        with wary.connect() as client:
            assert write(client, "http://a/", method=method).status == 403
        with Client(socket.create_connection((session["host"], session["port"]), 30)) as client:
            assert write(client, "http://a/", method=method).status == 403

        assert wary.status()["control_refused"] == before + 2
        assert wary.records().records == ()

    def test_not_those_with_a_sessions_password(self, wary: ProxyProcess) -> None:
        session = wary.session(collection="trusted")
        with wary.connect() as client:
            assert write(client, "http://a/ok", credentials(session)).status == 204

        assert len(wary.records("trusted").of("http://a/ok")) == 1

    def test_in_a_session_that_replays(self, proxy: ProxyProcess) -> None:
        session = proxy.session(collection="replayed", mode="replay")
        with proxy.connect() as client:
            assert write(client, "http://a/", credentials(session)).status == 403

        assert not proxy.folder("replayed").exists()


def test_half_a_block_is_no_record(proxy: ProxyProcess) -> None:
    session = proxy.session(collection="half")
    with proxy.connect() as client:
        head = "WARCPROX_WRITE_RECORD http://a/ HTTP/1.1\r\nWARC-Type: resource\r\nContent-Type: a/b\r\n"
        client.send(f"{head}{credentials(session)}\r\nContent-Length: 10\r\n\r\nhalf".encode())
        client.stream.shutdown(socket.SHUT_WR)

    report = proxy.control("DELETE", f"/sessions/{session['id']}")
    assert report["in_flight"] == 0
    assert not proxy.folder("half").exists()


@pytest.mark.parametrize("target", [b"http://exa\xc2\x85mple.test/", b"http://exa\x85mple.test/"])
def test_a_fetch_refuses_control_characters_in_a_host(proxy: ProxyProcess, target: bytes) -> None:
    before = proxy.status()["lost"]
    with proxy.connect() as client:
        assert client.ask(b"GET %b HTTP/1.1\r\nHost: x\r\n\r\n" % target).status == 400

    assert proxy.status()["lost"] == before


def test_a_fetch_percent_encodes_control_characters_in_a_path(proxy: ProxyProcess, origin: RawOrigin) -> None:
    origin.otherwise(lambda _: (Send(response(page(b"separated"))),))
    url = origin.url("/separated")
    with proxy.connect() as client:
        asked = b"GET %b?\xc2\x85\xe2\x80\xa8 HTTP/1.1\r\nHost: x\r\nReferer: http://x/\x85\r\n\r\n" % url.encode()
        assert client.ask(asked).status == 200

    assert proxy.records(growing=True).of(f"{url}?%C2%85%E2%80%A8", "response", "revisit")
