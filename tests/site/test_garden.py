"""The bundled site is what the other tests take it for: framing, ranges, redirects, names, certificates."""

from __future__ import annotations

import gzip
import hashlib
import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

import pytest
from support.browsers.watched_garden import WatchedGarden

from admin.demo.garden import UNTRUSTED_HOST, GardenSite
from admin.demo.pages import MEDIA, SHOP, WWW


@dataclass(frozen=True)
class Got:
    status: int
    headers: Mapping[str, str]
    body: bytes


def ask(
    site: GardenSite, url: str, method: str = "GET", body: bytes | None = None, headers: Mapping[str, str] | None = None
) -> Got:
    """One request on a connection of its own, to where the site says the name leads."""
    parts = urlsplit(url)
    port = site.https_port if parts.scheme == "https" else site.http_port
    tls = ssl.create_default_context(cafile=str(site.ca_pem))
    with socket.create_connection(("127.0.0.1", port), timeout=20) as plain:
        wire = tls.wrap_socket(plain, server_hostname=parts.hostname) if parts.scheme == "https" else plain
        with wire:
            connection = http.client.HTTPConnection(str(parts.hostname))
            connection.sock = wire
            target = parts.path + (f"?{parts.query}" if parts.query else "")
            connection.request(method, target, body, {"Host": parts.netloc, **(headers or {})})
            answer = connection.getresponse()
            return Got(answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read())


def exact_bytes(site: GardenSite, path: str, *fields: str) -> bytes:
    """A whole response to a request that asks for the connection to be closed, as it came over the wire."""
    with socket.create_connection(("127.0.0.1", site.http_port), timeout=20) as wire, wire.makefile("rb") as stream:
        lines = [f"GET {path} HTTP/1.1", f"Host: {WWW}", *fields, "Connection: close", "", ""]
        wire.sendall("\r\n".join(lines).encode())
        return stream.read()


@pytest.mark.parametrize(
    "url", [*GardenSite.urls(), f"http://{WWW}/private/office.html", f"http://{SHOP}/", f"http://{MEDIA}/map.html"]
)
def test_every_page_is_there_and_the_same_each_time(garden: WatchedGarden, url: str) -> None:
    first, second = ask(garden, url), ask(garden, url)

    assert first.status == 200
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    assert first.body == second.body
    assert b"</html>" in first.body


def test_a_missing_page_is_a_404_with_a_page(garden: WatchedGarden) -> None:
    missing = ask(garden, f"http://{WWW}/plants/dodo.html")

    assert missing.status == 404
    assert b"Nothing grows here" in missing.body


@pytest.mark.parametrize("path", ["/../garden.py", "/css/../../layout.html", "/css"])
def test_files_outside_the_site_stay_inside(garden: WatchedGarden, path: str) -> None:
    assert ask(garden, f"http://{WWW}{path}").status == 404


def test_redirects_lead_from_page_to_page_and_from_http_to_https(garden: WatchedGarden) -> None:
    hops = []
    for start in ("/old-plants", "/older-plants", "/members", "/members.html"):
        answer = ask(garden, f"http://{WWW}{start}")
        hops.append((answer.status, answer.headers["location"]))

    assert hops == [
        (302, "/older-plants"),
        (301, "/plants/"),
        (302, "/members.html"),
        (301, f"https://{WWW}/members.html"),
    ]


def test_gzip_is_sent_only_to_those_who_accept_it(garden: WatchedGarden) -> None:
    plain = ask(garden, f"http://{WWW}/notes/gzip.html")
    packed = ask(garden, f"http://{WWW}/notes/gzip.html", headers={"Accept-Encoding": "gzip"})

    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body


def test_chunks_carry_the_packed_page(garden: WatchedGarden) -> None:
    head, _, body = exact_bytes(garden, "/notes/chunked.html", "Accept-Encoding: gzip").partition(b"\r\n\r\n")

    size, _, rest = body.partition(b"\r\n")
    assert b"Transfer-Encoding: chunked" in head
    assert b"Content-Length" not in head
    assert b"arrives in chunks" in gzip.decompress(rest[: int(size, 16)])
    assert body.endswith(b"0\r\n\r\n")


def test_a_close_delimited_page_ends_with_its_connection(garden: WatchedGarden) -> None:
    head, _, body = exact_bytes(garden, "/notes/closing.html").partition(b"\r\n\r\n")

    assert b"Content-Length" not in head
    assert b"Transfer-Encoding" not in head
    assert body.endswith(b"</html>\n")


def test_the_film_is_two_mebibytes_and_given_in_ranges(garden: WatchedGarden) -> None:
    url = f"http://{MEDIA}/film/fern.mp4"
    whole = ask(garden, url)
    part = ask(garden, url, headers={"Range": "bytes=1000-1999"})
    tail = ask(garden, url, headers={"Range": "bytes=-500"})
    outside = ask(garden, url, headers={"Range": f"bytes={2**21}-"})

    assert (whole.status, len(whole.body)) == (200, 2 * 1024 * 1024)
    assert (part.status, part.headers["content-range"]) == (206, f"bytes 1000-1999/{2**21}")
    assert part.body == whole.body[1000:2000]
    assert tail.body == whole.body[-500:]
    assert (outside.status, outside.headers["content-range"]) == (416, f"bytes */{2**21}")


def test_what_a_client_holds_already_is_not_sent_again(garden: WatchedGarden) -> None:
    url = f"http://{WWW}/images/fern.jpg"
    etag = ask(garden, url).headers["etag"]

    again = ask(garden, url, headers={"If-None-Match": etag})

    assert (again.status, again.body) == (304, b"")


def test_head_answers_without_a_body(garden: WatchedGarden) -> None:
    answer = ask(garden, f"http://{WWW}/plants/", method="HEAD")

    assert answer.body == b""
    assert int(answer.headers["content-length"]) > 0


def test_the_same_bytes_stand_under_several_urls_and_hosts(garden: WatchedGarden) -> None:
    urls = [
        f"http://{WWW}/files/leaflet.txt",
        f"http://{WWW}/files/take-away.txt",
        f"http://{MEDIA}/files/leaflet-copy.txt",
        f"https://{SHOP}/files/leaflet.txt",
    ]

    assert len({hashlib.sha256(ask(garden, url).body).digest() for url in urls}) == 1


def test_the_ticket_is_for_those_who_carry_the_cookie(garden: WatchedGarden) -> None:
    cookie = ask(garden, f"http://{WWW}/visit.html").headers["set-cookie"].partition(";")[0]

    assert ask(garden, f"http://{WWW}/api/ticket").status == 403
    assert ask(garden, f"http://{WWW}/api/ticket", headers={"Cookie": cookie}).status == 200


def test_a_greeting_is_posted(garden: WatchedGarden) -> None:
    answer = ask(garden, f"http://{WWW}/api/greeting", "POST", b'{"name": "botanist"}')

    assert b"Good morning, botanist" in answer.body
    assert garden.requests[-1].body == b'{"name": "botanist"}'


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b"7", b"\xff", b"[" * 50_000])
def test_a_greeting_without_a_name_is_refused(garden: WatchedGarden, body: bytes) -> None:
    assert ask(garden, f"http://{WWW}/api/greeting", "POST", body).status == 400


def test_the_journal_has_three_batches(garden: WatchedGarden) -> None:
    batches = [ask(garden, f"http://{WWW}/api/journal?batch={number}") for number in range(1, 5)]

    assert [answer.status for answer in batches] == [200, 200, 200, 404]
    assert [b'"last": true' in answer.body for answer in batches[:3]] == [False, False, True]


def test_robots_are_told_where_to_keep_out_and_where_the_map_is(garden: WatchedGarden) -> None:
    rules = ask(garden, f"http://{WWW}/robots.txt").body.decode().splitlines()

    assert "Disallow: /private/" in rules
    assert "Crawl-delay: 0.2" in rules
    assert f"Sitemap: http://{WWW}/sitemap.xml" in rules
    assert b"/hidden/greenhouse.html" in ask(garden, f"http://{WWW}/sitemap.xml").body


def test_the_hidden_page_is_linked_from_nowhere(garden: WatchedGarden) -> None:
    pages = [ask(garden, url).body for url in GardenSite.urls(listed=False)]

    assert not [page for page in pages if b"hidden/greenhouse" in page]


def test_every_request_is_noted_with_host_method_and_headers(garden: WatchedGarden) -> None:
    ask(garden, f"https://{SHOP}/basket", "POST", b"seeds=fern", {"X-Seen": "yes"})

    (seen,) = garden.requests
    assert (seen.url, seen.method, seen.headers["x-seen"]) == (f"https://{SHOP}/basket", "POST", "yes")


def test_a_request_that_misses_what_a_path_needs_is_answered_with_400(garden: WatchedGarden) -> None:
    for url, body in (
        (f"https://{SHOP}/basket", b""),
        (f"https://{SHOP}/basket", b"\xff=1"),
        (f"http://{WWW}/api/greeting", b"[]"),
        (f"http://{WWW}/api/greeting", b"{"),
    ):
        assert ask(garden, url, "POST", body).status == 400, (url, body)


def test_an_unknown_name_is_refused(garden: WatchedGarden) -> None:
    assert ask(garden, "http://forest.test/").status == 421


def test_the_untrusted_host_has_a_certificate_that_nobody_signed(garden: WatchedGarden) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="self-signed"):
        ask(garden, f"https://{UNTRUSTED_HOST}/")


def test_names_lead_to_the_ports_that_it_listens_on(garden: WatchedGarden) -> None:
    assert garden.resolve[f"{WWW}:80"] == f"127.0.0.1:{garden.http_port}"
    assert garden.resolve[f"{MEDIA}:443"] == f"127.0.0.1:{garden.https_port}"


def test_no_thread_or_port_outlives_the_site() -> None:
    before = set(threading.enumerate())
    with GardenSite() as site:
        port = site.http_port
        idle = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        idle.request("GET", "/robots.txt", headers={"Host": WWW})
        idle.getresponse().read()

    assert idle.sock.recv(1) == b""
    idle.close()
    assert set(threading.enumerate()) <= before
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=20)
