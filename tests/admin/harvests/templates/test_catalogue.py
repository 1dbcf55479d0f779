"""admin/harvests/templates/catalogue.py and its operations, on SQLite and PostgreSQL."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from sqlalchemy import func, select
from support.admin.harvest_database import HOUR, START, MovableClock
from support.each_value import each_value

from admin.harvests.domains.lookup import find_template
from admin.harvests.named_rows import find_named
from admin.harvests.templates.catalogue import present_version
from admin.harvests.templates.data import Verification
from admin.harvests.templates.operations import OPERATIONS
from admin.harvests.templates.profile_values import profile_of
from admin.harvests.templates.required_keys import REQUIRED_KEYS
from admin.harvests.templates.stock import DEFAULT_TEMPLATE, STOCK_TEMPLATES, install_stock, stock_text
from admin.harvests.templates.yaml_edit import changed_text
from admin.models.database import Database
from admin.models.domain_tables import Configuration, Domain
from admin.models.errors import EditConflict, Forbidden, IllegalState, InvalidInput, NotFound, UseCaseError
from admin.models.harvest_tables import Channel, Harvest, HarvestKind, Template, TemplateVersion
from admin.models.job_tables import HarvestJob
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE, Actor, Door, Right, Transaction
from frontier.definition.yaml_document import read_document

GOOD = stock_text(DEFAULT_TEMPLATE)
ODD = "\ufeff" + GOOD.replace("\n", "\r\n").replace("hops: 20", "hops:   20   # »æøå« 🕷") + "# no line end"
BY_NAME = {each.name: each for each in OPERATIONS}


@contextmanager
def at(database: Database, actor: Actor = COMMAND_LINE) -> Iterator[Transaction]:
    with database.transaction(actor) as transaction:
        yield transaction


def call(database: Database, operation: str, *, actor: Actor = COMMAND_LINE, **arguments: Any) -> Any:
    """Call an operation as the API does: its body is made by its input model."""
    found = BY_NAME[operation]
    if found.input is not None:
        arguments["given"] = found.input.model_validate(arguments.get("given", {}))
    with at(database, actor) as transaction:
        return found(transaction, **arguments)


def create(database: Database, name: str = "broad", text: str = GOOD, **more: Any) -> Any:
    return call(database, "template.create", given={"name": name, "text": text, **more})


@pytest.fixture
def broad(database: Database) -> Database:
    """The database with the template `broad`."""
    create(database)
    return database


def count(database: Database, table: Any) -> int:
    with at(database) as transaction:
        return transaction.session.scalar(select(func.count()).select_from(table)) or 0


def use(database: Database, template: str, domains: int) -> None:
    with at(database) as transaction:
        found = find_named(transaction, Template, "template", template)
        for number in range(domains):
            domain = Domain(name=f"d{number}.org", tld="org", comments="", created=START)
            domain.configurations.append(Configuration(name="defaultconfig", comments="", template_id=found.id))
            transaction.session.add(domain)


def test_a_template_is_kept_to_the_byte_and_downloaded_as_it_was_written(database: Database) -> None:
    made = create(database, text=ODD, comments="for all", version_comments="first")
    assert (made.name, made.version, made.edition, made.is_active, made.created) == ("broad", 1, 1, True, START)
    assert call(database, "template.download", name="broad", number=1) == ODD.encode()
    version = call(database, "template.show-version", name="broad", number=1)
    assert (version.text, version.comments, version.created_by, version.is_present) == (
        ODD, "first", "command line", True,
    )  # fmt: skip


@each_value("required", REQUIRED_KEYS)
def test_an_upload_that_lacks_a_required_key_names_it_and_stores_nothing(
    sqlite_database: Database, required: Any
) -> None:
    values = read_document(GOOD).values()
    group, dot, name = required.key.partition(".")
    (values[group] if dot else values).pop(name if dot else group)
    with pytest.raises(InvalidInput) as caught:
        create(sqlite_database, text=changed_text(GOOD, values))
    assert [each.field for each in caught.value.problems] == [required.key]
    assert (count(sqlite_database, Template), count(sqlite_database, TemplateVersion)) == (0, 0)
    assert count(sqlite_database, AuditEntry) == 0


def test_an_invalid_new_version_stores_nothing(sqlite_database: Database) -> None:
    create(sqlite_database)
    with pytest.raises(InvalidInput) as caught:
        call(sqlite_database, "template.add-version", name="broad", given={"text": "hops: x\nscope: y\n"})
    assert {"hops", "scope", "limits.bytes"} <= {each.field for each in caught.value.problems}
    shown = call(sqlite_database, "template.show", name="broad")
    assert (shown.version, shown.edition, count(sqlite_database, TemplateVersion)) == (1, 1, 1)


def test_each_new_text_is_a_new_version_and_the_old_ones_stay(database: Database, clock: MovableClock) -> None:
    create(database)
    clock.move(HOUR)
    second = GOOD.replace("hops: 20", "hops: 3")
    shown = call(
        database, "template.add-version", name="broad", given={"text": second, "comments": "less", "edition": 1}
    )
    assert (shown.version, shown.edition, shown.changed, shown.text) == (2, 2, START + HOUR, second)
    assert call(database, "template.download", name="broad", number=1).decode() == GOOD
    versions = call(database, "template.list-versions", name="broad")
    assert [(each.number, each.comments, each.characters) for each in versions.items] == [
        (2, "less", len(second)), (1, "", len(GOOD)),
    ]  # fmt: skip
    again = call(database, "template.add-version", name="broad", given={"text": second})
    assert (again.version, again.edition) == (2, 2), "the same text makes no version"


def test_a_job_keeps_the_values_it_was_made_with(database: Database) -> None:
    create(database)
    with at(database) as transaction:
        template = find_named(transaction, Template, "template", "broad")
        kept = profile_of(present_version(transaction, template.id).text, attributes={"scope": "host"})
    call(database, "template.add-version", name="broad", given={"text": GOOD.replace("hops: 20", "hops: 1")})
    assert kept["hops"] == 20
    with at(database) as transaction:
        assert profile_of(present_version(transaction, template.id).text)["hops"] == 1


def test_two_people_who_change_a_template_get_a_conflict(database: Database) -> None:
    create(database)
    call(database, "template.change", name="broad", given={"comments": "a", "edition": 1})
    for operation, given in (
        ("template.change", {"comments": "b", "edition": 1}),
        ("template.add-version", {"text": GOOD + "# x\n", "edition": 1}),
        ("template.deactivate", {"edition": 1}),
    ):
        with pytest.raises(EditConflict, match="you have edition 1, the present one is 2"):
            call(database, operation, name="broad", given=given)
    with pytest.raises(EditConflict):
        call(database, "template.delete", name="broad", edition=1)


@pytest.mark.both_databases
def test_people_who_add_versions_at_the_same_moment_lose_none(database: Database) -> None:
    create(database)
    refused: list[UseCaseError] = []

    def add(number: int) -> None:
        try:
            call(database, "template.add-version", name="broad", given={"text": f"{GOOD}# {number}\n", "edition": 1})
        except UseCaseError as error:
            refused.append(error)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 3
    assert count(database, TemplateVersion) == 2


def test_versions_are_compared_by_lines_and_by_values(database: Database) -> None:
    create(database)
    call(database, "template.add-version", name="broad", given={"text": GOOD.replace("hops: 20", "hops: 3 # few")})
    found = call(database, "template.compare", name="broad", old=1)
    assert (found.old, found.new, found.is_same) == ("broad/1", "broad/2", False)
    assert "-hops: 20\n+hops: 3 # few\n" in found.lines
    assert [(each.key, each.old, each.new) for each in found.values] == [("hops", 20, 3)]
    create(database, "other")
    assert call(database, "template.compare", name="broad", old=1, new=1, other="other").is_same


def test_a_copy_has_the_text_of_the_version_to_the_byte(database: Database) -> None:
    create(database, text=ODD)
    call(database, "template.add-version", name="broad", given={"text": GOOD})
    copied = call(database, "template.copy", name="broad", given={"name": "narrow", "version": 1})
    assert (copied.version, copied.text) == (1, ODD)
    assert call(database, "template.copy", name="broad", given={"name": "third"}).text == GOOD
    version = call(database, "template.show-version", name="narrow", number=1)
    assert version.comments == "copy of broad, version 1"


def test_a_template_is_made_of_the_profile_of_a_job(database: Database) -> None:
    with at(database) as transaction:
        install_stock(transaction)
        channel = Channel(name="FOCUSED", comments="")
        harvest = Harvest(
            name="weekly", kind=HarvestKind.SELECTIVE, comments="", audience="", collection="c", created=START,
            created_by="x", why_inactive="",
        )  # fmt: skip
        job = HarvestJob(
            harvest=harvest, run_number=0, channel=channel, collection="c", template_name=DEFAULT_TEMPLATE,
            template_version=1, seeds="http://example.org/", created=START, harvest_error="", harvest_error_details="",
            upload_error="", upload_error_details="",
            profile=profile_of(GOOD, attributes={"hops": 2}, traps=["/trap: #/"]),
        )  # fmt: skip
        transaction.session.add(job)
        transaction.session.flush()
        number = job.id
    made = call(database, "template.of-job", job_id=number, given={"name": "as the job"})
    assert profile_of(made.text) == profile_of(GOOD, attributes={"hops": 2}, traps=["/trap: #/"])
    assert made.text.splitlines()[0] == GOOD.splitlines()[0], "the comments of the default template are there"
    with pytest.raises(NotFound, match="there is no job '999'"):
        call(database, "template.of-job", job_id=999, given={"name": "x"})


def test_an_inactive_template_cannot_be_chosen_and_can_be_activated_again(database: Database) -> None:
    create(database)
    assert call(database, "template.deactivate", name="broad").is_active is False
    with at(database) as transaction, pytest.raises(IllegalState, match="'broad' is not active; activate it"):
        find_template(transaction, "broad")
    assert [each.name for each in call(database, "template.list", is_active=True).items] == []
    assert call(database, "template.activate", name="broad").is_active is True
    with at(database) as transaction:
        assert find_template(transaction, "broad").name == "broad"
        with pytest.raises(NotFound, match="there is no template 'none'"):
            find_template(transaction, "none")


def test_a_template_that_is_used_is_not_deleted_and_its_users_are_named(database: Database) -> None:
    create(database)
    use(database, "broad", 7)
    with pytest.raises(IllegalState) as caught:
        call(database, "template.delete", name="broad")
    assert "7 configurations use it (defaultconfig of d0.org, " in str(caught.value)
    assert "d4.org, …)" in str(caught.value)
    assert call(database, "template.show", name="broad").configurations == 7
    first = call(database, "template.list-users", name="broad", limit=5)
    second = call(database, "template.list-users", name="broad", limit=5, after=first.next)
    assert [each.domain for each in [*first.items, *second.items]] == [f"d{number}.org" for number in range(7)]
    assert (first.total, second.next) == (7, None)


def test_an_unused_template_is_deleted_with_its_versions(database: Database) -> None:
    create(database)
    call(database, "template.add-version", name="broad", given={"text": GOOD + "# x\n"})
    call(database, "template.delete", name="broad", edition=2)
    assert (count(database, Template), count(database, TemplateVersion)) == (0, 0)
    with at(database) as transaction:
        entry = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == "template.delete")).one()
        assert entry.old is not None
        assert entry.old["version"] == 2
        assert "text" not in entry.old, "headers in a text may be secrets"


def test_a_name_can_be_changed_and_taken_by_one_template_only(database: Database) -> None:
    create(database)
    create(database, "other")
    shown = call(database, "template.change", name="broad", given={"name": "wide", "comments": "now wide"})
    assert (shown.name, shown.comments, shown.version) == ("wide", "now wide", 1)
    for operation, arguments in (
        ("template.change", {"name": "wide", "given": {"name": "other"}}),
        ("template.create", {"given": {"name": "other", "text": GOOD}}),
        ("template.copy", {"name": "wide", "given": {"name": "other"}}),
    ):
        with pytest.raises(InvalidInput, match="there is a template 'other' already; choose another name"):
            call(database, operation, **arguments)
    with pytest.raises(NotFound):
        call(database, "template.show", name="broad")


@each_value(
    ("name", "said"),
    [
        ("", "the name is empty"),
        ("  ", "the name is empty"),
        (" a", "begins or ends with a space"),
        ("a/b", "the character '/'"),
        ("a\\b", "the character '\\'"),
        ("a\0b", "a null character"),
        ("a\nb", "a line break"),
        ("a\u202eb", "right-to-left override"),
        ("a\u200fb", "right-to-left mark"),
        ("..", "can't be a name"),
        ("a" * 10_000, "10,000 characters; use at most 100"),
    ],
)
def test_a_name_that_can_not_be_part_of_an_address_is_refused(database: Database, name: str, said: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        create(database, name)
    assert [each.field for each in caught.value.problems] == ["name"]
    assert said in caught.value.problems[0].message
    with pytest.raises(NotFound):
        call(database, "template.show", name=name)


ODD_NAMES = ['O\'Brien "quoted"', "Ærø 中文 עברית", "<b>bold<b>", "a%20b?c#d", "robert'); DROP TABLE"]


@each_value("name", ODD_NAMES)
def test_odd_names_are_kept_as_they_are(database: Database, name: str) -> None:
    create(database, name)
    assert call(database, "template.show", name=name).name == name
    assert [each.name for each in call(database, "template.list", search=name[1:4]).items] == [name]


def test_all_problems_of_name_comments_and_text_are_named_at_once(database: Database) -> None:
    with pytest.raises(InvalidInput) as caught:
        create(database, "a/b", "hops: 'x", comments="\0", version_comments="x" * 20_001)
    assert [each.field for each in caught.value.problems] == ["name", "comments", "version_comments", "text"]


@pytest.mark.both_databases
def test_templates_are_listed_by_name_in_pages(database: Database) -> None:
    for name in ("c", "a", "B", "d", "ä"):
        create(database, name)
    found: list[str] = []
    after = None
    while True:
        page = call(database, "template.list", after=after, limit=2)
        assert page.total == 5
        found += [each.name for each in page.items]
        after = page.next
        if after is None:
            break
    assert len(found) == 5
    assert set(found) == {"a", "B", "c", "d", "ä"}
    assert [each.name for each in call(database, "template.list", search="b").items] == ["B"]
    assert call(database, "template.list", search="%").items == []


@each_value(
    ("operation", "arguments", "field"),
    [
        ("template.list", {"limit": 0}, "limit"),
        ("template.list", {"limit": 501}, "limit"),
        ("template.list", {"after": "\0"}, "after"),
        ("template.list", {"search": "\0"}, "search"),
        ("template.list-versions", {"name": "broad", "after": "x"}, "after"),
        ("template.list-users", {"name": "broad", "after": "9" * 30}, "after"),
    ],
)
def test_a_page_that_can_not_be_is_refused(
    broad: Database, operation: str, arguments: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidInput) as caught:
        call(broad, operation, **arguments)
    assert [each.field for each in caught.value.problems] == [field]


def test_a_name_that_no_database_can_keep_is_not_found(database: Database) -> None:
    with pytest.raises(NotFound):
        call(database, "template.show", name="a\ud800")


@each_value("number", [0, -1, 2, 10**30])
def test_an_unknown_version_is_not_found(broad: Database, number: int) -> None:
    with pytest.raises(NotFound, match="there is no version 'broad/"):
        call(broad, "template.show-version", name="broad", number=number)


def test_verification_is_a_dry_run_that_names_all_problems_and_shows_the_fields(database: Database) -> None:
    found: Verification = call(database, "template.verify", given={"text": GOOD.replace("hops: 20", "hops: many")})
    assert found.is_valid is False
    assert [(each.field, each.line) for each in found.problems] == [
        ("hops", GOOD.splitlines().index("hops: 20") + 1)
    ]  # fmt: skip
    assert next(each.value for each in found.fields if each.key == "hops") == "many"
    assert call(database, "template.verify", given={"text": GOOD}).is_valid
    assert call(database, "template.verify", given={"text": "a: 'x"}).fields == []
    assert count(database, Template) == 0


def test_values_are_edited_in_a_text_that_is_not_kept_yet(database: Database) -> None:
    given = {"text": GOOD, "set": {"hops": 3, "exclude": ["/x/"]}, "unset": ["max_links"]}
    found = call(database, "template.edit", given=given)
    assert found.is_valid
    assert "\nhops: 3\n" in found.text
    assert "max_links" not in found.text
    with pytest.raises(InvalidInput, match="'hop' is no key of a template"):
        call(database, "template.edit", given={"text": GOOD, "set": {"hop": 3}})


def test_the_keys_of_templates_are_listed_with_what_jobs_set(database: Database) -> None:
    found = {each.key: each for each in call(database, "template.keys").fields}
    assert found["limits.bytes"].required == "the limit of bytes that an operator gives a running job"
    assert found["scope"].choices == ["page", "prefix", "host", "domain", "any"]


def test_every_change_leaves_an_audit_entry_with_what_differs(database: Database) -> None:
    anna = Actor("anna", Role.CURATOR, Door.WEB, "192.0.2.7")
    call(database, "template.create", actor=anna, given={"name": "broad", "text": GOOD, "comments": "a"})
    call(database, "template.change", actor=anna, name="broad", given={"comments": "b"})
    call(database, "template.add-version", actor=anna, name="broad", given={"text": GOOD + "# x\n"})
    call(database, "template.deactivate", actor=anna, name="broad")
    with at(database) as transaction:
        entries = transaction.session.scalars(select(AuditEntry).order_by(AuditEntry.id)).all()
        assert [(each.action, each.actor, each.entity_name) for each in entries] == [
            ("template.create", "anna", "broad"), ("template.change", "anna", "broad"),
            ("template.add-version", "anna", "broad"), ("template.deactivate", "anna", "broad"),
        ]  # fmt: skip
        assert (entries[1].old, entries[1].new) == ({"comments": "a"}, {"comments": "b"})
        assert entries[2].new is not None
        assert entries[2].new["version"] == 2


def test_a_use_case_asks_for_the_right_itself(sqlite_database: Database) -> None:
    """The API and the pages ask too; a caller that forgets it changes nothing."""
    reader = Actor("x", Role.READER, Door.API)
    for operation in OPERATIONS:
        if operation.right is not Right.CURATE:
            continue
        arguments: dict[str, Any] = {"name": "x"} if "{name}" in operation.path else {}
        arguments |= {part: 1 for part in ("number", "job_id") if f"{{{part}}}" in operation.path}
        given = {"given": None} if operation.input else {}
        with at(sqlite_database, reader) as transaction, pytest.raises(Forbidden):
            operation.use_case(transaction, **arguments, **given)


def test_operations_have_names_and_paths_of_their_own() -> None:
    assert len({each.name for each in OPERATIONS}) == len(OPERATIONS)
    assert len({(each.method, each.path) for each in OPERATIONS}) == len(OPERATIONS)


def test_a_fresh_database_gets_the_stock_templates_once(database: Database) -> None:
    with at(database) as transaction:
        assert install_stock(transaction) == tuple(STOCK_TEMPLATES)
    assert [each.name for each in call(database, "template.list").items] == sorted(STOCK_TEMPLATES)
    for name in STOCK_TEMPLATES:
        assert call(database, "template.show", name=name).text == stock_text(name)
    call(database, "template.delete", name="chromium")
    with at(database) as transaction:
        assert install_stock(transaction) == ()
    assert count(database, Template) == len(STOCK_TEMPLATES) - 1, "a deleted stock template stays deleted"


def test_the_default_template_can_be_changed_but_not_taken_away(database: Database) -> None:
    with at(database) as transaction:
        install_stock(transaction)
    for operation, arguments in (
        ("template.delete", {}),
        ("template.deactivate", {}),
        ("template.change", {"given": {"name": "other"}}),
    ):
        with pytest.raises(IllegalState, match="new domains are given it"):
            call(database, operation, name=DEFAULT_TEMPLATE, **arguments)
    assert call(
        database, "template.add-version", name=DEFAULT_TEMPLATE, given={"text": GOOD + "# ours\n"}
    ).version == 2  # fmt: skip


def test_stock_templates_spare_a_name_that_is_taken(database: Database) -> None:
    create(database, "chromium", GOOD + "# ours\n")
    with at(database) as transaction:
        assert "chromium" not in install_stock(transaction)
    assert call(database, "template.show", name="chromium").text.endswith("# ours\n")
