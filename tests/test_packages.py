"""An installed Ghostfleet has all its modules and the files that they read."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SETUP = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
PACKAGES = ("admin", "archive", "bench", "browsers", "dedupdb", "frontier", "proxy")
_NO_DATA = frozenset((".py", ".pyc", ".md"))


def test_every_folder_with_modules_is_a_package_that_is_installed() -> None:
    found = {path.parent.relative_to(ROOT) for top in PACKAGES for path in (ROOT / top).rglob("*.py")}
    assert {".".join(folder.parts) for folder in found} == set(SETUP["packages"])


@pytest.mark.parametrize("package", PACKAGES)
def test_every_file_that_modules_read_is_installed(package: str) -> None:
    installed = {
        path
        for name, patterns in SETUP["package-data"].items()
        for pattern in patterns
        for path in (ROOT / name.replace(".", "/")).glob(pattern)
    }
    files = {path for path in (ROOT / package).rglob("*") if path.is_file() and path.suffix not in _NO_DATA}
    assert sorted(map(str, files - installed)) == []
