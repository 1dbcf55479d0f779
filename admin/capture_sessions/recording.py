"""Let a recording proxy serve capture sessions: open, pause and end them there, and note what they keep.

The rows in the database say what is wanted. `tick` compares them with the sessions of the proxy. A proxy that died has
forgotten its sessions: they get the same port and the same credentials again, so that browsers go on.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from sqlalchemy import select

from admin.capture_sessions.page_facts import MOST_SECRET_FIELDS, PICTURE_URN, facts_of
from admin.capture_sessions.proxy_access import token_of
from admin.capture_sessions.session_log import OpenedPage, SessionLog
from admin.capture_sessions.sessions import SILENT_SECONDS, step
from admin.models.capture_tables import CaptureDoor, CaptureSession, CaptureState, SessionPage, run_name
from admin.models.database import Database
from admin.models.people_tables import Role
from admin.models.transaction import Actor, Door, Transaction
from archive.settings.load import Settings
from archive.url import UrlError, canonical
from browsers.engines.pictures import WEBRECORDER_THUMBNAIL_WIDTH, thumbnail
from browsers.proxying.control_client import Control, ProxySession, SessionCounts, SessionRequest
from browsers.visit import FleetUnavailable
from proxy.sessions.secrets.redaction import Redaction

log = logging.getLogger(__name__)
RECORDER: Final = Actor("capture", Role.ADMINISTRATOR, Door.SCHEDULER)
"""The capture process acts by itself."""
_ASLEEP_SECONDS: Final = 10
"""A process that has not ticked for so long was stopped, or its machine slept. So others may have been stopped too."""
_MICROS: Final = 1_000_000
_MINUTE: Final = 60 * _MICROS
_FINISH_SECONDS: Final = 60.0
_TITLE_TRIES: Final = 30
_TITLE_SECONDS: Final = 2.0
_BROWSERS_OWN: Final = (
    {"domain": "update.googleapis.com"},
    {"domain": "passwordsleakcheck-pa.googleapis.com"},
    {"domain": "firefox.settings.services.mozilla.com"},
)
"""Browsers ask here for updates of themselves, and whether passwords are known to thieves, whatever their options say.
"""
_CONTROL_PORT_IS_SILENT: Final = ("proxy-silent", "proxy-unreachable")
_BETWEEN_WORDS: Final = re.compile(r"[^\w-]+")
_SECRET_HEADERS: Final = ("authorization", "proxy-authorization")
_REQUEST_COOKIES: Final = ("cookie",)
_RESPONSE_COOKIES: Final = ("set-cookie",)


class Taken(Exception):
    """Another process records for the session, or has ended it. The message is one line."""


class FolderRemoved(Exception):
    """The folder of the collection was removed while a session recorded into it. The message is one line."""


@dataclass(slots=True)
class _Live:
    """A session that the proxy serves now."""

    proxy: ProxySession
    state: CaptureState
    log: SessionLog
    told: frozenset[str]
    """The proxy leaves the values of these form fields out of the records; empty when passwords are recorded."""
    titles: dict[int, int] = field(default_factory=dict)
    """Numbers of pages without a title, with the number of looks for it."""
    unlisted: list[tuple[int, OpenedPage]] = field(default_factory=list)
    """Pages with their numbers that the database does not have yet."""
    folder: int | None = None
    """Descriptor of the collection's folder, as soon as that is there. So no other folder gets the same inode."""
    trouble: str = ""
    """The reason why the session records nothing, or not everything; empty when all is well."""


class CaptureRecording:
    """The recording serves the sessions of one process by one recording proxy."""

    def __init__(self, settings: Settings, database: Database, control: Control, owner: str, only: int | None) -> None:
        """Open nothing yet. With `only`, that session alone is served; else all that are of people's own browsers."""
        self._settings, self._database, self._control = settings, database, control
        self._owner, self._only = owner, only
        self._live: dict[int, _Live] = {}
        self._ports: dict[int, int] = {}
        self.before_end: Callable[[int], None] = lambda _: None
        """This function is called with a session's number before the session is closed at the proxy."""
        self._secret_fields: defaultdict[int, set[str]] = defaultdict(set)
        self._last_tick = 0
        self._awake_since = 0

    @property
    def has_live(self) -> bool:
        """Return whether the proxy serves a session."""
        return bool(self._live)

    def log_of(self, session: int) -> SessionLog | None:
        """Return what is known of the session's log; None for one that is not served."""
        live = self._live.get(session)
        return live.log if live is not None else None

    def address_of(self, session: int) -> str | None:
        """Return host:port of the proxy that serves the session; None for one that is not served, or that ends."""
        live = self._live.get(session)
        return live.proxy.address if live is not None and live.state is not CaptureState.ENDING else None

    def trouble_of(self, session: int) -> str:
        """Return why the session records nothing, or not everything; empty when all is well."""
        live = self._live.get(session)
        return live.trouble if live is not None else ""

    def note_secret_field(self, session: int, name: str) -> None:
        """Leave the values of this form field out of all records of the session from now on.

        The page itself says that the field takes a password. May be called from any thread.
        """
        live = self._live.get(session)
        if live is None:
            return
        self._learn(session, (name,))
        try:
            self._tell_fields(session, live)
        except FleetUnavailable as error:
            log.warning("the field %r of a password is told to the proxy later: %s", name[:40], error)

    def keep_picture(self, session: int, url: str, png: bytes) -> None:
        """Write a small picture of a page beside its captures, unless the session is paused. May take a second.

        May be called from any thread. The URL is that of the page's record: without a fragment, which may be the token
        of a login, and without values of secret fields.
        """
        live = self._live.get(session)
        if live is None or live.state is not CaptureState.OPEN:
            return
        try:
            url = canonical(url)
        except UrlError:
            return
        fields = self._redacted_fields(session) if live.told else ()
        uri = f"{PICTURE_URN}{Redaction(fields=frozenset(fields)).url(url)}"
        try:
            small = thumbnail(png, WEBRECORDER_THUMBNAIL_WIDTH)
            self._control.write(live.proxy, "resource", uri, "image/jpeg", small, is_of_capture=False)
        except (FleetUnavailable, OSError) as error:
            log.warning("a picture of session %d was not kept: %s", session, error)

    def tick(self, *, is_serving: bool = True) -> None:
        """Compare what is wanted with what the proxy serves, and note what was kept.

        While the proxy does not serve, sessions stay those of this process, and begin to end when their time is over.
        A session that the proxy refuses ends, and holds no other one up.

        Raises FleetUnavailable. With `only`, raises Taken when the session is another process's, and FolderRemoved.
        """
        wanted = self._wanted()
        if self._only in self._live and self._only not in wanted:
            raise Taken(f"capture session {self._only} was ended by another process while this one was stopped")
        failed: FleetUnavailable | None = None
        for number in wanted if is_serving else ():
            try:
                self._serve(number)
            except FleetUnavailable as error:
                if error.reason in _CONTROL_PORT_IS_SILENT:
                    raise  # the next session would wait for as long, and in vain
                if error.may_be_the_page:
                    self._end_refused(number, str(error))
                else:
                    failed = failed or error
        if failed is not None:
            raise failed

    def close(self) -> None:
        """Close the proxy's sessions, and give up the sessions, so that another process can take them at once."""
        for number, live in list(self._live.items()):
            try:
                self._control.finish(live.proxy, wait_seconds=_FINISH_SECONDS, finish_files=True)
            except FleetUnavailable as error:
                log.warning("session %d could not be closed at the proxy: %s", number, error)
            self._await_titles(number, live)
            self._note_all(number, live)
            self._note(number, live, is_over=True)
            self._forget(number)

    def _await_titles(self, number: int, live: _Live) -> None:
        """Wait a moment for the index to have the last pages, so that their titles are listed."""
        pause, deadline = threading.Event(), time.monotonic() + _TITLE_SECONDS
        self._note(number, live, is_over=False)
        while live.titles and time.monotonic() < deadline:
            pause.wait(_TITLE_SECONDS / 10)
            self._note(number, live, is_over=False)

    def _note_all(self, number: int, live: _Live) -> None:
        """Note the whole log, which may have millions of lines that this process has not read yet."""
        while live.log.is_behind:
            self._note(number, live, is_over=False)

    def _wanted(self) -> list[int]:
        with self._database.transaction(RECORDER) as transaction:
            if transaction.now - self._last_tick > _ASLEEP_SECONDS * _MICROS:
                self._awake_since = transaction.now if self._last_tick else 0
            self._last_tick = transaction.now
            is_just_awake = transaction.now - self._awake_since < SILENT_SECONDS * _MICROS
            query = select(CaptureSession).where(CaptureSession.state != CaptureState.ENDED).order_by(CaptureSession.id)
            query = query.where(CaptureSession.id == self._only) if self._only is not None else query
            found = []
            for row in transaction.session.scalars(query.with_for_update(skip_locked=self._only is None)):
                is_silent = (_is_late(row, transaction) and not is_just_awake) or _has_died(row.worker)
                if row.worker not in ("", self._owner) and not is_silent:
                    if self._only is not None:
                        raise _taken(row)
                    continue
                if self._only is None and row.door is CaptureDoor.WINDOW and row.state is not CaptureState.ENDING:
                    if row.heard is None or not is_silent:
                        continue  # its command has just made it, or was stopped a moment ago
                    self._end(row, "the command that recorded it was killed")
                self._end_when_over(row, transaction)
                row.worker, row.heard = self._owner, transaction.now
                found.append(row.id)
            return found

    def _end_when_over(self, row: CaptureSession, transaction: Transaction) -> None:
        """End a session whose time is over, or in which nothing happens any more."""
        if row.state is not CaptureState.ENDING and (why := _why_over(row, transaction)):
            self._end(row, why)

    def _end(self, row: CaptureSession, why: str) -> None:
        step(row, CaptureState.ENDING)
        row.error = f"The session was ended: {why}."
        log.info("capture session %d: %s", row.id, row.error)

    def _serve(self, number: int) -> None:
        with self._database.reading(RECORDER) as reading_rows:
            row = reading_rows.session.get_one(CaptureSession, number)
            state = row.state
            self._learn(number, row.secret_fields)
            request = self._request(row)
        live = self._live.get(number)
        if live is None:
            live = self._open(number, request, state)
        elif (counts := self._report(live)) is None:
            live.proxy = self._opened(request)
            live.state, live.told = state, frozenset(request.redact_fields)
        else:
            live.trouble = _trouble(counts)
        if state is not CaptureState.ENDING and self._is_removed(live, request.collection):
            self._end_removed(number, request.collection)
            return
        if state is CaptureState.ENDING:
            live.state = state
            self.before_end(number)
            counts = self._control.finish(live.proxy, wait_seconds=_FINISH_SECONDS, finish_files=True)
            if counts is None:
                log.warning("capture session %d has requests in progress, and ends later", number)
                return
        elif state is not live.state:
            self._control.change(live.proxy, mode=_mode(state))
            live.state = state
        if state is CaptureState.ENDING:
            self._note(number, live, is_over=False)
            self._note_all(number, live)
        self._note(number, live, is_over=state is CaptureState.ENDING)
        if state is CaptureState.ENDING:
            self._forget(number)
        else:
            self._tell_fields(number, live)

    def _learn(self, number: int, names: Iterable[str]) -> None:
        """Note names of form fields whose values are secret, in a form that the proxy takes."""
        known = self._secret_fields[number]
        for name in filter(None, map(_printable_field, names)):
            if len(known) < MOST_SECRET_FIELDS:
                known.add(name)

    def _redacted_fields(self, number: int) -> tuple[str, ...]:
        return (*self._settings.capture.secret_fields, *sorted(self._secret_fields[number]))

    def _tell_fields(self, number: int, live: _Live) -> None:
        """Tell the proxy the names of secret fields, unless it has them all. Raises FleetUnavailable."""
        fields = self._redacted_fields(number)
        if live.told and live.told != frozenset(fields):
            self._control.change(live.proxy, redact_fields=fields)
            live.told = frozenset(fields)

    def _forget(self, number: int) -> None:
        live = self._live.pop(number)
        if live.folder is not None:
            os.close(live.folder)

    def _is_removed(self, live: _Live, collection: str) -> bool:
        """Return whether the collection's folder was removed. A file that is still open there has no name any more."""
        path = self._settings.collection(collection)
        try:
            if live.folder is None:
                live.folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
            return not os.path.samestat(os.fstat(live.folder), path.stat())
        except FileNotFoundError:
            return live.folder is not None

    def _end_removed(self, number: int, collection: str) -> None:
        """End a session whose collection has gone; the next tick closes it. Raises FolderRemoved for a window's."""
        why = f"the folder of collection {collection} was removed, with all that the session had kept in it"
        if self._only is not None:
            raise FolderRemoved(why)
        with self._database.transaction(RECORDER) as transaction:
            row = transaction.session.get_one(CaptureSession, number)
            if row.state in (CaptureState.OPEN, CaptureState.PAUSED):  # a person may have ended it just now
                self._end(row, why)

    def _end_refused(self, number: int, why: str) -> None:
        """End a session of which the proxy refuses something. The next tick closes it there if it is open there."""
        live = self._live.get(number)
        with self._database.transaction(RECORDER) as transaction:
            row = transaction.session.get_one(CaptureSession, number)
            was_ending = row.state is CaptureState.ENDING
            if row.state in (CaptureState.OPEN, CaptureState.PAUSED):
                self._end(row, f"the recording proxy refused it ({why})")
            if live is None and row.state is CaptureState.ENDING:
                step(row, CaptureState.ENDED)
                row.ended, row.worker, row.heard = transaction.now, "", None
        if live is not None and was_ending:
            self._note_all(number, live)
            self._note(number, live, is_over=True)
            self._forget(number)

    def _opened(self, request: SessionRequest) -> ProxySession:
        """Return a new session of the proxy, in place of one whose answer did not arrive. Raises FleetUnavailable."""
        try:
            return self._control.open(request)
        except FleetUnavailable as error:
            if error.reason != "control-409" or request.id is None or request.token is None:
                raise
        self._control.finish(ProxySession(request.id, request.token, "", 0), wait_seconds=_FINISH_SECONDS)
        return self._control.open(request)

    def _open(self, number: int, request: SessionRequest, state: CaptureState) -> _Live:
        proxy = self._opened(request)
        self._ports[number] = proxy.port
        log_of_session = SessionLog(self.folder(request.collection, number))
        live = _Live(proxy, state, log_of_session, told=frozenset(request.redact_fields))
        self._live[number] = live
        return live

    def _report(self, live: _Live) -> SessionCounts | None:
        """Return what the proxy says of the session; None for a new proxy, which does not know the session."""
        try:
            return self._control.report(live.proxy)
        except FleetUnavailable as error:
            if error.reason == "control-404":
                return None
            raise

    def folder(self, collection: str, number: int) -> Path:
        """Return the folder with the log of a session."""
        return session_folder(self._settings, collection, number)

    def _request(self, row: CaptureSession) -> SessionRequest:
        is_window = row.door is not CaptureDoor.OWN_BROWSER
        return SessionRequest(
            collection=row.collection,
            job=run_name(row.id),
            mode=_mode(row.state),
            source=_printable(row.title) or None,
            log_dir=str(self.folder(row.collection, row.id)),
            prefix=f"{row.collection[:40]}-manual-{row.id}",
            listen=is_window,
            port=self._ports.get(row.id) if is_window else None,
            id=row.proxy_session,
            token=token_of(self._settings, row.proxy_session),
            unconditional=True,
            notes_navigation=True,
            blocks=_BROWSERS_OWN if is_window else (),
            redact_fields=() if row.keeps_secrets else self._redacted_fields(row.id),
            redact_headers=(
                *(() if row.keeps_secrets else _SECRET_HEADERS),
                *(() if row.keeps_cookies else _REQUEST_COOKIES),
            ),
            redact_response_headers=() if row.keeps_cookies else _RESPONSE_COOKIES,
        )

    def _note(self, number: int, live: _Live, *, is_over: bool) -> None:
        """Write counts and pages of the session's log into the database."""
        live.unlisted += enumerate(live.log.read(), live.log.pages + 1)
        with self._database.transaction(RECORDER) as transaction:
            row = transaction.session.get(CaptureSession, number)
            if row is None or row.worker != self._owner:
                return
            fresh = [(at, page) for at, page in live.unlisted if at > row.pages]  # the log may be read again
            transaction.session.add_all(_page_row(number, at, page) for at, page in fresh)
            live.titles.update((at, 0) for at, _ in fresh)
            counted = live.log
            if counted.urls + counted.failed >= row.urls + row.failed:  # a log that is read again counts up to here
                row.urls, row.novel, row.known = counted.urls, counted.novel, counted.known
                row.failed, row.bytes = counted.failed, counted.bytes
                row.last_kept = counted.last_kept or row.last_kept
            row.pages = max(row.pages, counted.pages)
            if len(counted.shown_secrets) > len(row.shown_secrets):
                row.shown_secrets = list(counted.shown_secrets)
            learned = sorted(self._secret_fields[number])
            if learned != row.secret_fields:
                row.secret_fields = learned
            row.heard = transaction.now
            if row.state in (CaptureState.OPEN, CaptureState.PAUSED):
                row.error = live.trouble
            if is_over:
                row.worker, row.heard = "", None
                row.error = "" if row.error == live.trouble else row.error  # the trouble is over, too
                if row.state is CaptureState.ENDING:
                    step(row, CaptureState.ENDED)
                    row.ended = transaction.now
            if not live.log.is_behind:
                self._find_titles(transaction, row, live.titles)
        live.unlisted.clear()

    def _find_titles(self, transaction: Transaction, row: CaptureSession, waiting: dict[int, int]) -> None:
        """Add titles of pages as soon as the index has their captures, and learn names of fields for passwords."""
        if not waiting:
            return
        numbers = list(waiting)[:50]
        query = select(SessionPage).where(SessionPage.session_id == row.id, SessionPage.number.in_(numbers))
        for page in transaction.session.scalars(query):
            facts = facts_of(self._settings, row.collection, page.url, page.captured)
            waiting[page.number] += 1
            if facts is not None:
                page.title = facts.title
                self._learn(row.id, facts.password_fields)
            if facts is not None or waiting[page.number] >= _TITLE_TRIES:
                del waiting[page.number]


def _printable(text: str) -> str:
    """Return a text on one line with ordinary spaces alone, as the proxy takes texts."""
    return " ".join("".join(each if each.isprintable() else " " for each in text).split())


def _printable_field(name: str) -> str:
    """Return the name of a form field as the proxy takes names.

    Of a name that is not printable this is the longest word, by which the proxy finds the field, too.
    """
    return name if name.isprintable() else max(_BETWEEN_WORDS.split(name), key=len)


def _trouble(counts: SessionCounts) -> str:
    """Return what the counts say that a person must know now; empty when all is well."""
    told = []
    if counts.not_accepting_because:
        told.append(f"Nothing is kept now, and pages get an error: {counts.not_accepting_because}.")
        told.append("The session goes on by itself when that is mended; load the page again then.")
    if counts.untrusted:
        told.append(f"The browser refused our certificate for {', '.join(counts.untrusted)}.")
        told.append("If it refuses all sites, let it trust the certificate.")
        told.append("A program that accepts one certificate alone (pinning) can't be recorded.")
    return " ".join(told)


def session_folder(settings: Settings, collection: str, number: int) -> Path:
    """Return the folder with the log of a capture session."""
    return settings.collection(collection) / "sessions" / run_name(number)


def _page_row(session: int, number: int, page: OpenedPage) -> SessionPage:
    return SessionPage(
        session_id=session, number=number, url=page.url, title="", mime=page.mime[:255], captured=page.captured
    )


def _mode(state: CaptureState) -> Literal["record", "live"]:
    return "live" if state is CaptureState.PAUSED else "record"


def check_free(database: Database, number: int) -> None:
    """Raise Taken for a session that another process records now."""
    with database.reading(RECORDER) as reading_rows:
        row = reading_rows.session.get_one(CaptureSession, number)
        if row.worker and not _is_late(row, reading_rows) and not _has_died(row.worker):
            raise _taken(row)


def end_left(database: Database, number: int) -> None:
    """End a session that no process records now, if it is to end or its time is over. So it can be resumed.

    Raises Taken for a session that another process records now.
    """
    check_free(database, number)
    with database.transaction(RECORDER) as transaction:
        row = transaction.session.get_one(CaptureSession, number)
        is_left = row.state is CaptureState.ENDING or bool(_why_over(row, transaction))
        if row.state is not CaptureState.ENDED and is_left:
            row.worker, row.heard = "", None
            _end_now(row, transaction)


def _why_over(row: CaptureSession, transaction: Transaction) -> str:
    """Return why a session may not go on: its time is over, or nothing happens any more; empty when it may."""
    idle = transaction.settings.capture.idle_minutes
    if transaction.now >= row.expires:
        return "its time was over"
    if transaction.now - max(row.created, row.last_kept or 0) >= idle * _MINUTE:
        return f"nothing was fetched for {idle:g} minutes (setting capture.idle_minutes)"
    return ""


def _end_now(row: CaptureSession, transaction: Transaction) -> None:
    if row.state in (CaptureState.OPEN, CaptureState.PAUSED):
        step(row, CaptureState.ENDING)
    if row.state is CaptureState.ENDING:
        step(row, CaptureState.ENDED)
        row.ended = transaction.now


def _taken(row: CaptureSession) -> Taken:
    return Taken(f"capture session {row.id} is recorded by another process; end it there first")


def _is_late(row: CaptureSession, transaction: Transaction) -> bool:
    """Return whether the session's process has said nothing for a while."""
    return row.heard is None or row.heard < transaction.now - SILENT_SECONDS * _MICROS


def _has_died(owner: str) -> bool:
    """Return whether the owner (`admin.qa.leases.new_owner`) was a process of this machine that has ended."""
    host, _, rest = owner.partition(":")
    pid = rest.partition(":")[0]
    if host != socket.gethostname() or not pid.isdecimal():
        return False
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False


def end_closed(database: Database, number: int, trouble: str) -> None:
    """Note that a session whose WARC files are closed has ended; `trouble` says why it ended early."""
    with database.transaction(RECORDER) as transaction:
        row = transaction.session.get_one(CaptureSession, number)
        _end_now(row, transaction)
        if trouble:
            row.error = f"The session was ended: {trouble}"
