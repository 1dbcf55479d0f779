"""Values of settings as they may be shown: no password, and no key of a storage or of a CDX server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

HIDDEN: Final = "…"
_SECRETS: Final = frozenset({"proxy.password"})
_WITH_PARAMETERS: Final = frozenset({"dedup.cdx_servers"})
"""What follows the question mark of these URLs may hold a key."""
_OPTIONS: Final = "storage.options"
_OPTION_NAME: Final = re.compile(r"key|secret|token|password|credential|connection_string|sas", re.IGNORECASE)
_USER_INFO: Final = re.compile(r"(?<=://)([^/?#:@]*):[^/?#]*@")


def shown(name: str, value: Any) -> Any:
    """The value of the setting with that dotted name, secrets in it replaced by `HIDDEN`."""
    if isinstance(value, Mapping):
        return {key: _option(key, part) if name == _OPTIONS else shown(name, part) for key, part in value.items()}
    if not isinstance(value, str):
        return value
    if name in _SECRETS:
        return value and HIDDEN
    text = _USER_INFO.sub(rf"\1:{HIDDEN}@", value)
    address, question, _ = text.partition("?")
    return f"{address}?{HIDDEN}" if question and name in _WITH_PARAMETERS else text


def _option(key: str, value: Any) -> Any:
    return HIDDEN if _OPTION_NAME.search(key) else shown("", value)
