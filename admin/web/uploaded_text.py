"""A form may take its text from a field or from a file that is sent with it."""

from __future__ import annotations

from typing import Final

from flask import request

_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")


def uploaded_text(field: str, file_field: str = "file") -> str:
    """Return the text of the file when there is one, and of the field otherwise.

    Files are UTF-8, or UTF-16 with a byte order mark; bytes that are neither become U+FFFD.
    """
    file = request.files.get(file_field)
    if file is None or not file.filename:
        return request.form.get(field, "")
    content: bytes = file.read()
    return content.decode("utf-16" if content.startswith(_UTF_16) else "utf-8-sig", "replace")
