"""A configuration is added to a job when it passes seven stages; each stage is a function.

Six stages return None, or why the configuration can't be added. The seventh, `is_small_difference`, excuses what the
sixth refuses. The first configuration of a job is not checked: one that is too large has a job of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Final

from admin.harvests.generation.expectations import BudgetLimits, tighter
from admin.models.base import NO_LIMIT
from archive.fast_frozen import fast_frozen
from archive.settings.generation import GenerationSettings


@fast_frozen(frozen=True, slots=True)
class ConfigurationCandidate:
    """A candidate is a configuration that waits to be put into a job."""

    configuration_id: int
    domain_id: int
    domain_name: str
    configuration_name: str
    template: str
    """The template's name."""
    attributes: str
    """The values that the configuration sets otherwise than the template, as JSON with sorted keys; empty for none."""
    limits: BudgetLimits
    """Of the configuration itself."""
    expected: int
    why_expected: str


@fast_frozen(frozen=True, slots=True)
class OpenJob:
    """The job is being filled. Each configuration that is added makes a new one; all share the set of domains."""

    domains: Set[str]
    count: int
    template: str
    attributes: str
    limit: int
    """The limit by which the harvest is split: bytes per domain, or objects."""
    is_limit_of_configuration: bool
    """The limit is that of the first configuration, as it is tighter than the harvest's."""
    total: int
    smallest: int
    largest: int


_ENDLESS: Final = 1 << 64
"""No limit, among limits that are compared."""

type Stage = Callable[[OpenJob, ConfigurationCandidate, GenerationSettings], str | None]


def opened(
    domains: Set[str], first: ConfigurationCandidate, harvest: BudgetLimits, settings: GenerationSettings
) -> OpenJob:
    """Return a job that has its first configuration alone; `domains` has its domain's name."""
    own, of_harvest = split_limit(first.limits, settings), split_limit(harvest, settings)
    limit = tighter(of_harvest, own)
    return OpenJob(
        domains,
        1,
        first.template,
        first.attributes,
        limit,
        limit != of_harvest,
        first.expected,
        first.expected,
        first.expected,
    )


def added(job: OpenJob, one: ConfigurationCandidate) -> OpenJob:
    """Return the job with one more configuration."""
    return OpenJob(
        job.domains,
        job.count + 1,
        job.template,
        job.attributes,
        job.limit,
        job.is_limit_of_configuration,
        job.total + one.expected,
        min(job.smallest, one.expected),
        max(job.largest, one.expected),
    )


def refusal(job: OpenJob, one: ConfigurationCandidate, settings: GenerationSettings) -> str | None:
    """Return why the configuration can't be added to the job: the first stage that objects. None when it fits."""
    for stage in STAGES:
        if (reason := stage(job, one, settings)) is not None:
            return reason
    return None


def same_domain(job: OpenJob, one: ConfigurationCandidate, _: GenerationSettings) -> str | None:
    """Return an objection when another configuration of the domain is in the job."""
    return "the job has a configuration of this domain" if one.domain_name in job.domains else None


def too_many_configurations(job: OpenJob, _: ConfigurationCandidate, settings: GenerationSettings) -> str | None:
    """Return an objection when the job has as many configurations as it may have."""
    return f"the job has {job.count} configurations" if job.count >= settings.job_configurations else None


def other_template(job: OpenJob, one: ConfigurationCandidate, _: GenerationSettings) -> str | None:
    """Return an objection when the configuration crawls by other values than those in the job."""
    if one.template != job.template:
        return f"the template is not {job.template}"
    return "the attributes differ" if one.attributes != job.attributes else None


def other_limit(job: OpenJob, one: ConfigurationCandidate, settings: GenerationSettings) -> str | None:
    """Return an objection to a limit below the harvest's, or to any other limit where a configuration set the job's."""
    own = split_limit(one.limits, settings)
    if job.is_limit_of_configuration:
        return f"the limit {own} is not the job's, {job.limit}" if own != job.limit else None
    if tighter(own, job.limit) == own != job.limit:
        return f"the limit {own} is below the harvest's, {job.limit}"
    return None


def too_many_objects(job: OpenJob, one: ConfigurationCandidate, settings: GenerationSettings) -> str | None:
    """Return an objection when the job would be expected to get more objects than it may."""
    total = job.total + one.expected
    if job.total > 0 and total > settings.job_objects:
        return f"the job would have {total} objects, more than {settings.job_objects}"
    return None


def too_different(job: OpenJob, one: ConfigurationCandidate, settings: GenerationSettings) -> str | None:
    """Return an objection when the largest expectation is too many times the smallest; small differences are fine."""
    if job.smallest <= one.expected <= job.largest:
        return None
    smallest, largest = min(job.smallest, one.expected), max(job.largest, one.expected)
    if largest <= settings.relative_difference * max(smallest, 1):
        return None
    if is_small_difference(smallest, largest, settings):
        return None
    return f"expectations would range from {smallest} to {largest}"


def is_small_difference(smallest: int, largest: int, settings: GenerationSettings) -> bool:
    """Return whether the expectations are so near that their relation does not count: the exception of stage 7."""
    return largest - smallest <= settings.absolute_difference


def split_limit(limits: BudgetLimits, settings: GenerationSettings) -> int:
    """Return the limit by which a harvest is split."""
    return limits.objects if settings.split_by_object_limit else limits.bytes


def order(one: ConfigurationCandidate, settings: GenerationSettings) -> tuple[str, str, int, int, str, str]:
    """Return the key by which configurations are sorted: those that belong in one job stand beside each other.

    Template, attributes, largest limit first, most expected objects first; names make the order a total one.
    """
    limit = split_limit(one.limits, settings)
    return (
        one.template,
        one.attributes,
        -_ENDLESS if limit == NO_LIMIT else -limit,
        -one.expected,
        one.domain_name,
        one.configuration_name,
    )


STAGES: Final[tuple[Stage, ...]] = (
    same_domain,
    too_many_configurations,
    other_template,
    other_limit,
    too_many_objects,
    too_different,
)
"""The stages in their order; `too_different` asks the seventh."""
