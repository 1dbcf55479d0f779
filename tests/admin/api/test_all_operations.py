"""admin/operations.py: every operation has a place of its own, a description, and asks for its right."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import pytest
from flask import Flask, Request
from flask.testing import FlaskClient
from openapi_spec_validator import validate
from support.web.security_site import shows_the_border

from admin.api.blueprint import PREFIX, make_blueprint
from admin.api.openapi import document
from admin.models.database import Database
from admin.models.operation import Operation
from admin.models.people_tables import Role, User
from admin.models.transaction import COMMAND_LINE, RIGHTS, Actor, Door
from admin.operations import OPERATIONS

ACTORS = {f"Bearer {role}": Actor(f"the-{role}", role, Door.API, user_id=1) for role in Role}


def authenticate(request: Request) -> Actor | None:
    return ACTORS.get(request.headers.get("Authorization", ""))


@pytest.fixture
def client(database: Database) -> FlaskClient:
    with database.transaction(COMMAND_LINE) as transaction:
        transaction.session.add(
            User(id=1, name="the-user", full_name="", email="", role=Role.READER, created=transaction.now)
        )
    app = Flask(__name__)
    app.register_blueprint(make_blueprint(database, OPERATIONS, authenticate))
    return app.test_client()


def test_names_and_places_are_unique() -> None:
    names = Counter(operation.name for operation in OPERATIONS)
    places = Counter((operation.method, re.sub(r"\{\w+\}", "{}", operation.path)) for operation in OPERATIONS)
    assert [name for name, count in names.items() if count > 1] == []
    assert [place for place, count in places.items() if count > 1] == []


def test_summaries_are_imperative_sentences() -> None:
    summaries = [operation.summary for operation in OPERATIONS]
    assert [each for each in summaries if not re.fullmatch(r"[A-Z][a-z]+[ ,].*\.", each)] == []


ONE_OF_EACH_KIND = tuple(
    {
        (each.method, each.is_list, each.takes_lines, each.takes_file, each.output is None): each for each in OPERATIONS
    }.values()
)


@pytest.mark.parametrize(
    "operations", [ONE_OF_EACH_KIND, pytest.param(OPERATIONS, marks=pytest.mark.slow)], ids=["kinds", "all"]
)
def test_the_document_is_valid(operations: Sequence[Operation]) -> None:
    validate(document(operations, PREFIX))
    paths = document(OPERATIONS, PREFIX)["paths"]
    assert sum(len(methods) for methods in paths.values()) == len(OPERATIONS)


@pytest.mark.parametrize("role", Role)
def test_every_route_asks_for_its_right_and_none_fails(client: FlaskClient, role: Role) -> None:
    wrong = []
    for operation in (each for each in OPERATIONS if shows_the_border(role, each.right)):
        path = PREFIX + re.sub(r"\{\w*id\w*\}|\{number\}|\{version\}", "1", operation.path)
        path = re.sub(r"\{\w+\}", "example.org", path)
        sent = {"data": b""} if operation.takes_lines else {"json": {}}
        more = {} if operation.method == "GET" else sent
        answer = client.open(path, method=operation.method, headers={"Authorization": f"Bearer {role}"}, **more)
        is_refused = answer.status_code == 403
        if is_refused is not (operation.right not in RIGHTS[role]) or answer.status_code >= 500:
            wrong.append(f"{operation.name}: {answer.status_code} {answer.data[:200]!r}")
    assert "\n".join(wrong) == ""
