"""The API is walked along its own document: each operation is called with good, odd and wrong values, and none fails.

An answer is the output that the document describes, or a problem document with its status.
"""

from __future__ import annotations

import json
import re
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from flask import Flask, Request
from flask.testing import FlaskClient
from pydantic import ValidationError
from support.admin.job_rows import add_job
from support.web.schema_values import Values
from werkzeug.exceptions import HTTPException

from admin.api.blueprint import PREFIX, error_answer, make_blueprint
from admin.api.openapi import document
from admin.api.problems import PROBLEM_TYPE
from admin.harvests.definitions.chosen import ConfigurationChoice
from admin.harvests.definitions.definition import HarvestCreation, create_harvest
from admin.harvests.domains.domain import DomainCreation, create_domain
from admin.harvests.stock import prepare
from admin.models.database import Database
from admin.models.harvest_tables import Harvest
from admin.models.operation import Operation, Page
from admin.models.people_tables import Role, User
from admin.models.transaction import COMMAND_LINE, Actor, Door
from admin.operations import OPERATIONS

ADMINISTRATOR = Actor("the-administrator", Role.ADMINISTRATOR, Door.API, user_id=1)
NAMES = (
    *("example.org", "other.org", "defaultconfig", "defaultseeds", "default", "weekly", "FOCUSED", "news", "1"),
    *("the-administrator", "http://www.example.org/", "job.failed", "UTC", "name", "2"),
)
TRIES = 3
DESCRIBED = document(OPERATIONS, PREFIX)


def authenticate(request: Request) -> Actor | None:
    return ADMINISTRATOR


@pytest.fixture
def client(database: Database) -> FlaskClient:
    """The API on a database with a thing of most kinds."""
    prepare(database)
    with database.transaction(COMMAND_LINE) as transaction:
        transaction.session.add(
            User(id=1, name="the-administrator", full_name="", email="", role=Role.ADMINISTRATOR, created=1)
        )
        for name in ("example.org", "other.org"):
            create_domain(transaction, DomainCreation(name=name))
        chosen = (ConfigurationChoice(domain="example.org"),)
        given = HarvestCreation(
            name="news", collection="news", schedule="weekly", channel="FOCUSED", configurations=chosen
        )
        made = create_harvest(transaction, given)
        add_job(transaction, transaction.session.get_one(Harvest, made.id))
    app = Flask(__name__)
    app.register_blueprint(make_blueprint(database, OPERATIONS, authenticate))
    app.register_error_handler(HTTPException, error_answer)
    return app.test_client()


def ask(client: FlaskClient, operation: Operation, values: Values) -> Any:
    described = DESCRIBED["paths"][operation.path][operation.method.lower()]
    query, path, headers = {}, PREFIX + operation.path, {}
    for parameter in described["parameters"]:
        name, value = parameter["name"], values.of(parameter["schema"])
        text = value if isinstance(value, str) else json.dumps(value)
        if parameter["in"] == "path":
            path = path.replace(f"{{{name}}}", quote(text.encode("utf-8", "replace"), safe="") or "x")
        elif parameter["in"] == "header":
            headers[name] = "*" if values.simple("boolean") else re.sub(r"[^ -~]", "", text)[:200]
        elif values.simple("boolean"):
            query[name] = text.encode("utf-8", "replace")
    sent: dict[str, Any] = {}
    if operation.takes_file:
        sent = {"data": values.simple("string").encode("utf-8", "replace"), "content_type": "application/octet-stream"}
    elif "requestBody" in described:
        body = values.of(described["requestBody"]["content"]["application/json"]["schema"])
        sent = {"data": json.dumps(body).encode(), "content_type": "application/json"}
    return client.open(f"{path}?{urlencode(query)}", method=operation.method, headers=headers, **sent)


def complaint(operation: Operation, answer: Any) -> str:
    """What is wrong with an answer; empty when nothing is."""
    if answer.status_code >= 400:
        found = answer.get_json() if answer.content_type == PROBLEM_TYPE else None
        if answer.status_code >= 500 or not isinstance(found, dict) or found.get("status") != answer.status_code:
            return f"{answer.status_code} {answer.content_type} {answer.data[:300]!r}"
        return "" if {"type", "title", "detail"} <= found.keys() else f"no problem document: {found}"
    documented = DESCRIBED["paths"][operation.path][operation.method.lower()]["responses"]
    if str(answer.status_code) not in documented:
        return f"{answer.status_code} is not in the document, which has {sorted(documented)}"
    if operation.output is None:
        return ""
    try:
        kind: Any = Page[operation.output] if operation.is_list else operation.output
        kind.model_validate_json(answer.data)
    except ValidationError as error:
        return f"not what the document describes: {error}"
    return ""


@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", range(2))
def test_no_call_fails_and_each_answer_is_as_described(client: FlaskClient, seed: int) -> None:
    values = Values(DESCRIBED["components"]["schemas"], NAMES, seed)
    wrong: dict[str, str] = {}
    good = set()
    for operation in sorted(OPERATIONS, key=lambda each: each.method == "DELETE"):
        for _ in range(TRIES):
            answer = ask(client, operation, values)
            if found := complaint(operation, answer):
                wrong[operation.name] = found
            elif answer.status_code < 300:
                good.add(operation.name)
    assert "\n".join(f"{name}: {found}" for name, found in wrong.items()) == ""
    assert len(good) > len(OPERATIONS) / 5, sorted(good)
