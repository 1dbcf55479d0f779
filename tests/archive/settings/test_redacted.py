"""No secret of a setting is shown, and all that is none."""

from __future__ import annotations

from typing import Any

import pytest

from archive.settings.load import SettingsError, load, names
from archive.settings.values.redacted import shown, without_secrets


@pytest.mark.parametrize(
    ("name", "value", "seen"),
    [
        ("proxy.password", "hidden", "…"),
        ("proxy.password", "", ""),
        (
            "proxy.egress",
            {"*": "http://anna:hidden@proxy:3128", "a": "direct"},
            {"*": "http://anna:…@proxy:3128", "a": "direct"},
        ),
        ("redis.url", "rediss://:hidden@redis:6380/0?a=b", "rediss://:…@redis:6380/0?a=b"),
        ("redis.url", "cluster://anna:hid@den@redis", "cluster://anna:…@redis"),
        ("redis.url", "clusters://anna:hidden@one:7000,two:7001", "clusters://anna:…@one:7000,two:7001"),
        ("database.url", "postgresql+psycopg://anna:hidden@host/gf", "postgresql+psycopg://anna:…@host/gf"),
        (
            "storage.options",
            {
                "key": "hidden",
                "secret": "hidden",
                "endpoint_url": "https://s3.example.org",
                "aws_session_token": "hidden",
            },
            {"key": "…", "secret": "…", "endpoint_url": "https://s3.example.org", "aws_session_token": "…"},
        ),
        ("storage.url", "s3://bucket/path@home", "s3://bucket/path@home"),
        ("database.url", "postgresql://h/gf?user=anna&password=hidden", "postgresql://h/gf?user=anna&password=…"),
        ("database.url", "postgresql://h/gf?p%61ssword=hidden&a=b", "postgresql://h/gf?p%61ssword=…&a=b"),
        ("database.url", "postgresql://h/gf?sslmode=require", "postgresql://h/gf?sslmode=require"),
        ("database.url", "mssql+pyodbc://?odbc_connect=PWD%3Dhidden", "mssql+pyodbc://?odbc_connect=…"),
        ("database.url", "postgresql://anna:hid/den?hid#den@hidden@h/gf?a=b", "postgresql://anna:…"),
        ("database.url", "postgresql://anna:hid@den@h/gf?a=b", "postgresql://anna:…@h/gf?a=b"),
        ("database.url", "postgresql://anna:hidden@h/gf?password=hid@den", "postgresql://anna:…@h/gf?password=…"),
        ("redis.url", "redis://h:6379?password=hid@den", "redis://h:…"),
        ("redis.url", "redis://h:6379/0?username=anna&password=hidden", "redis://h:6379/0?username=anna&password=…"),
        ("storage.url", "https://h/path?sig=hidden&se=2026", "https://h/path?sig=…&se=2026"),
        ("proxy.egress", {"*": "http://proxy:3128?token=hidden"}, {"*": "http://proxy:3128?token=…"}),
        ("storage.options.secret", "hidden", "…"),
        ("storage.options.secret", 5, "…"),
        ("proxy.password", ["hidden"], "…"),
        ("proxy.addons", ("a.py", "http://anna:hidden@h/b.py"), ("a.py", "http://anna:…@h/b.py")),
        ("archive.user_agent", "Bot (+https://h:80/bot; a@h)", "Bot (+https://h:80/bot; a@h)"),
        ("proxy.port", 8000, 8000),
    ],
)
def test_what_is_shown(name: str, value: Any, seen: Any) -> None:
    assert shown(name, value) == seen


def test_what_has_no_secrets_is_shown_as_it_is() -> None:
    defaults = {name: default for name, default, _ in names()}
    assert {name: shown(name, default) for name, default in defaults.items()} == defaults


@pytest.mark.parametrize(
    ("url", "seen"),
    [
        ("redis://anna:hidden@h:6379/0?password=hid@den", "redis://h:6379/0"),
        ("redis://anna:hid/den@h:6379/0", "redis://anna:…"),
        ("redis://h:6379/0?password=hid@den", "redis://h:…"),
        ("unix://:hidden@/run/redis.sock", "unix:///run/redis.sock"),
        ("sqlite:////data/me@home/index.db", "sqlite:////data/me@home/index.db"),
        ("nonsense", "nonsense"),
    ],
)
def test_a_message_names_a_server_without_user_password_and_parameters(url: str, seen: str) -> None:
    assert without_secrets(url) == seen


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("proxy.password", ["hidden"]),
        ("storage.options", {"secret": ["hidden"]}),
        ("redis.url", ["redis://:hidden@h"]),
        ("database.url", {"url": "postgresql://h/gf?password=hidden"}),
    ],
)
def test_a_setting_that_can_not_be_used_is_refused_without_its_secret(name: str, value: Any) -> None:
    with pytest.raises(SettingsError, match=f"setting {name}") as refused:
        load({name: value}, environment={})

    assert "hidden" not in str(refused.value)
