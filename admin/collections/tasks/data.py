"""These models are the data of tasks, for people and programs."""

from __future__ import annotations

from pydantic import Field

from admin.collections.tasks.task_folder import TaskKind, TaskState
from admin.models.operation import InputModel, OutputModel
from archive.dates import Micros


class PackageOrder(InputModel):
    """The order asks for a WACZ package. Without a condition, the package has all captures of the collection."""

    since: str = Field("", max_length=40)
    """Only captures of this date or later: 2026, 2026-11 or 2026-11-22."""
    until: str = Field("", max_length=40)
    """Only captures up to the end of this year, month or day."""
    job: str = Field("", max_length=200)
    """Only captures of this job, or of this run of a job."""
    url_prefix: str = Field("", max_length=9_000)
    """Only captures whose URL begins with this prefix."""
    title: str = Field("", max_length=500)
    """Title of the package; empty for the collection's name."""
    originals: bool = True
    """Whether the originals of chosen revisits are added."""


class TaskView(OutputModel):
    """The view shows a task, which is a package to download or the import of an uploaded file."""

    id: str
    kind: TaskKind
    collection: str
    state: TaskState
    created: Micros
    created_by: str
    since: str = ""
    until: str = ""
    job: str = ""
    url_prefix: str = ""
    title: str = ""
    file: str = ""
    """The name of an uploaded file."""
    current: str = ""
    """The file that is read at the moment."""
    number: int = 0
    of: int = 0
    """How far the task is: so many files of all, or so many bytes of an import."""
    is_to_cancel: bool = False
    """Somebody asked the task to end, and it has not ended yet."""
    ended: Micros | None = None
    expires: Micros | None = None
    """When the task is removed with its package; None when nobody knows yet, or never."""
    problem: str = ""
    """Why the task failed."""
    bytes: int | None = None
    """The size of the finished package."""
    captures: int | None = None
    pages: int | None = None
    missing: list[str] = Field(default_factory=list)
    """The first twenty problems because of which captures are missing."""
    missing_count: int = 0
