"""This list has all operations of harvest management and of people.

The API serves them, the commands are made from them, and the matrix of routes and roles tests them.
"""

from __future__ import annotations

from typing import Final

from admin.capture_sessions.operations import OPERATIONS as CAPTURE_SESSIONS
from admin.collections.access.operations import OPERATIONS as ACCESS
from admin.collections.browsing.operations import OPERATIONS as COLLECTIONS
from admin.collections.tasks.operations import OPERATIONS as TASKS
from admin.curation.operations import OPERATIONS as CURATION
from admin.harvests.definitions.operations import OPERATIONS as DEFINITIONS
from admin.harvests.dispatch.operations import OPERATIONS as DISPATCH
from admin.harvests.domains.operations import OPERATIONS as DOMAINS
from admin.harvests.generation.operations import OPERATIONS as GENERATION
from admin.harvests.schedules.operations import OPERATIONS as SCHEDULES
from admin.harvests.statistics.operations import OPERATIONS as STATISTICS
from admin.harvests.templates.operations import OPERATIONS as TEMPLATES
from admin.log_analysis.operations import OPERATIONS as LOGS
from admin.models.operation import Operation
from admin.notifications.operations import OPERATIONS as NOTIFICATIONS
from admin.people.operations import OPERATIONS as PEOPLE
from admin.qa.operations import OPERATIONS as QA

OPERATIONS: Final[tuple[Operation, ...]] = (
    *DOMAINS,
    *TEMPLATES,
    *SCHEDULES,
    *DEFINITIONS,
    *GENERATION,
    *DISPATCH,
    *COLLECTIONS,
    *ACCESS,
    *TASKS,
    *QA,
    *CAPTURE_SESSIONS,
    *STATISTICS,
    *CURATION,
    *LOGS,
    *PEOPLE,
    *NOTIFICATIONS,
)
