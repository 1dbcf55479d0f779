"""The container files, as far as they can be judged without an engine: names, paths and rights fit the tree."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
from ruamel.yaml import YAML

from admin.cli import ghostfleet
from archive.listener_access import exposure
from archive.settings.load import load

TOP = Path(__file__).resolve().parents[2]
FOLDER = TOP / "deploy" / "container"


@pytest.fixture
def compose() -> dict[str, Any]:
    found = YAML(typ="safe").load((FOLDER / "compose.yaml").read_text("utf-8"))
    assert isinstance(found, dict)
    return found


@pytest.fixture
def lines() -> list[str]:
    """Instructions of the Containerfile, one in a line."""
    text = re.sub(r"\\\n\s*", "", (FOLDER / "Containerfile").read_text("utf-8"))
    return [line for line in text.splitlines() if line and not line.startswith("#")]


def last(lines: list[str], word: str) -> str:
    return next(line.partition(" ")[2] for line in reversed(lines) if line.startswith(f"{word} "))


def test_what_is_copied_is_there(lines: list[str]) -> None:
    sources = [
        part for line in lines if line.startswith("COPY ") and "--from" not in line for part in line.split()[1:-1]
    ]

    assert sources
    assert all((TOP / source).exists() for source in sources)


def test_images_are_pinned_to_a_version_and_packages_to_their_hashes(lines: list[str], compose: dict[str, Any]) -> None:
    stages = {line.split()[3] for line in lines if line.startswith("FROM ") and " AS " in line}
    bases = [line.split()[1] for line in lines if line.startswith("FROM ") and line.split()[1] not in stages]
    images = [service["image"] for service in compose["services"].values() if "image" in service]

    assert all(re.search(r":\d+\.\d+", name) for name in (*bases, *images))
    assert any("--require-hashes" in line for line in lines)


def test_the_image_has_the_libraries_of_every_setting(lines: list[str]) -> None:
    assert any("--require-hashes -r requirements/extras.txt" in line for line in lines)


def test_only_the_product_is_copied_into_the_image() -> None:
    patterns = (TOP / ".containerignore").read_text("utf-8").splitlines()
    packages = tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["tool"]["setuptools"]["packages"]
    rooms = [pattern.removesuffix("*") for pattern in packages["find"]["include"]]

    assert (TOP / ".dockerignore").read_text("utf-8").splitlines() == patterns
    rules = [line for line in patterns if line and not line.startswith("#")]
    assert rules[0] == "*"
    kept = {line[1:] for line in rules if line.startswith("!")}
    assert kept == {
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "requirements",
        *rooms,
    }


def test_it_does_not_run_as_root(lines: list[str]) -> None:
    assert int(last(lines, "USER")) > 1000


@pytest.mark.parametrize("word", ["ENTRYPOINT", "CMD"])
def test_commands_are_in_the_form_that_passes_signals_on(lines: list[str], word: str) -> None:
    assert isinstance(json.loads(last(lines, word)), list)


def test_the_environment_names_settings_that_exist(compose: dict[str, Any], home: Path) -> None:
    environment = compose["services"]["proxy"]["environment"]

    settings = load({"home": str(home)}, environment=environment)

    assert settings.redis.url == "redis://redis:6379/0"
    assert settings.proxy.processes == 2
    assert exposure(settings) == "", "the fleet would not start"


def test_ports_are_published_on_loopback_and_nothing_may_gain_rights(compose: dict[str, Any]) -> None:
    services = compose["services"]

    assert [port for service in services.values() for port in service.get("ports", [])] == ["127.0.0.1:8000:8000"]
    assert services["proxy"]["cap_drop"] == ["ALL"]
    assert services["proxy"]["read_only"] is True


def test_the_proxy_lets_in_the_network_of_the_file(compose: dict[str, Any]) -> None:
    (network,) = compose["networks"]["default"]["ipam"]["config"]

    assert compose["services"]["proxy"]["environment"]["GHOSTFLEET_PROXY__ALLOW_CLIENTS"] == network["subnet"]


def test_every_volume_and_service_that_is_named_exists(compose: dict[str, Any]) -> None:
    mounts = {mount.partition(":")[0] for service in compose["services"].values() for mount in service["volumes"]}

    assert mounts == set(compose["volumes"])
    assert set(compose["services"]["proxy"]["depends_on"]) <= set(compose["services"])
    assert (FOLDER / compose["services"]["proxy"]["build"]["context"]).resolve() == TOP


@pytest.fixture
def harvests() -> dict[str, Any]:
    found = YAML(typ="safe").load((FOLDER / "compose.harvests.yaml").read_text("utf-8"))
    assert isinstance(found, dict)
    return found


ROLES = ("admin", "scheduler", "qa", "capture", "harvester-focused", "harvester-snapshot")


def test_every_role_of_harvest_management_has_a_service_with_a_command_of_ours(harvests: dict[str, Any]) -> None:
    services = harvests["services"]

    assert set(services) == {"redis", *ROLES}
    for name in ROLES:
        role, *given = services[name]["command"]
        command = ghostfleet.get_command(click.Context(ghostfleet), role)
        assert command is not None
        if isinstance(command, click.Group):
            group, role, given = command, given[0], given[1:]
            command = group.get_command(click.Context(group), role)
            assert command is not None
            parsed = command.make_context(role, given, resilient_parsing=True)
            assert (role, parsed.args, str(parsed.params["home"])) == ("work", [], "/data")
            continue
        parsed = command.make_context(role, given, resilient_parsing=True)
        assert (role, parsed.args) == (name.partition("-")[0], [])
        assert str(parsed.params["home"]) == "/data"
    channels = {services[name]["command"][4] for name in ROLES if name.startswith("harvester")}
    assert channels == {"FOCUSED", "SNAPSHOT"}


def test_roles_of_harvest_management_share_their_data_and_have_no_rights(
    harvests: dict[str, Any], lines: list[str]
) -> None:
    for name in ROLES:
        service = harvests["services"][name]
        assert service["volumes"] == ["archive:/data"]
        assert (service["cap_drop"], service["read_only"]) == (["ALL"], True)
        assert any(line.endswith(f" AS {service['build']['target']}") for line in lines)
        assert (FOLDER / service["build"]["context"]).resolve() == TOP
        assert set(service.get("depends_on", {})) <= set(harvests["services"])


def test_the_settings_of_harvest_management_exist_and_open_nothing(harvests: dict[str, Any], home: Path) -> None:
    (network,) = harvests["networks"]["default"]["ipam"]["config"]
    services = harvests["services"]
    found = {name: load({"home": str(home)}, environment=services[name]["environment"]) for name in ROLES}

    assert all(settings.redis.url == "redis://redis:6379/0" for settings in found.values())
    assert found["admin"].admin.allow_clients == (network["subnet"],)
    assert exposure(found["admin"]) == "", "the site would not start"
    assert not found["harvester-focused"].browsers.sandbox
    ports = [port for service in services.values() for port in service.get("ports", [])]
    assert found["capture"].proxy.allow_clients == (network["subnet"],)
    assert ports == [
        f"127.0.0.1:8080:{found['admin'].admin.port}",
        f"127.0.0.1:8100:{found['capture'].capture.port}",
    ]
