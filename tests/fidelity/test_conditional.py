"""Has it changed since? Conditional requests: what the origin is asked, what the client gets, what is kept."""

from __future__ import annotations

import gzip
import re
import resource
import socket
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import quote

import pytest
from support.archive.pywb_server import PywbServer
from support.archive.warc_reader import Stored, files
from support.origins.raw_origin import RawOrigin, Send, Step, response
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import RunningProxy, credentials, request

ADDRESS = "127.0.1.93"
MODIFIED = b"Sat, 21 Nov 2026 08:00:00 GMT"
SAME_PAYLOAD = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"


class Site:
    """An origin whose pages know their version: `ETag: "v1"`, and what a conditional request asks."""

    def __init__(self, origin: RawOrigin) -> None:
        self.origin = origin
        self.version = b"v1"
        self.size = 3_000
        self.fields: tuple[bytes, ...] = ()
        self.has_etag = True
        origin.otherwise(self._answer)

    def body(self, path: str) -> bytes:
        page = b"%s of %s! " % (self.version, path.encode())
        return (page * (self.size // len(page) + 1))[: self.size]

    def asked(self, path: str) -> list[bytes]:
        return [visit.received for visit in self.origin.asked(path)]

    def _answer(self, received: bytes) -> Sequence[Step]:
        etag = b'"%s"' % self.version
        tags = (b"ETag: " + etag,) if self.has_etag else ()
        validators = (*tags, b"Last-Modified: " + MODIFIED, *self.fields)
        if etag in _line(received, b"If-None-Match") or (
            not self.has_etag and _line(received, b"If-Modified-Since") == MODIFIED
        ):
            lines = [b"HTTP/1.1 304 Not Modified", *validators, b"X-Asked: again", b"Set-Cookie: now=1", b"", b""]
            return (Send(b"\r\n".join(lines)),)
        path = received.split(b" ", 2)[1].decode()
        fields = (b"Content-Type: text/plain", b"Set-Cookie: then=1", *validators)
        body = self.body(path)
        if path.endswith("/chunked"):
            head = b"\r\n".join((b"HTTP/1.1 200 OK", b"Transfer-Encoding: chunked", *fields))
            return (Send(b"%b\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (head, len(body), body)),)
        if path.endswith("/packed"):
            return (Send(response(gzip.compress(body, mtime=0), b"Content-Encoding: gzip", *fields)),)
        return (Send(response(body, *fields)),)


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    with RunningProxy(tmp_path_factory.mktemp("conditional") / "home", {"dedup.conditional": True}) as running:
        yield running


@pytest.fixture
def site() -> Iterator[Site]:
    with RawOrigin(ADDRESS) as origin:
        yield Site(origin)


def fetched_and_indexed(proxy: RunningProxy, url: str, *headers: str) -> None:
    """The first capture of a URL, and the wait until the index has it."""
    assert proxy.get(url, *headers).status == 200
    indexed(proxy, url)


def indexed(proxy: RunningProxy, url: str) -> None:
    replay = credentials(proxy.control("POST", "/sessions", {"collection": "default", "mode": "replay"}))
    until(lambda: proxy.get(url, replay).status == 200, what=f"{url} in the index")


def test_a_304_that_can_not_be_kept_is_an_error_and_nothing_behind_it(
    tmp_path: Path, redis_url: str, site: Site
) -> None:
    url = site.origin.url("/not-kept")
    with ProxyProcess(tmp_path / "home", redis_url, {"dedup.conditional": True}) as proxy:
        assert proxy.get(url).status == 200
        proxy.index()
        (pid,) = proxy.ready["pids"]
        unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
        with proxy.connect() as client:
            reply = client.ask(request("plain", url))
            ends = client.is_closed_by_proxy()
        resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)

    assert len(site.asked("/not-kept")) == 2
    assert (reply.status, reply.header("Ghostfleet-Error")) == (503, "0 not-kept")
    assert ends


def the_revisit(proxy: RunningProxy, url: str) -> tuple[Stored, Stored, Stored]:
    """Of a URL: its original, its revisit and the revisit's request."""
    records = proxy.records(growing=True)
    (original,), (revisit,) = records.of(url, "response"), records.of(url, "revisit")
    asked = next(one for one in records.of(url, "request") if one.field("WARC-Concurrent-To") == revisit.id)
    return original, revisit, asked


def test_what_has_not_changed_is_a_revisit_and_the_client_gets_it_whole(proxy: RunningProxy, site: Site) -> None:
    url = site.origin.url("/page")
    fetched_and_indexed(proxy, url)

    reply = proxy.get(url)

    assert (reply.status, reply.body, reply.whole) == (200, site.body("/page"), True)
    assert (reply.header("Content-Length"), reply.header("Content-Type")) == ("3000", "text/plain")
    assert (reply.header("X-Asked"), reply.header("Set-Cookie")) == ("again", "now=1")
    first, second = site.asked("/page")
    assert b"If-" not in first
    assert _line(second, b"If-None-Match") == b'"v1"'
    assert _line(second, b"If-Modified-Since") == MODIFIED
    original, revisit, asked = the_revisit(proxy, url)
    assert asked.block == second, "the request record is not what was sent"
    (said,) = proxy.records(growing=True).of(f"urn:not-modified:{url}", "metadata")
    assert said.block == site.origin.sent("/page"), "the 304 is not what came"
    assert revisit.field("WARC-Updated-By") == said.id
    assert revisit.field("WARC-Profile") == SAME_PAYLOAD
    assert revisit.field("WARC-Refers-To") == original.id
    assert revisit.field("WARC-Refers-To-Target-URI") == url
    assert revisit.field("WARC-Refers-To-Date") == original.field("WARC-Date")
    assert revisit.field("WARC-Payload-Digest") == original.field("WARC-Payload-Digest")
    assert revisit.block.startswith(b"HTTP/1.1 200 OK\r\n")
    assert [_line(revisit.block, name) for name in (b"X-Asked", b"Set-Cookie", b"Content-Length")] == [
        b"again",
        b"now=1",
        b"3000",
    ]
    assert proxy.command("check", str(proxy.folder())).stdout.endswith("no problems\n")


def test_the_304_itself_is_the_revisit_where_it_is_set_so(tmp_path: Path, site: Site) -> None:
    url = site.origin.url("/as-said")
    settings = {"dedup.conditional": True, "dedup.not_modified": "server-not-modified"}
    with RunningProxy(tmp_path / "home", settings) as proxy:
        fetched_and_indexed(proxy, url)
        assert proxy.get(url).body == site.body("/as-said")
        proxy.stop()
        original, revisit, _ = the_revisit(proxy, url)
        assert revisit.block == site.origin.sent("/as-said")
        assert revisit.field("WARC-Profile") == NOT_MODIFIED
        assert revisit.field("WARC-Payload-Digest") == original.field("WARC-Payload-Digest")
        assert revisit.field("WARC-Truncated") is None
        assert proxy.records().kinds("metadata") == []
        assert proxy.command("check", "default").stdout.endswith("no problems\n")


@pytest.mark.timeout(600)  # pywb may have to be installed first
def test_a_page_that_was_confirmed_is_the_same_in_pywb_and_in_our_replay(tmp_path: Path, site: Site) -> None:
    """T22: the newest capture was a 304 without a payload digest, an empty page in pywb and ReplayWeb.page."""
    paths = ("/confirmed/plain", "/confirmed/chunked", "/confirmed/packed")
    with RunningProxy(tmp_path / "home", {"dedup.conditional": True}) as proxy:
        urls = {path: site.origin.url(path) for path in paths}
        for url in urls.values():
            assert proxy.get(url, "Accept-Encoding: gzip").status == 200
        for url in urls.values():
            indexed(proxy, url)
        second = int(time.time())
        until(lambda: time.time() > second + 1, what="another second, for another timestamp")
        for captures in (2, 3):
            for path, url in urls.items():
                body = gzip.compress(site.body(path), mtime=0) if path.endswith("packed") else site.body(path)
                assert proxy.get(url, "Accept-Encoding: gzip").body == body
            for url in urls.values():
                until(lambda url=url, captures=captures: _captures(proxy, url) == captures, what="the next capture")
        for path in paths:
            assert [_line(one, b"If-None-Match") for one in site.asked(path)] == [b"", b'"v1"', b'"v1"']
        replay = credentials(proxy.control("POST", "/sessions", {"collection": "default", "mode": "replay"}))
        ours = {path: proxy.get(url, replay, "Accept-Encoding: gzip") for path, url in urls.items()}
        proxy.stop()

        with PywbServer(tmp_path / "pywb", files(proxy.folder())) as pywb:
            for path, url in urls.items():
                newest = max(one.field("WARC-Date") or "" for one in proxy.records().of(url, "revisit"))
                theirs = pywb.replay(url, re.sub(r"\D", "", newest)[:14])
                got = gzip.decompress(theirs.body) if path.endswith("packed") else theirs.body
                assert (theirs.status, got) == (200, site.body(path))
                assert (ours[path].status, ours[path].header("X-Asked")) == (200, "again")
                shown = gzip.decompress(ours[path].body) if path.endswith("packed") else ours[path].body
                assert shown == site.body(path)
            assert not [line for line in pywb.index() if line.get("status") == "304" and line["url"].startswith("http")]


def test_a_client_that_asks_for_itself_gets_the_304(proxy: RunningProxy, site: Site) -> None:
    url = site.origin.url("/own")
    fetched_and_indexed(proxy, url)

    reply = proxy.get(url, 'If-None-Match: "other", W/"v1"')
    stranger = proxy.get(url, 'If-None-Match: "v2", "v1"', "If-Unmodified-Since: Sat, 21 Nov 2026 08:00:00 GMT")

    assert (reply.status, reply.body) == (304, b"")
    assert stranger.status == 304
    assert _line(site.asked("/own")[1], b"If-None-Match") == b'"other", W/"v1"'
    records = proxy.records(growing=True)
    assert [one.field("WARC-Profile") for one in records.of(url, "revisit")] == [SAME_PAYLOAD]
    assert [one.block[9:12] for one in records.of(url, "response")] == [b"200", b"304"]


@pytest.mark.parametrize(("path", "said"), [("/etag-of-another", b'ETag: "v2"\r\n'), ("/no-etag", b"")])
def test_a_304_that_is_perhaps_about_another_etag_of_the_client_is_no_revisit(
    proxy: RunningProxy, site: Site, path: str, said: bytes
) -> None:
    url = site.origin.url(path)
    fetched_and_indexed(proxy, url)
    site.origin.script(path, Send(b"HTTP/1.1 304 Not Modified\r\n%b\r\n" % said))

    assert proxy.get(url, 'If-None-Match: "v1", "v2"').status == 304

    records = proxy.records(growing=True)
    assert records.of(url, "revisit") == []
    assert [one.block[9:12] for one in records.of(url, "response")] == [b"200", b"304"]


def test_a_304_to_the_question_of_the_proxy_is_about_its_capture_whatever_etag_it_names(
    proxy: RunningProxy, site: Site
) -> None:
    """A front server may change the ETag of a coded page, and not the ETag of the 304."""
    url = site.origin.url("/etag-of-the-origin")
    fetched_and_indexed(proxy, url)
    said = b'HTTP/1.1 304 Not Modified\r\nETag: "v1-plain"\r\n\r\n'
    site.origin.script("/etag-of-the-origin", Send(said))

    for captures in (2, 3):
        reply = proxy.get(url)
        assert (reply.status, reply.body) == (200, site.body("/etag-of-the-origin"))
        assert reply.header("ETag") == '"v1"', "this ETag names the bytes that the client gets"
        until(lambda captures=captures: _captures(proxy, url) == captures, what="the next capture")

    assert [_line(one, b"If-None-Match") for one in site.asked("/etag-of-the-origin")] == [b"", b'"v1"', b'"v1"']
    records = proxy.records(growing=True)
    (original,) = records.of(url, "response")
    revisits = records.of(url, "revisit")
    assert [one.field("WARC-Refers-To") for one in revisits] == [original.id] * 2
    assert [(one.block[9:12], _line(one.block, b"ETag")) for one in revisits] == [(b"200", b'"v1"')] * 2
    assert [one.block for one in records.of(f"urn:not-modified:{url}", "metadata")] == [said] * 2
    assert proxy.command("check", str(proxy.folder())).stdout.endswith("no problems\n")


def test_what_has_changed_is_kept_and_handed_on_as_ever(proxy: RunningProxy, site: Site) -> None:
    url = site.origin.url("/new")
    fetched_and_indexed(proxy, url)
    site.version = b"v2"

    reply = proxy.get(url)

    assert (reply.status, reply.body) == (200, site.body("/new"))
    assert _line(site.asked("/new")[1], b"If-None-Match") == b'"v1"'
    assert len(proxy.records(growing=True).of(url, "response")) == 2


def test_large_ones_reach_a_slow_client_whole(proxy: RunningProxy, site: Site) -> None:
    site.size = 6_000_000
    url = site.origin.url("/large")
    fetched_and_indexed(proxy, url)

    with proxy.connect() as client:
        client.stream.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65_536)
        client.send(request("plain", url))
        until(lambda: len(site.asked("/large")) == 2, what="the question")
        reply = client.read_reply()
        again = client.ask(request("plain", site.origin.url("/behind")))

    assert reply.body == site.body("/large")
    assert again.body == site.body("/behind")
    the_revisit(proxy, url)


def test_a_client_that_leaves_ends_nothing(proxy: RunningProxy, site: Site) -> None:
    site.size = 6_000_000
    url = site.origin.url("/left")
    fetched_and_indexed(proxy, url)

    with proxy.connect() as client:
        client.send(request("plain", url))
        client.read_some(1000)
    the_revisit(proxy, url)
    until(lambda: proxy.status()["active_requests"] == 0, what="nothing to be under way")


def test_a_capture_that_can_not_be_read_is_fetched_again(proxy: RunningProxy, site: Site) -> None:
    session = proxy.control("POST", "/sessions", {"collection": "lost", "prefix": "gone"})
    header, url = credentials(session), site.origin.url("/lost")
    assert proxy.get(url, header).status == 200
    replay = credentials(proxy.control("POST", "/sessions", {"collection": "lost", "mode": "replay"}))
    until(lambda: proxy.get(url, replay).status == 200, what="the index")
    proxy.control("DELETE", f"/sessions/{session['id']}?finish=1")
    (warc,) = proxy.folder("lost").glob("*.warc.gz")
    again = credentials(proxy.control("POST", "/sessions", {"collection": "lost", "dedup_ok": None}))

    damaged = bytearray(warc.read_bytes())
    damaged[-60:] = bytes(60)
    _replace(warc, bytes(damaged[: len(damaged) // 2]))
    assert proxy.get(url, again).body == site.body("/lost")
    warc.unlink()
    assert proxy.get(url, again).body == site.body("/lost")

    assert [_line(one, b"If-None-Match") for one in site.asked("/lost")[1:]] == [b"", b""]
    # The first original's file is there, if damaged; the second one's is gone, so it is kept whole.
    kinds = [one.kind for one in proxy.records("lost", growing=True).of(url, "revisit", "response")]
    assert kinds == ["revisit", "response"]


def test_another_representation_is_not_asked_about(proxy: RunningProxy, site: Site) -> None:
    body = gzip.compress(site.body("/packed"))
    site.origin.script(
        "/packed", Send(response(body, b'ETag: "v1"', b"Content-Encoding: gzip", b"Vary: Accept-Encoding"))
    )
    site.has_etag, site.fields = False, (b"Vary: Accept-Language",)
    for path in ("/packed", "/by-date"):
        fetched_and_indexed(proxy, site.origin.url(path), "Accept-Encoding: gzip")

    assert proxy.get(site.origin.url("/packed")).body == body
    assert proxy.get(site.origin.url("/packed"), "Accept-Encoding: br, gzip;q=0.5").body == body
    assert proxy.get(site.origin.url("/by-date")).body == site.body("/by-date")

    assert [_line(one, b"If-None-Match") for one in site.asked("/packed")[1:]] == [b"", b'"v1"']
    assert b"If-" not in site.asked("/by-date")[1]


def test_a_date_alone_will_do(proxy: RunningProxy, site: Site) -> None:
    site.has_etag = False
    url = site.origin.url("/dated")
    fetched_and_indexed(proxy, url)

    assert proxy.get(url).body == site.body("/dated")
    assert b"If-None-Match" not in site.asked("/dated")[1]
    the_revisit(proxy, url)


def test_it_stays_within_its_buckets(proxy: RunningProxy, site: Site) -> None:
    url = site.origin.url("/bucket")
    fetched_and_indexed(proxy, url, 'Warcprox-Meta: {"dedup-buckets": {"a": "rw"}}')

    for meta in ('{"dedup-buckets": {"b": "rw"}}', "{}", '{"dedup-buckets": {"b": "rw", "a": "ro"}}'):
        assert proxy.get(url, f"Warcprox-Meta: {meta}").body == site.body("/bucket")

    assert [_line(one, b"If-None-Match") for one in site.asked("/bucket")] == [b"", b"", b"", b'"v1"']


@pytest.mark.parametrize(
    "header",
    [
        'Warcprox-Meta: {"conditional": false}',
        'Warcprox-Meta: {"dedup-ok": false}',
        'Warcprox-Meta: {"warc-prefix": "-"}',
        "Range: bytes=10-19",
    ],
)
def test_who_wants_it_otherwise_is_not_served_so(proxy: RunningProxy, site: Site, header: str) -> None:
    url = site.origin.url("/plain")
    fetched_and_indexed(proxy, url)

    proxy.get(url, header)

    assert b"If-" not in site.asked("/plain")[1]


def test_a_client_hears_of_its_revisit(proxy: RunningProxy, site: Site) -> None:
    url = site.origin.url("/told")
    fetched_and_indexed(proxy, url)

    reply = proxy.get(url, 'Warcprox-Meta: {"accept": ["capture-metadata", "capture-record"]}')

    assert (reply.status, reply.body) == (200, site.body("/told"))
    _, revisit, _ = the_revisit(proxy, url)
    assert revisit.id.strip("<>") in (reply.header("Warcprox-Meta") or "")


def test_a_wish_that_is_none_is_refused(proxy: RunningProxy, site: Site) -> None:
    reply = proxy.get(site.origin.url("/odd"), 'Warcprox-Meta: {"conditional": "yes"}')

    assert reply.status == 400
    assert b"conditional = 'yes' must be true or false" in reply.body


def test_replay_shows_the_payload_at_the_time_of_the_304(proxy: RunningProxy, site: Site) -> None:
    url = site.origin.url("/then")
    fetched_and_indexed(proxy, url)
    second = int(time.time())
    until(lambda: time.time() > second + 1, what="another second, as dates of replay have whole ones")
    proxy.get(url)
    _, revisit, _ = the_revisit(proxy, url)
    site.version = b"v2"
    proxy.get(url)
    until(lambda: _captures(proxy, url) == 3, what="all three in the index")
    stamp = re.sub(r"\D", "", revisit.field("WARC-Date") or "")[:14]
    replay = {"collection": "default", "mode": "replay", "datetime": stamp}

    reply = proxy.get(url, credentials(proxy.control("POST", "/sessions", replay)))

    site.version = b"v1"
    assert reply.body == site.body("/then"), "the later capture is nearer than the one that the 304 is about"


def test_without_being_asked_for_it_does_nothing_and_earlier_jobs_count(tmp_path: Path, site: Site) -> None:
    url = site.origin.url("/job")
    with RunningProxy(tmp_path / "home", {"proxy.processes": 2}) as proxy:
        fetched_and_indexed(proxy, url)
        assert proxy.get(url).status == 200
        assert b"If-" not in site.asked("/job")[1]
    with RunningProxy(tmp_path / "home", {"proxy.processes": 2}) as proxy:
        wanted = {"collection": "default", "job": "second", "conditional": True, "listen": True}
        session = proxy.control("POST", "/sessions", wanted)
        with proxy.connect((session["host"], session["port"])) as client:
            reply = client.ask(request("plain", url))
        report = proxy.control("DELETE", f"/sessions/{session['id']}")

        assert (reply.status, reply.body) == (200, site.body("/job"))
        assert _line(site.asked("/job")[2], b"If-None-Match") == b'"v1"'
        assert (report["urls"], report["revisits"], report["novel"], report["in_flight"]) == (1, 1, 0, 0)
        revisits = proxy.records(growing=True).of(url, "revisit")
        assert ["WARC-Updated-By" in str(one.fields) for one in revisits] == [False, True]
        (original,) = proxy.records(growing=True).of(url, "response")
        assert {one.field("WARC-Refers-To") for one in revisits} == {original.id}


def _line(received: bytes, name: bytes) -> bytes:
    found = re.search(rb"(?im)^" + name + rb": ([^\r\n]*)", received)
    return found[1] if found else b""


def _captures(proxy: RunningProxy, url: str) -> int:
    with urllib.request.urlopen(f"http://{proxy.ready['cdx']}/default/cdx?url={quote(url)}") as answer:
        return len(answer.read().splitlines())


def _replace(path: Path, data: bytes) -> None:
    fresh = path.with_name(path.name + ".fresh")
    fresh.write_bytes(data)
    fresh.replace(path)
