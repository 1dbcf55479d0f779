"""The section `[logs]` controls the log files in the home."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from archive.settings.values.base import Section

type LogFormat = Literal["text", "json"]


class LogSettings(Section):
    """These settings control the log files in the home."""

    format: LogFormat = Field("text", description="Format of log files: text, or json with one object on each line.")
