"""admin/harvests/domains/configurations.py: many for a domain, checked against the crawl profile."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select
from support.admin.domain_templates import add_harvest, add_job, add_template

from admin.harvests.domains.configurations import (
    ConfigurationChange,
    ConfigurationCreation,
    attribute_problems,
    change_configuration,
    create_configuration,
    delete_configuration,
    list_configurations,
    show_configuration,
)
from admin.harvests.domains.domain import DomainChange, DomainCreation, change_domain, create_domain, show_domain
from admin.harvests.domains.lookup import find_domain
from admin.harvests.domains.seed_lists import SeedListCreation, create_seed_list
from admin.models.database import Database
from admin.models.errors import EditConflict, IllegalState, InvalidInput, NotFound
from admin.models.job_tables import JobStatus
from admin.models.people_tables import AuditEntry
from admin.models.transaction import COMMAND_LINE


@pytest.fixture
def filled(domains: Database) -> Database:
    add_template(domains, "deep")
    with domains.transaction(COMMAND_LINE) as transaction:
        create_domain(transaction, DomainCreation(name="example.org"))
        create_seed_list(transaction, "example.org", SeedListCreation(name="notes", seeds="# nothing yet\n"))
    return domains


def test_a_configuration_says_how_a_domain_is_harvested(filled: Database) -> None:
    given = ConfigurationCreation(
        name="weekly",
        template="deep",
        seed_lists=("notes", "defaultseeds", "notes"),
        max_objects=10,
        max_bytes=-1,
        attributes={"hops": 3, "limits": {"pages": 5}, "robots": "ignore"},
    )
    with filled.transaction(COMMAND_LINE) as transaction:
        create_configuration(transaction, "example.org", given)
    with filled.transaction(COMMAND_LINE) as transaction:
        view = show_configuration(transaction, "example.org", "weekly")
        assert (view.template, view.seed_lists, view.has_seeds) == ("deep", ["defaultseeds", "notes"], True)
        assert (view.max_objects, view.max_bytes, view.max_rate, view.is_default) == (10, -1, 100, False)
        assert view.attributes == {"hops": 3, "limits": {"pages": 5}, "robots": "ignore"}
        assert [each.name for each in list_configurations(transaction, "example.org").items] == [
            "defaultconfig",
            "weekly",
        ]


def test_a_configuration_with_comments_alone_has_no_seeds(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        given = ConfigurationCreation(name="empty", seed_lists=("notes",))
        assert not create_configuration(transaction, "example.org", given).has_seeds


@pytest.mark.parametrize(
    ("attributes", "field", "message"),
    [
        ({"hop": 3}, "attributes.hop", "unknown key hop; did you mean hops?"),
        ({"hops": "many"}, "attributes.hops", "'many' can't be used"),
        ({"hops": -1}, "attributes.hops", "greater than or equal to 0"),
        ({"limits": {"page": 1}}, "attributes.limits.page", "did you mean limits.pages"),
        ({"scope": "world"}, "attributes.scope", "'world'"),
        ({"exclude": ["("]}, "attributes.exclude.0", "not a regular expression"),
        ({"headers": {"Cookie": "geheim\n"}}, "attributes.headers", "printable ASCII"),
        ({"hops": float("nan")}, "attributes", "no JSON"),
        ({"x" * 10: "y" * 100_001}, "attributes", "write at most 100000"),
        ({"user_agent": "ä"}, "attributes.user_agent", "printable ASCII"),
    ],
)
def test_attributes_are_keys_of_the_crawl_profile(attributes: dict[str, Any], field: str, message: str) -> None:
    [problem] = attribute_problems(attributes)
    assert problem.field == field
    assert message in problem.message
    assert "geheim" not in problem.message


def test_attributes_that_are_nested_without_end_are_refused() -> None:
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"limits": deep}
    assert attribute_problems(deep)
    while deep:  # freed from the outside, as the interpreter's own way may be too deep
        deep = deep["limits"]


def test_all_that_is_wrong_is_said_at_once(filled: Database) -> None:
    given = ConfigurationCreation(
        name="defaultconfig",
        seed_lists=("nix",),
        passwords=("none",),
        max_objects=-2,
        max_bytes=2**63,
        max_rate=0,
        attributes={"hops": -1, "nix": 1},
    )
    with filled.transaction(COMMAND_LINE) as transaction, pytest.raises(InvalidInput) as caught:
        create_configuration(transaction, "example.org", given)
    fields = ["name", "seed_lists", "passwords", "max_objects", "max_bytes", "max_rate"]
    assert [problem.field for problem in caught.value.problems] == [*fields, "attributes.hops", "attributes.nix"]


def test_a_configuration_uses_at_least_one_seed_list_and_a_template_that_is_there(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        with pytest.raises(InvalidInput, match="name at least one seed list"):
            create_configuration(transaction, "example.org", ConfigurationCreation(name="x", seed_lists=()))
        given = ConfigurationCreation(name="x", seed_lists=("notes",), template="nix")
        with pytest.raises(NotFound, match="no template 'nix'"):
            create_configuration(transaction, "example.org", given)
        with pytest.raises(InvalidInput, match="name at least one seed list"):
            change_configuration(transaction, "example.org", "defaultconfig", ConfigurationChange(seed_lists=()))


def test_a_change_keeps_what_is_left_out(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        change = ConfigurationChange(max_bytes=7, template="deep", edition=1)
        view = change_configuration(transaction, "example.org", "defaultconfig", change)
        assert (view.max_bytes, view.template, view.max_rate, view.edition) == (7, "deep", 100, 2)
        assert view.is_default
    with filled.transaction(COMMAND_LINE) as transaction, pytest.raises(EditConflict):
        change_configuration(transaction, "example.org", "defaultconfig", ConfigurationChange(edition=1))
    with filled.transaction(COMMAND_LINE) as transaction:
        query = select(AuditEntry).where(AuditEntry.action == "configuration.change")
        entry = transaction.session.scalars(query).one()
        assert entry.old == {"max_bytes": 1_000_000_000, "template": "default"}
        assert entry.new == {"max_bytes": 7, "template": "deep"}


def test_a_configuration_keeps_a_name_that_an_earlier_release_took(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        find_domain(transaction, "example.org").configurations[0].name = "new"
        assert change_configuration(transaction, "example.org", "new", ConfigurationChange(max_rate=7)).max_rate == 7
        change_configuration(transaction, "example.org", "new", ConfigurationChange(name="other"))
        with pytest.raises(InvalidInput, match="'new' can't be a name"):
            change_configuration(transaction, "example.org", "other", ConfigurationChange(name="new"))


def test_values_of_headers_are_not_in_the_audit(filled: Database) -> None:
    attributes = {"headers": {"Authorization": "geheim"}, "hops": 1}
    with filled.transaction(COMMAND_LINE) as transaction:
        given = ConfigurationCreation(name="x", seed_lists=("notes",), attributes=attributes)
        create_configuration(transaction, "example.org", given)
        change = ConfigurationChange(attributes={"headers": {"Authorization": "noch geheimer"}})
        change_configuration(transaction, "example.org", "x", change)
        delete_configuration(transaction, "example.org", "x")
    with filled.transaction(COMMAND_LINE) as transaction:
        entries = transaction.session.scalars(select(AuditEntry)).all()
        assert not any("geheim" in f"{entry.old} {entry.new}" for entry in entries)
        assert any("Authorization" in str(entry.new) for entry in entries)


def test_the_default_is_changed_and_the_former_one_can_be_deleted(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        create_configuration(transaction, "example.org", ConfigurationCreation(name="deep", seed_lists=("notes",)))
        with pytest.raises(IllegalState, match="make another one the default first"):
            delete_configuration(transaction, "example.org", "defaultconfig")
        change_domain(transaction, "example.org", DomainChange(default_configuration="deep"))
        delete_configuration(transaction, "example.org", "defaultconfig")
    with filled.transaction(COMMAND_LINE) as transaction:
        view = show_domain(transaction, "example.org")
        assert (view.default_configuration, len(view.configurations)) == ("deep", 1)
        with pytest.raises(NotFound, match=r"configuration of example\.org"):
            change_domain(transaction, "example.org", DomainChange(default_configuration="nix"))


def test_a_configuration_in_use_stays_and_the_message_says_where(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        row = find_domain(transaction, "example.org")
        harvest = add_harvest(transaction, "weekly", row)
        job = add_job(transaction, harvest, row, JobStatus.NEW)
        create_configuration(transaction, "example.org", ConfigurationCreation(name="deep", seed_lists=("notes",)))
        change_domain(transaction, "example.org", DomainChange(default_configuration="deep"))
        with pytest.raises(IllegalState, match=rf"the harvests 'weekly'; the jobs '{job.id}', which have not ended"):
            delete_configuration(transaction, "example.org", "defaultconfig")
        job.status = JobStatus.DONE
        harvest.configurations = []
        transaction.session.flush()
        delete_configuration(transaction, "example.org", "defaultconfig")
