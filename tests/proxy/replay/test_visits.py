"""Page visits: which requests belong to one, and in which order its captures are answered."""

from __future__ import annotations

from support.archive.capture_rows import capture

from archive.capture import Capture
from archive.repairs import id_without_visit
from proxy.protocol.http1 import RequestHead, parse_request
from proxy.replay.matching.visits import PageLoad, PageLoads, is_document

PAGE = "https://a.example/page"


def head(*lines: str) -> RequestHead:
    return parse_request("\r\n".join(("GET / HTTP/1.1", "Host: a.example", *lines, "", "")).encode())


NAVIGATION = ("Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document")
PLAIN_NAVIGATION = ("Upgrade-Insecure-Requests: 1", "Accept: text/html,application/xhtml+xml,*/*;q=0.8")


def test_documents_are_told_by_what_browsers_say() -> None:
    assert is_document(head(*NAVIGATION))
    assert is_document(head(*PLAIN_NAVIGATION))
    assert not is_document(head("Accept: */*"))
    assert not is_document(head("Accept: text/html"))
    assert not is_document(head("Sec-Fetch-Mode: cors", *PLAIN_NAVIGATION))


def test_a_request_belongs_to_the_page_that_its_referer_names() -> None:
    visits = PageLoads()
    _, first = visits.of("me", head(*NAVIGATION), PAGE)
    _, second = visits.of("me", head(*NAVIGATION), "https://b.example/")
    assert first is not None
    assert second is not None

    def visit_of(*lines: str, client: str = "me") -> PageLoad | None:
        return visits.of(client, head(*lines), "https://c.example/data")[0]

    assert visit_of(f"Referer: {PAGE}") is first
    assert visit_of("Referer: https://a.example/") is first, "other origins are told the origin alone"
    assert visit_of("Referer: https://a.example/style.css") is first
    assert visit_of("Referer: https://nowhere.example/") is second
    assert visit_of() is second
    assert visit_of(f"Referer: {PAGE}", client="you") is None


def test_a_frame_begins_a_visit_within_its_page() -> None:
    visits = PageLoads()
    _, page = visits.of("me", head(*NAVIGATION), PAGE)
    lines = (f"Referer: {PAGE}", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe")
    within, frame = visits.of("me", head(*lines), "https://frame.example/")

    assert within is page
    assert frame is not None
    assert frame.within is page
    assert visits.of("me", head("Referer: https://frame.example/"), "https://x.example/")[0] is frame
    assert visits.of("me", head(), "https://x.example/")[0] is page


def test_a_frame_that_is_loaded_again_counts_with_its_page() -> None:
    """A frame leads to another document, and that one back, again and again: each is of the same page."""
    visits = PageLoads()
    url = "https://frame.example/0"
    _, page = visits.of("me", head(*NAVIGATION), PAGE)
    assert page is not None
    page.begin(dated(1, "visit"), [])
    referrer = PAGE
    for number in range(1_500):
        lines = (f"Referer: {referrer}", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: iframe")
        before, frame = visits.of("me", head(*lines), url)
        assert before is not None
        assert frame is not None
        assert frame.within is page, "no chain of frames is kept"
        assert before.next_place(("GET", url), counts=True) == number
        frame.begin(dated(1, "visit"), [])
        referrer = url
    other = PageLoad(url, page)
    other.begin(dated(1), [])
    assert other.next_place(("GET", url), counts=True) == 0, "without a page id, the frame has its own captures"


def test_loading_a_page_again_begins_anew() -> None:
    visits = PageLoads()
    _, first = visits.of("me", head(*NAVIGATION), PAGE)
    assert first is not None
    assert [first.next_place(("GET", "u"), counts=True) for _ in range(3)] == [0, 1, 2]
    assert first.next_place(("GET", "u"), counts=False) == 3
    _, second = visits.of("me", head(*NAVIGATION), PAGE)
    assert second is not None
    assert second.next_place(("GET", "u"), counts=True) == 0
    assert visits.of("me", head(f"Referer: {PAGE}"), PAGE)[0] is second


def test_clients_without_end_are_forgotten_one_by_one() -> None:
    visits = PageLoads()
    for number in range(5_000):
        visits.of(f"client {number}", head(*NAVIGATION), PAGE)
    assert visits.of("client 4999", head(), PAGE)[0] is not None
    assert visits.of("client 0", head(), PAGE)[0] is None
    visit = PageLoad(PAGE)
    for number in range(20_000):
        visit.next_place(("GET", f"u{number}"), counts=True)
    assert visit.next_place(("GET", "u19999"), counts=False) == 1
    assert visit.next_place(("GET", "u0"), counts=False) == 0


def dated(day: int, page_id: str | None = None) -> Capture:
    return capture(PAGE, f"202601{day:02d}", page_id=page_id, offset=day)


def test_a_visit_has_the_captures_from_its_document_to_the_next_one() -> None:
    visit = PageLoad(PAGE)
    captures = [dated(day) for day in (9, 1, 6, 5, 4)]
    assert visit.own(captures) == []
    visit.begin(dated(4), [dated(4), dated(6), dated(20), dated(1)])
    assert [each.timestamp[6:8] for each in visit.own(captures)] == ["04", "05"]
    visit.begin(dated(6), [dated(6)])
    assert [each.timestamp[6:8] for each in visit.own(captures)] == ["06", "09"]


def test_a_page_id_names_the_captures_of_a_visit() -> None:
    visit = PageLoad(PAGE)
    visit.begin(dated(4, "one"), [dated(4, "one"), dated(5, "two")])
    captures = [dated(3, "one"), dated(4, "two"), dated(7, "one"), dated(4)]
    assert [each.offset for each in visit.own(captures)] == [3, 7]
    assert [each.offset for each in visit.own([dated(4, "two"), dated(6)])] == [4], "without any, the dates count"


def load_at(date: str, page_id: str | None = None) -> PageLoad:
    """The load of a document that was captured then."""
    load = PageLoad(PAGE)
    load.begin(capture(url=PAGE, date=date, page_id=page_id), [])
    return load


def test_the_captures_of_a_repair_stand_in_for_those_of_the_visit_that_it_mends() -> None:
    wrong = capture(date="20260101000001", page_id="one", job="run")
    others = capture(date="20260101000001", page_id="two", job="run")
    failed = capture(date="20260301000000", page_id="one", job="repair-7", status=404)
    first = capture(date="20260301000001", page_id="one", job="repair-7")
    assert load_at("20260101000000", "one").own([wrong, others, failed]) == [wrong, failed]
    assert load_at("20260101000000", "one").own([first, failed, others, wrong]) == [first]
    assert load_at("20260101000000", "two").own([first, failed, others, wrong]) == [others]
    again = capture(date="20260401000000", page_id="one", job="repair-12")
    assert load_at("20260101000000", "one").own([wrong, first, again]) == [again], "the newest repair counts"
    named = capture(date="20260301000001", page_id="one", job="repair-of-news")
    assert load_at("20260101000000", "one").own([wrong, named]) == [wrong, named], "a job of a crawl is no repair"


def test_a_repair_of_a_page_without_a_visit_stands_in_too() -> None:
    wrong, mended = (capture(date=f"2026010100000{number}", job=job) for number, job in ((1, "run"), (9, "repair-7")))
    assert load_at("20260101000000").own([wrong, mended]) == [mended]


def test_a_repair_of_one_visit_stands_in_for_no_other_visit() -> None:
    seen = capture(date="20260101000001", page_id="three", job="run")
    bad = capture(date="20260102000000", page_id="two", job="run", status=404)
    mended = capture(date="20260301000000", page_id="two", job="repair-7")
    own = load_at("20260101000000", "one").own([mended, bad, seen])
    assert own == [seen, bad, mended], "the visit has none of its own, so that the dates count"
    assert load_at("20260101000000").own([mended, bad, seen]) == [seen, bad, mended]
    lacked = capture(date="20260301000000", page_id="four", job="repair-7")
    assert load_at("20260101000000").own([lacked, seen]) == [seen, lacked], "visit four had no capture of the URL"


def test_a_repair_of_a_page_without_a_page_id_stands_in_for_that_page_alone() -> None:
    bad = capture(date="20260102000000", job="run", status=404)
    mine, other = (id_without_visit(url) for url in (PAGE, "https://b.example/"))
    tried = capture(date="20260301000000", page_id=mine, job="repair-8", status=503)
    given = capture(date="20260301000001", page_id=mine, job="repair-8")
    assert load_at("20260101000000").own([given, tried, bad]) == [given]
    of_other = capture(date="20260301000001", page_id=other, job="repair-8")
    assert load_at("20260101000000").own([of_other, bad]) == [bad, of_other]
    by_plain_url = id_without_visit(PAGE.replace("https", "http") + "#top")
    redirected = capture(date="20260301000001", page_id=by_plain_url, job="repair-8")
    assert load_at("20260101000000").own([redirected, bad]) == [redirected], "the page's URL redirects to the document"
    frame = PageLoad("https://frame.example/", load_at("20260101000000"))
    frame.begin(capture(url="https://frame.example/", date="20260101000000"), [])
    assert frame.own([given, tried, bad]) == [given], "a frame belongs to its page"


def test_a_repair_of_a_visit_mends_a_frame_that_was_captured_without_a_visit() -> None:
    wrong = capture(date="20260102000000", job="run", status=404)
    mended, other = (capture(date="20260301000000", page_id=name, job="repair-8") for name in ("one", "two"))
    frame = PageLoad("https://frame.example/", load_at("20260101000000", "one"))
    frame.begin(capture(url="https://frame.example/", date="20260101000000"), [])
    assert frame.own([mended, wrong]) == [mended]
    assert frame.own([other, wrong]) == [wrong, other], "another visit was repaired"


def test_a_page_that_a_repair_captured_whole_has_its_answers_in_their_order() -> None:
    asked = capture(date="20260301000001", page_id="new", job="repair-7", status=404)
    given = capture(date="20260301000002", page_id="new", job="repair-7")
    load = PageLoad(PAGE)
    load.begin(capture(url=PAGE, date="20260301000000", page_id="new", job="repair-7"), [])
    assert load.own([given, asked]) == [asked, given]
    again = capture(date="20260401000000", page_id="new", job="repair-8")
    assert load.own([given, asked, again]) == [again]
