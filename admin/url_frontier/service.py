"""The calls of URLFrontier's interface, over the frontier of one job.

A queue of the interface is a host of ours, and the crawl is the job. A URL that GetURLs hands out is leased, for as
long as the client asks. PutURLs ends the lease when the URL comes back as a known item. A URL whose lease expires goes
back into its queue. The politeness of the job decides when a host has a URL, so that a client gets at most
`frontier.per_host` URLs of a host before it sends one back.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from itertools import count, islice
from time import time
from typing import Final, NoReturn, Protocol

from admin.url_frontier import urlfrontier_pb2 as messages
from admin.url_frontier.items import candidate_of, info, info_of, is_seed, outcome_of
from archive.settings.urlfrontier import UrlFrontierSettings
from archive.url import UrlError, canonical, host_of
from frontier.control import FOREVER_SECONDS
from frontier.definition.job import Seed
from frontier.definition.scope import Accepted, Rejected, ScopeDecision
from frontier.lease import Lease
from frontier.outside_queues import OutsideUrlState
from frontier.queue import Frontier
from frontier.reports import UrlState
from frontier.store import FrontierLost, FrontierUnavailable, latest_run

logger = logging.getLogger(__name__)

WORKERS: Final = "urlfrontier-"
"""The names of all workers of this service begin so. Their leases can be ended by any client."""
DEFAULT_CRAWL: Final = "DEFAULT"
_LEASE_SECONDS: Final = 30
"""The lease of a client that names no time, as in the service of URLFrontier itself."""
_MOST_LEASE_SECONDS: Final = 86_400
_MOST_SPARE: Final = 32
"""Leases that one call may take and give back, because their hosts have enough URLs for this call."""
_CLAIMED_AT_ONCE: Final = 32
"""URLs that one step claims for a call."""
_PAGE: Final = 100
_MOST_PAGE: Final = 10_000
_LOOKED_AT: Final = 1_000
"""The number of URLs between two looks whether the client is still there."""
_HOST: Final = re.compile(r"[^\s/?#@\x00-\x1f\x7f]{1,260}")
_DELETED: Final = "deleted by a client of URLFrontier"
_PAUSED: Final = "paused by a client of URLFrontier"
_ALL: Final[tuple[UrlState, ...]] = ("queued", "leased", "failed", "excluded")

OK: Final = messages.AckMessage.OK
SKIPPED: Final = messages.AckMessage.SKIPPED
FAIL: Final = messages.AckMessage.FAIL


class CallRefused(Exception):
    """A call can't be carried out. `code` is the name of a status of gRPC."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class CallContext(Protocol):
    """The context of a call tells whether the client still waits for answers."""

    def is_active(self) -> bool:
        """Return whether the call goes on."""


class FrontierService:
    """The service has one method for each call. It is safe to share between threads."""

    def __init__(self, job: str, frontier: Frontier, settings: UrlFrontierSettings, address: str = "") -> None:
        self._job = job
        self._frontier = frontier
        self._settings = settings
        self.address = address
        self._threads = threading.local()
        self._numbers = count(1)
        self._machine = f"{WORKERS}{socket.gethostname()}-{os.getpid()}"

    # -- URLs

    def GetURLs(self, asked: messages.GetParams, context: CallContext) -> Iterator[messages.URLInfo]:
        """Lease URLs and yield them. The call ends when no further URL may be visited now."""
        self._check_crawl(asked.crawlID)
        key = self._host(asked.key) if asked.key else ""
        seconds = min(asked.delay_requestable or _LEASE_SECONDS, _MOST_LEASE_SECONDS)
        # Politeness hands out no more URLs of a host at a time.
        per_queue = min(asked.max_urls_per_queue or _MOST_PAGE, self._frontier.politeness.per_host)
        most_queues = (1 if key else asked.max_queues) or self._settings.most_urls
        if key:
            self._frontier.sweep()  # an expired lease would keep the host from being looked at
        given = Counter[str]()
        spare: list[Lease] = []
        claimed: list[Lease] = []
        full_queues = number = 0
        try:
            while number < self._settings.most_urls and len(spare) < _MOST_SPARE and full_queues < most_queues:
                if not context.is_active():
                    return
                if key and not self._frontier.outside.bring_forward(key, self._frontier.politeness.per_host):
                    return
                if not claimed:
                    left = min(self._settings.most_urls, most_queues * per_queue) - number
                    at_once = 1 if key else max(min(left, _MOST_SPARE - len(spare), _CLAIMED_AT_ONCE), 1)
                    workers = [f"{self._worker()}-{claim}" for claim in range(at_once)]
                    claims = self._frontier.exchange((), workers, lease_seconds=seconds).claims
                    claimed = [claim for claim in claims if isinstance(claim, Lease)]
                    if not claimed and None in claims:
                        continue
                    if not claimed:
                        return
                lease = claimed.pop(0)
                host = lease.host
                is_wanted = host == key if key else host in given or len(given) < most_queues
                if is_wanted and given[host] < per_queue:
                    given[host] += 1
                    number += 1
                    full_queues += given[host] == per_queue
                    yield info_of(lease, self._job)
                else:
                    spare.append(lease)
        finally:
            for lease in (*spare, *claimed):
                self._frontier.give_back(lease, "the client asked for other queues", counts=False)

    def PutURLs(self, items: Iterator[messages.URLItem], context: CallContext) -> Iterator[messages.AckMessage]:
        """Take discovered and known URLs, and acknowledge each of them."""
        for item in items:
            url = (item.known if item.WhichOneof("item") == "known" else item.discovered).info.url
            try:
                status = self._put(item)
            except FrontierUnavailable as error:
                logger.warning("%s is not taken, since the frontier does not answer: %s", url[:200], error)
                status = FAIL
            yield messages.AckMessage(ID=item.ID or url, status=status)

    def _put(self, item: messages.URLItem) -> messages.AckMessage.Status:
        match item.WhichOneof("item"):
            case "known":
                return self._put_known(item.known)
            case "discovered":
                return self._put_discovered(item.discovered.info)
            case _:
                return SKIPPED

    def _put_discovered(self, found: messages.URLInfo) -> messages.AckMessage.Status:
        if not self._is_crawl(found.crawlID):
            return self._skip(found.url, f"crawlID {found.crawlID[:100]!r} is not that of job {self._job}")
        decisions = self._add(found)
        match decisions[0] if decisions else None:
            case Accepted():
                return OK
            case Rejected(reason="seen"):
                return SKIPPED
            case Rejected(reason=reason, rule=rule):
                return self._skip(found.url, f"{reason} {rule}")
            case _:
                return self._skip(found.url, f"job {self._job} has ended its work")

    def _add(self, found: messages.URLInfo) -> list[ScopeDecision]:
        candidate = candidate_of(found)
        if not is_seed(found):
            return self._frontier.add([candidate], from_outside=True)
        try:
            return self._frontier.add_seeds([Seed(url=canonical(found.url))])
        except UrlError as error:
            return [Rejected(candidate, "no-url", str(error))]

    def _put_known(self, item: messages.KnownURLItem) -> messages.AckMessage.Status:
        found = item.info
        if not self._is_crawl(found.crawlID):
            return self._skip(found.url, f"crawlID {found.crawlID[:100]!r} is not that of job {self._job}")
        try:
            url = canonical(found.url)
        except UrlError as error:
            return self._skip(found.url, str(error))
        lease = self._frontier.outside.held_lease(url, WORKERS)
        if lease is None:
            return self._put_not_leased(url, item.refetchable_from_date)
        outcome = outcome_of(found, lease, self._frontier.outside.delay(lease.host))
        if item.refetchable_from_date:
            rest = min(max(item.refetchable_from_date - time(), 0), FOREVER_SECONDS)
            ending = self._frontier.visit_again(lease, outcome, rest)
        else:
            ending = self._frontier.finish(lease, outcome)
        return OK if ending else self._skip(url, "its lease has expired")

    def _put_not_leased(self, url: str, again: int) -> messages.AckMessage.Status:
        """Take a known URL that this service has not handed out, or whose lease is over."""
        state = self._frontier.outside.state(url)
        if state in (OutsideUrlState.QUEUED, OutsideUrlState.LEASED):
            return self._skip(url, "its lease has expired, and it is queued or visited again")
        if again:
            return self._skip(url, "this service has not handed it out; send it as discovered")
        if state is OutsideUrlState.UNKNOWN:
            self._frontier.mark_seen([url])
        return OK

    def GetURLStatus(self, asked: messages.URLStatusRequest, context: CallContext) -> messages.URLItem:
        """Return a known item for a URL that was seen, and a discovered one for a URL that waits for its visit."""
        self._check_crawl(asked.crawlID)
        try:
            url = canonical(asked.url)
        except UrlError as error:
            raise CallRefused("INVALID_ARGUMENT", f"url can't be used: {error}") from error
        state = self._frontier.outside.state(url)
        found = info(url, host_of(url), self._job, {"state": [state]})
        match state:
            case OutsideUrlState.UNKNOWN:
                raise CallRefused("NOT_FOUND", f"job {self._job} does not know {url[:500]}")
            case OutsideUrlState.QUEUED:
                return messages.URLItem(ID=url, discovered=messages.DiscoveredURLItem(info=found))
            case _:
                return messages.URLItem(ID=url, known=messages.KnownURLItem(info=found))

    def ListURLs(self, asked: messages.ListUrlParams, context: CallContext) -> Iterator[messages.URLItem]:
        """Yield queued, leased, failed and excluded URLs. Redis does not keep those that are done."""
        self._check_crawl(asked.crawlID)
        wanted = self._urls(asked.key, asked.filter, asked.ignoreCase, context)
        for url, state in islice(wanted, asked.start, asked.start + _page(asked.size)):
            found = info(url, host_of(url), self._job, {"state": [state]})
            if state == "queued":
                yield messages.URLItem(ID=url, discovered=messages.DiscoveredURLItem(info=found))
            else:
                yield messages.URLItem(ID=url, known=messages.KnownURLItem(info=found))

    def CountURLs(self, asked: messages.CountUrlParams, context: CallContext) -> messages.Long:
        """Return the number of accepted URLs; with a key or a filter, of those that ListURLs would yield."""
        self._check_crawl(asked.crawlID)
        if not asked.key and not asked.filter:
            return messages.Long(value=self._frontier.reports.progress().accepted)
        return messages.Long(value=sum(1 for _ in self._urls(asked.key, asked.filter, asked.ignoreCase, context)))

    def _urls(self, key: str, part: str, ignore_case: bool, context: CallContext) -> Iterator[tuple[str, str]]:
        """Yield the URLs of a host, or of all, that have a text in them, each with its state."""
        part = part.lower() if ignore_case else part
        looked_at = count(1)
        for state in _ALL:
            for report in self._frontier.reports.urls(state):
                if next(looked_at) % _LOOKED_AT == 0 and not context.is_active():
                    return
                if report.candidate is None or (key and host_of(report.candidate.url) != key.lower()):
                    continue
                url = report.candidate.url
                if part in (url.lower() if ignore_case else url):
                    yield url, state

    # -- queues

    def ListQueues(self, asked: messages.Pagination, context: CallContext) -> messages.QueueList:
        """Return hosts that have a URL to visit now; with `include_inactive` also those that wait."""
        self._check_crawl(asked.crawlID)
        outside, size = self._frontier.outside, _page(asked.size)
        found, total = (outside.all_hosts if asked.include_inactive else outside.due_hosts)(asked.start, size)
        return messages.QueueList(values=found, total=total, start=asked.start, size=len(found), crawlID=self._job)

    def GetStats(self, asked: messages.QueueWithinCrawlParams, context: CallContext) -> messages.Stats:
        """Return the counts of the job, or those of a host."""
        self._check_crawl(asked.crawlID)
        if asked.key:
            host = self._frontier.outside.host_counts(self._host(asked.key))
            counts = {"pages": host.pages, "bytes": host.bytes}
            return messages.Stats(
                size=0 if host.aside else host.queued,
                inProcess=host.visits,
                counts=counts,
                numberOfQueues=int(host.queued > 0),
                crawlID=self._job,
            )
        progress = self._frontier.reports.progress()
        counts = {
            **{"done": progress.done, "failed": progress.failed, "excluded": progress.excluded},
            **{"bytes": progress.bytes, "pages": progress.pages, "retries": progress.retries},
        }
        return messages.Stats(
            size=progress.queued,
            inProcess=progress.leased,
            counts=counts,
            numberOfQueues=progress.hosts,
            crawlID=self._job,
        )

    def DeleteQueue(self, asked: messages.QueueWithinCrawlParams, context: CallContext) -> messages.Long:
        """Set a host aside: its URLs count as excluded. Return their number. BlockQueueUntil with 0 undoes this."""
        self._check_crawl(asked.crawlID)
        host = self._host(asked.key)
        queued = self._frontier.outside.host_counts(host).queued
        was_new = self._frontier.controls.set_host_aside(host, _DELETED)
        return messages.Long(value=queued if was_new else 0)

    def BlockQueueUntil(self, asked: messages.BlockQueueParams, context: CallContext) -> messages.Empty:
        """Block a host for all jobs until a time; 0 ends the block and takes a deleted queue back."""
        self._check_crawl(asked.crawlID)
        host = self._host(asked.key)
        if (seconds := asked.time - time()) > 0:
            self._frontier.controls.block_host(host, min(seconds, FOREVER_SECONDS))
        else:
            self._frontier.controls.wake_host(host)
        return messages.Empty()

    def SetDelay(self, asked: messages.QueueDelayParams, context: CallContext) -> messages.Empty:
        """Let a host, or all hosts, rest so long after each visit of a client, within the bound of the profile."""
        self._check_crawl(asked.crawlID)
        host = self._host(asked.key) if asked.key else ""
        self._frontier.outside.set_delay(host, asked.delay_requestable)
        return messages.Empty()

    # -- the job

    def ListNodes(self, asked: messages.Empty, context: CallContext) -> messages.StringList:
        """Return the address of this service."""
        return messages.StringList(values=[self.address])

    def ListCrawls(self, asked: messages.Local, context: CallContext) -> messages.StringList:
        """Return the job."""
        return messages.StringList(values=[self._job])

    def SetActive(self, asked: messages.Active, context: CallContext) -> messages.Empty:
        """Pause the job, or end the pause."""
        if asked.state:
            self._frontier.controls.go_on()
        else:
            self._frontier.controls.pause(_PAUSED)
        return messages.Empty()

    def GetActive(self, asked: messages.Local, context: CallContext) -> messages.Boolean:
        """Return whether the job hands out URLs."""
        progress = self._frontier.reports.progress()
        return messages.Boolean(state=not (progress.paused or progress.stopped))

    def DeleteCrawl(self, asked: messages.DeleteCrawlMessage, context: CallContext) -> NoReturn:
        """Refuse the call."""
        raise CallRefused(
            "UNIMPLEMENTED", f"a job is not deleted from outside; `ghostfleet job stop {self._job}` ends it in order"
        )

    def PurgeURLs(self, asked: messages.PurgeUrlParams, context: CallContext) -> NoReturn:
        """Refuse the call."""
        raise CallRefused("UNIMPLEMENTED", "URLs have no age here; each is visited once in a job")

    def SetCrawlLimit(self, asked: messages.CrawlLimitParams, context: CallContext) -> NoReturn:
        """Refuse the call."""
        raise CallRefused(
            "UNIMPLEMENTED", "a single host has no limit of its own; limits.host_pages of the profile limits each host"
        )

    def SetLogLevel(self, asked: messages.LogLevelParams, context: CallContext) -> NoReturn:
        """Refuse the call."""
        raise CallRefused("UNIMPLEMENTED", "log levels can't be changed while the service runs")

    def _host(self, key: str) -> str:
        """Return the host that a key names. Raises CallRefused for a text that is none."""
        if not _HOST.fullmatch(key):
            raise CallRefused(
                "INVALID_ARGUMENT", f"key = {key[:100]!r} is no host; write one as in www.example.org:8080"
            )
        return key.lower()

    def _is_crawl(self, crawl: str) -> bool:
        return crawl in ("", DEFAULT_CRAWL) or latest_run(crawl, [self._job]) is not None

    def _check_crawl(self, crawl: str) -> None:
        if not self._is_crawl(crawl):
            raise CallRefused(
                "NOT_FOUND", f"crawlID {crawl[:100]!r} is unknown; use {self._job}, {DEFAULT_CRAWL}, or an empty text"
            )

    def _worker(self) -> str:
        """Return the name of the worker that this thread is; each has a claim of its own."""
        if not hasattr(self._threads, "name"):
            self._threads.name = f"{self._machine}-{next(self._numbers)}"
        name: str = self._threads.name
        return name

    def _skip(self, url: str, reason: str) -> messages.AckMessage.Status:
        logger.info("%s is skipped: %s", url[:200], reason)
        return SKIPPED


def _page(size: int) -> int:
    return min(size or _PAGE, _MOST_PAGE)


def refusal_of(error: Exception) -> CallRefused:
    """Return the refusal that the client sees for an error of the frontier."""
    if isinstance(error, CallRefused):
        return error
    if isinstance(error, FrontierLost):
        return CallRefused("FAILED_PRECONDITION", f"the job has ended: {error}")
    return CallRefused("UNAVAILABLE", str(error))
