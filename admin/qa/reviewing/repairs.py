"""People send damaged pages to repair by these use cases: single pages, those of a host, or all with a kind of finding.

A page that lacks resources keeps its capture, and only these resources are captured. A page that is damaged otherwise
is captured anew.
"""

from __future__ import annotations

from typing import Any, Final

from pydantic import Field
from sqlalchemy import select

from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem
from admin.models.operation import InputModel, OutputModel, Page, numbered_page
from admin.models.qa_tables import OVER, QaPage, QaPageState, QaRepair, QaState, RepairPart
from admin.models.transaction import Right, Transaction
from admin.qa import leases
from admin.qa.judging.findings import REPAIRABLE, DamageSeverity
from admin.qa.sessions import find
from archive.dates import Micros

_MOST_PAGES: Final = 10_000


class NewRepair(InputModel):
    """The pages of a QA session that are to be repaired: those of these numbers, or all that fulfil the conditions."""

    pages: list[int] = Field(default_factory=list, max_length=_MOST_PAGES)
    host: str = Field(default="", max_length=255)
    kind: str = Field(default="", max_length=40)
    """A kind of finding, such as missing-image."""
    whole: bool = False
    """Capture each page anew, also when only resources are missing."""


class RepairPartView(OutputModel):
    """One page of a repair."""

    id: int
    url: str
    captured: Micros
    resources: list[str]
    """The missing URLs; an empty list for a page that is captured anew."""
    is_done: bool
    outcomes: list[dict[str, Any]]
    """The outcome of each URL: `why` is empty for one that was captured."""
    score_before: int
    score_after: int
    """-1 while the page is not judged again."""


class RepairView(OutputModel):
    """A repair and how far it is."""

    id: int
    collection: str
    session_id: int | None
    after_id: int | None
    """The QA session that judges the repaired pages."""
    capture_session_id: int | None
    """The capture session in which a person captures the pages by hand; None for a repair by the QA process."""
    state: QaState
    created: Micros
    created_by: str
    started: Micros | None
    ended: Micros | None
    error: str


class RepairDetails(RepairView):
    """A repair with its pages."""

    parts: list[RepairPartView]


def start(transaction: Transaction, session: int, given: NewRepair) -> RepairDetails:
    """Make a repair of pages of a QA session. Raises NotFound, InvalidInput and IllegalState."""
    transaction.require(Right.OPERATE)
    row = find(transaction, session)
    conditions = [QaPage.session_id == session, QaPage.state == QaPageState.JUDGED]
    if given.pages:
        conditions.append(QaPage.id.in_(given.pages))
    else:
        conditions.append(QaPage.severity != DamageSeverity.GOOD)
    if given.host:
        conditions.append(QaPage.host == given.host)
    if given.kind:
        conditions.append(QaPage.kinds.contains(f" {given.kind} ", autoescape=True))
    pages = list(
        transaction.session.scalars(select(QaPage).where(*conditions).order_by(QaPage.id).limit(_MOST_PAGES + 1))
    )
    if missing := set(given.pages) - {page.id for page in pages}:
        raise InvalidInput(Problem("pages", f"{min(missing)} is no judged page of QA session {session}"))
    if not pages:
        raise IllegalState(f"QA session {session} has no damaged page that fulfils these conditions")
    if len(pages) > _MOST_PAGES:
        raise InvalidInput(Problem("pages", f"more than {_MOST_PAGES:,} pages; choose a host or a kind of finding"))
    repair = QaRepair(
        collection=row.collection, session_id=session, created=transaction.now, created_by=transaction.actor.name
    )
    for page in pages:
        resources = [] if given.whole else missing_urls(page, given.kind)
        repair.parts.append(
            RepairPart(
                page_id=page.id, url=page.url, captured=page.captured, resources=resources, score_before=page.score
            )
        )
    transaction.session.add(repair)
    transaction.session.flush()
    new = {"session": session, "pages": len(pages), "host": given.host, "kind": given.kind}
    transaction.audit("qa.repair", "repair", repair.id, row.collection, new=new)
    return show(transaction, repair.id)


def list_repairs(
    transaction: Transaction, collection: str = "", *, after: str | None = None, limit: int = 50
) -> Page[RepairView]:
    """Return repairs, the newest first. Raises InvalidInput."""
    transaction.require(Right.READ)
    query = select(QaRepair)
    if collection:
        query = query.where(QaRepair.collection == collection)
    return numbered_page(
        transaction, query, QaRepair.id, RepairView.of_rows, after=after, limit=limit, newest_first=True
    )


def show(transaction: Transaction, repair: int) -> RepairDetails:
    """Return a repair with the scores of its pages before and after. Raises NotFound."""
    transaction.require(Right.READ)
    row = find_repair(transaction, repair)
    scores = _scores_after(transaction, row)
    parts = [
        RepairPartView.model_validate(part).model_copy(update={"score_after": scores.get(part.url, part.score_after)})
        for part in row.parts
    ]
    return RepairDetails(**RepairView.model_validate(row).model_dump(), parts=parts)


def stop(transaction: Transaction, repair: int) -> RepairView:
    """End a repair. What was captured so far stays. Raises NotFound and IllegalState."""
    transaction.require(Right.OPERATE)
    row = find_repair(transaction, repair)
    if row.state in OVER:
        raise IllegalState(f"repair {repair} is {row.state} already")
    if row.state is QaState.WAITING:
        leases.step(row, QaState.STOPPED)
    elif row.state is QaState.RUNNING:
        leases.step(row, QaState.STOPPING)
    transaction.audit("qa.stop-repair", "repair", repair, row.collection)
    return RepairView.model_validate(row)


def find_repair(transaction: Transaction, repair: int) -> QaRepair:
    """Return the repair of this number. Raises NotFound."""
    found = transaction.session.get(QaRepair, repair)
    if found is None:
        raise NotFound("repair", repair)
    return found


def missing_urls(page: QaPage, kind: str = "") -> list[str]:
    """Return the URLs that the page lacks; none when the page has damage that new resources don't mend."""
    findings = [finding for finding in page.reasons if isinstance(finding, dict)]
    chosen = {kind} if kind in REPAIRABLE else REPAIRABLE
    urls = [str(each.get("url")) for each in findings if each.get("kind") in chosen and each.get("url")]
    is_whole = any(each.get("kind") in _OF_WHOLE_PAGES for each in findings)
    return [] if is_whole else list(dict.fromkeys(urls))


_OF_WHOLE_PAGES: Final = ("page-missing", "blank", "error-page", "flaw-at-capture")


def _scores_after(transaction: Transaction, repair: QaRepair) -> dict[str, int]:
    """Return the newest scores of the repaired pages, by URL."""
    if repair.after_id is None:
        return {}
    query = select(QaPage.url, QaPage.score).where(
        QaPage.session_id == repair.after_id, QaPage.state == QaPageState.JUDGED
    )
    return {row[0]: row[1] for row in transaction.session.execute(query)}
