"""The section `[generation]` says how the scheduler makes jobs of a harvest's configurations.

The defaults are those of NetarchiveSuite, whose name for a setting stands in parentheses.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from archive.settings.values.base import Section

type Reading = Literal["seed", "netarchivesuite"]
"""NetarchiveSuite's design document and its program of today differ; one of both readings is followed."""


class GenerationSettings(Section):
    """These settings control the generation of jobs."""

    period_seconds: float = Field(
        60, ge=0.1, le=3600, description="time between two looks for harvests that are ready (jobgenerationperiod)"
    )
    threads: int = Field(
        4, ge=1, le=64, description="selective harvests that are generated at a time; snapshots have a thread apart"
    )
    postpone_unregistered_channel: bool = Field(
        True,
        description="a harvest waits while no harvester has ever registered for its channel; false makes its jobs"
        " (postponeUnregisteredChannel)",
    )
    slow_seconds: float = Field(300, gt=0, description="a run that takes longer to generate is told of in the log")
    lease_seconds: float = Field(
        30, ge=1, le=600, description="another scheduler takes over after the working one was silent for this time"
    )
    job_silent_seconds: float = Field(
        86_400, gt=0, description="a job fails when its harvester said nothing for this time (jobtimeouttime)"
    )
    chunk_configurations: int = Field(
        10_000,
        ge=1,
        le=100_000,
        description="configurations that are sorted and split together (configChunkSize, domainConfigSubsetSize)",
    )
    job_configurations: int = Field(
        10_000,
        ge=1,
        le=100_000,
        description="most configurations of a job (configChunkSize, fixedDomainCountSnapshot)",
    )
    job_objects: int = Field(8_000_000, ge=1, description="most expected objects of a job (maxTotalSize)")
    relative_difference: int = Field(
        100,
        ge=1,
        description="factor between the largest and the smallest expectation in a job (maxRelativeSizeDifference)",
    )
    absolute_difference: int = Field(
        2_000,
        ge=0,
        description="expectations that differ by no more objects than this may share a job (minAbsoluteSizeDifference)",
    )
    error_factor_previous: int = Field(
        10,
        ge=1,
        description="largest factor between expectation and result of a domain that was complete before"
        " (errorFactorPrevResult)",
    )
    error_factor_guess: int = Field(
        2, ge=1, description="the same for a domain that was never complete (errorFactorBestGuess)"
    )
    average_object_bytes: int = Field(
        38_000, ge=1, description="bytes of an object when history does not tell (expectedAverageBytesPerObject)"
    )
    bytes_per_object: Reading = Field(
        "seed",
        description="seed: an average of 50 or more objects counts, average_object_bytes at least; netarchivesuite: any"
        " average counts, except a smaller one of fewer than 50 objects",
    )
    domain_objects: int = Field(
        5_000, ge=1, description="objects expected of a domain without limits and history (maxDomainSize)"
    )
    completed_domains: Reading = Field(
        "seed",
        description="domains that a continued snapshot leaves out; seed: those that were complete; netarchivesuite:"
        " also unfinished ones, and those that met a limit of their configuration that was not raised since",
    )
    exclude_zero_budget: bool = Field(
        False, description="leave out configurations whose limit is 0 (excludeDomainsWithZeroBudget)"
    )
    split_by_object_limit: bool = Field(
        False, description="jobs hold configurations of one object limit instead of one byte limit (splitByObjectLimit)"
    )

    def warnings(self) -> tuple[str, ...]:
        """Return what is allowed and probably not meant."""
        if self.error_factor_guess < self.error_factor_previous:
            return ()
        return (
            f"setting generation.error_factor_guess = {self.error_factor_guess} is not smaller than"
            f" generation.error_factor_previous = {self.error_factor_previous}, although less is known of domains that"
            " were never complete; lower the first or raise the second",
        )
