"""T18: which visits bring a page."""

from __future__ import annotations

import pytest

from browsers.crawling.worker import is_document
from browsers.visit import Visit


@pytest.mark.parametrize(
    ("code", "kind", "hop_path", "expected"),
    [
        (200, "text/html", "", True),
        (200, "application/xhtml+xml", "LL", True),
        (404, "text/html", "L", True),
        (200, "text/html", "R", True),
        (301, "text/html", "L", False),
        (200, "text/html", "LE", False),
        (200, "image/png", "L", False),
        (200, "text/css", "LE", False),
        (200, "text/xml", "M", False),
        (200, "text/html", "PM", True),
        (-4, "", "L", False),
    ],
)
def test_a_page_is_a_document_that_was_navigated_to(code: int, kind: str, hop_path: str, expected: bool) -> None:
    assert is_document(Visit(code, 0, content_type=kind), hop_path) is expected
