"""The profile folder of a Firefox window in which a person captures."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from archive.files import make_folder
from browsers.engines.firefox.preferences import user_js, window_preferences
from browsers.engines.firefox.trust import make_database

_CERTIFICATES: Final = "cert9.db"


def prepare_firefox_window(profile: Path, executable: Path, proxy: str, authority: bytes) -> None:
    """Make the profile of a window that fetches through `proxy` (host:port) and trusts its authority, a PEM.

    The logins of an earlier window stay. Raises FleetUnavailable when Firefox can't be told to trust the proxy.
    """
    make_folder(profile)
    if not (profile / _CERTIFICATES).exists():
        for name, content in make_database(executable, authority).items():
            (profile / name).write_bytes(content)
    host, _, port = proxy.rpartition(":")
    (profile / "user.js").write_text(user_js(window_preferences(host.strip("[]"), int(port))), "utf-8")
