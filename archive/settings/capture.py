"""The section `[capture]` controls capture sessions, in which people capture by hand."""

from __future__ import annotations

from pydantic import Field

from archive.settings.browsers import BehaviorName
from archive.settings.values.base import Listed, Section


class CaptureSettings(Section):
    """These settings control the proxy that people's own browsers use, and the end of capture sessions."""

    host: str = Field(
        "127.0.0.1",
        description="Address of the proxy for people's own browsers. Every request needs the credentials of a session.",
    )
    port: int = Field(8100, ge=0, le=65535, description="Port of that proxy. 0 is a free port.")
    longest_hours: float = Field(
        12, gt=0, le=8_760, description="A capture session ends by itself after this time, if it names no other."
    )
    idle_minutes: float = Field(
        120, gt=0, le=525_600, description="A capture session in which nothing was fetched for so long ends by itself."
    )
    process_seconds: float = Field(
        1, gt=0, le=60, description="How often the capture process looks for sessions that were made or changed."
    )
    most_screens: int = Field(
        6, ge=0, le=1_000, description="Most browsers that people steer in the admin page at a time."
    )
    autopilot_behaviors: Listed[BehaviorName] = Field(
        ("consent", "autofetch", "scroll", "play", "hover", "click"),
        description="Behaviours that the autopilot runs on the page in front of a person, comma separated.",
    )
    autopilot_seconds: float = Field(
        120, gt=0, le=3_600, description="Longest time of the autopilot on one page. Half of it may go to scrolling."
    )
    secret_fields: Listed[str] = Field(
        (
            *("password", "passwd", "passwort", "kennwort", "passphrase", "passcode", "pass", "pwd", "pw", "pin"),
            *("motdepasse", "contrasena", "senha", "wachtwoord", "heslo", "haslo", "lozinka", "salasana", "losenord"),
            *("user_password", "userpassword", "login_password", "j_password", "user_pass", "user[password]"),
            *("current_password", "current-password", "old_password", "new_password", "new-password"),
            *("confirm_password", "password_confirmation", "password1", "password2", "passwd1", "passwd2"),
            *("otp", "totp", "one-time-code", "mfa_code", "secret", "client_secret", "access_token", "refresh_token"),
        ),
        description="Names of form fields whose values are not recorded, unless the session keeps secrets.",
    )
