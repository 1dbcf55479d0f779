"""The section `[logs]` controls the log files in the home and of jobs, and the search of crawl logs for anomalies."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from archive.settings.values.base import Section

type LogFormat = Literal["text", "json"]


class LogSettings(Section):
    """These settings control the log files in the home and of jobs, and the search of crawl logs for anomalies."""

    format: LogFormat = Field("text", description="Format of log files: text, or json with one object on each line.")
    alert_seconds: float = Field(
        600,
        ge=0,
        description="Time between two looks of the scheduler for anomalies in the crawl.log of running jobs. 0 looks"
        " never. Needs the extra analysis.",
    )
    rotate_bytes: int = Field(
        0,
        ge=0,
        description="Bytes of a crawl.log after which it is renamed to crawl.log.0001, crawl.log.0002 and so on. 0 is"
        " never.",
    )
    process_bytes: int = Field(
        20_000_000,
        ge=10_000,
        description="Bytes of the log of a process after which the log is renamed to NAME.log.0001 and so on.",
    )
    process_files: int = Field(
        5,
        ge=1,
        le=9_000,
        description="Most renamed files of the log of a process. The oldest one is removed for a new one.",
    )
    links: Literal["on", "off"] = Field(
        "off", description="Whether the workers write a line of links.log for each link that they reject."
    )
    links_bytes: int = Field(
        100_000_000,
        ge=10_000,
        description="Bytes of a links.log after which it is renamed to links.log.0001 and so on.",
    )
    links_files: int = Field(
        20, ge=1, le=9_000, description="Most renamed files of a links.log. The oldest one is removed for a new one."
    )
