"""The demo fills a fresh home: three domains served on loopback, templates, a schedule, and harvests.

The first harvest runs at once, so that a newcomer sees a finished job. A second start finds everything there and adds
nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sqlalchemy import select

from admin.demo.garden import GardenSite
from admin.harvests.definitions.chosen import ConfigurationChoice
from admin.harvests.definitions.definition import HarvestCreation, create_harvest
from admin.harvests.definitions.states import StateChange, activate_harvest
from admin.harvests.domains.configurations import ConfigurationChange, change_configuration
from admin.harvests.domains.domain import DomainCreation, create_domain
from admin.harvests.schedules.timetable import NewSchedule, create_schedule
from admin.harvests.templates.catalogue import create_template
from admin.harvests.templates.data import NewTemplate
from admin.harvests.templates.stock import stock_text
from admin.models.database import FILE_NAME, Database
from admin.models.harvest_tables import Harvest, HarvestKind, TimeUnit
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.transaction import COMMAND_LINE, Transaction
from archive.settings.load import Settings
from browsers.engines.chromium.executable import find_chromium
from browsers.engines.interface import BrowserMissing

FOLDER: Final = "up-demo"
"""The demo's home, below the usual one."""
MARK: Final = "made-by-ghostfleet-up-demo"
FIRST_HARVEST: Final = "Garden and neighbours"
SECOND_HARVEST: Final = "Orchard twice a day"
SNAPSHOT: Final = "All domains, small"
_DOMAINS: Final = {
    "garden.test": "Botanical garden, with scripts, a film and a shop",
    "orchard.test": "A neighbour with a missing page",
    "meadow.test": "A neighbour with a redirect",
}
_BROWSER: Final = "demo-browser"
_PLAIN: Final = "demo-plain"
_SCHEDULE: Final = "twice a day"
_LOOK_SECONDS: Final = 2.0
_NEWEST: Final = 20
_POLITENESS: Final = {"delay_factor": "0", "min_delay_seconds": "0", "per_host": "4"}
_RATE: Final = 1_000_000
"""Visits of a domain in a minute, so many that the rate makes no pause."""


class DemoRefused(Exception):
    """The demo can't use the home. The message is one line with the remedy."""


def check_home(home: Path) -> None:
    """Mark a fresh home as the demo's. Raises DemoRefused for the home of a real installation, and OSError."""
    if (home / FILE_NAME).exists() and not (home / MARK).exists():
        raise DemoRefused(
            f"{home} has an installation that no demo made; choose another folder with --home, or leave --demo out"
        )
    home.mkdir(parents=True, exist_ok=True)
    (home / MARK).touch()


def demo_settings(site: GardenSite, settings: Settings) -> Settings:
    """Return the settings with which the installation harvests the bundled site on loopback, without long waits."""
    proxy, generation, harvester = settings.proxy, settings.generation, settings.harvester
    return settings.model_copy(
        update={
            "proxy": proxy.model_copy(
                update={
                    "allow_private": True,
                    "upstream_ca": str(site.ca_pem),
                    "resolve": {**proxy.resolve, **site.resolve},
                }
            ),
            "generation": generation.model_copy(
                update={"period_seconds": min(generation.period_seconds, _LOOK_SECONDS)}
            ),
            "harvester": harvester.model_copy(update={"loop_seconds": min(harvester.loop_seconds, _LOOK_SECONDS)}),
            "harvests": settings.harvests.model_copy(update={"tlds": (*settings.harvests.tlds, "test")}),
        }
    )


def fill(database: Database, settings: Settings) -> bool:
    """Fill the database of a fresh home, and return whether it was fresh."""
    with database.transaction(COMMAND_LINE) as transaction:
        if transaction.session.scalar(select(Harvest.id).limit(1)) is not None:
            return False
        has_browser = _has_browser(settings)
        _make_templates(transaction, has_browser=has_browser)
        for name, comments in _DOMAINS.items():
            domain = create_domain(transaction, DomainCreation(name=name, comments=comments))
            template = _BROWSER if has_browser and name == "garden.test" else _PLAIN
            (configuration,) = domain.configurations
            change = ConfigurationChange(template=template, max_bytes=100_000_000, max_rate=_RATE)
            change_configuration(transaction, name, configuration.name, change)
        rule = {"unit": TimeUnit.HOUR, "every": 12}
        create_schedule(transaction, NewSchedule(name=_SCHEDULE, comments="Made by the demo", **rule))
        _make_harvests(transaction)
    return True


def finished_jobs(database: Database) -> Iterator[tuple[int, JobStatus]]:
    """Yield number and state of the newest jobs that have ended."""
    with database.reading(COMMAND_LINE) as reading:
        query = select(HarvestJob.id, HarvestJob.status).where(
            HarvestJob.status.in_((JobStatus.DONE, JobStatus.FAILED))
        )
        for number, status in reading.session.execute(query.order_by(HarvestJob.id.desc()).limit(_NEWEST)):
            yield number, JobStatus(status)


def _make_templates(transaction: Transaction, *, has_browser: bool) -> None:
    create_template(
        transaction,
        NewTemplate(name=_PLAIN, text=_hurried(stock_text("default")), comments="The stock template without pauses"),
    )
    if has_browser:
        text = _hurried(stock_text("chromium"))
        create_template(
            transaction, NewTemplate(name=_BROWSER, text=text, comments="The template chromium without pauses")
        )


def _hurried(text: str) -> str:
    """Return the text of a template without pauses: the bundled site is on this machine."""
    lines = []
    for line in text.splitlines():
        key = line.strip().partition(":")[0]
        lines.append(f"  {key}: {_POLITENESS[key]}" if line.startswith("  ") and key in _POLITENESS else line)
    return "\n".join(lines) + "\n"


def _make_harvests(transaction: Transaction) -> None:
    everything = tuple(ConfigurationChoice(domain=name) for name in _DOMAINS)
    first = HarvestCreation(
        name=FIRST_HARVEST,
        comments="Runs each hour, and ran when the demo was made.",
        collection="demo",
        schedule="hourly",
        configurations=everything,
    )
    second = HarvestCreation(
        name=SECOND_HARVEST,
        comments="Its first run is in twelve hours.",
        collection="demo",
        schedule=_SCHEDULE,
        first_run=transaction.now + 12 * 3_600 * 1_000_000,
        configurations=(ConfigurationChoice(domain="orchard.test"),),
    )
    snapshot = HarvestCreation(
        name=SNAPSHOT,
        kind=HarvestKind.SNAPSHOT,
        comments="Activate it, and each domain is harvested once, up to 10 MB.",
        collection="demo-snapshot",
        max_bytes=10_000_000,
    )
    for each in (first, second, snapshot):
        create_harvest(transaction, each)
    for name in (FIRST_HARVEST, SECOND_HARVEST):
        activate_harvest(transaction, name, StateChange())


def _has_browser(settings: Settings) -> bool:
    try:
        find_chromium(settings.browsers.executable)
    except BrowserMissing:
        return False
    return True
