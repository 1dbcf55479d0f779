"""warcprox's header and its numbers: obeyed, shown, and never passed on."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

import pytest
from support.clients.raw_client import Client
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, response
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import at_rest, credentials, request

from archive import crawl_log


def meta(**value: object) -> str:
    return f"Warcprox-Meta: {json.dumps(value)}"


class TestHeader:
    def test_chooses_the_file_and_tells_the_log(self, proxy: ProxyProcess, origin: RawOrigin, tmp_path: Path) -> None:
        origin.script("/meta", Send(response(page(b"meta"))))
        session = proxy.session(collection="meta", job="daily", log_dir=str(tmp_path))
        facts = {
            "hop_path": "LL",
            "hop_via_url": "http://via.example/",
            "seed": "http://seed.example/",
            "page_id": "p-1",
        }

        reply = proxy.get(
            origin.url("/meta"), credentials(session), meta(**{"warc-prefix": "special", "metadata": facts})
        )

        assert reply.status == 200
        (record,) = proxy.records("meta").of(origin.url("/meta"), "response")
        assert record.path.name.startswith("special-")
        assert record.field("WARC-Page-ID") == "p-1"
        (text,) = (tmp_path / "crawl.log").read_text().splitlines()
        line = crawl_log.parse(text)
        assert (line.hop_path, line.via, line.source) == ("LL", "http://via.example/", "http://seed.example/")
        assert line.extra["warcFilename"] == record.path.name.removesuffix(".open")

    def test_can_ask_for_the_whole_record(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        origin.script("/whole", Send(response(page(b"whole"))))
        for _ in range(2):
            proxy.get(origin.url("/whole"), meta(**{"dedup-ok": False}))

        assert len(proxy.records().of(origin.url("/whole"), "response")) == 2

    @pytest.mark.parametrize(
        "value", ["{", "[]", '{"warc-prefix": "../x"}', '{"metadata": 5}', '{"metadata": {"seed": "\\u0000"}}']
    )
    def test_that_can_not_be_used_is_refused_and_nothing_is_fetched(
        self, proxy: ProxyProcess, origin: RawOrigin, value: str
    ) -> None:
        reply = proxy.get(origin.url("/refused"), f"Warcprox-Meta: {value}")

        assert reply.status == 400
        assert b"Warcprox-Meta" in reply.body or b"warc-prefix" in reply.body
        assert origin.visits == []

    def test_never_reaches_an_origin_or_a_record(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        origin.script("/stripped", Send(response(page(b"stripped"))))
        session = proxy.session()

        proxy.get(origin.url("/stripped"), meta(secret="s3cret"), credentials(session), "Proxy-Connection: keep-alive")

        (record,) = proxy.records().of(origin.url("/stripped"), "request")
        for seen in (origin.received("/stripped"), record.block):
            assert not re.search(rb"warcprox|proxy-|s3cret", seen, re.IGNORECASE)

    def test_of_a_page_is_ignored_and_counted(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        """A ghost's port: whatever a page sends, it commands nothing."""
        origin.script("/ghost", Send(response(page(b"ghost"))))
        before = proxy.status()["control_refused"]
        session = proxy.session(collection="ghosts", listen=True)
        with Client(socket.create_connection((session["host"], session["port"]), 30)) as client:
            reply = client.ask(request("plain", origin.url("/ghost"), meta(**{"warc-prefix": "evil"})))

        assert reply.status == 200
        assert b"arcprox" not in origin.received("/ghost")
        (record,) = proxy.records("ghosts").of(origin.url("/ghost"), "response")
        assert record.path.name.startswith("ghosts-")
        assert proxy.status()["control_refused"] == before + 1


class TestNumbers:
    def test_has_warcproxs_keys(self, proxy: ProxyProcess) -> None:
        status = proxy.status()

        assert status["role"] == "warcprox"
        assert {
            "version", "host", "address", "port", "pid", "threads", "active_requests", "unaccepted_requests", "load",
            "queued_urls", "queue_max_size", "urls_processed", "warc_bytes_written", "start_time", "rates_1min",
            "rates_5min", "rates_15min", "earliest_still_active_fetch_start", "seconds_behind", "postfetch_chain",
        } <= set(status)  # fmt: skip
        assert (status["address"], status["port"]) == proxy.address
        assert status["accepting"] is True

    def test_an_old_client_can_ask_for_them_again_on_its_connection(self, proxy: ProxyProcess) -> None:
        ask = f"GET /status HTTP/1.0\r\nHost: {proxy.ready['proxy']}\r\nConnection: keep-alive\r\n\r\n".encode()
        with proxy.connect() as client:
            replies = [client.ask(ask) for _ in range(2)]

        assert [(reply.status, reply.header("Connection")) for reply in replies] == [(200, "keep-alive")] * 2

    def test_count_what_passes(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        origin.script("/counted", Send(response(page(b"counted"))))
        before = at_rest(proxy)

        for _ in range(2):
            proxy.get(origin.url("/counted"))
        proxy.exchange(b"GET ftp://x/ HTTP/1.1\r\n\r\n")

        after = proxy.status()
        gained = {name: after[name] - before[name] for name in ("urls_processed", "revisits", "refused")}
        assert gained == {"urls_processed": 2, "revisits": 1, "refused": 1}
        assert after["warc_bytes_written"] > before["warc_bytes_written"]

    def test_are_prometheus_numbers_as_well(self, proxy: ProxyProcess, origin: RawOrigin) -> None:
        proxy.get(origin.url("/any"))
        at_rest(proxy)

        numbers = dict(
            line.rsplit(" ", 1) for line in proxy.metrics().splitlines() if line and not line.startswith("#")
        )

        assert float(numbers["ghostfleet_exchanges_total"]) == proxy.status()["urls_processed"]
        assert numbers["ghostfleet_accepting"] == "1.0"
        assert float(numbers["ghostfleet_connections"]) >= 1
