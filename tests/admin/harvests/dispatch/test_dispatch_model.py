"""The dispatch, model-checked: whatever dies, comes twice, late or out of order, no job is lost, none runs twice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test
from support.admin.dispatch_model import DispatchModel
from support.admin.dispatch_mutations import MUTATIONS, Mutation, Step
from support.admin.dispatch_parts import PostgresCopies, SqliteCopies
from support.stores.postgres_server import PostgresServer

RARE = ("the end is stored again", "a harvester takes several jobs")
"""A search of minutes does not come across the sequences that show these; the fixed steps of each mutation do."""
FOUND = {name: each for name, each in MUTATIONS.items() if name not in RARE}
type Copies = SqliteCopies | PostgresCopies


def machine(databases: Copies, rules: Sequence[str] = ()) -> type[DispatchModel]:
    """Return the model with these databases; with `rules`, hypothesis knows no others."""
    left_out = {
        name: plain(rule)
        for name, rule in vars(DispatchModel).items()
        if rules and name not in rules and hasattr(rule, "hypothesis_stateful_rule")
    }
    assert set(rules) <= set(vars(DispatchModel))
    return type("Machine", (DispatchModel,), {"databases": databases, **left_out})


def plain(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that other rules can call, and that is no rule itself."""

    def method(*arguments: Any, **named: Any) -> Any:
        return rule(*arguments, **named)

    return method


def run(databases: Copies, *, examples: int, steps: int, rules: Sequence[str] = ()) -> None:
    """Let hypothesis look for a sequence of steps after which something does not hold."""
    run_state_machine_as_test(
        machine(databases, rules),
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
            phases=[Phase.generate],
            derandomize=bool(rules),
        ),
    )


def replay(databases: Copies, steps: Sequence[Step]) -> None:
    """Do these steps, and check after each one what must hold."""
    model = machine(databases)()
    try:
        for step in steps:
            step(model)
            model.check()
    finally:
        model.teardown()


@pytest.fixture
def copies(tmp_path: Path) -> SqliteCopies:
    return SqliteCopies(tmp_path)


@pytest.fixture
def postgresql_copies(postgres_server: PostgresServer) -> PostgresCopies:
    return PostgresCopies(postgres_server)


@pytest.mark.timeout(600)
def test_nothing_that_goes_wrong_loses_a_job_or_runs_one_twice(copies: SqliteCopies) -> None:
    run(copies, examples=5, steps=40)


@pytest.mark.timeout(600)
def test_nothing_that_comes_between_two_statements_does_either(postgresql_copies: PostgresCopies) -> None:
    run(postgresql_copies, examples=3, steps=30)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["copies", "postgresql_copies"])
def test_the_same_with_many_sequences(request: pytest.FixtureRequest, kind: str) -> None:
    run(request.getfixturevalue(kind), examples=300, steps=60)


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS)
def test_a_few_steps_show_what_is_broken(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, mutation: Mutation
) -> None:
    databases = request.getfixturevalue(mutation.kind)
    replay(databases, mutation.steps)
    monkeypatch.setattr(mutation.place, mutation.name, mutation.worse)
    with pytest.raises(AssertionError, match=mutation.finding):
        replay(databases, mutation.steps)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("mutation", FOUND.values(), ids=FOUND)
def test_a_search_finds_what_is_broken(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, mutation: Mutation
) -> None:
    databases = request.getfixturevalue(mutation.kind)
    run(databases, examples=12, steps=15, rules=mutation.rules)
    monkeypatch.setattr(mutation.place, mutation.name, mutation.worse)
    with pytest.raises(AssertionError, match=mutation.finding):
        run(databases, examples=12, steps=15, rules=mutation.rules)
