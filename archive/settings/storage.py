"""The section `[storage]` names the storage that finished WARC files are uploaded to."""

from __future__ import annotations

from pydantic import Field

from archive.settings.values.base import Section


class StorageSettings(Section):
    """These settings control the upload of finished WARC files."""

    url: str = Field(
        "",
        description="Folder or fsspec URL (s3://bucket/path) to which finished WARC files are uploaded. By default they"
        " stay in the home only.",
    )
    options: dict[str, str] = Field(
        default_factory=dict,
        description="Options of the library that serves the URL, such as endpoint_url=https://s3.example.org.",
    )
    keep_local_seconds: float = Field(
        -1,
        ge=-1,
        description="Age at which the local copy of an uploaded WARC file is removed. -1 keeps local copies for ever.",
    )
    answer_seconds: float = Field(
        30,
        gt=0,
        description="Longest wait for the first byte of a replayed record that lies in the storage. After it, the"
        " client gets 504.",
    )
    look_seconds: float = Field(10, gt=0, description="Pause between two searches for finished files.")
    drain_seconds: float = Field(
        60,
        ge=0,
        le=100,
        description="Longest time for uploads after the fleet was told to stop. The next start uploads the rest.",
    )
