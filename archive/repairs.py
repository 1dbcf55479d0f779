"""A repair captures again what an archived page lacks. Its captures stand in for those of the page's visit.

A record of a repair has the job `repair-<number>` in `WARC-Job-ID`, and the `WARC-Page-ID` of the visit that it mends.
A page that was captured without a visit has no such id. The captures that mend it have an id that follows from its URL.
"""

from __future__ import annotations

import re
import uuid
from typing import Final

from archive import url as urls

_JOB: Final = re.compile(r"repair-[0-9]{1,13}")
"""The names of the jobs of repairs. The captures of a crawl have the name of its run, which ends with 14 digits."""


def repair_job(number: int) -> str:
    """Return the name of the job of a repair."""
    return f"repair-{number}"


def is_repair(job: str | None) -> bool:
    """Return whether a job of this name is a repair."""
    return job is not None and _JOB.fullmatch(job) is not None


def id_without_visit(page_url: str) -> str:
    """Return the page id of captures that mend the page of this URL, which has none. No visit has such an id.

    The URL of the page and that of its document may differ in the scheme, by a redirect, and in the fragment.
    """
    return str(uuid.uuid5(uuid.NAMESPACE_URL, urls.key(page_url)))
