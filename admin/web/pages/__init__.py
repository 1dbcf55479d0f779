"""This package has one module or folder for each part of the site, with a `BLUEPRINT`; `ALL_PAGES` lists them.

They may import `admin.web.page`, `admin.web.forms` and use cases.
"""

from __future__ import annotations

from typing import Final

from flask import Blueprint

from admin.web.pages import (
    audit,
    capture,
    collections,
    curation,
    domains,
    fleet,
    harvests,
    help,
    jobs,
    logs,
    overview,
    people,
    qa,
    schedules,
    settings,
    templates,
)

ALL_PAGES: Final[tuple[Blueprint, ...]] = (
    *people.BLUEPRINTS,
    help.BLUEPRINT,
    overview.BLUEPRINT,
    domains.BLUEPRINT,
    harvests.BLUEPRINT,
    schedules.BLUEPRINT,
    templates.BLUEPRINT,
    jobs.BLUEPRINT,
    logs.BLUEPRINT,
    collections.BLUEPRINT,
    *curation.BLUEPRINTS,
    capture.BLUEPRINT,
    qa.BLUEPRINT,
    fleet.BLUEPRINT,
    audit.BLUEPRINT,
    settings.BLUEPRINT,
)
