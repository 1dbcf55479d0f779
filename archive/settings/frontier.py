"""The section `[frontier]` controls the frontier and its politeness."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from archive.names.name_rules import NAME_PATTERN
from archive.settings.values.base import Section


class FrontierSettings(Section):
    """These settings control the frontier and its politeness."""

    delay_factor: float = Field(
        5.0, ge=0, description="Pause after a fetch from a host, as a multiple of the fetch's duration."
    )
    min_delay_seconds: float = Field(3.0, ge=0, description="Shortest pause between two visits of one host.")
    max_delay_seconds: float = Field(
        30.0, ge=0, description="Longest pause that delay_factor may lead to; robots.txt may ask for longer ones."
    )
    max_crawl_delay_seconds: float = Field(
        300.0, ge=0, description="Longest Crawl-Delay of a robots.txt that is obeyed; longer ones are cut to this."
    )
    host_bytes_per_second: int = Field(
        0,
        ge=0,
        description="Bytes that are fetched of one host in a second, on average: after a larger fetch, the pause is "
        "longer, even longer than max_delay_seconds. 0 is no bound.",
    )
    robots: Literal["obey", "ignore"] = Field("obey", description="Whether robots.txt is obeyed or ignored.")
    robots_seconds: float = Field(86_400, gt=0, description="How long a fetched robots.txt is used.")
    lease_seconds: float = Field(
        60, gt=0, description="A URL whose worker has not been heard of for this time is given to another worker."
    )
    per_host: int = Field(1, ge=1, le=64, description="Most visits of one host at a time.")
    queue_memory: int = Field(
        10_000,
        ge=0,
        description="URLs of one host that wait in Redis. The last ones of a longer queue wait in files of the job's "
        "folder, and so do the URLs of a host that is set aside. 0 keeps all in Redis.",
    )
    skip_down: int = Field(
        5,
        ge=2,
        le=1_000,
        description="Each time that so many URLs of a host were taken, the last of them is of a lower priority, so that"
        " no URL waits for ever.",
    )
    session_budget: int = Field(
        1,
        ge=1,
        le=100_000,
        description="Visits of a host in front of the hosts that wait, each when its delay is over. Then the host goes "
        "behind these hosts.",
    )
    host_failures: int = Field(
        8, ge=1, description="Failures in a row after which a host is set aside: the job visits no more of it."
    )
    shard: str = Field(
        "main",
        pattern=NAME_PATTERN,
        description="Name of the group of jobs that share hosts, and with them the pauses, in one slot of Redis.",
    )
    shards: int = Field(
        1,
        ge=1,
        le=64,
        description="Number of slots of Redis over which the hosts of a job are spread, each registered domain in one. "
        "All unfinished jobs need the same number.",
    )
    max_retries: int = Field(3, ge=0, description="Tries after the first one, for failures that may pass.")
    retry_seconds: float = Field(
        30, ge=0, description="Pause before the first retry. It doubles with each further retry."
    )
    max_retry_seconds: float = Field(3600, ge=0, description="Longest pause before a retry.")
    dns_retries: int = Field(2, ge=0, description="Tries after the first one, for a host whose name was not found.")
    dns_retry_seconds: float = Field(
        5, ge=0, description="Pause before the first of these tries. It doubles with each further one."
    )
