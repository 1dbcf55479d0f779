"""QA sessions that harvests ask for: judged after each run, or while the run goes on."""

from __future__ import annotations

from sqlalchemy import select

from admin.models.qa_tables import QaSession
from admin.models.transaction import Transaction


def start_for_run(
    transaction: Transaction, collection: str, job: str, wanted_by: str, *, sample: str = "", follows: bool = False
) -> int | None:
    """Make a QA session of a run, and return its number; None when `wanted_by` has got one of this run before.

    The collection need not be in this home yet: a session that finds none fails with that reason.
    """
    query = select(QaSession.id).where(
        QaSession.collection == collection, QaSession.job == job, QaSession.created_by == wanted_by
    )
    if transaction.session.scalar(query.limit(1)) is not None:
        return None
    row = QaSession(
        collection=collection,
        job=job,
        sample=sample,
        follows=follows,
        urls=[],
        created=transaction.now,
        created_by=wanted_by,
    )
    transaction.session.add(row)
    transaction.session.flush()
    new = {"collection": collection, "job": job, "sample": sample, "follows": follows}
    transaction.audit("qa.start", "QA session", row.id, collection, new=new)
    return row.id
