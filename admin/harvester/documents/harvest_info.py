"""harvestInfo says for whom a job is crawled: in a file beside the job, and in the warcinfo record of each file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from admin.harvests.dispatch.queue import ClaimedJob
from archive.dates import Micros, iso_date
from archive.settings.load import Settings
from archive.version import SOFTWARE

_LONGEST_VALUE: Final = 2_000
_MOST_FIELDS: Final = 100
_NAME_CHARACTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_WELL_KNOWN: Final = frozenset(("harvest", "kind", "run", "comments", "audience", "schedule", "extended"))
_NAME_TEMPLATE: Final = "{prefix}"


def harvest_info(job: ClaimedJob, settings: Settings, job_name: str, begun: Micros) -> dict[str, Any]:
    """Return what harvestInfo.json says of a job; no secret is among it."""
    return {
        "software": SOFTWARE,
        "job_id": job.id,
        "job_name": job_name,
        "harvest_id": job.harvest_id,
        "harvest_name": job.harvest_name,
        "run_number": job.run_number,
        "channel": job.channel,
        "collection": job.collection,
        "template_name": job.template_name,
        "template_version": job.template_version,
        "max_bytes_per_domain": job.max_bytes,
        "max_objects_per_domain": job.max_objects,
        "max_seconds": job.max_seconds,
        "operator": settings.archive.operator,
        "organisation": settings.harvester.organisation,
        "created": iso_date(job.created),
        "begun": iso_date(begun),
        "facts": job.facts,
        "aliases": job.aliases,
        "duplicate_reduction_jobs": list(job.duplicate_reduction_jobs),
        "seeds": len(job.seeds),
        "domains": [
            {
                "domain_name": each.domain_name,
                "configuration_name": each.configuration_name,
                "max_bytes": each.max_bytes,
                "max_objects": each.max_objects,
                "expected_objects": each.expected_objects,
            }
            for each in job.domains
        ],
    }


def warcinfo_fields(job: ClaimedJob, settings: Settings) -> dict[str, str]:
    """Return the further fields of the warcinfo records of a job, under NetarchiveSuite's names."""
    facts = job.facts
    said: dict[str, Any] = {
        "harvestInfo.jobId": job.id,
        "harvestInfo.channel": job.channel,
        "harvestInfo.harvestNum": job.run_number,
        "harvestInfo.origHarvestDefinitionID": job.harvest_id,
        "harvestInfo.origHarvestDefinitionName": job.harvest_name,
        "harvestInfo.origHarvestDefinitionComments": facts.get("comments", ""),
        "harvestInfo.scheduleName": facts.get("schedule", ""),
        "harvestInfo.maxBytesPerDomain": job.max_bytes,
        "harvestInfo.maxObjectsPerDomain": job.max_objects,
        "harvestInfo.orderXMLName": job.template_name,
        "harvestInfo.orderXMLVersion": job.template_version,
        "harvestInfo.harvestFilenamePrefix": f"{job.id}-{job.harvest_id}",
        "harvestInfo.jobSubmitDate": iso_date(job.created),
        "harvestInfo.performer": settings.archive.operator,
        "harvestInfo.audience": facts.get("audience", ""),
    }
    further = {name: value for name, value in facts.items() if name not in _WELL_KNOWN}
    extended = facts.get("extended")
    further |= extended if isinstance(extended, Mapping) else {}
    said |= {f"harvestInfo.{_field_name(name)}": value for name, value in further.items() if _is_plain(value)}
    lines = {name: one_line(str(value)) for name, value in list(said.items())[:_MOST_FIELDS]}
    return {**settings.archive.warcinfo, **{name: text for name, text in lines.items() if text}}


def crawl_settings(job: ClaimedJob, settings: Settings) -> Settings:
    """Return the settings with which a job is crawled: WARC files are named after the job and tell of the harvest."""
    prefix, template = f"{job.id}-{job.harvest_id}", settings.archive.warc_name
    rest = template.removeprefix(_NAME_TEMPLATE) if template.startswith(_NAME_TEMPLATE) else f"-{template}"
    archive = {"warcinfo": warcinfo_fields(job, settings), "warc_name": prefix + rest}
    return settings.model_copy(
        update={
            "archive": settings.archive.model_copy(update=archive),
            "proxy": settings.proxy.model_copy(update={"collection": job.collection}),
        }
    )


def one_line(text: str) -> str:
    """Return the text on one line of printable characters, cut at 2,000."""
    plain = "".join(character if character.isprintable() else " " for character in text[: 2 * _LONGEST_VALUE])
    return " ".join(plain.split())[:_LONGEST_VALUE]


def _is_plain(value: Any) -> bool:
    return isinstance(value, str | int | float | bool)


def _field_name(name: str) -> str:
    """Return a person's name for a field as warcinfo can have it."""
    text = "".join(character if character in _NAME_CHARACTERS else "_" for character in name[:60])
    return text or "_"
