"""admin/harvests/domains/search.py: wildcards, filters and pages give the same as a walk over all domains."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import event
from support.admin.domain_templates import add_harvest, add_history, add_job
from support.each_value import each_value

from admin.harvests import input_checks
from admin.harvests.domains.aliases import AliasSetting, set_alias
from admin.harvests.domains.domain import DomainChange, change_domain
from admin.harvests.domains.extended_fields import FieldCreation, create_field
from admin.harvests.domains.lookup import find_domain
from admin.harvests.domains.search import list_domains, tld_statistics
from admin.harvests.domains.uploads import upload_domains
from admin.models.database import Database
from admin.models.domain_tables import FieldKind
from admin.models.errors import InvalidInput, NotFound
from admin.models.job_tables import JobStatus
from admin.models.transaction import COMMAND_LINE, Transaction

pytestmark = pytest.mark.both_databases

NAMES = (
    "a-b.org",
    "ab.org",
    "a_b.org",
    "abc.net",
    "zoo.co.uk",
    "b.co.uk",
    "xn--bcher-kva.de",
    "192.0.2.7",
    "x100.org",
    "example.xn--p1ai",
)


@pytest.fixture
def filled(domains: Database) -> Database:
    upload_domains(domains, COMMAND_LINE, "\n".join(NAMES))
    return domains


def found(transaction: Transaction, **filters: Any) -> list[str]:
    """Return the names on all pages of two, and check that they have no name twice."""
    names: list[str] = []
    after = ""
    while True:
        page = list_domains(transaction, limit=2, after=after, **filters)
        names += [item.name for item in page.items]
        assert len(page.items) <= 2
        if page.next is None:
            break
        after = page.next
    assert len(names) == len(set(names))
    assert list_domains(transaction, **filters).total == len(names)
    return names


@each_value(
    ("search", "names"),
    [
        ("*", sorted(NAMES)),
        ("a*", ["a-b.org", "a_b.org", "ab.org", "abc.net"]),
        ("a?b.org", ["a-b.org", "a_b.org"]),
        ("a_b.org", ["a_b.org"]),
        ("*.co.uk", ["b.co.uk", "zoo.co.uk"]),
        ("?.co.uk", ["b.co.uk"]),
        ("*B*", ["a-b.org", "a_b.org", "ab.org", "abc.net", "b.co.uk", "xn--bcher-kva.de"]),
        ("*%*", []),
        ("x100*", ["x100.org"]),
        ("*ü*", ["xn--bcher-kva.de"]),
        ("BÜ*", ["xn--bcher-kva.de"]),
        ("b?cher*", ["xn--bcher-kva.de"]),
        ("?????r.de", ["xn--bcher-kva.de"]),
        ("xn--b*", ["xn--bcher-kva.de"]),
        ("ex*.??", ["example.xn--p1ai"]),
        ("bücher.de", ["xn--bcher-kva.de"]),
        ("ab.org", ["ab.org"]),
        ("AB", []),
        ("http://www.zoo.co.uk/animals?id=*", ["zoo.co.uk"]),
        ("http://www.zoo.co.uk/animals?id=1", ["zoo.co.uk"]),
        ("192.0.2.*", ["192.0.2.7"]),
        ("'; drop table domains; --", []),
        ("\\*", []),
    ],
)
def test_a_search_takes_wildcards_names_and_urls(filled: Database, search: str, names: list[str]) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        assert found(transaction, search=search) == names


@each_value("search", ["*a*b*c*d*e*f*", "*" + "a" * 255, "*\0"])
def test_searches_that_would_take_too_long_are_refused(filled: Database, search: str) -> None:
    with filled.transaction(COMMAND_LINE) as transaction, pytest.raises(InvalidInput):
        list_domains(transaction, search=search)


def test_orders_are_by_name_and_by_age(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        assert found(transaction) == sorted(NAMES)
        assert found(transaction, order="-name") == sorted(NAMES, reverse=True)
        assert sorted(found(transaction, order="newest")) == sorted(NAMES)
        with pytest.raises(InvalidInput, match="is no order"):
            list_domains(transaction, order="comments; drop")
        for order, after in (("newest", "x"), ("newest", "9" * 30), ("name", "\0")):
            with pytest.raises(InvalidInput, match="after"):
                list_domains(transaction, order=order, after=after)


def test_filters_are_joined(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        create_field(transaction, FieldCreation(entity="domain", name="kind", kind=FieldKind.TEXT, default="site"))
        change_domain(transaction, "ab.org", DomainChange(extended={"kind": "shop"}))
        set_alias(transaction, "abc.net", AliasSetting(alias_of="ab.org"))
        row = find_domain(transaction, "x100.org")
        add_history(transaction, add_job(transaction, add_harvest(transaction, "h", row), row, JobStatus.DONE), row)
    with filled.transaction(COMMAND_LINE) as transaction:
        assert found(transaction, tld="org") == ["a-b.org", "a_b.org", "ab.org", "x100.org"]
        assert found(transaction, tld=".CO.UK") == ["b.co.uk", "zoo.co.uk"]
        assert found(transaction, tld="ip") == ["192.0.2.7"]
        assert found(transaction, alias=True) == ["abc.net"]
        assert list_domains(transaction, alias=True).items[0].alias_of == "ab.org"
        assert "abc.net" not in found(transaction, alias=False)
        assert found(transaction, has_history=True) == ["x100.org"]
        assert len(found(transaction, has_history=False)) == len(NAMES) - 1
        assert found(transaction, field="kind", value="shop") == ["ab.org"]
        assert len(found(transaction, field="kind", value="site")) == len(NAMES) - 1
        assert found(transaction, search="a*", tld="org", field="kind", value="shop") == ["ab.org"]
        with pytest.raises(NotFound):
            list_domains(transaction, field="nix", value="1")


def test_top_level_domains_are_counted_whole_and_by_level(filled: Database) -> None:
    with filled.transaction(COMMAND_LINE) as transaction:
        counted = {item.tld: item.domains for item in tld_statistics(transaction).items}
        assert counted == {"org": 4, "co.uk": 2, "net": 1, "de": 1, "IP": 1, "xn--p1ai": 1}
        levels = {item.tld for item in tld_statistics(transaction, level=1).items}
        assert levels == {"org", "uk", "net", "de", "IP", "xn--p1ai"}
        assert tld_statistics(transaction).items[0].tld == "org"
        with pytest.raises(InvalidInput):
            tld_statistics(transaction, level=-1)


def test_long_lists_are_not_counted_and_pages_have_a_limit(
    sqlite_domains: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(input_checks, "COUNTED", 600)
    upload_domains(sqlite_domains, COMMAND_LINE, (f"d{number}.org\n" for number in range(601)))
    with sqlite_domains.transaction(COMMAND_LINE) as transaction:
        page = list_domains(transaction, limit=500)
        assert (len(page.items), page.total) == (500, None)
        for limit in (-5, 0, 501, 1_000_000):
            with pytest.raises(InvalidInput, match=f"limit: {limit} "):
                list_domains(transaction, limit=limit)


def test_a_page_needs_no_sort(sqlite_domains: Database) -> None:
    upload_domains(sqlite_domains, COMMAND_LINE, (f"d{number}.org\n" for number in range(10)))
    statements: list[tuple[str, Any]] = []
    asked: list[tuple[str, dict[str, Any]]] = [
        *((order, filters) for order in ("name", "-name") for filters in ({}, {"search": "d1*"}, {"tld": "org"})),
        ("newest", {}),
    ]
    with sqlite_domains.transaction(COMMAND_LINE) as transaction:
        connection = transaction.session.connection()

        def note(_c: Any, _cursor: Any, statement: str, parameters: Any, *_: Any) -> None:
            statements.append((statement, parameters))

        event.listen(connection, "before_cursor_execute", note)
        for order, filters in asked:
            list_domains(transaction, order=order, limit=2, **filters)
        event.remove(connection, "before_cursor_execute", note)
        assert len(statements) >= len(asked)
        for statement, parameters in statements:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
            assert not [step for step in plan if "TEMP B-TREE" in str(step)], plan
