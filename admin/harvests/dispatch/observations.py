"""A harvester shows the end of a running job's crawl.log and small pictures of the pages that its ghosts visited.

Both travel with the harvester's reports, since a harvester may run on another machine than the admin. The newest report
takes the place of the one before, and a job that is done leaves nothing: its metadata file and its captures have all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sqlalchemy import delete, func, select

from admin.harvests.dispatch.line_search import LineSearch
from admin.models.errors import NotFound
from admin.models.job_tables import HarvestJob, JobLog, JobPicture
from admin.models.operation import OutputModel
from admin.models.transaction import Right, Transaction
from archive.dates import Micros

MOST_TAIL_BYTES: Final = 65_536
MOST_PICTURES: Final = 12
MOST_PICTURE_BYTES: Final = 200_000
_SEARCH_SECONDS: Final = 1.0
_SHOWN_LINES: Final = 300
_LONGEST_URL: Final = 2_000
_MAGIC: Final = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}


@dataclass(frozen=True, slots=True)
class LogTail:
    """A log tail is the end of a log, and the size of the whole log in bytes."""

    size: int
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture shows a page in small, as PNG or JPEG."""

    url: str
    at: Micros
    image: bytes


@dataclass(frozen=True, slots=True)
class Observations:
    """Observations are shown with one report: the end of the log when it has grown, and new pictures."""

    log: LogTail | None = None
    pictures: Sequence[Picture] = ()


class JobLogView(OutputModel):
    """The output has the end of a job's crawl.log, or those of its lines in which a pattern is found."""

    at: Micros | None
    """When the harvester reported the log; None when there is no report of it."""
    size: int
    """Bytes of the whole log."""
    searched: int
    """Lines of the part that was reported."""
    found: int
    """Lines in which the pattern is found; all without a pattern."""
    lines: list[str]
    """The last of these lines, at most 300."""
    is_whole: bool
    """The part is the whole log."""


class PictureView(OutputModel):
    """The output describes a picture in a list; the bytes are fetched one by one."""

    id: int
    url: str
    at: Micros
    size: int


def store_observations(transaction: Transaction, job_id: int, seen: Observations) -> None:
    """Keep what a harvester shows of its job, within bounds. What is no picture is left out."""
    session = transaction.session
    if seen.log is not None:
        tail = seen.log.text.replace("\0", "\ufffd")[-MOST_TAIL_BYTES:]
        session.merge(JobLog(job_id=job_id, at=transaction.now, size=seen.log.size, tail=tail))
    good = [each for each in seen.pictures[-MOST_PICTURES:] if _is_usable(each.image)]
    for each in good:
        url = each.url.replace("\0", "\ufffd")[:_LONGEST_URL]
        session.add(JobPicture(job_id=job_id, at=each.at, url=url, image=each.image))
    if good:
        session.flush()
        kept = select(JobPicture.id).where(JobPicture.job_id == job_id).order_by(JobPicture.id.desc())
        oldest = session.scalars(kept.limit(MOST_PICTURES)).all()[-1]
        session.execute(delete(JobPicture).where(JobPicture.job_id == job_id, JobPicture.id < oldest))


def forget_observations(transaction: Transaction, job_id: int) -> None:
    """Remove what was shown of a job that nobody needs to look into any more."""
    transaction.session.execute(delete(JobLog).where(JobLog.job_id == job_id))
    transaction.session.execute(delete(JobPicture).where(JobPicture.job_id == job_id))


def show_log(transaction: Transaction, job_id: int, *, pattern: str = "") -> JobLogView:
    """Return the end of the job's crawl.log: the lines in which `pattern`, a regular expression, is found.

    Raises NotFound, and InvalidInput for a pattern that can't be used or takes too long.
    """
    transaction.require(Right.READ)
    _check_job(transaction, job_id)
    row = transaction.session.get(JobLog, job_id)
    search = LineSearch(pattern, _SEARCH_SECONDS)
    if row is None:
        return JobLogView(at=None, size=0, searched=0, found=0, lines=[], is_whole=True)
    lines = row.tail.splitlines()
    found = [line for line in lines if search.finds(line)]
    return JobLogView(
        at=row.at,
        size=row.size,
        searched=len(lines),
        found=len(found),
        lines=found[-_SHOWN_LINES:],
        is_whole=len(row.tail.encode("utf-8", "replace")) >= row.size,
    )


def list_pictures(transaction: Transaction, job_id: int) -> list[PictureView]:
    """Return the last pictures of the job's ghosts, newest first. Raises NotFound."""
    transaction.require(Right.READ)
    _check_job(transaction, job_id)
    rows = transaction.session.execute(
        select(JobPicture.id, JobPicture.url, JobPicture.at, func.length(JobPicture.image))
        .where(JobPicture.job_id == job_id)
        .order_by(JobPicture.id.desc())
        .limit(MOST_PICTURES)
    )
    return [PictureView(id=number, url=url, at=at, size=size) for number, url, at, size in rows]


def picture_bytes(transaction: Transaction, job_id: int, picture_id: int) -> bytes:
    """Return the bytes of a picture, PNG or JPEG. Raises NotFound."""
    transaction.require(Right.READ)
    row = transaction.session.get(JobPicture, picture_id) if 0 <= picture_id < 2**63 else None
    if row is None or row.job_id != job_id or picture_type(row.image) is None:
        raise NotFound(f"picture of job {job_id}", picture_id)
    return row.image


def picture_type(image: bytes) -> str | None:
    """Return the media type that the first bytes of a picture show; None for anything but PNG and JPEG."""
    return next((kind for magic, kind in _MAGIC.items() if image.startswith(magic)), None)


def _check_job(transaction: Transaction, job_id: int) -> None:
    found = select(HarvestJob.id).where(HarvestJob.id == job_id)
    if not 0 <= job_id < 2**63 or transaction.session.scalar(found) is None:
        raise NotFound("job", job_id)


def _is_usable(image: bytes) -> bool:
    return len(image) <= MOST_PICTURE_BYTES and picture_type(image) is not None
