"""These models are the input and output of use cases of harvest definitions."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from admin.harvests.domains.data import TrapInput, TrapView, UploadReport
from admin.models.base import NO_LIMIT
from admin.models.harvest_tables import HarvestKind
from admin.models.moments import InputMoment
from admin.models.operation import InputModel, OutputModel
from archive.dates import Micros


class ConfigurationChoice(InputModel):
    """The input names a configuration of a domain."""

    domain: str
    configuration: str | None = Field(None, description="left out, it is the domain's default configuration")


class HarvestCreation(InputModel):
    """The input has a new harvest definition, which is not active."""

    name: str
    kind: HarvestKind = HarvestKind.SELECTIVE
    comments: str = ""
    audience: str = ""
    collection: str = Field(description="name of the collection that gets the captures")
    channel: str | None = Field(None, description="left out, it is the default channel of this kind of harvest")
    schedule: str | None = Field(None, description="name of a schedule, for selective harvests")
    first_run: InputMoment | None = Field(
        None, description="moment of the first run, such as 2027-01-15T08:00+01:00; left out, it is now"
    )
    max_bytes: int = Field(NO_LIMIT, description="bytes of each domain, for snapshots; -1 is no limit")
    max_objects: int = Field(NO_LIMIT, description="objects of each domain, for snapshots; -1 is no limit")
    max_seconds: int = Field(0, description="time that a job may take; 0 is no limit")
    previous: str | None = Field(None, description="name of the snapshot harvest that this one continues")
    configurations: tuple[ConfigurationChoice, ...] = Field((), description="for selective harvests")
    traps: tuple[TrapInput, ...] = Field((), description="crawler traps of this harvest alone")
    facts: dict[str, str] = Field({}, description="extended metadata for warcinfo, such as operator")
    extended: dict[str, str] = Field({}, description="values of extended fields by their names")


class HarvestChange(InputModel):
    """The input says what changes about a harvest definition; what is left out stays as it is."""

    name: str | None = None
    comments: str | None = None
    audience: str | None = None
    collection: str | None = None
    channel: str | None = None
    schedule: str | None = None
    first_run: InputMoment | None = None
    max_bytes: int | None = None
    max_objects: int | None = None
    max_seconds: int | None = None
    previous: str | None = None
    traps: tuple[TrapInput, ...] | None = None
    facts: dict[str, str] | None = None
    extended: dict[str, str] | None = None
    edition: int | None = None


class HarvestCopy(InputModel):
    """The input names the copy of a harvest definition."""

    name: str


class StateChange(InputModel):
    """The input may have the edition that the person has seen."""

    edition: int | None = None


class ConfigurationsChange(InputModel):
    """The input has configurations that a selective harvest gets or loses."""

    configurations: tuple[ConfigurationChoice, ...]
    edition: int | None = None


class EventSeeds(InputModel):
    """The input has URLs, one on each line; their domains and configurations are added where they are new."""

    text: str
    template: str | None = Field(None, description="of configurations that are new; left out, that of new domains")
    max_bytes: int | None = None
    max_objects: int | None = None
    edition: int | None = None


class EventReport(OutputModel):
    """The output says what came of the URLs of an event harvest."""

    upload: UploadReport
    configurations_added: int
    edition: int


class HarvestItem(OutputModel):
    """The item is one harvest definition in a list."""

    id: int
    name: str
    kind: HarvestKind
    is_active: bool
    why_inactive: str
    schedule: str | None
    next_run: Micros | None
    runs_made: int
    run_now: bool
    edition: int


class HarvestView(HarvestItem):
    """The output has everything that a harvest definition says."""

    comments: str
    audience: str
    collection: str
    channel: str | None
    first_run: Micros | None
    max_bytes: int
    max_objects: int
    max_seconds: int
    previous: str | None
    configurations: int | None
    """How many configurations were chosen; None when they are more than 10,000, or all domains."""
    traps: list[TrapView]
    facts: dict[str, Any]
    extended: dict[str, str]
    created: Micros
    created_by: str


class ChosenConfiguration(OutputModel):
    """The item is a configuration of a selective harvest."""

    id: int
    domain: str
    configuration: str
    template: str
    max_bytes: int
    max_objects: int


class ChosenReport(OutputModel):
    """The output says how many configurations were added or removed."""

    changed: int
    edition: int


class RunView(OutputModel):
    """The output describes one run of a harvest."""

    number: int
    started: Micros
    jobs: int
    configurations: int
    left_out: dict[str, int]
    dates_skipped: int
    is_extra: bool
    statuses: dict[str, int]
    """How many of its jobs are in each state."""
    objects: int = 0
    bytes: int = 0
    new_bytes: int = 0
    errors: int = 0
    """How many of its jobs have an error of the harvest or of the upload."""
    first_started: Micros | None = None
    """When the first of its jobs was started."""
    last_ended: Micros | None = None
    """When the last of its jobs ended; None while a job has not ended."""
