"""The settings that are given to start from can be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from archive.listener_access import exposure
from archive.settings.load import load

FILES = sorted((Path(__file__).resolve().parents[2] / "deploy" / "settings").glob("*.toml"))


def test_there_are_some_for_one_machine_and_for_many() -> None:
    assert [path.stem for path in FILES] == ["many-machines", "one-machine"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_name_and_value_is_known(path: Path, home: Path) -> None:
    settings = load({"home": str(home)}, file=path, environment={})

    assert settings.proxy.control_port == settings.proxy.port + 1
    assert settings.proxy.processes > 1
    assert exposure(settings) == "", "the fleet would not start"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_no_secret_is_in_a_file(path: Path, home: Path) -> None:
    settings = load({"home": str(home)}, file=path, environment={})

    assert settings.proxy.password == ""
    assert "@" not in settings.redis.url + settings.database.url


def test_many_machines_share_a_redis_and_clients_command_nothing(home: Path) -> None:
    settings = load({"home": str(home)}, file=FILES[0], environment={})

    assert settings.redis.url
    assert settings.proxy.trust_clients == "none"
