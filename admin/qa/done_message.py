"""Subscribers are told when a QA session is done, with its totals."""

from __future__ import annotations

from sqlalchemy import func, select

from admin.models.qa_tables import QaPage, QaPageState, QaSession
from admin.models.transaction import Transaction
from admin.notifications.events import Event
from admin.notifications.outbox import notify
from admin.qa.judging.findings import DamageSeverity
from admin.units import counted


def notify_done(transaction: Transaction, session: QaSession) -> None:
    """Put the message into the outbox."""
    query = (
        select(QaPage.severity, func.count())
        .where(QaPage.session_id == session.id, QaPage.state == QaPageState.JUDGED)
        .group_by(QaPage.severity)
    )
    counts = {row[0]: row[1] for row in transaction.session.execute(query)}
    facts = {
        "session": session.id,
        "collection": session.collection,
        "job": session.job or "",
        "pages": session.pages,
        **{str(severity): counts.get(severity, 0) for severity in DamageSeverity},
        "unjudged": session.unjudged,
    }
    subject = (
        f"QA session {session.id} of {session.collection} is done: {facts['severe']} severely and"
        f" {facts['noticeable']} noticeably damaged of {counted(session.pages, 'page')}"
    )
    notify(transaction, Event.QA_DONE, subject, facts)
