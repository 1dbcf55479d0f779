"""admin/harvests/domains/aliases.py: aliases without chains, which expire."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import select
from support.admin.harvest_database import DAY, SECOND, START, MovableClock

from admin.harvests.domains.aliases import (
    AliasSetting,
    alias_in_force,
    aliases_in_force,
    is_in_force,
    list_aliases,
    renew_alias,
    set_alias,
    unset_alias,
)
from admin.harvests.domains.domain import show_domain
from admin.harvests.domains.lookup import find_domain
from admin.harvests.domains.uploads import upload_domains
from admin.models.database import Database
from admin.models.domain_tables import Domain
from admin.models.errors import EditConflict, IllegalState, InvalidInput, NotFound, UseCaseError
from admin.models.people_tables import AuditEntry
from admin.models.transaction import COMMAND_LINE

YEAR = 365 * DAY


@pytest.fixture
def filled(domains: Database) -> Database:
    upload_domains(domains, COMMAND_LINE, ["a.org\nb.org\nc.org\nd.org\n"])
    return domains


def alias(database: Database, name: str, of: str) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        set_alias(transaction, name, AliasSetting(alias_of=of))


@pytest.mark.parametrize(
    ("age", "in_force"),
    [(0, True), (364 * DAY, True), (YEAR - SECOND, True), (YEAR, False), (366 * DAY, False)],
)
def test_an_alias_expires_after_a_year(filled: Database, clock: MovableClock, age: int, in_force: bool) -> None:
    alias(filled, "b.org", "a.org")
    clock.move(age)
    assert is_in_force(START, clock.now, 31_536_000) is in_force
    with filled.transaction(COMMAND_LINE) as transaction:
        view = show_domain(transaction, "b.org")
        assert (view.alias_of, view.alias_since, view.alias_expires) == ("a.org", START, START + YEAR)
        assert view.is_alias_in_force is in_force
        found = transaction.session.scalars(select(Domain.name).where(alias_in_force(clock.now, 31_536_000))).all()
        assert found == (["b.org"] if in_force else [])
        target = find_domain(transaction, "a.org")
        names = aliases_in_force(transaction.session, [target.id], clock.now, 31_536_000)
        assert names == ({target.id: ["b.org"]} if in_force else {})
        assert show_domain(transaction, "a.org").aliases == ["b.org"]


def test_chains_and_circles_are_refused(filled: Database) -> None:
    alias(filled, "b.org", "a.org")
    with pytest.raises(InvalidInput, match=r"a\.org can't be an alias of itself"):
        alias(filled, "a.org", "a.org")
    with pytest.raises(InvalidInput, match=r"b\.org is itself an alias of a\.org; name a\.org"):
        alias(filled, "c.org", "b.org")
    with pytest.raises(InvalidInput, match=r"a\.org has aliases itself: 'b\.org'"):
        alias(filled, "a.org", "c.org")
    with pytest.raises(InvalidInput, match=r"is itself an alias"):
        alias(filled, "a.org", "b.org")
    with pytest.raises(NotFound):
        alias(filled, "a.org", "nix.org")
    alias(filled, "c.org", "a.org")


@pytest.mark.both_databases
def test_no_chain_comes_from_many_changes_at_once(filled: Database) -> None:
    pairs = [("a.org", "b.org"), ("b.org", "c.org"), ("c.org", "d.org"), ("d.org", "a.org")] * 5

    def change(name: str, of: str) -> None:
        try:
            alias(filled, name, of)
        except UseCaseError:
            return

    threads = [threading.Thread(target=change, args=pair) for pair in pairs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with filled.transaction(COMMAND_LINE) as transaction:
        rows = transaction.session.scalars(select(Domain)).all()
        assert any(row.alias_of for row in rows)
        assert not any(row.alias_of and row.alias_of.alias_of for row in rows)


def test_renewing_moves_the_end_and_unsetting_ends_the_alias(filled: Database, clock: MovableClock) -> None:
    alias(filled, "b.org", "a.org")
    clock.move(300 * DAY)
    with filled.transaction(COMMAND_LINE) as transaction:
        assert renew_alias(transaction, "b.org", 2).expires == START + 300 * DAY + YEAR
    with filled.transaction(COMMAND_LINE) as transaction, pytest.raises(EditConflict):
        unset_alias(transaction, "b.org", 2)
    with filled.transaction(COMMAND_LINE) as transaction:
        unset_alias(transaction, "b.org", 3)
        unset_alias(transaction, "b.org", 3)
        assert show_domain(transaction, "b.org").alias_of is None
        with pytest.raises(IllegalState, match=r"b\.org is no alias"):
            renew_alias(transaction, "b.org")
    with filled.transaction(COMMAND_LINE) as transaction:
        actions = transaction.session.scalars(select(AuditEntry.action).order_by(AuditEntry.id)).all()
        assert actions[-3:] == ["domain.set-alias", "domain.renew-alias", "domain.unset-alias"]


def test_the_list_begins_with_what_expires_first(filled: Database, clock: MovableClock) -> None:
    for name in ("d.org", "b.org", "c.org"):
        alias(filled, name, "a.org")
        clock.move(100 * DAY)
    clock.now = START + YEAR
    with filled.transaction(COMMAND_LINE) as transaction:
        page = list_aliases(transaction, limit=2)
        assert ([item.name for item in page.items], page.total) == (["d.org", "b.org"], 3)
        assert [item.is_in_force for item in page.items] == [False, True]
        assert page.next is not None
        assert [item.name for item in list_aliases(transaction, limit=2, after=page.next).items] == ["c.org"]
        assert [item.name for item in list_aliases(transaction, about_to_expire=True).items] == ["d.org"]
        for after in ("x", "1-x", "9" * 50, "1-2-3", f"1-{2**63}"):
            with pytest.raises(InvalidInput, match="no place in this list"):
                list_aliases(transaction, after=after)
    clock.move(70 * DAY)
    with filled.transaction(COMMAND_LINE) as transaction:
        assert [item.name for item in list_aliases(transaction, about_to_expire=True).items] == ["d.org", "b.org"]
