"""The records of a page: which there are, under which names, and what the page information says."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from PIL import Image

from archive.ended_exchange import EndedExchange, ExchangeEnd
from archive.settings import BrowserSettings
from browsers.engines.traffic import AskedExchange, BrowserRequest, MainAnswer
from browsers.ghosts.page import PageSnapshot
from browsers.ghosts.page_records import PageRecord, PageVisit, derived_records, page_info_record
from browsers.proxying.control_client import SessionExchanges
from browsers.visit import FoundLink, VisitOrder

URL = "http://site.test/"
HTML = {"content-type": "text/html; charset=utf-8"}
DEFAULT = BrowserSettings().page_records


def png(width: int = 800, height: int = 600) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (width, height), "teal").save(out, "PNG")
    return out.getvalue()


def snapshot(**changed: Any) -> PageSnapshot:
    """A snapshot of a page that scrolling changed."""
    return PageSnapshot(
        main=MainAnswer(URL, 200, HTML),
        title="T",
        final_url=URL,
        view=png(),
        full_page=png(800, 900),
        full_page_final=png(800, 1200),
        text="before",
        text_final="after",
        dom="<html>\ud800",
        **changed,
    )


def visit(found: PageSnapshot, *exchanges: AskedExchange) -> PageVisit:
    order = VisitOrder(URL, "c")
    return PageVisit(
        order,
        "page-1",
        1_000_000,
        found,
        {},
        len(exchanges),
        "Chromium/156",
        1280,
        1024,
        2.0,
        exchanges,
        unrecorded=("x-key",),
    )


def asked(path: str = "", status: int = 200, method: str = "GET", **headers: str) -> AskedExchange:
    request = BrowserRequest(URL + path, method, "image", headers={"X-Key": "secret", "accept": "*/*"})
    return AskedExchange(request, 1_000_000, status, headers, 1_250_000, 1_500_000)


def records(page_visit: PageVisit, **settings: Any) -> list[PageRecord]:
    links = (FoundLink("http://site.test/next", "L", "a/@href"),)
    return list(derived_records(page_visit, links, BrowserSettings(**settings)))


def test_a_page_has_records_of_both_moments_under_webrecorders_names() -> None:
    found = {record.uri: record for record in records(visit(snapshot()))}

    names = ("view", "thumbnail", "fullPage", "fullPageFinal", "text", "textFinal", "dom")
    assert list(found) == [*(f"urn:{name}:{URL}" for name in names), URL]
    assert found[f"urn:text:{URL}"].block == b"before"
    assert found[f"urn:textFinal:{URL}"].block == b"after"
    assert found[f"urn:dom:{URL}"].block == b"<html>?"
    assert found[URL].block == b"outlink: http://site.test/next L a/@href\r\n"


def test_only_the_wanted_records_are_made() -> None:
    assert [record.uri for record in records(visit(snapshot()), page_records=["view", "full-page"])] == [
        f"urn:{name}:{URL}" for name in ("view", "fullPage")
    ]


@pytest.mark.parametrize(
    ("names", "uris"),
    [
        (["brozzler"], {"screenshot": "image/jpeg", "thumbnail": "image/jpeg"}),
        (
            ["ukwa"],
            {
                "screenshot": "image/png",
                "thumbnail": "image/jpeg",
                "onreadydom": "text/html; charset=utf-8",
                "har": "application/json",
                "pdf": "application/pdf",
                "imagemap": "text/html; charset=utf-8",
            },
        ),
    ],
)
def test_other_programs_names_come_beside_webrecorders(names: list[str], uris: dict[str, str]) -> None:
    wanted = (*DEFAULT, "har", "pdf", "image-map")

    plain = {record.uri for record in records(visit(snapshot(pdf=b"%PDF-1.4")), page_records=wanted)}
    found = records(visit(snapshot(pdf=b"%PDF-1.4")), page_records=wanted, record_names=names)

    assert {"urn:har:" + URL, "urn:pdf:" + URL, "urn:imageMap:" + URL} <= plain
    more = {record.uri: record for record in found if record.uri not in plain}
    assert {uri.removesuffix(f":{URL}"): record.content_type for uri, record in more.items()} == uris
    small = Image.open(io.BytesIO(more[f"thumbnail:{URL}"].block))
    large = Image.open(io.BytesIO(more[f"screenshot:{URL}"].block))
    assert (small.width, large.size) == (300, (800, 1200))


def test_page_information_sums_up_what_the_page_asked_for_and_what_was_kept() -> None:
    kept = SessionExchanges(
        (
            EndedExchange("GET", URL, 200, ExchangeEnd.KEPT),
            EndedExchange("GET", URL + "gone", 404, ExchangeEnd.REVISIT),
            EndedExchange("POST", URL + "beacon", 204, ExchangeEnd.KEPT),
            EndedExchange("POST", URL + "form?a=1", 200, ExchangeEnd.KEPT, query="q=1"),
            EndedExchange("POST", URL + "form?a=1", 200, ExchangeEnd.KEPT, query="q=2"),
        ),
        unlisted=3,
        in_flight=1,
        page_date=7_000_000,
    )
    exchanges = (
        asked(**{"content-type": "text/html"}),
        asked("gone", 404),
        asked("form?a=1", 200, "POST"),
        asked("form?a=1", 201, "POST"),
        asked("never", 0),
    )

    record = page_info_record(visit(snapshot(), *exchanges), (), kept)

    info: dict[str, Any] = json.loads(record.block)
    assert record.uri == f"urn:pageinfo:{URL}"
    assert info["ts"] == "1970-01-01T00:00:07.000000Z", "the date of the page's capture"
    assert info["urls"][URL] == {"status": 200, "mime": "text/html", "type": "image"}
    assert info["urls"][URL + "form?a=1&__wb_method=POST&q=1"]["status"] == 200
    assert info["urls"][URL + "form?a=1&__wb_method=POST&q=2"]["status"] == 201
    assert info["counts"] == {"requests": 5, "urls": 5, "failed": 1, "links": 0}
    assert (info["viewport"], info["scale"]) == ({"width": 1280, "height": 1024}, 2.0)
    proxy = info["proxy"]
    assert (proxy["kept"], proxy["unlisted"], proxy["inFlight"]) == (5, 3, 1)
    assert proxy["counts"] == {"asked-not-kept": 1, "kept-not-asked": 1}
    assert [each["url"] for each in proxy["differences"]["asked-not-kept"]] == [URL + "never"]
    assert proxy["differences"]["kept-not-asked"] == [{"url": URL + "beacon", "method": "POST", "status": 204}]


def test_without_a_capture_of_the_page_the_date_is_that_of_the_visit() -> None:
    info = json.loads(page_info_record(visit(snapshot()), (), SessionExchanges()).block)

    assert info["ts"] == "1970-01-01T00:00:01.000000Z"


def test_the_har_has_each_request_and_no_value_that_is_not_to_be_recorded() -> None:
    redirect = asked("old?a=1&a=2", 302, location="/new")
    form = AskedExchange(BrowserRequest(URL + "form", "POST", "fetch", body="q=1"), 1_000_000, error="net::ERR_FAILED")

    (record,) = records(visit(snapshot(), redirect, form), page_records=["har"])

    assert record.content_type == "application/json"
    assert b"secret" not in record.block
    log = json.loads(record.block)["log"]
    assert (log["version"], log["browser"], log["_page_id"]) == (
        "1.2",
        {"name": "Chromium", "version": "156"},
        "page-1",
    )
    first, second = log["entries"]
    assert first["request"]["queryString"] == [{"name": "a", "value": "1"}, {"name": "a", "value": "2"}]
    assert {"name": "X-Key", "value": "redacted"} in first["request"]["headers"]
    assert (first["response"]["status"], first["response"]["redirectURL"]) == (302, "/new")
    assert (first["time"], first["timings"]) == (500, {"send": 0, "wait": 250, "receive": 250})
    assert (second["request"]["postData"]["text"], second["_error"]) == ("q=1", "net::ERR_FAILED")
    for entry in log["entries"]:
        assert {"startedDateTime", "time", "request", "response", "cache", "timings"} <= set(entry)
