"""Bodies that end too early: what came is kept and flagged, the client sees the break, nothing is invented."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.origins.odd_responses import OK, chunked, page
from support.origins.raw_origin import (
    Close,
    RawOrigin,
    Reset,
    Send,
    Step,
    Wait,
    certificate_authority,
    response,
    server_tls,
)
from support.proxy.running_proxy import ROUTES, Route, RunningProxy

ADDRESS = "127.0.1.22"
FOREVER = threading.Event()
SHORT = OK + b"Content-Length: 1000\r\n\r\n"
CHUNKS = OK + b"Transfer-Encoding: chunked\r\n\r\n"


def cuts(tag: bytes) -> dict[str, tuple[Step, ...]]:
    """By name, what the origin does."""
    return {
        "length-not-reached": (Send(SHORT + page(tag)), Close()),
        "length-not-reached-no-notify": (Send(SHORT + page(tag)), Close(notify=False)),
        "chunk-not-whole": (Send(CHUNKS + b"400\r\n" + page(tag)), Close()),
        "no-last-chunk": (Send(CHUNKS + chunked(page(tag))[:-5]), Close()),
        "ends-in-trailers": (Send(CHUNKS + chunked(page(tag))[:-2] + b"X-Check: 1"), Close()),
        "bad-chunk-size": (Send(CHUNKS + b"5\r\nfirst\r\nmoss\r\n" + page(tag)), Close()),
        "nothing-after-the-head": (Send(SHORT), Close()),
    }


CASES = [pytest.param(name, route, id=f"{name}-{route}") for name in cuts(b"") for route in ROUTES]


@dataclass(frozen=True)
class Stage:
    proxy: RunningProxy
    plain: RawOrigin
    secure: RawOrigin
    authority: Path

    def origin(self, route: Route) -> RawOrigin:
        return self.plain if route == "plain" else self.secure


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("cut")
    authority = certificate_authority()
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    settings = {"proxy.upstream_ca": folder / "ca.pem", "proxy.max_body_bytes": 2_000_000}
    with (
        RawOrigin(ADDRESS) as plain,
        RawOrigin(ADDRESS, tls=server_tls(authority, ADDRESS)) as secure,
        RunningProxy(folder / "home", settings) as proxy,
    ):
        yield Stage(proxy, plain, secure, folder / "ca.pem")
        FOREVER.set()


@pytest.fixture(scope="module")
def impatient(stage: Stage, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """The same origins, and a proxy that soon takes silence for the end."""
    folder = tmp_path_factory.mktemp("impatient")
    settings = {"proxy.upstream_ca": stage.authority, "proxy.idle_seconds": 2}
    with RunningProxy(folder / "home", settings) as proxy:
        yield replace(stage, proxy=proxy)


@pytest.mark.parametrize(("name", "route"), CASES)
def test_what_came_is_kept_and_flagged(stage: Stage, name: str, route: Route) -> None:
    origin, path = stage.origin(route), f"/{name}/{route}"
    origin.script(path, *cuts(path.encode())[name])

    reply = stage.proxy.get(origin.url(path), route=route)

    assert not reply.whole, "the client took a broken response for a whole one"
    record = stage.proxy.awaited(origin.url(path), "response")
    assert record.field("WARC-Truncated") == "disconnect"
    assert record.block == origin.sent(path)


@pytest.mark.parametrize("route", ROUTES)
def test_a_reset_keeps_what_had_come(stage: Stage, route: Route) -> None:
    origin, path = stage.origin(route), f"/reset/{route}"
    seen = threading.Event()
    origin.script(path, Send(SHORT + page(path.encode())), Wait(seen), Reset())

    with stage.proxy.open(route, origin.authority) as client:
        target = path if route == "connect" else origin.url(path)
        client.send(f"GET {target} HTTP/1.1\r\nHost: {origin.authority}\r\n\r\n".encode())
        first = client.read_some(40)
        seen.set()
        rest = client.read_some(100_000)

    sent = origin.sent(path)
    record = stage.proxy.awaited(origin.url(path), "response")
    assert record.field("WARC-Truncated") == "disconnect"
    assert record.block == sent
    assert (first + rest).endswith(sent.partition(b"\r\n\r\n")[2]), "something else than the origin's bytes followed"


@pytest.mark.parametrize("route", ROUTES)
def test_silence_within_a_body_ends_it(impatient: Stage, route: Route) -> None:
    origin, path = impatient.origin(route), f"/silence/{route}"
    origin.script(path, Send(SHORT + page(path.encode())), Wait(FOREVER))

    reply = impatient.proxy.get(origin.url(path), route=route)

    assert not reply.whole
    record = impatient.proxy.awaited(origin.url(path), "response")
    assert record.field("WARC-Truncated") == "time"
    assert record.block == origin.sent(path)


@pytest.mark.parametrize("route", ROUTES)
def test_a_body_over_the_limit_is_cut_there(stage: Stage, route: Route) -> None:
    origin, path = stage.origin(route), f"/large/{route}"
    origin.script(path, Send(response(page(path.encode(), 4_000_000))))

    reply = stage.proxy.get(origin.url(path), route=route)

    assert not reply.whole
    record = stage.proxy.awaited(origin.url(path), "response")
    assert record.field("WARC-Truncated") == "length"
    assert response(page(path.encode(), 4_000_000)).startswith(record.block)
    assert 2_000_000 <= len(record.block) < 3_000_000


@pytest.mark.parametrize("route", ["connect", "absolute"])
def test_a_server_that_forgets_to_say_goodbye_is_read_to_its_end(stage: Stage, route: Route) -> None:
    """No Content-Length and no close_notify: common in the wild, and all of it came."""
    origin, path = stage.secure, f"/no-notify/{route}"
    origin.script(path, Send(OK + b"\r\n" + page(path.encode())), Close(notify=False))

    reply = stage.proxy.get(origin.url(path), route=route)

    record = stage.proxy.awaited(origin.url(path), "response")
    assert record.block == origin.sent(path)
    assert reply.body == page(path.encode())


def test_a_truncated_body_is_no_original(stage: Stage) -> None:
    """The whole body comes second: it must be written, and not point to the broken one."""
    origin = stage.plain
    body = page(b"/again", 400)
    origin.script("/again/cut", Send(OK + b"Content-Length: %d\r\n\r\n" % (len(body) + 1) + body), Close())
    origin.script("/again/whole", Send(response(body)))
    stage.proxy.get(origin.url("/again/cut"))

    stage.proxy.get(origin.url("/again/whole"))

    (record,) = stage.proxy.records().of(origin.url("/again/whole"))[:1]
    assert record.kind == "response"
