"""What is new to the fleet is looked for by a CDX server elsewhere; whatever that does, no batch waits for long."""

from __future__ import annotations

import base64
import hashlib
import logging
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from support.origins.raw_origin import (
    Answer,
    Close,
    Drip,
    RawOrigin,
    Reset,
    Send,
    Step,
    Wait,
    certificate_authority,
    response,
    server_tls,
)
from support.stores.redis_server import RedisServer

from archive.capture import Original
from archive.dates import parse_date
from archive.settings import DedupSettings
from dedupdb.claims import remote_archives as foreigns
from dedupdb.claims.claims import Claims, ClaimVerdict, PayloadKey
from dedupdb.claims.remote_archives import RemoteArchives
from dedupdb.redis_io.link import DedupUnavailable

GRANTED, HELD = ClaimVerdict.GRANTED, ClaimVerdict.HELD
ADDRESS = "127.0.1.98"
DATE = "20240102030405"


def body(number: int) -> bytes:
    return f"page {number}".encode()


def url(number: int) -> str:
    return f"http://example.org/{number}"


def want(number: int, *filled: str, **further: Any) -> PayloadKey:
    taken = body(number)
    digest = hashlib.sha1(taken, usedforsecurity=False).digest()
    facts = {"url": url(number), "digest": digest, **further}
    return PayloadKey("news", hashlib.sha256(taken).digest(), len(taken), filled or ("",), **facts)


def original(number: int) -> Original:
    return Original("", url(number), parse_date(DATE))


def line(number: int) -> bytes:
    digest = base64.b32encode(want(number).digest).decode()
    return f"{DATE} {digest} {url(number)}\n".encode()


def asked(request: bytes) -> str:
    return parse_qs(urlsplit(request.split(b" ", 2)[1].decode()).query)["url"][0]


def holding(*numbers: int) -> Answer:
    """An archive that has these."""

    def answer(request: bytes) -> Sequence[Step]:
        number = int(asked(request).rpartition("/")[2])
        return (Send(response(line(number) if number in numbers else b"", b"Content-Type: text/plain")),)

    return answer


@pytest.fixture
def cdx() -> Iterator[RawOrigin]:
    """A CDX server of an archive that has 1 and 2."""
    with RawOrigin(ADDRESS) as running:
        running.otherwise(holding(1, 2))
        yield running


@pytest.fixture(autouse=True)
def _rests_briefly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreigns, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(foreigns, "_PAUSE_FACTOR", 0.0)


@contextmanager
def asking(
    claims: Claims, server: RawOrigin | str, *, collection: str = "news", **settings: Any
) -> Iterator[RemoteArchives]:
    address = server if isinstance(server, str) else server.url("/cdx")
    made = RemoteArchives(claims, DedupSettings(cdx_servers={collection: address}, **settings))
    try:
        yield made
    finally:
        made.close()


def test_what_is_held_there_is_an_original_and_its_claim_is_given_back(claims: Claims, cdx: RawOrigin) -> None:
    with asking(claims, cdx) as foreign:
        assert foreign.claim([want(1), want(3), want(2)]) == [original(1), GRANTED, original(2)]
        assert claims.claim([want(1), want(3)]) == [GRANTED, HELD], "and Redis knows none of it"
        assert (foreign.found, foreign.unavailable, foreign.trouble) == (2, 0, "")


def test_only_what_nobody_in_the_fleet_has_is_asked_for(writers: tuple[Claims, Claims], cdx: RawOrigin) -> None:
    ours, other = writers
    known = Original("6ba7b810-9dad-11d1-80b4-00c04fd430c8", url(1), 5)
    other.claim([want(1), want(2)])
    other.settle([(want(1), known)], [], [], {})

    with asking(ours, cdx) as foreign:
        assert foreign.claim([want(1), want(2)]) == [known, HELD]
    assert cdx.visits == []


@pytest.mark.parametrize(
    "other",
    [
        replace(want(1), collection="sports"),
        replace(want(1), filled=("bucket",)),
        replace(want(1), digest=b""),
        replace(want(1), algorithm="sha256"),
    ],
)
def test_what_it_can_not_be_asked_for_is_not_asked_for(claims: Claims, cdx: RawOrigin, other: PayloadKey) -> None:
    with asking(claims, cdx) as foreign:
        assert foreign.claim([other]) == [GRANTED]
    assert cdx.visits == []


def test_a_bucket_that_is_searched_besides_the_collections_own_does_not_matter(claims: Claims, cdx: RawOrigin) -> None:
    with asking(claims, cdx, collection="*") as foreign:
        assert foreign.claim([want(1, "x", searched=("",)), want(2, "", "y")]) == [original(1), original(2)]


def test_one_of_the_collections_own_goes_before_that_of_all(claims: Claims, cdx: RawOrigin) -> None:
    with RawOrigin(ADDRESS) as own:
        own.otherwise(holding(3))
        servers = {"*": cdx.url("/cdx"), "news": own.url("/cdx")}
        foreign = RemoteArchives(claims, DedupSettings(cdx_servers=servers))
        assert foreign.claim([want(1), want(3), replace(want(1), collection="sports")]) == [
            *(GRANTED, original(3), original(1))
        ]
        foreign.close()


def test_connections_stay_open_and_one_that_was_closed_is_replaced(claims: Claims, cdx: RawOrigin) -> None:
    with asking(claims, cdx, cdx_connections=1) as foreign:
        assert foreign.claim([want(number) for number in range(1, 9)]).count(GRANTED) == 6
        assert cdx.connections == 1
        cdx.script("/gone", Close())
        for connection in list(cdx._open):
            connection.shutdown(2)
        assert foreign.claim([want(1)]) == [original(1)]
        assert (cdx.connections, foreign.unavailable) == (2, 0)


def test_a_batch_is_asked_for_at_once_and_over_so_many_connections(claims: Claims, cdx: RawOrigin) -> None:
    together = threading.Barrier(4)
    answer = holding(1, 2)

    def all_at_once(request: bytes) -> Sequence[Step]:
        together.wait(30)
        return answer(request)

    cdx.otherwise(all_at_once)
    with asking(claims, cdx, cdx_connections=4, cdx_seconds=20) as foreign:
        assert foreign.claim([want(number) for number in range(1, 9)]).count(GRANTED) == 6
    assert cdx.connections == 4


GARBAGE = bytes(range(256)) * 100


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([Send(response(b"oops", status=b"500 Internal Server Error"))], "status 500"),
        ([Send(response(b"", b"Location: http://127.0.0.1/", status=b"302 Found"))], "status 302"),
        ([Send(response(b"", status=b"401 Unauthorized"))], "status 401"),
        ([Send(response(b"no such URL", status=b"400 Bad Request"))], "status 400"),
        ([Send(response(b"\x1f\x8b", b"Content-Encoding: gzip"))], "the answer has Content-Encoding 'gzip'"),
        ([Send(GARBAGE), Close()], "BadStatusLine"),
        ([Send(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n"), Close()], "HTTPException"),
        ([Send(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + line(1)), Close()], "IncompleteRead"),
        ([Send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1f4\r\n" + line(1)), Close()], "IncompleteRead"),
        ([Reset()], "ConnectionResetError"),
        ([Close()], "RemoteDisconnected"),
    ],
)
def test_a_server_that_fails_leaves_everything_to_be_kept_whole(
    claims: Claims, cdx: RawOrigin, steps: Sequence[Step], reason: str
) -> None:
    cdx.otherwise(lambda _: steps)
    with asking(claims, cdx) as foreign:
        assert foreign.claim([want(1), want(2)]) == [GRANTED, GRANTED]
        assert foreign.unavailable == 2
        assert reason in foreign.trouble

        cdx.otherwise(holding(1, 2))
        claims.settle([], [want(1), want(2)], [], {})
        assert foreign.claim([want(1)]) == [original(1)]
        assert foreign.trouble == ""


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (response(GARBAGE), GRANTED),
        (response(b"<html>please log in</html>\n"), GRANTED),
        (response(line(2)), GRANTED),
        (response(b"# a comment\n\n" + line(2) + line(1)), original(1)),
        (response(line(1).rstrip()), original(1)),
        (response((b"x" * 99 + b"\n") * 20_000 + line(1)), GRANTED),
        (response(b"x" * 1_000_000), GRANTED),
        (b"HTTP/1.0 200 OK\r\n\r\n" + line(1), original(1)),
        (b"HTTP/1.0 200 OK\r\n\r\n" + line(1).rstrip(), GRANTED),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(line(1)), line(1)),
            original(1),
        ),
    ],
)
def test_of_an_answer_only_what_can_be_read_counts(
    claims: Claims, cdx: RawOrigin, answer: bytes, verdict: Original | ClaimVerdict
) -> None:
    cdx.otherwise(lambda _: (Send(answer), *([Close()] if b"HTTP/1.0" in answer else [])))
    with asking(claims, cdx) as foreign:
        assert foreign.claim([want(1)]) == [verdict]
        assert foreign.unavailable == 0


@pytest.mark.parametrize("fault", ["silent", "drips its head", "drips its body"])
def test_a_server_that_is_slow_is_waited_for_no_longer_than_is_set(claims: Claims, cdx: RawOrigin, fault: str) -> None:
    """One that never ends is let go; the batch's other answers count, and its connections are broken off."""
    over = threading.Event()
    steps: dict[str, Sequence[Step]] = {
        "silent": (Wait(over),),
        "drips its head": (Drip(b"HTTP/1.1 200 OK\r\n" + b"X-Y: z\r\n" * 100_000, 0.01),),
        "drips its body": (Send(b"HTTP/1.1 200 OK\r\n\r\n"), Drip(b"x" * 1_000_000, 0.01)),
    }
    answer = holding(1, 2)
    cdx.otherwise(lambda request: answer(request) if asked(request) == url(1) else steps[fault])
    with asking(claims, cdx, cdx_seconds=0.5) as foreign:
        started = time.monotonic()
        assert foreign.claim([want(number) for number in (*range(3, 30), 1)]).count(GRANTED) >= 27
        assert time.monotonic() - started < 20, "it would have taken minutes"
        assert "no answer" in foreign.trouble
        assert foreign.unavailable >= 27
    over.set()


def test_one_that_failed_rests_and_is_not_asked(
    claims: Claims, cdx: RawOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreigns, "_PAUSE_SECONDS", 3600.0)
    cdx.otherwise(lambda _: (Send(response(b"", status=b"503 Busy")),))
    with asking(claims, cdx) as foreign:
        assert foreign.claim([want(1)]) == [GRANTED]
        cdx.otherwise(holding(1, 2))
        assert foreign.claim([want(2)]) == [GRANTED]
        assert len(cdx.visits) == 1
        assert foreign.unavailable == 2
        assert "status 503" in foreign.trouble, "until it has answered again"


def test_one_url_that_is_refused_does_not_make_it_rest(
    claims: Claims, cdx: RawOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreigns, "_PAUSE_SECONDS", 3600.0)
    answer = holding(1, 2)
    cdx.otherwise(
        lambda request: answer(request) if asked(request) != url(3) else (Send(response(b"", status=b"400 No")),)
    )
    with asking(claims, cdx) as foreign:
        assert foreign.claim([want(3), want(1)]) == [GRANTED, original(1)]
        assert foreign.claim([want(2)]) == [original(2)]
        assert foreign.unavailable == 1


def test_one_that_is_gone_costs_next_to_nothing(claims: Claims, cdx: RawOrigin) -> None:
    cdx.close()
    with asking(claims, cdx) as foreign:
        assert foreign.claim([want(1)]) == [GRANTED]
        assert "ConnectionRefusedError" in foreign.trouble


def test_a_host_that_has_no_address_is_no_answer(claims: Claims) -> None:
    with asking(claims, "http://no-such-host.invalid/cdx") as foreign:
        assert foreign.claim([want(1)]) == [GRANTED]
        assert "no-such-host.invalid" in foreign.trouble
    with asking(claims, "http://a..b/cdx") as foreign:
        assert foreign.claim([want(2)]) == [GRANTED]


def test_without_redis_nobody_is_asked(server: RedisServer, claims: Claims, cdx: RawOrigin) -> None:
    server.kill()
    with asking(claims, cdx) as foreign, pytest.raises(DedupUnavailable):
        foreign.claim([want(1)])
    assert cdx.visits == []


def test_its_password_and_key_are_sent_and_never_shown(
    claims: Claims, cdx: RawOrigin, caplog: pytest.LogCaptureFixture
) -> None:
    address = cdx.url("/cdx?key=hidden").replace("//", "//anna:secret@")
    with caplog.at_level(logging.DEBUG), asking(claims, address) as foreign:
        (found,) = foreign.claim([want(1)])
        assert isinstance(found, Original)
        assert found.archive == cdx.url("/cdx")
        received = cdx.visits[0].received
        assert b"\r\nAuthorization: Basic " + base64.b64encode(b"anna:secret") + b"\r\n" in received
        assert received.startswith(b"GET /cdx?key=hidden&url=")
        cdx.otherwise(lambda _: (Send(response(b"", status=b"500 No")),))
        foreign.claim([want(2)])
        cdx.otherwise(holding(1))
        foreign.claim([want(4)])

    said = caplog.text + repr(found)
    assert f"CDX server {cdx.url('/cdx')}: the answer has status 500" in said
    assert "answers again" in said
    assert "secret" not in said
    assert "hidden" not in said


def test_https_is_verified(claims: Claims, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = certificate_authority()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    with RawOrigin(ADDRESS, tls=server_tls(authority, ADDRESS)) as cdx:
        cdx.otherwise(holding(1))
        with asking(claims, cdx) as foreign:
            assert foreign.claim([want(1)]) == [GRANTED]
            assert ssl.SSLCertVerificationError.__name__ in foreign.trouble
        claims.settle([], [want(1)], [], {})
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        with asking(claims, cdx) as foreign:
            assert foreign.claim([want(1)]) == [original(1)]


def test_without_a_server_it_is_not_needed(claims: Claims) -> None:
    foreign = RemoteArchives(claims, DedupSettings())

    assert not foreign.asks
    assert foreign.claim([want(1)]) == [GRANTED]
    foreign.close()
