"""People make, list, show, pause, resume and end capture sessions, and use their pages, by these use cases."""

from __future__ import annotations

import secrets
from typing import Final

from pydantic import Field
from sqlalchemy import func, select

from admin.capture_sessions.proxy_access import CHECK_URL, access_of
from admin.fleet.home_folder import HomeError
from admin.models.capture_tables import (
    CAPTURE_STEPS,
    CaptureDoor,
    CaptureSession,
    CaptureState,
    SessionPage,
    run_name,
)
from admin.models.errors import Forbidden, IllegalState, NotFound
from admin.models.operation import InputModel, OutputModel, Page, checked_limit, numbered_page
from admin.models.transaction import RIGHTS, Right, Transaction
from archive.dates import Micros
from archive.names.name_rules import NAME_PATTERN

AT_ONCE: Final = 50
SILENT_SECONDS: Final = 30
"""A session is taken over when its process has said nothing for so long."""
ENTITY: Final = "capture session"
_HOUR: Final = 3_600_000_000
_MOST_HOURS: Final = 8_760
_MOST_PAGES: Final = 100_000


class NewCaptureSession(InputModel):
    """The input is the definition of a capture session."""

    collection: str = Field(pattern=NAME_PATTERN)
    """The collection into which is recorded; a new name makes a new collection."""
    title: str = Field(default="", max_length=300)
    description: str = Field(default="", max_length=10_000)
    hours: float | None = Field(default=None, gt=0, le=_MOST_HOURS)
    """The session ends by itself after this time; left out, after `capture.longest_hours`."""
    keeps_secrets: bool = False
    """Record passwords and Authorization headers. Without, they are left out of all records."""
    keeps_cookies: bool = True
    """Record the cookies of requests and responses."""
    screen: bool = False
    """The session gets a browser on this machine, which the person steers in the admin page."""


class CaptureSessionView(OutputModel):
    """The output is a capture session and what it has kept."""

    id: int
    collection: str
    title: str
    description: str
    owner: str
    door: CaptureDoor
    state: CaptureState
    created: Micros
    ended: Micros | None
    expires: Micros
    keeps_secrets: bool
    keeps_cookies: bool
    urls: int
    """Requests of which the collection has the response."""
    novel: int
    known: int
    failed: int
    bytes: int
    pages: int
    last_kept: Micros | None
    error: str
    shown_secrets: list[str]
    """The URLs whose responses show a secret that was typed, at most 100. Responses are recorded as they came."""

    @property
    def run(self) -> str:
        """Return the name of the session in its records and in its log, as the job of its captures."""
        return run_name(self.id)


class CapturePageView(OutputModel):
    """The output is a page that was opened in a capture session."""

    number: int
    url: str
    title: str
    mime: str
    captured: Micros


class CaptureAccess(OutputModel):
    """The output has what a person enters in the own browser."""

    proxy: str
    """Host and port of the HTTP proxy, for http and https."""
    user: str
    password: str
    pac_url: str
    """The address for automatic proxy configuration."""
    check_url: str
    """This page tells whether the browser records."""


def start(
    transaction: Transaction, given: NewCaptureSession, *, door: CaptureDoor = CaptureDoor.OWN_BROWSER
) -> CaptureSessionView:
    """Make a capture session, which is open at once. Raises InvalidInput."""
    transaction.require(Right.OPERATE)
    if given.screen:
        door = CaptureDoor.SCREEN
    hours = given.hours or transaction.settings.capture.longest_hours
    row = CaptureSession(
        collection=given.collection,
        title=given.title.strip(),
        description=given.description.strip(),
        owner=transaction.actor.name,
        door=door,
        state=CaptureState.OPEN,
        proxy_session=secrets.token_hex(16),
        created=transaction.now,
        expires=transaction.now + round(hours * _HOUR),
        keeps_secrets=given.keeps_secrets,
        keeps_cookies=given.keeps_cookies,
    )
    transaction.session.add(row)
    transaction.session.flush()
    new = {"collection": row.collection, "door": row.door, "keeps_secrets": row.keeps_secrets, "expires": row.expires}
    transaction.audit("capture-session.start", ENTITY, row.id, row.collection, new=new)
    return CaptureSessionView.model_validate(row)


def list_sessions(
    transaction: Transaction,
    collection: str = "",
    *,
    state: CaptureState | None = None,
    after: str | None = None,
    limit: int = AT_ONCE,
) -> Page[CaptureSessionView]:
    """Return capture sessions, the newest first."""
    transaction.require(Right.READ)
    query = select(CaptureSession)
    if collection:
        query = query.where(CaptureSession.collection == collection)
    if state is not None:
        query = query.where(CaptureSession.state == state)
    return numbered_page(
        transaction, query, CaptureSession.id, CaptureSessionView.of_rows, after=after, limit=limit, newest_first=True
    )


def show(transaction: Transaction, session: int) -> CaptureSessionView:
    """Return a capture session. Raises NotFound."""
    transaction.require(Right.READ)
    return CaptureSessionView.model_validate(find(transaction, session))


def list_pages(
    transaction: Transaction, session: int, *, after: str | None = None, limit: int = AT_ONCE
) -> Page[CapturePageView]:
    """Return the pages of a capture session in the order in which they were opened. Raises NotFound."""
    transaction.require(Right.READ)
    find(transaction, session)
    query = select(SessionPage).where(SessionPage.session_id == session)
    return numbered_page(transaction, query, SessionPage.number, CapturePageView.of_rows, after=after, limit=limit)


def find_page(transaction: Transaction, session: int, number: int) -> CapturePageView:
    """Return the page of a session with this number. Raises NotFound."""
    transaction.require(Right.READ)
    find(transaction, session)
    query = select(SessionPage).where(SessionPage.session_id == session, SessionPage.number == number)
    row = transaction.session.scalar(query)
    if row is None:
        raise NotFound(f"page of capture session {session}", number)
    return CapturePageView.model_validate(row)


def last_pages(transaction: Transaction, session: int, limit: int = 20) -> list[CapturePageView]:
    """Return the pages that were opened last, the newest first. Raises NotFound."""
    transaction.require(Right.READ)
    find(transaction, session)
    limit = checked_limit(limit)
    query = select(SessionPage).where(SessionPage.session_id == session).order_by(SessionPage.number.desc())
    return [CapturePageView.model_validate(row) for row in transaction.session.scalars(query.limit(limit))]


def page_urls(transaction: Transaction, session: int) -> list[str]:
    """Return the URLs of all pages, each once, in the order of their first visit. Raises NotFound."""
    transaction.require(Right.READ)
    find(transaction, session)
    first = func.min(SessionPage.number)
    query = (
        select(SessionPage.url)
        .where(SessionPage.session_id == session)
        .group_by(SessionPage.url)
        .order_by(first)
        .limit(_MOST_PAGES)
    )
    return list(transaction.session.scalars(query))


def show_access(transaction: Transaction, session: int) -> CaptureAccess:
    """Return what a person enters in the own browser. Raises NotFound, IllegalState and Forbidden.

    The person who made the session sees it, and so do administrators.
    """
    transaction.require(Right.OPERATE)
    row = find(transaction, session)
    if not may_steer(transaction, row):
        raise Forbidden(f"capture session {session} belongs to {row.owner}, who alone sees its password")
    if row.state not in (CaptureState.OPEN, CaptureState.PAUSED):
        raise IllegalState(f"capture session {session} is {row.state}; resume it first")
    if row.door is not CaptureDoor.OWN_BROWSER:
        raise IllegalState(f"capture session {session} has a browser of its own, and needs none of yours")
    try:
        access = access_of(transaction.settings, row)
    except HomeError as error:
        raise IllegalState(
            "no recording proxy has run in this home yet, so that there is no password; start `ghostfleet up`"
        ) from error
    return CaptureAccess(
        proxy=access.address,
        user=access.user,
        password=access.password,
        pac_url=access.pac_url,
        check_url=CHECK_URL,
    )


def pause(transaction: Transaction, session: int) -> CaptureSessionView:
    """Keep nothing from now on; the browser goes on. Raises NotFound, IllegalState and Forbidden."""
    return _step(transaction, session, CaptureState.PAUSED, "capture-session.pause")


def resume(transaction: Transaction, session: int) -> CaptureSessionView:
    """Keep again what is fetched. An ended session is opened again, for as long as a new one.

    Raises NotFound, IllegalState and Forbidden.
    """
    row = _steered(transaction, session)
    if row.door is CaptureDoor.UPLOAD:
        raise IllegalState(f"capture session {session} has uploaded files, and records nothing; make a new session")
    if row.state is CaptureState.ENDED:
        row.ended, row.error = None, ""
        row.expires = transaction.now + round(transaction.settings.capture.longest_hours * _HOUR)
        row.last_kept = transaction.now
    return _step(transaction, session, CaptureState.OPEN, "capture-session.resume")


def end(transaction: Transaction, session: int) -> CaptureSessionView:
    """End a capture session. Its WARC files are closed within seconds. Raises NotFound, IllegalState and Forbidden."""
    return _step(transaction, session, CaptureState.ENDING, "capture-session.end")


def find(transaction: Transaction, session: int) -> CaptureSession:
    """Return the session of this number. Raises NotFound."""
    found = transaction.session.get(CaptureSession, session)
    if found is None:
        raise NotFound(ENTITY, session)
    return found


def silence(transaction: Transaction, session: int) -> str:
    """Return a sentence when no process records for an open session now; empty when one does. Raises NotFound."""
    transaction.require(Right.READ)
    row = find(transaction, session)
    heard = row.heard or max(row.created, row.last_kept or 0)
    if row.state is CaptureState.ENDED or transaction.now - heard < SILENT_SECONDS * 1_000_000:
        return ""
    if row.door is CaptureDoor.WINDOW:
        return "The command that records has said nothing for a while: it was stopped or killed, or the disk is full."
    return "The capture process has said nothing for a while: `ghostfleet up` does not run, or the disk is full."


def may_steer(transaction: Transaction, row: CaptureSession) -> bool:
    """Return whether the actor may steer the session: the owner and administrators may."""
    return Right.ADMINISTER in RIGHTS[transaction.actor.role] or row.owner == transaction.actor.name


def step(row: CaptureSession, state: CaptureState) -> None:
    """Change the state. Raises IllegalState for a step that `CAPTURE_STEPS` does not have."""
    if state not in CAPTURE_STEPS[row.state]:
        raise IllegalState(f"capture session {row.id} is {row.state}; it can't become {state}")
    row.state = state


def _steered(transaction: Transaction, session: int) -> CaptureSession:
    transaction.require(Right.OPERATE)
    row = find(transaction, session)
    if not may_steer(transaction, row):
        raise Forbidden(f"capture session {session} belongs to {row.owner}")
    return row


def _step(transaction: Transaction, session: int, state: CaptureState, name: str) -> CaptureSessionView:
    row = _steered(transaction, session)
    old = row.state
    step(row, state)
    transaction.audit(name, ENTITY, session, row.collection, old={"state": old}, new={"state": state})
    return CaptureSessionView.model_validate(row)
