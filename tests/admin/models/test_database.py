"""admin/models/database.py: versions, migrations, and transactions, on SQLite and PostgreSQL."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import warnings
from contextlib import suppress

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import select, text
from support.admin.harvest_database import START
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job

from admin.models.base import Base
from admin.models.database import VERSION_TABLE, Database
from admin.models.domain_tables import Domain
from admin.models.errors import DatabaseRefused, EditConflict, Forbidden, UseCaseError
from admin.models.job_tables import JobConfiguration
from admin.models.migration_files import FOLDER, known_versions, newest_version
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE, Actor, Door, Right

pytestmark = pytest.mark.both_databases


def domain(name: str) -> Domain:
    return Domain(name=name, tld="org", comments="", created=START)


def test_migrations_give_what_the_models_say(database_url: str) -> None:
    database = Database(database_url)
    assert database.upgrade() == (None, database.version())
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"version_table": VERSION_TABLE})
        assert compare_metadata(context, Base.metadata) == []
    database.check()
    database.close()


def test_jobs_of_an_earlier_version_get_the_rates_of_their_configurations(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        harvest = add_harvest(transaction, add_channel(transaction))
        for name, rate in (("kept.org", 7), ("deleted.org", 8)):
            add_domain(transaction, name).max_rate = rate
        add_job(transaction, harvest, ("kept.org", "deleted.org")).configurations[1].configuration_id = None
    with database.engine.begin() as connection:
        connection.execute(text("ALTER TABLE job_configurations DROP COLUMN max_rate"))
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '0008capture'"))
    database.upgrade()
    with database.transaction(COMMAND_LINE) as transaction:
        rows = transaction.session.scalars(select(JobConfiguration).order_by(JobConfiguration.position))
        assert [row.max_rate for row in rows] == [7, 0]


def test_the_migration_files_tell_the_same_versions_as_alembic() -> None:
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    config.set_main_option("path_separator", "os")
    scripts = ScriptDirectory.from_config(config)
    assert newest_version() == scripts.get_current_head()
    assert known_versions() == {script.revision for script in scripts.walk_revisions()}


def test_a_database_that_is_up_to_date_is_opened_without_alembic(database: Database) -> None:
    """Each command opens the database, and Alembic would take a tenth of the time of its start."""
    code = (
        "import sys; from admin.models.database import Database;"
        f" Database({database.engine.url.render_as_string(hide_password=False)!r}).check();"
        " print('alembic' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=100)
    assert done.stdout == "False\n"


def test_a_database_of_another_version_is_refused_with_the_remedy(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text(f"UPDATE {VERSION_TABLE} SET version_num = '9999'"))
    with pytest.raises(DatabaseRefused, match=r"has version 9999, which this program does not know.*newer version"):
        database.check()


def test_a_database_with_tables_and_without_a_version_is_refused(database: Database) -> None:
    with database.engine.begin() as connection:
        connection.execute(text(f"DELETE FROM {VERSION_TABLE}"))
    with pytest.raises(DatabaseRefused):
        database.check()


def test_a_transaction_that_raises_leaves_nothing_behind(database: Database) -> None:
    def fail() -> None:
        with database.transaction(COMMAND_LINE) as transaction:
            transaction.session.add(domain("example.org"))
            transaction.session.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    with database.transaction(COMMAND_LINE) as transaction:
        assert transaction.session.scalars(select(Domain)).all() == []


def test_a_name_that_is_taken_is_a_use_case_error(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        transaction.session.add(domain("example.org"))
    with pytest.raises(UseCaseError), database.transaction(COMMAND_LINE) as transaction:
        transaction.session.add(domain("example.org"))


def test_two_people_who_edit_the_same_thing_get_a_conflict(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        transaction.session.add(domain("example.org"))

    def edit() -> int:
        with database.transaction(COMMAND_LINE) as transaction:
            row = transaction.session.scalars(select(Domain)).one()
            transaction.check_edition("domain", row.name, row, 1)
            return row.edition

    assert edit() == 2
    with pytest.raises(EditConflict, match="you have edition 1, the present one is 2"):
        edit()


def test_changes_leave_audit_entries(database: Database) -> None:
    actor = Actor("anna", Role.CURATOR, Door.WEB, "192.0.2.7")
    with database.transaction(actor) as transaction:
        transaction.audit("domain.change", "domain", 7, "example.org", old={"comments": ""}, new={"comments": "x"})
    with database.transaction(COMMAND_LINE) as transaction:
        entry = transaction.session.scalars(select(AuditEntry)).one()
        assert (entry.actor, entry.door, entry.address, entry.at) == ("anna", "web", "192.0.2.7", START)
        assert (entry.old, entry.new) == ({"comments": ""}, {"comments": "x"})


@pytest.mark.parametrize(
    ("role", "right", "may"), [(Role.READER, Right.CURATE, False), (Role.CURATOR, Right.CURATE, True)]
)
def test_rights_follow_the_role(database: Database, role: Role, right: Right, may: bool) -> None:
    with database.transaction(Actor("x", role, Door.API)) as transaction:
        if may:
            transaction.require(right)
        else:
            with pytest.raises(Forbidden, match=r"x \(reader\) may not curate"):
                transaction.require(right)


def test_threads_that_write_at_once_wait_for_each_other(database: Database) -> None:
    problems: list[BaseException] = []

    def write(number: int) -> None:
        try:
            for each in range(10):
                with database.transaction(COMMAND_LINE) as transaction:
                    transaction.session.add(domain(f"d{number}-{each}.org"))
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == []
    with database.transaction(COMMAND_LINE) as transaction:
        assert len(transaction.session.scalars(select(Domain)).all()) == 40


def test_a_database_that_is_away_is_said_without_its_password() -> None:
    database = Database("postgresql+psycopg://me:geheim@127.0.0.1:1/none")
    with pytest.raises(DatabaseRefused) as caught:
        database.check()
    assert "can't be used" in str(caught.value)
    assert "geheim" not in str(caught.value)


@pytest.mark.both_databases
def test_a_connection_that_is_lost_before_a_long_answer_leaves_no_cursor_open(database: Database) -> None:
    if database.engine.dialect.name != "postgresql":
        pytest.skip("SQLite has no connection that could be lost")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(DatabaseRefused):
            _lose_connection(database)
        gc.collect()
    assert [str(each.message) for each in told] == []


def _lose_connection(database: Database) -> None:
    with database.reading(COMMAND_LINE) as reading:
        own = reading.session.scalar(text("SELECT pg_backend_pid()"))
        with database.transaction(COMMAND_LINE) as other:
            other.session.execute(text("SELECT pg_terminate_backend(:pid, 10000)"), {"pid": own})
        reading.session.execute(select(Domain), execution_options={"yield_per": 1})


def test_readers_take_no_lock_from_writers_and_change_nothing(database: Database) -> None:
    with database.reading(COMMAND_LINE) as reader:
        assert reader.session.scalars(select(Domain)).all() == []
        with database.transaction(COMMAND_LINE) as writer:  # waits for ever, or fails, when readers lock
            writer.session.add(domain("example.org"))
    with database.reading(COMMAND_LINE) as reader:
        reader.session.add(domain("example.net"))

    def write() -> None:
        with database.reading(COMMAND_LINE) as reader:
            reader.session.add(domain("example.com"))
            reader.session.flush()

    with suppress(DatabaseRefused):  # SQLite refuses at once
        write()
    with database.reading(COMMAND_LINE) as reader:
        assert [row.name for row in reader.session.scalars(select(Domain))] == ["example.org"]


def test_a_driver_that_is_missing_and_a_url_that_is_none_are_named_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(DatabaseRefused) as missing:
        Database("postgresql://me:secret@db.example/ghostfleet")
    with pytest.raises(DatabaseRefused) as unknown:
        Database("postgresql;me:secret@db.example")

    said = str(missing.value)
    assert "setting database.url = 'postgresql://" in said
    assert "requirements/extras.txt" in said
    assert "secret" not in said
    assert "\n" not in said
    assert "setting database.url" in str(unknown.value)
