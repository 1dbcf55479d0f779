"""QA sessions with judged pages, made directly in the database, with the pictures of the replay as files."""

from __future__ import annotations

import io
from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from PIL import Image

from admin.models.qa_tables import QaPage, QaPageState, QaSession, QaState
from admin.models.transaction import Transaction
from admin.qa.leases import count_pages
from admin.qa.picture_files import TEXT_NAME, page_folder

SECOND = 1_000_000
CAPTURED = 1_790_000_000 * SECOND


def finding(kind: str, points: float = 20, url: str = "", words: str = "an image is missing") -> dict[str, Any]:
    """Return a finding as the judgement keeps it."""
    return {"kind": kind, "words": words, "points": points, **({"url": url} if url else {})}


def add_session(
    transaction: Transaction, collection: str = "news", state: QaState = QaState.DONE, **values: Any
) -> QaSession:
    """Add a QA session without pages."""
    row = QaSession(
        collection=collection, state=state, urls=[], created=transaction.now, created_by="test", owner="", error="",
        **values,
    )  # fmt: skip
    transaction.session.add(row)
    transaction.session.flush()
    return row


def add_page(
    transaction: Transaction,
    session: QaSession,
    url: str = "http://example.org/page",
    score: int = 50,
    reasons: Sequence[dict[str, Any]] = (),
    **values: Any,
) -> QaPage:
    """Add a judged page; a score of -1 stands for a page that could not be judged."""
    is_judged = score >= 0
    severity = "severe" if score < 60 else "noticeable" if score < 90 else "good"
    kinds = " ".join(dict.fromkeys(each["kind"] for each in reasons))
    given: dict[str, Any] = {
        "host": url.split("/")[2],
        "page_id": "page-1",
        "captured": CAPTURED,
        "is_rendered": True,
        "state": QaPageState.JUDGED if is_judged else QaPageState.UNJUDGED,
        "judged": transaction.now,
        "severity": severity if is_judged else "",
        "kinds": f" {kinds} " if kinds else "",
        "title": "",
        "why": "" if is_judged else "the browser ended",
        "taken_by": "",
        "measures": {},
        "pictures": [],
        **values,
    }
    row = QaPage(
        session_id=session.id, url=url, url_hash=sha256(url.encode()).hexdigest(), score=score,
        reasons=list(reasons), **given,
    )  # fmt: skip
    transaction.session.add(row)
    transaction.session.flush()
    count_pages(transaction, session)
    return row


def picture(shade: int, width: int = 320, height: int = 240) -> bytes:
    """Return a PNG of one colour."""
    out = io.BytesIO()
    Image.new("RGB", (width, height), (shade, 90, 140)).save(out, "PNG")
    return out.getvalue()


def add_files(transaction: Transaction, session: QaSession, page: QaPage, text: str = "") -> None:
    """Write the pictures of the replay, and its text."""
    folder = page_folder(transaction.settings, session.collection, session.id, page.id)
    folder.mkdir(parents=True)
    names = ["view.png", "view-difference.png", "full-page.png", "full-page-difference.png"]
    for shade, name in enumerate(names):
        (folder / name).write_bytes(picture(40 + 50 * shade, height=240 if name.startswith("view") else 900))
    page.pictures = names
    if text:
        (folder / TEXT_NAME).write_text(text)
    transaction.session.flush()
