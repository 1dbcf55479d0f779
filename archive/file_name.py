"""What WARC files are called and in which subfolder they lie: templates, filled for each file; and why one is refused.

Names must be unique over the whole fleet, since files of several machines meet in one storage and in one index.
`{random}` is eight hexadecimal digits, enough within one second and too few for all time: so a time belongs to it.
A subfolder is part of a file's name in index and storage, and of its sidecar's. Pure.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from datetime import UTC, datetime
from string import Formatter
from typing import Final

DEFAULT_TEMPLATE: Final = "{prefix}-{timestamp17}-{serialno}-{hostname}-{process}-{random}"
FIELDS: Final = ("prefix", "timestamp17", "timestamp14", "serialno", "hostname", "process", "random")
FOLDER_FIELDS: Final = ("prefix", "year", "month", "day", "hour", "hostname", "process")
_DEPTH_MAX: Final = 8
_TIMES: Final = frozenset({"timestamp17", "timestamp14"})
_LITERAL: Final = re.compile(r"[A-Za-z0-9._-]*")
_LITERAL_MAX: Final = 24
"""The longest values, the endings and this make 255 bytes, which is what file systems allow."""


def checked_template(template: str) -> str:
    """The template itself. Raises ValueError, saying what is wrong with it."""
    used = _checked(template, FIELDS)
    if "random" not in used or not _TIMES & set(used):
        raise ValueError("{random} and one of {timestamp17} and {timestamp14} make names unique in the fleet; add them")
    return template


def checked_folder(template: str) -> str:
    """The template of subfolders itself, "" for none. Raises ValueError, saying what is wrong with it.

    No part of it can begin with a dot: whatever the fields are filled with, it leads nowhere else.
    """
    if not template:
        return template
    folders = template.split("/")
    if len(folders) > _DEPTH_MAX:
        raise ValueError(f"it has {len(folders)} folders, one in the other; {_DEPTH_MAX} are allowed")
    if "" in folders:
        raise ValueError("folders are parted by one '/', with none at the start or the end")
    for folder in folders:
        _checked(folder, FOLDER_FIELDS)
    return template


def warc_name(
    template: str, *, prefix: str, serial: int, hostname: str, process: str, ending: str, folder: str = ""
) -> str:
    """A new name for a file that is opened now; `serial` counts a writer's files, `ending` is such as `.warc.gz`.

    `folder` is a template too; filled, and with a `/`, it stands before the name.
    """
    now = datetime.now(UTC)
    where = folder.format(
        prefix=prefix,
        year=f"{now:%Y}",
        month=f"{now:%m}",
        day=f"{now:%d}",
        hour=f"{now:%H}",
        hostname=hostname,
        process=process,
    )
    seconds = f"{now:%Y%m%d%H%M%S}"
    stem = template.format(
        prefix=prefix,
        timestamp17=f"{seconds}{now.microsecond // 1000:03d}",
        timestamp14=seconds,
        serialno=f"{serial:05d}",
        hostname=hostname,
        process=process,
        random=secrets.token_hex(4),
    )
    return f"{where}/{stem}{ending}" if where else stem + ending


def _checked(template: str, fields: Sequence[str]) -> list[str]:
    """The fields that a template uses. Raises ValueError."""
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"its braces don't match: {error}") from error
    literal = "".join(text for text, _, _, _ in parts)
    used = [name for _, name, _, _ in parts if name is not None]
    if odd := [name for _, name, form, conversion in parts if name is not None and (form or conversion)]:
        raise ValueError(f"{{{odd[0]}}} can't be formatted further")
    if unknown := [name for name in used if name not in fields]:
        raise ValueError(f"{{{unknown[0]}}} is none of {', '.join(f'{{{name}}}' for name in fields)}")
    if len(set(used)) < len(used):
        raise ValueError("a field stands in it twice")
    if not _LITERAL.fullmatch(literal) or template.startswith((".", "-", "_")):
        raise ValueError("besides fields it may have letters, digits, '.', '-' and '_', these three not at its start")
    if len(literal) > _LITERAL_MAX:
        raise ValueError(f"besides fields it has {len(literal)} characters; {_LITERAL_MAX} are allowed")
    return used
