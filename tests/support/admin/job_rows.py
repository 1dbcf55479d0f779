"""Rows that tests of jobs need: a channel, a harvest, domains, and jobs with their configurations."""

from __future__ import annotations

from admin.models.domain_tables import Configuration, Domain
from admin.models.harvest_tables import Channel, Harvest, HarvestKind, Template
from admin.models.job_tables import HarvestJob, JobConfiguration
from admin.models.transaction import Transaction


def add_channel(transaction: Transaction, name: str = "FOCUSED") -> Channel:
    """Add a channel."""
    channel = Channel(name=name, comments="")
    transaction.session.add(channel)
    transaction.session.flush()
    return channel


def add_harvest(transaction: Transaction, channel: Channel, name: str = "weekly news") -> Harvest:
    """Add a selective harvest."""
    harvest = Harvest(
        name=name,
        kind=HarvestKind.SELECTIVE,
        comments="",
        audience="",
        collection="news",
        channel=channel,
        why_inactive="",
        created=transaction.now,
        created_by="test",
    )
    transaction.session.add(harvest)
    transaction.session.flush()
    return harvest


def add_domain(transaction: Transaction, name: str) -> Configuration:
    """Add a domain with one configuration, and return the configuration."""
    template = transaction.session.get(Template, 1)
    if template is None:
        template = Template(id=1, name="default", comments="", created=transaction.now)
        transaction.session.add(template)
        transaction.session.flush()
    domain = Domain(name=name, tld=name.rpartition(".")[2], comments="", created=transaction.now)
    configuration = Configuration(
        domain=domain, name="defaultconfig", comments="", template_id=template.id, max_rate=1_000_000
    )
    transaction.session.add(configuration)
    transaction.session.flush()
    return configuration


def add_job(transaction: Transaction, harvest: Harvest, domains: tuple[str, ...] = ("example.org",)) -> HarvestJob:
    """Add a NEW job; its domains must exist."""
    assert harvest.channel_id is not None
    by_name = {
        name: transaction.session.query(Domain).filter_by(name=name).one().configurations[0].id for name in domains
    }
    job = HarvestJob(
        harvest_id=harvest.id,
        run_number=0,
        channel_id=harvest.channel_id,
        collection=harvest.collection,
        template_name="default",
        template_version=1,
        profile={"scope": "host"},
        seeds="".join(f"http://www.{name}/\n" for name in domains),
        created=transaction.now,
        configurations_count=len(domains),
        harvest_error="",
        harvest_error_details="",
        upload_error="",
        upload_error_details="",
        configurations=[
            JobConfiguration(
                position=at,
                configuration_id=by_name[name],
                domain_name=name,
                configuration_name="defaultconfig",
                expected_objects=100,
                reason="",
            )
            for at, name in enumerate(domains)
        ],
    )
    transaction.session.add(job)
    transaction.session.flush()
    return job
