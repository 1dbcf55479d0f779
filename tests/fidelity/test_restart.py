"""Rolling restarts under load: nobody is refused, nothing is broken off, everything a client saw is in a WARC."""

from __future__ import annotations

import signal
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.origins.raw_origin import RawOrigin, Send, Wait, certificate_authority, response, server_tls
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy, credentials, request
from support.proxy.steady_load import SteadyLoad

ADDRESS = "127.0.1.71"
SWITCH = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"


@dataclass(frozen=True)
class Stage:
    """A fleet's home to be, and the origins it will fetch from."""

    home: Path
    plain: RawOrigin
    secure: RawOrigin
    settings: dict[str, object]

    def fleet(self, processes: int, **settings: object) -> RunningProxy:
        return RunningProxy(self.home, {**self.settings, "proxy.processes": processes, **settings})


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    authority = certificate_authority()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with RawOrigin(ADDRESS) as plain, RawOrigin(ADDRESS, tls=server_tls(authority, ADDRESS)) as secure:
        yield Stage(tmp_path / "home", plain, secure, {"proxy.upstream_ca": tmp_path / "ca.pem"})


def restart(proxy: RunningProxy) -> None:
    done = proxy.command("restart")
    assert done.returncode == 0, done.stderr


def hang_up(proxy: RunningProxy, lines: int = 1) -> str:
    """Asks for a restart by SIGHUP; what is said of it."""
    before = len(proxy.log.read_text().splitlines())
    proxy.signal(signal.SIGHUP)
    return "\n".join(
        until(
            lambda: len(found := proxy.log.read_text().splitlines()[before:]) >= lines and found,
            what="the outcome of the restart",
        )
    )


def recorders(proxy: RunningProxy) -> set[int]:
    """Process ids of all recording processes, retired ones too."""
    found = set()
    for pid in proxy.pids():
        with suppress(OSError):  # it has ended
            if b"ghostfleet: proxy-" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
    return found


def kept(proxy: RunningProxy) -> Counter[str]:
    return Counter(record.url for record in proxy.records().kinds("response", "revisit"))


@pytest.mark.parametrize("processes", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_no_request_is_lost_or_refused(stage: Stage, processes: int) -> None:
    with stage.fleet(processes) as proxy:
        own_port = proxy.control("POST", "/sessions", {"collection": "default", "listen": True, "page_id": "page-1"})
        by_name = proxy.control("POST", "/sessions", {"collection": "default"})
        sessions = {"own-port": own_port, "by-name": by_name}
        with SteadyLoad(proxy, stage.plain, stage.secure) as load:
            load.add("own-port", "plain", lambda: proxy.connect((own_port["host"], own_port["port"])))
            load.add(
                "by-name", "plain", lambda: proxy.connect((by_name["host"], by_name["port"])), credentials(by_name)
            )
            load.goes_on()
            before = recorders(proxy)
            for _ in range(2):
                restart(proxy)
                load.goes_on()
            until(lambda: len(recorders(proxy)) == processes, what="the end of those that were replaced")
            assert not before & recorders(proxy)
        assert load.wrong == []
        listed = proxy.control("GET", f"/sessions/{own_port['id']}/exchanges")
        assert len(listed["exchanges"]) + listed["unlisted"] == len(load.of("own-port")), "listed by three processes"
        for name, session in sessions.items():
            report = proxy.control("DELETE", f"/sessions/{session['id']}")
            assert (report["urls"], report["in_flight"]) == (len(load.of(name)), 0), "counted over three processes"
        proxy.stop()
        found = kept(proxy)
        assert {found[url] for url in load.seen} == {1}


def test_what_is_under_way_comes_to_its_end(stage: Stage) -> None:
    """Neither a download nor a WebSocket nor an idle connection knows of a restart."""
    go = threading.Event()
    whole = response(bytes(range(256)) * 4096)
    stage.plain.script("/long", Send(whole[:100_000]), Wait(go), Send(whole[100_000:]))
    stage.plain.script("/socket", Send(SWITCH), Wait(go), Send(b"\x81\x05hello"))
    stage.plain.otherwise(lambda _: (Send(response(b"page")),))
    with stage.fleet(1, **{"proxy.drain_seconds": 0.1}) as proxy:
        session = proxy.control("POST", "/sessions", {"collection": "default", "listen": True})
        port = (session["host"], session["port"])
        with (
            proxy.connect(port) as busy,
            proxy.connect(port) as talking,
            proxy.connect() as idle,
            proxy.connect() as new,
        ):
            busy.send(request("plain", stage.plain.url("/long")))
            head = busy.read_some(50_000)
            talking.send(request("plain", stage.plain.url("/socket"), "Connection: Upgrade", "Upgrade: websocket"))
            assert talking.read_some(len(SWITCH)) == SWITCH
            assert idle.ask(request("plain", stage.plain.url("/first"))).header("Connection") is None
            (old,) = recorders(proxy)
            restart(proxy)
            restart(proxy)
            assert proxy.get(stage.plain.url("/meanwhile")).status == 200
            report = proxy.control("GET", f"/sessions/{session['id']}")
            assert (report["in_flight"], report["websockets"]) == (2, 1), "asked of the process before the one before"

            for client in (idle, new):
                reply = client.ask(request("plain", stage.plain.url("/last")))
                assert (reply.status, reply.header("Connection")) == (200, "close")
                assert client.is_closed_by_proxy()
            go.set()
            assert head + busy.read_some(len(whole) - len(head)) == whole
            assert talking.read_some(7) == b"\x81\x05hello"
        until(lambda: old not in recorders(proxy), what="the end of the old process")
        report = proxy.control("DELETE", f"/sessions/{session['id']}")
        assert (report["urls"], report["in_flight"], report["bytes"]) == (2, 0, len(whole) + len(SWITCH))
        proxy.stop()
        (record,) = proxy.records().of(stage.plain.url("/long"), "response")
        assert record.block == whole
        assert record.field("WARC-Truncated") is None


BROKEN = {
    "proxy.vja = 'x'\n": "unknown setting proxy.vja in",
    "proxy.via = \n": "can't be read",
    "proxy.idle_seconds = 'x'\n": "setting proxy.idle_seconds = 'x' can't be used",
    "proxy.client_certificates = {x = '/nowhere.pem'}\n": "setting proxy.client_certificates: /nowhere.pem can't",
}


def test_settings_are_read_again_and_broken_ones_refused(stage: Stage) -> None:
    stage.plain.otherwise(lambda _: (Send(response(b"page")),))
    stage.home.mkdir()
    file = stage.home / "ghostfleet.toml"
    with stage.fleet(1) as proxy, proxy.connect() as client:
        session, before = proxy.control("POST", "/sessions", {"collection": "default"}), recorders(proxy)
        for text, why in BROKEN.items():
            file.write_text(text)
            told = hang_up(proxy)
            assert told.startswith("ghostfleet: not restarted, the fleet continues unchanged: ")
            assert why in told
        assert recorders(proxy) == before
        assert client.ask(request("plain", stage.plain.url("/still"))).header("Connection") is None

        file.write_text('proxy.via = "new"\nredis.url = "redis://127.0.0.1:1"\n')
        assert hang_up(proxy, lines=2) == (
            "ghostfleet: setting redis.url was changed; "
            "stop the fleet and start it again to apply the change\n"
            "ghostfleet: restarted"
        )
        proxy.get(stage.plain.url("/new"))
        assert b"Via: 1.1 new" in stage.plain.received("/new")
        assert session["id"] in proxy.control("GET", "/sessions")


def test_without_a_fleet_there_is_nothing_to_restart(stage: Stage) -> None:
    proxy = stage.fleet(1)
    proxy.home.mkdir()
    done = proxy.command("restart")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert f"no `ghostfleet proxy` runs in {proxy.home}" in done.stderr
