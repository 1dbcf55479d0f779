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
    collections,
    domain_aliases,
    domain_configurations,
    domain_owners,
    domain_passwords,
    domain_seeds,
    domain_traps,
    domain_uploads,
    domains,
    extended_fields,
    fleet,
    harvest_traps,
    harvests,
    help,
    jobs,
    login,
    openid,
    overview,
    profile,
    profile_notifications,
    profile_tokens,
    schedules,
    settings,
    templates,
    trap_lists,
    users,
)

for _part in (
    domain_aliases,
    domain_configurations,
    domain_owners,
    domain_passwords,
    domain_seeds,
    domain_traps,
    domain_uploads,
    extended_fields,
    trap_lists,
):
    domains.BLUEPRINT.register_blueprint(_part.BLUEPRINT)
profile.BLUEPRINT.register_blueprint(profile_tokens.BLUEPRINT)
profile.BLUEPRINT.register_blueprint(profile_notifications.BLUEPRINT)
harvests.BLUEPRINT.register_blueprint(harvest_traps.BLUEPRINT)

ALL_PAGES: Final[tuple[Blueprint, ...]] = (
    login.BLUEPRINT,
    openid.BLUEPRINT,
    profile.BLUEPRINT,
    help.BLUEPRINT,
    overview.BLUEPRINT,
    domains.BLUEPRINT,
    harvests.BLUEPRINT,
    schedules.BLUEPRINT,
    templates.BLUEPRINT,
    jobs.BLUEPRINT,
    collections.BLUEPRINT,
    fleet.BLUEPRINT,
    users.BLUEPRINT,
    audit.BLUEPRINT,
    settings.BLUEPRINT,
)
