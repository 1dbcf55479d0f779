"""admin/harvests/dispatch/channels.py: channels are data, with one default of each kind."""

from __future__ import annotations

import pytest
from support.admin.job_rows import add_harvest

from admin.harvests.dispatch.channels import (
    ChannelInput,
    change_channel,
    create_channel,
    delete_channel,
    install_stock,
    list_channels,
)
from admin.models.database import Database
from admin.models.errors import EditConflict, Forbidden, IllegalState, InvalidInput, NotFound
from admin.models.harvest_tables import Channel
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE, Actor, Door


def test_a_new_installation_has_two_channels_and_gets_them_once(database: Database) -> None:
    for _ in range(2):
        with database.transaction(COMMAND_LINE) as transaction:
            install_stock(transaction)
    with database.reading(COMMAND_LINE) as transaction:
        found = [(each.name, each.takes_snapshots, each.is_default) for each in list_channels(transaction)]
    assert found == [("FOCUSED", False, True), ("SNAPSHOT", True, True)]


def test_another_default_takes_the_place_of_the_first(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        install_stock(transaction)
        create_channel(transaction, ChannelInput(name="VIDEO", is_default=True))
        transaction.session.expire_all()
        found = {each.name: each.is_default for each in list_channels(transaction)}
        assert found == {"FOCUSED": False, "SNAPSHOT": True, "VIDEO": True}
        with pytest.raises(IllegalState, match="make another channel the default"):
            change_channel(transaction, "VIDEO", ChannelInput(name="VIDEO"))
        with pytest.raises(IllegalState, match="is the default"):
            delete_channel(transaction, "VIDEO")
        delete_channel(transaction, "FOCUSED")


@pytest.mark.parametrize("name", ["", "a b", "x" * 65, "é", "../x", "-x", "FOCUSED"])
def test_names_that_can_not_be_used_are_refused(sqlite_database: Database, name: str) -> None:
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        install_stock(transaction)
        with pytest.raises(InvalidInput) as caught:
            create_channel(transaction, ChannelInput(name=name))
    assert [each.field for each in caught.value.problems] == ["name"]


def test_a_channel_in_use_stays(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        install_stock(transaction)
        create_channel(transaction, ChannelInput(name="VIDEO"))
        channel = transaction.session.query(Channel).filter_by(name="VIDEO").one()
        add_harvest(transaction, channel)
        with pytest.raises(IllegalState, match="1 harvest use it"):
            delete_channel(transaction, "VIDEO")


def test_changes_need_the_edition_and_the_right(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        install_stock(transaction)
        changed = change_channel(
            transaction, "FOCUSED", ChannelInput(name="NEWS", is_default=True, comments="new", edition=1)
        )
        assert (changed.name, changed.edition) == ("NEWS", 2)
        with pytest.raises(EditConflict):
            change_channel(transaction, "NEWS", ChannelInput(name="NEWS", is_default=True, edition=1))
        with pytest.raises(NotFound):
            delete_channel(transaction, "FOCUSED")
    with database.transaction(Actor("c", Role.CURATOR, Door.API)) as transaction, pytest.raises(Forbidden):
        create_channel(transaction, ChannelInput(name="X"))
