"""People start, list, show, stop and resume QA sessions, and read their pages, by these use cases."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final

from pydantic import Field
from sqlalchemy import ColumnElement, Select, case, func, select

from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem
from admin.models.operation import InputModel, OutputModel, Page, numbered_page, pair_after
from admin.models.qa_tables import (
    OVER,
    PageChoice,
    PageDecision,
    QaPage,
    QaPageState,
    QaSession,
    QaState,
    Ruling,
)
from admin.models.transaction import Right, Transaction
from admin.qa import leases
from admin.qa.listing import sample_size
from admin.qa.page_repairs import PageRepair, newest_repairs
from admin.qa.picture_files import session_folder
from archive.dates import Micros
from archive.names.name_rules import NAME_PATTERN
from archive.url import UrlError, canonical

AT_ONCE: Final = 50
_MOST_LISTED: Final = 1_000
_MOST_URLS: Final = 100_000


class NewQaSession(InputModel):
    """The pages that a QA session shall judge."""

    collection: str = Field(pattern=NAME_PATTERN)
    job: str | None = Field(default=None, max_length=255)
    """The name of a run, such as `news-20261126080000`; without, all pages of the collection are judged."""
    sample: str = Field(default="", max_length=20)
    """A number of pages such as 200, or a share such as 10%; empty for all pages."""
    choice: PageChoice = PageChoice.SPREAD
    """How the pages of a sample are chosen: spread, size, importance or suspicion."""
    urls: list[str] = Field(default_factory=list, max_length=_MOST_URLS)
    """The URLs of the pages; empty for all."""
    follows: bool = False
    """Pages are judged while the crawl goes on, each soon after its capture."""


class QaSessionView(OutputModel):
    """A QA session and how far it is."""

    id: int
    collection: str
    job: str | None
    state: QaState
    sample: str
    choice: PageChoice
    follows: bool
    created: Micros
    created_by: str
    started: Micros | None
    ended: Micros | None
    pages: int
    judged: int
    unjudged: int
    seconds: int
    lag_seconds: int
    """Seconds between the capture of the last judged page and its judgement."""
    error: str
    repair_id: int | None

    @property
    def is_over(self) -> bool:
        """Return whether no process works on the session any more."""
        return self.state in OVER


class QaTotals(OutputModel):
    """The judgement of a whole session, or of a host."""

    pages: int
    mean_score: float | None
    """None without a judged page."""
    severe: int
    noticeable: int
    good: int
    reasons: dict[str, int]
    """How many pages have each kind of finding."""


class QaSessionDetails(QaSessionView):
    """A QA session with its judgement."""

    totals: QaTotals
    hosts: list[QaHost]


class QaHost(OutputModel):
    """The judgement of a host."""

    host: str
    pages: int
    mean_score: float | None
    severe: int


class Decision(OutputModel):
    """A decision of a reviewer."""

    ruling: Ruling
    note: str
    assigned_to: str
    decided: Micros
    decided_by: str
    captured: Micros
    """The capture that was judged."""
    is_earlier: bool = False
    """The decision is about an earlier capture of the page."""


class QaPageView(OutputModel):
    """A page of a QA session with its judgement."""

    id: int
    session_id: int
    url: str
    host: str
    title: str
    page_id: str
    captured: Micros
    """0 for a page that has no capture."""
    is_rendered: bool
    state: QaPageState
    score: int
    severity: str
    reasons: list[dict[str, Any]]
    measures: dict[str, Any]
    pictures: list[str]
    why: str
    judged: Micros | None
    decision: Decision | None = None
    repair: PageRepair | None = None


def start(transaction: Transaction, given: NewQaSession) -> QaSessionView:
    """Make a QA session, which the QA process works on as soon as it can. Raises InvalidInput and NotFound."""
    transaction.require(Right.OPERATE)
    sample_size(given.sample)
    _check_target(transaction, given)
    session = QaSession(
        collection=given.collection,
        job=given.job or None,
        sample=given.sample.strip(),
        choice=given.choice,
        urls=_canonical_urls(given.urls),
        follows=given.follows,
        created=transaction.now,
        created_by=transaction.actor.name,
    )
    transaction.session.add(session)
    transaction.session.flush()
    new = {"collection": given.collection, "job": given.job, "sample": given.sample, "follows": given.follows}
    transaction.audit("qa.start", "QA session", session.id, given.collection, new=new)
    return QaSessionView.model_validate(session)


def list_sessions(
    transaction: Transaction, collection: str = "", *, after: str | None = None, limit: int = AT_ONCE
) -> Page[QaSessionView]:
    """Return QA sessions, the newest first."""
    transaction.require(Right.READ)
    query = select(QaSession)
    if collection:
        query = query.where(QaSession.collection == collection)
    return numbered_page(
        transaction,
        query,
        QaSession.id,
        QaSessionView.of_rows,
        after=after,
        limit=limit,
        most=_MOST_LISTED,
        newest_first=True,
    )


def show(transaction: Transaction, session: int) -> QaSessionDetails:
    """Return a QA session with its scores by host. Raises NotFound."""
    transaction.require(Right.READ)
    row = find(transaction, session)
    return QaSessionDetails(
        **QaSessionView.model_validate(row).model_dump(),
        totals=totals(transaction, QaPage.session_id == session),
        hosts=_hosts(transaction, session),
    )


def stop(transaction: Transaction, session: int) -> QaSessionView:
    """End a QA session; it can be resumed. Raises NotFound and IllegalState."""
    transaction.require(Right.OPERATE)
    row = find(transaction, session)
    if row.state in OVER:
        raise IllegalState(f"QA session {session} is {row.state} already")
    if row.state is QaState.WAITING:
        leases.step(row, QaState.STOPPED)
        row.ended = transaction.now
    elif row.state is QaState.RUNNING:
        leases.step(row, QaState.STOPPING)
    transaction.audit("qa.stop", "QA session", session, row.collection)
    return QaSessionView.model_validate(row)


def resume(transaction: Transaction, session: int) -> QaSessionView:
    """Let a stopped or failed QA session go on. Raises NotFound and IllegalState."""
    transaction.require(Right.OPERATE)
    row = find(transaction, session)
    if row.state not in (QaState.STOPPED, QaState.FAILED):
        raise IllegalState(f"QA session {session} is {row.state}; only a stopped or a failed one can be resumed")
    leases.step(row, QaState.WAITING)
    row.ended, row.error = None, ""
    transaction.audit("qa.resume", "QA session", session, row.collection)
    return QaSessionView.model_validate(row)


def delete(transaction: Transaction, session: int) -> None:
    """Delete a QA session with its judgements and pictures. Decisions and WARC records stay.

    Raises NotFound and IllegalState.
    """
    transaction.require(Right.CURATE)
    row = find(transaction, session)
    if row.state not in OVER:
        raise IllegalState(f"QA session {session} is {row.state}; stop it first")
    transaction.session.delete(row)
    transaction.session.flush()
    shutil.rmtree(session_folder(transaction.settings, row.collection, session), ignore_errors=True)
    transaction.audit("qa.delete", "QA session", session, row.collection)


def list_pages(
    transaction: Transaction,
    session: int,
    *,
    kind: str = "",
    host: str = "",
    severity: str = "",
    ruling: str = "",
    reviewer: str = "",
    after: str | None = None,
    limit: int = AT_ONCE,
) -> Page[QaPageView]:
    """Return the pages of a session, the worst first; pages that can't be judged come before all others.

    `kind` is a kind of finding. `ruling` is a decision, or `open` for pages without one. `reviewer` is the person who
    decided, or to whom the page is assigned. Raises NotFound.
    """
    transaction.require(Right.READ)
    row = find(transaction, session)
    conditions = page_conditions(row, kind=kind, host=host, severity=severity, ruling=ruling, reviewer=reviewer)
    if after is not None:
        score, number = pair_after(after)
        conditions.append((QaPage.score > score) | ((QaPage.score == score) & (QaPage.id > number)))
    query = select(QaPage).where(*conditions).order_by(QaPage.score, QaPage.id).limit(limit + 1)
    rows = list(transaction.session.scalars(query))
    items = with_decisions(transaction, row.collection, rows[:limit])
    following = f"{items[-1].score}-{items[-1].id}" if len(rows) > limit else None
    return Page(items=items, next=following)


def page_conditions(
    session: QaSession, *, kind: str = "", host: str = "", severity: str = "", ruling: str = "", reviewer: str = ""
) -> list[ColumnElement[bool]]:
    """Return what the pages of a session must fulfil to be in a list; `list_pages` says what the arguments mean."""
    conditions: list[ColumnElement[bool]] = [
        QaPage.session_id == session.id, QaPage.state.in_((QaPageState.JUDGED, QaPageState.UNJUDGED))
    ]  # fmt: skip
    if kind:
        conditions.append(QaPage.kinds.contains(f" {kind} ", autoescape=True))
    if host:
        conditions.append(QaPage.host == host)
    if severity:
        conditions.append(QaPage.severity == severity)
    if ruling or reviewer:
        conditions.append(_decided(session.collection, ruling, reviewer))
    return conditions


def show_page(transaction: Transaction, session: int, page: int) -> QaPageView:
    """Return one page of a session. Raises NotFound."""
    transaction.require(Right.READ)
    row = find(transaction, session)
    found = find_page(transaction, session, page)
    return with_decisions(transaction, row.collection, [found])[0]


def find(transaction: Transaction, session: int) -> QaSession:
    """Return the session of this number. Raises NotFound."""
    found = transaction.session.get(QaSession, session)
    if found is None:
        raise NotFound("QA session", session)
    return found


def find_page(transaction: Transaction, session: int, page: int) -> QaPage:
    """Return the page of this number in the session. Raises NotFound."""
    found = transaction.session.get(QaPage, page)
    if found is None or found.session_id != session:
        raise NotFound(f"page in QA session {session} with the number", page)
    return found


def totals(transaction: Transaction, condition: ColumnElement[bool]) -> QaTotals:
    """Return the judgement of all judged pages that fulfil the condition."""
    judged = (condition, QaPage.state == QaPageState.JUDGED)
    rows = transaction.session.execute(
        select(QaPage.severity, func.count(), func.sum(QaPage.score)).where(*judged).group_by(QaPage.severity)
    ).all()
    counts = {severity: number for severity, number, _ in rows}
    pages = sum(counts.values())
    reasons: dict[str, int] = {}
    kinds_of_pages = select(QaPage.kinds, func.count()).where(*judged, QaPage.kinds != "").group_by(QaPage.kinds)
    for kinds, number in transaction.session.execute(kinds_of_pages):
        for kind in set(kinds.split()):
            reasons[kind] = reasons.get(kind, 0) + number
    return QaTotals(
        pages=pages,
        mean_score=round(sum(float(total) for _, _, total in rows) / pages, 1) if pages else None,
        severe=counts.get("severe", 0),
        noticeable=counts.get("noticeable", 0),
        good=pages - counts.get("severe", 0) - counts.get("noticeable", 0),
        reasons=dict(sorted(reasons.items(), key=lambda pair: (-pair[1], pair[0]))),
    )


def with_decisions(transaction: Transaction, collection: str, rows: Sequence[QaPage]) -> list[QaPageView]:
    """Return the pages with the decision about each, and the newest repair of each.

    A page without a decision about its capture has the one about the newest other capture.
    """
    newest = _newest_of_captures(collection).where(PageDecision.url_hash.in_([row.url_hash for row in rows]))
    query = select(PageDecision).where(PageDecision.id.in_(newest), PageDecision.ruling != Ruling.NOTHING)
    decisions = defaultdict[str, list[PageDecision]](list)
    for each in transaction.session.scalars(query) if rows else ():
        decisions[each.url_hash].append(each)
    repairs = newest_repairs(transaction, [row.id for row in rows])
    views = []
    for row in rows:
        view = QaPageView.model_validate(row).model_copy(update={"repair": repairs.get(row.id)})
        found = {each.captured: each for each in decisions[row.url_hash]}
        if found:
            made = found.get(row.captured) or found[max(found)]
            decision = Decision.model_validate(made)
            view = view.model_copy(
                update={"decision": decision.model_copy(update={"is_earlier": made.captured < row.captured})}
            )
        views.append(view)
    return views


def counting_decision(collection: str) -> ColumnElement[int]:
    """Return the number of the decision that counts for the page of an enclosing query.

    It is the newest one about the page's capture, or else about the newest later capture. A page whose only decisions
    are about an earlier capture is open.
    """
    newest = _newest_of_captures(collection).where(PageDecision.url_hash == QaPage.url_hash).correlate(QaPage)
    made = select(PageDecision.id).where(PageDecision.id.in_(newest), PageDecision.ruling != Ruling.NOTHING)
    made = made.order_by(PageDecision.captured.desc()).limit(1).correlate(QaPage)
    return func.coalesce(
        made.where(PageDecision.captured == QaPage.captured).scalar_subquery(),
        made.where(PageDecision.captured > QaPage.captured).scalar_subquery(),
    )


def _newest_of_captures(collection: str) -> Select[int]:
    """Return the query for the newest decision about each capture of each page."""
    return (
        select(func.max(PageDecision.id))
        .where(PageDecision.collection == collection)
        .group_by(PageDecision.url_hash, PageDecision.captured)
    )


def _hosts(transaction: Transaction, session: int) -> list[QaHost]:
    """Return the hosts of a session, the worst first, at most 200."""
    severe = func.sum(case((QaPage.severity == "severe", 1), else_=0))
    mean = func.avg(QaPage.score)
    query = (
        select(QaPage.host, func.count(), mean, severe)
        .where(QaPage.session_id == session, QaPage.state == QaPageState.JUDGED)
        .group_by(QaPage.host)
        .order_by(mean, QaPage.host)
        .limit(200)
    )
    return [
        QaHost(host=host, pages=pages, mean_score=round(float(score), 1), severe=int(bad or 0))
        for host, pages, score, bad in transaction.session.execute(query)
    ]


def _decided(collection: str, ruling: str, reviewer: str) -> ColumnElement[bool]:
    """Return the condition that the decision that counts for the page is this one."""
    made = select(PageDecision.id).where(PageDecision.id == counting_decision(collection)).correlate(QaPage)
    if ruling == "open":
        return ~made.where(PageDecision.ruling.not_in((Ruling.NOTHING, Ruling.NOTE))).exists()
    if ruling:
        made = made.where(PageDecision.ruling == ruling)
    if reviewer:
        made = made.where((PageDecision.decided_by == reviewer) | (PageDecision.assigned_to == reviewer))
    return made.exists()


def _check_target(transaction: Transaction, given: NewQaSession) -> None:
    """Raise NotFound unless there is such a collection."""
    from admin.collections.browsing.index import check_collection, index_if_any

    with index_if_any(transaction.settings) as index:
        check_collection(transaction.settings, index, given.collection)


def _canonical_urls(urls: Sequence[str]) -> list[str]:
    """Return the URLs in canonical form, each once. Raises InvalidInput."""
    found: dict[str, None] = {}
    for number, url in enumerate(urls, 1):
        if not url.strip():
            continue
        try:
            found[canonical(url.strip())] = None
        except UrlError as error:
            raise InvalidInput(Problem("urls", f"line {number}: {error}")) from error
    return list(found)
