"""A part is kept as a part; and, when asked to, the archive gets the whole of which the client wants a part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from support.origins.odd_responses import chunked, page
from support.origins.raw_origin import RawOrigin, Send, Step, response
from support.proxy.running_proxy import RunningProxy

ADDRESS = "127.0.1.74"
BODY = page(b"film", 900_000)


def film(request: bytes) -> Sequence[Step]:
    """Serves single ranges of BODY, as most origins do."""
    if b"\r\nRange: bytes=" not in request:
        return (Send(response(BODY, b"Accept-Ranges: bytes")),)
    first, _, last = request.partition(b"\r\nRange: bytes=")[2].partition(b"\r\n")[0].partition(b"-")
    start, stop = int(first), int(last) + 1 if last else len(BODY)
    place = b"Content-Range: bytes %d-%d/%d" % (start, stop - 1, len(BODY))
    return (Send(response(BODY[start:stop], place, status=b"206 Partial Content")),)


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin(ADDRESS) as running:
        running.otherwise(film)
        yield running


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    with RunningProxy(tmp_path_factory.mktemp("ranges") / "home") as running:
        yield running


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningProxy]:
    with RunningProxy(tmp_path_factory.mktemp("wholes") / "home", {"proxy.whole_ranges": True}) as running:
        yield running


def test_a_part_is_kept_as_it_came_and_is_no_original(proxy: RunningProxy, origin: RawOrigin) -> None:
    """The part holds all bytes of the whole: still, the whole that follows must be written."""
    reply = proxy.get(origin.url("/film"), "Range: bytes=0-")
    assert (reply.status, reply.body) == (206, BODY)
    assert proxy.get(origin.url("/film")).body == BODY

    part, full = proxy.records().of(origin.url("/film"), "response", "revisit")
    assert (part.kind, full.kind) == ("response", "response")
    assert part.block.startswith(b"HTTP/1.1 206 ")
    assert full.block.endswith(BODY)


@pytest.mark.parametrize(("asked", "stop"), [("bytes=0-", None), ("bytes=0-0", 1), ("bytes=0-499999", 500_000)])
def test_the_whole_is_kept_and_the_part_is_sent(
    whole: RunningProxy, origin: RawOrigin, asked: str, stop: int | None
) -> None:
    path = f"/whole/{stop}"
    reply = whole.get(origin.url(path), f"Range: {asked}")

    assert (reply.status, reply.whole, reply.body) == (206, True, BODY[:stop])
    assert reply.header("Content-Range") == f"bytes 0-{(stop or len(BODY)) - 1}/{len(BODY)}"
    assert b"Range:" not in origin.received(path)
    first, *_ = whole.records().of(origin.url(path), "response", "revisit")
    assert first.kind == "revisit" or first.block == origin.sent(path)


def test_a_range_from_elsewhere_and_one_with_a_condition_are_the_origins_to_answer(
    whole: RunningProxy, origin: RawOrigin
) -> None:
    for path, headers in (("/later", ["Range: bytes=5-9"]), ("/if", ["Range: bytes=0-4", 'If-Range: "a"'])):
        reply = whole.get(origin.url(path), *headers)
        assert reply.status == 206
        assert len(reply.body) == 5
        (record,) = whole.records().of(origin.url(path), "response")
        assert record.block == origin.sent(path)


def test_without_a_length_the_client_gets_the_whole(whole: RunningProxy, origin: RawOrigin) -> None:
    origin.script("/chunks", Send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunked(BODY)))

    reply = whole.get(origin.url("/chunks"), "Range: bytes=0-9")

    assert (reply.status, reply.body) == (200, BODY)


@pytest.mark.parametrize("length", [b"x, %d", b"00000000000000000003, %d"])
def test_a_malformed_length_counts_as_without_a_range(whole: RunningProxy, origin: RawOrigin, length: bytes) -> None:
    body = page(length)
    sent = b"HTTP/1.1 200 OK\r\nContent-Length: " + length % len(body) + b"\r\n\r\n" + body
    origin.script("/malformed", Send(sent))

    reply = whole.get(origin.url("/malformed"), "Range: bytes=0-9")

    assert (reply.status, reply.body) == (206, body[:10])
    assert reply.header("Content-Range") == f"bytes 0-9/{len(body)}"
    assert [one.block for one in whole.records(growing=True).of(origin.url("/malformed"), "response")] == [sent]


def test_the_next_request_stays_in_step(whole: RunningProxy, origin: RawOrigin) -> None:
    with whole.connect() as client:
        for number in range(3):
            url = origin.url(f"/step/{number}")
            head = f"GET {url} HTTP/1.1\r\nHost: {origin.authority}\r\nRange: bytes=0-{number}\r\n\r\n"
            assert client.ask(head.encode()).body == BODY[: number + 1]
