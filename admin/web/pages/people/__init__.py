"""These pages show the login, the profile of a person, and the users of the site.

`profile` has the parts `notifications` and `tokens`. The modules may import `admin.web` and use cases.
"""

from __future__ import annotations

from typing import Final

from flask import Blueprint

from admin.web.pages.people import login, notifications, openid, profile, tokens, users

profile.BLUEPRINT.register_blueprint(tokens.BLUEPRINT)
profile.BLUEPRINT.register_blueprint(notifications.BLUEPRINT)
BLUEPRINTS: Final[tuple[Blueprint, ...]] = (
    login.BLUEPRINT,
    openid.BLUEPRINT,
    profile.BLUEPRINT,
    users.BLUEPRINT,
)
