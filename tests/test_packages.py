"""An installed Ghostfleet has all its modules and the files that they read."""

from __future__ import annotations

import os
import subprocess
import tomllib
from pathlib import Path

import pytest
from setuptools import find_packages
from support.processes.python_code import PLACES, code_command

ROOT = Path(__file__).parent.parent
SETUP = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
PACKAGES = ("admin", "archive", "bench", "browsers", "dedupdb", "frontier", "proxy")
_NO_DATA = frozenset((".py", ".pyc", ".md"))


def test_every_folder_with_modules_is_a_package_that_is_installed() -> None:
    found = {path.parent.relative_to(ROOT) for top in PACKAGES for path in (ROOT / top).rglob("*.py")}
    installed = find_packages(str(ROOT), include=SETUP["packages"]["find"]["include"])
    assert {".".join(folder.parts) for folder in found} == set(installed)


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


IMPORT_ALL = """
import importlib, pkgutil, sys
for package in sys.argv[1:]:
    for module in pkgutil.walk_packages([package], package + "."):
        if not module.name.endswith("__main__") and ".migrations." not in module.name:
            importlib.import_module(module.name)
"""


def test_every_module_can_be_imported() -> None:
    command = code_command(IMPORT_ALL, *PACKAGES)
    environment = {**os.environ, **PLACES}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
