"""The port of a closed session goes to the next session of its client, and no request of the first gets there."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any

import pytest
from support.clients.raw_client import Client
from support.origins.odd_responses import page
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import request


def call(proxy: ProxyProcess, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Status and JSON of a call of the control port."""
    connection = http.client.HTTPConnection(proxy.ready["controls"][0], timeout=30)
    token = (proxy.home / "control.token").read_text().strip()
    try:
        headers = {"Authorization": f"Bearer {token}"}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        reply = connection.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        connection.close()


def opened(proxy: ProxyProcess, page_id: str, **spec: Any) -> dict[str, Any]:
    """A session of a page, with a port of its own."""
    return proxy.session(collection="site", page_id=page_id, listen=True, **spec)


def closed(proxy: ProxyProcess, session: dict[str, Any], seconds: float = 60) -> dict[str, Any]:
    """The report of a session that is closed, and whose port is kept."""
    return proxy.control("DELETE", f"/sessions/{session['id']}?keep_port={seconds}")


def port_of(session: dict[str, Any]) -> Client:
    """A connection to a session's own port."""
    return Client(socket.create_connection((session["host"], session["port"]), 30))


def page_ids(proxy: ProxyProcess, url: str) -> list[str | None]:
    """The page of each capture of the URL."""
    return [record.field("WARC-Page-ID") for record in proxy.records("site").of(url, "response", "revisit")]


def refusal(proxy: ProxyProcess, former: object) -> tuple[int, str]:
    """The answer to a session that asks for the port of another one."""
    status, answer = call(
        proxy, "POST", "/sessions", {"collection": "site", "page_id": "late", "listen": True, "port_of": former}
    )
    return status, answer.get("error", "")


def test_the_next_session_has_the_port_and_its_own_page(proxy: ProxyProcess, origin: RawOrigin) -> None:
    origin.script("/part", Send(response(page(b"part"))))
    first = opened(proxy, "page-1")
    with port_of(first) as client:
        client.ask(request("plain", origin.url("/part")))
        assert closed(proxy, first)["kept_port"] is True
        assert client.is_closed_by_proxy()

    second = opened(proxy, "page-2", port_of=first["id"])

    assert second["port"] == first["port"]
    with port_of(second) as client:
        client.ask(request("plain", origin.url("/part")))
    closed(proxy, second)
    assert page_ids(proxy, origin.url("/part")) == ["page-1", "page-2"]


def test_a_port_that_was_asked_for_between_two_sessions_is_given_to_none(
    proxy: ProxyProcess, origin: RawOrigin
) -> None:
    first = opened(proxy, "page-1")
    closed(proxy, first)
    with port_of(first) as client:
        client.send(request("plain", origin.url("/late")))
        status, why = refusal(proxy, first["id"])

    assert (status, origin.visits) == (409, [])
    assert f"port {first['port']} was asked for 1 times" in why
    with pytest.raises(ConnectionRefusedError):
        port_of(first)


def test_the_port_of_a_session_that_is_open_or_unknown_is_not_given(proxy: ProxyProcess) -> None:
    first = opened(proxy, "page-1")

    assert refusal(proxy, first["id"]) == (
        409,
        f"field 'port_of': session {first['id']} is open; close it by DELETE /sessions/{first['id']}?keep_port=SECONDS",
    )
    proxy.control("DELETE", f"/sessions/{first['id']}")
    status, why = refusal(proxy, first["id"])
    assert (status, "no port is kept" in why) == (409, True)


@pytest.mark.parametrize(
    ("asked", "word"),
    [
        ({"listen": True, "port_of": 7}, "id of a closed session"),
        ({"listen": False, "port_of": "0" * 32}, "'listen' = true"),
    ],
)
def test_a_wish_that_makes_no_sense_is_refused_with_the_remedy(
    proxy: ProxyProcess, asked: dict[str, Any], word: str
) -> None:
    status, answer = call(proxy, "POST", "/sessions", {"collection": "site", **asked})

    assert (status, word in answer["error"]) == (400, True)


@pytest.mark.parametrize("seconds", ["-1", "3601", "nan", "soon"])
def test_a_port_is_kept_for_a_time_within_bounds(proxy: ProxyProcess, seconds: str) -> None:
    first = opened(proxy, "page-1")

    status, answer = call(proxy, "DELETE", f"/sessions/{first['id']}?keep_port={seconds}")

    assert (status, "from 0 to 3600" in answer["error"]) == (400, True)
    assert call(proxy, "GET", f"/sessions/{first['id']}")[0] == 200


def test_a_kept_port_is_closed_after_its_time_and_by_its_client(proxy: ProxyProcess) -> None:
    first, second = opened(proxy, "page-1"), opened(proxy, "page-2")

    def is_closed(session: dict[str, Any]) -> bool:
        with socket.socket() as client:
            return client.connect_ex((session["host"], session["port"])) != 0

    closed(proxy, first, 0.05)
    closed(proxy, second)
    assert call(proxy, "DELETE", f"/sessions/{second['id']}/port") == (200, {})

    assert is_closed(second)
    until(lambda: is_closed(first), what="the port to be closed after its time")
    assert call(proxy, "DELETE", f"/sessions/{second['id']}/port")[0] == 404


def test_a_kept_port_is_given_up_when_no_other_is_free(tmp_path: Path, redis_url: str, port: int) -> None:
    with ProxyProcess(tmp_path / "home", redis_url, {"proxy.session_ports": f"{port}-{port}"}) as proxy:
        first = opened(proxy, "page-1")
        assert closed(proxy, first)["kept_port"] is True

        other = opened(proxy, "page-2")

        assert other["port"] == first["port"] == port
        assert refusal(proxy, first["id"])[0] == 409


def test_the_wish_is_no_part_of_the_session(proxy: ProxyProcess) -> None:
    """A process that takes the session over knows nothing of the earlier one."""
    first = opened(proxy, "page-1")
    closed(proxy, first)
    second = opened(proxy, "page-2", port_of=first["id"])

    assert "port_of" not in call(proxy, "PATCH", f"/sessions/{second['id']}", {"via": "x"})[1]
    status, answer = call(proxy, "PATCH", f"/sessions/{second['id']}", {"port_of": first["id"]})
    assert (status, "can't be changed" in answer["error"]) == (400, True)


def test_a_session_may_ask_for_whole_answers_only(proxy: ProxyProcess, origin: RawOrigin) -> None:
    origin.script("/whole", Send(response(page(b"whole"))))
    conditions = ('If-None-Match: "a"', "If-Modified-Since: Sat, 29 Oct 1994 19:43:31 GMT", "Accept: */*")
    for unconditional in (True, False):
        session = opened(proxy, "page-1", unconditional=unconditional)
        with port_of(session) as client:
            client.ask(request("plain", origin.url("/whole"), *conditions))
        closed(proxy, session)

    without, unchanged = (seen.received for seen in origin.asked("/whole"))
    assert (b"If-" in without, b"Accept: */*" in without, unchanged.count(b"If-")) == (False, True, 2)
    status, answer = call(proxy, "POST", "/sessions", {"collection": "site", "unconditional": "yes"})
    assert (status, "'unconditional' = 'yes' must be true or false" in answer["error"]) == (400, True)
