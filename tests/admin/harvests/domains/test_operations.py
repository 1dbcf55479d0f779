"""admin/harvests/domains/operations.py: each operation can be called as it says, and asks for its right."""

from __future__ import annotations

import inspect
import re

import pytest
from pydantic import BaseModel

from admin.harvests.domains.operations import OPERATIONS
from admin.models.database import Database
from admin.models.errors import Forbidden
from admin.models.people_tables import Role
from admin.models.transaction import RIGHTS, Actor, Door


def test_names_and_routes_are_unique() -> None:
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)
    routes = {(operation.method, re.sub(r"\{\w+\}", "{}", operation.path)) for operation in OPERATIONS}
    assert len(routes) == len(OPERATIONS)


def test_the_use_case_takes_what_the_operation_says() -> None:
    for operation in OPERATIONS:
        parameters = dict(inspect.signature(operation.use_case, eval_str=True).parameters)
        assert next(iter(parameters)) == "transaction"
        for name in re.findall(r"\{(\w+)\}", operation.path):
            assert name in parameters, operation.name
        assert ("given" in parameters) == (operation.input is not None), operation.name
        if operation.input is not None:
            assert parameters["given"].annotation is operation.input
        assert operation.summary.endswith("."), operation.name
        for model in (operation.input, operation.output):
            assert model is None or issubclass(model, BaseModel), operation.name
            assert model is None or model.model_json_schema()


def test_a_role_without_the_right_is_refused_by_the_use_case_itself(sqlite_domains: Database) -> None:
    for operation in OPERATIONS:
        arguments: dict[str, object] = {
            name: 1 if name.endswith("_id") else "a.org" for name in re.findall(r"\{(\w+)\}", operation.path)
        }
        if operation.input is not None:
            arguments["given"] = operation.input.model_construct(name="x", text="x", traps=(), url="x")
        for role in Role:
            if operation.right not in RIGHTS[role]:
                actor = Actor("x", role, Door.API)
                with sqlite_domains.transaction(actor) as transaction, pytest.raises(Forbidden):
                    operation.use_case(transaction, **arguments)
