"""This module tells the versions of the tables from the names in the migration files, without Alembic.

Each command asks for the version, and Alembic takes a tenth of the time in which a command starts. Only a change of the
tables needs Alembic.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

FOLDER: Final = Path(__file__).resolve().parent / "migrations"
_NAME: Final = re.compile(r"^revision(?:: str)? = \"([^\"]+)\"", re.MULTILINE)
_BEFORE: Final = re.compile(r"^down_revision(?:: [\w| ]+)? = \"([^\"]+)\"", re.MULTILINE)


@cache
def known_versions() -> frozenset[str]:
    """Return all versions that this program knows."""
    return frozenset(_NAME.findall("\n".join(_texts())))


@cache
def newest_version() -> str:
    """Return the version of the tables that this program needs: the one that comes before no other one."""
    (newest,) = known_versions() - frozenset(_BEFORE.findall("\n".join(_texts())))
    return newest


def _texts() -> list[str]:
    return [file.read_text("utf-8") for file in sorted((FOLDER / "versions").glob("*.py"))]
