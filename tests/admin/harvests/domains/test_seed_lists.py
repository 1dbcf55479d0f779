"""admin/harvests/domains/seed_lists.py: many seed lists for a domain."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from support.each_value import each_value

from admin.harvests.domains.domain import DomainCreation, create_domain
from admin.harvests.domains.lookup import find_domain
from admin.harvests.domains.seed_lists import (
    SeedListChange,
    SeedListCreation,
    change_seed_list,
    create_seed_list,
    delete_seed_list,
    list_seed_lists,
    show_seed_list,
)
from admin.models.database import Database
from admin.models.errors import EditConflict, IllegalState, InvalidInput, NotFound
from admin.models.people_tables import AuditEntry
from admin.models.transaction import COMMAND_LINE
from archive.settings.load import load

TEXT = "# front page\r\nhttp://example.org/\r\n\r\nhttp://example.org/b\r\n"


@pytest.fixture
def filled(domains: Database) -> Database:
    with domains.transaction(COMMAND_LINE) as transaction:
        create_domain(transaction, DomainCreation(name="example.org"))
    return domains


def test_comments_and_blank_lines_are_kept_and_are_not_counted(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        view = create_seed_list(transaction, "example.org", SeedListCreation(name="news", seeds=TEXT))
        assert view.seeds == "# front page\nhttp://example.org/\n\nhttp://example.org/b\n"
        assert (view.domain, view.configurations, view.edition) == ("example.org", [], 1)
    with filled.transaction(COMMAND_LINE) as transaction:
        items = list_seed_lists(transaction, "example.org").items
        assert [(item.name, item.seeds) for item in items] == [("defaultseeds", 1), ("news", 2)]
        assert show_seed_list(transaction, "example.org", "news").seeds == view.seeds


def test_a_change_is_audited_and_a_second_one_of_the_same_edition_refused(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        change = SeedListChange(name="front", seeds="http://example.org/new", comments="x", edition=1)
        assert change_seed_list(transaction, "example.org", "defaultseeds", change).configurations == ["defaultconfig"]
    with filled.transaction(COMMAND_LINE) as transaction, pytest.raises(EditConflict):
        change_seed_list(transaction, "example.org", "front", SeedListChange(comments="y", edition=1))
    with filled.transaction(COMMAND_LINE) as transaction:
        entry = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == "seed-list.change")).one()
        assert entry.old == {"name": "defaultseeds", "comments": "", "seeds": "http://www.example.org"}
        assert entry.new == {"name": "front", "comments": "x", "seeds": "http://example.org/new"}
        with pytest.raises(NotFound):
            show_seed_list(transaction, "example.org", "defaultseeds")


def test_a_seed_list_keeps_a_name_that_an_earlier_release_took(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        find_domain(transaction, "example.org").seed_lists[0].name = "new"
        given = SeedListChange(name="new", comments="as before")
        assert change_seed_list(transaction, "example.org", "new", given).comments == "as before"


def test_all_that_is_wrong_is_said_at_once(filled: Database) -> None:
    given = SeedListCreation(name="a/b", seeds="http://ok.org/\nnot a url\nexample.org\n", comments="\0")
    with filled.transaction(COMMAND_LINE) as transaction, pytest.raises(InvalidInput) as caught:
        create_seed_list(transaction, "example.org", given)
    found = [(problem.field, problem.line) for problem in caught.value.problems]
    assert found == [("name", None), ("comments", None), ("seeds", 2), ("seeds", 3)]


@each_value("name", ["", " ", ".", "..", "a/b", "a\\b", "a\n", "a\0", "x" * 10_000, "\u202egnp", " a"])
def test_names_that_no_address_can_have_are_refused(filled: Database, name: str) -> None:
    with filled.transaction(COMMAND_LINE) as transaction, pytest.raises(InvalidInput, match="name:"):
        create_seed_list(transaction, "example.org", SeedListCreation(name=name))


@each_value("name", ['O\'Neill "x"', "ü", "<b>", "100%", "a?b#c", "; drop table"])
def test_names_with_quotes_are_kept(filled: Database, name: str) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        create_seed_list(transaction, "example.org", SeedListCreation(name=name))
        assert show_seed_list(transaction, "example.org", name).name == name
        with pytest.raises(InvalidInput, match="already"):
            create_seed_list(transaction, "example.org", SeedListCreation(name=name))


def test_the_setting_of_seeds_is_in_force(sqlite_domains: Database, home: object) -> None:
    values = {"home": str(home), "harvests.seed_regex": "https://.*"}
    sqlite_domains.settings = load(values, environment={})
    with sqlite_domains.transaction(COMMAND_LINE) as transaction:
        create_domain(transaction, DomainCreation(name="example.org"))
        with pytest.raises(InvalidInput, match=r"line 1: .*harvests\.seed_regex"):
            create_seed_list(transaction, "example.org", SeedListCreation(name="x", seeds="http://example.org/"))


def test_a_seed_list_in_use_stays(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        create_seed_list(transaction, "example.org", SeedListCreation(name="news"))
        with pytest.raises(IllegalState, match="used by the configurations 'defaultconfig'"):
            delete_seed_list(transaction, "example.org", "defaultseeds")
        delete_seed_list(transaction, "example.org", "news")
    with filled.transaction(COMMAND_LINE) as transaction:
        assert len(list_seed_lists(transaction, "example.org").items) == 1
        with pytest.raises(NotFound):
            delete_seed_list(transaction, "example.org", "news")


def test_thousands_of_bad_seeds_give_a_short_answer(filled: Database) -> None:
    given = SeedListCreation(name="x", seeds="nix\n" * 5_000)
    with filled.transaction(COMMAND_LINE) as transaction, pytest.raises(InvalidInput) as caught:
        create_seed_list(transaction, "example.org", given)
    assert len(caught.value.problems) == 101
    assert "4,900 more problems" in caught.value.problems[-1].message
