"""These tables hold capture sessions, in which a person captures by hand, their pages, and notes about the pages."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from sqlalchemy import BigInteger, ForeignKey, Index, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from admin.models.base import Base, Document, Key, Moment, Name, Number, Words, chosen


class CaptureState(StrEnum):
    """A capture session is in one of these states; `CAPTURE_STEPS` has the transitions."""

    OPEN = "open"
    """All that the person's browser fetches is kept."""
    PAUSED = "paused"
    """The browser goes on, and nothing is kept."""
    ENDING = "ending"
    """The end was asked for. The process that records ends the session soon, and closes the WARC files."""
    ENDED = "ended"


CAPTURE_STEPS: Final = {
    CaptureState.OPEN: frozenset((CaptureState.PAUSED, CaptureState.ENDING)),
    CaptureState.PAUSED: frozenset((CaptureState.OPEN, CaptureState.ENDING)),
    CaptureState.ENDING: frozenset((CaptureState.ENDED,)),
    CaptureState.ENDED: frozenset((CaptureState.OPEN,)),
}
"""The states that may follow each state. An ended session is opened again by `resume`."""


class CaptureDoor(StrEnum):
    """A person captures through one of these."""

    WINDOW = "window"
    """A browser window that `ghostfleet record` opens."""
    OWN_BROWSER = "own-browser"
    """The person's own browser, which uses the proxy of the session with its credentials."""
    SCREEN = "screen"
    """A browser of the capture process, which the person steers in a page of the admin site."""
    UPLOAD = "upload"
    """Files that were captured elsewhere, and imported. The session has ended when it is made."""


def run_name(number: int) -> str:
    """Return the name of the captures of the session with this number."""
    return f"manual-{number}"


class CaptureSession(Base):
    """A capture session is a person's work by hand on one collection."""

    __tablename__ = "capture_sessions"
    __table_args__ = (
        Index("ix_capture_sessions_state", "state", "id"),
        Index("ix_capture_sessions_collection_id", "collection", "id"),
    )

    id: Mapped[Key]
    collection: Mapped[Name]
    title: Mapped[Words]
    description: Mapped[Words]
    owner: Mapped[Name]
    """The person who made the session, and who sees its credentials."""
    door: Mapped[CaptureDoor] = mapped_column(chosen(CaptureDoor))
    state: Mapped[CaptureState] = mapped_column(chosen(CaptureState), default=CaptureState.OPEN)
    proxy_session: Mapped[Name]
    """The id of the session of the recording proxy: 32 hexadecimal digits, and the user name for the proxy."""
    created: Mapped[Moment]
    ended: Mapped[Moment | None]
    expires: Mapped[Moment]
    """The session ends at this time by itself."""
    keeps_secrets: Mapped[bool] = mapped_column(default=False)
    """Passwords and Authorization headers are recorded."""
    keeps_cookies: Mapped[bool] = mapped_column(default=True)
    worker: Mapped[Words]
    """The process that records for the session now."""
    heard: Mapped[Moment | None]
    """When that process last said that it works."""
    urls: Mapped[Number] = mapped_column(default=0)
    novel: Mapped[Number] = mapped_column(default=0)
    known: Mapped[Number] = mapped_column(default=0)
    """URLs whose payload the collection had already."""
    failed: Mapped[Number] = mapped_column(default=0)
    bytes: Mapped[Number] = mapped_column(default=0)
    pages: Mapped[Number] = mapped_column(default=0)
    last_kept: Mapped[Moment | None]
    error: Mapped[Words]
    secret_fields: Mapped[Document] = mapped_column(default=list)
    """The names of form fields of which pages said that they take passwords."""
    shown_secrets: Mapped[Document] = mapped_column(default=list)
    """The URLs whose responses show a secret that was typed. Responses are recorded as they came."""


class SessionPage(Base):
    """A page that a person opened in a capture session, in the order of the visits."""

    __tablename__ = "capture_pages"
    __table_args__ = (UniqueConstraint("session_id", "number"),)

    id: Mapped[Key]
    session_id: Mapped[int] = mapped_column(ForeignKey("capture_sessions.id", ondelete="CASCADE"))
    number: Mapped[int] = mapped_column(BigInteger)
    url: Mapped[str] = mapped_column(Text)
    title: Mapped[Words]
    mime: Mapped[Name]
    captured: Mapped[Moment]


class SessionNote(Base):
    """A person wrote this note about a page while they captured, or afterwards."""

    __tablename__ = "capture_notes"
    __table_args__ = (Index("ix_capture_notes_session_id", "session_id", "id"),)

    id: Mapped[Key]
    session_id: Mapped[int] = mapped_column(ForeignKey("capture_sessions.id", ondelete="CASCADE"))
    url: Mapped[str] = mapped_column(Text)
    """The page; empty for a note about the whole session."""
    text: Mapped[Words]
    written: Mapped[Moment]
    written_by: Mapped[Name]
