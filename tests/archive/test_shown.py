"""No secret of a setting is shown, and all that is none."""

from __future__ import annotations

from typing import Any

import pytest

from archive.settings import names
from archive.shown import shown


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
        ("database.url", "postgresql+psycopg://anna:hidden@host/gf", "postgresql+psycopg://anna:…@host/gf"),
        ("dedup.cdx_servers", {"news": "https://a:hidden@h/cdx?key=hidden"}, {"news": "https://a:…@h/cdx?…"}),
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
        ("proxy.port", 8000, 8000),
    ],
)
def test_what_is_shown(name: str, value: Any, seen: Any) -> None:
    assert shown(name, value) == seen


def test_what_has_no_secrets_is_shown_as_it_is() -> None:
    defaults = {name: default for name, default, _ in names()}
    assert {name: shown(name, default) for name, default in defaults.items()} == defaults
