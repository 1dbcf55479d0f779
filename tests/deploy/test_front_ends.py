"""HAProxy and squid in front of two proxies: each site has one of them, and what passes is recorded."""

from __future__ import annotations

import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from support.clients.raw_client import Client, Reply
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, certificate_authority, response, server_tls
from support.processes.machine_needs import free_port, program
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess

FOLDER = Path(__file__).resolve().parents[2] / "deploy"
SITES = [f"site{number}.test" for number in range(12)]
ADDRESS = "127.0.1.71"


def haproxy(config: Path, *more: str) -> list[str]:
    return [program("haproxy", "apt-get install haproxy"), *more, "-f", str(config)]


def squid(config: Path, *more: str) -> list[str]:
    return [program("squid", "apt-get install squid"), *more, "-f", str(config)]


def test_haproxy_understands_its_file() -> None:
    done = subprocess.run(haproxy(FOLDER / "haproxy" / "haproxy.cfg", "-c"), capture_output=True, text=True, timeout=60)

    assert (done.returncode, re.findall(r"\[(?:ALERT|WARNING)\].*", done.stderr)) == (0, [])


def test_squid_understands_its_file() -> None:
    done = subprocess.run(
        squid(FOLDER / "squid" / "carp.conf", "-k", "parse"), capture_output=True, text=True, timeout=60
    )

    complaints = [line for line in done.stderr.splitlines() if re.search("WARNING|ERROR|FATAL", line)]
    excused = "HTTP requires the use of Via|rDNS test failed|visible_hostname"  # left out on purpose; the host
    assert done.returncode == 0
    assert [line for line in complaints if not re.search(excused, line)] == []


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as running:
        running.otherwise(_echo)
        yield running


@pytest.fixture
def secure_origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS, tls=server_tls(certificate_authority(), *SITES)) as running:
        running.otherwise(_echo)
        yield running


def _echo(asked: bytes) -> tuple[Send]:
    return (Send(response(page(asked.split(b" ", 2)[1]))),)


@pytest.fixture
def proxies(tmp_path: Path, redis_url: str) -> Iterator[list[ProxyProcess]]:
    with ExitStack() as at_the_end:
        yield [
            at_the_end.enter_context(
                ProxyProcess(tmp_path / f"home{number}", redis_url, {"proxy.resolve": {"*.test": ADDRESS}})
            )
            for number in range(2)
        ]


@contextmanager
def in_front(kind: str, proxies: list[ProxyProcess], folder: Path) -> Iterator[tuple[str, int]]:
    """The front end as deployed, but for ports and, with squid, the places of its files; where it listens."""
    address = ("127.0.0.1", free_port())
    text = (FOLDER / kind / {"haproxy": "haproxy.cfg", "squid": "carp.conf"}[kind]).read_text("utf-8")
    text = text.replace("127.0.0.1:8000", "{}:{}".format(*address))
    for number, proxy in enumerate(proxies, start=1):
        text = text.replace(f"127.0.0.1:810{number}", "{}:{}".format(*proxy.address))
        text = text.replace(f"127.0.0.1 parent 810{number}", "{} parent {}".format(*proxy.address))
    text = re.sub(r".*recorder-3.*\n", "", text)
    folder.mkdir()
    if kind == "squid":
        text += "access_log none\ncache_log /dev/null\npid_filename none\nnetdb_filename none\n"
    config = folder / "config"
    config.write_text(text, "utf-8")
    command = haproxy(config, "-db") if kind == "haproxy" else squid(config, "-N")
    with (folder / "log").open("wb") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            until(lambda: process.poll() is not None or _answers(address), what=f"{kind} to listen")
            assert process.poll() is None, (folder / "log").read_text()[-2000:]
            yield address
        finally:
            process.kill()


@pytest.mark.parametrize("kind", ["haproxy", "squid"])
def test_each_site_has_one_proxy_by_plain_request_and_connect_alike(
    kind: str, proxies: list[ProxyProcess], origin: RawOrigin, secure_origin: RawOrigin, tmp_path: Path
) -> None:
    with in_front(kind, proxies, tmp_path / "front") as address:
        for site in SITES:
            for path in ("/1", "/2"):
                reply = _plain(address, f"{site}:{origin.port}", path)
                assert (reply.status, reply.body) == (200, page(path.encode()))
            assert _tunnelled(address, f"{site}:{secure_origin.port}", "/tls").body == page(b"/tls")

    seen = [[record.url for record in proxy.records().kinds("response", "revisit")] for proxy in proxies]
    assert len(seen[0] + seen[1]) == 3 * len(SITES)
    sites = [{url.partition("//")[2].partition(":")[0] for url in urls} for urls in seen]
    assert not sites[0] & sites[1]
    assert all(sites)


def _plain(address: tuple[str, int], authority: str, path: str) -> Reply:
    with Client(socket.create_connection(address, 30)) as client:
        return client.ask(f"GET http://{authority}{path} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())


def _tunnelled(address: tuple[str, int], authority: str, path: str) -> Reply:
    trusting = ssl.create_default_context()
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE  # each proxy has an authority of its own
    stream = socket.create_connection(address, 30)
    stream.sendall(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        answer += (piece := stream.recv(1))
        assert piece, answer
    assert answer.split(b" ", 2)[1] == b"200", answer
    with Client(trusting.wrap_socket(stream, server_hostname=authority.partition(":")[0])) as client:
        return client.ask(f"GET {path} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode())


def _answers(address: tuple[str, int]) -> bool:
    try:
        socket.create_connection(address, 5).close()
    except ConnectionRefusedError:
        return False
    return True
