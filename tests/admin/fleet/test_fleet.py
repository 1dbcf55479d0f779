"""`ghostfleet proxy` with everything that can happen to it: real processes, real kills."""

from __future__ import annotations

import fcntl
import os
import re
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from support.origins.chain_site import ChainSite
from support.processes.ghostfleet_command import Command, child, processes_of
from support.processes.waiting import until

from archive.settings.load import Settings
from archive.warc.cdxj import captures_of
from archive.warc.upkeep.check import check


@pytest.fixture
def site() -> Iterator[ChainSite]:
    with ChainSite(4) as started:
        yield started


def _start(home: Path, *more: str, **environment: str) -> Command:
    return Command("proxy", "--port", "0", "--allow-private", *more, home=home, **environment)


def _number(pidfile: Path) -> int:
    """The process id in a file; 0 while a server that starts has not written one."""
    try:
        return int(pidfile.read_text() or 0)
    except FileNotFoundError:
        return 0


def _number_after_start(pidfile: Path) -> int:
    """The process id of the server once no process is starting a server. A start fails when its server is killed."""
    with pidfile.with_name("start.lock").open("a") as starting:
        fcntl.flock(starting, fcntl.LOCK_EX)
        return _number(pidfile)


def _get(proxy: str, url: str) -> httpx.Response:
    with httpx.Client(proxy=f"http://{proxy}", trust_env=False, timeout=30) as client:
        return client.get(url)


def _archived(settings: Settings) -> list[str]:
    files = sorted(settings.archive_dir("default").glob("*.warc.gz"))
    return [capture.url for file in files for capture in captures_of(file, "default")]


def test_responses_are_recorded_and_a_terminated_fleet_leaves_complete_files(
    settings: Settings, site: ChainSite
) -> None:
    with _start(settings.home, GHOSTFLEET_ADMIN__HOST_NAMES="index.example") as fleet:
        ready = fleet.line(ready=True)
        assert ready["home"] == str(settings.home)
        assert set(ready["pids"]) == set(processes_of(settings.home))
        assert _get(ready["proxy"], site.url).status_code == 200
        _answers_only_to_its_own_names(ready["cdx"])
        _control_token_is_for_its_owner_only(settings, ready["controls"][0])
        fleet.signal(signal.SIGTERM)
        assert fleet.ended() == 0
    assert _archived(settings) == [site.url]
    assert list(check(settings.archive_dir("default"))) == []
    assert not list(settings.archive_dir("default").glob("*.open"))


def test_a_file_that_can_not_get_its_final_name_is_one_line(settings: Settings, site: ChainSite) -> None:
    with _start(settings.home) as fleet:
        assert _get(fleet.line(ready=True)["proxy"], site.url).status_code == 200
        (growing,) = settings.archive_dir("default").glob("*.open")
        in_its_way = growing.with_suffix("")
        in_its_way.touch()
        fleet.signal(signal.SIGTERM)
        assert fleet.ended() == 1
    said = [line for line in fleet.stderr.splitlines() if not line.startswith("ghostfleet: waiting for ")]
    assert said == [
        f"ghostfleet: proxy-0: {growing} is complete, but can't be closed: {in_its_way} exists already; "
        "remove the cause, then run `ghostfleet repair`"
    ]


def test_the_zstd_files_of_a_fleet_have_the_configured_names_and_are_uploaded_when_it_has_ended(
    settings: Settings, site: ChainSite, tmp_path: Path
) -> None:
    target = tmp_path / "target"
    chosen = {
        "GHOSTFLEET_ARCHIVE__COMPRESSION": "zstd",
        "GHOSTFLEET_ARCHIVE__WARC_NAME": "lib-{timestamp14}-{random}",
        "GHOSTFLEET_STORAGE__URL": str(target),
    }
    with _start(settings.home, **chosen) as fleet:
        assert _get(fleet.line(ready=True)["proxy"], site.url).status_code == 200
        fleet.signal(signal.SIGTERM)
        assert fleet.ended() == 0
    (warc,) = settings.archive_dir("default").iterdir()
    assert re.fullmatch(r"lib-\d{14}-[0-9a-f]{8}\.warc\.zst", warc.name)
    assert {capture.url for capture in captures_of(warc)} == {site.url}
    assert (target / "default/archive" / warc.name).read_bytes() == warc.read_bytes()
    assert list(check(target)) == []


def test_an_unusable_storage_prevents_the_start_of_the_fleet(settings: Settings) -> None:
    with _start(settings.home, GHOSTFLEET_STORAGE__URL="nosuch://bucket") as fleet:
        assert fleet.ended() != 0
    assert "setting storage.url = 'nosuch://bucket' can't be used" in fleet.stderr


def test_a_killed_proxy_is_restarted_and_its_files_are_repaired(settings: Settings, site: ChainSite) -> None:
    with _start(settings.home) as fleet:
        proxy = fleet.line(ready=True)["proxy"]
        assert _get(proxy, site.url).status_code == 200
        killed = child(settings.home, "proxy-0")
        os.kill(killed, signal.SIGKILL)
        assert _get(proxy, f"{site.url}1").status_code == 200, "the caller waits in the port's backlog"
        assert child(settings.home, "proxy-0") != killed
        assert _archived(settings) == [site.url], "the dead process's file was repaired"
        fleet.signal(signal.SIGTERM)
        assert fleet.ended() == 0
    assert "proxy-0 was killed by SIGKILL and is restarted" in fleet.stderr
    assert list(check(settings.archive_dir("default"))) == []


def test_a_killed_indexer_redis_or_parent_of_redis_is_restarted_on_the_same_port(
    settings: Settings, site: ChainSite
) -> None:
    pidfile = settings.home / "redis" / "redis.pid"
    with _start(settings.home) as fleet:
        ready = fleet.line(ready=True)
        cdx = f"http://{ready['cdx']}/default/cdx"
        for number, title in enumerate(("indexer-0", "redis-keeper")):
            killed = child(settings.home, title)
            os.kill(killed, signal.SIGKILL)
            until(lambda title=title, killed=killed: child(settings.home, title) != killed, what=f"another {title}")
            url = f"{site.url}{number}"
            assert _get(ready["proxy"], url).status_code == 200
            assert until(lambda url=url: url in _cdx(cdx, url), what="the capture in the index")
        killed = until(lambda: _number_after_start(pidfile), what="Redis beside its new parent")
        os.kill(killed, signal.SIGKILL)
        until(lambda: _number(pidfile) not in (0, killed), what="another Redis")
        assert _get(ready["proxy"], site.url).status_code == 200


def test_when_the_command_is_killed_all_children_end_in_order(settings: Settings, site: ChainSite) -> None:
    with _start(settings.home) as fleet:
        assert _get(fleet.line(ready=True)["proxy"], site.url).status_code == 200
        redis = int((settings.home / "redis" / "redis.pid").read_text())
        fleet.signal(signal.SIGKILL)
        until(lambda: not processes_of(settings.home), what="the end of all children")
        until(lambda: not Path(f"/proc/{redis}/cmdline").exists() or not _cmdline(redis), what="the end of Redis")
    assert _archived(settings) == [site.url]
    assert not list(settings.archive_dir("default").glob("*.open")), "the proxy closed its file by itself"


def test_a_second_signal_ends_the_fleet_at_once(settings: Settings, site: ChainSite) -> None:
    site.hold("/")
    with _start(settings.home) as fleet:
        proxy = _address(fleet.line(ready=True)["proxy"])
        with socket.create_connection(proxy) as client:
            client.sendall(f"GET {site.url} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            until(lambda: site.asked, what="the request to arrive")
            fleet.signal(signal.SIGINT)
            until(lambda: not _listens(proxy), what="the port to be closed")
            fleet.signal(signal.SIGINT)
            assert fleet.ended() == 130


def test_a_signal_during_the_start_leaves_no_processes(home: Path) -> None:
    (home / "redis").mkdir(parents=True)
    with (home / "redis" / "start.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the fleet can't be ready before this lock is let go
        with _start(home) as fleet:
            until(lambda: "waiting for redis-keeper" in fleet.errors, what="children that start")
            fleet.signal(signal.SIGINT)
            fcntl.flock(lock, fcntl.LOCK_UN)
            assert fleet.ended() == 130
    assert fleet.lines == []


def test_requests_during_the_start_get_503_and_standard_error_names_the_child(home: Path, port: int) -> None:
    """T26: a first request waited in silence until the fleet was ready."""
    (home / "redis").mkdir(parents=True)
    with (home / "redis" / "start.lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # Redis can't start before this lock is let go
        with _start(home, "--port", str(port)) as fleet:
            until(lambda: _listens(("127.0.0.1", port)), what="the port to be open")
            early = _get(f"127.0.0.1:{port}", "http://example.org/")
            assert (early.status_code, early.headers["retry-after"]) == (503, "1")
            until(lambda: "ghostfleet: waiting for redis-keeper to start Redis" in fleet.errors, what="the line")
            assert fleet.lines == []
            fcntl.flock(lock, fcntl.LOCK_UN)
            ready = fleet.line(ready=True)
            assert httpx.get(f"http://{ready['proxy']}/status", trust_env=False).status_code == 200


def test_a_port_in_use_is_one_line_and_leaves_no_processes(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        with Command("proxy", "--port", port, home=home) as fleet:
            assert fleet.ended() == 2
    assert fleet.stderr == (
        f"ghostfleet: port {port} of 127.0.0.1 is in use; choose another with --port, or --port 0 for a free port\n"
    )
    assert not (home / "redis").exists()


def test_a_home_that_can_not_be_written_to_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with _start(tmp_path / "file" / "home") as fleet:
        assert fleet.ended() == 2
    assert "can't be written to (Not a directory); choose another home with --home" in fleet.stderr
    assert fleet.stderr.count("\n") == 1


def test_a_redis_that_does_not_answer_is_one_line(home: Path, port: int) -> None:
    with _start(home, GHOSTFLEET_REDIS__URL=f"redis://127.0.0.1:{port}/0") as fleet:
        assert fleet.ended() == 2
    assert f"Redis at redis://127.0.0.1:{port}/0 can't be used" in fleet.stderr
    assert fleet.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("host", "value"), [("PROXY__HOST", "0.0.0.0"), ("PROXY__HOST", "::"), ("ADMIN__HOST", "0.0.0.0")]
)
def test_a_listener_open_to_a_network_needs_a_password_or_an_allow_list(home: Path, host: str, value: str) -> None:
    """The refusal is one line that names the setting, its value and the remedies (T10)."""
    setting = host.lower().replace("__", ".")
    with _start(home, **{f"GHOSTFLEET_{host}": value}) as fleet:
        assert fleet.ended() == 2
    assert f"setting {setting} = {value!r}" in fleet.stderr
    assert f"{setting.partition('.')[0]}.allow_clients" in fleet.stderr
    assert fleet.stderr.count("\n") == 1


def _answers_only_to_its_own_names(cdx: str) -> None:
    """DNS rebinding reads neither the index nor the metrics (T12)."""
    port = cdx.rpartition(":")[2]
    for path in ("/", "/metrics", "/default/cdx?url=example.org"):
        answer = httpx.get(f"http://{cdx}{path}", headers={"Host": f"evil.example:{port}"}, trust_env=False)
        assert (answer.status_code, "admin.host_names" in answer.text) == (421, True)
    for host in (cdx, f"localhost:{port}", f"index.example:{port}"):
        assert httpx.get(f"http://{cdx}/", headers={"Host": host}, trust_env=False).status_code == 200


def _control_token_is_for_its_owner_only(settings: Settings, control: str) -> None:
    token = settings.home / "control.token"
    assert token.stat().st_mode & 0o777 == 0o600
    assert len(token.read_text().strip()) > 40
    assert httpx.get(f"http://{control}/status", trust_env=False).status_code == 401


def _cdx(address: str, url: str) -> str:
    return httpx.get(address, params={"url": url}, trust_env=False).text


def _address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    return host, int(port)


def _listens(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, timeout=5).close()
    except ConnectionRefusedError:
        return False
    except OSError:
        return True  # The port was closed just now, or its queue is full. The next question tells.
    return True


def _cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return b""
