"""Users are notified of a harvester whose disk is full."""

from __future__ import annotations

from harvesters import Admin, RunningHarvester
from notifying import Notifying
from waiting import until

from admin.models.people_tables import Role
from archive.settings.load import Settings


def test_subscribers_hear_once_of_a_harvester_without_disk_space(settings: Settings, admin: Admin) -> None:
    site = Notifying(admin.database)
    site.subscribe(
        site.person("ada", Role.OPERATOR), "harvester.dormant", way="webhook", target="https://example.org/hook"
    )
    with RunningHarvester(settings.home, GHOSTFLEET_HARVESTER__MIN_SPACE_LEFT=str(10**18)):
        until(site.rows, what="a message in the outbox", within=60)
        until(lambda: admin.harvester().why, what="the reason of the dormant harvester", within=60)
    (row,) = site.rows()
    assert row.event == "harvester.dormant"
    assert row.subject.startswith("Harvester h1 is dormant: ")
    assert row.body["facts"]["min_space_left"] == 10**18
