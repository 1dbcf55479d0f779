"""The gate finds the session of a request, and decides which commands count."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from support.archive.capture_rows import capture
from support.archive.exchanges import exchange

from archive.capture import Capture
from archive.settings import ProxySettings
from proxy.protocol.http1 import RequestHead, parse_request
from proxy.recording.keep import Kept, Lost
from proxy.refusal import Refused
from proxy.sessions.gate import Gate
from proxy.sessions.meta_trust import MetaTrust
from proxy.sessions.policy_builder import context_of
from proxy.sessions.request_options import Meta, RequestOptions, parse_meta
from proxy.sessions.session import Session
from proxy.sessions.spec import SessionSpec


def request(*lines: str) -> RequestHead:
    """A request with these lines."""
    return parse_request("\r\n".join(["GET / HTTP/1.1", *lines, "", ""]).encode())


def basic(name: str, secret: str, scheme: str = "Basic") -> str:
    """A Proxy-Authorization line."""
    return f"Proxy-Authorization: {scheme} {base64.b64encode(f'{name}:{secret}'.encode()).decode()}"


def prefix(gate: Gate, head: RequestHead, session: Session | None = None, *, address: str = "") -> str | None:
    """Return the prefix that a trusted client's request is obeyed with."""
    return gate.meta(head, session or gate.default, trusted=True, address=address).options.prefix


class TestSessionSpec:
    def test_takes_what_it_knows(self) -> None:
        body = {"collection": "news", "job": "daily", "mode": "replay", "datetime": "2026", "via": None, "listen": True}

        spec = SessionSpec.from_json(body)

        assert (spec.collection, spec.job, spec.mode, spec.datetime, spec.via) == (
            "news",
            "daily",
            "replay",
            "2026",
            None,
        )

    @pytest.mark.parametrize(
        ("changed", "field"),
        [
            ({"collection": None}, "collection"),
            ({"collection": 5}, "collection"),
            ({"collection": ""}, "collection"),
            ({"collection": ".."}, "collection"),
            ({"collection": "a/b"}, "collection"),
            ({"collection": "a\\b"}, "collection"),
            ({"collection": "a\0"}, "collection"),
            ({"collection": "a\n"}, "collection"),
            ({"collection": "-a"}, "collection"),
            ({"collection": ".a"}, "collection"),
            ({"collection": "x" * 65}, "collection"),
            ({"collection": "{hostname}"}, "collection"),
            ({"collection": "na\u0308me"}, "collection"),
            ({"mode": "dead"}, "mode"),
            ({"mode": 1}, "mode"),
            ({"datetime": "20260230"}, "datetime"),
            ({"datetime": "99999999999999"}, "datetime"),
            ({"datetime": "202"}, "datetime"),
            ({"datetime": "yesterday"}, "datetime"),
            ({"datetime": "²⁰²⁶"}, "datetime"),
            ({"page_id": "a\r\nWARC-Type: response"}, "page_id"),
            ({"job": "a\x00"}, "job"),
            ({"job": "\ud800"}, "job"),
            ({"job": ""}, "job"),
            ({"job": "../../etc"}, "job"),
            ({"job": "a b"}, "job"),
            ({"job": "x" * 65}, "job"),
            ({"log_dir": "logs"}, "log_dir"),
            ({"log_dir": ""}, "log_dir"),
            ({"log_dir": "/data/../etc"}, "log_dir"),
            ({"log_dir": "/data/logs/.."}, "log_dir"),
            ({"log_dir": "/data/./logs"}, "log_dir"),
            ({"log_dir": "/data\n/logs"}, "log_dir"),
            ({"log_dir": "/data\x00"}, "log_dir"),
            ({"log_dir": "/" + "x" * 1024}, "log_dir"),
            ({"log_dir": "/" + "x" * 256}, "log_dir"),
            ({"log_dir": "/" + "ä" * 200}, "log_dir"),
            ({"page_id": "x" * 65_537}, "page_id"),
            ({"page_url": ["x"]}, "page_url"),
            ({"listen": "yes"}, "listen"),
            ({"colection": "x"}, "colection"),
        ],
    )
    def test_names_the_field_that_can_not_be_used(self, changed: dict[str, Any], field: str) -> None:
        with pytest.raises(Refused, match=f"{field}'") as refused:
            SessionSpec.from_json({"collection": "news"} | changed)
        assert refused.value.status == 400

    def test_needs_a_collection(self) -> None:
        with pytest.raises(Refused, match="'collection'"):
            SessionSpec.from_json({"job": "daily"})


class TestWho:
    def test_without_credentials_the_session_is_the_default(self) -> None:
        gate = Gate(ProxySettings(collection="mine"))

        session, trusted = gate.identify(request(), None, is_local=True)

        assert session is gate.default
        assert session.spec.collection == "mine"
        assert trusted

    def test_no_client_is_trusted_when_the_settings_say_so(self) -> None:
        gate = Gate(ProxySettings(trust_clients="none"))

        assert gate.identify(request(), None, is_local=True) == (gate.default, False)

    @pytest.mark.parametrize(
        ("setting", "is_local", "trusted"), [("loopback", False, False), ("loopback", True, True), ("all", False, True)]
    )
    def test_only_clients_on_this_machine_are_trusted_unless_the_settings_say_so(
        self, setting: Any, is_local: bool, trusted: bool
    ) -> None:
        gate = Gate(ProxySettings(trust_clients=setting))

        assert gate.identify(request(), None, is_local=is_local) == (gate.default, trusted)

    @pytest.mark.parametrize("scheme", ["Basic", "basic"])
    def test_credentials_select_a_session_and_allow_commands(self, scheme: str) -> None:
        gate = Gate(ProxySettings(trust_clients="none"))
        session = gate.open(SessionSpec("news"))

        assert gate.identify(request(basic(session.id, session.token, scheme)), None, is_local=True) == (session, True)

    @pytest.mark.parametrize(
        "line",
        [
            basic("nobody", "x"),
            basic("default", ""),
            "Proxy-Authorization: Basic ???",
            "Proxy-Authorization: Basic",
            "Proxy-Authorization:",
            "Proxy-Authorization: Basic w6TDtjr/",
            f"Proxy-Authorization: Bearer {base64.b64encode(b'a:b').decode()}",
        ],
    )
    @pytest.mark.parametrize("password", ["", "secret"])
    def test_wrong_credentials_are_refused_and_counted(self, line: str, password: str) -> None:
        gate = Gate(ProxySettings(password=password))

        with pytest.raises(Refused) as refused:
            gate.identify(request(line), None, is_local=True)

        assert refused.value.status == 407
        assert gate.counts["unauthorized"] == 1

    def test_the_wrong_token_of_a_session_is_refused(self) -> None:
        gate = Gate(ProxySettings())
        session = gate.open(SessionSpec("news"))

        with pytest.raises(Refused):
            gate.identify(request(basic(session.id, session.token + "x")), None, is_local=True)

    def test_the_credentials_of_a_closed_session_are_refused(self) -> None:
        gate = Gate(ProxySettings())
        session = gate.open(SessionSpec("news"))
        gate.close(session)

        with pytest.raises(Refused):
            gate.identify(request(basic(session.id, session.token)), None, is_local=True)

    def test_the_session_of_a_person_says_that_it_has_ended_to_those_who_know_its_token(self) -> None:
        gate = Gate(ProxySettings())
        sessions = [gate.open(SessionSpec("news", notes_navigation=True)) for _ in range(1_001)]
        for session in sessions:
            gate.close(session)
            gate.close(session)

        def refusal(session: Session, token: str) -> Refused:
            with pytest.raises(Refused) as refused:
                gate.identify(request(basic(session.id, token)), None, is_local=True)
            return refused.value

        told = refusal(sessions[-1], sessions[-1].token)
        assert (told.status, told.word) == (403, "session-ended")
        assert "into news has expired, or was ended" in str(told)
        assert refusal(sessions[-1], sessions[0].token).status == 407
        assert refusal(sessions[0], sessions[0].token).status == 407, "only so many are remembered"
        again = gate.adopt(sessions[-1])
        assert gate.identify(request(basic(again.id, again.token)), None, is_local=True) == (again, True)

    def test_a_password_is_asked_for_and_enough(self) -> None:
        gate = Gate(ProxySettings(password="secret", trust_clients="none"))

        with pytest.raises(Refused) as refused:
            gate.identify(request(), None, is_local=True)
        assert refused.value.status == 407
        assert gate.identify(request(basic("anybody", "secret")), None, is_local=True) == (gate.default, True)

    def test_a_port_of_its_own_needs_no_credentials_and_allows_no_commands(self) -> None:
        gate = Gate(ProxySettings(password="secret"))
        session = gate.open(SessionSpec("news"))

        assert gate.identify(request(), session, is_local=True) == (session, False)
        assert gate.identify(request(basic(session.id, session.token)), session, is_local=True) == (session, True)

    def test_a_port_of_its_own_is_never_another_sessions(self) -> None:
        gate = Gate(ProxySettings())
        one, two = gate.open(SessionSpec("one")), gate.open(SessionSpec("two"))

        assert gate.identify(request(basic(two.id, two.token)), one, is_local=True) == (one, False)


class TestMeta:
    def test_of_an_untrusted_client_is_ignored_and_counted(self) -> None:
        gate = Gate(ProxySettings())

        assert gate.meta(request('Warcprox-Meta: {"warc-prefix": "evil"}'), gate.default, trusted=False) == Meta()
        assert gate.counts["control_refused"] == 1

    @pytest.mark.parametrize(
        "lines",
        [
            ("Sec-Fetch-Dest: empty",),
            ("Origin: http://page.test",),
            ("Sec-Fetch-Dest: empty", "Origin: null"),
        ],
    )
    def test_of_what_may_be_a_script_counts_when_its_browser_says_the_same(self, lines: tuple[str, ...]) -> None:
        gate, meta = Gate(ProxySettings()), 'Warcprox-Meta: {"warc-prefix": "mine"}'

        assert gate.meta(request(meta, *lines), gate.default, trusted=True) == Meta()
        assert gate.counts["control_refused"] == 1
        assert prefix(gate, request(meta, "Sec-Fetch-Dest: document", "Origin: x")) == "mine"
        assert prefix(gate, request(meta, *lines)) == "mine"
        assert prefix(gate, request(meta.replace("mine", "evil"), *lines)) is None

    def test_meta_of_a_connect_counts_for_scripts_inside(self) -> None:
        gate, meta = Gate(ProxySettings()), 'Warcprox-Meta: {"warc-prefix": "mine"}'

        gate.remember_connect(
            parse_request(f"CONNECT a.test:443 HTTP/1.1\r\n{meta}\r\n\r\n".encode()), gate.default, address=""
        )

        assert prefix(gate, request(meta, "Sec-Fetch-Dest: empty")) == "mine"

    def test_of_a_request_without_marks_counts_for_that_request_alone(self) -> None:
        """A script's GET over plain http looks like this, so it proves nothing (T13)."""
        gate, meta = Gate(ProxySettings()), 'Warcprox-Meta: {"warc-prefix": "-"}'

        assert prefix(gate, request(meta)) == "-"

        assert prefix(gate, request(meta, "Sec-Fetch-Dest: empty")) is None
        assert prefix(gate, request(meta, "Origin: http://page.test")) is None
        assert prefix(gate, request(meta)) == "-"

    @pytest.mark.parametrize("lines", [("Sec-Fetch-Dest: empty",), ("Origin: http://page.test",)])
    def test_meta_that_one_client_proved_does_not_count_for_another(self, lines: tuple[str, ...]) -> None:
        gate, meta = Gate(ProxySettings()), 'Warcprox-Meta: {"warc-prefix": "-"}'
        session = gate.open(SessionSpec("news"))

        assert prefix(gate, request(meta, "Sec-Fetch-Dest: document"), address="192.0.2.1") == "-"

        assert prefix(gate, request(meta, *lines), address="192.0.2.1") == "-"
        assert prefix(gate, request(meta, *lines), address="192.0.2.2") is None
        assert prefix(gate, request(meta, *lines), session, address="192.0.2.1") is None

    def test_meta_that_one_process_trusts_is_trusted_by_another(self, tmp_path: Path) -> None:
        meta = 'Warcprox-Meta: {"warc-prefix": "mine"}'
        one, other = (Gate(ProxySettings(), MetaTrust(tmp_path / "run" / "vouched")) for _ in range(2))

        prefix(one, request(meta, "Sec-Fetch-Dest: document"))

        assert prefix(other, request(meta, "Sec-Fetch-Dest: empty")) == "mine"

    def test_that_is_missing_says_nothing(self) -> None:
        gate = Gate(ProxySettings())

        assert gate.meta(request(), gate.default, trusted=False) == Meta()
        assert gate.meta(request(), gate.default, trusted=True) == Meta()
        assert gate.counts["control_refused"] == 0

    def test_gives_facts(self) -> None:
        value = {"warc-prefix": "a-b", "dedup-ok": False, "metadata": {"seed": "http://x/", "number": 5}, "stats": {}}

        assert parse_meta(json.dumps(value).encode()) == Meta(
            RequestOptions(prefix="a-b", dedup=False), {"seed": "http://x/"}
        )

    @pytest.mark.parametrize(
        ("raw", "word"),
        [
            (b"{", "JSON"),
            (b"\xff\xfe", "JSON"),
            (b"[" * 100_000, "JSON"),
            (b"[]", "object"),
            (b"5", "object"),
            (b'{"warc-prefix": ""}', "warc-prefix"),
            (b'{"warc-prefix": "../x"}', "warc-prefix"),
            (b'{"warc-prefix": "x\\n"}', "warc-prefix"),
            (b'{"warc-prefix": 5}', "warc-prefix"),
            (b'{"metadata": [1]}', "metadata"),
            (b'{"metadata": {"page_id": "a\\r\\nb"}}', "page_id"),
            (b'{"metadata": {"seed": "\\ud800"}}', "seed"),
            (b" " * 4_194_305, "bytes"),
        ],
    )
    def test_that_can_not_be_used_is_refused_by_name(self, raw: bytes, word: str) -> None:
        with pytest.raises(Refused, match=word) as refused:
            parse_meta(raw)
        assert refused.value.status == 400


class TestContext:
    SPEC = SessionSpec("news", "daily", "p-1", "http://a/page", hop_path="L", via="http://a/", source="http://seed/")

    @pytest.mark.parametrize(
        ("url", "referrer", "hop_path", "via"),
        [
            ("http://a/page", None, "L", "http://a/"),
            ("http://a/page", "http://elsewhere/", "L", "http://a/"),
            ("http://a/pic", "http://a/style", "LE", "http://a/style"),
            ("http://a/pic", None, "LE", "http://a/page"),
        ],
    )
    def test_what_a_page_asks_for_is_its_embed(self, url: str, referrer: str | None, hop_path: str, via: str) -> None:
        context = context_of(Session(self.SPEC), Meta(), url, referrer)

        assert (context.hop_path, context.via, context.source, context.job) == (hop_path, via, "http://seed/", "daily")

    def test_what_a_request_says_comes_before_what_its_session_says(self) -> None:
        options = RequestOptions(prefix="special", dedup=False)
        meta = Meta(options, {"hop_path": "LL", "hop_via_url": "http://v/", "seed": "http://s/", "page_id": "p"})

        context = context_of(Session(SessionSpec("news", hop_path="L")), meta, "http://a/", None, options=options)

        assert (context.prefix, context.dedup, context.hop_path) == ("special", False, "LL")
        assert (context.via, context.source, context.page_id) == ("http://v/", "http://s/", "p")


class TestSession:
    def test_counts_what_becomes_of_its_exchanges(self) -> None:
        session = Session(SessionSpec("news", page_id="page-1", page_url="http://a/page"))
        page: Capture = capture("http://a/page")

        session.note(Kept(page), "http://a/page", exchange(), 100)
        session.note(Kept(capture("http://a/pic"), is_revisit=True), "http://a/pic", exchange(), 10)
        session.note(Kept(None), "http://a/not-archived", exchange(), 1)
        session.note(Lost("no disk"), "http://a/lost", exchange(), 1)
        session.note_failure("GET", "http://a/gone", -2, "refused")

        assert session.report().control_json() == {
            "urls": 5,
            "novel": 1,
            "revisits": 1,
            "unkept": 1,
            "failed": 2,
            "bytes": 112,
            "websockets": 0,
            "messages": 0,
            "patched": 0,
            "relayed": 0,
            "in_flight": 0,
            "errors": {"not-kept": 1, "-2": 1},
            "user_agent": None,
            "untrusted": [],
        }
        assert (session.page_record, session.page_date) == (page.record_id, page.date)
        ends = [entry.end.value for entry in session.report().exchanges.exchanges]
        assert ends == ["kept", "revisit", "not-archived", "lost", "failed"]

    def test_names_hosts_whose_certificate_is_refused_until_a_handshake_works(self) -> None:
        session = Session(SessionSpec("news"))
        session.note_handshake("refused.test", "tlsv1 alert certificate unknown")
        session.note_handshake("left.test", "connection closed")
        assert session.report().untrusted == ("refused.test",)
        session.note_handshake("left.test", "connection closed")
        assert session.report().untrusted == ("refused.test", "left.test")
        session.note_handshake("refused.test")
        assert session.report().untrusted == ("left.test",)
        for number in range(1_000):
            session.note_handshake(f"{number}.test", "bad certificate")
        assert len(session.report().untrusted) == 20

    def test_says_once_when_nothing_is_in_flight(self) -> None:
        session, said = Session(SessionSpec("news")), list[int]()
        session.began()
        session.began()
        session.when_idle.append(lambda: said.append(1))

        session.ended()
        assert said == []
        session.ended()
        assert said == [1]
        session.began()
        session.ended()
        assert said == [1]


def test_nothing_new_is_taken_while_the_gate_is_closed() -> None:
    gate = Gate(ProxySettings())
    gate.check_open()

    gate.closed_because = "disk full"

    with pytest.raises(Refused, match="disk full") as refused:
        gate.check_open()
    assert refused.value.status == 503
