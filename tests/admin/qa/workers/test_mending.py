"""admin/qa/workers/mending: a repair ends, whatever its collection has become."""

from __future__ import annotations

from typing import cast

import pytest
from support.admin.qa_rows import add_page, add_session

from admin.capture_sessions.mends import HandCapture, capture_by_hand
from admin.models.capture_tables import CaptureSession, CaptureState
from admin.models.database import Database
from admin.models.errors import NotFound
from admin.models.qa_tables import QaRepair, QaState
from admin.models.transaction import COMMAND_LINE
from admin.qa.leases import take_work
from admin.qa.workers.mending import Mending
from admin.qa.workers.tools import Tools
from archive.settings.load import Settings
from browsers.ghosts.ghost import Ghost


def test_a_repair_of_a_collection_that_has_gone_has_failed(sqlite_database: Database, settings: Settings) -> None:
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        judged = add_session(transaction)
        page = add_page(transaction, judged, "http://example.org/").id
        made = capture_by_hand(transaction, judged.id, page, HandCapture())
        transaction.session.get_one(CaptureSession, made.capture_session).state = CaptureState.ENDED
    taken = take_work(sqlite_database, QaRepair, "a process")
    assert taken is not None

    def gone() -> None:
        raise NotFound("collection", "news")

    tools = Tools(settings, cast(Ghost, None), (), "", gone)
    with pytest.raises(NotFound):
        Mending(sqlite_database, taken, "a process", tools).run(lambda: False)
    with sqlite_database.reading(COMMAND_LINE) as reading:
        repair = reading.session.get_one(QaRepair, made.repair)
        assert (repair.state, repair.owner) == (QaState.FAILED, "")
        assert "news" in repair.error
    assert take_work(sqlite_database, QaRepair, "another") is None
