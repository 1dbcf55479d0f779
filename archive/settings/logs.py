"""The section `[logs]` controls the log files in the home, and the search of crawl logs for anomalies."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from archive.settings.values.base import Section

type LogFormat = Literal["text", "json"]


class LogSettings(Section):
    """These settings control the log files in the home, and the search of crawl logs for anomalies."""

    format: LogFormat = Field("text", description="Format of log files: text, or json with one object on each line.")
    alert_seconds: float = Field(
        600,
        ge=0,
        description="Time between two looks of the scheduler for anomalies in the crawl.log of running jobs. 0 looks"
        " never. Needs the extra analysis.",
    )
