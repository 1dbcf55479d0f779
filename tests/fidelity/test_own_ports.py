"""The fleet never fetches from itself: no listener of it is a target, on any route, in any spelling (T9)."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.clients.raw_client import Client, Reply
from support.clients.websocket import HANDSHAKE
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy, request

HERE = ("127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "0.0.0.0", "2130706433", "own.test")


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    """A fleet of two processes that may fetch from private addresses."""
    settings = {"proxy.processes": 2, "proxy.resolve": "own.test=127.0.0.1"}
    with RunningProxy(tmp_path_factory.mktemp("own") / "home", settings) as running:
        yield running


def own_ports(proxy: RunningProxy) -> dict[str, int]:
    """Every port that the fleet listens on, by what it is."""
    ready = proxy.ready
    named = {"main": ready["proxy"], "cdx": ready["cdx"]}
    named |= {f"control-{index}": address for index, address in enumerate(ready["controls"])}
    ports = {name: int(address.rpartition(":")[2]) for name, address in named.items()}
    ports["session"] = proxy.control("POST", "/sessions", {"collection": "own", "listen": True})["port"]
    ports["direct"] = proxy.control("POST", "/sessions", {"collection": "own"})["port"]
    return ports


def is_refused(reply: Reply) -> bool:
    return reply.status == 403 and (reply.header("Ghostfleet-Error") or "").startswith("-5001")


@pytest.mark.parametrize("host", HERE)
def test_no_listener_is_a_target_in_any_spelling(proxy: RunningProxy, host: str) -> None:
    for name, port in own_ports(proxy).items():
        for scheme in ("http", "https"):
            reply = proxy.get(f"{scheme}://{host}:{port}/status", route="absolute")

            assert is_refused(reply), (name, scheme, reply)


def test_a_session_port_of_one_process_is_no_target_for_another(proxy: RunningProxy) -> None:
    """The main port is shared: which process answers is the kernel's choice, so both are asked until they were."""
    port, asked = own_ports(proxy)["session"], set[int]()

    def both() -> bool:
        with proxy.connect() as client:
            status = client.ask(b"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n").body
            asked.add(json.loads(status)["process"])
            assert is_refused(client.ask(request("plain", f"http://127.0.0.1:{port}/")))
        return asked == {0, 1}

    until(both, what="both processes to be asked")


def test_no_tunnel_and_no_websocket_leads_there(proxy: RunningProxy) -> None:
    for name, port in own_ports(proxy).items():
        with proxy.connect() as client:
            client.send(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
            assert client.read_some(12).endswith(b"200"), name
            client.read_some(len(b" Connection established\r\n\r\n"))
            assert is_refused(client.ask(b"GET /status HTTP/1.1\r\nHost: x\r\n\r\n")), name
        with proxy.connect() as client:
            upgrade = request("plain", f"http://127.0.0.1:{port}/status", *HANDSHAKE)
            assert is_refused(client.ask(upgrade)), name


def test_a_page_of_a_session_can_not_get_there(proxy: RunningProxy) -> None:
    session = proxy.control("POST", "/sessions", {"collection": "page", "listen": True})
    for target in (f"127.0.0.1:{session['port']}", proxy.ready["controls"][1], proxy.ready["cdx"]):
        with Client(socket.create_connection((session["host"], session["port"]), 30)) as client:
            assert is_refused(client.ask(request("plain", f"http://{target}/")))


def test_a_port_that_a_session_gave_back_is_a_target_again(proxy: RunningProxy) -> None:
    session = proxy.control("POST", "/sessions", {"collection": "back", "listen": True})
    url = f"http://127.0.0.1:{session['port']}/"
    assert is_refused(proxy.get(url))
    proxy.control("DELETE", f"/sessions/{session['id']}")

    # A process may have told the fleet of the port meanwhile, which forgets it with the next such message.
    until(lambda: not is_refused(proxy.get(url)), what="the fleet to forget the port")


def test_the_same_port_at_another_address_is_a_site_like_any_other(proxy: RunningProxy) -> None:
    main = proxy.address[1]
    with socket.create_server(("127.0.1.77", main)) as site:

        def answer() -> None:
            stream, _ = site.accept()
            with stream:
                stream.recv(65536)
                stream.sendall(response(b"a site of its own"))

        thread = threading.Thread(target=answer)
        thread.start()
        assert proxy.get(f"http://127.0.1.77:{main}/").status == 200
        thread.join()


def test_a_redirect_to_the_fleet_is_recorded_and_not_followed(proxy: RunningProxy) -> None:
    with RawOrigin("127.0.1.78") as origin:
        target = f"http://{proxy.ready['cdx']}/"
        origin.script("/", Send(response(b"", b"Location: " + target.encode(), status=b"302 Found")))

        assert proxy.get(origin.url("/")).status == 302
        assert is_refused(proxy.get(target))


def test_a_fleet_that_listens_everywhere_is_no_target_at_any_address(tmp_path: Path) -> None:
    settings = {"proxy.host": "0.0.0.0", "proxy.allow_clients": "192.0.2.0/24"}
    with RunningProxy(tmp_path / "home", settings) as proxy:
        port = proxy.address[1]
        for host in ("127.0.0.1", "127.0.1.99", "0.0.0.0", "[::ffff:127.0.1.99]", "localhost"):
            assert is_refused(proxy.get(f"http://{host}:{port}/status")), host
