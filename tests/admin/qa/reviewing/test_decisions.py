"""admin/qa/reviewing/decisions.py: decisions about captures, on SQLite and PostgreSQL."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from support.admin.qa_rows import CAPTURED, SECOND, add_page, add_session
from support.admin.site_users import person

from admin.models.database import Database
from admin.models.errors import IllegalState, InvalidInput
from admin.models.people_tables import Role
from admin.models.qa_tables import PageDecision, Ruling
from admin.models.transaction import COMMAND_LINE
from admin.qa.reviewing.decisions import PageRuling, decide, list_decisions, undo
from admin.qa.reviewing.review import ruling_counts
from admin.qa.sessions import list_pages, show_page


def test_a_note_keeps_the_ruling_and_is_undone_alone(database: Database) -> None:
    person(database, "ada", Role.OPERATOR)
    with database.transaction(COMMAND_LINE) as transaction:
        session = add_session(transaction)
        page = add_page(transaction, session)
        decide(transaction, session.id, page.id, PageRuling(ruling=Ruling.ACCEPTED))
        given = PageRuling(ruling=Ruling.NOTE, note=" the banner is gone ", assigned_to="ada")
        made = decide(transaction, session.id, page.id, given).decision
        assert made is not None
        assert (made.ruling, made.note, made.assigned_to) == (Ruling.ACCEPTED, "the banner is gone", "ada")
        assert [each.id for each in list_pages(transaction, session.id, reviewer="ada").items] == [page.id]
        before = undo(transaction, session.id, page.id).decision
        assert before is not None
        assert (before.ruling, before.note, before.assigned_to) == (Ruling.ACCEPTED, "", "")
        made = [each.ruling for each in list_decisions(transaction, session.id, page.id).items]
        assert made == [Ruling.ACCEPTED, Ruling.NOTHING, Ruling.ACCEPTED, Ruling.ACCEPTED], "no row is ever changed"


def test_undo_lets_the_decision_before_count_again_and_ends_with_none(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        session = add_session(transaction)
        page = add_page(transaction, session)
        with pytest.raises(IllegalState, match="no decision"):
            undo(transaction, session.id, page.id)
        decide(transaction, session.id, page.id, PageRuling(ruling=Ruling.REPAIR))
        assert undo(transaction, session.id, page.id).decision is None
        with pytest.raises(IllegalState, match="no decision"):
            undo(transaction, session.id, page.id)
        decide(transaction, session.id, page.id, PageRuling(ruling=Ruling.REJECTED))
        decide(transaction, session.id, page.id, PageRuling(ruling=Ruling.ACCEPTED))
        after = undo(transaction, session.id, page.id).decision
        assert after is not None
        assert after.ruling is Ruling.REJECTED


def test_each_undo_takes_one_decision_further_back(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        session = add_session(transaction)
        page = add_page(transaction, session)

        def ruled(*rulings: Ruling) -> None:
            for ruling in rulings:
                decide(transaction, session.id, page.id, PageRuling(ruling=ruling))

        def undone() -> Ruling | None:
            decision = undo(transaction, session.id, page.id).decision
            return decision.ruling if decision is not None else None

        ruled(Ruling.ACCEPTED, Ruling.REJECTED, Ruling.REPAIR)
        assert [undone() for _ in range(3)] == [Ruling.REJECTED, Ruling.ACCEPTED, None]
        with pytest.raises(IllegalState, match="no decision"):
            undone()
        ruled(Ruling.ACCEPTED, Ruling.REJECTED, Ruling.ACCEPTED)
        assert [undone() for _ in range(3)] == [Ruling.REJECTED, Ruling.ACCEPTED, None], "the same again is a decision"
        ruled(Ruling.ACCEPTED, Ruling.REJECTED)
        assert undone() is Ruling.ACCEPTED
        ruled(Ruling.ACCEPTED, Ruling.REPAIR)
        assert [undone() for _ in range(2)] == [Ruling.ACCEPTED, None]


def test_a_decision_about_an_earlier_capture_is_shown_and_decides_nothing(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        old, new = add_session(transaction), add_session(transaction)
        before = add_page(transaction, old)
        decide(transaction, old.id, before.id, PageRuling(ruling=Ruling.ACCEPTED, note="fine"))
        page = add_page(transaction, new, captured=CAPTURED + SECOND)
        shown = show_page(transaction, new.id, page.id).decision
        assert shown is not None
        assert shown.is_earlier
        assert [each.id for each in list_pages(transaction, new.id, ruling="open").items] == [page.id]
        assert list_pages(transaction, new.id, ruling="accepted").items == []
        assert list_pages(transaction, old.id, ruling="open").items == []
        with pytest.raises(IllegalState, match="no decision about this capture"):
            undo(transaction, new.id, page.id)
        made = decide(transaction, new.id, page.id, PageRuling(ruling=Ruling.REJECTED)).decision
        assert made is not None
        assert (made.ruling, made.note, made.is_earlier) == (Ruling.REJECTED, "", False)


def test_a_later_decision_about_an_earlier_capture_leaves_those_about_others(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        old, new = add_session(transaction), add_session(transaction)
        before, page = add_page(transaction, old), add_page(transaction, new, captured=CAPTURED + SECOND)

        def rulings() -> list[Ruling | None]:
            """The rulings in both sessions, which all readers of decisions agree on."""
            found = []
            for session, number in ((old.id, before.id), (new.id, page.id)):
                decision = show_page(transaction, session, number).decision
                found.append(decision.ruling if decision is not None else None)
                ruling = "open" if decision is None or decision.is_earlier else decision.ruling
                assert [each.id for each in list_pages(transaction, session, ruling=ruling).items] == [number]
                counts = ruling_counts(transaction, session)
                assert {name: count for name, count in counts.items() if count} == {ruling: 1}
            return found

        decide(transaction, new.id, page.id, PageRuling(ruling=Ruling.REJECTED))
        assert rulings() == [Ruling.REJECTED, Ruling.REJECTED], "a decision about a later capture counts"
        decide(transaction, old.id, before.id, PageRuling(ruling=Ruling.ACCEPTED))
        assert rulings() == [Ruling.ACCEPTED, Ruling.REJECTED]
        decide(transaction, new.id, page.id, PageRuling(ruling=Ruling.NOTE, note="broken"))
        assert rulings() == [Ruling.ACCEPTED, Ruling.REJECTED], "a note keeps the ruling about its capture"
        undo(transaction, new.id, page.id)
        undo(transaction, old.id, before.id)
        assert rulings() == [Ruling.REJECTED, Ruling.REJECTED]
        decide(transaction, old.id, before.id, PageRuling(ruling=Ruling.ACCEPTED))
        undo(transaction, new.id, page.id)
        assert rulings() == [Ruling.ACCEPTED, Ruling.ACCEPTED]
        assert list_pages(transaction, new.id, ruling="open").items, "that about an earlier capture is only shown"


@pytest.mark.parametrize(
    ("given", "field"),
    [
        (PageRuling(ruling=Ruling.NOTHING), "ruling"),
        (PageRuling(ruling=Ruling.NOTE, note="  "), "note"),
        (PageRuling(ruling=Ruling.ACCEPTED, assigned_to="nobody"), "assigned_to"),
    ],
)
def test_what_can_not_be_decided_is_refused_with_its_field(database: Database, given: PageRuling, field: str) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        session = add_session(transaction)
        page = add_page(transaction, session)
        with pytest.raises(InvalidInput) as caught:
            decide(transaction, session.id, page.id, given)
        assert [problem.field for problem in caught.value.problems] == [field]
        assert transaction.session.scalars(select(PageDecision)).all() == []
