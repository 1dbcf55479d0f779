"""Work on one QA session: list its pages, visit each in replay, compare, and keep the judgement.

Worker threads take pages from the database, so that another process can go on where a killed one stopped. The main
thread says that the session is alive, sees when a person asks for its end, and looks for new pages of a running crawl.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for
from contextlib import suppress
from pathlib import Path
from typing import Final

from sqlalchemy import select

from admin.collections.browsing.index import OpenIndex, index_of, unread_files
from admin.models.database import Database
from admin.models.errors import UseCaseError
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.qa_tables import QaPageState, QaSession, QaState
from admin.qa import leases
from admin.qa.judging.captured_page import is_archived, read_captured_page, record_shown
from admin.qa.judging.judgement import Judge, Judgement
from admin.qa.leases import QA, TakenPage
from admin.qa.listing import PageTarget, choose, list_pages, missing_pages, sample_size
from admin.qa.picture_files import TEXT_NAME, page_folder
from admin.qa.workers.records import write_judgement
from admin.qa.workers.tools import Tools
from archive.capture import Capture
from archive.dates import now_micros
from archive.files import make_folder, replacement
from browsers.ghosts.replay_visit import ReplayedPage, ReplayOrder, replay_page
from browsers.proxying.control_client import Control
from browsers.visit import FleetUnavailable

log = logging.getLogger(__name__)
_TICK_SECONDS: Final = 0.5
_HEAR_SECONDS: Final = 2.0
_PAUSE_SECONDS: Final = 0.5
_INDEX_SECONDS: Final = 20.0
"""Longest wait for an indexer that is behind: the files of a collection that is being written always grow."""
_MARGIN_SECONDS: Final = 90.0
"""Time that a judgement may take beside its two visits."""
_MICROS: Final = 1_000_000
_FURTHER_VIEWS: Final = 4
_MOST_TEXT: Final = 1_000_000
"""Characters of a page's text that are kept for reviewers."""


class QaExecution:
    """The execution works on one session that this process owns."""

    def __init__(self, database: Database, session: QaSession, owner: str, tools: Tools) -> None:
        """Start nothing yet."""
        self._database, self._owner, self._tools = database, owner, tools
        self._session_id, self._collection = session.id, session.collection
        self._target = PageTarget(session.collection, session.job, frozenset(session.urls or ()))
        self._sample, self._choice = sample_size(session.sample), session.choice
        self._follows = session.follows
        self._judges_repair = session.repair_id is not None
        """The URLs of a repair need not be pages: it captures resources that readers missed, too."""
        self._stop = threading.Event()
        self._listed = threading.Event()
        """Set when no further page is added."""
        self._judge = Judge(tools.settings.qa)
        browsers, chosen = tools.settings.browsers, tools.settings.qa
        self._browser_settings = browsers.model_copy(
            update={
                "page_seconds": chosen.page_seconds or browsers.page_seconds,
                "second_device": "",
                "page_records": ("view", "full-page", "text"),
            }
        )
        self._workers = chosen.workers or browsers.workers
        self._heard = -math.inf
        """When the database was last told that the session is worked on."""

    def run(self, asked_to_stop: Callable[[], bool]) -> QaState:
        """Work until all pages are judged, or until the end is asked for. Return the state of the session.

        A session whose process is asked to end waits for the next process. Raises UseCaseError when the collection or
        the database can't be read.
        """
        began = time.monotonic()
        pool, workers = ThreadPoolExecutor(self._workers, "qa"), list[Future[None]]()
        try:
            with index_of(self._tools.settings, self._collection) as index:
                state = self._list(index, asked_to_stop)
                if state is None:
                    workers += [pool.submit(self._work, number) for number in range(self._workers)]
                    state = self._watch(index, workers, asked_to_stop)
                self._end_workers(workers)
                for worker in workers:
                    worker.result()
        except UseCaseError as error:
            leases.end_work(self._database, QaSession, self._session_id, self._owner, QaState.FAILED, str(error))
            raise
        finally:
            self._end_workers(workers)
            pool.shutdown()
            leases.give_back(self._database, self._session_id, self._owner)
            self._count(round(time.monotonic() - began))
        leases.end_work(self._database, QaSession, self._session_id, self._owner, state)
        return state

    def _watch(self, index: OpenIndex, workers: list[Future[None]], asked_to_stop: Callable[[], bool]) -> QaState:
        """Say that the session is alive until its workers have ended."""
        looked = time.monotonic()
        ending: QaState | None = None
        while ending is None and not all(worker.done() for worker in workers):
            self._tools.tick()
            ending = self._asked_ending(asked_to_stop)
            if ending is None and self._wants_look(looked):
                looked = time.monotonic()
                ending = self._list(index, asked_to_stop)
            if ending is None:
                wait_for(workers, _TICK_SECONDS)
        return ending or QaState.DONE

    def _end_workers(self, workers: list[Future[None]]) -> None:
        """Break the visits off: a page that is being visited waits again."""
        self._stop.set()
        while not all(worker.done() for worker in workers):
            # A worker that was about to begin a visit starts a new browser, so one end is not always enough.
            self._tools.ghost.break_off()
            wait_for(workers, _TICK_SECONDS)

    def _wants_look(self, looked: float) -> bool:
        """Return whether it is time to look for new pages of the crawl that the session follows."""
        seconds = self._tools.settings.qa.follow_seconds
        return self._follows and not self._listed.is_set() and time.monotonic() - looked >= seconds

    def _asked_ending(self, asked_to_stop: Callable[[], bool]) -> QaState | None:
        """Return the state in which the session has to end now; None while it goes on.

        The database hears every few seconds that the session is worked on.
        """
        now = time.monotonic()
        if now - self._heard >= _HEAR_SECONDS:
            self._heard = now
            state = leases.hear(self._database, QaSession, self._session_id, self._owner)
            self._count(0)
        else:
            state = leases.present_state(self._database, QaSession, self._session_id, self._owner)
        if state is None or state is QaState.STOPPING:
            return QaState.STOPPED
        return QaState.WAITING if asked_to_stop() else None

    def _list(self, index: OpenIndex, asked_to_stop: Callable[[], bool]) -> QaState | None:
        """Add the pages that were captured since the last look. Return the state of a session that has to end now."""
        with self._database.reading(QA) as reading:
            session = reading.session.get_one(QaSession, self._session_id)
            mark, is_listed = session.mark, session.is_listed
        if is_listed:
            self._listed.set()
            return self._asked_ending(asked_to_stop)
        ending: QaState | None = None

        def has_to_end() -> bool:
            nonlocal ending
            ending = ending or self._asked_ending(asked_to_stop)
            return ending is not None

        is_growing = self._follows and self._crawl_runs()
        if not is_growing:
            self._await_index(index, has_to_end)
        # A document can be told from a part of a page only when all records of the page are there.
        after = mark if is_growing else 0
        pages, mark = list_pages(index, self._target, after, has_to_end, is_growing=is_growing)
        missing = [] if is_growing or self._judges_repair else missing_pages(self._target, pages)
        if not self._follows and ending is None:
            pages = choose(self._tools.settings, index, self._target, pages, self._sample, self._choice, has_to_end)
        if has_to_end():
            return ending  # a part of the list would look like the whole list when the session goes on
        most = self._tools.settings.qa.most_pages
        if len(pages) > most:
            raise TooManyPages(f"{len(pages):,} pages are more than qa.most_pages = {most:,}; judge a sample of them")
        with self._database.transaction(QA) as transaction:
            session = transaction.session.get_one(QaSession, self._session_id)
            leases.add_pages(transaction, session, [*pages, *missing])
            session.mark, session.is_listed = mark, not is_growing
            leases.count_pages(transaction, session)
        if not is_growing:
            self._listed.set()
        return None

    def _await_index(self, index: OpenIndex, has_to_end: Callable[[], bool]) -> None:
        """Wait until the indexer has read the files of the collection, which may have ended just now."""
        ends = time.monotonic() + _INDEX_SECONDS
        while unread_files(self._tools.settings, index, self._collection):
            if has_to_end() or time.monotonic() > ends or self._stop.wait(_PAUSE_SECONDS):
                return
            self._tools.tick()

    def _crawl_runs(self) -> bool:
        """Return whether a crawl into the collection goes on, in this home or by a harvester."""
        from admin.jobs.runs import RunError, find_runs, is_locked

        with suppress(RunError):
            for run in find_runs(self._tools.settings.collection(self._collection) / "jobs"):
                if self._target.job in (None, run.state.name) and is_locked(run):
                    return True
        active = (JobStatus.SUBMITTED, JobStatus.STARTED)
        query = select(HarvestJob.id).where(HarvestJob.collection == self._collection, HarvestJob.status.in_(active))
        if self._target.job is not None:
            query = query.where(HarvestJob.run_name == self._target.job)
        with self._database.reading(QA) as reading:
            return reading.session.scalar(query.limit(1)) is not None

    def _work(self, number: int) -> None:
        """Judge one page after another until none is left."""
        control = self._tools.controls[number % len(self._tools.controls)]
        seconds = 2 * self._browser_settings.page_seconds + _MARGIN_SECONDS
        while not self._stop.is_set():
            page = leases.take_page(self._database, self._session_id, self._owner, seconds)
            if page is None:
                with self._database.reading(QA) as reading:
                    left = leases.waiting_pages(reading, self._session_id)
                if self._listed.is_set() and not left:
                    return
                self._stop.wait(_PAUSE_SECONDS)
                continue
            self._judge_page(page, control)

    def _judge_page(self, page: TakenPage, control: Control) -> None:
        began = time.monotonic()
        try:
            with index_of(self._tools.settings, self._collection) as index:
                judgement = self._compared(index, page, control)
        except _BrokenOff:
            return  # `give_back` lets the page wait again
        except FleetUnavailable as error:
            judgement = self._judge.unjudged(f"the page could not be replayed: {error}")
        except UseCaseError as error:
            judgement = self._judge.unjudged(str(error))
        except Exception as error:  # a page may hold anything, and the session goes on with the next one
            log.exception("the judgement of %s failed", page.url)
            judgement = self._judge.unjudged(f"the judgement failed: {error!r}"[:500])
        if self._stop.is_set() and judgement.is_unjudged:
            return  # the end of the session may be the reason
        if judgement.is_unjudged and page.tries < self._tools.settings.qa.tries:
            self._wait_again(page)
            return
        if not judgement.is_unjudged:
            try:
                write_judgement(control, self._collection, self._session_id, page, judgement)
            except FleetUnavailable as error:
                judgement = judgement.with_note(f"no record urn:qa: was written: {error}")
        milliseconds = round((time.monotonic() - began) * 1000)
        try:
            self._keep(page, judgement, milliseconds)
        except UseCaseError as error:
            self._keep(page, self._judge.unjudged(f"the judgement can't be kept: {error}"), milliseconds)

    def _compared(self, index: OpenIndex, page: TakenPage, control: Control) -> Judgement:
        settings = self._tools.settings
        captured = read_captured_page(
            settings,
            index,
            self._collection,
            page.url,
            page.page_id,
            page.captured,
            is_rendered=page.is_rendered,
        )

        def visit(number: int, further_views: int = 0) -> ReplayedPage:
            order = ReplayOrder(
                self._collection, page.url, captured.captured, captured.viewport, captured.random_seed, number
            )
            if self._stop.is_set():
                raise _BrokenOff
            found = replay_page(self._tools.ghost, control, order, self._browser_settings, further_views=further_views)
            if self._stop.is_set():
                raise _BrokenOff
            return found

        def has(url: str, digest: str) -> bool:
            return is_archived(index, self._collection, url, digest)

        def shown(record_id: str) -> Capture | None:
            return record_shown(index, self._collection, record_id)

        judgement = self._judge.compare(captured, (visit(0),), has, shown)
        if judgement.needs_second_visit:
            judgement = self._judge.compare(captured, (*judgement.replays, visit(1, _FURTHER_VIEWS)), has, shown)
        return judgement

    def _wait_again(self, page: TakenPage) -> None:
        with self._database.transaction(QA) as transaction:
            row = leases.taken_row(transaction, page, self._owner)
            if row is not None:
                row.state, row.taken_by, row.taken_until = QaPageState.WAITING, "", None

    def _keep(self, page: TakenPage, judgement: Judgement, milliseconds: int) -> None:
        """Keep the pictures as files, then the judgement in the database."""
        with self._database.transaction(QA) as transaction:
            if leases.taken_row(transaction, page, self._owner) is None:
                return  # the folder may have the pictures of a newer capture already
        folder = page_folder(self._tools.settings, self._collection, self._session_id, page.id)
        names = _write_pictures(folder, judgement)
        with self._database.transaction(QA) as transaction:
            row = leases.taken_row(transaction, page, self._owner)
            if row is None:
                return
            row.state = QaPageState.UNJUDGED if judgement.is_unjudged else QaPageState.JUDGED
            row.taken_by, row.taken_until = "", None
            row.judged, row.seconds = transaction.now, milliseconds
            row.score, row.severity = judgement.score, judgement.severity
            row.reasons, row.kinds = judgement.reasons, judgement.kinds
            row.measures, row.pictures = judgement.measures, names
            row.title, row.why = judgement.title, judgement.why
            session = transaction.session.get_one(QaSession, self._session_id)
            session.lag_seconds = max(0, (now_micros() - page.captured) // _MICROS)

    def _count(self, seconds: int) -> None:
        """Write the numbers of pages into the session."""
        with self._database.transaction(QA) as transaction:
            session = transaction.session.get(QaSession, self._session_id)
            if session is not None:
                leases.count_pages(transaction, session)
                session.seconds += seconds


class _BrokenOff(Exception):
    """The session has to end, so what the visit saw may be half of a page."""


class TooManyPages(UseCaseError):
    """The target has more pages than a session may have."""


def _write_pictures(folder: Path, judgement: Judgement) -> list[str]:
    """Write the pictures and the text of a judgement, and return the names of the pictures that are there."""
    names = []
    try:
        if judgement.pictures or judgement.text:
            make_folder(folder)
        if judgement.text:
            with replacement(folder / TEXT_NAME, durable=False, mode=0o600) as file:
                file.write(judgement.text[:_MOST_TEXT].encode("utf-8", "replace"))
        for name, picture in judgement.pictures.items():
            with replacement(folder / name, durable=False, mode=0o600) as file:
                file.write(picture)
            names.append(name)
    except OSError as error:
        log.error("pictures of a judgement are missing in %s: %s", folder, error.strerror)
    return names
