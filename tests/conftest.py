"""Fixtures that every room's tests share: a home, a port, a Redis, the garden site; and what is skipped when."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter
from httpx._config import DEFAULT_TIMEOUT_CONFIG
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from support.browsers.watched_garden import WatchedGarden
from support.processes import fork_server
from support.processes.machine_needs import chromium, free_port
from support.stores.postgres_server import PostgresServer
from support.stores.redis_cluster import RedisCluster, SharedCluster
from support.stores.redis_server import RedisServer

from archive.settings.load import Settings, load

# Hundreds of tests start processes of the program. Without its bytecode, each of them compiles all modules again.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Tests start many viewers; those that need the player fetch it once.
os.environ.setdefault("GHOSTFLEET_VIEW__FETCH_PLAYER", "false")

# A slow machine is no failure: clients of tests wait for an answer longer than the five seconds of httpx.
for _phase in ("connect", "read", "write", "pool"):
    setattr(DEFAULT_TIMEOUT_CONFIG, _phase, 60.0)

# A slow machine is no failure: no example has a deadline, and examples may take long to make.
for _name, _examples in (("quick", 25), ("slow", 100)):
    hypothesis_settings.register_profile(
        _name, max_examples=_examples, deadline=None, suppress_health_check=[HealthCheck.too_slow]
    )


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--redis",
        choices=("one", "cluster"),
        default="one",
        help="what tests/frontier and tests/dedupdb run on: one server, or a cluster of three",
    )
    parser.addoption("--slow", action="store_true", help="run the fault and load tests in their long form too")


def pytest_configure(config: pytest.Config) -> None:
    """Start processes of the program by a fork, except in the long form of the tests."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell has started the tests in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    hypothesis_settings.load_profile("slow" if config.getoption("--slow") else "quick")
    if not config.getoption("--slow"):
        fork_server.install()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[object]:
    """Collect no garbage while the tests are collected, since none of their objects is garbage."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish() -> None:
    """Spare the garbage collector the objects of thousands of tests, which live until the end."""
    gc.freeze()


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Return the argument's name for binary values.

    A gzip member holds the time at which it was made. The processes of pytest-xdist must agree on each test's name.
    """
    return argname if isinstance(val, bytes) and not val.isascii() else None


def pytest_runtest_setup(item: pytest.Item) -> None:
    """`browser` tests need Chromium; `slow` ones need --slow."""
    if item.get_closest_marker("slow") and not item.config.getoption("--slow"):
        pytest.skip("takes long; chosen with --slow")
    if item.get_closest_marker("browser"):
        chromium()


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """Print the seconds of each folder when `--durations` asks for the slowest tests."""
    if terminalreporter.config.getoption("durations") is None:
        return
    seconds: dict[str, float] = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if isinstance(report, pytest.TestReport):
                seconds["/".join(report.nodeid.split("::")[0].split("/")[:3][:-1])] += report.duration
    terminalreporter.section("seconds per folder, all processes together")
    for folder, total in sorted(seconds.items(), key=lambda pair: -pair[1]):
        terminalreporter.write_line(f"{total:8.1f}  {folder}")


@pytest.fixture(autouse=True)
def _mask() -> Iterator[None]:
    """Restore the mask of new files, which a command of the program narrows in the process that calls the command."""
    before = os.umask(0o022)
    os.umask(before)
    yield
    os.umask(before)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty, temporary home folder."""
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


@pytest.fixture
def settings(home: Path) -> Settings:
    """Default settings in a temporary home, blind to the caller's environment."""
    return load({"home": str(home)}, environment={})


@pytest.fixture
def port() -> int:
    """A free TCP port of 127.0.0.1."""
    return free_port()


@pytest.fixture(scope="session")
def _redis(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    folder = tmp_path_factory.mktemp("redis")
    if request.config.getoption("--redis") == "cluster":
        with RedisCluster(folder) as cluster:
            yield SharedCluster(cluster)
        return
    with RedisServer(folder) as server:
        yield server


@pytest.fixture
def redis_url(_redis: RedisServer) -> str:
    """URL of a real, empty Redis; the process is shared by the whole run."""
    with _redis.client() as client:
        client.flushall()
    return _redis.url


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """One server for all tests of a process; each test has a database of its own."""
    with PostgresServer() as server:
        yield server


@pytest.fixture(scope="session")
def _garden() -> Iterator[WatchedGarden]:
    with WatchedGarden() as site:
        yield site


@pytest.fixture
def garden(_garden: WatchedGarden) -> WatchedGarden:
    """The bundled botanical-garden site, running, with an empty request log."""
    _garden.forget_requests()
    return _garden
