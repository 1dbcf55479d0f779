"""A page needs few statements, and no more of them when it shows more: each statement is a round trip to PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import event
from support.admin.harvest_database import MovableClock
from support.web.site_server import running_site

from admin.harvests.dispatch.channels import ChannelInput, create_channel
from admin.harvests.domains.configurations import ConfigurationCreation, create_configuration
from admin.models.database import Database
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from bench.admin_site.filled_database import Amounts, fill_database

FREQUENT = "d7919-1.org"
MOST = {"/": 18, "/overview/live": 18, "/jobs": 5, f"/jobs?domain={FREQUENT}": 5, f"/domains/{FREQUENT}": 10}
"""Statements of a page, that for the session included."""


@pytest.mark.timeout(300)
def test_pages_need_few_statements_however_much_they_show(
    database: Database, clock: MovableClock, tmp_path: Path
) -> None:
    fill_database(database, Amounts(jobs=200, history=400, audit=100), lambda _: None)
    with running_site(database, tmp_path / "home") as site, site.client(Role.ADMINISTRATOR) as client:
        few = {path: _statements(database, clock, client, path) for path in MOST}
        with database.transaction(COMMAND_LINE) as transaction:
            for number in range(5):
                create_channel(transaction, ChannelInput(name=f"channel-{number}", takes_snapshots=False))
                create_configuration(
                    transaction, FREQUENT, ConfigurationCreation(name=f"more-{number}", seed_lists=["defaultseeds"])
                )
        many = {path: _statements(database, clock, client, path) for path in MOST}
    assert many == few
    assert {path: number for path, number in few.items() if number > MOST[path]} == {}


def _statements(database: Database, clock: MovableClock, client: httpx.Client, path: str) -> int:
    """Return the number of statements of a page that nobody has just seen."""
    clock.now += 2_000_000
    with _counted(database) as found:
        assert client.get(path).status_code == 200
    return len(found)


@contextmanager
def _counted(database: Database) -> Iterator[list[str]]:
    found: list[str] = []

    def note(_: Any, __: Any, statement: str, *___: Any) -> None:
        if statement.startswith("SELECT"):
            found.append(statement)

    event.listen(database.engine, "before_cursor_execute", note)
    try:
        yield found
    finally:
        event.remove(database.engine, "before_cursor_execute", note)
