"""These pages have the daily work of curators: in-tray, permissions, changes of many domains, calendar and reports.

The modules may import `admin.web` and use cases.
"""

from __future__ import annotations

from typing import Final

from flask import Blueprint

from admin.web.pages.curation import bulk, permissions, planning, tray

BLUEPRINTS: Final[tuple[Blueprint, ...]] = (
    tray.BLUEPRINT,
    permissions.BLUEPRINT,
    bulk.BLUEPRINT,
    planning.CALENDAR,
    planning.REPORTS,
)
