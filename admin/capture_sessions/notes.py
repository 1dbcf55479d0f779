"""People write notes about pages while they capture by hand, and read them in the order of the writing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pydantic import Field
from sqlalchemy import func, select

from admin.capture_sessions.sessions import AT_ONCE, ENTITY, CapturePageView, find
from admin.models.capture_tables import CaptureSession, SessionNote, SessionPage
from admin.models.errors import IllegalState, InvalidInput, Problem
from admin.models.operation import InputModel, OutputModel, Page, numbered_page
from admin.models.transaction import Right, Transaction
from archive.dates import Micros
from archive.url import UrlError, canonical
from proxy.sessions.secrets.redaction import Redaction

MOST_NOTES: Final = 10_000
"""Notes of a session."""
_MOST_TEXT: Final = 10_000
_MOST_URL: Final = 20_000
_MOST_OF_PAGES: Final = 1_000


class NewCaptureNote(InputModel):
    """The input is a note about a page of a capture session."""

    note: str = Field(max_length=_MOST_TEXT)
    """The text of the note."""
    url: str = Field(default="", max_length=_MOST_URL)
    """The page to which the note belongs; left out, the page that was opened last."""


class CaptureNoteView(OutputModel):
    """The output is a note of a capture session."""

    id: int
    url: str
    """The page to which the note belongs; empty for a note about the whole session."""
    page: int | None = None
    """The number of the page in the session; None for a page that the session has not opened."""
    text: str
    written: Micros
    written_by: str


def write_note(transaction: Transaction, session: int, given: NewCaptureNote) -> CaptureNoteView:
    """Write a note about a page of a capture session. Raises NotFound, InvalidInput and IllegalState."""
    transaction.require(Right.OPERATE)
    row = find(transaction, session)
    text = given.note.strip()
    if not text:
        raise InvalidInput(Problem("note", "is empty; write a text"))
    if _count(transaction, session) >= MOST_NOTES:
        raise IllegalState(f"capture session {session} has {MOST_NOTES:,} notes, and takes no more")
    note = SessionNote(
        session_id=session,
        url=_page_url(transaction, row, given.url.strip()),
        text=text,
        written=transaction.now,
        written_by=transaction.actor.name,
    )
    transaction.session.add(note)
    transaction.session.flush()
    transaction.audit("capture-session.note", ENTITY, session, row.collection, new={"url": note.url[:2_000]})
    return _views(transaction, session, [note])[0]


def list_notes(
    transaction: Transaction, session: int, *, after: str | None = None, limit: int = AT_ONCE
) -> Page[CaptureNoteView]:
    """Return the notes of a capture session in the order of the writing. Raises NotFound."""
    transaction.require(Right.READ)
    find(transaction, session)
    query = select(SessionNote).where(SessionNote.session_id == session)

    def views(rows: Sequence[SessionNote]) -> list[CaptureNoteView]:
        return _views(transaction, session, rows)

    return numbered_page(transaction, query, SessionNote.id, views, after=after, limit=limit)


def last_notes(transaction: Transaction, session: int, limit: int = 20) -> list[CaptureNoteView]:
    """Return the notes that were written last, the oldest of them first."""
    transaction.require(Right.READ)
    query = select(SessionNote).where(SessionNote.session_id == session).order_by(SessionNote.id.desc()).limit(limit)
    return _views(transaction, session, list(transaction.session.scalars(query))[::-1])


def notes_of_pages(
    transaction: Transaction, session: int, pages: Iterable[CapturePageView]
) -> Mapping[int, list[CaptureNoteView]]:
    """Return the notes that belong to these pages, by the numbers of the pages; at most a thousand."""
    transaction.require(Right.READ)
    urls, numbers = {page.url for page in pages}, {page.number for page in pages}
    query = select(SessionNote).where(SessionNote.session_id == session, SessionNote.url.in_(urls))
    rows = list(transaction.session.scalars(query.order_by(SessionNote.id).limit(_MOST_OF_PAGES)))
    found: dict[int, list[CaptureNoteView]] = {}
    for note in _views(transaction, session, rows):
        if note.page in numbers:
            found.setdefault(note.page, []).append(note)
    return found


def _count(transaction: Transaction, session: int) -> int:
    query = select(func.count()).select_from(SessionNote).where(SessionNote.session_id == session)
    return transaction.session.scalar(query) or 0


def _page_url(transaction: Transaction, row: CaptureSession, url: str) -> str:
    """Return the URL of the page as the records of the session have it. Raises InvalidInput."""
    if not url:
        newest = select(SessionPage.url).where(SessionPage.session_id == row.id).order_by(SessionPage.number.desc())
        return transaction.session.scalar(newest.limit(1)) or ""
    try:
        found = canonical(url)
    except UrlError as error:
        raise InvalidInput(Problem("url", str(error))) from error
    if row.keeps_secrets:
        return found
    fields = frozenset((*transaction.settings.capture.secret_fields, *row.secret_fields))
    return Redaction(fields=fields).url(found)


def _views(transaction: Transaction, session: int, rows: Sequence[SessionNote]) -> list[CaptureNoteView]:
    """Return the notes with their pages: a page may be opened many times, and the last one before the note counts."""
    urls = {row.url for row in rows if row.url}
    visits: dict[str, list[tuple[Micros, int]]] = {}
    if urls:
        query = select(SessionPage.url, SessionPage.captured, SessionPage.number)
        query = query.where(SessionPage.session_id == session, SessionPage.url.in_(urls))
        for url, captured, number in transaction.session.execute(query.order_by(SessionPage.number)):
            visits.setdefault(url, []).append((captured, number))
    views = []
    for row in rows:
        all_visits = visits.get(row.url, [])
        before = [number for captured, number in all_visits if captured <= row.written]
        page = before[-1] if before else all_visits[0][1] if all_visits else None
        views.append(CaptureNoteView.model_validate(row).model_copy(update={"page": page}))
    return views
