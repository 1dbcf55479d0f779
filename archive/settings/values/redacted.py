"""Values of settings as they may be shown: no password, and no key of a storage."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import unquote_plus

HIDDEN: Final = "…"
_SECRETS: Final = frozenset(
    {"proxy.password", "people.oidc_client_secret", "notifications.smtp_password", "view.password", "admin.cdx_token"}
)
_URLS: Final = frozenset({"redis.url", "database.url", "storage.url", "intake.url"})
_OPTIONS: Final = "storage.options"
_SECRET_NAME: Final = re.compile(
    r"key|secret|token|pass|pwd|credential|connection_string|odbc_connect|auth|sas|sig", re.IGNORECASE
)
"""Options of a storage, and parameters of a URL, whose names say that they are secret."""
_USER_INFO: Final = re.compile(r"(?<=://)([^/?#:@\s]*):[^/?#\s]*@")
"""User and password (RFC 3986 section 3.2.1)."""
_DOUBTFUL: Final = re.compile(r"(?<=://)([^/?#:@\s]*):[^@\s]*[/?#]\S*@\S*")
"""A user and a password with `/`, `?` or `#` in it, which some drivers take; or a host, a port, and an `@` behind them.
Which of the two it is can't be told, so all of it is hidden."""
_USER: Final = re.compile(r"(?<=://)[^/@]*@")
_PARAMETER: Final = re.compile(r"(?<=[?&;])([^=&;#\s]*)=[^&;#\s]*")


def shown(name: str, value: Any) -> Any:
    """Return the value of the setting with that dotted name, secrets in it replaced by `HIDDEN`.

    `name` may go on with a key of a table, as in `storage.options.secret`.
    """
    if name in _SECRETS:
        return value and HIDDEN
    if isinstance(value, Mapping):
        return {key: shown(f"{name}.{key}", part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(shown(name, part) for part in value)
    if name in _URLS and isinstance(value, str) and "@" in value and "://" not in value:
        return HIDDEN  # a URL without its scheme may still have a password
    section, _, option = name.partition(f"{_OPTIONS}.")
    if option and not section and _SECRET_NAME.search(option):
        return HIDDEN
    return shown_url(value) if isinstance(value, str) else value


def shown_url(url: str, *, whole_query: bool = False) -> str:
    """Return the URL without its password and without parameters whose names say that they are secret.

    With `whole_query` no parameter is shown. Text that is no URL comes back as it is.
    """
    text = _USER_INFO.sub(rf"\1:{HIDDEN}@", url)
    text = _DOUBTFUL.sub(rf"\1:{HIDDEN}", text) if text == url else text
    address, question, _ = text.partition("?")
    if not question or "://" not in address:
        return text
    return f"{address}?{HIDDEN}" if whole_query else _PARAMETER.sub(_parameter, text)


def without_secrets(url: str) -> str:
    """Return the URL of a server as messages name it: without user, password and parameters."""
    return _USER.sub("", shown_url(url)).partition("?")[0]


def _parameter(found: re.Match[str]) -> str:
    return f"{found[1]}={HIDDEN}" if _SECRET_NAME.search(unquote_plus(found[1])) else found[0]
