"""The list of a session's exchanges is bounded, and it survives a change of processes."""

from __future__ import annotations

import json

from archive.ended_exchange import EndedExchange, ExchangeEnd
from proxy.process.handover_messages import LINE_LIMIT, line
from proxy.sessions.exchange_list import MAX_LISTED, MAX_LISTED_TEXT, ExchangeList
from proxy.sessions.session import SessionReport


def entry(url: str = "http://a.test/") -> EndedExchange:
    return EndedExchange("GET", url, 200, ExchangeEnd.KEPT, "text/html", 120)


def full() -> ExchangeList:
    """A list with the worst that a page can fill it with: quotation marks double in JSON."""
    found = ExchangeList()
    for _ in range(MAX_LISTED + 10):
        found.add(entry("http://a.test/" + '"' * (MAX_LISTED_TEXT // MAX_LISTED)))
    return found


def test_a_full_list_counts_what_comes_later() -> None:
    many, long = ExchangeList(), ExchangeList()
    for number in range(MAX_LISTED + 3):
        many.add(entry(f"http://a.test/{number}"))
    for _ in range(3):
        long.add(entry("http://a.test/" + "x" * (MAX_LISTED_TEXT // 2)))

    assert (len(many.exchanges), many.unlisted) == (MAX_LISTED, 3)
    assert (len(long.exchanges), long.unlisted) == (1, 2)


def test_lists_of_two_processes_are_joined_within_the_bounds() -> None:
    joined = full().joined(full())

    assert len(joined.exchanges) == len(full().exchanges)
    assert len(joined.exchanges) + joined.unlisted == 2 * (MAX_LISTED + 10)


def test_a_report_with_its_list_goes_to_another_process_unchanged() -> None:
    report = SessionReport({"urls": 1}, page_record="record", page_date=1_000_000, exchanges=ExchangeList([entry()], 2))

    sent = json.loads(json.dumps(report.handover_json()))

    assert SessionReport.from_json(sent) == report
    assert "exchange_list" not in report.control_json(), "counts are asked for often, and the list is long"


def test_a_report_of_an_older_release_has_no_list() -> None:
    assert SessionReport.from_json({"urls": 3, "in_flight": 1}).exchanges == ExchangeList()


def test_the_longest_list_fits_in_a_message_between_processes() -> None:
    report = SessionReport(exchanges=full())

    assert len(line({"report": report.handover_json()})) < LINE_LIMIT / 8
    assert report.exchanges.emptied().unlisted == MAX_LISTED + 10
