"""Domains, templates, schedules and harvests for tests of generation, written with few words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import select

from admin.harvests.generation.run import Generator, Listener
from admin.models.database import Database
from admin.models.domain_tables import Configuration, CrawlerTrap, Domain, SeedList
from admin.models.harvest_tables import (
    Channel,
    Harvest,
    HarvestKind,
    HarvestRun,
    Schedule,
    Template,
    TemplateVersion,
    TimeUnit,
)
from admin.models.job_tables import (
    DomainHistory,
    Harvester,
    HarvesterState,
    HarvestJob,
    JobConfiguration,
    JobStatus,
    StopReason,
)
from admin.models.transaction import COMMAND_LINE, Transaction
from archive.dates import Micros
from archive.settings.load import Settings
from frontier.definition.job import Profile
from support.admin.harvest_database import MINUTE


def template_text(**changes: Any) -> str:
    """A template that has every key; JSON is YAML too."""
    return json.dumps({**Profile().model_dump(mode="json"), **changes}, indent=1)


def stopped_harvester(channel_id: int, name: str) -> Harvester:
    """A harvester that has registered once, and takes no jobs."""
    return Harvester(
        name=f"{name}-harvester",
        channel_id=channel_id,
        machine="here",
        pid=1,
        state=HarvesterState.STOPPED,
        why="",
        job_id=None,
        free_bytes=0,
        registered=0,
        heard=0,
    )


class NoFence:
    """There is one scheduler alone."""

    def check(self, transaction: Transaction) -> None:
        """Never refuse."""


@dataclass
class World:
    """What a test has put into the database."""

    database: Database
    settings: Settings = field(default_factory=Settings)

    def __post_init__(self) -> None:
        with self.database.transaction(COMMAND_LINE) as transaction:
            for name, snapshots in (("focused", False), ("snapshots", True)):
                channel = Channel(name=name, comments="", takes_snapshots=snapshots, is_default=True)
                transaction.session.add(channel)
                transaction.session.flush()
                transaction.session.add(stopped_harvester(channel.id, name))
        self.template("plain")

    def template(self, name: str, *versions: Mapping[str, Any] | str) -> None:
        """A template with these versions: whole texts, or what differs from the defaults."""
        texts = [
            each if isinstance(each, str) else template_text(**each) for each in versions or ({"scope": "domain"},)
        ]
        with self.database.transaction(COMMAND_LINE) as transaction:
            row = Template(name=name, comments="", created=0)
            row.versions = [
                TemplateVersion(number=number, text=text, sha256="", comments="", created=0, created_by="me")
                for number, text in enumerate(texts, 1)
            ]
            transaction.session.add(row)

    def schedule(self, name: str = "hourly", unit: TimeUnit = TimeUnit.HOUR, **values: Any) -> None:
        """A schedule of every hour, unless said otherwise."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            transaction.session.add(Schedule(name=name, comments="", unit=unit, **values))

    def domain(
        self,
        name: str,
        *,
        seeds: str | None = None,
        template: str = "plain",
        traps: Sequence[str] = (),
        alias_of: str | None = None,
        alias_since: Micros | None = None,
        configuration: str = "default",
        **values: Any,
    ) -> int:
        """A domain with one configuration, whose number is returned; asked again, it has one more."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            session = transaction.session
            row = session.scalar(select(Domain).where(Domain.name == name))
            if row is None:
                row = Domain(name=name, tld=name.rpartition(".")[2], comments="", created=0, alias_since=alias_since)
                if alias_of is not None:
                    row.alias_of_id = session.scalars(select(Domain.id).where(Domain.name == alias_of)).one()
                session.add(row)
                session.flush()
                session.add_all(
                    CrawlerTrap(domain_id=row.id, position=position, expression=trap)
                    for position, trap in enumerate(traps)
                )
            text = f"http://www.{name}/\n" if seeds is None else seeds
            made = Configuration(
                name=configuration,
                comments="",
                template_id=session.scalars(select(Template.id).where(Template.name == template)).one(),
                seed_lists=[SeedList(domain_id=row.id, name=configuration, seeds=text, comments="")],
                **values,
            )
            row.configurations.append(made)
            session.flush()
            if row.default_configuration_id is None:
                row.default_configuration_id = made.id
            return made.id

    def harvest(self, name: str = "news", configurations: Sequence[int] = (), **values: Any) -> int:
        """A selective harvest that is due, unless said otherwise."""
        now = self.database.clock()
        with self.database.transaction(COMMAND_LINE) as transaction:
            session = transaction.session
            schedule = values.pop("schedule", None)
            is_selective = values.get("kind", HarvestKind.SELECTIVE) == HarvestKind.SELECTIVE
            row = Harvest(
                **{
                    "kind": HarvestKind.SELECTIVE,
                    "collection": "news",
                    "is_active": True,
                    "comments": "",
                    "audience": "",
                    "why_inactive": "",
                    "next_run": now - MINUTE if is_selective else None,
                    "first_run": now - MINUTE if is_selective else None,
                    "created": now,
                    "created_by": "me",
                    **values,
                    "name": name,
                }
            )
            if schedule is not None:
                row.schedule_id = session.scalars(select(Schedule.id).where(Schedule.name == schedule)).one()
            row.configurations = list(
                session.scalars(select(Configuration).where(Configuration.id.in_(configurations)))
            )
            session.add(row)
            session.flush()
            return row.id

    def snapshot(self, name: str = "snapshot", **values: Any) -> int:
        """An active snapshot harvest."""
        return self.harvest(name, kind=HarvestKind.SNAPSHOT, **values)

    def history(
        self,
        domain: str,
        harvest_id: int,
        objects: int = 100,
        size: int = 1_000_000,
        reason: StopReason = StopReason.COMPLETE,
        ended: Micros = 0,
    ) -> None:
        """An earlier job of the harvest, with this result."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            session = transaction.session
            row = session.scalars(select(Domain).where(Domain.name == domain)).one()
            job = self.job_row(harvest_id)
            session.add(job)
            session.flush()
            session.add(
                DomainHistory(
                    job_id=job.id,
                    harvest_id=harvest_id,
                    domain_id=row.id,
                    configuration_id=row.default_configuration_id,
                    objects=objects,
                    bytes=size,
                    stop_reason=reason,
                    ended=ended,
                )
            )

    def job_row(self, harvest_id: int, run_number: int = 0, status: JobStatus = JobStatus.DONE) -> HarvestJob:
        """A job without domains."""
        return HarvestJob(
            harvest_id=harvest_id,
            run_number=run_number,
            channel_id=1,
            collection="news",
            status=status,
            template_name="plain",
            template_version=1,
            profile={},
            seeds="",
            created=0,
        )

    def generator(self, *listeners: Listener, settings: Settings | None = None) -> Generator:
        """A generator of runs, without other schedulers."""
        return Generator(self.database, settings or self.settings, NoFence(), listeners)

    def generate(self, harvest_id: int, settings: Settings | None = None) -> HarvestRun | None:
        """Generate one run."""
        return self.generator(settings=settings).generate(harvest_id)

    def jobs(self, harvest_id: int) -> list[HarvestJob]:
        """The harvest's jobs, in their order."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            return list(
                transaction.session.scalars(
                    select(HarvestJob).where(HarvestJob.harvest_id == harvest_id).order_by(HarvestJob.id)
                )
            )

    def entries(self, job_id: int) -> list[JobConfiguration]:
        """The configurations of a job, in their order."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            return list(
                transaction.session.scalars(
                    select(JobConfiguration)
                    .where(JobConfiguration.job_id == job_id)
                    .order_by(JobConfiguration.position)
                )
            )

    def domains_by_job(self, harvest_id: int) -> list[list[str]]:
        """The names of the domains in each job."""
        return [[entry.domain_name for entry in self.entries(job.id)] for job in self.jobs(harvest_id)]

    def row(self, harvest_id: int) -> Harvest:
        """The harvest as it is now."""
        with self.database.transaction(COMMAND_LINE) as transaction:
            return transaction.session.get_one(Harvest, harvest_id)


def settings_with(**generation: Any) -> Settings:
    """The default settings, with these of the section `generation`."""
    values: Mapping[str, Any] = {"generation": generation}
    return Settings.model_validate(values)
