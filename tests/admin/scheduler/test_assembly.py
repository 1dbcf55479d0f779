"""The installed scheduler: jobs are generated and dispatched, and people hear of what happens."""

from __future__ import annotations

import threading

from sqlalchemy import select
from support.admin.harvest_database import DAY, START, MovableClock
from support.admin.harvest_world import World, settings_with
from support.processes.waiting import until

from admin.models.harvest_tables import Channel, ScheduleEnd
from admin.models.job_tables import Harvester, HarvesterState, HarvestJob, JobStatus
from admin.models.people_tables import Notification, Role, Subscription, User
from admin.models.transaction import COMMAND_LINE
from admin.notifications.events import Event
from admin.scheduler import assembly
from admin.scheduler.assembly import installed_scheduler, send_messages
from admin.scheduler.scheduler import TickReport
from archive.settings.load import Settings


def look(world: World, settings: Settings | None = None, times: int = 1) -> list[TickReport]:
    """Look so many times with a scheduler that then ends."""
    scheduler = installed_scheduler(world.database, settings or Settings())
    reports = []
    for _ in range(times):
        reports.append(scheduler.tick())
        assert scheduler.wait(30)
    scheduler.close()
    return reports


def harvester(world: World) -> None:
    """A harvester that listens to the channel of selective harvests."""
    with world.database.transaction(COMMAND_LINE) as transaction:
        channel = transaction.session.scalars(select(Channel).where(Channel.name == "focused")).one()
        now = transaction.now
        transaction.session.add(
            Harvester(
                name="h",
                channel_id=channel.id,
                machine="m",
                pid=1,
                state=HarvesterState.READY,
                why="",
                registered=now,
                heard=now,
            )
        )


def subscriber(world: World, event: Event, harvest_id: int | None = None) -> None:
    with world.database.transaction(COMMAND_LINE) as transaction:
        user = User(name="anna", full_name="", email="anna@example.org", role=Role.CURATOR, created=START)
        user.subscriptions.append(Subscription(event=event.value, way="email", target="", harvest_id=harvest_id))
        transaction.session.add(user)


def subjects(world: World) -> list[str]:
    with world.database.transaction(COMMAND_LINE) as transaction:
        return list(transaction.session.scalars(select(Notification.subject)))


def test_jobs_stay_new_until_a_harvester_listens_and_are_submitted_then(world: World) -> None:
    harvest_id = world.harvest(configurations=[world.domain("a.org")])
    look(world, times=2)
    assert [job.status for job in world.jobs(harvest_id)] == [JobStatus.NEW]
    harvester(world)
    look(world)
    assert [job.status for job in world.jobs(harvest_id)] == [JobStatus.SUBMITTED]


def test_submitted_jobs_are_submitted_again_once_when_a_scheduler_begins(world: World) -> None:
    harvest_id = world.harvest(configurations=[world.domain("a.org")])
    harvester(world)
    look(world, times=3)
    assert [job.status for job in world.jobs(harvest_id)] == [JobStatus.SUBMITTED]
    look(world, times=3)
    old, new = world.jobs(harvest_id)
    assert (old.status, new.status, old.resubmitted_as_id) == (JobStatus.RESUBMITTED, JobStatus.SUBMITTED, new.id)


def test_a_job_whose_harvester_is_silent_fails_and_is_told_of(world: World, clock: MovableClock) -> None:
    harvest_id = world.harvest(is_active=False)
    subscriber(world, Event.JOB_SILENT, harvest_id)
    with world.database.transaction(COMMAND_LINE) as transaction:
        job = world.job_row(harvest_id, status=JobStatus.STARTED)
        job.heard, job.harvester = START, "h"
        transaction.session.add(job)
    clock.move(DAY)
    look(world)
    assert [job.status for job in world.jobs(harvest_id)] == [JobStatus.STARTED]
    clock.move(1)
    look(world)
    (job,) = world.jobs(harvest_id)
    assert job.status == JobStatus.FAILED
    assert subjects(world) == [f"Job {job.id} failed: nobody had heard of it"]


def test_people_hear_of_a_harvest_that_was_deactivated(world: World) -> None:
    subscriber(world, Event.HARVEST_DEACTIVATED)
    world.template("bad", "hops: [")
    world.harvest(configurations=[world.domain("a.org", template="bad")])
    look(world, times=2)
    (subject,) = subjects(world)
    assert subject.startswith("Harvest news: the harvest was deactivated: template 'bad' version 1 makes no profile")


def test_people_hear_of_the_last_date_of_a_schedule(world: World) -> None:
    subscriber(world, Event.HARVEST_SCHEDULE_ENDED)
    world.schedule("once", ends=ScheduleEnd.COUNT, ends_after=1)
    world.harvest(configurations=[world.domain("a.org")], schedule="once")
    look(world, times=2)
    assert subjects(world) == ["Harvest news: the schedule has no further date"]


def test_people_hear_once_of_a_harvest_that_takes_long(world: World) -> None:
    subscriber(world, Event.HARVEST_STILL_SCHEDULING)
    world.harvest(configurations=[world.domain("a.org")])
    scheduler = installed_scheduler(world.database, settings_with(slow_seconds=0.001, threads=1))
    goes_on = threading.Event()
    scheduler._selective.submit(goes_on.wait, 30)
    scheduler.tick()
    until(lambda: scheduler.tick() and subjects(world), what="a message")
    scheduler.tick()
    goes_on.set()
    assert scheduler.wait(30)
    scheduler.close()
    (subject,) = subjects(world)
    assert subject.startswith("Harvest news: the jobs of the run are being made for")


def test_every_event_of_generation_has_its_notification_or_none() -> None:
    assert len(set(assembly.EVENTS.values())) == len(assembly.EVENTS)


def test_the_outbox_is_looked_at_until_the_end(sqlite_world: World) -> None:
    stop = threading.Event()
    thread = threading.Thread(target=send_messages, args=(sqlite_world.database, stop))
    thread.start()
    stop.set()
    thread.join(30)
    assert not thread.is_alive()


def test_a_draft_is_never_submitted(sqlite_world: World) -> None:
    harvest_id = sqlite_world.snapshot(is_active=False)
    harvester(sqlite_world)
    with sqlite_world.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.add(sqlite_world.job_row(harvest_id, status=JobStatus.DRAFT))
    assert look(sqlite_world)[0].undone == 1
    with sqlite_world.database.transaction(COMMAND_LINE) as transaction:
        assert transaction.session.scalars(select(HarvestJob)).all() == []
