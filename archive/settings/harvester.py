"""The section `[harvester]` controls how harvesters run the jobs of the admin."""

from __future__ import annotations

from pydantic import Field

from archive.settings.values.base import Section


class HarvesterSettings(Section):
    """These settings control the processes that run jobs: `ghostfleet harvester`."""

    organisation: str = Field(
        "ghostfleet",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9.-]{0,99}$",
        description="Name in the addresses of metadata records, metadata://ORGANISATION/crawl/…. NetarchiveSuite:"
        " organization.",
    )
    send_ready_seconds: float = Field(
        30,
        gt=0,
        le=240,
        description="Time between two messages of a harvester that it is ready for a job. NetarchiveSuite:"
        " sendReadyInterval.",
    )
    pull_seconds: float = Field(2, gt=0, le=60, description="Time between two requests of a harvester for a job.")
    loop_seconds: float = Field(
        20,
        gt=0,
        le=240,
        description="Time between two reports of a harvester on its job; it takes operators' commands at the same"
        " time. NetarchiveSuite: crawlLoopWaitTime.",
    )
    look_seconds: float = Field(
        1, gt=0, le=60, description="Time between two comparisons of crawl.log with the limits of each domain."
    )
    no_response_seconds: float = Field(
        1800,
        gt=0,
        description="A crawl that gets no bytes for this time is stopped. NetarchiveSuite: noResponseTimeout.",
    )
    inactivity_seconds: float = Field(
        1800,
        gt=0,
        description="A crawl with no visit in progress for this time is stopped. NetarchiveSuite: inactivityTimeout.",
    )
    process_seconds: float = Field(
        600,
        gt=0,
        description="Longest time from the request to stop to the end of a crawl. Then its process is killed."
        " NetarchiveSuite: processTimeout.",
    )
    min_space_left: int = Field(
        400_000_000,
        ge=0,
        description="With less free disk space than this, in bytes, a harvester takes no further job. NetarchiveSuite:"
        " minSpaceLeft.",
    )
    disregard_seed_url: bool = Field(
        False,
        description="Count an object for the domain of its own URL instead of the domain of its seed. NetarchiveSuite:"
        " disregardSeedURLInfo.",
    )
    metadata_compressed: bool = Field(
        False,
        description="Compress the metadata file of a job, whose name then ends with .gz. NetarchiveSuite: compression"
        " of metadata.",
    )
    old_jobs: int = Field(
        500,
        ge=0,
        le=100_000,
        description="Folders of reported jobs that are kept in harvester/oldjobs/; of more, the oldest are removed.",
    )
    upload_tries: int = Field(
        3, ge=1, le=100, description="Tries to upload the files of a job before its end is reported."
    )
    upload_retry_seconds: float = Field(10, ge=0, description="Pause between these tries.")
    allow_upload_failures: bool = Field(
        False,
        description="Report a job as done although files were not uploaded. NetarchiveSuite: allowUploadFailures.",
    )
