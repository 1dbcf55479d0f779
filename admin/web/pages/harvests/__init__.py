"""These pages show and change harvests, their runs and their crawler traps.

`harvest` has the blueprint, to which the other modules add their pages. They may import `admin.web` and use cases.
"""

from __future__ import annotations

from typing import Final

from flask import Blueprint

import admin.web.pages.harvests.runs  # noqa: F401 the module adds its pages to the blueprint of `harvest`
from admin.web.pages.harvests import harvest, traps

BLUEPRINT: Final[Blueprint] = harvest.BLUEPRINT
BLUEPRINT.register_blueprint(traps.BLUEPRINT)
