"""The control port's client, at a real proxy."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest
from support.browsers.visits import Fleet, page
from support.origins.raw_origin import RawOrigin, Wait
from support.processes.machine_needs import free_port

from browsers.plain.visitor import PlainVisitor
from browsers.proxying.control_client import Control, SessionCounts, SessionRequest, read_token
from browsers.visit import FleetUnavailable, VisitOrder

ORDER = VisitOrder("http://site.test/", "c", job="j", hop_path="L", via="http://via.test/", source="http://s.test/")


def test_a_wish_for_a_page_says_all_that_the_order_says() -> None:
    wish = SessionRequest.for_page(ORDER, "page-1").as_json()

    assert wish == {
        "collection": "c",
        "job": "j",
        "page_id": "page-1",
        "page_url": "http://site.test/",
        "mode": "record",
        "hop_path": "L",
        "via": "http://via.test/",
        "source": "http://s.test/",
        "listen": True,
    }


def test_a_repair_refers_to_no_earlier_capture(fleet: Fleet, origin: RawOrigin) -> None:
    for _ in range(3):
        origin.script("/same.css", page("always the same"))
    order = fleet.order(origin.url("/same.css"))
    again = replace(order, job="repair-7", page_id="visit")
    for each in (order, again, again):
        visitor = PlainVisitor(fleet.settings(), [fleet.control])
        visitor.visit(each)
        visitor.close()
    records = [record for record in fleet.proxy.records(order.collection).of(order.url) if record.kind != "request"]
    assert [record.kind for record in records] == ["response", "response", "revisit"]
    assert [dict(record.fields)["WARC-Page-ID"] for record in records[1:]] == ["visit", "visit"]
    assert dict(records[2].fields)["WARC-Refers-To"] == dict(records[1].fields)["WARC-Record-ID"]


def test_sessions_that_listen_have_a_port_of_their_own(fleet: Fleet) -> None:
    first = fleet.control.open(SessionRequest("c", listen=True))
    second = fleet.control.open(SessionRequest("c", listen=True))

    assert first.port != second.port
    assert first.address == f"127.0.0.1:{first.port}"
    assert fleet.control.report(first) == SessionCounts()
    assert fleet.control.finish(first, wait_seconds=5) == SessionCounts()
    fleet.control.finish(second, wait_seconds=5)


def test_records_are_kept_beside_the_page(fleet: Fleet) -> None:
    session = fleet.control.open(SessionRequest.for_page(fleet.order("http://site.test/", collection="kept"), "page-7"))

    record_id = fleet.control.write(session, "resource", "urn:text:http://site.test/", "text/plain", b"the text")
    fleet.control.finish(session, wait_seconds=5)

    (record,) = fleet.proxy.records("kept").of("urn:text:http://site.test/")
    assert record.kind == "resource"
    assert record.id == f"<urn:uuid:{record_id}>"
    assert record.block == b"the text"
    assert record.field("WARC-Page-ID") == "page-7"


def test_a_session_with_something_in_flight_is_not_waited_for_for_ever(fleet: Fleet, origin: RawOrigin) -> None:
    go_on = threading.Event()
    origin.script("/", Wait(go_on), page(""))
    visitor = PlainVisitor(fleet.settings(), [fleet.control])
    order = fleet.order(origin.url("/"))
    session = visitor._session(order, fleet.control)
    visiting = threading.Thread(target=visitor.visit, args=(order,))
    visiting.start()
    try:
        while fleet.control.report(session).in_flight == 0:
            go_on.wait(0.01)
        assert fleet.control.finish(session, wait_seconds=0.2) is None
    finally:
        go_on.set()
        visiting.join()
        visitor.close()


def test_what_the_proxy_refuses_is_our_fault(fleet: Fleet) -> None:
    with pytest.raises(FleetUnavailable, match="control-400"):
        fleet.control.open(SessionRequest("../escape"))


def test_a_control_port_that_is_gone_is_our_fault() -> None:
    with Control(f"127.0.0.1:{free_port()}", "token") as control, pytest.raises(FleetUnavailable, match="unreachable"):
        control.open(SessionRequest("c"))


def test_a_home_without_a_token_is_our_fault(fleet: Fleet) -> None:
    assert read_token(fleet.home)
    with pytest.raises(FleetUnavailable, match="no-control-token"):
        read_token(fleet.home / "nowhere")


def test_a_report_passes_over_what_it_does_not_know() -> None:
    report = SessionCounts.from_json({"urls": 2, "new_field": 1, "errors": {"not-kept": 3}})

    assert (report.urls, report.not_kept) == (2, 3)
