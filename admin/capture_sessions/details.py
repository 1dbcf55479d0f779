"""A capture session is shown with its notes and with the pages of QA sessions that it mends."""

from __future__ import annotations

from typing import Final

from admin.capture_sessions.mends import MendedPage, mended_pages
from admin.capture_sessions.notes import CaptureNoteView, list_notes
from admin.capture_sessions.sessions import CaptureSessionView, find
from admin.models.transaction import Right, Transaction

_MOST_NOTES: Final = 200


class CaptureSessionDetails(CaptureSessionView):
    """The output is a capture session with its notes, and with the pages that it mends."""

    notes: list[CaptureNoteView]
    """The first 200 notes, in the order of the writing; `session list-notes` has all."""
    mends: list[MendedPage]
    """The pages of QA sessions that are captured again by hand, the newest first, at most 200."""


def show(transaction: Transaction, session: int) -> CaptureSessionDetails:
    """Return a capture session with its notes and with the pages that it mends. Raises NotFound."""
    transaction.require(Right.READ)
    view = CaptureSessionView.model_validate(find(transaction, session))
    return CaptureSessionDetails(
        **dict(view),
        notes=list_notes(transaction, session, limit=_MOST_NOTES).items,
        mends=mended_pages(transaction, session),
    )
