"""The plain crawler, through a real proxy, at an origin that misbehaves."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from support.browsers.visits import CUT_SHORT, Fleet, document, page, redirect
from support.browsers.watched_garden import WatchedGarden
from support.origins.raw_origin import Close, RawOrigin, Reset, Send
from support.processes.waiting import until
from support.proxy.proxy_process import ProxyProcess
from support.proxy.running_proxy import RunningProxy

from browsers.plain.visitor import PlainVisitor
from browsers.proxying.control_client import Control
from browsers.visit import FleetUnavailable, VisitOrder


@pytest.fixture
def plain(fleet: Fleet) -> Iterator[PlainVisitor]:
    visitor = PlainVisitor(fleet.settings(), [fleet.control])
    yield visitor
    visitor.close()


def test_a_page_is_recorded_and_gives_its_links(plain: PlainVisitor, fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/", page("<a href=/a>a</a><img src=i.png>"))
    order = fleet.order(origin.url("/"), hop_path="LL", via="http://via.test/", source="http://seed.test/")

    visit = plain.visit(order)

    assert (visit.code, visit.content_type, visit.error) == (200, "text/html", None)
    assert [(link.url, link.hop) for link in visit.links] == [(origin.url("/a"), "L"), (origin.url("/i.png"), "E")]
    (response,) = fleet.proxy.records(order.collection).of(order.url, "response")
    assert b"i.png" in response.block
    (line,) = fleet.crawl_log(order)
    assert line[1] == "200"
    assert line[3:6] == [order.url, "LL", "http://via.test/"]
    assert line[10] == "http://seed.test/"


def test_the_origin_sees_a_crawler_and_nothing_of_the_proxy(
    plain: PlainVisitor, fleet: Fleet, origin: RawOrigin
) -> None:
    origin.script("/", page(""))

    plain.visit(fleet.order(origin.url("/"), via=origin.url("/from")))

    head = origin.visits[0].received.decode().lower()
    assert head.startswith("get / http/1.1\r\n")
    assert f"host: {origin.authority}" in head
    assert "user-agent: mozilla/5.0 (compatible; ghostfleet" in head
    assert f"referer: {origin.url('/from')}" in head
    assert not any(word in head for word in ("proxy-", "warcprox", "cookie"))


def test_https_is_asked_for_in_absolute_form(plain: PlainVisitor, fleet: Fleet, garden: WatchedGarden) -> None:
    order = fleet.order("https://www.garden.test/members.html")

    visit = plain.visit(order)

    assert visit.code == 200
    assert garden.requests[0].scheme == "https"
    assert fleet.proxy.records(order.collection).of(order.url, "response")


def test_connections_are_used_again(plain: PlainVisitor, fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/", page(""))
    order = fleet.order(origin.url("/"))
    plain.visit(order)
    before = len(fleet.proxy.control("GET", "/sessions"))

    for _ in range(5):
        plain.visit(order)

    assert origin.connections == 1
    assert len(fleet.proxy.control("GET", "/sessions")) == before


@pytest.mark.parametrize("status", ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"])
def test_redirects_are_links_and_not_followed(
    plain: PlainVisitor, fleet: Fleet, origin: RawOrigin, status: str
) -> None:
    origin.script("/", redirect("/to", status))

    visit = plain.visit(fleet.order(origin.url("/")))

    assert visit.code == int(status[:3])
    assert [(link.url, link.hop) for link in visit.links] == [(origin.url("/to"), "R")]
    assert [seen.path for seen in origin.visits] == ["/"]


def test_cookies_are_forgotten(plain: PlainVisitor, fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/", page("", headers="Set-Cookie: id=1; Path=/\r\n"))
    order = fleet.order(origin.url("/"))

    plain.visit(order)
    plain.visit(order)

    assert not any(b"cookie" in seen.received.lower() for seen in origin.visits)


def test_packed_pages_are_recorded_packed_and_searched_unpacked(
    plain: PlainVisitor, fleet: Fleet, origin: RawOrigin
) -> None:
    packed = gzip.compress(b"<a href=/inside>")
    origin.script("/", document(packed, "text/html", headers="Content-Encoding: gzip\r\n"))
    order = fleet.order(origin.url("/"))

    visit = plain.visit(order)

    assert [link.url for link in visit.links] == [origin.url("/inside")]
    assert visit.bytes == len(packed)
    assert packed in fleet.proxy.records(order.collection).of(order.url, "response")[0].block


def test_a_large_page_is_recorded_whole_though_only_its_beginning_is_searched(fleet: Fleet, origin: RawOrigin) -> None:
    body = b"<a href=/first>" + b" " * 200_000 + b"<a href=/last>"
    origin.script("/", document(body, "text/html"))
    order = fleet.order(origin.url("/"))
    visitor = PlainVisitor(fleet.settings(max_page_bytes=1024), [fleet.control])

    visit = visitor.visit(order)
    visitor.close()

    assert [link.url for link in visit.links] == [origin.url("/first")]
    assert visit.annotations == ("body-capped",)
    assert visit.bytes == len(body)
    assert fleet.proxy.records(order.collection).of(order.url, "response")[0].block.endswith(body)


def test_a_body_that_ends_short_is_a_failure(plain: PlainVisitor, fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/", *CUT_SHORT)

    visit = plain.visit(fleet.order(origin.url("/")))

    assert (visit.code, visit.error, visit.links) == (-3, "short", ())


@pytest.mark.parametrize(
    ("url", "code", "error"),
    [
        ("http://127.0.1.9:1/", -2, "refused"),
        ("http://nowhere.invalid/", -6, "dns"),
        ("https://nowhere.invalid/", -6, "dns"),
    ],
)
def test_failures_of_the_site_have_heritrix_codes(
    plain: PlainVisitor, fleet: Fleet, url: str, code: int, error: str
) -> None:
    visit = plain.visit(fleet.order(url))

    assert (visit.code, visit.error, visit.bytes) == (code, error, 0)


def test_an_origin_that_breaks_off_at_once_is_lost(plain: PlainVisitor, fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/", Reset())

    assert plain.visit(fleet.order(origin.url("/"))).code < 0


def test_retry_after_is_handed_on(plain: PlainVisitor, fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/", page("busy", status="503 Busy", headers="Retry-After: 17\r\n"))

    visit = plain.visit(fleet.order(origin.url("/")))

    assert (visit.code, visit.error, visit.retry_after) == (503, None, 17)


def test_a_site_can_not_speak_as_the_proxy_with_a_good_answer(
    plain: PlainVisitor, fleet: Fleet, origin: RawOrigin
) -> None:
    origin.script("/", page("x", headers="Ghostfleet-Error: 0 disk-full\r\n"))

    assert plain.visit(fleet.order(origin.url("/"))).code == 200


def test_responses_without_a_body_are_no_failure(plain: PlainVisitor, fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/", Send(b"HTTP/1.1 204 No Content\r\n\r\n"))
    origin.script("/empty", Send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"), Close())

    assert plain.visit(fleet.order(origin.url("/"))).code == 204
    assert plain.visit(fleet.order(origin.url("/empty"))).code == 200


def test_many_threads_share_one_visitor(plain: PlainVisitor, fleet: Fleet, origin: RawOrigin) -> None:
    origin.otherwise(lambda request: [page(f"<a href=/from{request.split()[1].decode()}>x</a>")])
    orders = [fleet.order(origin.url(f"/{number}"), collection="shared") for number in range(60)]

    with ThreadPoolExecutor(8) as threads:
        visits = list(threads.map(plain.visit, orders))

    assert [visit.links[0].url for visit in visits] == [origin.url(f"/from/{number}") for number in range(60)]


def test_a_proxy_that_is_gone_is_our_fault(tmp_path_factory: pytest.TempPathFactory, origin: RawOrigin) -> None:
    home = tmp_path_factory.mktemp("gone") / "home"
    with RunningProxy(home) as proxy:
        fleet = Fleet(proxy)
        visitor = PlainVisitor(fleet.settings(), [fleet.control])
        origin.script("/", page(""))
        order = fleet.order(origin.url("/"))
        assert visitor.visit(order).code == 200

    with pytest.raises(FleetUnavailable, match="proxy-unreachable"):
        visitor.visit(order)

    visitor.close()
    fleet.control.close()


def test_each_host_has_one_proxy_and_another_when_that_one_is_gone(
    tmp_path_factory: pytest.TempPathFactory, redis_url: str, origin: RawOrigin
) -> None:
    origin.otherwise(lambda request: [page(request.split()[1].decode())])
    resolve = {"proxy.resolve": {"*.test": origin.address}}
    homes = [tmp_path_factory.mktemp(f"choice{number}") / "home" for number in range(2)]
    with (
        ProxyProcess(homes[0], redis_url, resolve) as one,
        ProxyProcess(homes[1], redis_url, resolve) as other,
        Fleet(one) as first,
        Fleet(other) as second,
    ):
        visitor = PlainVisitor(first.settings(), [first.control, second.control])
        orders = [first.order(f"http://s{number}.test:{origin.port}/", log_dir=None) for number in range(8)]

        for order in orders * 2:
            assert visitor.visit(order).code == 200
        served = [proxy.status()["urls_processed"] for proxy in (one, other)]
        assert sum(served) == 16
        assert not any(count % 2 for count in served), "both visits of a host by the same"

        one.kill9()
        for order in orders:
            assert visitor.visit(order).code == 200, "nobody has to come again"
        assert other.status()["urls_processed"] == served[1] + 8
        visitor.close()


def test_a_session_that_the_proxy_forgot_is_made_anew(plain: PlainVisitor, fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/", page(""))
    order = fleet.order(origin.url("/"))
    plain.visit(order)
    for session in fleet.proxy.control("GET", "/sessions"):
        fleet.proxy.control("DELETE", f"/sessions/{session}")

    with pytest.raises(FleetUnavailable, match="session-lost"):
        plain.visit(order)

    assert plain.visit(order).code == 200


def test_closing_ends_the_sessions(fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/", page(""))
    before = set(fleet.proxy.control("GET", "/sessions"))
    visitor = PlainVisitor(fleet.settings(), [fleet.control])
    visitor.visit(fleet.order(origin.url("/")))
    assert set(fleet.proxy.control("GET", "/sessions")) > before

    visitor.close()

    until(lambda: set(fleet.proxy.control("GET", "/sessions")) <= before, what="the session to end")


def test_a_wrong_token_is_named(fleet: Fleet) -> None:
    with Control(fleet.control.address, "wrong") as control:
        visitor = PlainVisitor(fleet.settings(), [control])
        with pytest.raises(FleetUnavailable, match="control-401"):
            visitor.visit(fleet.order("http://site.test/"))
        visitor.close()


def test_the_page_id_of_each_visit_is_its_own(plain: PlainVisitor, fleet: Fleet, origin: RawOrigin) -> None:
    origin.otherwise(lambda request: [document(json.dumps(request.decode()).encode(), "application/json")])
    order = fleet.order(origin.url("/1"))

    plain.visit(order)
    plain.visit(fleet.order(origin.url("/2"), collection=order.collection))

    records = fleet.proxy.records(order.collection).kinds("response")
    assert len({record.field("WARC-Page-ID") for record in records}) == 2


def test_a_playlist_of_any_type_gives_its_links_and_a_film_is_not_kept(plain: PlainVisitor, origin: RawOrigin) -> None:
    origin.script("/list", document(b"#EXTM3U\nfilm.ts\n", "video/mp2t"))
    origin.script("/film.ts", document(b"G" + b"#EXTM3U\nno.ts\n" * 5000, "video/mp2t"))
    order = VisitOrder(origin.url("/list"), "c-playlists")

    visit = plain.visit(order)

    assert [(link.url, link.hop) for link in visit.links] == [(origin.url("/film.ts"), "E")]
    assert plain.fetch(replace(order, url=origin.url("/film.ts"))).body == b""


@pytest.mark.parametrize("coding", ["gzip", "none"])
def test_a_refusal_is_recognized_in_any_coding(
    plain: PlainVisitor, fleet: Fleet, origin: RawOrigin, coding: str
) -> None:
    body = b"<html><body><div class=cf-error-details>Sorry"
    packed = gzip.compress(body) if coding == "gzip" else body
    headers = f"Content-Encoding: {coding}\r\n"
    origin.script("/", document(packed, "text/html", status="403 Forbidden", headers=headers))

    assert "page:waf:cloudflare" in plain.visit(fleet.order(origin.url("/"))).annotations
