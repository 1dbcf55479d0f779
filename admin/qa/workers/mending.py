"""Work on one repair: capture what is missing, and let a QA session judge the pages again.

A person captures the pages of a repair by hand in a capture session. The repair then looks for these captures.
What a repair captures goes into WARC files of its own, whose names begin with the collection's name and `-patch`. The
files of the crawl are never changed.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final

from sqlalchemy import select
from sqlalchemy.exc import SQLAlchemyError

from admin.collections.browsing.index import index_if_any, index_of
from admin.models.capture_tables import run_name
from admin.models.database import Database
from admin.models.errors import UseCaseError
from admin.models.qa_tables import QaPage, QaRepair, QaSession, QaState, RepairPart
from admin.qa import leases
from admin.qa.judging.captured_page import visit_records
from admin.qa.leases import QA
from admin.qa.workers.tools import Tools
from archive.capture import Capture
from archive.ended_exchange import EndedExchange
from archive.repairs import id_without_visit, repair_job
from archive.steady_work import SteadyWork
from archive.url import key
from browsers.engines.interface import EngineError
from browsers.ghosts.page import visit_page
from browsers.plain.visitor import PlainVisitor, SiteFailure
from browsers.proxying.control_client import SessionRequest
from browsers.visit import FleetUnavailable, VisitOrder
from dedupdb.captures.schema import CAPTURES, reading, to_capture

log = logging.getLogger(__name__)
_HEAR_SECONDS: Final = 1.0
_LOOK_SECONDS: Final = 0.5
_EXCHANGES_SECONDS: Final = 20.0
_INDEX_SECONDS: Final = 30.0
"""Longest wait for the index to have what a capture session has kept."""
_KEPT_BODY: Final = 0
"""Bytes of the body of a missing resource that are kept in memory: the record has them."""


class Mending:
    """The mending works on one repair that this process owns."""

    def __init__(self, database: Database, repair: QaRepair, owner: str, tools: Tools) -> None:
        """Start nothing yet."""
        self._database, self._owner, self._tools = database, owner, tools
        self._repair_id, self._collection = repair.id, repair.collection
        self._by_hand = repair.capture_session_id
        self._plain = PlainVisitor(tools.settings, tools.controls)
        self._is_over = threading.Event()
        self._ending: QaState | None = None
        """The state in which the repair has to end now."""

    def run(self, asked_to_stop: Callable[[], bool]) -> QaState:
        """Capture what the parts of the repair lack. Return the state of the repair.

        A repair whose process is asked to end waits for the next process. Raises UseCaseError when the collection
        can't be read; the repair has failed then.
        """
        heartbeat = threading.Thread(target=self._say_alive, args=(asked_to_stop,), name="qa-repair")
        heartbeat.start()
        self._look_until = time.monotonic() + _INDEX_SECONDS
        try:
            for number in self._waiting_parts():
                self._tools.tick()
                if self._ending is None:
                    self._mend(number)
                if self._ending is not None:
                    break
        except UseCaseError as error:
            leases.end_work(self._database, QaRepair, self._repair_id, self._owner, QaState.FAILED, str(error))
            raise
        finally:
            self._is_over.set()
            heartbeat.join()
            self._plain.close()
        state = self._ending or QaState.DONE
        if state is QaState.DONE:
            self._judge_again()
        leases.end_work(self._database, QaRepair, self._repair_id, self._owner, state)
        return state

    def _say_alive(self, asked_to_stop: Callable[[], bool]) -> None:
        steady = SteadyWork("the heartbeat of a repair", self._hear, SQLAlchemyError, UseCaseError)
        while not self._is_over.wait(_HEAR_SECONDS):
            if asked_to_stop():
                self._ending = self._ending or QaState.WAITING
            steady()
            if self._ending is not None:
                self._tools.ghost.break_off()

    def _hear(self) -> None:
        if leases.hear(self._database, QaRepair, self._repair_id, self._owner) in (None, QaState.STOPPING):
            self._ending = QaState.STOPPED

    def _waiting_parts(self) -> list[int]:
        with self._database.reading(QA) as reading:
            return [part.id for part in reading.session.get_one(QaRepair, self._repair_id).parts if not part.is_done]

    def _mend(self, number: int) -> None:
        with self._database.reading(QA) as reading:
            part = reading.session.get_one(RepairPart, number)
            page = reading.session.get(QaPage, part.page_id) if part.page_id is not None else None
            visit = page.page_id if page is not None else ""
            url, resources = part.url, list(part.resources or ())
        try:
            if self._by_hand is not None:
                outcomes = [self._find_capture(url, self._by_hand)]
            else:
                outcomes = self._capture_resources(url, resources, visit) if resources else [self._capture_page(url)]
        except (FleetUnavailable, EngineError) as error:
            outcomes = [_outcome(each, 0, f"our side could not capture it: {error}") for each in resources or [url]]
        if self._ending is not None:
            return  # the visit was broken off, and the part waits for the next process
        with self._database.transaction(QA) as transaction:
            part = transaction.session.get_one(RepairPart, number)
            part.outcomes, part.is_done = outcomes, True

    def _find_capture(self, url: str, session: int) -> dict[str, Any]:
        """Look for the capture of a page in a capture session that has ended, until the index has had time for it."""
        while (found := self._newest_by_hand(url, session)) is None:
            if self._ending is not None or time.monotonic() >= self._look_until:
                return _outcome(url, 0, f"the page was not captured in session {run_name(session)}")
            self._tools.tick()
            self._is_over.wait(_LOOK_SECONDS)
        status = found.status or 0
        why = "" if status < 400 else _why(status, "")
        return {**_outcome(url, status, why), "captured": found.date}

    def _newest_by_hand(self, url: str, session: int) -> Capture | None:
        c = CAPTURES.c
        query = select(CAPTURES).where(
            c.collection == self._collection,
            c.key == key(url),
            c.url == url,
            c.job == run_name(session),
            c.kind.in_(("response", "revisit")),
        )
        with index_if_any(self._tools.settings) as index:
            if index is None:
                return None
            with reading(index.engine) as connection:
                found = connection.execute(query.order_by(c.date.desc()).limit(1)).first()
        return None if found is None else to_capture(found)

    def _capture_page(self, url: str) -> dict[str, Any]:
        """Capture the page anew by a ghost, with the records of a page. Raises FleetUnavailable."""
        visit = self._tools.ghost.visit(self._order(url))
        if visit.code >= 400 or visit.code <= 0:
            return _outcome(url, visit.code, _why(visit.code, visit.error or ""))
        return _outcome(url, visit.code, "")

    def _capture_resources(self, url: str, resources: list[str], visit: str) -> list[dict[str, Any]]:
        """Let a ghost ask for what the page lacks; ask for the rest by plain requests. Raises FleetUnavailable.

        The captures get the id of the page's visit, so that its replay shows them (`proxy.replay.matching.visits`). A
        page without a visit has an id that follows from its URL.
        """
        visit = visit or id_without_visit(url)
        found = self._visit_in_patch_mode(url, visit)
        outcomes = []
        for resource in resources:
            ended = found.get(resource)
            if ended is not None and ended.end.is_in_archive and 200 <= ended.status < 400:
                outcomes.append(_outcome(resource, ended.status, ""))
            elif self._ending is not None:
                outcomes.append(_outcome(resource, 0, "the repair was stopped"))
            else:
                outcomes.append(self._fetch(resource, url, visit))
        self._note_replaced(url, visit, [each["url"] for each in outcomes if not each["why"]])
        return outcomes

    def _note_replaced(self, url: str, visit: str, resources: list[str]) -> None:
        """Write a record for each repaired URL that says in place of which records replay shows the new one."""
        with index_of(self._tools.settings, self._collection) as index:
            replaced = {
                each: found for each in resources if (found := visit_records(index, self._collection, each, visit))
            }
        if not replaced:
            return
        control = self._tools.controls[0]
        session = control.open(
            SessionRequest(self._collection, job=self._job, page_id=visit, page_url=url, prefix=self._prefix)
        )
        try:
            for resource, records in replaced.items():
                lines = [
                    f"repair: {self._repair_id}",
                    f"page: {url}",
                    *(f"replaces: urn:uuid:{each}" for each in records),
                ]
                block = "".join(f"{line}\r\n" for line in lines).encode("utf-8", "replace")
                control.write(session, "metadata", resource, "application/warc-fields", block, is_of_capture=False)
        finally:
            control.finish(session, wait_seconds=_EXCHANGES_SECONDS)

    def _visit_in_patch_mode(self, url: str, visit: str) -> Mapping[str, EndedExchange]:
        """Return what a visit of the page fetched from the live web, since the archive could not answer."""
        control = self._tools.controls[0]
        request = SessionRequest(
            self._collection,
            job=self._job,
            page_id=visit,
            page_url=url,
            mode="patch",
            prefix=self._prefix,
            listen=True,
        )
        session = control.open(request)
        settings = self._tools.settings.browsers
        try:
            self._tools.ghost.in_window(session.address, lambda window: visit_page(window, url, settings))
            exchanges = control.exchanges(session, wait_seconds=_EXCHANGES_SECONDS)
        except EngineError as error:
            log.warning("the visit of %s in patch mode broke off: %s", url, error)
            return {}
        finally:
            control.finish(session, wait_seconds=_EXCHANGES_SECONDS)
        return {each.url: each for each in exchanges.exchanges if each.method == "GET"}

    def _fetch(self, resource: str, page: str, visit: str) -> dict[str, Any]:
        """Capture one resource by a plain request."""
        order = replace(self._order(resource, via=page, hop_path="E"), page_id=visit)
        try:
            answer = self._plain.fetch(order, keep=_KEPT_BODY)
        except SiteFailure as error:
            return _outcome(resource, error.code, _why(error.code, error.reason))
        except FleetUnavailable as error:
            return _outcome(resource, 0, f"our side could not capture it: {error}")
        return _outcome(resource, answer.status, "" if answer.status < 400 else _why(answer.status, ""))

    def _order(self, url: str, via: str | None = None, hop_path: str = "") -> VisitOrder:
        return VisitOrder(
            url, self._collection, job=self._job, via=via, hop_path=hop_path, source=f"repair {self._repair_id}",
            prefix=self._prefix,
        )  # fmt: skip

    @property
    def _job(self) -> str:
        return repair_job(self._repair_id)

    @property
    def _prefix(self) -> str:
        return f"{self._collection}-patch"

    def _judge_again(self) -> None:
        """Make a QA session of the repaired pages, unless there is one already."""
        with self._database.transaction(QA) as transaction:
            repair = transaction.session.get_one(QaRepair, self._repair_id)
            urls = [part.url for part in repair.parts]
            if self._by_hand is not None:
                # The session judges captures by hand alone: it would prefer an older capture by a ghost.
                urls = [part.url for part in repair.parts if any(each.get("captured") for each in part.outcomes)]
            if repair.after_id is not None or not urls:
                return
            session = QaSession(
                collection=repair.collection,
                job=None if self._by_hand is None else run_name(self._by_hand),
                urls=urls,
                repair_id=repair.id,
                created=transaction.now,
                created_by=repair.created_by,
            )
            transaction.session.add(session)
            transaction.session.flush()
            repair.after_id = session.id


def _outcome(url: str, status: int, why: str) -> dict[str, Any]:
    return {"url": url, "status": status, "why": why[:500]}


def _why(status: int, reason: str) -> str:
    """Return why a URL could not be repaired."""
    if status > 0:
        return f"the site answers with status {status}"
    return f"the site gave no response: {reason or status}"
