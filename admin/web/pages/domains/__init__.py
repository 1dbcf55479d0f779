"""These pages show and change domains and what belongs to them: configurations, seeds, aliases, traps, fields.

`domain` has the blueprint, to which the other modules add their parts. They may import `admin.web` and use cases.
"""

from __future__ import annotations

from typing import Final

from flask import Blueprint

import admin.web.pages.domains.statistics  # noqa: F401 the module adds its pages to the blueprint of `domain`
from admin.web.pages.domains import (
    aliases,
    configurations,
    domain,
    extended_fields,
    owners,
    passwords,
    seeds,
    trap_lists,
    traps,
    uploads,
)

BLUEPRINT: Final[Blueprint] = domain.BLUEPRINT
for _part in (aliases, configurations, owners, passwords, seeds, traps, uploads, extended_fields, trap_lists):
    BLUEPRINT.register_blueprint(_part.BLUEPRINT)
