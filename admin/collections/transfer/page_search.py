"""The page search finds which of a collection's captures are pages, with their titles and texts.

A ghost notes each page that it visits (`urn:pageinfo:`, `urn:text:`). Without such a note, a page is an HTML response
with status 200 that crawl.log does not call an embed. What is known about one URL is brought together by sorting, so
that memory does not grow with the collection.
"""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from io import BytesIO
from itertools import groupby
from typing import Final

from archive import crawl_log
from archive.capture import Capture
from archive.crawl_log import LogLine
from archive.http.content_coding import decode
from archive.json_text import ascii_json, parsed_object
from archive.storage.record_store import RecordStore
from archive.storage.storage import StorageError
from archive.wacz.pages import ArchivedPage
from archive.wacz.reader import read_pages
from archive.warc import cdxj
from archive.warc.reading.member_reader import WarcError
from browsers.links.decoding import encoding_of, text_of

logger = logging.getLogger(__name__)

INFO: Final = "urn:pageinfo:"
"""How the URL of a ghost's note about a visit begins."""
_TEXT: Final = "urn:text:"
_HTML: Final = ("text/html", "application/xhtml+xml")
_NOT_A_PAGE: Final = frozenset("EXPI")
"""Last hops of crawl.log that lead to a part of a page or to robots.txt: embed, speculative, prerequisite, implied."""
_MOST_OF_A_URL: Final = 10_000
"""Further captures of one URL are not searched for pages."""
_MOST_INFO: Final = 4_000_000
_MOST_TEXT: Final = 500_000
_MOST_OF_A_HEAD: Final = 262_144
"""Bytes at the beginning of a document in which its title is looked for."""
_LONGEST_TITLE: Final = 500
_SAME_TIME: Final = 1_000_000
"""Microseconds by which a page of an imported list and its capture may differ."""
_TITLE: Final = re.compile(r"<title[^>]{0,200}>([^<]{0,2000})", re.IGNORECASE)


def candidate(capture: Capture) -> str | None:
    """Return a line for the search when the capture may tell of a page, with a line end; None for another capture."""
    for prefix in (INFO, _TEXT):
        if capture.url.startswith(prefix):
            return f"{ascii_json(capture.url[len(prefix) :])}\t{cdxj.line(capture)}\n"
    if capture.kind not in ("response", "revisit") or capture.status != 200 or capture.method != "GET":
        return None
    return f"{ascii_json(capture.url)}\t{cdxj.line(capture)}\n" if capture.mime in _HTML else None


def visited(line: str, run: str) -> str | None:
    """Return a line for the search from a line of a run's crawl.log; None for a line that tells of no response."""
    try:
        found = crawl_log.parse(line)
    except ValueError:
        return None
    return f"{ascii_json(found.url)}\t!{run} {line.rstrip()}\n" if found.code > 0 else None


def listed(page: ArchivedPage) -> str:
    """Return a line for the search from a page that an imported package lists, with a line end."""
    return f"{ascii_json(page.url)}\t?{page.line()}"


@dataclass(slots=True)
class _Known:
    """All that is known about the captures of one URL."""

    url: str
    notes: list[Capture] = field(default_factory=list)
    texts: list[Capture] = field(default_factory=list)
    documents: list[Capture] = field(default_factory=list)
    visits: list[tuple[str, LogLine]] = field(default_factory=list)
    listed: list[ArchivedPage] = field(default_factory=list)

    def visit(self, capture: Capture) -> LogLine | None:
        """Return the line of crawl.log about a capture, or at least about its URL."""
        mine = [line for run, line in self.visits if run == capture.job] or [line for _, line in self.visits]
        return min(mine, key=lambda line: abs((line.started or line.time) - capture.date), default=None)


class PageSearch:
    """The search reads titles and texts from the records of one collection."""

    def __init__(self, records: RecordStore, collection: str) -> None:
        self._records = records
        self._collection = collection

    def pages(self, lines: Iterable[str]) -> Iterator[ArchivedPage]:
        """Yield the pages that sorted lines of `candidate` and `visited` tell of, in the order of their URLs."""
        for _, group in groupby(lines, key=lambda line: line.partition("\t")[0]):
            yield from self._pages(self._known(group))

    def final_url(self, note: Capture) -> str | None:
        """Return the URL at the end of the visit, or that of the note without one; None for an unreadable note."""
        info = parsed_object(self._block(note, _MOST_INFO))
        found = info.get("finalUrl")
        return (found if found and isinstance(found, str) else note.url) if info else None

    def _known(self, group: Iterable[str]) -> _Known:
        known = _Known("")
        for number, line in enumerate(group):
            if number >= _MOST_OF_A_URL:
                continue
            url, _, rest = line.partition("\t")
            known.url = known.url or str(parsed_object(f'{{"url":{url}}}')["url"])
            if rest.startswith("!"):
                run, _, text = rest[1:].partition(" ")
                known.visits.append((run, crawl_log.parse(text)))
                continue
            if rest.startswith("?"):
                known.listed += read_pages(BytesIO(rest[1:].encode()))
                continue
            capture = cdxj.parse(rest, self._collection)
            if capture.url.startswith(INFO):
                known.notes.append(capture)
            elif capture.url.startswith(_TEXT):
                known.texts.append(capture)
            else:
                known.documents.append(capture)
        return known

    def _pages(self, known: _Known) -> Iterator[ArchivedPage]:
        """Yield the pages of a URL; what an imported list says of a page fills what is not known otherwise."""
        for page in self._captured_pages(known):
            same = (each for each in known.listed if each.id == page.id or abs(each.date - page.date) < _SAME_TIME)
            told = next(same, None)
            yield page if told is None else _filled(page, told)

    def _captured_pages(self, known: _Known) -> Iterator[ArchivedPage]:
        noted = {note.page_id for note in known.notes if note.page_id}
        for note in known.notes:
            yield self._noted_page(known, note)
        for document in known.documents:
            if document.page_id in noted:
                continue
            visit = known.visit(document)
            if visit is None or visit.hop_path[-1:] not in _NOT_A_PAGE:
                yield self._plain_page(known, document, visit)

    def _noted_page(self, known: _Known, note: Capture) -> ArchivedPage:
        info = parsed_object(self._block(note, _MOST_INFO))
        same = (each for each in known.documents if note.page_id and each.page_id == note.page_id)
        document = next(same, None)
        visit = known.visit(document or note)
        title, status = info.get("title"), info.get("status")
        text = next((each for each in known.texts if note.page_id and each.page_id == note.page_id), None)
        return ArchivedPage(
            id=note.page_id or note.record_id,
            url=known.url,
            date=document.date if document else note.date,
            title=title[:_LONGEST_TITLE] if isinstance(title, str) else "",
            mime=document.mime if document else "",
            status=status if isinstance(status, int) and status > 0 else None,
            depth=_depth(visit),
            is_seed=visit is not None and not visit.hop_path,
            text=self._block(text, _MOST_TEXT).decode("utf-8", "replace") if text else "",
        )

    def _plain_page(self, known: _Known, document: Capture, visit: LogLine | None) -> ArchivedPage:
        original = document.refers_to
        source = document
        if original is not None:
            same = (each for each in known.documents if each.record_id == original.record_id and original.record_id)
            source = next(same, document)
        return ArchivedPage(
            id=document.page_id or document.record_id,
            url=known.url,
            date=document.date,
            title=self._title(source) if source.kind == "response" else "",
            mime=document.mime,
            status=document.status,
            depth=_depth(visit),
            is_seed=visit is not None and not visit.hop_path,
        )

    def _block(self, capture: Capture, most: int) -> bytes:
        """Return the block of a record up to `most` bytes; empty when the record can't be read."""
        found = bytearray()
        try:
            with self._records.record(self._collection, capture.filename, capture.offset, capture.length) as record:
                for piece in record.block():
                    found += piece
                    if len(found) >= most:
                        break
        except (OSError, WarcError, StorageError) as error:
            logger.warning("the record of %s can't be read: %s", capture.url[:500], error)
        return bytes(found[:most])

    def _title(self, capture: Capture) -> str:
        found = bytearray()
        try:
            with self._records.record(self._collection, capture.filename, capture.offset, capture.length) as record:
                fields = record.http.fields
                for piece in record.payload():
                    found += piece
                    if len(found) >= _MOST_OF_A_HEAD:
                        break
        except (OSError, WarcError, StorageError) as error:
            logger.warning("the record of %s can't be read: %s", capture.url[:500], error)
            return ""
        body = decode(bytes(found[:_MOST_OF_A_HEAD]), fields.get("Content-Encoding") or "", _MOST_OF_A_HEAD).data
        title = _TITLE.search(text_of(body, encoding_of(body, _charset(fields.get("Content-Type") or ""))))
        return " ".join(html.unescape(title[1]).split())[:_LONGEST_TITLE] if title else ""


def _filled(page: ArchivedPage, told: ArchivedPage) -> ArchivedPage:
    return replace(
        page,
        title=page.title or told.title,
        depth=told.depth if page.depth is None else page.depth,
        is_seed=page.is_seed or told.is_seed,
        text=page.text or told.text,
    )


def _depth(visit: LogLine | None) -> int | None:
    return None if visit is None else visit.hop_path.count("L")


def _charset(content_type: str) -> str | None:
    found = re.search(r"charset=[\"']?([^\s\"';]{1,40})", content_type, re.IGNORECASE)
    return found[1] if found else None
