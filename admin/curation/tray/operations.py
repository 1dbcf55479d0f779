"""People and programs can use the in-tray in these ways."""

from __future__ import annotations

from typing import Final

from admin.curation.tray import tray
from admin.models.operation import Operation
from admin.models.transaction import Right

_TAGS: Final = ("curation",)

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "tray.list",
        "GET",
        "/tray",
        Right.READ,
        tray.list_tray,
        "List the work that waits for a person.",
        output=tray.TrayEntryView,
        is_list=True,
        tags=_TAGS,
    ),
    Operation(
        "tray.count",
        "GET",
        "/tray/count",
        Right.READ,
        tray.count_tray,
        "Count the work that waits for a person.",
        output=tray.TrayCount,
        tags=_TAGS,
    ),
    Operation(
        "tray.dismiss",
        "POST",
        "/tray/dismissals",
        Right.READ,
        tray.dismiss_entry,
        "Hide an entry of the in-tray, for some days or for ever.",
        input=tray.TrayDismissal,
        status=204,
        tags=_TAGS,
    ),
    Operation(
        "tray.assign",
        "POST",
        "/tray/assignments",
        Right.CURATE,
        tray.assign_entry,
        "Give an entry of the in-tray to a person, or to a role.",
        input=tray.TrayAssignmentInput,
        output=tray.TrayEntryView,
        tags=_TAGS,
    ),
)
