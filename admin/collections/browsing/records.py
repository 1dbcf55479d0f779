"""Records are read for pages here: a bounded part of each, and one line instead of an exception when one is damaged."""

from __future__ import annotations

import os
from typing import Final

from archive.capture import Capture
from archive.settings.load import Settings
from archive.storage.record_store import RecordStore
from archive.storage.storage import StorageError
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import StoredRecord
from dedupdb.captures.validation import SAFE_NAME

MOST_HEADER: Final = 32_768
"""Characters of a header that are shown."""


class RecordTrouble(Exception):
    """The record can't be read; the message names its file and the reason, for people."""

    may_pass = False
    """The record may be readable later: the storage or the disk did not answer."""


def open_record(settings: Settings, capture: Capture) -> StoredRecord:
    """Return the record of a capture, to be closed. Raises RecordTrouble."""
    place = f"{capture.filename} at {capture.offset}"
    if not SAFE_NAME.fullmatch(capture.filename):
        raise RecordTrouble(f"{capture.filename[:200]!r} is not the name of a file in the collection")
    try:
        record = RecordStore(settings).record(capture.collection, capture.filename, capture.offset, capture.length)
    except (OSError, WarcError, StorageError) as error:
        raise trouble(capture, error) from error
    if record.record_id != capture.record_id:
        record.close()
        raise RecordTrouble(f"the record in {place} is not the one that the index names; the file was replaced")
    return record


def trouble(capture: Capture, error: Exception) -> RecordTrouble:
    """Return what to tell about an error of reading, without the paths of this machine."""
    place = f"{capture.filename} at {capture.offset}"
    if isinstance(error, FileNotFoundError):
        return RecordTrouble(f"the file of this capture is missing: {capture.filename}")
    if isinstance(error, WarcError):
        return RecordTrouble(f"the record in {place} is damaged: {error.reason}")
    why = str(error)
    if isinstance(error, OSError):
        why = os.strerror(error.errno) if error.errno else "input error"
    found = RecordTrouble(f"{place} can't be read: {why}")
    found.may_pass = True
    return found


def read_block(settings: Settings, capture: Capture, most: int) -> tuple[bytes, bool]:
    """Return at most so many bytes of a record's block, and whether that is all. Raises RecordTrouble."""
    with open_record(settings, capture) as record:
        found = bytearray()
        try:
            for piece in record.block():
                found += piece
                if len(found) > most:
                    return bytes(found[:most]), False
        except (OSError, WarcError, StorageError) as error:
            raise trouble(capture, error) from error
    return bytes(found), True


def shown_header(header: bytes) -> str:
    """Return a header as text: at most 32,768 characters, control characters in a form that people see."""
    text = header[:MOST_HEADER].decode("utf-8", "replace").replace("\r\n", "\n").rstrip("\n")
    more = f"\n… {len(header) - MOST_HEADER:,} more bytes" if len(header) > MOST_HEADER else ""
    return plain_text(text) + more


def plain_text(text: str) -> str:
    """Return the text with visible signs for control characters, apart from line ends and tabs."""
    return "".join(
        each if each in "\n\t" or (ord(each) >= 32 and ord(each) not in _CONTROLS) else "\ufffd" for each in text
    )


_CONTROLS: Final = frozenset(
    (*range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000))
)
"""Controls, marks that turn the direction of writing, and half characters."""
