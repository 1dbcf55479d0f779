"""A page of a QA session shows its newest repair: who captured the page again, and the score of the new capture."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sqlalchemy import func, select

from admin.models.capture_tables import run_name
from admin.models.operation import OutputModel
from admin.models.qa_tables import QaPage, QaPageState, QaRepair, QaState, RepairPart
from admin.models.transaction import Transaction
from archive.dates import Micros


class PageRepair(OutputModel):
    """The newest repair of a page."""

    repair: int
    state: QaState
    capture_session: int | None
    """The capture session in which a person captures the page by hand; None for a repair by the QA process."""
    captured: Micros | None
    """When the page was captured by hand; None for another repair, and until the capture session has ended."""
    why: str
    """The reason why something could not be captured."""
    after: int | None
    """The QA session that judges the page again."""
    score_before: int
    score_after: int
    """-1 while the page is not judged again."""

    @property
    def words(self) -> str:
        """Return the outcome as a sentence without its end."""
        by_hand = f" by hand in session {run_name(self.capture_session)}" if self.capture_session is not None else ""
        if self.state is QaState.WAITING and by_hand:
            return f"to be captured again{by_hand}, and judged again when that session has ended"
        if self.state is not QaState.DONE:
            return f"repair {self.repair}{by_hand} is {self.state}"
        if self.why:
            return f"repair {self.repair}{by_hand} could not capture everything: {self.why}"
        return f"captured again{by_hand or f' by repair {self.repair}'}"


def newest_repairs(transaction: Transaction, pages: Iterable[int]) -> Mapping[int, PageRepair]:
    """Return the newest repairs of the pages of QA sessions with these numbers, by these numbers."""
    newest = select(func.max(RepairPart.id)).where(RepairPart.page_id.in_(list(pages))).group_by(RepairPart.page_id)
    query = select(RepairPart, QaRepair).join(QaRepair, QaRepair.id == RepairPart.repair_id)
    rows = list(transaction.session.execute(query.where(RepairPart.id.in_(newest))))
    scores = _scores(transaction, rows)
    return {
        part.page_id: PageRepair(
            repair=repair.id,
            state=repair.state,
            capture_session=repair.capture_session_id,
            captured=next((each["captured"] for each in part.outcomes if each.get("captured")), None),
            why=next((str(each["why"]) for each in part.outcomes if each.get("why")), ""),
            after=repair.after_id,
            score_before=part.score_before,
            score_after=scores.get((repair.after_id, part.url), part.score_after),
        )
        for part, repair in rows
        if part.page_id is not None
    }


def _scores(
    transaction: Transaction, rows: Iterable[tuple[RepairPart, QaRepair]]
) -> Mapping[tuple[int | None, str], int]:
    """Return the scores of the pages that were judged again, by session and URL."""
    wanted = {(repair.after_id, part.url) for part, repair in rows if repair.after_id is not None}
    if not wanted:
        return {}
    query = select(QaPage.session_id, QaPage.url, QaPage.score).where(
        QaPage.session_id.in_({after for after, _ in wanted}),
        QaPage.url.in_({url for _, url in wanted}),
        QaPage.state == QaPageState.JUDGED,
    )
    return {(session, url): score for session, url, score in transaction.session.execute(query)}
