"""Files that other people captured become a capture session of their own: its pages, its counts, and its troubles.

The files are imported before (`admin.collections.transfer`). The session only lists them, and has ended already.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import batched, islice
from typing import Final

from sqlalchemy import ColumnElement, and_, func, select

from admin.capture_sessions.sessions import ENTITY
from admin.collections.browsing.index import index_if_any
from admin.collections.transfer.importing import PAGES_FOLDER
from admin.models.capture_tables import CaptureDoor, CaptureSession, CaptureState, SessionPage
from admin.models.database import Database
from admin.models.people_tables import Role
from admin.models.transaction import Actor, Door
from archive.settings.load import Settings
from archive.wacz.reader import read_pages
from dedupdb.captures.schema import CAPTURES, reading

log = logging.getLogger(__name__)
_C: Final = CAPTURES.c
_PAGE_TYPES: Final = ("text/html", "application/xhtml+xml", "application/pdf")
_MOST_PAGES: Final = 100_000
_MOST_FILES: Final = 500
"""File names in one query."""
_SHOWN_TROUBLES: Final = 5
_LONGEST_TROUBLE: Final = 300
_OWN_NAME: Final = Actor("upload", Role.ADMINISTRATOR, Door.SCHEDULER)


@dataclass(frozen=True, slots=True)
class Upload:
    """An upload is what one import has added to a collection."""

    collection: str
    title: str
    owner: str
    mark: str
    """A text of its own for each upload: a second call with the same mark makes no second session."""
    files: Sequence[str]
    """Names of the WARC files in the collection."""
    page_lists: Sequence[str] = ()
    """Names of the lists of pages of its packages, in the folder `pages` of the collection."""
    troubles: Sequence[str] = ()
    """The first lines that say what could not be taken."""
    trouble_count: int = 0


def note_upload(settings: Settings, database: Database, upload: Upload) -> int | None:
    """Make the capture session of an upload, and return its number; None when it has one already or has no file."""
    if not upload.files:
        return None
    with database.transaction(_OWN_NAME) as transaction:
        if transaction.session.scalar(select(CaptureSession.id).where(CaptureSession.proxy_session == upload.mark)):
            return None
        row = CaptureSession(
            collection=upload.collection,
            title=upload.title,
            description="",
            owner=upload.owner,
            door=CaptureDoor.UPLOAD,
            state=CaptureState.ENDED,
            proxy_session=upload.mark,
            created=transaction.now,
            ended=transaction.now,
            expires=transaction.now,
            keeps_secrets=True,
            keeps_cookies=True,
            worker="",
            error=_said(upload),
        )
        _count(settings, row, upload)
        transaction.session.add(row)
        transaction.session.flush()
        count = 0
        for page in islice(_pages(settings, upload), _MOST_PAGES):
            count += 1
            page.session_id, page.number = row.id, count
            transaction.session.add(page)
        row.pages = count
        transaction.audit(
            "capture-session.upload", ENTITY, row.id, row.collection, new={"files": len(upload.files), "pages": count}
        )
        return row.id


def _said(upload: Upload) -> str:
    shown = [line[:_LONGEST_TROUBLE] for line in upload.troubles[:_SHOWN_TROUBLES]]
    more = upload.trouble_count - len(shown)
    return " ".join((*shown, f"{more:,} more were found." if shown and more > 0 else "")).strip()


def _count(settings: Settings, row: CaptureSession, upload: Upload) -> None:
    """Count the captures of the files in the index."""
    is_bad = _C.status >= 400
    with index_if_any(settings) as index:
        if index is None:
            return
        with reading(index.engine) as connection:
            for chunk in batched(upload.files, _MOST_FILES):
                query = (
                    select(_C.kind == "revisit", is_bad, func.count(), func.sum(_C.length), func.max(_C.date))
                    .where(_is_of(upload, chunk), _C.kind.in_(("response", "revisit", "resource")))
                    .group_by(_C.kind == "revisit", is_bad)
                )
                for is_revisit, has_failed, count, size, last in connection.execute(query):
                    row.urls = (row.urls or 0) + count
                    row.novel = (row.novel or 0) + (0 if is_revisit else count)
                    row.known = (row.known or 0) + (count if is_revisit else 0)
                    row.failed = (row.failed or 0) + (count if has_failed else 0)
                    row.bytes = (row.bytes or 0) + int(size or 0)
                    row.last_kept = max(row.last_kept or 0, last or 0) or None


def _pages(settings: Settings, upload: Upload) -> Iterator[SessionPage]:
    """Yield the pages that packages list, or else the documents of the files in the order of their captures."""
    for name in upload.page_lists:
        path = settings.collection(upload.collection) / PAGES_FOLDER / name
        with path.open("rb") as lines:
            for each in read_pages(lines):
                yield SessionPage(url=each.url, title=each.title[:300], mime=each.mime[:255], captured=each.date)
    if upload.page_lists:
        return
    with index_if_any(settings) as index:
        if index is None:
            return
        with reading(index.engine) as connection:
            for chunk in batched(upload.files, _MOST_FILES):
                query = (
                    select(_C.url, _C.mime, _C.date)
                    .where(
                        _is_of(upload, chunk),
                        _C.mime.in_(_PAGE_TYPES),
                        _C.status == 200,
                        _C.method == "GET",
                        _C.kind.in_(("response", "revisit")),
                    )
                    .order_by(_C.date, _C.id)
                    .limit(_MOST_PAGES)
                )
                for url, mime, date in connection.execute(query):
                    yield SessionPage(url=url, title="", mime=mime[:255], captured=date)


def _is_of(upload: Upload, files: Iterable[str]) -> ColumnElement[bool]:
    return and_(_C.collection == upload.collection, _C.filename.in_(tuple(files)))
