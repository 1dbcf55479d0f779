"""Captures of similar requests: what the rules take for volatile, and what they never take for it."""

from __future__ import annotations

import gzip
import json
import sqlite3
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.archive.capture_rows import capture

from archive.warc.records.request_query import asked_key, asked_query
from dedupdb.captures.capture_index import Captures
from proxy.replay.matching.echoes import Echo
from proxy.replay.matching.similar import Callback, Rules, Similar

BASE = "http://example.org"
UUID = "0f8fad5b-d9cb-469f-a165-70867728950e"
OTHER_UUID = "7c9e6679-7425-40de-944b-e07fc1f90ae7"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Captures]]:
    path = tmp_path_factory.mktemp("similar") / "index.db"
    with Captures(f"sqlite:///{path}") as index:
        yield path, index


@pytest.fixture
def index(made: tuple[Path, Captures]) -> Captures:
    """An empty index, which is the same one for all tests."""
    path, index = made
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM captures")
    return index


def found(index: Captures, asked: str, *kept: str) -> list[str]:
    """The kept paths that answer the asked one."""
    index.add(capture(f"{BASE}{path}", offset=number) for number, path in enumerate(kept))
    return [each.url.removeprefix(BASE) for each in Similar(index).find("news", f"{BASE}{asked}", "GET", None)]


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("/a?_=1700000000000", "/a?_=1795000000000"),
        ("/a?_=1700000000000", "/a"),
        ("/a", "/a?cachebuster=77"),
        ("/a?1700000000000", "/a?1795000000000"),
        ("/a?id=5&t=1700000000", "/a?id=5&t=1795000000"),
        ("/a?id=5&rand=0.123456789", "/a?rand=0.987654321&id=5"),
        ("/a?callback=jsonp_1700000000000&q=x", "/a?callback=jsonp_99&q=x"),
        ("/a?utm_source=mail&q=x", "/a?q=x"),
        (f"/a?visit={UUID}&q=x", f"/a?visit={OTHER_UUID}&q=x"),
        (f"/api/{UUID}.json", f"/api/{OTHER_UUID}.json"),
        (f"/api/{UUID}/poll?_=1", f"/api/{OTHER_UUID}/poll?_=2"),
        ("/picture.png?size=1", "/picture.png?size=2"),
        ("/font.woff2", "/font.woff2?v=3.2"),
        ("/a?vw=1280&vh=1024&dpr=1&id=7", "/a?vw=390&vh=844&dpr=2.625&id=7"),
        ("/a?id=7&screen=1280x1024&tz=-60", "/a?id=7&screen=390x844&tz=540"),
        (f'/a?variables={{"id":7,"visit":"{UUID}"}}', f'/a?variables={{"id":7,"visit":"{OTHER_UUID}"}}'),
        ('/a?q={"n":0.12345678901,"id":7}', '/a?q={"n":0.987654321012,"id":7}'),
        ("/sock/017/abcdefgh/websocket", "/sock/901/hgfe5cba/websocket"),
        ("/about?_rsc=1ab2c", "/about?_rsc=zz9y8"),
        ("/a?ts=1700000000123.4", "/a?ts=1795000000567.89999"),
        ("/a?q=x&nonce=k3j2h1g0f9", "/a?nonce=z9y8x7w6v5u&q=x"),
        ("/a?q=x&X-Amz-Signature=0ab1f3" + 58 * "d" + "&X-Amz-Date=20260102T030405Z", "/a?q=x"),
        ("/a?q=x&token=aGVsbG8td29ybGQtdG9rZW4%3D", "/a?q=x&token=c2Vjb25kLXRva2VuLXZhbHVl"),
        ("/a?draw=5&start=10", "/a?draw=2&start=10"),
        ("/a?EIO=4&transport=polling&t=OyR3mVq", "/a?EIO=4&transport=polling&t=PqX0bZa.1"),
        ("/a?jsonrpc=2.0&id=474423946&method=leaf", "/a?jsonrpc=2.0&id=7&method=leaf"),
        ("/a?q=x&sig=j7puq6ujtwc", "/a?q=x&sig=8us"),
        ("/cb-k3j9x2ab/a.png", "/cb-0zq81mmx/a.png"),
        ("/echo/123/abcdefgh/websocket", "/echo/042/x0_yz123/websocket"),
        ("/a?bucket=37&q=x", "/a?q=x&bucket=82"),
        ("/a?attempt=2&delay=143&rid=k2j3h4g5f6", "/a?attempt=2&delay=391&rid=0a9b8c7d6e5"),
        ("/a?start=82.125&q=x", "/a?start=1034.5&q=x"),
        ("/gtag/js?id=G-L3AF&gtm=45je5b7", "/gtag/js?id=G-L3AF&gtm=45je5c1&tag_exp=102~103"),
        ("/collect?v=2&_p=1764000000123", "/collect?v=2&_p=1795000000567"),
        ("/pass?id=x&elapsedTime=412", "/pass?id=x&elapsedTime=1903"),
    ],
)
def test_volatile_parts_make_no_difference(index: Captures, kept: str, asked: str) -> None:
    assert found(index, asked, kept, "/other?q=1", "/a/b?_=1") == [kept]


def day(days: int, form: str, since: float) -> str:
    return (datetime.fromtimestamp(since, UTC) + timedelta(days=days)).strftime(form)


@pytest.mark.parametrize("days", [0, -7, 30])
@pytest.mark.parametrize(
    "path",
    [
        *("/a?day=%Y-%m-%d", "/a?q=x&day=%Y%m%d", "/a?at=%Y-%m-%dT%H:%M:%S.000Z&to=%s000", "/news/%Y-%m-%d/list.json"),
        *("/a?on=%a %b %d %Y", "/a?on=%a+%b+%d+%Y+%H:%M:%S+GMT%%2B0000", "/a?on=%a, %d %b %Y %H:%M:%S GMT"),
        *("/a?on=%d.%m.%Y", "/%d-%m-%Y/x", '/a?q={"at":%s123,"id":7}'),
        *("/news/%Y/%m/%d/", "/news/%Y%m%d.json", "/live/segment-%s.txt", "/live/%s/part", "/a?at=%Y-%m-%dT%H%%3A%M"),
    ],
)
def test_a_date_stands_for_the_same_day_seen_from_the_visit(index: Captures, path: str, days: int) -> None:
    recorded = 1_767_323_045  # 2026-01-02T03:04:05Z, the date of `capture`
    kept, asked = day(days, path, recorded), day(days, path, time.time())
    other = day(days + 5, path, time.time())

    assert found(index, asked, kept) == [kept]
    assert found(index, other, kept) == [], "another day is another page"
    at_that_time = day(days, path, 1_900_000_000)
    similar = Similar(index).find("news", f"{BASE}{at_that_time}", "GET", None, [1_900_000_000_000_000])
    assert [each.url for each in similar] == [f"{BASE}{kept}"], "the page's clock was set"


RECORDED = 1_767_323_045_000
"""Milliseconds of 2026-01-02T03:04:05Z, the date of `capture`."""


def in_base(number: int, base: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, base)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
    return digits


@pytest.mark.parametrize(
    "form",
    [
        lambda ms: f"/a?at={in_base(ms, 36)}",
        lambda ms: f"/feed/{in_base(ms, 16)}/latest",
        lambda ms: f"/~{in_base(ms, 36)}~/a",
        lambda ms: f"/a?id={in_base(ms // 1000, 16)}f3a21",
        lambda ms: f"/score/{ms // 30_000}.json",
        lambda ms: f"/a?slot={ms // 60_000}",
        lambda ms: f"/v{ms // 1000}/a.json",
        lambda ms: "/a?cursor=" + b64encode(f"{ms}:0".encode()).decode().rstrip("="),
    ],
    ids=range(8),
)
def test_the_time_of_the_visit_is_known_in_other_forms(index: Captures, form: Callable[[int], str]) -> None:
    now = time.time_ns() // 1_000_000
    assert found(index, form(now), form(RECORDED)) == [form(RECORDED)]
    assert found(index, form(now - 40 * 86_400_000)) == [], "another time is another page"


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("/width=640,quality=75/a.png", "/width=1200,quality=90/a.png"),
        ("/up/w_640,c_fill,dpr_1.0/v1/a.png", "/up/w_828,c_fill,dpr_2.0/v1/a.png"),
        ("/media/640x320/smart/a.png", "/media/828x414/smart/a.png"),
        ("/up/a-300x200.jpg", "/up/a-1024x683.jpg"),
        ("/up/a-300x200.jpg", "/up/a.jpg"),
        ("/img/logo@2x.png", "/img/logo.png"),
        ("/img/logo.png", "/img/logo@3x.png"),
        ("/7/66/43/tile.png", "/7/66/43@2x/tile.png"),
        ("/thumb/330px-A.jpg", "/thumb/500px-A.jpg"),
        ("/photo=w640-h480-no", "/photo=s1024"),
    ],
)
def test_a_picture_is_found_when_its_path_tells_another_size(index: Captures, kept: str, asked: str) -> None:
    index.add([capture(f"{BASE}{kept}", mime="image/png")])
    similar = Similar(index)

    assert [each.url for each in similar.find("news", f"{BASE}{asked}", "GET", None)] == [f"{BASE}{kept}"]
    other = asked.translate(str.maketrans("aAlo", "bBku"))
    assert similar.find("news", f"{BASE}{other}", "GET", None) == [], "it is another picture"


def test_the_nearest_size_of_a_picture_is_taken(index: Captures) -> None:
    for offset, size in enumerate((150, 300, 768)):
        index.add([capture(f"{BASE}/a-{size}x{size}.jpg", mime="image/jpeg", offset=offset)])
    index.add([capture(f"{BASE}/b-1024x1024.jpg", mime="text/html", offset=9)])

    assert [each.offset for each in Similar(index).find("news", f"{BASE}/a-1024x1024.jpg", "GET", None)] == [2]
    assert Similar(index).find("news", f"{BASE}/b-300x300.jpg", "GET", None) == [], "it is no picture"
    assert Similar(index).find("news", f"{BASE}/1024x1024.jpg", "GET", None) == []


@pytest.mark.parametrize(
    ("kept", "asked", "is_found"),
    [
        ("http://img1.example.org/a.json", "http://img4.example.org/a.json", True),
        ("http://cdn-2.example.org/a.json?_=1", "http://cdn-3.example.org/a.json?_=2", True),
        ("http://a.tile.example.org/7/66/43", "http://c.tile.example.org/7/66/43", True),
        ("http://blog1.example.org/a.json", "http://blog4.example.org/a.json", False),
        ("http://img1.example.org/a.json", "http://img4.example.com/a.json", False),
        ("http://img1.example.org/a.json?id=1", "http://img4.example.org/a.json?id=2", False),
        ("http://a.example.org/7/66/43", "http://c.example.org/7/66/43", False),
    ],
)
def test_another_host_of_a_network_has_the_same_files(index: Captures, kept: str, asked: str, is_found: bool) -> None:
    index.add([capture(kept)])
    assert len(Similar(index).find("news", asked, "GET", None)) == is_found
    assert Similar(index).find("news", asked, "GET", None, is_page=True) == [], "a page has one address"


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("/news/2026-01-02/list.json", "/news/2026-01-03/list.json"),
        ("/a?day=2026-11-23", "/a?day=2026-11-30"),
        ("/a?page=1", "/a?page=2"),
        ("/a?start=20&t=1700000000", "/a?start=40&t=1795000000"),
        ("/a?t=1", "/a?t=2"),
        ("/a?q=moss", "/a?q=fern"),
        ("/a?q=moss", "/a"),
        ("/a?q=moss&q=fern", "/a?q=moss"),
        ("/a/1", "/a/2"),
        ("/a?_=1", "/b?_=1"),
        ("/show.php?id=1", "/show.php?id=2"),
        ("/2026/list", "/2027/list"),
        ("/A?_=1", "/a?_=1"),
        ("/a?token=moss", "/a?token=fern"),
        ("/a?screen=home", "/a?screen=map"),
        ("/a?w=640&id=7", "/a?w=1280&id=7"),
        ('/a?variables={"id":7,"n":0.12345678901}', '/a?variables={"id":8,"n":0.987654321012}'),
        ("/a?q=k3j2h1g0f9", "/a?q=z9y8x7w6v5u"),
        ("/day/09-10-11/list", "/day/12-13-14/list"),
        ("/a?start=82", "/a?start=1034"),
        ("/a?attempt=1&delay=143", "/a?attempt=2&delay=143"),
        ("/random-forms/a.html", "/random-house/a.html"),
        ("/k3j9x2ab/a.html", "/0zq81mmx/a.html"),
        ("/echo/123/abcdefgh/list", "/echo/042/x0_yz123/list"),
        ("/a?v=dQw4w9WgXcQ", "/a?v=kJQP7kiw5Fk"),
    ],
)
def test_other_parts_make_a_difference(index: Captures, kept: str, asked: str) -> None:
    assert found(index, asked, kept) == []


@pytest.mark.parametrize("path", ["/live/%H-%M-%S.txt", "/live/%Y%m%d_%H.%M.%S.txt", "/a?at=%Hh%Mm%S", "/%H-%M-%S/x"])
def test_a_time_of_the_day_stands_for_that_of_the_visit(index: Captures, path: str) -> None:
    recorded = 1_767_323_045
    kept, asked = day(0, path, recorded + 2), day(0, path, time.time() + 3_600)

    assert found(index, asked, kept) == [kept]
    assert found(index, day(0, path, time.time() + 300), kept) == [], "an hour may be the time zone's, five minutes not"


@pytest.mark.parametrize("path", ["/a?on=%m/%d/%Y", "/a?on=%d/%m/%Y&x=1", "/a?on=%m/%d/%Y, 10:11:12 PM"])
def test_a_date_with_slashes_is_read_as_the_nearer_day(index: Captures, path: str) -> None:
    kept = day(0, path, 1_767_323_045)
    assert found(index, day(0, path, time.time()), kept) == [kept]
    assert found(index, day(200, path, time.time())) == []


def test_a_month_stands_for_that_of_the_visit(index: Captures) -> None:
    now = datetime.fromtimestamp(time.time(), UTC)
    last, this = (now.replace(day=1) - timedelta(days=1)), now
    assert found(index, f"/a?m={this:%Y-%m}", "/a?m=2026-01", "/a?m=2025-11") == ["/a?m=2026-01"]
    assert found(index, f"/a?m={last:%Y-%m}") == []


def test_a_picture_stands_for_the_same_one_of_another_size(index: Captures) -> None:
    """A server makes it in the size that is asked for, and a reader's window may be another one than the ghost's."""
    url = f"{BASE}/_image?url=%2Fhill.png"
    index.add([capture(f"{url}&w=640&q=75", mime="image/webp", offset=1), capture(f"{url}&w=1080&q=75", offset=2)])
    found = Similar(index).find("news", f"{url}&w=1920&q=80", "GET", None)
    assert [each.offset for each in found] == [1], "the other one is no picture"
    assert Similar(index).find("news", f"{BASE}/_image?url=%2Fdale.png&w=640&q=75", "GET", None) == []


def test_the_closest_form_wins(index: Captures) -> None:
    kept = ["/a?_=1&n=0.123456789", "/a?_=2&n=0.987654321"]
    assert found(index, "/a?_=9&n=0.123456789", *kept) == kept[:1]
    assert found(index, "/a?_=9&n=0.555555555", *kept) == kept


def test_a_crowd_of_other_captures_does_not_hide_the_one(index: Captures) -> None:
    kept = [f"/a?id={number:05d}&_=1700000000000" for number in range(2_000)]
    assert found(index, "/a?id=01777&_=1795000000000", *kept) == ["/a?id=01777&_=1700000000000"]


def test_bodies_are_compared_by_their_values(index: Captures) -> None:
    url = f"{BASE}/api"
    bodies = ["q=moss&at=1700000000000", "q=fern&at=1700000000001", "page=1&size=20"]
    for offset, body in enumerate(bodies):
        key = asked_key(url, "POST", body)
        index.add([capture(url, method="POST", request_body=body, key=key, offset=offset)])

    def answer(body: str | None, method: str = "POST", path: str = "/api") -> list[str | None]:
        similar = Similar(index).find("news", f"{BASE}{path}", method, body)
        return [each.request_body for each in similar]

    assert answer("q=fern&at=1795000000000") == [bodies[1]]
    assert answer("q=oak&at=1795000000000") == bodies[:2], "half of the values are the same"
    assert answer("page=2&size=20") == [], "the next page is another one"
    assert answer("name=value&x=y") == []
    assert answer(None) == []
    assert answer("q=fern&at=1795000000000", "PUT") == []
    assert answer("q=fern&at=1795000000000", path="/api/") == []


def test_the_number_of_a_call_is_no_part_of_its_question(index: Captures) -> None:
    url = f"{BASE}/rpc"
    bodies = ["jsonrpc=2.0&id=47&method=leaf", "jsonrpc=2.0&id=67&method=bark"]
    for offset, body in enumerate(bodies):
        index.add([capture(url, method="POST", request_body=body, key=asked_key(url, "POST", body), offset=offset)])
    similar = Similar(index)

    found = similar.find("news", url, "POST", "jsonrpc=2.0&id=12&method=bark")

    assert [each.request_body for each in found] == [bodies[1]]
    assert similar.echoes((url, "jsonrpc=2.0&id=12&method=bark"), (url, bodies[1])) == [Echo("67", "12", "id")]


def kept_bodies(
    index: Captures, *bodies: bytes, kind: str = "application/octet-stream"
) -> Callable[[bytes], list[int]]:
    """Keep bodies, and return what tells which of them answer another one."""
    url = f"{BASE}/api"
    for offset, body in enumerate(bodies):
        query = asked_query("POST", kind, (body,))
        index.add([capture(url, method="POST", request_body=query, key=asked_key(url, "POST", query), offset=offset)])

    def answers(body: bytes) -> list[int]:
        found = Similar(index).find("news", url, "POST", asked_query("POST", kind, (body,)))
        return [each.offset for each in found]

    return answers


def test_a_binary_body_is_found_by_its_beginning_and_its_end(index: Captures) -> None:
    answers = kept_bodies(index, b"\x08qqqqqqqq\x12\x05maple", b"\x09AAAAbcde\x12\x05birch")

    assert answers(b"\x09AAAAwxyz\x12\x05birch") == [1]
    assert answers(b"\x09AAAAbcde\x12\x05bircX") == [], "a small difference may be the number of a page"
    assert answers(b"another one of bytes") == []


def test_compressed_bodies_and_lines_of_json_are_compared_by_their_values(index: Captures) -> None:
    def packed(at: int, kind: str) -> bytes:
        return gzip.compress(json.dumps({"at": at, "kind": kind, "n": 1}).encode(), mtime=at // 1000)

    answers = kept_bodies(index, packed(RECORDED, "first"), packed(RECORDED, "second"))
    assert answers(packed(time.time_ns() // 1_000_000, "second")) == [1]
    assert answers(gzip.compress(b"no JSON at all, only a text")) == []


def test_lines_of_json_tell_what_an_answer_repeats(index: Captures) -> None:
    url = f"{BASE}/envelope"
    bodies = [f'{{"event_id":"{digits * 16}"}}\n{{"type":"x"}}\nno JSON'.encode() for digits in ("0a", "7f")]
    recorded, asked = (asked_query("POST", "text/plain", (body,)) for body in bodies)
    assert Similar(index).echoes((url, asked), (url, recorded)) == [Echo("0a" * 16, "7f" * 16)]


def test_a_body_is_found_when_its_url_defeats_caches(index: Captures) -> None:
    url = f"{BASE}/api?x=1&_=1700000000000"
    index.add([capture(url, method="POST", request_body="q=moss", key=asked_key(url, "POST", "q=moss"))])

    def answers(path: str, body: str) -> int:
        return len(Similar(index).find("news", f"{BASE}{path}", "POST", body))

    assert answers("/api?x=1&_=1795000000000", "q=moss") == 1
    assert answers("/api?x=2&_=1795000000000", "q=moss") == 0
    assert answers("/api", "q=moss") == 0


def test_the_only_answer_to_a_form_answers_any_body(index: Captures) -> None:
    url, body = f"{BASE}/login", "token=abc"
    index.add([capture(url, method="POST", request_body=body, key=asked_key(url, "POST", body))])
    assert [each.url for each in Similar(index).find("news", url, "POST", "token=xyz")] == [url]


def test_the_name_of_a_callback_is_told() -> None:
    class NoIndex:
        def with_prefix(self, *_: object, **__: object) -> list[None]:
            raise AssertionError

    similar = Similar(NoIndex())  # type: ignore[arg-type]
    assert similar.callback("/a?callback=two&q=1", "/a?q=1&callback=one") == Callback("one", "two")
    assert similar.callback("/a?callback=one", "/a?callback=one") is None
    assert similar.callback("/a?callback=alert(1)//", "/a?callback=one") is None
    assert similar.callback("/a?callback=two", "/a?q=1") is None
    assert similar.callback("/a?word=two", "/a?word=one") is None


@given(st.text("abc019-_.=&?/%*()", max_size=60))
def test_forms_are_stable(query: str) -> None:
    """Taking a form of a form changes nothing, so that both sides of a comparison meet."""
    rules = Rules()
    pairs = tuple((name, value) for name, _, value in (part.partition("=") for part in query.split("&")))
    assert rules.plain(rules.plain(pairs)) == rules.plain(pairs)
    path = rules.starred_path(query, 0)
    assert rules.starred_path(query, 0).fits(path)
    assert rules.starred(pairs, 0).fits(rules.starred(rules.plain(pairs), 0))


@pytest.mark.parametrize(
    "asked",
    [
        "/a?" + "&".join(f"p{n}={n}" for n in range(20_000)),
        "/" + "/".join(["2026-11-23"] * 3_000),
        "/" + "2026-11-23" * 5_000,
        "/a?q=" + "0." + "9" * 60_000,
        "/" + "a-" * 30_000,
        "/a?d=2026-11-23" + "T:" * 30_000,
        "/" + "w_1," * 20_000 + "/a.png",
        "/" + "100x" * 20_000 + ".png",
        "/a?c=" + "QUFB" * 20_000,
    ],
    ids=range(9),
)
def test_the_worst_urls_are_looked_up_within_bounds(index: Captures, asked: str) -> None:
    """The test would take minutes if a rule tried every way through such a text."""
    index.add(capture(f"{BASE}/a?q={number}", offset=number) for number in range(600))
    assert Similar(index).find("news", f"{BASE}{asked}", "GET", None) == []
