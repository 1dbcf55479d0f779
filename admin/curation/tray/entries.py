"""An entry of the in-tray is one piece of work that waits for a person."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from admin.models.people_tables import Role
from archive.dates import Micros

MOST_OF_SOURCE: Final = 200
"""Entries that one source yields at most."""


class TrayKind(StrEnum):
    """An entry of the in-tray is of one of these kinds."""

    TO_REVIEW = "to-review"
    TO_REPAIR = "to-repair"
    TO_ASK = "to-ask-permission"
    LICENCE_ENDS = "licence-ends"
    SITE_DIED = "site-died"
    SITE_CHANGED = "site-changed"
    JOB_FAILED = "job-failed"


ROLES: Final = {
    **dict.fromkeys(TrayKind, (Role.CURATOR, Role.ADMINISTRATOR)),
    TrayKind.JOB_FAILED: (Role.OPERATOR, Role.CURATOR, Role.ADMINISTRATOR),
}
"""The roles that see entries of a kind which nobody has assigned."""


@dataclass(frozen=True, slots=True)
class TrayEntry:
    """An entry is one piece of work that waits for a person."""

    key: str
    kind: TrayKind
    title: str
    why: str
    link: str
    """The path of the page on which the work is done."""
    since: Micros
    person: str = ""
    """The user whose work it is; empty for everybody with a role of the kind."""
