"""admin/harvests/domains/crawler_traps.py: traps of domains, of harvests, and global lists."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from support.admin.domain_templates import add_harvest

from admin.harvests.domains.crawler_traps import (
    TrapInput,
    TrapListChange,
    TrapListCreation,
    TrapsChange,
    TrapTest,
    active_domain_traps,
    active_global_traps,
    active_harvest_traps,
    change_trap_list,
    checked_traps,
    create_trap_list,
    delete_trap_list,
    harvest_traps,
    list_trap_lists,
    set_domain_traps,
    set_harvest_traps,
    show_domain_traps,
    show_trap_list,
    try_traps,
)
from admin.harvests.domains.domain import show_domain
from admin.harvests.domains.lookup import find_domain
from admin.harvests.domains.uploads import upload_domains
from admin.models.database import Database
from admin.models.domain_tables import CrawlerTrapList
from admin.models.errors import EditConflict, Forbidden, InvalidInput, NotFound
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE, Actor, Door


@pytest.fixture
def filled(domains: Database) -> Database:
    upload_domains(domains, COMMAND_LINE, ["a.org\nb.org\n"])
    return domains


def traps(*expressions: str) -> tuple[TrapInput, ...]:
    return tuple(TrapInput(expression=each) for each in expressions)


def test_traps_of_a_domain_are_replaced_as_a_whole(filled: Database) -> None:
    given = (*traps("/calendar/", " /search ", "/calendar/"), TrapInput(expression="sid=", is_active=False))
    with filled.transaction(COMMAND_LINE) as transaction:
        view = set_domain_traps(transaction, "a.org", TrapsChange(traps=given, edition=1))
        assert [trap.expression for trap in view.traps] == ["/calendar/", "/search", "sid="]
        assert view.edition == 2
    with filled.transaction(COMMAND_LINE) as transaction, pytest.raises(EditConflict):
        set_domain_traps(transaction, "a.org", TrapsChange(traps=(), edition=1))
    with filled.transaction(COMMAND_LINE) as transaction:
        assert show_domain_traps(transaction, "a.org") == view
        assert show_domain(transaction, "a.org").crawler_traps == 3
        numbers = [find_domain(transaction, name).id for name in ("a.org", "b.org")]
        assert active_domain_traps(transaction.session, numbers) == {numbers[0]: ["/calendar/", "/search"]}
        set_domain_traps(transaction, "a.org", TrapsChange(traps=traps("/search")))
    with filled.transaction(COMMAND_LINE) as transaction:
        entries = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == "domain.set-traps")).all()
        assert entries[-1].old == {"traps": 3, "expressions": ["/calendar/", "sid= (not active)"]}
        assert entries[-1].new == {"traps": 1, "expressions": []}


def test_one_bad_expression_keeps_the_former_ones(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        set_domain_traps(transaction, "a.org", TrapsChange(traps=traps("/calendar/")))
    with filled.transaction(COMMAND_LINE) as transaction, pytest.raises(InvalidInput) as caught:
        set_domain_traps(transaction, "a.org", TrapsChange(traps=traps("ok", "(a|aa)+$", "[")))
    assert [(problem.field, problem.line) for problem in caught.value.problems] == [("traps", 2), ("traps", 3)]
    with filled.transaction(COMMAND_LINE) as transaction:
        assert [trap.expression for trap in show_domain_traps(transaction, "a.org").traps] == ["/calendar/"]


def test_traps_of_a_harvest_are_kept_apart(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        harvest = add_harvest(transaction, "weekly")
        other = add_harvest(transaction, "daily")
        changed = set_harvest_traps(transaction, harvest, checked_traps(traps("/a/", "/b/")))
        assert changed == ({"traps": 0, "expressions": []}, {"traps": 2, "expressions": ["/a/", "/b/"]})
        assert set_harvest_traps(transaction, harvest, traps("/a/", "/b/")) is None
        assert [trap.expression for trap in harvest.traps] == ["/a/", "/b/"]
        assert active_harvest_traps(transaction.session, [harvest.id, other.id]) == {harvest.id: ["/a/", "/b/"]}
        assert harvest_traps(transaction, other.id) == []


def test_too_many_traps_of_one_domain_are_refused() -> None:
    with pytest.raises(InvalidInput, match=r"there are 1001 crawler traps.*global list"):
        checked_traps(traps(*(f"/{number}/" for number in range(1001))))


def test_a_global_list_is_made_from_an_upload_and_counts_while_active(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        given = TrapListCreation(name="common", text="\ufeff# ours\r\n/cal/\r\n\r\n/cal/\r\nsid=\r\n")
        view = create_trap_list(transaction, given)
        assert (view.traps, view.text, view.is_active, view.edition) == (2, "/cal/\nsid=", True, 1)
        create_trap_list(transaction, TrapListCreation(name="other", text="sid=\n/x/", is_active=False))
    with filled.transaction(COMMAND_LINE) as transaction:
        assert active_global_traps(transaction.session) == ["/cal/", "sid="]
        other = list_trap_lists(transaction).items[1]
        assert (other.name, other.traps, other.is_active) == ("other", 2, False)
        change_trap_list(transaction, other.id, TrapListChange(is_active=True, edition=1))
        assert active_global_traps(transaction.session) == ["/cal/", "sid=", "/x/"]
        change_trap_list(transaction, other.id, TrapListChange(text="/y/", name="another", description="d"))
        assert show_trap_list(transaction, other.id).text == "/y/"
        assert active_global_traps(transaction.session) == ["/cal/", "sid=", "/y/"]
    with filled.transaction(COMMAND_LINE) as transaction, pytest.raises(EditConflict):
        change_trap_list(transaction, other.id, TrapListChange(is_active=False, edition=1))
    with filled.transaction(COMMAND_LINE) as transaction:
        delete_trap_list(transaction, other.id)
        assert active_global_traps(transaction.session) == ["/cal/", "sid="]
        with pytest.raises(NotFound):
            show_trap_list(transaction, other.id)
    with filled.transaction(COMMAND_LINE) as transaction:
        actions = transaction.session.scalars(
            select(AuditEntry.action).where(AuditEntry.entity == "crawler trap list").order_by(AuditEntry.id)
        ).all()
        assert actions == [f"trap-list.{verb}" for verb in ("create", "create", "change", "change", "delete")]


def test_a_global_list_keeps_a_name_that_an_earlier_release_took(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        made = create_trap_list(transaction, TrapListCreation(name="common", text="/cal/"))
        transaction.session.scalars(select(CrawlerTrapList)).one().name = "new"
        view = change_trap_list(transaction, made.id, TrapListChange(name="new", description="d"))
        assert (view.name, view.description) == ("new", "d")


def test_bad_uploads_keep_nothing(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        create_trap_list(transaction, TrapListCreation(name="there", text="/a/"))
        for given, message in (
            (TrapListCreation(name="there", text="/a/"), "there is a crawler trap list 'there' already"),
            (TrapListCreation(name="a/b", text="/a/"), "name:"),
            (TrapListCreation(name="x", text="# nothing\n"), "has no expression"),
            (TrapListCreation(name="x", text="/a/\n\n(\n"), "line 3"),
            (TrapListCreation(name="x", text="y" * 5_000_000), "has 5000000 characters"),
            (TrapListCreation(name="x", text="a\n" + "\n".join(map(str, range(10_000)))), "10001 expressions"),
        ):
            with pytest.raises(InvalidInput, match=message):
                create_trap_list(transaction, given)
        assert [each.name for each in list_trap_lists(transaction).items] == ["there"]


def test_lists_are_paged_by_name(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        for name in ("c", "a", "b"):
            create_trap_list(transaction, TrapListCreation(name=name, text="/a/"))
        page = list_trap_lists(transaction, limit=2)
        assert ([item.name for item in page.items], page.next) == (["a", "b"], "b")
        assert [item.name for item in list_trap_lists(transaction, limit=2, after="b").items] == ["c"]


def test_a_test_keeps_nothing_and_a_reader_may_run_it(filled: Database) -> None:
    reader = Actor("rita", Role.READER, Door.WEB)
    with filled.transaction(reader) as transaction:
        given = TrapTest(expressions=("/cal/", "["), samples=("http://a.org/cal/1", "http://a.org/"))
        results = try_traps(transaction, given).items
        assert [(result.matches, result.problem is None) for result in results] == [([True, False], True), ([], False)]
        with pytest.raises(Forbidden):
            set_domain_traps(transaction, "a.org", TrapsChange(traps=()))
        with pytest.raises(Forbidden):
            create_trap_list(transaction, TrapListCreation(name="x", text="/a/"))
