"""The loop that all visitors share: claim, ask robots.txt, visit, hand back links, finish.

Links go in before the URL is finished, and it is finished only after the visitor came back, when its captures are
durable: a worker that dies at any point costs a second visit, and loses nothing.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from archive import crawl_log
from archive.crawl_log import CrawlLog, LogLine
from archive.dates import now_micros
from archive.jsontext import compact_json
from archive.settings import Settings
from browsers.choice import wants_ghost
from browsers.heartbeat import Heartbeat
from browsers.plain import PlainVisitor
from browsers.proxyclient import Control, read_token
from browsers.rules import Rules, Ruling
from browsers.trust import authority
from browsers.visit import FleetUnavailable, Visit, Visitor, VisitOrder
from frontier.lease import Finished, Lease, Pause, Stopped
from frontier.politeness import Ending, Outcome
from frontier.queue import Frontier
from frontier.store import FrontierLost, FrontierUnavailable

log = logging.getLogger(__name__)

_FIRST_REST: Final = 1.0
_LONGEST_REST: Final = 30.0
_BEATS_PER_LEASE: Final = 4


@dataclass(frozen=True, slots=True)
class Visitors:
    """Who can be sent: always a plain one, and a ghost when the job wants any."""

    plain: Visitor
    ghost: Visitor | None = None


@dataclass(slots=True)
class Tally:
    """What a worker did: visits by visitor, endings, and URLs given back by reason."""

    visits: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    given_back: Counter[str] = field(default_factory=Counter)

    def as_json(self) -> Mapping[str, Mapping[str, int]]:
        """For a status line."""
        return {"visits": dict(self.visits), "endings": dict(self.endings), "given_back": dict(self.given_back)}


class Worker:
    """Visits what a frontier hands out, several URLs at once, until there is nothing more or it is told to stop."""

    def __init__(
        self,
        frontier: Frontier,
        visitors: Visitors,
        rules: Rules,
        *,
        name: str,
        stop: threading.Event,
        heartbeat: Heartbeat,
        log_dir: str | None = None,
    ) -> None:
        self.tally = Tally()
        self._frontier = frontier
        self._job = frontier.job
        self._visitors = visitors
        self._rules = rules
        self._name = name
        self._stop = stop
        self._heartbeat = heartbeat
        self._log_dir = log_dir
        self._crawl_log = CrawlLog(Path(log_dir)) if log_dir else None
        self._lock = threading.Lock()

    def run(self, concurrency: int) -> Tally:
        """Work until the job is finished or stopped. Raises FrontierLost when the frontier forgot the job."""
        with ThreadPoolExecutor(concurrency, thread_name_prefix=self._name) as threads:
            loops = [threads.submit(self._loop, f"{self._name}-{number}") for number in range(concurrency)]
        for loop in loops:
            loop.result()
        return self.tally

    def _loop(self, name: str) -> None:
        rest = _FIRST_REST
        while not self._stop.is_set():
            try:
                claim = self._frontier.claim(name)
            except FrontierUnavailable as error:
                log.warning("worker %s got no answer to its claim: %s", name, error)
                self._stop.wait(rest)
                rest = min(rest * 2, _LONGEST_REST)
                continue
            except FrontierLost:
                self._stop.set()  # the other loops can't do better
                raise
            match claim:
                case Lease():
                    trouble = self._serve(claim)
                    if trouble is None:
                        rest = _FIRST_REST
                    else:
                        self._stop.wait(min(max(rest, trouble), _LONGEST_REST))
                        rest = min(rest * 2, _LONGEST_REST)
                case Pause():
                    self._stop.wait(claim.seconds)
                case Finished() | Stopped():
                    return

    def _serve(self, lease: Lease) -> float | None:
        """One lease from beginning to end; seconds to rest when our own side is in trouble, else None."""
        if self._stop.is_set():
            self._give_back(lease, FleetUnavailable("stopping"))
            return None
        try:
            with self._heartbeat.holding(lease):
                self._visit(lease)
        except FleetUnavailable as trouble:
            self._give_back(lease, trouble)
            return None if trouble.may_be_the_page else trouble.retry_after or 0.0
        except FrontierUnavailable as error:
            log.warning("%s (try %d) is left until its lease is over: %s", lease.url, lease.attempt, error)
            return _FIRST_REST
        except FrontierLost:
            self._stop.set()  # the other loops can't do better
            raise
        except Exception:
            # This loop owns the URL: whatever a page made our code do, the URL goes back and the others go on.
            log.exception("visit of %s (try %d) failed unexpectedly", lease.url, lease.attempt)
            self._give_back(lease, FleetUnavailable("unexpected", may_be_the_page=True))
        return None

    def _visit(self, lease: Lease) -> None:
        order = self._order(lease)
        ruling = self._rules.ruling(lease, order)
        if ruling.code is not None:
            self._rule_out(lease, ruling)
            return
        visitor = self._visitor_for(lease)
        visit = visitor.visit(order)
        with self._lock:
            self.tally.visits[visitor.name] += 1
        self._persist(lambda: self._frontier.mark_seen(visit.fetched))
        candidates = [lease.candidate(link.url, link.hop) for link in visit.links]
        self._persist(lambda: self._frontier.add(candidates, lease))
        self._finish(lease, _outcome(visit, ruling))

    def _rule_out(self, lease: Lease, ruling: Ruling) -> None:
        """Ends a URL that was never asked for: the proxy has no line of it, so the crawl log gets one from here."""
        code = ruling.code if ruling.code is not None else crawl_log.ROBOTS
        ending = self._finish(lease, Outcome(code, crawl_delay_seconds=ruling.crawl_delay_seconds))
        if self._crawl_log is not None and ending in (Ending.EXCLUDED, Ending.FAILED):
            line = LogLine(
                time=now_micros(),
                code=code,
                size=None,
                url=lease.url,
                hop_path=lease.hop_path,
                via=lease.via or "",
                source=lease.source or "",
            )
            self._crawl_log.append([line.text()])

    def _finish(self, lease: Lease, outcome: Outcome) -> Ending:
        ending = self._persist(lambda: self._frontier.finish(lease, outcome))
        with self._lock:
            self.tally.endings[ending.value or "stale"] += 1
        return ending

    def _give_back(self, lease: Lease, trouble: FleetUnavailable) -> None:
        log.warning("%s (try %d) given back: %s", lease.url, lease.attempt, trouble.reason)
        with self._lock:
            self.tally.given_back[trouble.reason] += 1
        counts = trouble.may_be_the_page
        self._persist(
            lambda: self._frontier.give_back(lease, trouble.reason, retry_after=trouble.retry_after, counts=counts)
        )

    def _persist[T](self, step: Callable[[], T]) -> T:
        """A step of the frontier, tried until it works: what was fetched shall not be fetched again for a short
        absence of Redis. When the worker is told to stop meanwhile, the lease is left to run out."""
        rest = _FIRST_REST
        while True:
            try:
                return step()
            except FrontierUnavailable as error:
                if self._stop.is_set():
                    raise
                log.warning("the frontier did not take it, trying again in %.0f s: %s", rest, error)
                self._stop.wait(rest)
                rest = min(rest * 2, _LONGEST_REST)

    def _visitor_for(self, lease: Lease) -> Visitor:
        profile, ghost = self._job.profile, self._visitors.ghost
        if ghost is not None and wants_ghost(lease.url, lease.hop_path, profile.visitor, profile.rendered_fraction):
            return ghost
        return self._visitors.plain

    def _order(self, lease: Lease) -> VisitOrder:
        return VisitOrder(
            url=lease.url,
            collection=self._job.collection,
            job=self._job.name,
            hop_path=lease.hop_path,
            via=lease.via,
            source=lease.source,
            log_dir=self._log_dir,
        )


def run_worker(
    settings: Settings,
    *,
    job: str,
    proxy: str,
    controls: Sequence[str],
    redis_url: str,
    name: str,
    concurrency: int,
    stop: threading.Event,
    log_dir: str | None = None,
) -> Tally:
    """Visits what the frontier has for `job` until it is finished or stopped, or `stop` is set; what was done.

    `proxy` is the fleet's host:port, `controls` are the control ports of its processes, `log_dir` the folder of the
    job's crawl.log. After `stop`, visits going on are ended well and no new ones begun. Raises BrowserMissing,
    FrontierLost, FrontierUnavailable, and FleetUnavailable when the proxy's home can't be read.
    """
    frontier = Frontier.of(redis_url, job, settings.frontier, timeout_seconds=settings.redis.timeout_seconds)
    profile = frontier.job.profile
    agent = profile.user_agent or settings.archive.user_agent
    obey = (profile.robots or settings.frontier.robots) == "obey"
    token = read_token(settings.home)
    with ExitStack() as at_the_end:
        at_the_end.callback(frontier.close)
        ports = [at_the_end.enter_context(Control(address, token)) for address in controls]
        plain = PlainVisitor(settings, ports, user_agent=agent, connections=concurrency)
        at_the_end.callback(plain.close)
        visitors = Visitors(plain, None if profile.visitor == "plain" else _ghost(settings, ports, proxy, at_the_end))
        rules = Rules(frontier, plain, agent, obey=obey)
        beat_seconds = settings.frontier.lease_seconds / _BEATS_PER_LEASE
        heartbeat = at_the_end.enter_context(Heartbeat(frontier.renew, beat_seconds))
        worker = Worker(frontier, visitors, rules, name=name, stop=stop, heartbeat=heartbeat, log_dir=log_dir)
        log.info("worker %s: job %s, visitor %s, %d at once", name, job, profile.visitor, concurrency)
        tally = worker.run(concurrency)
    log.info("worker %s: job %s, ended: %s", name, job, compact_json(tally.as_json()))
    return tally


def _ghost(settings: Settings, controls: Sequence[Control], proxy: str, at_the_end: ExitStack) -> Visitor:
    """A ghost that is closed at the end, its browser started: one that can't start must not take URLs.

    Playwright is loaded only where there are any.
    """
    from browsers.chromium import ChromiumVisitor

    ghost = ChromiumVisitor(settings, controls, authority(settings.home, proxy))
    at_the_end.callback(ghost.close)
    ghost.open()
    return ghost


def _outcome(visit: Visit, ruling: Ruling) -> Outcome:
    """The visit as the frontier counts it."""
    redirect = next((link.url for link in visit.links if link.hop == "R"), None)
    return Outcome(
        code=visit.code,
        bytes=visit.bytes,
        duration_ms=visit.duration_ms,
        crawl_delay_seconds=ruling.crawl_delay_seconds,
        retry_after_seconds=visit.retry_after,
        redirect=redirect,
    )
