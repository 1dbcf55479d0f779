"""The catalogue lists the pages that ghosts visited, with title, thumbnail and text, and searches them by words.

It is made of the records `urn:pageinfo:`, `urn:thumbnail:` and `urn:text:` that the capture index names, and of the
lists of pages that imported WACZ packages brought (`admin.viewing.page_lists`). It can be deleted at any time: the next
start reads all of this again. With SQLite the catalogue is a file of its own in the home,
searched by FTS5. With PostgreSQL its tables stand beside the capture index, searched by tsvector.
"""

from __future__ import annotations

import logging
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import batched
from typing import Any, Final

from sqlalchemy import Connection, Engine, bindparam, create_engine, event, func, inspect, or_, select, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from admin.collections.browsing.capture import INFO, TEXT, note_of_visit, page_notes, page_text
from admin.collections.browsing.index import OpenIndex
from admin.collections.browsing.records import RecordTrouble
from admin.models.errors import DatabaseRefused
from admin.viewing.page_lists import PageList, page_lists
from archive.access_rules import Access
from archive.capture import Capture
from archive.dates import Micros, timestamp14
from archive.settings.load import Settings
from archive.wacz.pages import ArchivedPage
from dedupdb.captures.finder import Finder
from dedupdb.captures.schema import CAPTURES, keep_private, new_engine, reading, to_capture

log = logging.getLogger(__name__)

THUMBNAIL: Final = "urn:thumbnail:"
FILE: Final = "pages.db"
FOUND_AT_ONCE: Final = 50
"""Pages on one page of what a search finds."""
MOST_LOOKED_AT: Final = 20_000
"""Visits of pages that one list or one search looks at, when readers may not see many of them."""
START_MARK: Final = "\x02"
END_MARK: Final = "\x03"
"""The found words of a snippet stand between these."""
_PREFIXES: Final = (INFO, TEXT, THUMBNAIL)
_WINDOW: Final = 20_000
_LATE_ROWS: Final = 20_000
"""The newest rows, which are read again after a while. PostgreSQL numbers rows before their transaction is committed,
so one indexer may commit low numbers after another one committed higher numbers."""
_COMMIT_ROWS: Final = 100
_MOST_WORDS: Final = 20
_LONGEST_QUERY: Final = 300
_BUSY_SECONDS: Final = 30
_SNIPPET_WORDS: Final = 30
_C: Final = CAPTURES.c
_PAGES: Final = "viewer_pages"
_TABLES: Final = (
    "CREATE TABLE IF NOT EXISTS viewer_pages (id {serial}, collection TEXT NOT NULL, url TEXT NOT NULL,"
    " visit TEXT NOT NULL, date BIGINT NOT NULL, title TEXT NOT NULL DEFAULT '', final_url TEXT DEFAULT '',"
    " picture_file TEXT, picture_offset BIGINT, UNIQUE (collection, url, visit))",
    "CREATE TABLE IF NOT EXISTS viewer_places (collection TEXT NOT NULL, file TEXT NOT NULL,"
    ' "offset" BIGINT NOT NULL, page BIGINT NOT NULL, PRIMARY KEY (collection, file, "offset"))',
)
_SQLITE_WORDS: Final = (
    "CREATE VIRTUAL TABLE IF NOT EXISTS viewer_words USING fts5(title, url, body,"
    " tokenize='unicode61 remove_diacritics 2')",
)
_POSTGRESQL_WORDS: Final = (
    "CREATE TABLE IF NOT EXISTS viewer_words (page BIGINT PRIMARY KEY, title TEXT NOT NULL DEFAULT '',"
    " url TEXT NOT NULL DEFAULT '', body TEXT NOT NULL DEFAULT '', words TSVECTOR GENERATED ALWAYS AS ("
    "setweight(to_tsvector('simple', left(title, 2000)), 'A') ||"
    " setweight(to_tsvector('simple', translate(left(url, 2000), '/?&=.-_', '       ')), 'B') ||"
    " to_tsvector('simple', body)) STORED)",
    "CREATE INDEX IF NOT EXISTS viewer_words_found ON viewer_words USING GIN (words)",
)
_SQLITE_SEARCH: Final = (
    "SELECT p.* FROM viewer_words"
    " JOIN viewer_pages p ON p.id = viewer_words.rowid WHERE viewer_words MATCH :query"
    " AND (:only = '' OR p.collection = :only) ORDER BY bm25(viewer_words, 8.0, 4.0, 1.0), p.date DESC LIMIT :limit"
)
_SQLITE_SNIPPETS: Final = (
    "SELECT rowid AS page, snippet(viewer_words, 2, :start, :end, '…', :words) AS snippet FROM viewer_words"
    " WHERE viewer_words MATCH :query AND rowid IN :pages"
)
_POSTGRESQL_SEARCH: Final = (
    "SELECT p.* FROM viewer_words w"
    " JOIN viewer_pages p ON p.id = w.page, to_tsquery('simple', :query) q WHERE w.words @@ q"
    " AND (:only = '' OR p.collection = :only) ORDER BY ts_rank(w.words, q) DESC, p.date DESC LIMIT :limit"
)
_POSTGRESQL_SNIPPETS: Final = (
    "SELECT w.page, ts_headline('simple', w.body, to_tsquery('simple', :query), :options) AS snippet"
    " FROM viewer_words w WHERE w.page IN :pages"
)
_LIST: Final = (
    "SELECT p.* FROM viewer_pages p WHERE p.collection = :collection AND p.url > :start"
    " ORDER BY p.url, p.date DESC, p.id DESC LIMIT :limit"
)
_NEAR: Final = (
    "SELECT p.* FROM viewer_pages p WHERE p.collection = :collection AND p.url = :url AND p.picture_file IS NOT NULL"
    " ORDER BY ABS(p.date - :date) LIMIT :limit"
)
_NEAR_VISITS: Final = 50
_KNOWN_PLACE: Final = (
    'SELECT 1 FROM viewer_places WHERE collection = :collection AND file = :file AND "offset" = :offset'
)
_KNOWN_PLACES: Final = (
    'SELECT "offset" FROM viewer_places WHERE collection = :collection AND file = :file AND "offset" IN :offsets'
)
_PUT_PLACE: Final = (
    'INSERT INTO viewer_places (collection, file, "offset", page) VALUES (:collection, :file, :offset, :page)'
    " ON CONFLICT DO NOTHING"
)
_PUT_FINAL_URL: Final = "UPDATE viewer_pages SET final_url = :url WHERE id = :page"
_NEXT_FILE: Final = (
    "SELECT collection, file FROM viewer_places WHERE (collection, file) > (:collection, :file) AND page > 0"
    " ORDER BY collection, file LIMIT 1"
)
_FILES_LOOKED_UP: Final = 500
"""WARC files that are looked up at once in the capture index, where a removed one has no captures any more."""
_SECOND_LOOK_SECONDS: Final = 30.0
"""Late rows and removed files are rare, and looking for them at each refresh would make the pages slow."""
_READS: Final = "viewer_reads"
_LOCK: Final = 0x67686F7375
_ROWS_AT_ONCE: Final = 200
_SHOWN: Final = frozenset({Access.ALLOW, Access.ALLOW_IGNORE_EMBARGO})


@dataclass(frozen=True, slots=True)
class VisitedPage:
    """A page as a ghost saw it at one visit."""

    collection: str
    url: str
    date: Micros
    title: str
    picture_file: str | None
    picture_offset: int | None
    number: int
    """The number of the visit in the catalogue."""
    final_url: str | None = ""
    """The URL at the end of the visit, to which title, picture and text belong; empty when the note names no other one.
    None when the note about the visit can't be read, so that the visit may have ended anywhere."""
    snippet: str = ""
    """A part of the text; the words that were searched for stand between START_MARK and END_MARK."""

    @property
    def timestamp(self) -> str:
        """Return the 14 digits of the visit's date."""
        return timestamp14(self.date)


@dataclass(frozen=True, slots=True)
class CataloguedVisit:
    """A catalogued visit is one visit of a page; `id` tells the visit from others of the same URL."""

    collection: str
    url: str
    id: str
    date: Micros


@dataclass(frozen=True, slots=True)
class FoundPages:
    """Found pages are a part of a list of pages."""

    pages: list[VisitedPage]
    next: int | None
    """The next page of the list begins after this number, or after this many hits of a search. None at the end."""


type PageAccess = Callable[[VisitedPage], Access]
"""The function returns what readers may see of the visit of a page."""


class PageCatalogue:
    """Threads may share it. Every call may raise DatabaseRefused."""

    def __init__(self, settings: Settings) -> None:
        """Open the catalogue, and make its tables."""
        self._settings = settings
        self._is_sqlite = settings.database_url.startswith("sqlite")
        self._mark = 0
        self._looked_up = ("", "")
        """The collection and the file up to which removed files were looked for."""
        self._second_look = 0.0
        """The time from which late rows and removed files are looked for again."""
        self._unreadable: set[tuple[str, str, int]] = set()
        """Collections, files and offsets of records that the next second look reads again."""
        self._listed: Iterator[None] | None = None
        self._reads = threading.Lock()
        self._engine = _sqlite_engine(settings) if self._is_sqlite else new_engine(settings.database_url)
        serial = "INTEGER PRIMARY KEY" if self._is_sqlite else "BIGSERIAL PRIMARY KEY"
        with self._writing() as connection:
            if not self._is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _LOCK})
            _drop_older_tables(connection)
            for statement in (*_TABLES, *(_SQLITE_WORDS if self._is_sqlite else _POSTGRESQL_WORDS)):
                connection.execute(text(statement.replace("{serial}", serial)))

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()

    def refresh(self, index: OpenIndex, seconds: float) -> bool:
        """Read new records of pages for so many seconds. Return whether all have been read.

        While another thread reads, the call returns False at once.
        """
        if not self._reads.acquire(blocking=False):
            return False
        try:
            return self._refresh(index, time.monotonic() + seconds)
        finally:
            self._reads.release()

    def pages(self, collection: str, access: PageAccess, *, after: int | None = None, limit: int = 50) -> FoundPages:
        """Return the newest visit of each page by URL that readers may know of; `after` is the `next` of a list.

        A blocked page has no title and no picture. The list is short, and goes on, when most visits are excluded.
        """
        found: dict[str, VisitedPage] = {}
        with self._reading() as connection:
            begin = connection.scalar(
                text("SELECT url FROM viewer_pages WHERE id = :after AND collection = :collection"),
                {"after": after or 0, "collection": collection},
            )
            values = {"collection": collection, "start": begin or "", "limit": MOST_LOOKED_AT}
            page, previous, looked_at = None, None, 0
            with connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(text(_LIST), values) as rows:
                for row in rows:
                    looked_at += 1
                    if page is not None and page.url != row.url:
                        previous = page
                    page = _page(row)
                    if page.url not in found and (allowed := _allowed(page, access(page))) is not None:
                        if len(found) == limit:
                            return FoundPages(list(found.values()), next(reversed(found.values())).number)
                        found[page.url] = allowed
        if page is None or looked_at < MOST_LOOKED_AT:
            return FoundPages(list(found.values()), None)
        # An older visit of the last URL may be readable, unless one is listed, or all visits here were of this URL.
        last = page if page.url in found or previous is None else previous
        return FoundPages(list(found.values()), last.number)

    def count(self, collection: str) -> int:
        """Return how many visits of pages the catalogue has of the collection."""
        query = text("SELECT COUNT(*) FROM viewer_pages WHERE collection = :collection")
        with self._reading() as connection:
            return int(connection.scalar(query, {"collection": collection}) or 0)

    def search(
        self, words: str, access: PageAccess, only: str | None = None, *, start: int = 0, limit: int = FOUND_AT_ONCE
    ) -> FoundPages:
        """Return the pages with all the words in title, URL or text, the best first; each page once.

        The last word may be the beginning of one. Words between quotation marks stand side by side. Excluded and
        blocked pages are not found: a search for words would tell their content. `start` is the `next` of a search.
        """
        query = _sqlite_query(words) if self._is_sqlite else _postgresql_query(words)
        if not query:
            return FoundPages([], None)
        values = {"query": query, "only": only or "", "limit": MOST_LOOKED_AT}
        found: dict[tuple[str, str], VisitedPage] = {}
        with self._reading() as connection:
            statement = text(_SQLITE_SEARCH if self._is_sqlite else _POSTGRESQL_SEARCH)
            with connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(statement, values) as rows:
                for row in rows:
                    page = _page(row)
                    if (page.collection, page.url) not in found and access(page) in _SHOWN:
                        found[page.collection, page.url] = page
                        if len(found) > start + limit:
                            break
        shown = list(found.values())[start : start + limit]
        snippets = {} if not shown else self._snippets(query, [page.number for page in shown])
        pages = [replace(page, snippet=snippets.get(page.number, "")) for page in shown]
        return FoundPages(pages, start + limit if len(found) > start + limit else None)

    def near(self, collection: str, url: str, date: Micros, access: PageAccess) -> VisitedPage | None:
        """Return the visit of a page nearest to a date that has a picture and that readers may see; None without."""
        values = {"collection": collection, "url": url, "date": date, "limit": _NEAR_VISITS}
        with self._reading() as connection:
            pages = [_page(row) for row in connection.execute(text(_NEAR), values)]
        return next((page for page in pages if access(page) in _SHOWN), None)

    def _snippets(self, query: str, pages: list[int]) -> dict[int, str]:
        """Return the part of each page's text that has the words, by the page's number."""
        values: dict[str, Any] = {"query": query, "pages": pages}
        if self._is_sqlite:
            values |= {"start": START_MARK, "end": END_MARK, "words": _SNIPPET_WORDS}
        else:
            values["options"] = (
                f'StartSel="{START_MARK}", StopSel="{END_MARK}", MaxWords={_SNIPPET_WORDS}, MinWords=10, MaxFragments=1'
            )
        statement = text(_SQLITE_SNIPPETS if self._is_sqlite else _POSTGRESQL_SNIPPETS)
        with self._reading() as connection:
            rows = connection.execute(statement.bindparams(bindparam("pages", expanding=True)), values)
            return {row.page: row.snippet or "" for row in rows}

    def _refresh(self, index: OpenIndex, ends: float) -> bool:
        is_second_look = time.monotonic() >= self._second_look
        if is_second_look:
            self._second_look = time.monotonic() + _SECOND_LOOK_SECONDS
            self._unreadable.clear()
        self._forget_removed(index, self._removed_files(index) if is_second_look else [])
        with reading(index.engine) as connection:
            newest = connection.scalar(select(func.max(_C.id))) or 0
        if self._mark > newest:
            self._mark = 0
        elif is_second_look:
            self._mark = max(self._mark - _LATE_ROWS, 0)
        while self._mark < newest:
            end = min(self._mark + _WINDOW, newest)
            rows = self._window(index, end)
            for batch in batched(rows, _COMMIT_ROWS):
                unread = self._unread(batch)
                if unread:
                    with self._writing() as connection:
                        for row in unread:
                            self._take(connection, index.finder, to_capture(row))
                self._mark = batch[-1].id
                if unread and time.monotonic() > ends:
                    return False
            self._mark = end
            if time.monotonic() > ends and end < newest:
                return False
        return self._read_lists(index, ends)

    def _read_lists(self, index: OpenIndex, ends: float) -> bool:
        """Go on with the lists of pages of imported packages until the time is over. Return whether all were read."""
        if self._listed is None:
            lists = [each for each in page_lists(self._settings) if index.finder.has(each.collection)]
            self._listed = self._take_lists(lists) if lists else iter(())
        for _ in self._listed:
            if time.monotonic() > ends:
                return False
        self._listed = None
        return True

    def _take_lists(self, lists: Sequence[PageList]) -> Iterator[None]:
        """Read the lists that were not read before; each step takes some pages."""
        for each in lists:
            place = {"collection": each.collection, "file": each.name, "offset": each.version}
            with self._reading() as connection:
                if connection.execute(text(_KNOWN_PLACE), place).first() is not None:
                    continue
            try:
                for batch in batched(each.pages(), _COMMIT_ROWS):
                    with self._writing() as connection:
                        for page in batch:
                            self._take_listed(connection, each.collection, page)
                    yield
            except OSError as error:
                log.warning("the list of pages %s of %s is not read: %s", each.name, each.collection, error.strerror)
                continue
            with self._writing() as connection:
                connection.execute(text(_PUT_PLACE), {**place, "page": 0})

    def _take_listed(self, connection: Connection, collection: str, listed: ArchivedPage) -> None:
        """Take a page of a list. What a ghost kept of the same visit counts more than the list."""
        visit = CataloguedVisit(collection, listed.url, listed.id, listed.date)
        page = self._number_of(connection, visit)
        known = connection.scalar(text("SELECT title FROM viewer_pages WHERE id = :page"), {"page": page})
        if not known and listed.title:
            self._note_title(connection, page, _storable(listed.title))
        if listed.text:
            self._note_text(connection, page, _storable(listed.text), is_first=True)

    def _window(self, index: OpenIndex, end: int) -> Sequence[Any]:
        """Return the records of pages among the rows of the capture index behind the mark, up to row `end`."""
        wanted = or_(*(_C.url.between(prefix, prefix + chr(0x10FFFF)) for prefix in _PREFIXES))
        query = select(CAPTURES).where(_C.id > self._mark, _C.id <= end, _C.kind == "resource", wanted)
        with reading(index.engine) as connection:
            return connection.execute(query.order_by(_C.id)).all()

    def _unread(self, rows: Sequence[Any]) -> list[Any]:
        """Return the rows whose records were not read before."""
        offsets: dict[tuple[str, str], list[int]] = {}
        for row in rows:
            offsets.setdefault((row.collection, row.filename), []).append(row.offset)
        query = text(_KNOWN_PLACES).bindparams(bindparam("offsets", expanding=True))
        known: set[tuple[str, str, int]] = set()
        with self._reading() as connection:
            for (collection, file), among in offsets.items():
                values = {"collection": collection, "file": file, "offsets": among}
                known |= {(collection, file, offset) for offset in connection.scalars(query, values)}
        return [row for row in rows if (row.collection, row.filename, row.offset) not in known]

    def _forget_removed(self, index: OpenIndex, files: Sequence[tuple[str, str]]) -> None:
        """Drop the pages of these WARC files, and of collections that the capture index does not have any more."""
        with self._reading() as connection:
            known = list(connection.scalars(text("SELECT DISTINCT collection FROM viewer_pages")))
        gone = [name for name in known if not index.finder.has(name)]
        if not gone and not files:
            return
        # A collection that was renamed has its rows under another name now, and a page may have records in other files.
        self._mark, self._listed = 0, None
        word_id = "rowid" if self._is_sqlite else "page"
        with self._writing() as connection:
            for name in gone:
                pages = "SELECT id FROM viewer_pages WHERE collection = :name"
                for statement in (
                    f"DELETE FROM viewer_words WHERE {word_id} IN ({pages})",
                    "DELETE FROM viewer_places WHERE collection = :name",
                    "DELETE FROM viewer_pages WHERE collection = :name",
                ):
                    connection.execute(text(statement), {"name": name})
            for name, file in files:
                pages = "SELECT page FROM viewer_places WHERE collection = :name AND file = :file"
                for statement in (
                    f"DELETE FROM viewer_words WHERE {word_id} IN ({pages})",
                    f"DELETE FROM viewer_pages WHERE id IN ({pages})",
                    # A list of an imported package, which has no page in its place, may have one of these visits, too.
                    f"DELETE FROM viewer_places WHERE collection = :name AND (page = 0 OR page IN ({pages}))",
                ):
                    connection.execute(text(statement), {"name": name, "file": file})

    def _removed_files(self, index: OpenIndex) -> list[tuple[str, str]]:
        """Return the removed ones, with their collections, of the next files that the catalogue has places in."""
        gone = []
        with self._reading() as connection, reading(index.engine) as captures:
            for _ in range(_FILES_LOOKED_UP):
                collection, file = self._looked_up
                row = connection.execute(text(_NEXT_FILE), {"collection": collection, "file": file}).first()
                if row is None:
                    self._looked_up = ("", "")
                    break
                self._looked_up = (row.collection, row.file)
                rows = select(_C.id).where(_C.collection == row.collection, _C.filename == row.file)
                if captures.execute(rows.limit(1)).first() is None:
                    gone.append(self._looked_up)
        return gone

    def _take(self, connection: Connection, finder: Finder, capture: Capture) -> None:
        """Read one record, unless it was read before. The note about the visit is read first: readers depend on it."""
        place = {"collection": capture.collection, "file": capture.filename, "offset": capture.offset}
        if tuple(place.values()) in self._unreadable:
            return
        if connection.execute(text(_KNOWN_PLACE), place).first() is not None:
            return
        prefix = next(each for each in _PREFIXES if capture.url.startswith(each))
        if prefix != INFO and (note := note_of_visit(finder, capture)) is not None:
            self._take(connection, finder, note)
        url = capture.url.removeprefix(prefix)
        visit = CataloguedVisit(capture.collection, url, capture.page_id or capture.timestamp, capture.date)
        page = self._number_of(connection, visit)
        try:
            if prefix == INFO:
                connection.execute(text(_PUT_FINAL_URL), {"url": None, "page": page})
                notes = page_notes(self._settings, capture)
                if notes is not None:
                    self._note_title(connection, page, _storable(notes.title))
                    connection.execute(text(_PUT_FINAL_URL), {"url": _storable(notes.final_url), "page": page})
            elif prefix == TEXT:
                self._note_text(connection, page, _storable(page_text(self._settings, capture)[0]))
            else:
                picture = text(
                    "UPDATE viewer_pages SET picture_file = :file, picture_offset = :offset WHERE id = :page"
                )
                connection.execute(picture, {**place, "page": page})
        except RecordTrouble as trouble:
            log.warning("the catalogue of pages lacks %s: %s", capture.url[:200], trouble)
            if trouble.may_pass:
                self._unreadable.add((capture.collection, capture.filename, capture.offset))
                return
        connection.execute(text(_PUT_PLACE), {**place, "page": page})

    def _number_of(self, connection: Connection, visit: CataloguedVisit) -> int:
        """Return the number of a visit; a new visit gets one."""
        values = {
            "collection": visit.collection,
            "url": _storable(visit.url),
            "visit": _storable(visit.id),
            "date": visit.date,
        }
        find = text("SELECT id FROM viewer_pages WHERE collection = :collection AND url = :url AND visit = :visit")
        found = connection.scalar(find, values)
        if found is not None:
            return int(found)
        put = "INSERT INTO viewer_pages (collection, url, visit, date) VALUES (:collection, :url, :visit, :date)"
        connection.execute(text(put + " ON CONFLICT (collection, url, visit) DO NOTHING"), values)
        page = int(connection.scalar(find, values) or 0)
        number = "rowid" if self._is_sqlite else "page"
        words = text(f"INSERT INTO viewer_words ({number}, title, url, body) VALUES (:page, '', :url, '')")
        connection.execute(words, {"page": page, "url": values["url"]})
        return page

    def _note_title(self, connection: Connection, page: int, title: str) -> None:
        number = "rowid" if self._is_sqlite else "page"
        for statement in (
            "UPDATE viewer_pages SET title = :title WHERE id = :page",
            f"UPDATE viewer_words SET title = :title WHERE {number} = :page",
        ):
            connection.execute(text(statement), {"title": title, "page": page})

    def _note_text(self, connection: Connection, page: int, body: str, *, is_first: bool = False) -> None:
        """Note the text; with `is_first`, only for a page that has none."""
        number = "rowid" if self._is_sqlite else "page"
        only = " AND body = ''" if is_first else ""
        connection.execute(
            text(f"UPDATE viewer_words SET body = :body WHERE {number} = :page{only}"), {"body": body, "page": page}
        )

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        try:
            with self._engine.connect().execution_options(**{_READS: True}) as connection:
                yield connection
        except SQLAlchemyError as error:
            raise DatabaseRefused(f"the catalogue of pages can't be read: {_first_line(error)}") from error

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        try:
            with self._engine.begin() as connection:
                yield connection
        except SQLAlchemyError as error:
            raise DatabaseRefused(f"the catalogue of pages can't be written: {_first_line(error)}") from error


def _sqlite_engine(settings: Settings) -> Engine:
    settings.home.mkdir(parents=True, exist_ok=True)
    engine = create_engine(
        f"sqlite:///{settings.home / FILE}", poolclass=NullPool, connect_args={"timeout": _BUSY_SECONDS}
    )

    def prepare(connection: Any, _record: object) -> None:
        connection.isolation_level = None  # SQLAlchemy's own BEGIN would come too late for a lock
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")

    event.listen(engine, "do_connect", keep_private)
    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", _begin)
    return engine


def _drop_older_tables(connection: Connection) -> None:
    """Drop the tables of an earlier release. All records are read again then.

    Such tables have no `final_url`, or one that can't be NULL.
    """
    found = inspect(connection)
    if found.has_table(_PAGES) and not any(
        column["name"] == "final_url" and column["nullable"] for column in found.get_columns(_PAGES)
    ):
        for table in (_PAGES, "viewer_places", "viewer_words"):
            connection.execute(text(f"DROP TABLE IF EXISTS {table}"))


def _begin(connection: Connection) -> None:
    """Take the lock of writers at once: a transaction that reads first may be refused it later."""
    reads = connection.get_execution_options().get(_READS, False)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _page(row: Any) -> VisitedPage:
    return VisitedPage(
        row.collection, row.url, row.date, row.title, row.picture_file, row.picture_offset, row.id, row.final_url
    )


def _allowed(page: VisitedPage, access: Access) -> VisitedPage | None:
    """Return what readers may see of a page; None for an excluded one."""
    if access is Access.BLOCK:
        return replace(page, title="", picture_file=None, picture_offset=None)
    return page if access in _SHOWN else None


def _storable(given: str) -> str:
    """Return the text without what PostgreSQL can't keep, and without the marks of snippets."""
    return re.sub("[\0\ud800-\udfff\x02\x03]", " ", given)


def _terms(words: str) -> list[list[str]]:
    """Return the phrases of a query, each a list of words."""
    found = []
    for quoted, single in re.findall(r'"([^"]*)"|([^\s"]+)', words[:_LONGEST_QUERY]):
        phrase = re.findall(r"\w+", quoted or single)[:_MOST_WORDS]
        found += [phrase] if phrase else []
    return found[:_MOST_WORDS]


def _sqlite_query(words: str) -> str:
    """Return the words as a query of FTS5; everything that could be an operator is a quoted word."""
    terms = ['"' + " ".join(term) + '"' for term in _terms(words)]
    is_open = bool(words[:_LONGEST_QUERY].strip()) and words[:_LONGEST_QUERY].rstrip()[-1:] != '"'
    return " ".join(terms) + (" *" if terms and is_open else "")


def _postgresql_query(words: str) -> str:
    """Return the words as a query of to_tsquery; only word characters are in it."""
    terms = [" <-> ".join(term) for term in _terms(words)]
    is_open = bool(words[:_LONGEST_QUERY].strip()) and words[:_LONGEST_QUERY].rstrip()[-1:] != '"'
    return " & ".join(f"({term})" for term in [*terms[:-1], terms[-1] + (":*" if is_open else "")]) if terms else ""


def _first_line(error: SQLAlchemyError) -> str:
    return str(getattr(error, "orig", None) or error).strip().splitlines()[0][:300]
