"""admin/harvests/templates/scope_questions.py: why URLs are in or out of a template, a text or a job."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job

from admin.harvests.templates.operations import OPERATIONS
from admin.harvests.templates.scope_questions import MOST_URLS, ScopeQuestion
from admin.harvests.templates.stock import DEFAULT_TEMPLATE, stock_text
from admin.harvests.templates.verification import problems_of
from admin.models.database import Database
from admin.models.errors import Forbidden, InvalidInput, NotFound
from admin.models.job_tables import HarvestJob
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE, Actor, Door

GOOD = stock_text(DEFAULT_TEMPLATE)
(OPERATION,) = (each for each in OPERATIONS if each.name == "template.explain-scope")


def ask(database: Database, actor: Actor = COMMAND_LINE, **given: Any) -> Any:
    question = {"urls": ["http://example.org/a"], **given}
    with database.transaction(actor) as transaction:
        return OPERATION(transaction, given=ScopeQuestion.model_validate(question))


def with_rules(*rules: str) -> str:
    return GOOD.replace("rules: []", "rules:\n" + "".join(f"  - {line}\n" for line in rules))


def test_a_text_that_is_not_kept_is_explained(sqlite_database: Database) -> None:
    text = with_rules("REJECT MatchesRegex .*/print/.*")
    answer = ask(
        sqlite_database, text=text, urls=["http://example.org/print/a", "x:"], seeds=["http://www.example.org/"]
    )
    first, second = answer.urls
    assert (first.decision, first.reason) == ("reject", "regex")
    assert first.steps[-1].rule == "rule 1: REJECT MatchesRegex .*/print/.*"
    assert (second.decision, second.reason) == ("reject", "scheme")


def test_lists_are_in_the_home_and_a_list_that_can_not_be_read_is_named(
    sqlite_database: Database, tmp_path: Path
) -> None:
    answer = ask(sqlite_database, text=with_rules("REJECT SurtListFile no-such-list.txt"))
    assert "no-such-list.txt can't be read" in answer.problems[0]


def test_many_rules_that_pass_are_left_out(sqlite_database: Database) -> None:
    rules = [f"REJECT TooManyHops {number + 9}" for number in range(300)]
    (found,) = ask(sqlite_database, text=with_rules(*rules)).urls
    assert all(step.is_built_in for step in found.steps)


@pytest.mark.parametrize("character", "\v\f\x1c\x1d\x1e\x85\u2028\u2029")
def test_a_line_of_a_job_s_seeds_is_one_seed(sqlite_database: Database, character: str) -> None:
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        job = add_job(transaction, add_harvest(transaction, add_channel(transaction))).id
        seeds = f"http://www.example.org/{character}http://elsewhere.example/\n"
        transaction.session.execute(update(HarvestJob).values(seeds=seeds))
    urls = ["http://www.example.org/a", "http://elsewhere.example/a"]
    answer = ask(sqlite_database, job_id=job, urls=urls)
    assert [found.decision for found in answer.urls] == ["accept", "reject"]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({}, "template"),
        ({"text": GOOD, "urls": []}, "urls"),
        ({"text": GOOD, "urls": ["x"] * (MOST_URLS + 1)}, "urls"),
        ({"text": GOOD, "hops": "LZ"}, "hops"),
        ({"text": GOOD, "seeds": ["ftp://x/"]}, "seeds"),
        ({"text": GOOD + "hop: 1\n"}, "hop"),
        ({"text": GOOD, "template": "default"}, "template"),
    ],
)
def test_bad_questions_name_the_field(sqlite_database: Database, given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        ask(sqlite_database, **given)
    assert caught.value.problems[0].field == field


def test_what_is_not_there_is_not_found(sqlite_database: Database) -> None:
    for given in ({"template": "none"}, {"job_id": 99}):
        with pytest.raises(NotFound):
            ask(sqlite_database, **given)
    with pytest.raises(Forbidden):
        ask(sqlite_database, actor=Actor("x", Role.READER, Door.API), text=GOOD)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("REJECT SurtListFile ../secret.txt", "is no file of the home's folder `lists`"),
        ("REJECT MatchesListRegex /etc/passwd", "is no file of the home's folder `lists`"),
        ("REJECT MatchesRegex (a+)+$", "takes too long on hostile addresses"),
        ("REJECT Some", "is no rule"),
    ],
)
def test_a_template_has_rules_that_are_safe(rule: str, said: str) -> None:
    text = with_rules("ACCEPT HasVia", rule)
    (problem,) = problems_of(text)
    assert problem.field == "rules.1"
    assert said in problem.message
    assert problem.line == text[: text.index(rule)].count("\n") + 1
