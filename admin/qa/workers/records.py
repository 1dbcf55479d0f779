"""Each judgement is kept in a WARC record `urn:qa:<url>` as well, so that it stays with the collection.

The records stand in WARC files of their own, whose names begin with the collection's name and `-qa`.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from admin.qa.judging.judgement import Judgement
from admin.qa.leases import TakenPage
from archive.dates import iso_date
from archive.json_text import compact_json
from browsers.proxying.control_client import Control, SessionRequest
from browsers.visit import FleetUnavailable

PREFIX: Final = "urn:qa:"
_FINISH_SECONDS: Final = 5.0


def write_judgement(control: Control, collection: str, session_id: int, page: TakenPage, judgement: Judgement) -> None:
    """Write the record of a judgement. Raises FleetUnavailable."""
    request = SessionRequest(
        collection, job=f"qa-{session_id}", page_id=page.page_id or None, page_url=page.url, prefix=f"{collection}-qa"
    )
    body = {
        "url": page.url,
        "pageid": page.page_id,
        "captured": iso_date(page.captured),
        "session": session_id,
        "score": judgement.score,
        "severity": judgement.severity,
        "reasons": judgement.reasons,
        "measures": judgement.measures,
    }
    session = control.open(request)
    try:
        block = compact_json(body).encode("utf-8", "replace")
        control.write(session, "resource", f"{PREFIX}{page.url}", "application/json", block, is_of_capture=False)
    finally:
        with suppress(FleetUnavailable):
            control.finish(session, wait_seconds=_FINISH_SECONDS)
