"""admin/harvests/domains/uploads.py: long lists of domains and seeds, with bad lines, twice, and broken off."""

from __future__ import annotations

import threading
import tracemalloc
from collections.abc import Iterator

import pytest
from sqlalchemy import func, select
from support.admin.domain_templates import add_template

from admin.harvests.domains import uploads
from admin.harvests.domains.lookup import find_domain
from admin.harvests.domains.seed_lists import show_seed_list
from admin.harvests.domains.uploads import (
    MOST_PROBLEMS,
    DomainUpload,
    SeedTarget,
    SeedUpload,
    UploadTally,
    create_domains,
    create_seeds,
    upload_domains,
    upload_seeds,
)
from admin.models.database import Database
from admin.models.domain_tables import CONFIGURATION_SEED_LISTS, Configuration, Domain, SeedList
from admin.models.errors import Forbidden, IllegalState, InvalidInput
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE, Actor, Door, Transaction
from archive.url import ascii_host

WORST = (
    b"\xef\xbb\xbfexample.org\r\n"
    b"\r\n"
    b"# our list\r\n"
    b"http://www.example.org/again\r\n"
    b"B\xc3\x9cCHER.de\r\n"
    b"exam\0ple.net\r\n"
    b"two words.org\r\n"
    b"\xff\xfe.org\r\n"
    b"<script>alert('x')</script>\r\n"
    b'O\'Reilly "Books"\r\n'
    b"\xe2\x80\x8fexample.net\r\n" + b"x" * 1_000_000 + b"\r\n" + b"y" * 10_000 + b".org\r\n"
    b"co.uk\r\n"
    b"../../etc/passwd\r\n"
    b"192.0.2.7\r\n"
    b"last.org"
)


def count(database: Database, *tables: type) -> list[int]:
    with database.transaction(COMMAND_LINE) as transaction:
        return [transaction.session.scalar(select(func.count()).select_from(table)) or 0 for table in tables]


def test_a_list_adds_each_domain_once_and_reports_bad_lines(domains: Database) -> None:
    report = upload_domains(domains, COMMAND_LINE, [WORST])
    assert (report.lines, report.created, report.known, report.invalid) == (17, 4, 1, 10)
    assert [problem.line for problem in report.problems] == [6, 7, 8, 9, 10, 11, 12, 13, 14, 15]
    assert all(problem.reason and len(problem.text) <= 101 for problem in report.problems)
    assert all(problem.text.isprintable() for problem in report.problems)
    assert "more than 70000 characters" in report.problems[6].reason
    assert report.summary == "4 domains added, 1 line known before. 10 lines can't be used."
    with domains.transaction(COMMAND_LINE) as transaction:
        names = transaction.session.scalars(select(Domain.name).order_by(Domain.name)).all()
        assert names == ["192.0.2.7", "example.org", "last.org", "xn--bcher-kva.de"]
    assert count(domains, Configuration, SeedList) == [4, 4]


def test_every_domain_of_a_list_has_its_default_configuration_and_an_audit_entry(domains: Database) -> None:
    upload_domains(domains, COMMAND_LINE, (f"d{number}.org\n" for number in range(50)))
    with domains.transaction(COMMAND_LINE) as transaction:
        for row in transaction.session.scalars(select(Domain)):
            assert row.default_configuration is not None
            assert row.default_configuration.domain_id == row.id
            assert [each.domain_id for each in row.default_configuration.seed_lists] == [row.id]
            assert row.default_configuration.seed_lists[0].seeds == f"http://www.{row.name}"
        entries = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == "domain.create")).all()
        assert len({entry.entity_name for entry in entries}) == 50


@pytest.mark.both_databases
def test_the_same_list_again_changes_nothing_and_says_so(domains: Database) -> None:
    upload_domains(domains, COMMAND_LINE, [WORST])
    before = count(domains, Domain, Configuration, SeedList, AuditEntry)
    report = upload_domains(domains, COMMAND_LINE, [WORST])
    assert report.summary.startswith("Nothing was changed: all domains of the list are there already.")
    assert (report.created, report.known) == (0, 5)
    assert count(domains, Domain, Configuration, SeedList, AuditEntry) == before


def test_an_upload_that_breaks_off_keeps_what_was_done_and_goes_on_from_there(
    domains: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "LINES_OF_ONE_TRANSACTION", 10)

    def broken() -> Iterator[str]:
        for number in range(25):
            yield f"d{number}.org\n"
        raise ConnectionResetError

    done: list[int] = []
    with pytest.raises(ConnectionResetError):
        upload_domains(domains, COMMAND_LINE, broken(), on_progress=lambda tally: done.append(tally.lines))
    assert done == [10, 20]
    assert count(domains, Domain) == [20]
    whole = "".join(f"d{number}.org\n" for number in range(30))
    report = upload_domains(domains, COMMAND_LINE, [whole], after_line=20)
    assert (report.lines, report.created, report.known) == (30, 10, 0)
    assert count(domains, Domain) == [30]


def test_only_the_first_problems_are_kept_and_all_are_counted(sqlite_domains: Database) -> None:
    report = upload_domains(sqlite_domains, COMMAND_LINE, ("no domain\n" for _ in range(MOST_PROBLEMS + 500)))
    assert (report.invalid, len(report.problems)) == (MOST_PROBLEMS + 500, MOST_PROBLEMS)
    assert report.summary == "Nothing was changed. 1,500 lines can't be used."


@pytest.mark.parametrize("data", [b"<!DOCTYPE html>\n<html>", b"PK\x03\x04\x00\x00"])
def test_what_is_no_list_changes_nothing(sqlite_domains: Database, data: bytes) -> None:
    with pytest.raises(InvalidInput):
        upload_domains(sqlite_domains, COMMAND_LINE, [data])
    assert count(sqlite_domains, Domain) == [0]


def test_an_empty_list_changes_nothing(sqlite_domains: Database) -> None:
    assert upload_domains(sqlite_domains, COMMAND_LINE, []).summary == "Nothing was changed."
    assert upload_domains(sqlite_domains, COMMAND_LINE, [b""]).lines == 0


def test_without_a_template_an_upload_says_what_to_do(sqlite_database: Database) -> None:
    with pytest.raises(IllegalState, match="upload a template of this name"):
        upload_domains(sqlite_database, COMMAND_LINE, ["example.org"])


def test_a_reader_uploads_nothing(sqlite_domains: Database) -> None:
    with pytest.raises(Forbidden):
        upload_domains(sqlite_domains, Actor("rita", Role.READER, Door.API), ["example.org"])
    with pytest.raises(Forbidden):
        upload_seeds(sqlite_domains, Actor("rita", Role.READER, Door.API), ["example.org"], SeedTarget("x"))
    assert count(sqlite_domains, Domain) == [0]


@pytest.mark.both_databases
def test_two_uploads_of_the_same_list_at_once_add_each_domain_once(
    domains: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(uploads, "LINES_OF_ONE_TRANSACTION", 50)
    names = [f"d{number}.org\n" for number in range(500)]
    reports = []
    failures: list[BaseException] = []

    def upload(lines: list[str]) -> None:
        try:
            reports.append(upload_domains(domains, COMMAND_LINE, lines))
            reports.append(upload_seeds(domains, COMMAND_LINE, lines, SeedTarget("event", "event")))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=upload, args=(lines,)) for lines in (names, names[::-1], names)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert sum(report.created for report in reports) == 500
    assert sum(report.seeds_added for report in reports) == 500
    assert count(domains, Domain, Configuration, SeedList) == [500, 1000, 1000]


def test_seeds_create_domains_seed_lists_and_configurations(domains: Database) -> None:
    add_template(domains, "event")
    seeds = ["http://www.example.org/a\nexample.org/b\n# note\nbücher.de\nhttp://[::1]/x\nco.uk\nmailto:x@y.org\n"]
    target = SeedTarget("election", "election", template="event", max_bytes=5, max_objects=6)
    chosen: list[int] = []

    def choose(_: Transaction, numbers: list[int]) -> None:
        chosen.extend(numbers)

    report = upload_seeds(domains, COMMAND_LINE, seeds, target, on_configurations=choose)
    assert (report.created, report.seeds_added, report.invalid) == (3, 4, 2)
    assert report.summary == "3 domains added, 4 seeds added. 2 lines can't be used."
    with domains.transaction(COMMAND_LINE) as transaction:
        view = show_seed_list(transaction, "example.org", "election")
        assert view.seeds == "http://www.example.org/a\nhttp://example.org/b"
        assert view.configurations == ["election"]
        rows = transaction.session.scalars(select(Configuration).where(Configuration.name == "election")).all()
        assert sorted(row.id for row in rows) == sorted(chosen)
        assert {(row.max_bytes, row.max_objects, row.max_rate) for row in rows} == {(5, 6, 100)}
        assert {row.domain.default_configuration.name for row in rows if row.domain.default_configuration} == {
            "defaultconfig"
        }


@pytest.mark.both_databases
def test_the_same_seeds_again_change_nothing_whatever_their_spelling(domains: Database) -> None:
    target = SeedTarget("election", "election")
    upload_seeds(domains, COMMAND_LINE, ["http://example.org/a\n"], target)
    before = count(domains, Domain, Configuration, SeedList, AuditEntry)
    report = upload_seeds(domains, COMMAND_LINE, ["HTTP://EXAMPLE.org:80/a\nexample.org/a\n"], target)
    assert (report.seeds_added, report.seeds_known) == (0, 2)
    assert report.summary == "Nothing was changed: all domains and seeds of the list are there already."
    assert count(domains, Domain, Configuration, SeedList, AuditEntry) == before


def test_further_seeds_are_put_at_the_end_of_the_list_and_count_its_edition_up(domains: Database) -> None:
    target = SeedTarget("defaultseeds")
    upload_seeds(domains, COMMAND_LINE, ["http://example.org/a\n"], target)
    with domains.transaction(COMMAND_LINE) as transaction:
        view = show_seed_list(transaction, "example.org", "defaultseeds")
        assert view.seeds == "http://www.example.org\nhttp://example.org/a"
        assert (view.edition, view.configurations) == (2, ["defaultconfig"])
        assert len(transaction.session.execute(select(CONFIGURATION_SEED_LISTS)).all()) == 1


def test_a_full_seed_list_is_reported(sqlite_domains: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "LONGEST_TEXT", 100)
    report = upload_seeds(sqlite_domains, COMMAND_LINE, [f"http://example.org/{'a' * 100}\n"], SeedTarget("x"))
    assert (report.seeds_added, report.invalid) == (0, 1)
    assert "is full" in report.problems[0].reason


def test_bad_names_and_limits_of_the_target_are_refused(sqlite_domains: Database) -> None:
    with pytest.raises(InvalidInput) as caught:
        upload_seeds(sqlite_domains, COMMAND_LINE, ["example.org"], SeedTarget("a/b", "c\n", max_bytes=-2))
    assert [problem.field for problem in caught.value.problems] == ["seed_list", "configuration", "max_bytes"]
    assert count(sqlite_domains, Domain) == [0]


def test_a_seed_list_with_a_name_of_an_earlier_release_takes_seeds_where_the_list_is(sqlite_domains: Database) -> None:
    upload_domains(sqlite_domains, COMMAND_LINE, ["example.org\nexample.net\n"])
    with sqlite_domains.transaction(COMMAND_LINE) as transaction:
        row = find_domain(transaction, "example.org")
        row.seed_lists[0].name = row.configurations[0].name = "new"
    target = SeedTarget("new", "new")
    assert upload_seeds(sqlite_domains, COMMAND_LINE, ["http://example.org/a"], target).seeds_added == 1
    with pytest.raises(InvalidInput) as caught:
        upload_seeds(sqlite_domains, COMMAND_LINE, ["http://example.org/b\nhttp://example.net/\n"], target)
    assert [problem.field for problem in caught.value.problems] == ["seed_list", "configuration"]


def test_the_operations_take_a_text(sqlite_domains: Database) -> None:
    with sqlite_domains.transaction(COMMAND_LINE) as transaction:
        assert create_domains(transaction, DomainUpload(text="example.org\nexample.net\n")).created == 2
        given = SeedUpload(text="http://example.org/a", seed_list="event", configuration="event")
        assert create_seeds(transaction, given).seeds_added == 1


def check_flat(database: Database, lines: int, limit: int) -> None:
    """Upload so many lines twice, and check that the second tenth of memory is that of the last."""
    peaks: list[int] = []

    def note(tally: UploadTally) -> None:
        if tally.lines % (lines // 5) == 0:
            ascii_host.cache_clear()  # a cache of 8,192 names, which a short list does not fill
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.reset_peak()

    names = (f"www.domain{number:07d}.org\n" for number in range(lines))
    upload_domains(database, COMMAND_LINE, ["warm.org\n"])
    tracemalloc.start()
    try:
        report = upload_domains(database, COMMAND_LINE, names, on_progress=note)
    finally:
        tracemalloc.stop()
    assert (report.lines, report.created) == (lines, lines)
    assert len(peaks) == 5
    assert peaks[-1] - peaks[0] < limit, peaks
    again = (f"domain{number:07d}.org\n" for number in range(lines))
    report = upload_domains(database, COMMAND_LINE, again)
    assert report.summary == "Nothing was changed: all domains of the list are there already."


def test_an_upload_takes_flat_memory(sqlite_domains: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "LINES_OF_ONE_TRANSACTION", 500)
    check_flat(sqlite_domains, 5_000, 1_000_000)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_hundred_thousand_lines_take_flat_memory(domains: Database) -> None:
    check_flat(domains, 100_000, 2_000_000)
