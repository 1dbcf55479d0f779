"""The control port: sessions made, watched and ended over real HTTP, and derived records handed in."""

from __future__ import annotations

import http.client
import itertools
import json
import socket
import threading
from typing import Any

import pytest
from support.clients.raw_client import Client
from support.origins.odd_responses import page
from support.origins.raw_origin import Close, RawOrigin, Send, Wait, response
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import credentials, request


def call(
    proxy: ProxyProcess, method: str, path: str, body: bytes = b"", headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    """Status and JSON of a call with the right token, unless the headers say otherwise."""
    connection = http.client.HTTPConnection(proxy.ready["controls"][0], timeout=30)
    token = (proxy.home / "control.token").read_text().strip()
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {token}", **(headers or {})})
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


def port_of(session: dict[str, Any]) -> Client:
    """A connection to a session's own port."""
    return Client(socket.create_connection((session["host"], session["port"]), 30))


class TestToken:
    @pytest.mark.parametrize("given", ["", "Bearer", "Bearer wrong", "Basic x", "bearer", "Bearer \xe4"])
    @pytest.mark.parametrize("path", ["/sessions", "/status", "/metrics", "/sessions/" + "0" * 32])
    def test_every_path_needs_the_token(self, proxy: ProxyProcess, path: str, given: str) -> None:
        status, answer = call(proxy, "GET", path, headers={"Authorization": given})

        assert status == 401
        assert "control.token" in answer["error"]

    def test_the_token_does_not_help_a_page_that_comes_through_the_proxy(self, proxy: ProxyProcess) -> None:
        """The proxy never fetches from the fleet's own ports (T9)."""
        reply = proxy.get(f"http://{proxy.ready['controls'][0]}/sessions")

        assert reply.status == 403
        assert (reply.header("Ghostfleet-Error") or "").startswith("-5001")


class TestSessions:
    def test_have_a_port_of_their_own_and_a_collection(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        origin.script("/in-session", Send(response(page(b"in-session"))))
        session = proxy.session(collection="special", job="daily", page_id="page-7", listen=True)
        with port_of(session) as client:
            assert client.ask(request("plain", origin.url("/in-session"))).status == 200

        (record,) = proxy.records("special").of(origin.url("/in-session"), "response")
        assert record.field("WARC-Page-ID") == "page-7"
        assert record.field("WARC-Job-ID") == "daily"
        report = proxy.control("GET", f"/sessions/{session['id']}")
        assert (report["urls"], report["novel"], report["failed"]) == (1, 1, 0)
        assert report["bytes"] == len(response(page(b"in-session")))

    def test_without_a_port_are_chosen_by_credentials(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        origin.script("/by-name", Send(response(page(b"by-name"))))
        session = proxy.session(collection="by-name")

        with port_of(session) as direct:
            assert direct.ask(request("plain", origin.url("/by-name"), credentials(session))).status == 200
        assert proxy.get(origin.url("/by-name"), credentials(session)).status == 200

        assert len(proxy.records("by-name").of(origin.url("/by-name"))) == 4
        assert b"roxy" not in origin.received("/by-name")

    def test_choose_a_whole_tunnel_by_its_connect(self, proxy: ProxyProcess, secure_origin: RawOrigin) -> None:
        secure_origin.script("/tunnelled", Send(response(page(b"tunnelled"))))
        session = proxy.session(collection="tunnels")

        with proxy.tunnel(secure_origin.authority, credentials(session)) as client:
            client.ask(request("connect", secure_origin.url("/tunnelled")))

        assert len(proxy.records("tunnels").of(secure_origin.url("/tunnelled"), "response")) == 1

    def test_refuse_wrong_credentials(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        session = proxy.session()

        reply = proxy.get(origin.url("/"), credentials({**session, "token": "wrong"}))

        assert (reply.status, reply.header("Proxy-Authenticate")) == (407, 'Basic realm="ghostfleet"')
        assert origin.visits == []

    def test_end_when_everything_of_them_is_kept(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        """Whoever deletes a session may count on its records, and its port is gone."""
        go, ended = threading.Event(), list[dict[str, Any]]()
        origin.script("/in-flight", Wait(go), Send(response(page(b"in-flight"))))
        session = proxy.session(collection="ends", listen=True)
        path = f"/sessions/{session['id']}"
        with port_of(session) as client:
            client.send(request("plain", origin.url("/in-flight")))
            until(lambda: proxy.control("GET", path)["in_flight"], what="the exchange to begin")
            deleter = threading.Thread(target=lambda: ended.append(proxy.control("DELETE", path)))
            deleter.start()
            go.set()
            deleter.join()

        assert (ended[0]["urls"], ended[0]["in_flight"]) == (1, 0)
        assert len(proxy.records("ends").of(origin.url("/in-flight"), "response")) == 1
        with pytest.raises(ConnectionRefusedError):
            port_of(session)
        assert call(proxy, "GET", path)[0] == 404
        assert call(proxy, "DELETE", path)[0] == 404

    @pytest.mark.parametrize(
        ("body", "word"),
        [
            (b"", "collection"),
            (b"{", "JSON"),
            (b"\xff", "JSON"),
            (b"[]", "object"),
            (b"{}", "collection"),
            (b'{"collection": "../x"}', "collection"),
            (b'{"collection": "a", "mode": "dead"}', "mode"),
            (b'{"collection": "a", "datetime": "20269999"}', "datetime"),
            (b'{"collection": "a", "colour": "red"}', "colour"),
            (b'{"collection": "a", "page_id": "a\\r\\nb"}', "page_id"),
            (b'{"collection": "a", "host_delay": -1}', "host_delay"),
            (b'{"collection": "a", "host_delay": 3601}', "from 0 to 3600"),
            (b'{"collection": "a", "host_delay": "1"}', "host_delay"),
            (b'{"collection": "a", "host_delay": true}', "host_delay"),
            (b'{"collection": "a", "host_delay": NaN}', "host_delay"),
            (b"[" * 100_000, "JSON"),
        ],
    )
    def test_that_can_not_be_made_are_refused_with_the_reason(
        self, proxy: ProxyProcess, body: bytes, word: str
    ) -> None:
        status, answer = call(proxy, "POST", "/sessions", body)

        assert status == 400
        assert word in answer["error"]

    def test_are_listed(self, proxy: ProxyProcess) -> None:
        session = proxy.session()

        assert call(proxy, "GET", "/sessions")[1][session["id"]]["urls"] == 0


class TestExchanges:
    """The list of a page's exchanges says of each one whether the archive has it."""

    @staticmethod
    def of(proxy: ProxyProcess, session: dict[str, Any], wait: float = 30) -> dict[str, Any]:
        found: dict[str, Any] = proxy.control("GET", f"/sessions/{session['id']}/exchanges?wait={wait}")
        return found

    @staticmethod
    def page_session(proxy: ProxyProcess, collection: str, **spec: Any) -> dict[str, Any]:
        return proxy.session(collection=collection, page_id="page-9", listen=True, **spec)

    def test_says_how_each_one_ended(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        session = self.page_session(proxy, "ends-of-exchanges", blocks=[{"domain": "blocked.test"}])
        origin.script("/kept", Send(response(page(b"kept"), b"Content-Type: text/html; charset=utf-8")))
        origin.script("/again", Send(response(page(b"kept"), b"Content-Type: text/html; charset=utf-8")))
        origin.script("/short", Send(b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\nshort"), Close())
        urls = [origin.url("/kept"), origin.url("/again"), origin.url("/short"), "http://blocked.test/"]
        for url in (*urls, "http://nowhere.invalid/"):
            with port_of(session) as client:
                client.ask(request("plain", url))

        ends = {each["url"]: each for each in self.of(proxy, session)["exchanges"]}

        assert (ends[urls[0]]["end"], ends[urls[0]]["status"], ends[urls[0]]["mime"]) == ("kept", 200, "text/html")
        assert ends[urls[1]]["end"] == "revisit"
        assert (ends[urls[2]]["end"], ends[urls[2]]["truncated"]) == ("kept", "disconnect")
        assert (ends[urls[3]]["end"], ends[urls[3]]["status"]) == ("failed", -5002)
        assert (ends["http://nowhere.invalid/"]["status"], ends["http://nowhere.invalid/"]["reason"]) == (-6, "dns")

    def test_waits_a_moment_only_for_what_had_no_answer_when_the_browser_left(
        self, proxy: ProxyProcess, origin: RawOrigin
    ) -> None:
        """A browser never closes its sending side alone. Long polling would make each visit wait.

        On a busy machine that moment may be over before an answer comes, so that another late answer is tried.
        """
        session = self.page_session(proxy, "left-pages")
        never, paths = threading.Event(), (f"/late/{number}" for number in itertools.count())
        ends: dict[str, tuple[str, str | None]] = {}

        def ask_and_leave(path: str) -> None:
            with port_of(session) as client:
                client.send(request("plain", origin.url(path)))
                until(lambda: origin.asked(path), what="the request to reach the origin")

        def late_is_kept() -> bool:
            go, path = threading.Event(), next(paths)
            origin.script(path, Wait(go), Send(response(page(path.encode()))))
            ask_and_leave(path)
            go.set()
            found = self.of(proxy, session)
            assert found["in_flight"] == 0
            ends.update((each["url"], (each["end"], each.get("reason"))) for each in found["exchanges"])
            return ends[origin.url(path)] == ("kept", None)

        origin.script("/poll", Wait(never))
        try:
            ask_and_leave("/poll")
            until(late_is_kept, what="an answer soon after the browser has left to be kept")
        finally:
            never.set()

        assert ends.pop(origin.url("/poll")) == ("failed", "client-left")
        assert set(ends.values()) <= {("kept", None), ("failed", "client-left")}

    def test_tells_requests_to_one_url_apart_by_their_bodies(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        session = self.page_session(proxy, "posted")
        url = origin.url("/form")
        origin.script("/form", Send(response(page(b"form"))))
        for body in (b"q=1", b"q=2"):
            form = "Content-Type: application/x-www-form-urlencoded"
            with port_of(session) as client:
                client.ask(request("plain", url, form, method="POST", body=body))

        assert [each["query"] for each in self.of(proxy, session)["exchanges"]] == ["q=1", "q=2"]

    def test_names_the_capture_of_the_page(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        url = origin.url("/listed-page")
        origin.script("/listed-page", Send(response(page(b"listed-page"))))
        session = self.page_session(proxy, "listed", page_url=url)
        assert self.of(proxy, session) == {"page": None, "in_flight": 0, "exchanges": [], "unlisted": 0}
        with port_of(session) as client:
            client.ask(request("plain", url))

        named = self.of(proxy, session)["page"]

        (record,) = proxy.records("listed").of(url, "response")
        assert record.id == f"<urn:uuid:{named['record_id']}>"
        assert record.field("WARC-Date") == named["date"]

    def test_waits_for_those_in_progress(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        go = threading.Event()
        origin.script("/slow", Wait(go), Send(response(page(b"slow"))))
        session = self.page_session(proxy, "waits")
        with port_of(session) as client:
            client.send(request("plain", origin.url("/slow")))
            until(lambda: self.of(proxy, session, wait=0)["in_flight"], what="the exchange to begin")
            found = list[dict[str, Any]]()
            asking = threading.Thread(target=lambda: found.append(self.of(proxy, session)))
            asking.start()
            go.set()
            asking.join()

        assert [each["url"] for each in found[0]["exchanges"]] == [origin.url("/slow")]
        assert found[0]["in_flight"] == 0

    def test_is_kept_for_pages_only(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        origin.script("/unlisted", Send(response(page(b"unlisted"))))
        session = proxy.session(collection="without-page", listen=True)
        with port_of(session) as client:
            client.ask(request("plain", origin.url("/unlisted")))

        assert self.of(proxy, session)["exchanges"] == []

    @pytest.mark.parametrize("wait", ["-1", "61", "nan", "inf", "soon", "1e400"])
    def test_refuses_a_wait_that_is_no_time(self, proxy: ProxyProcess, wait: str) -> None:
        session = proxy.session()

        status, answer = call(proxy, "GET", f"/sessions/{session['id']}/exchanges?wait={wait}")

        assert (status, wait in answer["error"]) == (400, True)


class TestRecords:
    HEADERS = {"WARC-Type": "resource", "WARC-Target-URI": "urn:view:http://a/", "Content-Type": "image/png"}  # noqa: RUF012

    def test_are_durable_when_answered_and_tied_to_their_page(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        url = origin.url("/the-page")
        origin.script("/the-page", Send(response(page(b"the-page"))))
        session = proxy.session(collection="shots", page_url=url, page_id="page-8", listen=True)
        with port_of(session) as client:
            client.ask(request("plain", url))

        status, answer = call(
            proxy,
            "POST",
            f"/sessions/{session['id']}/records",
            b"\x89PNG",
            {**self.HEADERS, "WARC-Target-URI": f"urn:view:{url}", "WARC-Concurrent-To": "page"},
        )

        assert status == 201
        archive = proxy.records("shots")
        (shot,) = archive.kinds("resource")
        (response_record,) = archive.of(url, "response")
        assert shot.id == f"<urn:uuid:{answer['record_id']}>"
        assert shot.path.name.removesuffix(".open") == answer["filename"]
        assert shot.offset == answer["offset"]
        assert shot.block == b"\x89PNG"
        assert shot.field("WARC-Concurrent-To") == response_record.id
        assert shot.field("WARC-Page-ID") == "page-8"
        assert shot.field("WARC-Date") == response_record.field("WARC-Date")
        assert answer["record_id"] in {line["id"] for line in proxy.sidecar_lines("shots")}

    def test_may_have_facts_about_themselves(self, proxy: ProxyProcess) -> None:
        session = proxy.session(collection="facts")
        headers = {**self.HEADERS, "WARC-JSON-Metadata": '{ "viewport": {"width": 1280}, "name": "\\u00fc" }'}

        assert call(proxy, "POST", f"/sessions/{session['id']}/records", b"x", headers)[0] == 201

        (record,) = proxy.records("facts").kinds("resource")
        assert record.field("WARC-JSON-Metadata") == '{"viewport":{"width":1280},"name":"\\u00fc"}'

    @pytest.mark.parametrize("kind", ["resource", "metadata", "conversion"])
    def test_of_kinds_that_claim_nothing_about_an_origin_are_taken(self, proxy: ProxyProcess, kind: str) -> None:
        session = proxy.session(collection=f"kind-{kind}")

        status, _ = call(proxy, "POST", f"/sessions/{session['id']}/records", b"x", {**self.HEADERS, "WARC-Type": kind})

        assert status == 201
        assert len(proxy.records(f"kind-{kind}").kinds(kind)) == 1

    @pytest.mark.parametrize(
        ("changed", "word"),
        [
            ({"WARC-Type": "response"}, "WARC-Type"),
            ({"WARC-Type": "revisit"}, "WARC-Type"),
            ({"WARC-Type": "warcinfo"}, "WARC-Type"),
            ({"WARC-Type": ""}, "WARC-Type"),
            ({"WARC-Target-URI": ""}, "WARC-Target-URI"),
            ({"WARC-Target-URI": "no uri"}, "WARC-Target-URI"),
            ({"WARC-Target-URI": "urn:x\x85y"}, "WARC-Target-URI"),
            ({"Content-Type": "a/b\x85c"}, "Content-Type"),
            ({"Content-Type": ""}, "Content-Type"),
            ({"WARC-Concurrent-To": "x>"}, "WARC-Concurrent-To"),
            ({"WARC-JSON-Metadata": "[]"}, "WARC-JSON-Metadata"),
            ({"WARC-JSON-Metadata": "{"}, "WARC-JSON-Metadata"),
            ({"WARC-JSON-Metadata": '{"a":NaN}'}, "WARC-JSON-Metadata"),
            ({"WARC-JSON-Metadata": "{" + '"a":' * 900 + "1}"}, "WARC-JSON-Metadata"),
        ],
    )
    def test_that_could_deceive_are_refused(self, proxy: ProxyProcess, changed: dict[str, str], word: str) -> None:
        session = proxy.session(collection="refused-records")

        status, answer = call(proxy, "POST", f"/sessions/{session['id']}/records", b"x", {**self.HEADERS, **changed})

        assert status == 400
        assert word in answer["error"]
        assert not proxy.folder("refused-records").exists()

    def test_need_a_session(self, proxy: ProxyProcess) -> None:
        assert call(proxy, "POST", f"/sessions/{'0' * 32}/records", b"x", self.HEADERS)[0] == 404


class TestNumbers:
    def test_are_those_of_the_main_port(self, proxy: ProxyProcess) -> None:
        status, answer = call(proxy, "GET", "/status")

        assert status == 200
        assert set(answer) == set(proxy.status())
        assert answer["pid"] == proxy.status()["pid"]

    def test_unknown_paths_are_not_found(self, proxy: ProxyProcess) -> None:
        for path in ("/", "/nothing", "/sessions/xyz", "/sessions/../status"):
            assert call(proxy, "GET", path)[0] == 404
        assert call(proxy, "PUT", "/sessions")[0] == 405


class TestStrangers:
    """Nobody without the token costs memory, or keeps others out (T11)."""

    @staticmethod
    def head(proxy: ProxyProcess, *lines: str, path: str = "/sessions", token: str = "wrong") -> bytes:
        start = [f"POST {path} HTTP/1.1", f"Host: {proxy.ready['controls'][0]}", f"Authorization: Bearer {token}"]
        return "\r\n".join([*start, *lines, "", ""]).encode()

    @staticmethod
    def connection(proxy: ProxyProcess) -> Client:
        host, _, port = proxy.ready["controls"][0].rpartition(":")
        return Client(socket.create_connection((host, int(port)), 30))

    @staticmethod
    def token(proxy: ProxyProcess) -> str:
        return (proxy.home / "control.token").read_text().strip()

    @pytest.mark.parametrize("lines", [("Content-Length: 150000000",), ("Transfer-Encoding: chunked",)])
    def test_are_answered_at_the_head_and_no_body_is_read(self, proxy: ProxyProcess, lines: tuple[str, ...]) -> None:
        with self.connection(proxy) as client:
            reply = client.ask(self.head(proxy, *lines))

            assert reply.status == 401
            assert reply.header("Connection") == "close"
            assert client.is_closed_by_proxy()

    def test_with_a_small_body_read_the_reason(self, proxy: ProxyProcess) -> None:
        status, answer = call(proxy, "POST", "/sessions", b"{}" * 1000, {"Authorization": "Bearer wrong"})

        assert status == 401
        assert "control.token" in answer["error"]

    def test_connections_without_the_token_are_closed_for_new_ones(self, proxy: ProxyProcess) -> None:
        held = [self.connection(proxy) for _ in range(100)]
        try:
            for client in held:
                client.send(b"POST /sessions HTTP/1.1\r\nX-Slow: ")

            assert call(proxy, "GET", "/status")[0] == 200
            assert held[0].is_closed_by_proxy()
        finally:
            for client in held:
                client.close()

    def test_connections_without_the_token_do_not_close_those_with_it(self, proxy: ProxyProcess) -> None:
        known = http.client.HTTPConnection(proxy.ready["controls"][0], timeout=30)
        authorization = {"Authorization": f"Bearer {self.token(proxy)}"}
        known.request("GET", "/status", headers=authorization)
        known.getresponse().read()
        first = known.sock
        held = [self.connection(proxy) for _ in range(100)]
        try:
            known.request("GET", "/status", headers=authorization)
            assert known.getresponse().status == 200
            assert known.sock is first
        finally:
            known.close()
            for client in held:
                client.close()

    @pytest.mark.parametrize(
        ("path", "length"), [("/sessions", 16 * 2**20 + 1), ("/sessions/" + "0" * 32 + "/records", 256 * 2**20 + 1)]
    )
    def test_a_body_beyond_the_bound_is_refused_at_the_head(self, proxy: ProxyProcess, path: str, length: int) -> None:
        with self.connection(proxy) as client:
            lines = (f"Content-Length: {length}",)
            reply = client.ask(self.head(proxy, *lines, path=path, token=self.token(proxy)))

            assert reply.status == 413
            assert str(length).encode() in reply.body

    def test_a_page_by_dns_rebinding_gets_nothing(self, proxy: ProxyProcess) -> None:
        """The page's own name leads to 127.0.0.1 now; the token would be right (T12)."""
        port = proxy.ready["controls"][0].rpartition(":")[2]

        status, answer = call(proxy, "GET", "/status", headers={"Host": f"evil.example:{port}"})

        assert status == 421
        assert "proxy.host_names" in answer["error"]


class TestPortsOfSessions:
    """No session's port records into the main collection for those who have no credentials (T24)."""

    @pytest.mark.parametrize("spec", [{}, {"mode": "replay"}, {"listen": False}])
    def test_a_port_without_listen_serves_nobody_without_credentials(
        self, proxy: ProxyProcess, origin: RawOrigin, spec: dict[str, Any]
    ) -> None:
        session = proxy.session(collection="direct", **spec)
        url = origin.url("/direct")

        with port_of(session) as client:
            reply = client.ask(request("plain", url))
        with port_of(session) as client:
            tunnel = client.ask(f"CONNECT {origin.authority} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

        assert (reply.status, tunnel.status) == (407, 407)
        assert b"listen" in reply.body
        assert origin.visits == []
        assert not proxy.records().of(url)

    def test_a_session_for_replay_with_a_port_of_its_own_records_nothing(
        self, proxy: ProxyProcess, origin: RawOrigin
    ) -> None:
        session = proxy.session(collection="replayed", mode="replay", listen=True)

        with port_of(session) as client:
            assert client.ask(request("plain", origin.url("/replayed"))).status == 404

        assert origin.visits == []
