"""One capture with the headers of its record, and what a ghost kept of the page: pictures, texts, notes, files."""

from __future__ import annotations

from typing import Final

from admin.collections.browsing.files import checked_file
from admin.collections.browsing.index import index_of
from admin.collections.browsing.page_notes import PageNotes, read_notes
from admin.collections.browsing.pictures import RedrawnPicture, safe_picture
from admin.collections.browsing.records import (
    RecordTrouble,
    open_record,
    plain_text,
    read_block,
    shown_header,
    trouble,
)
from admin.collections.browsing.search import CaptureLine, capture_line
from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem
from admin.models.operation import OutputModel
from admin.models.transaction import Right, Transaction
from archive.capture import Capture
from archive.settings.load import Settings
from archive.storage.storage import StorageError
from archive.url import OF_A_PAGE
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import StoredRecord
from dedupdb.captures.finder import Finder

PICTURES: Final = ("urn:viewAfterConsent:", "urn:view:", "urn:fullPage:", "urn:fullPageFinal:", "urn:thumbnail:")
"""The beginnings of the URLs of pictures that a ghost keeps, the best for a page first."""
TEXT: Final = "urn:text:"
TEXT_FINAL: Final = "urn:textFinal:"
INFO: Final = "urn:pageinfo:"
FILES: Final = {"urn:har:": ".har", "urn:pdf:": ".pdf", "urn:imageMap:": ".html", "urn:dom:": ".html"}
"""The beginnings of the URLs of records that are offered for download, each with the ending of the file's name."""
_KEPT: Final = (*PICTURES, TEXT, TEXT_FINAL, INFO, *FILES)
MOST_TEXT: Final = 200_000
"""Bytes of a page's text that are shown."""
_MOST_INFO: Final = 4_000_000


class KeptRecord(OutputModel):
    """A record that a ghost kept of a page."""

    kind: str
    """view, fullPage, fullPageFinal, thumbnail, text, textFinal, pageinfo, har, pdf, imageMap or dom."""
    capture: CaptureLine
    is_same_visit: bool
    """The record comes from the visit of the capture; when false, it comes from the visit nearest in time."""


class CaptureView(CaptureLine):
    """One capture with its record."""

    trouble: str | None
    """Why the record can't be read; None when it was read."""
    warc_header: str
    http_header: str
    original: CaptureLine | None
    """The capture that has a revisit's payload; None when the index does not know it."""
    kept: list[KeptRecord]
    title: str
    text: str | None
    """The text that a reader sees before behaviours, as the ghost kept it; None when there is none."""
    text_is_whole: bool
    text_final: str | None
    """The text after behaviours; None when it was not kept, because it was the same or was not asked for."""
    text_final_is_whole: bool
    notes: PageNotes | None
    """The ghost's notes about its visit; None when there is no note that can be understood."""


def show_capture(transaction: Transaction, name: str, file: str, offset: int) -> CaptureView:
    """Return the capture at a place of a WARC file. Raises NotFound and InvalidInput."""
    settings = transaction.settings
    with index_of(settings, name) as index:
        capture = _at_place(index.finder, name, file, offset)
        original = _original(index.finder, capture)
        kept = _kept(index.finder, capture)
    why, warc_header, http_header = _headers(settings, capture)
    texts: dict[str, tuple[str, bool]] = {}
    notes = None
    for each in kept:
        try:
            for prefix in (TEXT, TEXT_FINAL):
                if each.capture.url.startswith(prefix):
                    texts[prefix] = page_text(settings, each.capture)
            if each.capture.url.startswith(INFO):
                notes = page_notes(settings, each.capture)
        except RecordTrouble as error:
            why = why or str(error)
    text, text_final = texts.get(TEXT, (None, True)), texts.get(TEXT_FINAL, (None, True))
    return CaptureView(
        **capture_line(capture).model_dump(),
        trouble=why,
        warc_header=warc_header,
        http_header=http_header,
        original=capture_line(original) if original else None,
        kept=[
            KeptRecord(
                kind=each.capture.url.split(":", 2)[1], capture=capture_line(each.capture), is_same_visit=each.is_same
            )
            for each in kept
        ],
        title=notes.title if notes else "",
        text=text[0],
        text_is_whole=text[1],
        text_final=text_final[0],
        text_final_is_whole=text_final[1],
        notes=notes,
    )


def show_picture(transaction: Transaction, name: str, file: str, offset: int) -> RedrawnPicture:
    """Return a picture that a ghost kept, drawn anew. Raises NotFound, InvalidInput, and IllegalState.

    Only records with the URL of such a picture are taken, and only bytes that are PNG, JPEG or WebP.
    """
    with index_of(transaction.settings, name) as index:
        capture = _at_place(index.finder, name, file, offset)
    if capture.kind != "resource" or not capture.url.startswith(PICTURES):
        raise NotFound("picture", f"{file} at {offset}")
    try:
        return safe_picture(transaction.settings, capture)
    except RecordTrouble as error:
        raise IllegalState(str(error)) from error


def kept_file(transaction: Transaction, name: str, file: str, offset: int) -> tuple[str, StoredRecord]:
    """Return a HAR, PDF, image map or DOM that a ghost kept, to be closed, behind a name for the file to download.

    A HAR has headers that were sent and received, so this asks for the right to steer jobs. Raises NotFound,
    InvalidInput, Forbidden and IllegalState.
    """
    transaction.require(Right.OPERATE)
    with index_of(transaction.settings, name) as index:
        capture = _at_place(index.finder, name, file, offset)
    ending = next((ending for prefix, ending in FILES.items() if capture.url.startswith(prefix)), None)
    if capture.kind != "resource" or ending is None:
        raise NotFound("file of a page", f"{file} at {offset}")
    try:
        record = open_record(transaction.settings, capture)
    except RecordTrouble as error:
        raise IllegalState(str(error)) from error
    return f"{name}-{capture.timestamp}-{capture.url.split(':', 2)[1]}{ending}", record


class _Kept:
    """A record of a ghost, and whether it comes from the same visit."""

    def __init__(self, capture: Capture, is_same: bool) -> None:
        self.capture = capture
        self.is_same = is_same


def _at_place(finder: Finder, name: str, file: str, offset: int) -> Capture:
    checked_file(file)
    if not 0 <= offset < 2**63:
        raise InvalidInput(Problem("offset", f"{offset} is no place in a file"))
    capture = finder.at_place(name, file, offset)
    if capture is None:
        raise NotFound("capture", f"{file} at {offset}")
    return capture


def _original(finder: Finder, capture: Capture) -> Capture | None:
    named = capture.refers_to
    if named is None or not named.record_id:
        return None
    return finder.by_record(capture.collection, named.record_id)


def _kept(finder: Finder, capture: Capture) -> list[_Kept]:
    """Return what a ghost kept of the URL: one record of each kind, of the same visit or else the nearest in time."""
    if capture.url.startswith(_KEPT):
        return [_Kept(capture, True)]
    if not capture.url.startswith(("http://", "https://")):
        return []
    found = []
    for prefix in _KEPT:
        near = finder.written_near(capture.collection, prefix + capture.url, capture.date)
        same = next((each for each in near if capture.page_id and each.page_id == capture.page_id), None)
        if near:
            found.append(_Kept(same or near[0], same is not None))
    return found


def _headers(settings: Settings, capture: Capture) -> tuple[str | None, str, str]:
    """Return why the record can't be read, its WARC header, and its HTTP header."""
    warc_header = http_header = ""
    try:
        with open_record(settings, capture) as record:
            warc_header = shown_header(record.header)
            try:
                http_header = shown_header(record.http_head) if record.is_http else ""
            except (OSError, WarcError, StorageError) as error:
                raise trouble(capture, error) from error
    except RecordTrouble as error:
        return str(error), warc_header, http_header
    return None, warc_header, http_header


def page_text(settings: Settings, capture: Capture) -> tuple[str, bool]:
    """Return the text of a page, at most 200,000 bytes of it, and whether that is all. Raises RecordTrouble."""
    block, is_whole = read_block(settings, capture, MOST_TEXT)
    return plain_text(block.decode("utf-8", "replace")), is_whole


def page_notes(settings: Settings, capture: Capture) -> PageNotes | None:
    """Return what the ghost noted; None when the record is too long or can't be understood. Raises RecordTrouble."""
    block, is_whole = read_block(settings, capture, _MOST_INFO)
    return read_notes(block) if is_whole else None


def note_of_visit(finder: Finder, record: Capture) -> Capture | None:
    """Return the ghost's note about the visit that a record of a page comes from; None when the index has none."""
    if not record.page_id:
        return None
    near = finder.written_near(record.collection, OF_A_PAGE.sub(INFO, record.url), record.date)
    return next((each for each in near if each.page_id == record.page_id and each.url.startswith(INFO)), None)
