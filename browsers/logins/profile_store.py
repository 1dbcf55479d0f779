"""Browser profiles are kept encrypted in the folder `browser-profiles` of the home.

Each file is AES-256-GCM with the profile's name as associated data, so that a renamed file is refused. The key is in a
file that only its owner can read. Whoever copies a profile without the key has no login.
"""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from archive.files import make_folder, replacement, write_once
from archive.names.name_rules import NAME_PATTERN
from browsers.logins.browser_profile import BrowserProfile

FOLDER: Final = "browser-profiles"
KEY_FILE: Final = "key"
_SUFFIX: Final = ".profile"
_FORM: Final = b"\x01"
"""The first byte says how the file was encrypted."""
_KEY_BYTES: Final = 32
_NONCE_BYTES: Final = 12


class ProfileUnusable(ValueError):
    """The browser profile can't be read or written. The message names the profile or the file, and the remedy."""


class ProfileStore:
    """The store has the browser profiles of one home."""

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER

    def names(self) -> list[str]:
        """Return the names of all profiles, sorted."""
        return sorted(path.name.removesuffix(_SUFFIX) for path in self._folder.glob(f"*{_SUFFIX}"))

    def save(self, profile: BrowserProfile) -> None:
        """Write the profile in place of an older one. Raises ProfileUnusable."""
        path, nonce = self._path(profile.name), os.urandom(_NONCE_BYTES)
        make_folder(self._folder)
        text = profile.bounded().to_json().encode()
        sealed = AESGCM(self._key(make=True)).encrypt(nonce, text, profile.name.encode())
        try:
            with replacement(path, mode=0o600) as file:
                file.write(_FORM + nonce + sealed)
        except OSError as error:
            raise ProfileUnusable(f"browser profile {profile.name} can't be written: {error}") from error

    def load(self, name: str) -> BrowserProfile:
        """Return the profile. Raises ProfileUnusable."""
        try:
            data = self._path(name).read_bytes()
        except FileNotFoundError:
            known = ", ".join(self.names()) or "none"
            raise ProfileUnusable(f"there is no browser profile {name}; known are: {known}") from None
        except OSError as error:
            raise ProfileUnusable(f"browser profile {name} can't be read: {error}") from error
        nonce, sealed = data[1 : 1 + _NONCE_BYTES], data[1 + _NONCE_BYTES :]
        key = self._key(make=False)
        try:
            if data[:1] != _FORM:
                raise InvalidTag
            return BrowserProfile.from_json(AESGCM(key).decrypt(nonce, sealed, name.encode()).decode())
        except (InvalidTag, ValueError, KeyError, TypeError):
            raise ProfileUnusable(
                f"browser profile {name} can't be decrypted with the key in {self._folder / KEY_FILE};"
                " put its key back, or make the profile again"
            ) from None

    def delete(self, name: str) -> None:
        """Remove the profile. Raises ProfileUnusable when there is none."""
        try:
            self._path(name).unlink()
        except FileNotFoundError:
            raise ProfileUnusable(f"there is no browser profile {name}") from None

    def check_name(self, name: str) -> None:
        """Raise ProfileUnusable for a name that no profile can have."""
        self._path(name)

    def _path(self, name: str) -> Path:
        if not re.fullmatch(NAME_PATTERN, name):
            raise ProfileUnusable(
                f"{name[:100]!r} is no name of a browser profile; write 1 to 64 of A-Z a-z 0-9 . _ -,"
                " beginning with a letter or digit"
            )
        return self._folder / f"{name}{_SUFFIX}"

    def _key(self, *, make: bool) -> bytes:
        path = self._folder / KEY_FILE
        try:
            if make:
                write_once(path, os.urandom(_KEY_BYTES).hex().encode())
            if path.stat().st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise ProfileUnusable(f"the key file {path} can be read by others; run `chmod 600 {path}`")
            key = bytes.fromhex(path.read_text("ascii").strip())
        except ProfileUnusable:
            raise
        except (OSError, ValueError) as error:
            raise ProfileUnusable(f"the key file {path} can't be used: {error}; put the right one back") from error
        if len(key) != _KEY_BYTES:
            raise ProfileUnusable(f"the key file {path} does not hold a key of {_KEY_BYTES} bytes")
        return key
