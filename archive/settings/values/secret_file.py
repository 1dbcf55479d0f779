"""A secret of the settings stands in the settings themselves, or in a file that they name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

_LONGEST: Final = 65_536
"""Bytes; a larger file is another one than was meant."""


class SecretUnreadable(ValueError):
    """The file of a secret can't be read. The message names the setting and the remedy."""


def secret(name: str, value: str, file: str) -> str:
    """Return the secret of the setting `name`: its value, or the first line of the file. Raises SecretUnreadable."""
    if not file:
        return value
    try:
        with Path(file).expanduser().open("rb") as source:
            content = source.read(_LONGEST + 1)
        lines = content.decode("utf-8-sig").splitlines() if len(content) <= _LONGEST else []
    except (OSError, UnicodeDecodeError) as error:
        raise SecretUnreadable(f"setting {name}_file = {file!r} can't be read: {error}") from error
    if not lines or not lines[0].strip():
        raise SecretUnreadable(f"setting {name}_file = {file!r} has no secret in its first line; write it there")
    return lines[0].strip()
