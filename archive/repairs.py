"""A repair captures again what an archived page lacks. Its captures stand in for those of the page's visit.

A record of a repair has the job `repair-<number>` in `WARC-Job-ID`, and the `WARC-Page-ID` of the visit that it mends.
"""

from __future__ import annotations

import re
from typing import Final

_JOB: Final = re.compile(r"repair-[0-9]{1,18}")


def repair_job(number: int) -> str:
    """Return the name of the job of a repair."""
    return f"repair-{number}"


def is_repair(job: str | None) -> bool:
    """Return whether a job of this name is a repair."""
    return job is not None and _JOB.fullmatch(job) is not None
