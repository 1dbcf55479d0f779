"""Templates and harvests for tests of domains, written as rows."""

from __future__ import annotations

from admin.models.database import Database
from admin.models.domain_tables import Domain
from admin.models.harvest_tables import Channel, Harvest, HarvestKind, Template, TemplateVersion
from admin.models.job_tables import DomainHistory, HarvestJob, JobConfiguration, JobStatus, StopReason
from admin.models.transaction import COMMAND_LINE, Transaction
from support.admin.harvest_database import START


def add_template(database: Database, name: str, *, is_active: bool = True) -> None:
    """Add a template with one version that has all defaults."""
    with database.transaction(COMMAND_LINE) as transaction:
        version = TemplateVersion(number=1, text="{}\n", sha256="0" * 64, created=START, created_by="anna")
        transaction.session.add(Template(name=name, is_active=is_active, created=START, versions=[version]))


def add_harvest(transaction: Transaction, name: str, *domains: Domain) -> Harvest:
    """Add a selective harvest of the default configurations of these domains."""
    harvest = Harvest(name=name, kind=HarvestKind.SELECTIVE, collection="default", created=START, created_by="anna")
    harvest.configurations = [each.default_configuration for each in domains if each.default_configuration]
    transaction.session.add(harvest)
    transaction.session.flush()
    return harvest


def add_job(transaction: Transaction, harvest: Harvest, domain: Domain, status: JobStatus) -> HarvestJob:
    """Add a job of a harvest with the default configuration of one domain."""
    channel = Channel(name=f"channel {harvest.name}")
    transaction.session.add(channel)
    transaction.session.flush()
    job = HarvestJob(
        harvest_id=harvest.id,
        run_number=0,
        channel_id=channel.id,
        collection="default",
        status=status,
        template_name="default",
        template_version=1,
        profile={},
        seeds="",
        created=START,
    )
    assert domain.default_configuration is not None
    job.configurations = [
        JobConfiguration(
            position=0,
            configuration_id=domain.default_configuration.id,
            domain_name=domain.name,
            configuration_name="defaultconfig",
            expected_objects=1,
        )
    ]
    transaction.session.add(job)
    transaction.session.flush()
    return job


def add_history(transaction: Transaction, job: HarvestJob, domain: Domain) -> None:
    """Note that the job harvested the domain."""
    transaction.session.add(
        DomainHistory(
            job_id=job.id,
            harvest_id=job.harvest_id,
            domain_id=domain.id,
            configuration_id=domain.default_configuration_id,
            objects=1,
            bytes=1,
            stop_reason=StopReason.COMPLETE,
            ended=START,
        )
    )
    transaction.session.flush()
