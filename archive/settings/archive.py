"""The section `[archive]` controls how WARC files are written."""

from __future__ import annotations

import re
from typing import Final, Literal

from pydantic import Field, field_validator

from archive.digest import Algorithm
from archive.names.file_name import DEFAULT_TEMPLATE, checked_folder, checked_template
from archive.settings.values.base import Section

_FIELD_NAME: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
type Readers = Literal["owner", "group"]
type Compression = Literal["gzip", "zstd"]


class ArchiveSettings(Section):
    """These settings control how WARC files are written."""

    readable_by: Readers = Field(
        "owner",
        description="Who can read the files of the home: its owner alone, or the owner's group as well, which then can"
        " read collections and nothing else (for nginx, rsync or a backup).",
    )
    warc_max_bytes: int = Field(
        1_000_000_000, ge=1_000, description="Size in bytes at which a WARC file is closed and a new one is opened."
    )
    warc_idle_seconds: float = Field(
        600, gt=0, description="A WARC file to which no record was written for this time is closed."
    )
    warc_name: str = Field(
        DEFAULT_TEMPLATE,
        description="Template of WARC file names. It needs {random} and a time, {timestamp17} or {timestamp14}, so that"
        " names are unique in the whole fleet.",
    )
    warc_folder: str = Field(
        "",
        description="Template of subfolders for WARC files, such as {prefix}/{year}/{month}. It may also use {day},"
        " {hour}, {hostname} and {process}. By default there are no subfolders.",
    )
    compression: Compression = Field(
        "gzip",
        description="Compression of WARC files: gzip, which every tool reads, or zstd (.warc.zst), which makes smaller"
        " files that fewer tools read.",
    )
    zstd_level: int = Field(3, ge=1, le=19, description="Level of zstd, from 1 (fastest) to 19 (smallest files).")
    zstd_dictionary: str = Field(
        "",
        description="File with a zstd dictionary to compress with; `ghostfleet dictionary` makes one. By default none"
        " is used.",
    )
    gzip_level: int = Field(
        1, ge=0, le=3, description="Level of gzip (library isal), from 0 (fastest) to 3 (smallest files)."
    )
    digest: Algorithm = Field(
        "sha1",
        description="Algorithm of the digests in records: sha1, which every tool knows, sha256, or blake3, which few"
        " tools know. A payload is a duplicate only of a record with the same algorithm.",
    )
    fsync: bool = Field(
        True,
        description="Write every batch of records to the disk before clients get the end of their responses. With"
        " false, a power cut may lose the records of the last seconds.",
    )
    min_free_bytes: int = Field(
        200_000_000, ge=0, description="With less free disk space than this, in bytes, new requests get 503."
    )
    min_free_inodes: int = Field(
        1_000,
        ge=0,
        description="With fewer free inodes than this on the disk, new requests get 503. 0 switches the check off.",
    )
    operator: str = Field(
        "", description="Person or institution that runs this archive, for the warcinfo records. By default none."
    )
    warcinfo: dict[str, str] = Field(
        default_factory=dict,
        description="Further fields of the warcinfo record of each WARC file, name to value. By default none.",
    )
    user_agent: str = Field(
        "Mozilla/5.0 (compatible; ghostfleet/0.1)",
        description="User-Agent of plain crawlers. It is also noted in warcinfo records.",
    )

    @field_validator("warcinfo")
    @classmethod
    def _fields_keep_to_their_lines(cls, fields: dict[str, str]) -> dict[str, str]:
        for name, value in fields.items():
            if not re.fullmatch(_FIELD_NAME, name):
                raise ValueError(f"{name[:100]!r} is no name of a field; write letters, digits, '.', '-' and '_'")
            if not value.isprintable():
                raise ValueError(f"the value of {name} has control characters; write it on one line")
        return fields

    @field_validator("warc_name")
    @classmethod
    def _names_are_unique(cls, template: str) -> str:
        return checked_template(template)

    @field_validator("warc_folder")
    @classmethod
    def _folders_stay_inside(cls, template: str) -> str:
        return checked_folder(template)
