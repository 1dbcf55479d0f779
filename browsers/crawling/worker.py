"""The worker's loop claims a URL, asks robots.txt, visits the URL, adds its links, and finishes it.

The links are added before the URL is finished. The URL is finished after its captures are durable. A worker that dies
costs a second visit, and nothing is lost.

A render worker does the same with the job's queue of renders (`frontier.renders`), and all its visits are a ghost's.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from archive import crawl_log
from archive.crawl_log import CrawlLog, LogLine
from archive.dates import now_micros
from archive.json_text import compact_json
from archive.settings import BrowserSettings, LogSettings
from archive.settings.load import Settings
from browsers.crawling.heartbeat import LeaseHeartbeat
from browsers.crawling.lease_exchange import LeaseExchange
from browsers.crawling.missing_pages import MissingPages
from browsers.engines.interface import BrowserMissing
from browsers.links.headers import REDIRECTS
from browsers.logins.login_book import LoginBook
from browsers.logins.profile_store import ProfileStore, ProfileUnusable
from browsers.plain.chain_cookies import ChainCookies
from browsers.plain.job_cookies import JobCookies
from browsers.plain.own_redirects import OwnRedirects
from browsers.plain.robots_rules import RobotsDecision, RobotsRules
from browsers.plain.visitor import PlainVisitor, RequestLogins
from browsers.proxying.control_client import Control, SessionRequest, check_session, read_token
from browsers.visit import (
    FleetMisconfigured,
    FleetUnavailable,
    FoundLink,
    OwnHeaders,
    Visit,
    Visitor,
    VisitOrder,
)
from browsers.visitor_choice import VisitKind, is_embed, needs_ghost, visit_kind
from frontier.definition.job import BEHAVIOR_FOLDER, Profile
from frontier.definition.rules.kinds import FetchedAnswer
from frontier.definition.scope import CHAINS, REDIRECT_CHAIN, Candidate, Rejected, ScopeDecision, is_embedded
from frontier.lease import MAX_LOST, JobFinished, JobStopped, Lease, Pause
from frontier.lease_queue import LeaseQueue
from frontier.links.log import LinkLog
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.queue import Frontier
from frontier.shards import frontier_of
from frontier.store import FrontierLost, FrontierUnavailable

log = logging.getLogger(__name__)

_FIRST_REST: Final = 1.0
_LONGEST_REST: Final = 30.0
_BEATS_PER_LEASE: Final = 4
_DOCUMENTS: Final = frozenset({"text/html", "application/xhtml+xml"})
"""Media types of pages."""
REJECTED_ANSWER: Final = "links-rejected:"
"""The annotation of an answer that a rule rejects begins so, and the rule's reason follows. No link is followed."""
_PARTS: Final = ("E", "X")
"""Hops to what a browser loads together with a page."""


@dataclass(frozen=True, slots=True)
class Visitors:
    """A job has a plain visitor, and a ghost when its profile needs one."""

    plain: Visitor
    ghost: Visitor | None = None


@dataclass(slots=True)
class WorkerTally:
    """The tally of a worker counts visits by visitor, endings, and returned URLs by reason."""

    visits: Counter[str] = field(default_factory=Counter)
    endings: Counter[str] = field(default_factory=Counter)
    given_back: Counter[str] = field(default_factory=Counter)
    details: dict[str, str] = field(default_factory=dict)
    """The proxy's own words about the last returned URL, by reason."""

    def as_json(self) -> Mapping[str, Mapping[str, int | str]]:
        """Return the counts for a status line."""
        counts = {"visits": dict(self.visits), "endings": dict(self.endings), "given_back": dict(self.given_back)}
        return {**counts, **({"reasons": dict(self.details)} if self.details else {})}


class Worker:
    """The worker visits URLs of a frontier, several at once, until the job ends or the worker is stopped."""

    def __init__(
        self,
        frontier: Frontier,
        visitors: Visitors,
        rules: RobotsRules,
        *,
        name: str,
        stop: threading.Event,
        heartbeat: LeaseHeartbeat,
        log_dir: str | None = None,
        pages: BrowserSettings | None = None,
        renders: bool = False,
        logs: LogSettings | None = None,
    ) -> None:
        """Start nothing yet. With `renders`, the worker takes the job's queue of renders, and needs a ghost."""
        self.tally = WorkerTally()
        self._frontier = frontier
        self._queue: LeaseQueue = frontier.renders if renders else frontier
        self._exchange = LeaseExchange(self._queue, self._note_rejected)
        self._renders = renders
        self._job = frontier.job
        self._visitors = visitors
        self._rules = rules
        self._name = name
        self._stop = stop
        self._heartbeat = heartbeat
        self._log_dir = log_dir
        self._pages = pages or BrowserSettings()
        logs = logs or LogSettings()
        self._crawl_log = CrawlLog(Path(log_dir), rotate_bytes=logs.rotate_bytes) if log_dir else None
        if log_dir and logs.links == "on":
            frontier.link_log = LinkLog(Path(log_dir), logs)
        self._lock = threading.Lock()
        self._cookies = JobCookies(frontier, is_on=frontier.job.profile.cookies == "job" and not renders)
        self._own_redirects = OwnRedirects(frontier, rules, stop, self._cookies)
        self._missing = MissingPages(frontier, rules, stop, self._note_check) if self._pages.soft_404_check else None

    def run(self, concurrency: int) -> WorkerTally:
        """Work until the job is finished or stopped. Raises FrontierLost when the frontier has lost the job."""
        with ThreadPoolExecutor(concurrency, thread_name_prefix=self._name) as threads:
            loops = [threads.submit(self._loop, f"{self._name}-{number}") for number in range(concurrency)]
        for loop in loops:
            loop.result()
        return self.tally

    def _loop(self, name: str) -> None:
        try:
            self._serve_claims(name)
        finally:
            unused = self._exchange.reserved(name)
            if isinstance(unused, Lease):
                self._give_back(unused, FleetUnavailable("stopping"))

    def _serve_claims(self, name: str) -> None:
        rest = _FIRST_REST
        while not self._stop.is_set():
            try:
                claim = self._exchange.claim(name)
            except FrontierUnavailable as error:
                log.warning("worker %s could not claim a URL: %s", name, error)
                self._stop.wait(rest)
                rest = min(rest * 2, _LONGEST_REST)
                continue
            except FrontierLost:
                self._stop.set()  # the other loops would fail, too
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
                case JobFinished() | JobStopped():
                    return

    def _serve(self, lease: Lease) -> float | None:
        """Serve one lease. Return the seconds to wait when our side has a problem, else None."""
        if self._stop.is_set():
            self._give_back(lease, FleetUnavailable("stopping"))
            return None
        try:
            with self._heartbeat.holding(lease):
                self._visit(lease)
        except FleetMisconfigured as trouble:
            self._stop.set()  # the other loops would fail, too
            self._give_back(lease, trouble)
            raise
        except FleetUnavailable as trouble:
            self._handle_trouble(lease, trouble)
            return None if trouble.may_be_the_page else trouble.retry_after or 0.0
        except FrontierUnavailable as error:
            log.warning("%s (try %d) waits until its lease expires: %s", lease.url, lease.attempt, error)
            return _FIRST_REST
        except FrontierLost:
            self._stop.set()  # the other loops would fail, too
            raise
        except Exception:
            # A page may cause any error in our code. The URL is given back, and the loop continues.
            log.exception("visit of %s (try %d) failed unexpectedly", lease.url, lease.attempt)
            self._give_back(lease, FleetUnavailable("unexpected", may_be_the_page=True))
        return None

    def _visit(self, lease: Lease) -> None:
        if lease.lost >= MAX_LOST:
            self._set_aside(lease)
            return
        order = self._order(lease)
        decision = self._rules.decide(lease, order)
        if decision.code is not None:
            self._exclude(lease, decision)
            return
        if (out := self._persist(lambda: self._frontier.rejected_by_addresses(lease))) is not None:
            self._end_rejected(lease, out)
            return
        kind = self._kind_of(lease)
        ghost = self._visitors.ghost
        visitor = ghost if kind is VisitKind.GHOST and ghost is not None else self._visitors.plain
        visit, reached = visitor.visit(order), lease
        if visitor is self._visitors.plain and visit.code in REDIRECTS:
            reached, visit = self._own_redirects.followed(lease, order, visit, visitor)
        if kind is VisitKind.PLAIN and visit.is_made_by_xslt:
            kind = self._kind_of(lease, is_known_page=True)
            if kind is VisitKind.GHOST and ghost is not None:
                visitor, visit = ghost, _with_links(ghost.visit(order), visit.links)
        if self._missing is not None:
            visit = self._missing.checked(lease, order, visit, visitor)
        visit = self._cookies.without_known(visit, order.cookies)
        self._persist(lambda: self._cookies.keep(reached.url, visit))
        with self._lock:
            self.tally.visits[visitor.name] += 1
        self._persist(lambda: self._frontier.mark_seen(visit.fetched))
        answer = FetchedAnswer(visit.code, visit.content_type, visit.bytes)
        unwanted = self._persist(lambda: self._frontier.rejected_by_answer(reached, answer))
        is_rendered_later = kind is VisitKind.PLAIN_AND_RENDER and _can_be_rendered(visit) and unwanted is None
        left_hops = _PARTS if is_rendered_later else ()
        links = _links(visit) if unwanted is None else ()
        candidates = [_candidate(reached, link, visit) for link in links if link.hop not in left_hops]
        added = self._persist(lambda: self._frontier.add(candidates, lease))
        changes = [(link.url, link.changed) for link in links if link.changed is not None]
        if changes:
            self._persist(lambda: self._frontier.note_changes(changes))
        if is_rendered_later:
            embeds = [reached.candidate(link.url, link.hop) for link in links if link.hop in left_hops]
            self._leave_to_render(lease, embeds, len(added))
        rejected = (f"{REJECTED_ANSWER}{unwanted.reason}",) if unwanted is not None else ()
        notes = (*visit.annotations, *self._ended_chains(lease, visit, added), *rejected)
        if notes:
            self._note(lease, visit.code, *notes, mime=visit.content_type, annotates=True)
        trouble = next((note for note in visit.annotations if self._is_tried_again(lease, note)), None)
        if trouble is not None:
            self._give_back(lease, FleetUnavailable(trouble, may_be_the_page=True))
        else:
            # A part of a page that does not end is not tried again.
            is_last = visit.code == crawl_log.TIMEOUT and is_embed(lease.hop_path)
            outcome = replace(_outcome(visit, decision, lease.hop_path), is_last=is_last)
            if self._renders:  # the page was counted when the plain crawler fetched it
                outcome = replace(outcome, is_document=False, fetched=visit.fetched)
            self._finish(lease, outcome)

    def _leave_to_render(self, lease: Lease, embeds: Sequence[Candidate], links: int) -> None:
        """Queue the render of a page from which so many links were taken, and leave its embeds to the render.

        A page that is visited a second time is not rendered again. Then its new embeds are queued for a plain visit.
        """
        if not self._persist(lambda: self._frontier.renders.add(lease, embeds, links=links)):
            most = max(self._frontier.max_links(lease.url) - links, 0)
            self._persist(lambda: self._frontier.add(embeds[:most], lease))

    def _ended_chains(self, lease: Lease, visit: Visit, added: Sequence[ScopeDecision]) -> Sequence[str]:
        """Return the annotations about links that were not taken since their chain is too long.

        A chain that a browser ended is counted here, as its next URL never reached the frontier.
        """
        reasons = {decision.reason for decision in added if isinstance(decision, Rejected)}
        if REDIRECT_CHAIN in visit.annotations:
            ended = [Rejected(lease.candidate(lease.url, "R"), REDIRECT_CHAIN, "in a browser")]
            self._persist(lambda: self._frontier.note_rejected(ended))
        return sorted(reasons.intersection(CHAINS.values()).difference(visit.annotations))

    def _is_tried_again(self, lease: Lease, note: str) -> bool:
        """Return whether the settings let a page be tried again after this problem or flaw."""
        family, _, rest = note.partition(":")
        is_known = family in ("ghost", "page") and rest.partition(":")[0] in self._pages.retry_for
        return is_known and lease.attempt <= self._pages.retry_pages

    def _exclude(self, lease: Lease, decision: RobotsDecision) -> None:
        """End a URL without a visit, with a line in the crawl log, since the proxy writes none."""
        code = decision.code if decision.code is not None else crawl_log.ROBOTS
        ending = self._finish(lease, VisitOutcome(code, crawl_delay_seconds=decision.crawl_delay_seconds))
        if ending in (LeaseEnding.EXCLUDED, LeaseEnding.FAILED):
            self._note(lease, code)

    def _end_rejected(self, lease: Lease, out: Rejected) -> None:
        """End a URL without a visit, since a rule rejects the addresses of its host."""
        log.info("%s is not visited: %s (%s)", lease.url, out.reason, out.rule)
        if self._finish(lease, VisitOutcome(crawl_log.OUT_OF_SCOPE)) is LeaseEnding.EXCLUDED:
            self._note_rejected(lease, out)

    def _note_rejected(self, lease: Lease, out: Rejected) -> None:
        self._note(lease, crawl_log.OUT_OF_SCOPE, f"rejected:{out.reason}")

    def _set_aside(self, lease: Lease) -> None:
        """End a URL that lost several workers, since the URL may be the reason."""
        log.warning("%s failed without a visit, since %d workers were lost with it", lease.url, lease.lost)
        if self._finish(lease, VisitOutcome(crawl_log.SERIOUS)) is LeaseEnding.FAILED:
            self._note(lease, crawl_log.SERIOUS, f"workers-lost:{lease.lost}")

    def _note(self, lease: Lease, code: int, *annotations: str, mime: str = "", annotates: bool = False) -> None:
        """Write a line of crawl.log about something that the proxy does not know.

        With `annotates`, another line of the same URL comes from the proxy or a later try. Reports take the annotations
        of this line and do not count it.
        """
        if self._crawl_log is None:
            return
        line = LogLine(
            time=now_micros(),
            code=code,
            size=None,
            url=lease.url,
            hop_path=lease.hop_path,
            via=lease.via or "",
            source=lease.source or "",
            mime=mime,
            annotations=annotations if annotates else (*crawl_log.try_notes(lease.attempt), *annotations),
            extra={crawl_log.ANNOTATES: True} if annotates else {},
        )
        self._crawl_log.append([line.text()])

    def _note_check(self, lease: Lease, code: int, annotation: str) -> None:
        """Write a line of crawl.log about a URL that was asked for as a check."""
        self._note(lease, code, annotation, annotates=True)

    def _finish(self, lease: Lease, outcome: VisitOutcome) -> LeaseEnding:
        ending = self._persist(
            lambda: self._exchange.finish(lease, outcome, claims_next=not self._stop.is_set()),
        )
        with self._lock:
            self.tally.endings[ending.value or "stale"] += 1
        return ending

    def _handle_trouble(self, lease: Lease, trouble: FleetUnavailable) -> None:
        """Give a URL back after a problem on our side, or end it when its page caused too many problems."""
        if trouble.trouble is not None:
            is_tried_again = self._is_tried_again(lease, trouble.trouble)
            self._note(lease, crawl_log.RUNTIME, trouble.trouble, annotates=is_tried_again)
            if not is_tried_again:
                with self._lock:
                    self.tally.given_back[trouble.reason] += 1
                self._finish(lease, VisitOutcome(crawl_log.RUNTIME))
                return
        self._give_back(lease, trouble)

    def _give_back(self, lease: Lease, trouble: FleetUnavailable) -> None:
        log.warning("%s (try %d) was given back: %s", lease.url, lease.attempt, trouble)
        with self._lock:
            self.tally.given_back[trouble.reason] += 1
            if trouble.detail:
                self.tally.details[trouble.reason] = trouble.detail
        counts = trouble.may_be_the_page
        self._persist(
            lambda: self._queue.give_back(lease, str(trouble), retry_after=trouble.retry_after, counts=counts)
        )

    def _persist[T](self, step: Callable[[], T]) -> T:
        """Call the frontier until it answers, and return the answer, so that a short outage of Redis costs no second
        visit.

        When the worker is stopped, the lease is left to expire.
        """
        rest = _FIRST_REST
        while True:
            try:
                return step()
            except FrontierUnavailable as error:
                if self._stop.is_set():
                    raise
                log.warning("the frontier did not answer; the next try is in %.0f s: %s", rest, error)
                self._stop.wait(rest)
                rest = min(rest * 2, _LONGEST_REST)

    def _kind_of(self, lease: Lease, *, is_known_page: bool = False) -> VisitKind:
        if self._renders:
            return VisitKind.GHOST
        kind = visit_kind(lease.url, lease.hop_path, self._frontier.sheets, is_known_page=is_known_page)
        return VisitKind.PLAIN if kind is VisitKind.GHOST and self._visitors.ghost is None else kind

    def _order(self, lease: Lease) -> VisitOrder:
        return VisitOrder(
            url=lease.url,
            collection=self._job.collection,
            job=self._job.name,
            hop_path=lease.hop_path,
            via=lease.via,
            source=lease.source,
            log_dir=self._log_dir,
            cookies=self._cookies.before(lease.url, lease.cookies),
            attempt=lease.attempt,
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
    renders: bool = False,
) -> WorkerTally:
    """Visit the URLs of `job` until it is finished or stopped, or `stop` is set. Return the tally.

    With `renders`, visit the pages in the job's queue of renders instead.

    `proxy` is the host:port of the fleet. `controls` are the control ports of its processes. `log_dir` is the folder of
    the job's crawl.log. After `stop`, current visits are finished and no new ones begin. Raises BrowserMissing,
    FrontierLost, FrontierUnavailable, JobError when a list file of the job's rules can't be used, and FleetUnavailable
    when the proxy's home can't be read, or when the proxy refuses the worker.
    """
    frontier = frontier_of(redis_url, job, settings.frontier, timeout_seconds=settings.redis.timeout_seconds)
    frontier.load_lists()
    profile = frontier.job.profile
    settings = _with_check(settings, profile)
    agent = profile.user_agent or settings.archive.user_agent
    own = OwnHeaders(profile.headers, profile.unrecorded_headers)
    token = read_token(settings.home)
    with ExitStack() as at_the_end:
        at_the_end.callback(frontier.close)
        ports = [at_the_end.enter_context(Control(address, token)) for address in controls]
        for port in ports:
            check_session(port, SessionRequest(frontier.job.collection, frontier.job.name, log_dir=log_dir))
        has_ghost = renders or needs_ghost(frontier.sheets)
        logins = _logins(settings, profile)
        sent = _plain_login(logins) if logins else None
        guesses = profile.guessed_links == "on"
        plain = PlainVisitor(
            settings,
            ports,
            user_agent=agent,
            headers=own,
            login=sent,
            connections=concurrency,
            digests=frontier.visits_again,
            guesses=guesses,
            cookies=profile.cookies,
        )
        at_the_end.callback(plain.close)
        ghost = None
        if has_ghost:
            ghost = _ghost(_for_job(settings, profile), ports, proxy, own, logins, at_the_end)
        visitors = Visitors(plain, ghost)
        robots = RobotsRules(
            frontier,
            plain,
            agent,
            obey=settings.frontier.robots == "obey",
            # An operator may edit the profile while the job runs.
            own=lambda url: frontier.sheets.values_for(url).robots or frontier.job.profile.robots,
        )
        queue = frontier.renders if renders else frontier
        beat_seconds = settings.frontier.lease_seconds / _BEATS_PER_LEASE
        heartbeat = at_the_end.enter_context(LeaseHeartbeat(queue.renew, beat_seconds))
        worker = Worker(
            frontier,
            visitors,
            robots,
            name=name,
            stop=stop,
            heartbeat=heartbeat,
            log_dir=log_dir,
            pages=settings.browsers,
            renders=renders,
            logs=settings.logs,
        )
        visits = "renders" if renders else profile.visitor
        log.info("worker %s begins: job %s, visitor %s, %d visits at once", name, job, visits, concurrency)
        tally = worker.run(concurrency)
    log.info("worker %s has ended: job %s, %s", name, job, compact_json(tally.as_json()))
    return tally


def _with_check(settings: Settings, profile: Profile) -> Settings:
    """Return the settings with what the job's profile says of the check for soft 404s, which all visitors make."""
    if profile.soft_404_check is None:
        return settings
    browsers = settings.browsers.model_copy(update={"soft_404_check": profile.soft_404_check == "on"})
    return settings.model_copy(update={"browsers": browsers})


def _for_job(settings: Settings, profile: Profile) -> Settings:
    """Return the settings with what the job's profile says of ghosts."""
    scripts = profile.behavior_scripts
    values: Mapping[str, object] = {
        "engine": profile.engine,
        "user_agent": profile.user_agent or None,
        "behaviors": profile.behaviors,
        "behavior_seconds": profile.behavior_seconds,
        "second_device": profile.second_device,
        "service_workers": profile.service_workers,
        "storage": profile.browser_storage,
        "cache": profile.browser_cache,
        **profile.device.browser_settings,
        # A curator may write the profile, who has no right to the other files of this machine.
        "behavior_scripts": scripts and tuple(str(settings.home / BEHAVIOR_FOLDER / name) for name in scripts),
    }
    update = {name: value for name, value in values.items() if value is not None}
    browsers = settings.browsers.model_copy(update=update)
    if browsers.cache == "site" and browsers.engine != "chromium":
        browsers = _without_cache(browsers, profile)
    return settings.model_copy(update={"browsers": browsers})


def _without_cache(browsers: BrowserSettings, profile: Profile) -> BrowserSettings:
    """Return the settings of a job with an engine that can't keep the cache of a site.

    Raises BrowserMissing when the job's profile asks for the cache. The setting is for jobs with Chromium.
    """
    if profile.browser_cache == "site":
        raise BrowserMissing(
            "profile key browser_cache = 'site' can't be used with browsers.engine = "
            f"{browsers.engine!r}, which keeps no cache of a site; write browser_cache: cold, or engine: chromium"
        )
    log.warning("browsers.cache = site does not hold for this job, since %s keeps no cache of a site", browsers.engine)
    return browsers.model_copy(update={"cache": "cold"})


def _ghost(
    settings: Settings,
    controls: Sequence[Control],
    proxy: str,
    headers: OwnHeaders,
    logins: LoginBook,
    at_the_end: ExitStack,
) -> Visitor:
    """Return a started ghost, which is closed at the end. A ghost that can't start must not claim URLs.

    The ghost's modules are imported only here, since most jobs do not need them.
    """
    from browsers.engines.choice import proxy_trust
    from browsers.ghosts.ghost import Ghost

    ghost = Ghost(settings, controls, proxy_trust(settings.home, proxy), headers, logins=logins)
    at_the_end.callback(ghost.close)
    ghost.open()
    return ghost


def _logins(settings: Settings, profile: Profile) -> LoginBook:
    """Return the stored logins that the job's profile names. Raises FleetUnavailable."""
    store, everywhere = ProfileStore(settings.home), profile.browser_profile
    try:
        return LoginBook(store.load(everywhere) if everywhere else None, [store.load(name) for name in profile.logins])
    except ProfileUnusable as error:
        log.error("%s", error)
        raise FleetUnavailable("no-browser-profile") from error


def _plain_login(logins: LoginBook) -> RequestLogins:
    """Return the logins for the plain crawler, whose module is imported only here, since most jobs have no login."""
    from browsers.logins.plain_login import PlainLogin

    return PlainLogin(logins)


def _outcome(visit: Visit, decision: RobotsDecision, hop_path: str) -> VisitOutcome:
    """Return the outcome of the visit for the frontier."""
    redirect = next((link.url for link in visit.links if link.hop == "R"), None)
    return VisitOutcome(
        code=visit.code,
        bytes=visit.bytes,
        duration_ms=visit.duration_ms,
        crawl_delay_seconds=decision.crawl_delay_seconds,
        retry_after_seconds=visit.retry_after,
        redirect=redirect,
        is_document=is_document(visit, hop_path),
        urls=1 + len(visit.fetched),
        digest=visit.digest,
    )


def _links(visit: Visit) -> Sequence[FoundLink]:
    """Return the links of the visit, without those to the target of its redirect.

    A page that repeats the target as a link, for people without automatic redirects, must not begin a chain anew.
    """
    targets = {link.url for link in visit.links if link.hop == "R"}
    return [link for link in visit.links if link.hop == "R" or link.url not in targets] if targets else visit.links


def _candidate(lease: Lease, link: FoundLink, visit: Visit) -> Candidate:
    """Return the candidate of a link. The target of a redirect takes the cookies of its chain."""
    candidate = lease.candidate(link.url, link.hop)
    if link.hop != "R" or not visit.cookies:
        return candidate
    return replace(candidate, cookies=visit.cookies, force=ChainCookies.read(visit.cookies).may_revisit)


def _with_links(visit: Visit, links: Sequence[FoundLink]) -> Visit:
    """Return the visit of a browser with further links, of the same page as the plain crawler read it."""
    fetched = set(visit.fetched)
    return replace(visit, links=(*visit.links, *(link for link in links if link.url not in fetched)))


def _can_be_rendered(visit: Visit) -> bool:
    """Return whether a render can follow this plain visit: the site answered with a page, and with no error."""
    return 200 <= visit.code < 300 and (visit.content_type in _DOCUMENTS or visit.is_made_by_xslt)


def is_document(visit: Visit, hop_path: str) -> bool:
    """Return whether the visit brought a document that was navigated to, and not a part of another page."""
    return (
        visit.code >= 200
        and not 300 <= visit.code < 400
        and visit.content_type in _DOCUMENTS
        and not (is_embedded(hop_path))
    )
