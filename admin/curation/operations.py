"""This list has all operations of curation."""

from __future__ import annotations

from typing import Final

from admin.curation.bulk.operations import OPERATIONS as BULK
from admin.curation.descriptions.operations import OPERATIONS as DESCRIPTIONS
from admin.curation.permissions.operations import OPERATIONS as PERMISSIONS
from admin.curation.planning.operations import OPERATIONS as PLANNING
from admin.curation.tray.operations import OPERATIONS as TRAY
from admin.models.operation import Operation

OPERATIONS: Final[tuple[Operation, ...]] = (*DESCRIPTIONS, *PERMISSIONS, *TRAY, *BULK, *PLANNING)
