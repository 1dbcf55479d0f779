"""Templates give WARC files their names and subfolders. This module fills them and says why one is refused.

Names must be unique over the whole fleet, since files of several machines meet in one storage and in one index.
`{random}` is eight hexadecimal digits, which are unique within one second only. So a template needs a time as well.
A subfolder is part of the name of the file and of its sidecar, in the index and in the storage. No I/O.
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
"""With the longest values and endings, names have 255 bytes at most, the limit of file systems."""


def checked_template(template: str) -> str:
    """Return the template itself. Raises ValueError with the reason."""
    used = _checked(template, FIELDS)
    if "random" not in used or not _TIMES & set(used):
        raise ValueError("{random} and one of {timestamp17} and {timestamp14} make names unique in the fleet; add them")
    return template


def checked_folder(template: str) -> str:
    """Return the template of subfolders itself, "" for none. Raises ValueError with the reason.

    No part may begin with a dot, so that no value of a field leads out of the folder.
    """
    if not template:
        return template
    folders = template.split("/")
    if len(folders) > _DEPTH_MAX:
        raise ValueError(f"it has {len(folders)} folders in each other; {_DEPTH_MAX} are allowed")
    if "" in folders:
        raise ValueError("write one '/' between folders, and none at the start or the end")
    for folder in folders:
        _checked(folder, FOLDER_FIELDS)
    return template


def warc_name(
    template: str, *, prefix: str, serial: int, hostname: str, process: str, ending: str, folder: str = ""
) -> str:
    """Return a new name for a file that is opened now, with an `ending` such as `.warc.gz`.

    `serial` counts the files of a writer. `folder` is a template too; its folders stand before the name.
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
    """Return the fields that a template uses. Raises ValueError."""
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise ValueError(f"its braces do not match: {error}") from error
    literal = "".join(text for text, _, _, _ in parts)
    used = [name for _, name, _, _ in parts if name is not None]
    if odd := [name for _, name, form, conversion in parts if name is not None and (form or conversion)]:
        raise ValueError(f"{{{odd[0]}}} can't have a format; write it without ':' and '!'")
    if unknown := [name for name in used if name not in fields]:
        raise ValueError(f"{{{unknown[0]}}} is not a field; write one of {', '.join(f'{{{name}}}' for name in fields)}")
    if len(set(used)) < len(used):
        raise ValueError("a field is used twice; use it once")
    if not _LITERAL.fullmatch(literal) or template.startswith((".", "-", "_")):
        raise ValueError(
            "outside of fields, letters, digits, '.', '-' and '_' are allowed, the last three not at the start"
        )
    if len(literal) > _LITERAL_MAX:
        raise ValueError(f"it has {len(literal)} characters outside of fields; {_LITERAL_MAX} are allowed")
    return used
