"""This package has one module for each part of the site. Each module has a `BLUEPRINT`; `ALL_PAGES` lists them.

It may import `admin.web.page`, `admin.web.forms` and use cases.
"""

from __future__ import annotations

from typing import Final

from flask import Blueprint

import admin.web.pages.domain_statistics
import admin.web.pages.harvest_runs  # noqa: F401 both add pages to the blueprint of another module
from admin.web.pages import (
    audit,
    domains,
    fleet,
    harvests,
    jobs,
    login,
    overview,
    schedules,
    settings,
    templates,
    users,
)

ALL_PAGES: Final[tuple[Blueprint, ...]] = (
    login.BLUEPRINT,
    overview.BLUEPRINT,
    domains.BLUEPRINT,
    harvests.BLUEPRINT,
    schedules.BLUEPRINT,
    templates.BLUEPRINT,
    jobs.BLUEPRINT,
    fleet.BLUEPRINT,
    users.BLUEPRINT,
    audit.BLUEPRINT,
    settings.BLUEPRINT,
)
