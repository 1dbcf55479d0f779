"""`./run` on a machine where something is missing: one line says what, the exit code is 2, and it can be mended."""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parent.parent


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder with as much of the repository as setting up needs, in a path with a space."""
    folder = tmp_path / "a clone"
    shutil.copytree(TOP / "requirements", folder / "requirements")
    for name in ("run", "pyproject.toml"):
        shutil.copy(TOP / name, folder / name)
    return folder


def run(clone: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [clone / "run", *arguments],
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("python", ["/nonexistent/python3", "/bin/sh"])
def test_a_python_that_can_not_be_used_is_named_in_one_line(clone: Path, python: str) -> None:
    ended = run(clone, "--version", GHOSTFLEET_PYTHON=python)

    assert ended.returncode == 2
    (line,) = ended.stderr.splitlines()
    assert python in line
    assert not (clone / ".venv").exists()


@pytest.mark.timeout(300)
def test_a_set_up_without_a_package_index_says_so_and_is_begun_anew(clone: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "kept.txt").write_text("of another checkout")
    (clone / ".venv").symlink_to(other)
    # An environment takes some seconds, as pip is installed into it. This Python makes one with a link to our pip.
    found = importlib.util.find_spec("pip")
    assert found is not None
    assert found.origin is not None
    python, executable = tmp_path / "python", shlex.quote(sys.executable)
    making = f'{executable} -m venv --without-pip "$3" "$4" || exit 1; cd "$4"/lib/python3*/site-packages'
    making += f" && ln -s {shlex.quote(str(Path(found.origin).parent))} pip; exit"
    python.write_text(f'#!/bin/sh\nif [ "$2" = venv ]; then {making}; fi\nexec {executable} "$@"\n')
    python.chmod(0o755)

    ended = run(clone, "--version", GHOSTFLEET_PYTHON=str(python), PIP_NO_INDEX="1", PIP_FIND_LINKS="")

    assert ended.returncode == 2
    last = ended.stderr.splitlines()[-1]
    assert "requirements/run.txt" in last
    assert "is the package index within reach?" in last
    assert str(clone / ".cache" / "setup.log") in last
    assert (clone / ".venv" / "bin" / "python").exists()
    assert not (clone / ".venv").is_symlink()
    assert [path.name for path in other.iterdir()] == ["kept.txt"], "the environment of another checkout stays as it is"

    # The second one is only begun.
    python.write_text(f'#!/bin/sh\n[ "$2" = venv ] && echo "no room" && exit 1\nexec {executable} "$@"\n')
    again = run(clone, "--version", GHOSTFLEET_PYTHON=str(python))

    assert again.returncode == 2
    assert "making .venv" in again.stderr
    assert again.stderr.splitlines()[-1].endswith(f"can't make {clone}/.venv: no room")


def test_each_name_that_run_imports_from_the_product_exists() -> None:
    imports = re.findall(r"^from ([\w.]+) import (\w+)$", (TOP / "run").read_text("utf-8"), re.MULTILINE)

    assert imports
    assert [pair for pair in imports if not hasattr(importlib.import_module(pair[0]), pair[1])] == []


def test_shellcheck_finds_nothing() -> None:
    checker = shutil.which("shellcheck")
    if checker is None:
        pytest.skip("shellcheck is not installed; apt-get install shellcheck")
    ended = subprocess.run([checker, TOP / "run", TOP / ".ci" / "run"], capture_output=True, text=True, check=False)

    assert ended.stdout == ""


@pytest.fixture(scope="module")
def choice(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A script with the part of `./run` that looks for settings that need further libraries."""
    text = (TOP / "run").read_text("utf-8")
    functions = [re.search(rf"^{name}\(\) {{.*?^}}", text, re.M | re.S) for name in ("settings_files", "needs_extras")]
    script = tmp_path_factory.mktemp("choice") / "script"
    script.write_text("\n".join([*(found[0] for found in functions if found), 'needs_extras "$@"', ""]), "utf-8")
    return script


@pytest.mark.parametrize(
    ("environment", "file", "arguments", "expected"),
    [
        ({}, "", ["admin"], False),
        ({"GHOSTFLEET_DATABASE__URL": "postgresql://db/ghostfleet"}, "", ["admin"], True),
        ({"GHOSTFLEET_DATABASE__URL": "sqlite:////tmp/x.db"}, "", ["admin"], False),
        ({"GHOSTFLEET_STORAGE__URL": "s3://bucket/folder"}, "", ["crawl", "http://postgresql.example/"], True),
        ({"GHOSTFLEET_PEOPLE__OIDC_ISSUER": "https://id.example.org"}, "", [], True),
        ({}, '[database]\nurl = "postgresql+psycopg://db/x"\n', ["admin", "--home", "HOME"], True),
        ({}, '[database]\nurl = "postgresql://db/x"\n', ["admin"], False),
        ({"GHOSTFLEET_HOME": "HOME"}, "[storage]\nurl = 's3://bucket'\n", ["admin"], True),
        ({}, '[people]\noidc_issuer = "https://id.example.org"\n', ["admin", "--settings=HOME/ghostfleet.toml"], True),
        ({}, '[people]\noidc_issuer = ""\n', ["admin", "--settings", "HOME/ghostfleet.toml"], False),
        ({}, '# [database]\n# url = "postgresql://db/x"\n', ["--home=HOME", "admin"], False),
    ],
)
def test_libraries_are_added_when_a_setting_needs_them(
    choice: Path, tmp_path: Path, environment: dict[str, str], file: str, arguments: list[str], *, expected: bool
) -> None:
    (tmp_path / "ghostfleet.toml").write_text(file, "utf-8")
    given = {name: value.replace("HOME", str(tmp_path)) for name, value in environment.items()}
    ended = subprocess.run(
        ["bash", str(choice), *(argument.replace("HOME", str(tmp_path)) for argument in arguments)],
        env={"PATH": os.environ["PATH"], **given}, cwd=choice.parent, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert (ended.returncode, ended.stderr) == (0 if expected else 1, "")


def test_the_locked_libraries_of_settings_are_those_of_every_other_lock_file() -> None:
    def pinned(name: str) -> dict[str, str]:
        text = (TOP / "requirements" / f"{name}.txt").read_text("utf-8")
        assert "://" not in text
        assert text.count("==") <= text.count("--hash=sha256:")
        return dict(re.findall(r"^([\w.-]+(?:\[\w,]+)?)==(\S+)", text, re.MULTILINE))

    run, extras, check = pinned("run"), pinned("extras"), pinned("check")

    assert {name: extras.get(name) for name in run} == run
    assert {"psycopg", "psycopg-binary", "s3fs", "authlib"} <= extras.keys()
    assert all(check.get(name, version) == version for name, version in extras.items())


@pytest.fixture
def tests_alone(tmp_path: Path) -> Path:
    """A folder with tests of its own, and a script with the part of `./run` that runs tests."""
    text = (TOP / "run").read_text("utf-8")
    names = ("run_tests", "repeat_failed", "pytest_in_memory", "pytest_on_disk", "memory_folder")
    functions = [re.search(rf"^{name}\(\) {{.*?^}}", text, re.M | re.S) for name in names]
    parts = ["set -euo pipefail", f"venv={sys.prefix!r}", "say() { printf '%s\\n' \"$*\" >&2; }", "lint() { :; }"]
    parts += [found[0] for found in functions if found is not None]
    (tmp_path / "script").write_text("\n".join([*parts, 'run_tests "$@"', ""]), "utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = -p xdist.plugin\n", "utf-8")
    return tmp_path


def run_alone(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # the other plugins take long to import
    return subprocess.run(
        ["bash", "script", *arguments], env=environment, cwd=folder, capture_output=True, text=True, check=False
    )


def test_a_test_that_fails_beside_others_only_is_named_as_unstable(tests_alone: Path) -> None:
    flag = tests_alone / "flag"
    code = f"from pathlib import Path\ndef test_a(tmp_path):\n    flag = Path({str(flag)!r})\n"
    code += "    seen = flag.exists()\n    if not seen:\n        flag.write_text(str(tmp_path))\n    assert seen\n"
    (tests_alone / "test_x.py").write_text(code, "utf-8")
    ended = run_alone(tests_alone)
    folder = Path(flag.read_text())
    has_own_memory = not folder.is_relative_to(tempfile.gettempdir())  # there is no room for it beside much else
    assert not (has_own_memory and folder.exists()), "memory is free again"
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("UNSTABLE: ")
    assert "test_x.py::test_a" in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize("count", [1, 21])
def test_tests_that_fail_alone_too_or_in_great_number_fail_the_run(tests_alone: Path, count: int) -> None:
    functions = "\n".join(f"def test_{number}():\n    assert False" for number in range(count))
    (tests_alone / "test_x.py").write_text(functions + "\n", "utf-8")
    ended = run_alone(tests_alone)
    assert ended.returncode == 1
    assert "UNSTABLE" not in ended.stderr


def test_the_long_form_runs_both_groups_with_the_tests_that_take_long(tests_alone: Path) -> None:
    option = "def pytest_addoption(parser):\n    parser.addoption('--slow', action='store_true')\n"
    (tests_alone / "conftest.py").write_text(option, "utf-8")
    test = "import pytest\n@pytest.mark.%s\ndef test_%s(pytestconfig):\n    assert pytestconfig.option.slow\n"
    for folder, mark in (("", "quick"), ("", "browser"), ("e2e", "e2e")):
        path = tests_alone / "tests" / folder / f"test_{mark}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(test % (mark, mark), "utf-8")
    ended = run_alone(tests_alone, "--slow")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert [line.split()[1] for line in ended.stdout.splitlines() if " passed" in line] == ["1", "2"]
