"""archive/warc/compression/incompressible.py: what is not worth packing again."""

from __future__ import annotations

import pytest

from archive.warc.compression.incompressible import is_incompressible


@pytest.mark.parametrize(
    ("mime", "coding", "expected"),
    [
        ("text/html", None, False),
        ("text/html", "gzip", True),
        ("text/html", "identity", False),
        ("text/html", "identity, BR", True),
        ("image/jpeg", None, True),
        ("image/svg+xml", None, False),
        ("font/woff2", None, True),
        ("application/zip", None, True),
        ("application/json", None, False),
        ("video/mp4", None, True),
        (None, None, False),
        (None, "zstd", True),
    ],
)
def test_what_is_compressed_already(mime: str | None, coding: str | None, expected: bool) -> None:
    assert is_incompressible(mime, coding) is expected
