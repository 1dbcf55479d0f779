"""The loop over a real frontier, a real proxy and a real site, from the seeds to the end of the job."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from support.browsers.visits import CUT_SHORT, Fleet, document, page, redirect
from support.browsers.watched_garden import WatchedGarden
from support.browsers.worker_runs import harvest, opened, quick
from support.origins.raw_origin import Drip, RawOrigin, Send, Wait
from support.processes.waiting import until

from archive.settings import BrowserSettings
from browsers.crawling.heartbeat import LeaseHeartbeat
from browsers.crawling.worker import Visitors, Worker, WorkerTally
from browsers.engines.interface import BrowserMissing
from browsers.plain.robots_rules import RobotsRules
from browsers.visit import FleetUnavailable, FoundLink, GhostTrouble, Visit, VisitOrder
from browsers.visitor_choice import wants_ghost
from frontier.definition.job import BEHAVIOR_FOLDER
from frontier.lease import Lease
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier
from frontier.store import FrontierLost

QUIET: Mapping[str, Any] = {
    "browsers__sandbox": False,
    "browsers__behaviors": "",
    "browsers__page_records": "text",
}
"""Settings of ghosts that do nothing on a page and leave its text alone."""


def test_a_plain_harvest_visits_every_page_once(fleet: Fleet, redis_url: str, garden: WatchedGarden) -> None:
    settings = quick(fleet, frontier__max_crawl_delay_seconds=0)
    frontier = opened(settings, redis_url, ["http://www.garden.test/"])
    log_dir = fleet.home / "logs" / frontier.job.collection

    tally = harvest(settings, fleet, redis_url, concurrency=4, log_dir=str(log_dir))

    progress = frontier.reports.progress()
    assert (progress.queued, progress.leased, progress.excluded) == (0, 0, 1)
    kept = fleet.proxy.records(frontier.job.collection)
    missing = [url for url in garden.urls() if not kept.of(url, "response", "revisit")]
    assert missing == []
    lines = (log_dir / "crawl.log").read_text("utf-8").splitlines()
    asked = [line.split()[3] for line in lines]
    assert len(asked) == len(set(asked))
    (excluded,) = [line.split() for line in lines if line.split()[1] == "-9998"]
    assert excluded[3] == "http://www.garden.test/private/office.html"
    assert tally.visits["plain"] == progress.done + progress.failed
    assert "http://www.garden.test/private/office.html" not in [
        f"{request.scheme}://{request.host}{request.path}" for request in garden.requests
    ]
    frontier.close()


@pytest.mark.slow
@pytest.mark.browser
def test_a_page_that_hangs_is_tried_twice_and_stands_in_the_crawl_log(
    fleet: Fleet, redis_url: str, origin: RawOrigin
) -> None:
    """T7: crawl.log had "-" for it, the summary nothing."""
    origin.script("/", page("<a href=/x>x</a><script>while (1);</script>"))
    settings = quick(fleet, browsers__sandbox=False, browsers__page_seconds=6, browsers__load_seconds=2)
    frontier = opened(settings, redis_url, [origin.url("/")], visitor="browser", robots="ignore")
    log_dir = fleet.home / "logs" / frontier.job.collection

    harvest(settings, fleet, redis_url, concurrency=1, log_dir=str(log_dir))

    lines = [line.split() for line in (log_dir / "crawl.log").read_text("utf-8").splitlines()]
    noted = [(line[1], line[3]) for line in lines if "ghost:hang" in line[11].split(",")]
    assert noted == [("200", origin.url("/"))] * 2
    assert frontier.reports.progress().codes == {200: 1}
    frontier.close()


@pytest.mark.browser
def test_behaviour_files_of_a_profile_are_those_of_the_homes_folder(
    fleet: Fleet, redis_url: str, origin: RawOrigin
) -> None:
    origin.script("/", page("<button onclick=\"fetch('/clicked')\">Load more</button>"))
    origin.script("/clicked", page("by the flow"))
    steps = [{"type": "navigate", "url": origin.url("/")}, {"type": "click", "selectors": [["text/Load more"]]}]
    folder = fleet.home / BEHAVIOR_FOLDER
    folder.mkdir(exist_ok=True)
    (folder / "tour.json").write_text(json.dumps({"title": "Tour", "steps": steps}), "utf-8")
    settings = quick(fleet, browsers__sandbox=False, browsers__behavior_scripts="/no/such/file.json")
    profile = {"visitor": "browser", "robots": "ignore", "behaviors": (), "behavior_scripts": ("tour.json",)}
    frontier = opened(settings, redis_url, [origin.url("/")], **profile)

    harvest(settings, fleet, redis_url, concurrency=1)

    kept = fleet.proxy.records(frontier.job.collection)
    (info,) = kept.of(f"urn:pageinfo:{origin.url('/')}")
    assert [(each["id"], each["ended"]) for each in json.loads(info.block)["behaviors"]] == [("flow:Tour", "done")]
    assert kept.of(origin.url("/clicked"), "response")
    frontier.close()


@pytest.mark.browser
def test_mixed_sends_ghosts_to_a_share_of_the_pages(fleet: Fleet, redis_url: str, origin: RawOrigin) -> None:
    names = [f"/page{number}" for number in range(12)]
    origin.script("/", page("".join(f"<a href={name}>x</a>" for name in names)))
    for name in names:
        origin.script(name, page("<a href=/>home</a>"))
    settings = quick(fleet, **QUIET)
    frontier = opened(settings, redis_url, [origin.url("/")], visitor="mixed", rendered_fraction=0.3, robots="ignore")

    tally = harvest(settings, fleet, redis_url)

    ghosts = sum(wants_ghost(origin.url(name), "L", "mixed", 0.3) for name in ["/", *names])
    assert tally.visits["browser"] == ghosts
    assert tally.visits["plain"] >= 13 - ghosts
    kept = fleet.proxy.records(frontier.job.collection).kinds("resource")
    assert len([record for record in kept if record.url.startswith("urn:pageinfo:")]) == ghosts
    frontier.close()


def test_a_failure_that_passes_is_tried_again(fleet: Fleet, redis_url: str, origin: RawOrigin) -> None:
    settings = quick(fleet)
    frontier = opened(settings, redis_url, [origin.url("/")])
    origin.answer("/", lambda _: CUT_SHORT if _asked(origin, "/") < 3 else [page("whole")])

    tally = harvest(settings, fleet, redis_url)

    assert _asked(origin, "/") == 3
    assert tally.endings == {"again": 2, "done": 1}
    assert frontier.reports.progress().codes == {200: 1}
    frontier.close()


def test_a_failure_that_stays_is_given_up(fleet: Fleet, redis_url: str, origin: RawOrigin) -> None:
    settings = quick(fleet, frontier__max_retries=1)
    frontier = opened(settings, redis_url, [origin.url("/")])
    origin.script("/", *CUT_SHORT)

    harvest(settings, fleet, redis_url)

    assert _asked(origin, "/") == 2
    assert frontier.reports.progress().codes == {-3: 1}
    frontier.close()


def test_a_site_without_an_answer_for_robots_is_logged_when_it_is_given_up(
    fleet: Fleet, redis_url: str, origin: RawOrigin
) -> None:
    settings = quick(fleet, frontier__max_retries=0)
    frontier = opened(settings, redis_url, [origin.url("/")])
    origin.script("/robots.txt", page("", status="500 Error"))
    log_dir = fleet.home / "logs" / frontier.job.collection

    harvest(settings, fleet, redis_url, log_dir=str(log_dir))

    codes = [line.split()[1] for line in (log_dir / "crawl.log").read_text().splitlines()]
    assert codes == ["500", "-61"]
    frontier.close()


def test_a_site_whose_robots_txt_redirects_to_its_home_page_is_visited_entirely(
    fleet: Fleet, redis_url: str, origin: RawOrigin
) -> None:
    """T4, `/robots.txt` to `/` on one host: only the seed and nothing that the home page links to was visited."""
    settings = quick(fleet)
    frontier = opened(settings, redis_url, [origin.url("/start")])
    origin.script("/robots.txt", redirect("/"))
    origin.script("/start", page("<a href=/>home</a>"))
    origin.script("/", page("<a href=/inner>inner</a>"))
    origin.script("/inner", page("the end"))

    harvest(settings, fleet, redis_url)

    assert _asked(origin, "/inner") == 1
    frontier.close()


def test_a_moved_domain_is_visited_under_its_new_name(fleet: Fleet, redis_url: str, origin: RawOrigin) -> None:
    """T4: every path of the old host, robots.txt too, redirects to the home page of the new one."""
    settings = quick(fleet)
    with RawOrigin("127.0.1.11") as old:
        for path in ("/robots.txt", "/"):
            old.script(path, redirect(origin.url("/")))
        frontier = opened(settings, redis_url, [old.url("/")])
        origin.script("/", page("<a href=/inner>inner</a>"))
        origin.script("/inner", page("the end"))

        harvest(settings, fleet, redis_url)

    assert _asked(origin, "/inner") == 1
    frontier.close()


def test_a_stopped_worker_ends_its_visits_and_begins_none(fleet: Fleet, redis_url: str, origin: RawOrigin) -> None:
    settings = quick(fleet)
    frontier = opened(settings, redis_url, [origin.url("/"), "http://127.0.1.10:1/"])
    go_on, stop = threading.Event(), threading.Event()
    origin.script("/", Wait(go_on), page("<a href=/next>"))

    with ThreadPoolExecutor(1) as thread:
        working = thread.submit(harvest, settings, fleet, redis_url, concurrency=1, stop=stop)
        until(lambda: _asked(origin, "/"), what="the visit to begin")
        stop.set()
        go_on.set()
        working.result(timeout=60)

    progress = frontier.reports.progress()
    assert (progress.leased, progress.codes.get(200)) == (0, 1)
    assert progress.queued >= 1
    assert _asked(origin, "/next") == 0
    frontier.close()


WORKER = """
import sys, threading
from archive.settings.load import load
from browsers.crawling.worker import run_worker
proxy, control, redis_url = sys.argv[1:]
run_worker(load(), job="harvest", proxy=proxy, controls=[control], redis_url=redis_url, name="victim", concurrency=1,
           stop=threading.Event())
"""


def test_a_killed_worker_costs_a_second_visit_and_loses_nothing(
    fleet: Fleet, redis_url: str, origin: RawOrigin
) -> None:
    settings = quick(fleet, frontier__lease_seconds=1)
    frontier = opened(settings, redis_url, [origin.url("/")])
    never = threading.Event()
    origin.answer("/", lambda _: [Wait(never)] if _asked(origin, "/") == 1 else [page("<a href=/next>")])
    arguments = [fleet.proxy.ready["proxy"], fleet.proxy.ready["controls"][0], redis_url]
    environment: Mapping[str, str] = {**os.environ, **settings.for_child()}
    victim = subprocess.Popen([sys.executable, "-c", WORKER, *arguments], env=environment)
    try:
        until(lambda: _asked(origin, "/"), what="the victim's visit to begin")
    finally:
        victim.send_signal(signal.SIGKILL)
        victim.wait()

    harvest(quick(fleet), fleet, redis_url)

    never.set()
    assert _asked(origin, "/") == 2
    assert frontier.reports.progress().codes == {200: 1, 404: 1}
    assert frontier.reports.progress().swept == 1
    frontier.close()


def test_a_job_that_redis_lost_is_an_error_and_no_end(fleet: Fleet, redis_url: str) -> None:
    settings = quick(fleet)

    with pytest.raises(FrontierLost):
        harvest(settings, fleet, redis_url)


@pytest.mark.parametrize("is_silent", [True, False], ids=["without an answer", "without an end"])
def test_an_embed_that_never_ends_is_fetched_once(
    fleet: Fleet, redis_url: str, origin: RawOrigin, is_silent: bool
) -> None:
    """T27: it was fetched four times, 60 seconds each."""
    settings = quick(fleet, browsers__embed_seconds=0.5, browsers__close_seconds=1)
    frontier = opened(settings, redis_url, [origin.url("/")], robots="ignore")
    origin.script("/", page("<img src=/endless><a href=/next>"))
    head = Send(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n")
    origin.script("/endless", *([Wait(threading.Event())] if is_silent else [head, Drip(b"x" * 2000, 0.05)]))

    harvest(settings, fleet, redis_url)

    assert (_asked(origin, "/endless"), _asked(origin, "/next")) == (1, 1)
    assert frontier.reports.progress().codes == {200: 1, 404: 1, -4: 1}
    frontier.close()


class Scripted:
    """A visitor that does what a test says."""

    name = "scripted"

    def __init__(self, *steps: Visit | Exception) -> None:
        self._steps = list(steps)
        self.orders: list[VisitOrder] = []

    def visit(self, order: VisitOrder) -> Visit:
        """The next step; the last one again and again."""
        self.orders.append(order)
        step = self._steps.pop(0) if len(self._steps) > 1 else self._steps[0]
        if isinstance(step, Exception):
            raise step
        return step

    def close(self) -> None:
        """Nothing to close."""


class NoFetch:
    """For rules that need nothing, since robots.txt is ignored."""

    def fetch(self, order: VisitOrder, *, keep: int | None = None) -> Any:
        """Never called."""
        raise AssertionError(f"robots.txt was asked for: {order.url}, {keep}")


def worked(frontier: Frontier, visitor: Scripted, log_dir: Path | None = None, **pages: Any) -> WorkerTally:
    """Runs one loop with this visitor to the end of the job; `pages` are settings of its visits."""
    log = str(log_dir) if log_dir else None
    rules = RobotsRules(frontier, NoFetch(), "ghostfleet", obey=False)
    with LeaseHeartbeat(frontier.renew, 60) as heartbeat:
        worker = Worker(
            frontier,
            Visitors(visitor),
            rules,
            name="w",
            stop=threading.Event(),
            heartbeat=heartbeat,
            log_dir=log,
            pages=BrowserSettings(**pages),
        )
        return worker.run(1)


@pytest.fixture
def frontier(fleet: Fleet, redis_url: str) -> Any:
    frontier = opened(quick(fleet, frontier__max_retries=1), redis_url, ["http://site.test/"])
    yield frontier
    frontier.close()


def test_our_own_trouble_is_no_try_of_the_url(frontier: Frontier) -> None:
    away = FleetUnavailable("proxy-unreachable")

    tally = worked(frontier, Scripted(away, away, Visit(200, 1)))

    assert tally.given_back == {"proxy-unreachable": 2}
    assert frontier.reports.progress().codes == {200: 1}


def test_a_page_that_always_brings_the_browser_down_is_given_up(frontier: Frontier) -> None:
    tally = worked(frontier, Scripted(FleetUnavailable("browser-crashed", may_be_the_page=True)))

    assert tally.given_back == {"browser-crashed": 2}
    assert frontier.reports.progress().failed == 1


CRASH = FleetUnavailable("browser-crashed", may_be_the_page=True, trouble=GhostTrouble.CRASH)
MEMORY = FleetUnavailable("out-of-memory", may_be_the_page=True, trouble=GhostTrouble.OUT_OF_MEMORY)
HANG = Visit(200, 1, content_type="text/html", annotations=("load-timeout", "ghost:hang"))
CHALLENGED = Visit(200, 1, content_type="text/html", annotations=("page:waf:cloudflare",))
BLANK = Visit(200, 1, content_type="text/html", annotations=("page:blank:one-colour",))
UNSETTLED = Visit(200, 1, content_type="text/html", annotations=("never-settled", "ghost:never-settled"))


@pytest.mark.parametrize(
    ("step", "pages", "tries", "codes"),
    [
        (CRASH, {}, 2, {-5: 1}),
        (MEMORY, {}, 2, {-5: 1}),
        (HANG, {}, 2, {200: 1}),
        (UNSETTLED, {}, 1, {200: 1}),
        (CRASH, {"retry_pages": 0}, 1, {-5: 1}),
        (UNSETTLED, {"retry_for": "never-settled"}, 2, {200: 1}),
        (CHALLENGED, {}, 2, {200: 1}),
        (BLANK, {}, 1, {200: 1}),
        (BLANK, {"retry_for": "blank,waf"}, 2, {200: 1}),
    ],
    ids=[
        *("crash", "memory", "hang", "never settled", "no retries", "never settled by setting"),
        *("checked by a firewall", "blank", "blank by setting"),
    ],
)
def test_troubles_of_ghosts_are_logged_and_tried_again_by_policy(
    fleet: Fleet, redis_url: str, tmp_path: Path, step: Any, pages: dict[str, Any], tries: int, codes: dict[int, int]
) -> None:
    """T7: they stood in `urn:pageinfo` only."""
    frontier = opened(quick(fleet), redis_url, ["http://site.test/"])
    visitor = Scripted(step)

    worked(frontier, visitor, tmp_path, **pages)

    word = step.trouble if isinstance(step, FleetUnavailable) else step.annotations[-1]
    lines = [line.split() for line in (tmp_path / "crawl.log").read_text("utf-8").splitlines()]
    assert [line[11].split(",")[-1] for line in lines] == [word] * tries
    assert {line[3] for line in lines} == {"http://site.test/"}
    assert len(visitor.orders) == tries
    assert frontier.reports.progress().codes == codes
    frontier.close()


def test_a_page_that_crashed_once_is_done_when_it_goes_well(frontier: Frontier) -> None:
    worked(frontier, Scripted(CRASH, Visit(200, 1)))

    assert frontier.reports.progress().codes == {200: 1}


def test_a_url_with_which_workers_were_lost_is_ended_without_a_visit(
    fleet: Fleet, redis_url: str, tmp_path: Path
) -> None:
    """T2: it went from worker to worker until its retries were used up."""
    settings = quick(fleet, frontier__lease_seconds=0.01)
    frontier = opened(settings, redis_url, ["http://site.test/"])
    for number in range(2):
        until(lambda name=f"victim-{number}": isinstance(frontier.claim(name), Lease), what="a lease")
    until(frontier.sweep, what="the second lease to run out")
    visitor = Scripted(Visit(200, 1))

    worked(frontier, visitor, tmp_path)

    assert visitor.orders == []
    (line,) = [line.split() for line in (tmp_path / "crawl.log").read_text("utf-8").splitlines()]
    assert (line[1], line[3], line[11]) == ("-3000", "http://site.test/", "3t,workers-lost:2")
    frontier.close()


def test_a_visitor_that_fails_unexpectedly_ends_one_url_and_not_the_worker(
    frontier: Frontier, caplog: pytest.LogCaptureFixture
) -> None:
    tally = worked(frontier, Scripted(RuntimeError("a bug"), Visit(200, 1)))

    assert tally.given_back == {"unexpected": 1}
    assert frontier.reports.progress().codes == {200: 1}
    assert "a bug" in caplog.text


def test_what_a_page_fetched_along_with_it_is_not_visited_again(frontier: Frontier) -> None:
    links = tuple(FoundLink(f"http://site.test/{name}", "L", "a/@href") for name in ("fetched", "other"))
    visitor = Scripted(Visit(200, 1, links=links, fetched=("http://site.test/fetched",)), Visit(200, 1))

    worked(frontier, visitor)

    assert [order.url for order in visitor.orders] == ["http://site.test/", "http://site.test/other"]
    assert visitor.orders[1].hop_path == "L"
    assert visitor.orders[1].via == "http://site.test/"
    assert visitor.orders[1].source == "http://site.test/"


def test_new_embeds_of_a_page_that_was_rendered_before_are_visited(fleet: Fleet, redis_url: str) -> None:
    profile = {"visitor": "browser", "rendering": "asynchronous"}
    frontier = opened(quick(fleet), redis_url, ["http://site.test/"], **profile)
    page = frontier.claim("gone")
    assert isinstance(page, Lease)
    old, new = (FoundLink(f"http://site.test/{name}.css", "E", "link/@href") for name in ("old", "new"))
    assert frontier.renders.add(page, [page.candidate(old.url, "E")])
    frontier.take_back("gone", counts=False)
    render = frontier.renders.claim("r")
    assert isinstance(render, Lease)
    frontier.renders.finish(render, VisitOutcome(200, fetched=(old.url,)))
    visitor = Scripted(Visit(200, 1, content_type="text/html", links=(old, new)), Visit(200, 1))

    worked(frontier, visitor)

    assert [order.url for order in visitor.orders] == ["http://site.test/", new.url]
    frontier.close()


def test_robots_txt_is_read_by_the_agent_of_the_profile(fleet: Fleet, redis_url: str, origin: RawOrigin) -> None:
    settings = quick(fleet)
    frontier = opened(settings, redis_url, [origin.url("/")], user_agent="Mozilla/5.0 (compatible; special/1.0)")
    origin.script("/robots.txt", document(b"User-agent: special\nDisallow: /\n", "text/plain"))

    harvest(settings, fleet, redis_url)

    assert frontier.reports.progress().excluded == 1
    assert b"special/1.0" in origin.visits[0].received
    frontier.close()


def _asked(origin: RawOrigin, path: str) -> int:
    return sum(visit.path == path for visit in origin.visits)


@pytest.mark.parametrize("visitor", ["plain", pytest.param("browser", marks=pytest.mark.browser)])
def test_every_request_has_the_profiles_headers_and_secrets_are_not_recorded(
    fleet: Fleet, redis_url: str, visitor: str
) -> None:
    """T20: `--user-agent` and `--header` count for plain visits and for ghosts, and for all that a page embeds."""
    with RawOrigin() as origin:
        origin.script("/", page("<link rel=stylesheet href=/a.css>"))
        origin.script("/a.css", document(b"p{top:0}", "text/css"))
        headers = {"Authorization": "Bearer s3cret", "X-Archive": "we", "X-Key": "k3y"}
        profile = {"visitor": visitor, "robots": "ignore", "user_agent": "Ours/1", "headers": headers}
        settings = quick(fleet, **QUIET)
        frontier = opened(settings, redis_url, [f"http://{origin.authority}/"], **profile, redact_headers=("X-Key",))
        harvest(settings, fleet, redis_url, concurrency=1)
        requests = [visit.received.decode("latin-1") for visit in origin.visits]

    assert len(requests) > 1
    for text in requests:
        lines = text.lower().splitlines()
        assert {"user-agent: ours/1", "authorization: bearer s3cret", "x-archive: we", "x-key: k3y"} <= set(lines)
    kept = fleet.proxy.records(frontier.job.collection)
    recorded = b"".join(record.block for record in kept.records if record.kind == "request").lower()
    assert b"x-archive: we" in recorded
    assert b"s3cret" not in recorded
    assert b"k3y" not in recorded


@pytest.mark.browser
def test_a_job_may_keep_the_caches_of_its_sites(
    fleet: Fleet, redis_url: str, origin: RawOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("browsers.ghosts.visit_place._CALM_SECONDS", 60.0)
    monkeypatch.setattr("browsers.engines.chromium.devtools.kept_context._SETTLE_SECONDS", 60.0)
    part = "<link rel=stylesheet href=/style.css>"
    origin.script("/", page(f"{part}<a href=/one>one</a><a href=/two>two</a>"))
    for path in ("/one", "/two"):
        origin.script(path, page(part))
    fresh = "Cache-Control: max-age=3600\r\n"
    origin.script("/style.css", document(b"p { color: red }", "text/css", headers=fresh))
    settings = quick(fleet, **QUIET)
    frontier = opened(settings, redis_url, [origin.url("/")], visitor="browser", browser_cache="site")

    harvest(settings, fleet, redis_url, concurrency=1)

    kept = fleet.proxy.records(frontier.job.collection)
    assert all(kept.of(origin.url(path), "response", "revisit") for path in ("/", "/one", "/two"))
    assert len(origin.asked("/style.css")) == 1


def test_a_job_with_firefox_can_not_keep_the_caches_of_its_sites(fleet: Fleet, redis_url: str) -> None:
    settings = quick(fleet, browsers__engine="firefox")
    opened(settings, redis_url, ["http://site.test/"], visitor="browser", browser_cache="site")

    with pytest.raises(BrowserMissing, match=r"browser_cache = 'site'.*write browser_cache: cold, or engine: chromium"):
        harvest(settings, fleet, redis_url)


def test_links_of_an_answer_that_a_rule_rejects_are_not_followed(
    fleet: Fleet, redis_url: str, origin: RawOrigin
) -> None:
    origin.script("/", page("<a href=/print>print</a><a href=/big>big</a>"))
    origin.script("/print", document(b"<a href=/from-print>x</a>", "application/xhtml+xml"))
    origin.script("/big", page("<a href=/from-big>x</a>" + "x" * 3000))
    settings = quick(fleet)
    rules = ("REJECT ContentTypeMatchesRegex application/xhtml.*", "REJECT ResourceLongerThan 2000")
    frontier = opened(settings, redis_url, [origin.url("/")], robots="ignore", rules=rules)
    log_dir = fleet.home / "logs" / frontier.job.collection

    harvest(settings, fleet, redis_url, concurrency=1, log_dir=str(log_dir))

    assert origin.asked("/print")
    assert origin.asked("/big")
    assert not origin.asked("/from-print")
    assert not origin.asked("/from-big")
    lines = [line.split() for line in (log_dir / "crawl.log").read_text("utf-8").splitlines()]
    noted = {note: line[3] for line in lines for note in line[11].split(",") if note.startswith("links-rejected:")}
    assert noted == {"links-rejected:content-type": origin.url("/print"), "links-rejected:size": origin.url("/big")}
    assert frontier.reports.progress().rejected["content-type"] == 1
    assert fleet.proxy.records(frontier.job.collection).of(origin.url("/print"), "response"), "the answer is archived"
    frontier.close()


def test_a_url_whose_host_has_a_rejected_address_is_not_visited(
    fleet: Fleet, redis_url: str, origin: RawOrigin
) -> None:
    settings = quick(fleet)
    rules = ("REJECT IpAddressSet 127.0.0.0/8 ::1",)
    frontier = opened(settings, redis_url, [origin.url("/")], robots="ignore", rules=rules)
    log_dir = fleet.home / "logs" / frontier.job.collection

    harvest(settings, fleet, redis_url, concurrency=1, log_dir=str(log_dir))

    assert not origin.asked("/")
    (line,) = [line.split() for line in (log_dir / "crawl.log").read_text("utf-8").splitlines()]
    assert (line[1], line[3], line[11]) == ("-5000", origin.url("/"), "rejected:address")
    assert frontier.reports.progress().excluded == 1
    frontier.close()
