"""Channels that nobody serves: harvests wait for the first harvester (row N40), jobs for the next, and people hear."""

from __future__ import annotations

import pytest
from sqlalchemy import delete, insert, select, update
from support.admin.harvest_database import HOUR, MINUTE, START, MovableClock
from support.admin.harvest_world import World, stopped_harvester
from support.admin.notifying import Notifying
from support.web.mail_receiver import MailReceiver
from support.web.webhook_receiver import WebhookReceiver

from admin.harvester.dispatch_link import DispatchLink
from admin.harvests.generation.postponement import postponing_channels
from admin.harvests.generation.ready import MOST
from admin.models.database import Database
from admin.models.errors import NotFound
from admin.models.harvest_tables import Harvest
from admin.models.job_tables import Harvester, HarvesterState
from admin.models.people_tables import AuditEntry
from admin.models.transaction import COMMAND_LINE
from admin.notifications.events import Event
from admin.scheduler.assembly import installed_scheduler
from admin.scheduler.scheduler import TickReport
from archive.settings.load import Settings, load


@pytest.fixture
def settings(home: object, mail: MailReceiver) -> Settings:
    return load(
        {
            "home": str(home),
            "notifications.smtp_host": "127.0.0.1",
            "notifications.smtp_port": mail.port,
            "notifications.smtp_security": "none",
            "notifications.sender": "ghostfleet@archive.example",
            "notifications.webhook_allow_private": True,
        },
        environment={},
    )


@pytest.fixture
def world(database: Database, settings: Settings) -> World:
    """One domain in one active selective harvest, for whose channel no harvester has registered."""
    world = World(database, settings)
    with database.transaction(COMMAND_LINE) as transaction:
        transaction.session.execute(delete(Harvester))
    world.snapshot()
    world.domain("a.org")
    return world


def look(world: World, settings: Settings) -> TickReport:
    scheduler = installed_scheduler(world.database, settings)
    report = scheduler.tick()
    assert scheduler.wait(30)
    scheduler.close()
    return report


def register(world: World, channel_id: int, name: str = "snapshots") -> None:
    with world.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.add(stopped_harvester(channel_id, name))


def test_a_harvest_waits_for_the_first_harvester_of_its_channel(world: World, settings: Settings) -> None:
    assert [look(world, settings).started for _ in range(2)] == [(), ()]
    register(world, 1, "focused")
    assert look(world, settings).started == ()
    register(world, 2)
    assert look(world, settings).started == ("snapshot",)
    assert look(world, settings).started == ()


def test_harvests_that_wait_for_a_harvester_delay_no_other_one(world: World, settings: Settings) -> None:
    first = world.harvest("waiting")
    with world.database.transaction(COMMAND_LINE) as transaction:
        row = transaction.session.get_one(Harvest, first)
        names = {each.name for each in Harvest.__table__.columns} - {"id"}
        values = {name: getattr(row, name) for name in names}
        waiting = [values | {"name": f"waiting {number}"} for number in range(MOST)]
        transaction.session.execute(insert(Harvest), waiting)
    world.snapshot("later", next_run=START - 1)
    with world.database.reading(COMMAND_LINE) as reading:
        assert postponing_channels(reading.session, reading.now) == ["focused", "snapshots"]
    register(world, 2)
    assert sorted(look(world, settings).started) == ["later", "snapshot"]


def test_the_setting_makes_jobs_without_a_harvester(world: World, settings: Settings) -> None:
    generation = settings.generation.model_copy(update={"postpone_unregistered_channel": False})
    assert look(world, settings.model_copy(update={"generation": generation})).started == ("snapshot",)


def test_people_hear_once_of_a_channel_without_a_harvester_and_again_after_it_had_one(
    world: World, settings: Settings, hook: WebhookReceiver, mail: MailReceiver, clock: MovableClock
) -> None:
    with Notifying(world.database) as site:
        site.hear(site.person("anna"), hook.url(), event=Event.CHANNEL_WITHOUT_HARVESTER)
        site.subscribe(site.person("bert"), Event.CHANNEL_WITHOUT_HARVESTER)
        for _ in range(3):  # each time another scheduler, as after a restart
            look(world, settings)
        site.send()
        (told,) = hook.received
        assert told.json["type"] == "channel.no-harvester"
        assert "Harvests wait for channel snapshots" in told.json["data"]["subject"]
        assert len(mail.mails) == 1
        register(world, 2)
        look(world, settings)
        assert site.send() == 0  # the job is fresh
        clock.move(HOUR)
        look(world, settings)
        site.send()
        assert "Jobs wait for channel snapshots" in hook.received[-1].json["data"]["subject"]


def test_people_hear_once_of_a_harvester_that_fell_silent(
    world: World, settings: Settings, hook: WebhookReceiver, clock: MovableClock
) -> None:
    register(world, 2)
    with world.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.execute(update(Harvester).values(state=HarvesterState.READY, heard=clock()))
    with Notifying(world.database) as site:
        site.hear(site.person("anna"), hook.url(), event=Event.HARVESTER_SILENT)
        look(world, settings)
        assert site.send() == 0
        clock.move(6 * MINUTE)
        look(world, settings)
        look(world, settings)
        site.send()
        (told,) = hook.received
        assert told.json["data"]["facts"]["harvester"] == "snapshots-harvester"


def test_people_hear_of_a_harvester_that_was_refused_and_once_an_hour_only(
    world: World, hook: WebhookReceiver, clock: MovableClock
) -> None:
    link = DispatchLink(world.database, "h1", "NO-SUCH")
    with Notifying(world.database) as site:
        site.hear(site.person("anna"), hook.url(), event=Event.HARVESTER_REFUSED)
        for moved in (0, MINUTE, HOUR):
            clock.move(moved)
            with pytest.raises(NotFound, match="NO-SUCH"):
                link.register(0)
        site.send()
    assert len(hook.received) == 2
    assert "h1 wanted to register for channel NO-SUCH" in hook.received[0].json["data"]["subject"]
    with world.database.transaction(COMMAND_LINE) as transaction:
        refused = select(AuditEntry.actor).where(AuditEntry.action == "harvester.refuse")
        assert transaction.session.scalars(refused).all() == ["h1", "h1"]
        assert transaction.session.scalars(select(Harvester)).all() == []
