"""Use case: people ask why URLs are in or out of the scope of a template, of a text, or of a job."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from pydantic import Field

from admin.harvests.dispatch.queue_answers import list_edits
from admin.harvests.domains.seeds import seed_lines
from admin.harvests.input_checks import refuse
from admin.harvests.templates.catalogue import show_template
from admin.harvests.templates.verification import checked_profile
from admin.models.errors import InvalidInput, NotFound, Problem
from admin.models.job_tables import HarvestJob
from admin.models.operation import InputModel, OutputModel
from admin.models.transaction import Right, Transaction
from frontier.definition.edits import ProfileEdit, with_edits
from frontier.definition.job import JobError, Profile
from frontier.definition.profile import make_profile, with_lists_of
from frontier.definition.rules.list_files import LIST_FOLDER
from frontier.explanation import HOP_LETTERS, ScopeExplainer, ScopeExplanation

MOST_URLS: Final = 100
"""URLs of one question."""
MOST_SEEDS: Final = 10_000
_MOST_STEPS: Final = 200
"""Rules that pass a URL are left out of an answer with more steps."""


class ScopeQuestion(InputModel):
    """The input asks about URLs. A template, a text or a job says which scope is meant."""

    urls: list[str] = Field([], description=f"URLs to explain, at most {MOST_URLS}")
    template: str = Field("", description="name of a template")
    text: str = Field("", description="profile in YAML that is not kept yet")
    job_id: int | None = Field(None, description="number of a job, whose seeds are taken, too")
    seeds: list[str] = Field([], description="seeds of the scope")
    hops: str | None = Field(
        None, description="hop path in Heritrix's letters, such as LLE; when it is left out, L, or none for a seed"
    )
    via: str = Field("", description="page that has the link")


class ScopeAnswer(OutputModel):
    """An answer explains each URL of the question, in order."""

    urls: list[ScopeExplanation]
    problems: list[str]
    """Why list files of the rules can't be used."""


def explain_scope(transaction: Transaction, given: ScopeQuestion) -> ScopeAnswer:
    """Return for each URL what every rule of a scope decides, and which rule counts. Nothing is kept."""
    transaction.require(Right.CURATE)
    refuse(_problems(given))
    profile, seeds = _scope_of(transaction, given)
    try:
        located = with_lists_of(profile, transaction.settings.home / LIST_FOLDER)
        explainer = ScopeExplainer(located, [*seeds, *given.seeds])
    except JobError as error:
        raise InvalidInput(Problem("seeds", str(error))) from error
    found = [_shortened(explainer.explain(url, hop_path=given.hops, via=given.via or None)) for url in given.urls]
    return ScopeAnswer(urls=found, problems=list(explainer.list_problems()))


def _shortened(found: ScopeExplanation) -> ScopeExplanation:
    """Return an explanation without the rules that pass the URL, when there are many rules."""
    if len(found.steps) <= _MOST_STEPS:
        return found
    steps = [each for each in found.steps if each.is_built_in or each.decision != "pass"]
    return replace(found, steps=tuple(steps[:_MOST_STEPS]))


def _problems(given: ScopeQuestion) -> list[Problem]:
    problems = []
    if not 0 < len(given.urls) <= MOST_URLS:
        problems.append(Problem("urls", f"the question has {len(given.urls)} URLs; give 1 to {MOST_URLS}"))
    if len(given.seeds) > MOST_SEEDS:
        problems.append(Problem("seeds", f"the question has {len(given.seeds):,} seeds; give at most {MOST_SEEDS:,}"))
    if given.hops is not None and (not set(given.hops) <= set(HOP_LETTERS) or len(given.hops) > 50):
        problems.append(Problem("hops", f"{given.hops[:100]!r} is no hop path; use at most 50 of {HOP_LETTERS}"))
    if sum((bool(given.template), bool(given.text), given.job_id is not None)) != 1:
        problems.append(Problem("template", "the question has no scope, or several; name a template, a text or a job"))
    return problems


def _scope_of(transaction: Transaction, given: ScopeQuestion) -> tuple[Profile, list[str]]:
    if given.job_id is None:
        text = given.text or show_template(transaction, given.template).text
        return checked_profile(text), []
    job = transaction.session.get(HarvestJob, given.job_id)
    if job is None:
        raise NotFound("job", given.job_id)
    try:
        profile = make_profile(job.profile, f"the profile of job {given.job_id}")
    except JobError as error:
        raise InvalidInput(Problem("job_id", str(error))) from error
    edits = [ProfileEdit(**each.model_dump()) for each in list_edits(transaction, given.job_id).edits]
    return with_edits(profile, edits), list(seed_lines(job.seeds))
