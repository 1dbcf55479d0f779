"""People and programs can change many domains in these ways."""

from __future__ import annotations

from typing import Final

from admin.curation.bulk import change
from admin.models.operation import Operation
from admin.models.transaction import Right

_TAGS: Final = ("domains",)

OPERATIONS: Final[tuple[Operation, ...]] = (
    Operation(
        "bulk.preview",
        "POST",
        "/bulk-previews",
        Right.READ,
        change.preview_change,
        "Preview a change of many domains, without changing anything.",
        input=change.BulkChange,
        output=change.BulkReport,
        tags=_TAGS,
    ),
    Operation(
        "bulk.change",
        "POST",
        "/bulk-changes",
        Right.CURATE,
        change.change_domains,
        "Change many domains, each part in a transaction of its own.",
        input=change.BulkChange,
        output=change.BulkReport,
        in_parts=change.change_in_parts,
        tags=_TAGS,
    ),
)
