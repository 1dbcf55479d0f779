"""These pages show collections and their captures, and change who may see them.

`browsing` has the blueprint, to which the other modules add their parts. They may import `admin.web` and use cases.
"""

from __future__ import annotations

from typing import Final

from flask import Blueprint

from admin.web.pages.collections import access, browsing, description, tasks

BLUEPRINT: Final[Blueprint] = browsing.BLUEPRINT
for _part in (access, description, tasks):
    BLUEPRINT.register_blueprint(_part.BLUEPRINT)
