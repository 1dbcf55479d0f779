"""These tables hold QA sessions, the pages that they judge, what people decided about pages, and repairs."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from sqlalchemy import BigInteger, ForeignKey, Index, Text, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column, relationship

from admin.models.base import Base, Document, Key, Moment, Name, Number, Words, chosen


class QaState(StrEnum):
    """A QA session or a repair is in one of these states; `QA_STEPS` has the transitions."""

    WAITING = "waiting"
    """No process works on it yet."""
    RUNNING = "running"
    STOPPING = "stopping"
    """A person asked for the end; the process that works on it ends soon."""
    STOPPED = "stopped"
    """A person ended it. It can be resumed."""
    DONE = "done"
    FAILED = "failed"
    """No page could be worked on, for the reason in `error`. It can be resumed."""


QA_STEPS: Final = {
    QaState.WAITING: frozenset((QaState.RUNNING, QaState.STOPPED, QaState.FAILED)),
    QaState.RUNNING: frozenset((QaState.WAITING, QaState.STOPPING, QaState.STOPPED, QaState.DONE, QaState.FAILED)),
    QaState.STOPPING: frozenset((QaState.STOPPED, QaState.DONE, QaState.FAILED)),
    QaState.STOPPED: frozenset((QaState.WAITING,)),
    QaState.FAILED: frozenset((QaState.WAITING,)),
    QaState.DONE: frozenset[QaState](),
}
"""The states that may follow each state. A process that is asked to end lets the row wait for the next process. A
process that is killed leaves RUNNING or STOPPING behind; the next process takes the row over when nothing has been
heard for a while."""
OVER: Final = frozenset((QaState.STOPPED, QaState.DONE, QaState.FAILED))


class QaPageState(StrEnum):
    """A page of a QA session is in one of these states."""

    WAITING = "waiting"
    TAKEN = "taken"
    """A worker visits the page. After `taken_until`, another worker may take it."""
    JUDGED = "judged"
    UNJUDGED = "unjudged"
    """The page can't be judged, for the reason in `why`."""


class PageChoice(StrEnum):
    """The pages of a sample are chosen by one of these rules."""

    SPREAD = "spread"
    """Evenly, by a hash of the URL: the same collection gives the same sample."""
    SIZE = "size"
    """The largest documents first."""
    IMPORTANCE = "importance"
    """The pages with the shortest paths first, since they are reached by most readers."""
    SUSPICION = "suspicion"
    """The pages first about which the ghost noted flaws or failed requests."""


class QaSession(Base):
    """A QA session judges the pages of a collection, of a job, or of a list."""

    __tablename__ = "qa_sessions"
    __table_args__ = (
        Index("ix_qa_sessions_state", "state", "id"),
        Index("ix_qa_sessions_collection_id", "collection", "id"),
    )

    id: Mapped[Key]
    collection: Mapped[Name]
    job: Mapped[str | None] = mapped_column(Text)
    """The name of the run of a crawl, as its captures have it; None for the whole collection."""
    state: Mapped[QaState] = mapped_column(chosen(QaState), default=QaState.WAITING)
    sample: Mapped[str] = mapped_column(Text, default="")
    """A number of pages, or a share such as 10%; empty for all pages."""
    choice: Mapped[PageChoice] = mapped_column(chosen(PageChoice), default=PageChoice.SPREAD)
    urls: Mapped[Document] = mapped_column(default=list)
    """The URLs that a person listed; empty for all pages of the target."""
    follows: Mapped[bool] = mapped_column(default=False)
    """New pages of a running crawl are judged, until the crawl has ended."""
    mark: Mapped[Number] = mapped_column(default=0)
    """The row of the capture index up to which pages were looked for."""
    is_listed: Mapped[bool] = mapped_column(default=False)
    """All pages of the session are in the table."""
    repair_id: Mapped[int | None] = mapped_column(BigInteger)
    """The repair whose pages this session judges again."""
    created: Mapped[Moment]
    created_by: Mapped[Name]
    started: Mapped[Moment | None]
    ended: Mapped[Moment | None]
    owner: Mapped[Words]
    """The process that works on the session."""
    heard: Mapped[Moment | None]
    """When that process last said that it works."""
    pages: Mapped[Number] = mapped_column(default=0)
    judged: Mapped[Number] = mapped_column(default=0)
    unjudged: Mapped[Number] = mapped_column(default=0)
    seconds: Mapped[Number] = mapped_column(default=0)
    """Seconds of all times in which a process worked on the session."""
    lag_seconds: Mapped[Number] = mapped_column(default=0)
    """Seconds between the capture of the last judged page and its judgement."""
    error: Mapped[Words]

    rows: Mapped[list[QaPage]] = relationship(back_populates="session", cascade="all, delete-orphan")


class QaPage(Base):
    """A page of a QA session has the capture that is judged, and the judgement."""

    __tablename__ = "qa_pages"
    __table_args__ = (
        UniqueConstraint("session_id", "url_hash"),
        Index("ix_qa_pages_session_state", "session_id", "state", "id"),
        Index("ix_qa_pages_session_score", "session_id", "score", "id"),
        Index("ix_qa_pages_session_host", "session_id", "host", "score"),
    )

    id: Mapped[Key]
    session_id: Mapped[int] = mapped_column(ForeignKey("qa_sessions.id", ondelete="CASCADE"))
    url: Mapped[str] = mapped_column(Text)
    url_hash: Mapped[Name]
    """SHA-256 of the URL in hexadecimal: an index can't hold URLs of any length."""
    host: Mapped[Name]
    page_id: Mapped[Name]
    """The ghost's or the crawler's id of the visit, which all its records have."""
    captured: Mapped[Moment]
    """0 for a page that has no capture."""
    is_rendered: Mapped[bool]
    """A ghost captured the page, so that there are pictures and a text to compare with."""
    state: Mapped[QaPageState] = mapped_column(chosen(QaPageState), default=QaPageState.WAITING)
    taken_by: Mapped[Words]
    taken_until: Mapped[Moment | None]
    tries: Mapped[Number] = mapped_column(default=0)
    judged: Mapped[Moment | None]
    seconds: Mapped[int] = mapped_column(BigInteger, default=0)
    """Milliseconds that the judgement took."""
    score: Mapped[Number] = mapped_column(default=-1)
    """0 to 100, where 100 is a page without damage; -1 for a page that is not judged."""
    severity: Mapped[Name] = mapped_column(default="")
    reasons: Mapped[Document] = mapped_column(default=list)
    """The findings, the worst first."""
    kinds: Mapped[Words]
    """The kinds of the findings, between spaces, so that pages can be filtered by them."""
    measures: Mapped[Document] = mapped_column(default=dict)
    """The metrics with their versions and thresholds."""
    pictures: Mapped[Document] = mapped_column(default=list)
    """The names of the picture files of the judgement."""
    title: Mapped[Words]
    why: Mapped[Words]
    """The reason why the page can't be judged."""

    session: Mapped[QaSession] = relationship(back_populates="rows")


class Ruling(StrEnum):
    """A reviewer decides one of these about a captured page."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    REPAIR = "repair"
    """The page waits for a repair."""
    NOTE = "note"
    """The reviewer only wrote a note, or assigned the page to somebody."""
    NOTHING = "nothing"
    """An earlier decision was undone."""


class PageDecision(Base):
    """A decision about one capture of a page. Rows are never changed; the newest one of a capture counts."""

    __tablename__ = "page_decisions"
    __table_args__ = (
        Index("ix_page_decisions_url", "collection", "url_hash", "id"),
        Index("ix_page_decisions_assigned_to", "assigned_to", "id"),
    )

    id: Mapped[Key]
    collection: Mapped[Name]
    url: Mapped[str] = mapped_column(Text)
    url_hash: Mapped[Name]
    captured: Mapped[Moment]
    """The date of the capture that was judged. A newer capture of the page is not judged by this decision."""
    ruling: Mapped[Ruling] = mapped_column(chosen(Ruling))
    note: Mapped[Words]
    assigned_to: Mapped[Name] = mapped_column(default="")
    decided: Mapped[Moment]
    decided_by: Mapped[Name]
    session_id: Mapped[int | None] = mapped_column(ForeignKey("qa_sessions.id", ondelete="SET NULL"))


class QaRepair(Base):
    """A repair captures missing resources or whole pages again, into WARC files of its own."""

    __tablename__ = "qa_repairs"
    __table_args__ = (
        Index("ix_qa_repairs_state", "state", "id"),
        Index("ix_qa_repairs_capture_session_id", "capture_session_id"),
    )

    id: Mapped[Key]
    collection: Mapped[Name]
    session_id: Mapped[int | None] = mapped_column(ForeignKey("qa_sessions.id", ondelete="SET NULL"))
    """The QA session that found the damage."""
    after_id: Mapped[int | None] = mapped_column(ForeignKey("qa_sessions.id", ondelete="SET NULL"))
    """The QA session that judged the repaired pages again."""
    capture_session_id: Mapped[int | None] = mapped_column(ForeignKey("capture_sessions.id", ondelete="CASCADE"))
    """The capture session in which a person captures the pages by hand; None for a repair by the QA process. Such a
    repair waits until the capture session has ended."""
    state: Mapped[QaState] = mapped_column(chosen(QaState), default=QaState.WAITING)
    created: Mapped[Moment]
    created_by: Mapped[Name]
    started: Mapped[Moment | None]
    ended: Mapped[Moment | None]
    owner: Mapped[Words]
    heard: Mapped[Moment | None]
    error: Mapped[Words]

    parts: Mapped[list[RepairPart]] = relationship(
        back_populates="repair", cascade="all, delete-orphan", order_by="RepairPart.id"
    )


class RepairPart(Base):
    """One page of a repair, with the resources that were missing, and the outcome for each."""

    __tablename__ = "qa_repair_parts"
    __table_args__ = (
        Index("ix_qa_repair_parts_repair_id", "repair_id", "id"),
        Index("ix_qa_repair_parts_page_id", "page_id"),
    )

    id: Mapped[Key]
    repair_id: Mapped[int] = mapped_column(ForeignKey("qa_repairs.id", ondelete="CASCADE"))
    page_id: Mapped[int | None] = mapped_column(ForeignKey("qa_pages.id", ondelete="SET NULL"))
    url: Mapped[str] = mapped_column(Text)
    captured: Mapped[Moment]
    resources: Mapped[Document] = mapped_column(default=list)
    """URLs that are missing; an empty list asks for a new capture of the whole page."""
    is_done: Mapped[bool] = mapped_column(default=False)
    outcomes: Mapped[Document] = mapped_column(default=list)
    """`{"url", "status", "why"}` of each URL: `why` is empty for a URL that was captured."""
    score_before: Mapped[Number] = mapped_column(default=-1)
    score_after: Mapped[Number] = mapped_column(default=-1)

    repair: Mapped[QaRepair] = relationship(back_populates="parts")
