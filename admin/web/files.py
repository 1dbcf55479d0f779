"""Pages take large files from forms, and hand out files for download."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flask import request, send_file
from werkzeug.wrappers import Response

from admin.models.errors import InvalidInput, Problem
from admin.web.page import site
from archive.warc.reading.reader import StoredRecord

_DOWNLOAD_POLICY: Final = "default-src 'none'; sandbox"


def sent_file(field: str = "file") -> tuple[Path, str]:
    """Return the path and the name of a file that a form of `with_large_files` has sent. Raises InvalidInput."""
    sent = request.files.get(field)
    if sent is None or not sent.filename:
        raise InvalidInput(Problem(field, "no file was sent; choose one"))
    sent.stream.flush()
    path = Path(getattr(sent.stream, "name", ""))
    if (size := path.stat().st_size) > site().settings.admin.upload_max_bytes:
        raise InvalidInput(Problem(field, f"the file has {size:,} bytes, which is more than allowed"))
    return path, sent.filename


def download(path: Path, name: str) -> Response:
    """Return a file for download under this name, whole or in ranges; nothing in the file can become active."""
    answer = send_file(
        path, "application/octet-stream", as_attachment=True, download_name=name, conditional=True, etag=False
    )
    return _inactive(answer)


def download_block(record: StoredRecord, name: str) -> Response:
    """Return the block of a record for download under this name, and close the record at its end."""

    def pieces() -> Iterator[bytes]:
        with record:
            yield from record.block()

    answer = Response(pieces(), content_type="application/octet-stream")
    answer.headers.set("Content-Disposition", "attachment", filename=name)
    answer.headers["Content-Length"] = str(record.block_length)
    return _inactive(answer)


def _inactive(answer: Response) -> Response:
    """Return the answer with headers that keep browsers from showing what is in the file."""
    answer.headers["Content-Security-Policy"] = _DOWNLOAD_POLICY
    answer.headers["X-Content-Type-Options"] = "nosniff"
    answer.headers["Cache-Control"] = "no-store"
    return answer
