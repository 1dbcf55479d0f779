"""robots.txt is fetched through the proxy, kept for all, and obeyed."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from dataclasses import replace

import pytest
from support.browsers.visits import CUT_SHORT, Fleet, document, page, redirect
from support.origins.raw_origin import RawOrigin, Reset

from archive.settings import FrontierSettings
from browsers.plain.robots_rules import RobotsDecision, RobotsRules
from browsers.plain.visitor import PlainVisitor
from browsers.visit import VisitOrder
from frontier.definition.job import Job, Profile
from frontier.definition.scope import Accepted, Rejected
from frontier.lease import Lease, Pause
from frontier.queue import Frontier

AGENT = "Mozilla/5.0 (compatible; ghostfleet/0.1)"


class Case:
    """A frontier with one leased URL of the origin, and rules that fetch through the real proxy."""

    def __init__(self, frontier: Frontier, fleet: Fleet, plain: PlainVisitor, url: str) -> None:
        self.frontier = frontier
        claim = frontier.claim("worker")
        assert isinstance(claim, Lease)
        self.lease = claim
        self.order = fleet.order(url, collection=frontier.job.collection)
        self.plain = plain
        self.rules = RobotsRules(frontier, plain, AGENT, obey=True)

    def decide(self, url: str = "") -> RobotsDecision:
        """The decision on the leased URL, or on another one of the site."""
        return self.rules.decide(replace(self.lease, url=url or self.lease.url), self.order)


@pytest.fixture
def case(redis_url: str, fleet: Fleet, origin: RawOrigin) -> Iterator[Case]:
    job = Job.of("rules", "rules", [origin.url("/a/page")])
    frontier = Frontier(redis_url, job, FrontierSettings(min_delay_seconds=0))
    frontier.open_job()
    plain = PlainVisitor(fleet.settings(), [fleet.control])
    yield Case(frontier, fleet, plain, origin.url("/a/page"))
    plain.close()
    frontier.close()


def test_what_is_disallowed_is_not_visited(case: Case, origin: RawOrigin) -> None:
    origin.script("/robots.txt", document(b"User-agent: ghostfleet\nDisallow: /a/\nCrawl-delay: 7\n", "text/plain"))

    assert case.decide() == RobotsDecision(-9998, 7)
    assert case.decide(origin.url("/b")) == RobotsDecision(None, 7)


def test_a_host_rests_for_its_crawl_delay_after_a_first_visit_that_was_broken_off(
    case: Case, origin: RawOrigin
) -> None:
    origin.script("/robots.txt", document(b"User-agent: *\nCrawl-delay: 60\n", "text/plain"))

    assert case.decide().code is None
    assert case.frontier.take_back("worker", counts=False) == 1
    assert isinstance(case.frontier.claim("worker"), Pause)


def test_a_sheet_says_for_which_urls_robots_txt_is_ignored(case: Case, origin: RawOrigin) -> None:
    origin.script("/robots.txt", document(b"User-agent: *\nDisallow: /a/\n", "text/plain"))
    sheets = Profile(sheets=("regex:.*/a/free robots=ignore",)).page_rules()
    case.rules = RobotsRules(case.frontier, case.plain, AGENT, obey=True, own=lambda url: sheets.values_for(url).robots)

    assert case.decide().code == -9998
    assert case.decide(origin.url("/a/free")).code is None


def test_it_is_asked_for_once_and_recorded(case: Case, fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/robots.txt", document(b"User-agent: *\nAllow: /\n", "text/plain"))

    for _ in range(3):
        assert case.decide() == RobotsDecision()

    assert [visit.path for visit in origin.visits] == ["/robots.txt"]
    line = fleet.crawl_log(case.order)[-1]
    assert line[3:6] == [origin.url("/robots.txt"), "P", origin.url("/a/page")]


def test_without_one_everything_is_allowed(case: Case) -> None:
    assert case.decide() == RobotsDecision()


RULES = b"User-agent: *\nDisallow: /a/\n"


@pytest.mark.parametrize(
    ("body", "coding", "content_type"),
    [
        (RULES, "none", "text/plain"),
        (RULES, "gzip", "text/html"),
        (RULES, "br", "application/octet-stream"),
        (RULES, "deflate, UTF-8", ""),
        (gzip.compress(RULES), "", "text/plain"),
        (gzip.compress(RULES), "gzip, gzip", "text/plain"),
        (b"<!-- soft -->\n" + RULES, "identity", "text/html"),
        (RULES.decode().encode("utf-16"), "zstd", "text/plain; charset=latin1"),
        (gzip.compress(RULES + b"# more\n" * 1_000_000), "gzip", "text/plain"),
    ],
)
def test_the_text_counts_and_not_what_the_header_says_of_it(
    case: Case, origin: RawOrigin, body: bytes, coding: str, content_type: str
) -> None:
    headers = f"Content-Encoding: {coding}\r\n" if coding else ""
    origin.script("/robots.txt", document(body, content_type, headers=headers))

    assert case.decide() == RobotsDecision(-9998)


def test_sitemaps_that_it_names_are_queued(case: Case, origin: RawOrigin) -> None:
    text = f"Sitemap: {origin.url('/map.xml')}\nSitemap: http://elsewhere.test/map.xml\n"
    origin.script("/robots.txt", document(text.encode(), "text/plain"))

    case.decide()

    queued = case.frontier.reports.progress()
    assert (queued.queued, queued.rejected) == (1, {"scope": 1})


@pytest.mark.parametrize("status", ["500 Error", "503 Busy", "429 Slow"])
def test_a_site_that_can_not_say_is_left_alone(case: Case, origin: RawOrigin, status: str) -> None:
    origin.script("/robots.txt", page("", status=status))

    assert case.decide() == RobotsDecision(-61)


@pytest.mark.parametrize("status", ["404 Missing", "403 Forbidden", "410 Gone"])
def test_a_site_without_rules_is_open(case: Case, origin: RawOrigin, status: str) -> None:
    origin.script("/robots.txt", page("Disallow: /", status=status))

    assert case.decide() == RobotsDecision()


def test_an_answer_that_ends_short_is_none(case: Case, origin: RawOrigin) -> None:
    origin.script("/robots.txt", *CUT_SHORT)

    assert case.decide() == RobotsDecision(-61)


def test_a_connection_that_breaks_is_no_permission(case: Case, origin: RawOrigin) -> None:
    origin.script("/robots.txt", Reset())

    assert case.decide().code is not None


def test_a_host_that_does_not_exist_says_so(case: Case) -> None:
    assert case.decide("http://nowhere.invalid/") == RobotsDecision(-6)


def test_a_robots_txt_that_redirects_to_a_host_that_does_not_exist_says_nothing_of_its_own_host(
    case: Case, origin: RawOrigin
) -> None:
    origin.script("/robots.txt", redirect("http://nowhere.invalid/robots.txt"))

    assert case.decide() == RobotsDecision(-61)


def test_pages_that_robots_txt_redirects_to_are_not_taken_for_visited(case: Case, origin: RawOrigin) -> None:
    """T4: the home page was marked as seen, so its links were never followed."""
    origin.script("/robots.txt", redirect("/moved"))
    origin.script("/moved", redirect("/"))
    origin.script("/", page("<a href=/a/page>"))

    case.decide()

    links = [case.lease.candidate(origin.url(path), "L") for path in ("/", "/moved", "/robots.txt")]
    decisions = case.frontier.add(links, case.lease)
    assert [type(decision) for decision in decisions] == [Accepted, Accepted, Rejected]


def test_redirects_are_followed_and_recorded(case: Case, fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/robots.txt", redirect("/r1"))
    origin.script("/r1", redirect("/r2"))
    origin.script("/r2", document(b"User-agent: *\nDisallow: /", "text/plain"))

    assert case.decide() == RobotsDecision(-9998)
    assert [columns[4] for columns in fleet.crawl_log(case.order)] == ["P", "PR", "PRR"]


def test_redirects_without_end_are_no_rules(case: Case, origin: RawOrigin) -> None:
    origin.otherwise(lambda request: [redirect(f"/x{len(origin.visits)}")])

    assert case.decide() == RobotsDecision()
    assert len(origin.visits) == 6


def test_a_job_may_ignore_it(case: Case, fleet: Fleet, origin: RawOrigin) -> None:
    plain = PlainVisitor(fleet.settings(), [fleet.control])
    rules = RobotsRules(case.frontier, plain, AGENT, obey=False)

    assert rules.decide(case.lease, VisitOrder(case.lease.url, "rules")) == RobotsDecision()
    assert origin.visits == []
    plain.close()


def test_robots_txt_itself_may_always_be_visited(case: Case, origin: RawOrigin) -> None:
    origin.script("/robots.txt", document(b"User-agent: *\nDisallow: /", "text/plain"))

    assert case.decide(origin.url("/robots.txt")) == RobotsDecision()
