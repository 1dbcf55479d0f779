"""admin/people/audit.py: filters, pages, rights, and a list that stays fast."""

from __future__ import annotations

import pytest
from sqlalchemy import insert, text
from support.admin.harvest_database import SECOND, START, MovableClock
from support.admin.site_users import person
from support.each_value import each_value

from admin.models.database import Database
from admin.models.errors import Forbidden, InvalidInput
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE, Actor, Door
from admin.people.audit import list_audit

ANNA = Actor("anna", Role.CURATOR, Door.WEB, "192.0.2.7")
BERT = Actor("bert", Role.CURATOR, Door.API)


@pytest.fixture
def changes(database: Database, clock: MovableClock) -> None:
    """Ten changes by two people, one each second."""
    for number in range(10):
        clock.move(SECOND)
        with database.transaction(ANNA if number % 2 else BERT) as transaction:
            transaction.audit("domain.change", "domain", number, f"d{number}.org", old={"n": number}, new={"n": 0})


@pytest.mark.usefixtures("changes")
def test_changes_are_listed_newest_first_in_pages_without_gaps(database: Database) -> None:
    seen, after = [], ""
    with database.transaction(COMMAND_LINE) as transaction:
        while True:
            page = list_audit(transaction, after=after, limit=3)
            seen += [entry.entity_name for entry in page.items]
            if page.next is None:
                break
            after = page.next
    assert seen == [f"d{number}.org" for number in reversed(range(10))]


@pytest.mark.usefixtures("changes")
@each_value(
    ("filters", "found"),
    [
        ({"actor": "anna"}, [9, 7, 5, 3, 1]),
        ({"actor": "anna", "since": START + 7 * SECOND}, [9, 7]),
        ({"until": START + 3 * SECOND}, [1, 0]),
        ({"entity": "domain", "entity_id": "4"}, [4]),
        ({"action": "domain.change", "actor": "bert", "until": START + 4 * SECOND}, [2, 0]),
        ({"action": "domain"}, []),
        ({"actor": "%"}, []),
        ({"actor": "\0"}, []),
        ({"since": 10**30}, []),
        ({"until": -(10**30)}, []),
    ],
)
def test_filters_choose(database: Database, filters: dict[str, object], found: list[int]) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        page = list_audit(transaction, **filters)  # type: ignore[arg-type]
    assert [entry.entity_id for entry in page.items] == [str(number) for number in found]


@pytest.mark.usefixtures("changes")
def test_everybody_reads_the_own_changes_and_administrators_read_all(database: Database) -> None:
    anna = person(database, "anna", Role.READER)
    with database.transaction(anna) as transaction:
        page = list_audit(transaction, entity="domain")
        assert {entry.actor for entry in page.items} == {"anna"}
        assert len(page.items) == 5
        assert (page.items[0].address, page.items[0].old) == ("192.0.2.7", {"n": 9})
        with pytest.raises(Forbidden, match="may read the own changes alone"):
            list_audit(transaction, actor="bert")


@each_value("after", ["x", "1", "1-", "-1", "1-x", "１-１", "9" * 10_000])
def test_a_place_that_is_none_is_refused(sqlite_database: Database, after: str) -> None:
    with pytest.raises(InvalidInput, match="after: "), sqlite_database.transaction(COMMAND_LINE) as transaction:
        list_audit(transaction, after=after)


def test_a_number_without_its_entity_is_refused(sqlite_database: Database) -> None:
    with pytest.raises(InvalidInput, match="entity: "), sqlite_database.transaction(COMMAND_LINE) as transaction:
        list_audit(transaction, entity_id="7")


def test_every_filter_has_an_index_that_gives_the_order(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        transaction.session.execute(
            insert(AuditEntry),
            [
                {"at": START + n, "actor": f"u{n % 50}", "door": "web", "address": "", "action": f"a{n % 50}",
                 "entity": "domain", "entity_id": str(n % 500), "entity_name": "x"}
                for n in range(20_000)
            ],
        )  # fmt: skip
        transaction.session.execute(text("ANALYZE"))
        bind = transaction.session.get_bind()
        for condition in ("1=1", "actor='u7'", "action='a7'", "entity='domain' AND entity_id='7'"):
            explain = "EXPLAIN QUERY PLAN" if bind.dialect.name == "sqlite" else "EXPLAIN"
            query = f"SELECT * FROM audit_entries WHERE {condition} AND (at, id) < ({START + 15_000}, 5)"
            plan = " ".join(
                str(row) for row in transaction.session.execute(
                    text(f"{explain} {query} ORDER BY at DESC, id DESC LIMIT 100")
                )
            )  # fmt: skip
            assert "ix_audit_entries" in plan
            assert "Seq Scan" not in plan
            assert "USE TEMP B-TREE" not in plan
