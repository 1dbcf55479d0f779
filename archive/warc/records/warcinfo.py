"""The bytes of the record that opens every file. Pure."""

from __future__ import annotations

from typing import Final

from archive.capture import Message
from archive.dates import Micros, iso_date
from archive.settings.load import Settings
from archive.warc.records.header import check_values, field, whole_header
from archive.warc.records.record import Record, digest_of

FORMAT: Final = "WARC File Format 1.1"
CONFORMS_TO: Final = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"


def warcinfo_record(
    filename: str, settings: Settings, collection: str, *, record_id: str, date: Micros, hostname: str, software: str
) -> Record:
    """Return the record that opens a file and says who wrote it, with what, as part of which collection.

    Raises ValueError for a value that would break its lines.
    """
    said = {
        "software": software,
        "format": FORMAT,
        "conformsTo": CONFORMS_TO,
        "hostname": hostname,
        "operator": settings.archive.operator,
        "isPartOf": collection,
        "robots": settings.frontier.robots,
        "http-header-user-agent": settings.archive.user_agent,
    }
    said |= {name: value for name, value in settings.archive.warcinfo.items() if name not in said}
    check_values(filename, *said.values())
    block = "".join(field(name, value) for name, value in said.items() if value).encode()
    digest = digest_of((block,), settings.archive.digest)
    fields = field("WARC-Date", iso_date(date)) + field("WARC-Filename", filename)
    header = whole_header("warcinfo", record_id, fields, digest, "application/warc-fields", len(block))
    return Record("warcinfo", record_id, record_id, header, Message(block))
