"""This package has one module or folder for each part of the site, with a `BLUEPRINT`; `ALL_PAGES` lists them.

They may import `admin.web.page`, `admin.web.forms` and use cases.
"""

from __future__ import annotations

from typing import Final

from flask import Blueprint

from admin.web.pages import (
    audit,
    collections,
    domains,
    fleet,
    harvests,
    help,
    jobs,
    overview,
    people,
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
    collections.BLUEPRINT,
    fleet.BLUEPRINT,
    audit.BLUEPRINT,
    settings.BLUEPRINT,
)
