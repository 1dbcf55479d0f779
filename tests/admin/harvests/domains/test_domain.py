"""admin/harvests/domains/domain.py: domains are added, changed, shown and deleted."""

from __future__ import annotations

import pytest
from sqlalchemy import func, select
from support.admin.domain_templates import add_harvest, add_history, add_job, add_template
from support.admin.harvest_database import DAY, START, MovableClock

from admin.harvests.domains.aliases import AliasSetting, set_alias
from admin.harvests.domains.configurations import ConfigurationCreation, create_configuration
from admin.harvests.domains.crawler_traps import TrapInput, TrapsChange, set_domain_traps
from admin.harvests.domains.domain import (
    DomainChange,
    DomainCreation,
    DomainView,
    OwnerCreation,
    add_owner,
    change_domain,
    create_domain,
    delete_domain,
    list_owners,
    show_domain,
)
from admin.harvests.domains.extended_fields import FieldCreation, create_field
from admin.harvests.domains.lookup import find_domain
from admin.models.database import Database
from admin.models.domain_tables import Configuration, CrawlerTrap, Domain, ExtendedValue, FieldKind, SeedList
from admin.models.errors import EditConflict, Forbidden, IllegalState, InvalidInput, NotFound
from admin.models.job_tables import JobStatus
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE, Actor, Door
from archive.settings.load import Settings, load


def create(database: Database, name: str) -> DomainView:
    with database.transaction(COMMAND_LINE) as transaction:
        return create_domain(transaction, DomainCreation(name=name))


def test_a_new_domain_has_one_configuration_and_one_seed_list(domains: Database) -> None:
    view = create(domains, "http://WWW.Bücher.de:8080/verlag?x")
    assert (view.name, view.unicode_name, view.tld) == ("xn--bcher-kva.de", "bücher.de", "de")
    assert (view.created, view.edition, view.comments) == (START, 1, "")
    [configuration] = view.configurations
    assert view.default_configuration == configuration.name == "defaultconfig"
    assert configuration.is_default
    assert configuration.has_seeds
    assert (configuration.template, configuration.seed_lists) == ("default", ["defaultseeds"])
    assert (configuration.max_bytes, configuration.max_objects, configuration.max_rate) == (1_000_000_000, -1, 100)
    assert configuration.attributes == {}
    with domains.transaction(COMMAND_LINE) as transaction:
        assert transaction.session.scalars(select(SeedList.seeds)).all() == ["http://www.xn--bcher-kva.de"]
        assert transaction.session.scalar(select(func.count()).select_from(Configuration)) == 1


def test_names_that_begin_with_www_and_addresses_get_no_www(domains: Database) -> None:
    for name in ("www.gov.pl", "192.0.2.7", "2001:db8::1"):
        create(domains, name)
    with domains.transaction(COMMAND_LINE) as transaction:
        seeds = transaction.session.scalars(select(SeedList.seeds).order_by(SeedList.id)).all()
        assert seeds == ["http://www.gov.pl", "http://192.0.2.7", "http://[2001:db8::1]"]
        assert show_domain(transaction, "2001:DB8:0::1").tld == "IP"


def test_settings_say_what_a_new_domain_gets(sqlite_database: Database, home: object) -> None:
    sqlite_database.settings = load(
        {
            "home": str(home),
            "harvests.default_template": "wide",
            "harvests.default_seeds": "four",
            "harvests.default_max_bytes": 5,
            "harvests.default_max_objects": 6,
            "harvests.default_max_rate": 7,
        },
        environment={},
    )
    add_template(sqlite_database, "wide")
    [configuration] = create(sqlite_database, "example.org").configurations
    assert (configuration.template, configuration.max_bytes) == ("wide", 5)
    assert (configuration.max_objects, configuration.max_rate) == (6, 7)
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        assert len(transaction.session.scalars(select(SeedList.seeds)).one().splitlines()) == 4


def test_a_missing_or_inactive_template_is_named_with_the_remedy(sqlite_database: Database) -> None:
    with pytest.raises(IllegalState, match=r"no template 'default'.*upload a template.*harvests\.default_template"):
        create(sqlite_database, "example.org")
    add_template(sqlite_database, "default", is_active=False)
    with pytest.raises(IllegalState, match="is not active; activate it"):
        create(sqlite_database, "example.org")
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        assert transaction.session.scalars(select(Domain)).all() == []


@pytest.mark.parametrize("name", ["example.org", "www.EXAMPLE.org", "http://a.example.org/x"])
def test_a_domain_is_there_once(domains: Database, name: str) -> None:
    create(domains, "example.org")
    with pytest.raises(InvalidInput, match=r"name: the domain example\.org is there already"):
        create(domains, name)


def test_bad_names_and_texts_are_refused_by_field(sqlite_domains: Database) -> None:
    with pytest.raises(InvalidInput, match=r"name: 'co\.uk' is a public suffix"):
        create(sqlite_domains, "co.uk")
    with sqlite_domains.transaction(COMMAND_LINE) as transaction:
        with pytest.raises(InvalidInput, match="comments: the text has 20,001 characters"):
            create_domain(transaction, DomainCreation(name="a.org", comments="x" * 20_001))
        with pytest.raises(InvalidInput, match="comments: the text has a null character"):
            create_domain(transaction, DomainCreation(name="a.org", comments="\0"))
        with pytest.raises(InvalidInput, match="there is no extended field 'nix'"):
            create_domain(transaction, DomainCreation(name="a.org", extended={"nix": "1"}))


def test_a_change_is_audited_with_what_differs_alone(domains: Database) -> None:
    create(domains, "example.org")
    with domains.transaction(COMMAND_LINE) as transaction:
        given = ConfigurationCreation(name="deep", seed_lists=("defaultseeds",))
        create_configuration(transaction, "example.org", given)
        change = DomainChange(comments="Q'<b>\"\u202e", default_configuration="deep", edition=1)
        view = change_domain(transaction, "example.org", change)
        assert (view.comments, view.default_configuration, view.edition) == ("Q'<b>\"\u202e", "deep", 2)
    with domains.transaction(COMMAND_LINE) as transaction:
        entry = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == "domain.change")).one()
        assert entry.old == {"comments": "", "default_configuration": "defaultconfig"}
        assert entry.new == {"comments": "Q'<b>\"\u202e", "default_configuration": "deep"}


def test_the_second_of_two_people_gets_a_conflict(domains: Database) -> None:
    create(domains, "example.org")
    with domains.transaction(COMMAND_LINE) as transaction:
        change_domain(transaction, "example.org", DomainChange(comments="first", edition=1))
    with domains.transaction(COMMAND_LINE) as transaction, pytest.raises(EditConflict):
        change_domain(transaction, "example.org", DomainChange(comments="second", edition=1))
    with domains.transaction(COMMAND_LINE) as transaction:
        assert show_domain(transaction, "example.org").comments == "first"


def test_a_reader_changes_nothing(sqlite_domains: Database) -> None:
    create(sqlite_domains, "example.org")
    reader = Actor("rita", Role.READER, Door.WEB)
    with sqlite_domains.transaction(reader) as transaction:
        assert show_domain(transaction, "example.org").name == "example.org"
        for change in (
            lambda: create_domain(transaction, DomainCreation(name="example.net")),
            lambda: change_domain(transaction, "example.org", DomainChange(comments="x")),
            lambda: delete_domain(transaction, "example.org"),
            lambda: add_owner(transaction, "example.org", OwnerCreation(owner="x")),
        ):
            with pytest.raises(Forbidden):
                change()


@pytest.mark.parametrize("name", ["example.net", "www.example.org", "", "a/b", "\0", "x" * 10_000, "'; drop"])
def test_names_that_are_not_there_are_not_found(sqlite_domains: Database, name: str) -> None:
    create(sqlite_domains, "example.org")
    with sqlite_domains.transaction(COMMAND_LINE) as transaction, pytest.raises(NotFound):
        delete_domain(transaction, name)


def test_a_domain_goes_with_everything_that_belongs_to_it(domains: Database) -> None:
    create(domains, "example.org")
    create(domains, "example.net")
    with domains.transaction(COMMAND_LINE) as transaction:
        field = FieldCreation(entity="domain", name="curator", kind=FieldKind.TEXT)
        create_field(transaction, field)
        change_domain(transaction, "example.org", DomainChange(extended={"curator": "anna"}))
        add_owner(transaction, "example.org", OwnerCreation(owner="anna"))
        set_domain_traps(transaction, "example.org", TrapsChange(traps=(TrapInput(expression="/calendar/"),)))
    with domains.transaction(COMMAND_LINE) as transaction:
        delete_domain(transaction, "example.org")
    with domains.transaction(COMMAND_LINE) as transaction:
        for table, left in ((Domain, 1), (Configuration, 1), (SeedList, 1), (CrawlerTrap, 0), (ExtendedValue, 0)):
            assert transaction.session.scalar(select(func.count()).select_from(table)) == left
        entry = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == "domain.delete")).one()
        assert entry.old is not None
        assert entry.old["extended"] == {"curator": "anna"}


def test_a_domain_in_use_stays_and_the_message_says_where(domains: Database) -> None:
    for name in ("example.org", "example.net"):
        create(domains, name)
    with domains.transaction(COMMAND_LINE) as transaction:
        set_alias(transaction, "example.net", AliasSetting(alias_of="example.org"))
        row = find_domain(transaction, "example.org")
        job = add_job(transaction, add_harvest(transaction, "weekly", row), row, JobStatus.STARTED)
        add_history(transaction, job, row)
    with domains.transaction(COMMAND_LINE) as transaction, pytest.raises(IllegalState) as caught:
        delete_domain(transaction, "example.org")
    message = str(caught.value)
    assert "its aliases 'example.net'" in message
    assert "the harvests 'weekly'" in message
    assert f"the jobs '{job.id}', which have not ended" in message
    assert f"the statistics of the jobs '{job.id}'" in message
    with domains.transaction(COMMAND_LINE) as transaction:
        assert show_domain(transaction, "example.org").has_history


def test_the_newest_owner_counts_and_the_others_are_history(domains: Database, clock: MovableClock) -> None:
    create(domains, "example.org")
    for owner in ("first", "second", "third"):
        with domains.transaction(COMMAND_LINE) as transaction:
            add_owner(transaction, "example.org", OwnerCreation(owner=owner, contact=f"{owner}@example.org"))
        clock.move(DAY)
    with domains.transaction(COMMAND_LINE) as transaction:
        view = show_domain(transaction, "example.org")
        assert view.owner is not None
        assert (view.owner.owner, view.owner.contact) == ("third", "third@example.org")
        page = list_owners(transaction, "example.org", limit=2)
        assert [each.owner for each in page.items] == ["third", "second"]
        assert page.next is not None
        rest = list_owners(transaction, "example.org", limit=2, after=page.next)
        assert [(each.owner, each.created) for each in rest.items] == [("first", START)]
        assert rest.next is None
        with pytest.raises(InvalidInput, match="no place in this list"):
            list_owners(transaction, "example.org", after="x")
        with pytest.raises(InvalidInput, match="owner: the owner is empty"):
            add_owner(transaction, "example.org", OwnerCreation(owner=" "))


def test_the_fixture_has_a_template_for_the_settings(domains: Database, settings: Settings) -> None:
    assert domains.settings is settings
    assert create(domains, "shop.site1.test").name == "site1.test"
