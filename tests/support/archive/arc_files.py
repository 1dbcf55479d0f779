"""ARC files of version 1 as the Internet Archive's specification describes them, made by hand."""

from __future__ import annotations

import gzip
from collections.abc import Sequence

from support.archive.foreign_warcs import PAGE, SECOND

VERSION = b"1 0 InternetArchive\nURL IP-address Archive-date Content-type Archive-length\n"
HTTP_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def version_block(name: str = "old.arc", more: bytes = b"", version: bytes = VERSION) -> bytes:
    """The record that opens a file; `more` is behind the two lines of the version, as Heritrix has XML there."""
    block = version + more
    return b"filedesc://%b 0.0.0.0 20040102030405 text/plain %d\n%b\n" % (name.encode(), len(block), block)


def url_record(
    url: str,
    block: bytes,
    *,
    mime: str = "text/html",
    date: str = "20040102030406",
    ip: str = "192.0.2.1",
    length: int | None = None,
    end: bytes = b"\n",
) -> bytes:
    said = len(block) if length is None else length
    return f"{url} {ip} {date} {mime} {said}\n".encode() + block + end


def answered(body: bytes, *fields: bytes) -> bytes:
    return HTTP_HEAD + b"".join(each + b"\r\n" for each in fields) + b"\r\n" + body


def arc_records(host: str = "arc.example") -> list[bytes]:
    """The records of a small file: two pages and a DNS answer."""
    return [
        version_block(more=b"<arcmetadata/>\n"),
        url_record(f"dns:{host}", f"20040102030405\n{host}. 300 IN A 192.0.2.1\n".encode(), mime="text/dns"),
        url_record(f"http://{host}/", answered(PAGE, b"Content-Length: %d" % len(PAGE))),
        url_record(f"http://{host}/second", answered(SECOND), date="20040102030407"),
    ]


def arc_file(parts: Sequence[bytes], *, packed: bool) -> bytes:
    """Each record has a gzip member of its own when the file is packed."""
    return b"".join(map(gzip.compress, parts) if packed else parts)
