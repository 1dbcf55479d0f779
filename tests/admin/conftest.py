"""Fixtures of all tests of the admin: its database, on SQLite and PostgreSQL, a clock that tests move, cheap hashes."""

from __future__ import annotations

import functools
import itertools
import os
import shutil
import ssl
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
from argon2 import PasswordHasher
from flask import Flask
from jinja2.bccache import Bucket, BytecodeCache
from support.admin.harvest_database import MovableClock, make_tables
from support.admin.postgres_tables import PostgresTables
from support.admin.site_users import CHEAP
from support.processes.unsynced_disk import VARIABLES, unsynced
from support.stores.kept_statements import keep_statements
from support.stores.postgres_server import PostgresServer
from support.web.mail_receiver import MailReceiver
from support.web.webhook_receiver import WebhookReceiver
from werkzeug.routing import Rule
from werkzeug.routing.rules import RulePart

from admin.models import database as database_module
from admin.models.database import Database
from admin.people.passwords import PASSWORDS
from archive.settings.load import Settings
from dedupdb.captures import schema

_NUMBERS = itertools.count()


class _CompiledTemplates(BytecodeCache):
    """The templates of all sites of this process, which would be compiled again for each site."""

    def __init__(self) -> None:
        self._codes: dict[str, bytes] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Give the bucket the code of the template, if a site has compiled the template."""
        if code := self._codes.get(bucket.key):
            bucket.bytecode_from_string(code)

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep the code of the bucket."""
        self._codes[bucket.key] = bucket.bytecode_to_string()


Flask.jinja_options = {**Flask.jinja_options, "bytecode_cache": _CompiledTemplates()}

_Builder = Callable[..., tuple[str, str]]
_compile_builder: Final = Rule._compile_builder
_builders: Final[dict[Any, _Builder]] = {}


def _kept_builder(rule: Rule, append_unknown: bool = True) -> _Builder:
    """Return the function that builds addresses of a rule.

    A site has hundreds of rules, and compiling their functions is most of the work of making a site. The function gets
    the rule as an argument, so all sites of this process can share the function.
    """
    if rule.defaults:
        return _compile_builder(rule, append_unknown)
    key = (rule.rule, tuple(rule._trace), append_unknown)
    if key not in _builders:
        _builders[key] = _compile_builder(rule, append_unknown)
    return _builders[key]


Rule._compile_builder = _kept_builder  # type: ignore[method-assign]

_parse_rule: Final = Rule._parse_rule
_parsed: Final[dict[Any, tuple[list[RulePart], list[tuple[bool, str]], dict[str, Any]]]] = {}


def _kept_parts(rule: Rule, text: str) -> list[RulePart]:
    """Return the parts of a rule, which all sites of this process share as they share the functions for addresses."""
    assert rule.map is not None
    key = (text, *rule.map.converters.values())
    if key not in _parsed:
        begin, before = len(rule._trace), set(rule._converters)
        parts = list(_parse_rule(rule, text))
        made = {name: each for name, each in rule._converters.items() if name not in before}
        _parsed[key] = (parts, rule._trace[begin:], made)
        return parts
    parts, trace, converters = _parsed[key]
    rule._trace.extend(trace)
    rule._converters.update(converters)
    rule.arguments.update(converters)
    return parts


Rule._parse_rule = _kept_parts  # type: ignore[method-assign,assignment]


@functools.cache
def _usual_tls(trust_env: bool, *places: str | None) -> ssl.SSLContext:
    return httpx.create_ssl_context(trust_env=trust_env)


def _kept_tls(verify: Any = True, cert: Any = None, trust_env: bool = True) -> ssl.SSLContext:
    """Return the TLS of a client of HTTP. Reading the certificates of all authorities takes as long as a test."""
    if verify is True and cert is None:
        return _usual_tls(trust_env, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    return httpx.create_ssl_context(verify, cert, trust_env)


httpx._transports.default.create_ssl_context = _kept_tls

keep_statements(database_module, schema)

_KINDS: Final = ("sqlite", "postgresql")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave each test of both kinds of database to one of them, which its name decides.

    Tests that are marked `both_databases` keep both, as do tests whose whole name was given, and all with --slow.
    """
    if config.getoption("--slow"):
        return
    left_out = [item for item in items if _runs_on_the_other(item) and item.nodeid not in config.args]
    if left_out:
        items[:] = [item for item in items if item not in set(left_out)]
        config.hook.pytest_deselected(items=left_out)


def _runs_on_the_other(item: pytest.Item) -> bool:
    """Return whether a test is chosen to run on the kind of database that this item does not have."""
    values = getattr(getattr(item, "callspec", None), "params", {})
    kind = next((values[name] for name in ("database_url", "tables_url") if name in values), None)
    if kind is None or item.get_closest_marker("both_databases"):
        return False
    return kind != _KINDS[zlib.crc32(item.nodeid.replace(kind, "").encode()) % 2]


@pytest.fixture(autouse=True)
def _unsynced(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Neither a test nor the processes of the program that the test starts wait for the disk."""
    for name, value in VARIABLES.items():
        monkeypatch.setenv(name, value)
    with unsynced():
        yield


@pytest.fixture(autouse=True)
def _time_to_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages of collections count to the end on a busy machine, too, where they would give up after a second."""
    for name in ("listing._LIST_SECONDS", "listing._SHOW_SECONDS", "index._SECONDS"):
        monkeypatch.setattr(f"admin.collections.browsing.{name}", 60.0)


@pytest.fixture(autouse=True)
def _cheap_hashes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Argon2 with the least memory. `test_passwords.py` has tests of our parameters."""
    monkeypatch.setattr(PASSWORDS, "_hasher", PasswordHasher(**CHEAP))
    PASSWORDS.__dict__.pop("_nobodys", None)
    yield
    PASSWORDS.__dict__.pop("_nobodys", None)


@pytest.fixture
def clock() -> MovableClock:
    """The clock of `database`."""
    return MovableClock()


@pytest.fixture(params=_KINDS)
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The address of an empty database, on the kind that `pytest_collection_modifyitems` chooses."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'admin.db'}"
    server: PostgresServer = request.getfixturevalue("postgres_server")
    return server.url(f"admin{next(_NUMBERS)}")


@pytest.fixture(scope="session")
def sqlite_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of SQLite with the tables and no rows, which tests copy: making the tables takes long."""
    path = tmp_path_factory.mktemp("tables") / "admin.db"
    make_tables(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def postgres_tables(postgres_server: PostgresServer) -> Iterator[PostgresTables]:
    """A database of PostgreSQL with the tables and no rows, which tests use one after the other."""
    tables = PostgresTables(postgres_server)
    yield tables
    tables.close()


@pytest.fixture
def sqlite_url(tmp_path: Path, sqlite_tables: Path) -> str:
    """The address of a database on SQLite with the tables and no rows."""
    return f"sqlite:///{shutil.copy(sqlite_tables, tmp_path / 'admin.db')}"


@pytest.fixture(params=_KINDS)
def tables_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a database with the tables and no rows, on the kind that is chosen as for `database_url`."""
    if request.param == "sqlite":
        yield str(request.getfixturevalue("sqlite_url"))
        return
    tables: PostgresTables = request.getfixturevalue("postgres_tables")
    yield tables.url()
    tables.empty()


@pytest.fixture
def database(tables_url: str, clock: MovableClock, settings: Settings) -> Iterator[Database]:
    """The admin's database with its tables, on the kind that `tables_url` has."""
    database = Database(tables_url, clock, settings)
    database.check()
    yield database
    database.close()


@pytest.fixture
def sqlite_database(sqlite_url: str, clock: MovableClock, settings: Settings) -> Iterator[Database]:
    """The admin's database on SQLite alone, where the kind does not matter."""
    database = Database(sqlite_url, clock, settings)
    database.check()
    yield database
    database.close()


@pytest.fixture
def mail() -> Iterator[MailReceiver]:
    """A mail server that keeps what it gets."""
    with MailReceiver() as server:
        yield server


@pytest.fixture
def hook() -> Iterator[WebhookReceiver]:
    """A server for webhooks that keeps what it gets."""
    with WebhookReceiver() as server:
        yield server
