"""admin/harvests/domains/extended_fields.py: fields of the installation, their kinds, and their values."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select
from support.each_value import each_value

from admin.harvests.domains.domain import DomainChange, DomainCreation, change_domain, create_domain, show_domain
from admin.harvests.domains.extended_fields import (
    FieldChange,
    FieldCreation,
    change_field,
    create_field,
    delete_field,
    kept_value,
    list_fields,
    set_values,
    show_field,
    values_for_jobs,
    values_of,
)
from admin.harvests.domains.lookup import find_domain
from admin.models.database import Database
from admin.models.domain_tables import ExtendedField, FieldKind
from admin.models.errors import EditConflict, Forbidden, IllegalState, InvalidInput, NotFound
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE, Actor, Door, Transaction


def add(transaction: Transaction, name: str, kind: FieldKind, **values: Any) -> int:
    return create_field(transaction, FieldCreation(entity="domain", name=name, kind=kind, **values)).id


@each_value(
    ("kind", "text", "kept"),
    [
        (FieldKind.TEXT, "  a b ", "a b"),
        (FieldKind.NOTE, " a\nb\n", " a\nb\n"),
        (FieldKind.NUMBER, " -12.50 ", "-12.50"),
        (FieldKind.YES_NO, "True", "yes"),
        (FieldKind.YES_NO, "off", "no"),
        (FieldKind.DATE, "2028-02-29", "2028-02-29"),
        (FieldKind.CHOICE, "red", "red"),
        *((kind, "", "") for kind in FieldKind),
    ],
)
def test_values_are_kept_in_one_spelling(kind: FieldKind, text: str, kept: str) -> None:
    assert kept_value(kind, ["red", "green"], text) == kept


@each_value(
    ("kind", "text", "message"),
    [
        (FieldKind.TEXT, "a\nb", "control character"),
        (FieldKind.TEXT, "x" * 10_000, "10000 characters"),
        (FieldKind.TEXT, "\u202ex", "control character"),
        (FieldKind.NOTE, "a\0b", "null character"),
        (FieldKind.NOTE, "x" * 20_001, "20,001 characters"),
        (FieldKind.NUMBER, "1e9999", "no number"),
        (FieldKind.NUMBER, "١٢", "no number"),
        (FieldKind.NUMBER, "nan", "no number"),
        (FieldKind.NUMBER, "9" * 500, "no number"),
        (FieldKind.YES_NO, "maybe", "neither yes nor no"),
        (FieldKind.DATE, "2027-02-29", "no date"),
        (FieldKind.DATE, "tomorrow", "no date"),
        (FieldKind.CHOICE, "blue", "take one of red, green"),
    ],
)
def test_values_that_do_not_fit_are_refused(kind: FieldKind, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        kept_value(kind, ["red", "green"], text)


def test_a_domain_has_values_and_defaults(domains: Database) -> None:
    with domains.transaction(COMMAND_LINE) as transaction:
        add(transaction, "legal", FieldKind.YES_NO, default="no", position=2)
        add(transaction, "colour", FieldKind.CHOICE, choices=("red", "green"), position=1)
        view = create_domain(transaction, DomainCreation(name="a.org", extended={"colour": "red"}))
        assert list(view.extended.items()) == [("colour", "red"), ("legal", "no")]
        change_domain(transaction, "a.org", DomainChange(extended={"legal": "true"}))
        assert show_domain(transaction, "a.org").extended == {"colour": "red", "legal": "yes"}
        change_domain(transaction, "a.org", DomainChange(extended={"legal": "", "colour": ""}))
        assert show_domain(transaction, "a.org").extended == {"colour": "", "legal": "no"}
    with domains.transaction(COMMAND_LINE) as transaction:
        entries = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == "domain.change")).all()
        assert entries[0].old == {"extended": {"colour": "red", "legal": "no"}}
        assert entries[0].new == {"extended": {"colour": "red", "legal": "yes"}}


def test_a_mandatory_field_needs_a_value_unless_it_has_a_default(domains: Database) -> None:
    with domains.transaction(COMMAND_LINE) as transaction:
        add(transaction, "curator", FieldKind.TEXT, is_mandatory=True)
        add(transaction, "region", FieldKind.TEXT, is_mandatory=True, default="north")
    given = DomainCreation(name="a.org", extended={"region": "\n".join("ab"), "nix": "1"})
    with pytest.raises(InvalidInput) as caught, domains.transaction(COMMAND_LINE) as transaction:
        create_domain(transaction, given)
    fields = [problem.field for problem in caught.value.problems]
    assert fields == ["extended.region", "extended", "extended.curator"]
    with domains.transaction(COMMAND_LINE) as transaction:
        with pytest.raises(NotFound):
            show_domain(transaction, "a.org")
        view = create_domain(transaction, DomainCreation(name="a.org", extended={"curator": "anna"}))
        assert view.extended == {"curator": "anna", "region": "north"}


def test_jobs_keep_the_fields_that_say_so(domains: Database) -> None:
    with domains.transaction(COMMAND_LINE) as transaction:
        add(transaction, "curator", FieldKind.TEXT, is_kept_with_jobs=True)
        add(transaction, "region", FieldKind.TEXT, is_kept_with_jobs=True, default="north")
        add(transaction, "note", FieldKind.NOTE)
        create_domain(transaction, DomainCreation(name="a.org", extended={"curator": "anna", "note": "x"}))
        create_domain(transaction, DomainCreation(name="b.org"))
        numbers = [find_domain(transaction, name).id for name in ("a.org", "b.org")]
        found = values_for_jobs(transaction.session, "domain", numbers)
        assert found == {numbers[0]: {"curator": "anna", "region": "north"}, numbers[1]: {"region": "north"}}
        assert values_for_jobs(transaction.session, "harvest", [1]) == {}


def test_fields_of_domains_and_harvests_are_apart(domains: Database) -> None:
    with domains.transaction(COMMAND_LINE) as transaction:
        add(transaction, "x", FieldKind.TEXT)
        create_field(transaction, FieldCreation(entity="harvest", name="x", kind=FieldKind.NUMBER))
        create_domain(transaction, DomainCreation(name="a.org", extended={"x": "words"}))
        number = find_domain(transaction, "a.org").id
        set_values(transaction, "harvest", number, {"x": "12"})
        assert values_of(transaction, "domain", number) == {"x": "words"}
        assert values_of(transaction, "harvest", number) == {"x": "12"}
        assert len(list_fields(transaction).items) == 2
        assert [field.kind for field in list_fields(transaction, entity="harvest").items] == [FieldKind.NUMBER]


@pytest.fixture
def there(sqlite_domains: Database) -> Database:
    """The database with the extended field `there`."""
    with sqlite_domains.transaction(COMMAND_LINE) as transaction:
        add(transaction, "there", FieldKind.TEXT)
    return sqlite_domains


@each_value(
    ("values", "field"),
    [
        ({"entity": "planet", "name": "x", "kind": "text"}, "entity"),
        ({"entity": "domain", "name": "a/b", "kind": "text"}, "name"),
        ({"entity": "domain", "name": "x", "kind": "choice"}, "choices"),
        ({"entity": "domain", "name": "x", "kind": "text", "choices": ["a"]}, "choices"),
        ({"entity": "domain", "name": "x", "kind": "choice", "choices": ["a", "a"]}, "choices"),
        ({"entity": "domain", "name": "x", "kind": "choice", "choices": ["a", ""]}, "choices"),
        ({"entity": "domain", "name": "x", "kind": "choice", "choices": ["a\n"]}, "choices"),
        ({"entity": "domain", "name": "x", "kind": "choice", "choices": ["a"] * 1001}, "choices"),
        ({"entity": "domain", "name": "x", "kind": "choice", "choices": ["a"], "default": "b"}, "default"),
        ({"entity": "domain", "name": "x", "kind": "date", "default": "soon"}, "default"),
        ({"entity": "domain", "name": "there", "kind": "text"}, "name"),
    ],
)
def test_fields_that_make_no_sense_are_refused(there: Database, values: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught, there.transaction(COMMAND_LINE) as transaction:
        create_field(transaction, FieldCreation.model_validate(values))
    assert caught.value.problems[0].field == field


def test_a_change_that_values_would_not_survive_is_refused(domains: Database) -> None:
    with domains.transaction(COMMAND_LINE) as transaction:
        number = add(transaction, "size", FieldKind.TEXT)
        create_domain(transaction, DomainCreation(name="a.org", extended={"size": "12"}))
        create_domain(transaction, DomainCreation(name="b.org", extended={"size": "big"}))
        with pytest.raises(IllegalState, match="has the value 'big'"):
            change_field(transaction, number, FieldChange(kind=FieldKind.NUMBER))
    with domains.transaction(COMMAND_LINE) as transaction:
        change_domain(transaction, "b.org", DomainChange(extended={"size": "7"}))
        view = change_field(transaction, number, FieldChange(kind=FieldKind.NUMBER, name="sizes", default="1"))
        assert (view.kind, view.name, view.default) == (FieldKind.NUMBER, "sizes", "1")
        assert show_field(transaction, number) == view
    with domains.transaction(COMMAND_LINE) as transaction, pytest.raises(EditConflict):
        change_field(transaction, number, FieldChange(position=1, edition=1))


def test_a_field_keeps_a_name_that_an_earlier_release_took(there: Database) -> None:
    with there.transaction(COMMAND_LINE) as transaction:
        number = add(transaction, "size", FieldKind.TEXT)
        transaction.session.get_one(ExtendedField, number).name = "new"
        assert change_field(transaction, number, FieldChange(default="1")).default == "1"


def test_a_field_with_values_is_deleted_after_a_confirmation(domains: Database) -> None:
    with domains.transaction(COMMAND_LINE) as transaction:
        number = add(transaction, "size", FieldKind.TEXT)
        create_domain(transaction, DomainCreation(name="a.org", extended={"size": "12"}))
        with pytest.raises(IllegalState, match="has values of 1 domains"):
            delete_field(transaction, number)
        delete_field(transaction, number, also_values=True)
        assert show_domain(transaction, "a.org").extended == {}
        with pytest.raises(NotFound):
            show_field(transaction, number)


def test_only_administrators_change_fields(sqlite_domains: Database) -> None:
    with sqlite_domains.transaction(Actor("carl", Role.CURATOR, Door.WEB)) as transaction, pytest.raises(Forbidden):
        add(transaction, "x", FieldKind.TEXT)
