"""Rebuild the frontier of a job that Redis has lost, from the job's definition, its crawl.log and the capture index.

URLs that were done are marked as seen, so that the crawl goes on without them. URLs whose visits failed for a while are
queued again. URLs that were found and never visited stand in no file; the links of stored pages have most of them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from functools import partial
from itertools import batched
from pathlib import Path
from typing import Final, Literal

from admin.jobs.control.operator_log import BEGUN, note_change
from admin.jobs.control.steering import FoundJob
from admin.jobs.progress.tally import LogFollower, size_of
from admin.jobs.runs import PROFILE_FILE, Run, RunError, locked
from admin.units import counted
from archive import crawl_log
from archive.crawl_log import LogLine
from archive.names.warc_paths import WarcPaths
from archive.rotated_log import log_exists, open_log
from archive.settings.load import Settings
from archive.url import UrlError, canonical, host_of
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import read_record
from browsers.links.documents import links_of, may_have_links
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.query import KeyRange, Query
from frontier.definition.job import Job, JobError
from frontier.definition.profile import load_profile
from frontier.definition.rules.list_files import LIST_FOLDER
from frontier.definition.scope import LINK_HOPS, Accepted, Candidate, is_embedded
from frontier.lease import extend
from frontier.politeness import LeaseEnding, VisitOutcome, next_step
from frontier.private_redis.server import EmbeddedRedis, running_url
from frontier.queue import Frontier
from frontier.queues.desk import RestoredUrl
from frontier.queues.entry import EntryState
from frontier.shards import frontier_for, frontier_of
from frontier.store import FrontierLost, FrontierUnavailable

_CHUNK: Final = 500
_QUEUED: Final[tuple[EntryState, ...]] = ("queued",)
_SEED_REDIRECTS: Final = 10
_INDEX_FILE: Final = "ghostfleet.db"
_DOCUMENTS: Final = frozenset(("text/html", "application/xhtml+xml"))
_FOREVER: Final = float("inf")
_EVERY_KEY: Final = KeyRange("", "\U0010ffff")
_COUNTED_HOPS: Final = re.compile(r"(\d+)\+(.*)", re.DOTALL)
_UNFINISHED: Final = "its queues were not rebuilt to the end; stop the crawl, and rebuild them again"
"""The reason of the pause during a rebuild."""
type _Ended = Literal["done", "failed", "excluded"]

_ORIGINAL: Final = re.compile(r'duplicate:"([^",]+),(\d+)"')


@dataclass(slots=True)
class RebuildAccount:
    """The account says what became of the URLs of a job whose frontier was rebuilt."""

    lines: int = 0
    damaged: int = 0
    """Lines of the logs that can't be read."""
    done: int = 0
    """URLs of the logs that are marked as seen, since they were done."""
    from_index: int = 0
    """URLs that only the capture index has; they are marked as seen, too."""
    failed: int = 0
    excluded: int = 0
    again: int = 0
    """URLs that are queued again, since their visits failed for a while."""
    referrers: int = 0
    """URLs that other URLs were found on and that no log has; they are queued."""
    seeds: int = 0
    """Seeds that are queued, since they were not done."""
    pages: int = 0
    """Stored pages whose links were extracted."""
    links: int = 0
    """Links of stored pages that are queued."""
    unreadable: int = 0
    """Stored pages that can't be read."""
    with_pages: bool = False
    queued: int = 0
    """URLs in the queues of the rebuilt frontier."""
    command: str = ""
    """The command line that resumes the job."""

    def text(self) -> Iterator[str]:
        """Yield the lines for people."""
        seen = self.done + self.from_index
        yield f"seen marked    {seen}: {self.done} of crawl.log, {self.from_index} of the index alone"
        yield f"ended          {self.failed} failed, {self.excluded} excluded"
        yield (
            f"queued again   {self.queued}: {counted(self.seeds, 'seed')}, {self.again} after temporary failures, "
            f"{counted(self.referrers, 'referring URL')}, {counted(self.links, 'link')} of stored pages"
        )
        if self.with_pages:
            missing = f"; {self.unreadable} could not be read" if self.unreadable else ""
            yield f"pages          the links of {counted(self.pages, 'stored response')} were extracted{missing}"
        if self.damaged:
            yield f"damaged        {counted(self.damaged, 'line')} of the logs can't be read"
        yield f"unknown        {self._unknown()}"
        yield f"{self.command} resumes the job"

    def _unknown(self) -> str:
        if self.with_pages:
            return "links that only scripts of pages make, and those of pages that could not be read"
        return "links that were found and not visited; a rebuild with --revisit-pages takes them from stored pages"


def rebuild(
    target: FoundJob,
    *,
    logs: Sequence[Path] = (),
    with_pages: bool = False,
    anew: bool = False,
    by: str = "",
    say: Callable[[str], None] = lambda _: None,
) -> RebuildAccount:
    """Rebuild the frontier of a job that does not run. `logs` are further crawl.log files; `say` tells of each step.

    With `anew`, a frontier that is there is dropped, after everything that the rebuild reads was opened once. A rebuild
    that fails or is interrupted later leaves no frontier. One that was killed leaves a paused frontier, which the next
    rebuild drops. `by` is who asked for the rebuild, when that is not the login name.

    Raises RunError for a job that runs or whose folder is elsewhere, JobError for a definition that can't be used and
    for a frontier that is there, CapturesError, OSError, FrontierUnavailable and RedisProblem.
    """
    run, settings = checked_run(target), target.settings
    job, lists = _definition(run), settings.home / LIST_FOLDER
    for log in [*([run.crawl_log] if log_exists(run.crawl_log) else ()), *logs]:
        with open_log(log) as file:
            file.read(1)
    with ExitStack() as stack:
        stack.enter_context(locked(run))
        url = settings.redis.url or running_url(settings.home)
        url = url or stack.enter_context(EmbeddedRedis(settings.home)).url
        frontier = frontier_for(url, job, settings.frontier, timeout_seconds=settings.redis.timeout_seconds)
        stack.enter_context(closing(frontier))
        frontier.check_opening(lists=lists)
        has_index = settings.database.url or (settings.home / _INDEX_FILE).exists()
        captures = stack.enter_context(Captures(settings.database_url)) if has_index else None
        former = _former(stack, url, target, anew=anew)
        note = partial(note_change, run.folder, "queue rebuild", {"logs": [str(log) for log in logs]}, by=by)
        note(BEGUN)
        try:
            if former is not None:
                former.forget()
            frontier.begin_job(lists=lists)
            frontier.controls.pause(_UNFINISHED)  # for a crawl that goes on after a kill of this process
            frontier.queue_seeds()
            work = _Rebuild(settings, frontier, captures, [run.crawl_log, *logs], run.state.seconds)
            account = work.run(with_pages=with_pages, say=say)
            frontier.controls.go_on()
        except BaseException:
            left = "the job has no queues"
            try:
                with suppress(FrontierLost):
                    frontier.forget()  # a crawl that goes on with half of it would visit the other half again
            except FrontierUnavailable:
                left = "Redis does not answer, and may have queues of the job"
            note(f"broken off; {left}")
            raise
    account.command = target.command()
    note(f"{account.queued} queued")
    return account


def checked_run(target: FoundJob) -> Run:
    """Return the run of a job that can be rebuilt. Raises RunError for one that runs, or whose folder is elsewhere."""
    if target.run is None:
        home = target.settings.home
        raise RunError(f"the folder of job {target.name} is not in {home}; give the --home that has it")
    if target.is_running:
        raise RunError(f"job {target.name} is running; its queues can be rebuilt when it has ended")
    return target.run


class _Rebuild:
    """One rebuild reads the logs several times, so that its memory does not grow with them."""

    def __init__(
        self, settings: Settings, frontier: Frontier, captures: Captures | None, logs: Sequence[Path], seconds: float
    ) -> None:
        self._settings = settings
        self._frontier = frontier
        self._captures = captures
        self._logs = logs
        self._seconds = seconds
        self._seeds = {seed.url for seed in frontier.job.seeds}
        self._pages: Counter[str] = Counter()
        self._sizes: Counter[str] = Counter()
        self._account = RebuildAccount()

    def run(self, *, with_pages: bool, say: Callable[[str], None]) -> RebuildAccount:
        account = self._account
        account.with_pages = with_pages
        say("marking the URLs that were done")
        account.done = self._end("done", widens=True)
        if self._captures is not None:
            say("reading the capture index")
            account.from_index = self._mark_captures(self._captures)
        account.failed = self._end("failed")
        account.excluded = self._end("excluded")
        say("queueing the URLs whose visits failed for a while")
        account.again = self._restore((RestoredUrl(each), None) for each, _ in self._lines(LeaseEnding.AGAIN))
        account.seeds = sum(entry.candidate.is_seed for entry in self._frontier.desk.entries(_QUEUED))
        account.referrers = self._queue_referrers()
        self._frontier.desk.add_totals(self._pages, self._sizes, self._seconds)
        if with_pages:
            say("extracting the links of stored pages")
            self._queue_links()
        account.queued = self._frontier.reports.progress().queued
        return account

    def _end(self, ending: _Ended, *, widens: bool = False) -> int:
        """Store the URLs whose visits ended so. Return their number."""
        seeds: dict[str, LogLine] = {}

        def urls() -> Iterator[tuple[RestoredUrl, LogLine]]:
            for candidate, line in self._lines(LeaseEnding(ending)):
                if candidate.url in self._seeds:
                    seeds[candidate.url] = line
                if widens and 0 < len(candidate.hop_path) <= _SEED_REDIRECTS and not candidate.hop_path.strip("R"):
                    self._frontier.follow_seed(candidate.url)
                yield RestoredUrl(candidate, ending, line.code), line

        count = self._restore(urls())
        for url, line in seeds.items():  # seeds were queued when the job was opened
            if self._frontier.desk.end([url], ending, line.code):
                count += 1
                if ending == "done":
                    self._count(url, line)
        return count

    def _mark_captures(self, captures: Captures) -> int:
        """Mark the URLs of captures as seen, of which a killed crawl had not written a line."""
        name, collection = self._frontier.job.name, self._frontier.job.collection
        seeds: set[str] = set()

        def urls() -> Iterator[tuple[RestoredUrl, None]]:
            for capture in captures.search(Query(collection, (_EVERY_KEY,)), seconds=_FOREVER):
                if capture.job != name or capture.method != "GET" or not capture.status:
                    continue
                url = _canonical(capture.url) if capture.url.startswith("http") else None
                if url and not url.endswith("/robots.txt") and self._ending(capture.status) is LeaseEnding.DONE:
                    seeds.update({url} & self._seeds)
                    yield RestoredUrl(Candidate(url), "done", capture.status), None

        return self._restore(urls()) + self._frontier.desk.end(sorted(seeds), "done", 200)

    def _queue_referrers(self) -> int:
        count, last = 0, ""
        chunk: dict[str, Candidate] = {}
        for line in self._all_lines():
            if line.via and line.via != last and (url := _canonical(line.via)):
                last = line.via
                chunk[url] = Candidate(url, hop_path=line.hop_path[:-1], source=line.source or None)
            if len(chunk) >= _CHUNK:
                count += self._added(list(chunk.values()))
                chunk = {}
        return count + self._added(list(chunk.values()))

    def _queue_links(self) -> None:
        """Queue the links of the responses that the crawl has stored, in the order of the logs."""
        account, most = self._account, self._frontier.job.profile.max_links
        for candidate, line in self._lines(LeaseEnding.DONE):
            if not may_have_links(line.url, {"content-type": line.mime}, line.hop_path) and not 300 <= line.code < 400:
                continue
            if (place := _place(line)) is None:
                continue
            try:
                links = self._links_at(candidate, *place)
            except (OSError, WarcError):
                account.unreadable += 1
                continue
            account.pages += 1
            account.links += self._added(links, most)

    def _links_at(self, page: Candidate, filename: str, offset: int) -> list[Candidate]:
        """Return the links of a stored response as candidates. Raises OSError and WarcError."""
        path = WarcPaths(self._settings.collection(self._frontier.job.collection), filename).warc
        limit = self._settings.browsers.max_page_bytes
        with read_record(path, offset) as record:
            if not record.is_http:
                return []
            head = record.http
            fields: dict[str, str] = {}
            for name, value in head.fields:
                key = name.lower()
                fields[key] = f"{fields[key]}, {value}" if key in fields else value
            body = bytearray()
            for piece in record.payload():
                body += piece
                if len(body) >= limit:
                    break
        found = links_of(page.url, head.status or 0, fields, bytes(body), hop_path=page.hop_path, limit=limit)
        is_seed = page.is_seed or page.url in self._seeds
        return [
            Candidate(
                url=link.url,
                hop_path=extend(page.hop_path, link.hop),
                via=page.url,
                source=page.source,
                depth=page.depth + (link.hop in LINK_HOPS),
                is_seed=is_seed and link.hop == "R",
            )
            for link in found.links
        ]

    def _added(self, candidates: Sequence[Candidate], most: int = _CHUNK) -> int:
        """Queue candidates that are in scope and new. Return their number."""
        if not candidates:
            return 0
        wanted = [each.candidate for each in self._frontier.decide(candidates, most) if isinstance(each, Accepted)]
        return sum(isinstance(each, Accepted) for each in self._frontier.add(wanted))

    def _restore(self, urls: Iterable[tuple[RestoredUrl, LogLine | None]]) -> int:
        """Take URLs in, and count the documents and bytes of their lines. Return the number of new URLs."""
        count = 0
        for chunk in batched(urls, _CHUNK):
            answers = self._frontier.desk.restore([url for url, _ in chunk]) or []
            for (url, line), is_new in zip(chunk, answers, strict=False):
                count += is_new
                if is_new and line is not None and url.state == "done":
                    self._count(url.candidate.url, line)
        return count

    def _count(self, url: str, line: LogLine) -> None:
        host = host_of(url)
        self._sizes[host] += size_of(line)
        is_document = line.code >= 200 and not 300 <= line.code < 400 and line.mime in _DOCUMENTS
        self._pages[host] += is_document and not is_embedded(line.hop_path)

    def _lines(self, ending: LeaseEnding) -> Iterator[tuple[Candidate, LogLine]]:
        """Yield the lines of the logs whose visits ended so, with their URLs as candidates."""
        for line in self._all_lines():
            if self._ending(line.code) is ending and (url := _canonical(line.url)):
                is_seed = not line.hop_path and url in self._seeds
                yield (
                    Candidate(
                        url,
                        hop_path=line.hop_path,
                        via=line.via or None,
                        source=line.source or None,
                        depth=_depth(line.hop_path),
                        is_seed=is_seed,
                    ),
                    line,
                )

    def _all_lines(self) -> Iterator[LogLine]:
        lines = damaged = 0
        for path in self._logs:
            follower = LogFollower(path)
            for line in follower.lines():
                lines += 1
                is_visit = not line.extra.get(crawl_log.ANNOTATES) and line.extra.get("method", "GET") == "GET"
                if is_visit and line.url.startswith("http") and not line.hop_path.endswith("P"):
                    yield line
            damaged += follower.damaged
        self._account.lines, self._account.damaged = lines, damaged

    def _ending(self, code: int) -> LeaseEnding:
        return next_step(VisitOutcome(code), self._frontier.politeness, attempt=1, host_failures=0).ending


def _definition(run: Run) -> Job:
    """Return the job as the folder of its run has it. Raises JobError."""
    profile = run.folder / PROFILE_FILE
    seeds = run.seeds()
    if not len(seeds) or not profile.exists():
        raise JobError(f"{run.folder} has no seeds.txt and no profile.json; start the job again with its own options")
    return Job(name=run.state.name, collection=run.state.collection, seeds=seeds, profile=load_profile(profile))


def _former(stack: ExitStack, url: str, target: FoundJob, *, anew: bool) -> Frontier | None:
    """Return the frontier to drop: with `anew` that of the job, or that of a killed rebuild; None when there is none.

    The stack closes the frontier. Raises JobError for a frontier that must stay.
    """
    settings = target.settings
    try:
        found = frontier_of(url, target.name, settings.frontier, timeout_seconds=settings.redis.timeout_seconds)
    except FrontierLost:
        return None
    stack.enter_context(closing(found))
    progress = found.reports.progress()
    if not anew and progress.paused != _UNFINISHED:
        raise JobError(
            f"Redis has the queues of job {target.name}, with {counted(progress.queued, 'queued URL')}; "
            "resume the job, or give --anew to rebuild them"
        )
    found.segments.folder = target.segment_folder
    return found


def _canonical(url: str) -> str | None:
    try:
        return canonical(url)
    except UrlError:
        return None


def _depth(hop_path: str) -> int:
    """Return the number of links in a hop path. Of a long path, the steps that are only counted are taken for links."""
    counted_hops = _COUNTED_HOPS.fullmatch(hop_path)
    beyond, shown = (int(counted_hops[1]), counted_hops[2]) if counted_hops else (0, hop_path)
    return beyond + sum(hop in LINK_HOPS for hop in shown)


def _place(line: LogLine) -> tuple[str, int] | None:
    """Return the WARC file and the offset of the record that has the payload; None when the line names none."""
    for note in line.annotations:
        if original := _ORIGINAL.fullmatch(note):
            return original[1], int(original[2])
    filename, offset = line.extra.get("warcFilename"), line.extra.get("warcFileOffset")
    return (filename, offset) if isinstance(filename, str) and isinstance(offset, int) else None
