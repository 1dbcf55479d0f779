"""The command `scope explain` says why a URL is in or out of the scope of a profile or a job."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from admin.commands.jobs.steering import NotRunningError, steering_errors
from admin.options import InputError, common, load_settings

if TYPE_CHECKING:
    from archive.settings.load import Settings
    from frontier.definition.job import Profile
    from frontier.explanation import ScopeExplanation


@click.group("scope")
def scope() -> None:
    """Ask why URLs are in or out of the scope of a crawl."""


@scope.command("explain")
@click.argument("urls", nargs=-1, required=True, metavar="URL…")
@common
@click.option("--profile", type=click.Path(path_type=Path), metavar="FILE", help="Profile, or the name of a stock one.")
@click.option("--job", metavar="NAME", help="Job of `crawl`: its latest run has the seeds, and the rules in force.")
@click.option("--seed", "seeds", multiple=True, metavar="URL", help="Seed of the scope. Repeatable.")
@click.option(
    "--hops",
    metavar="LETTERS",
    help="Hop path of the URLs in Heritrix's letters, such as LLE.  [L, or none for a seed]",
)
@click.option("--via", metavar="URL", help="Page that has the link.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON object for each URL.")
def explain(
    urls: tuple[str, ...],
    home: Path | None,
    settings_file: Path | None,
    profile: Path | None,
    job: str | None,
    seeds: tuple[str, ...],
    hops: str | None,
    via: str | None,
    as_json: bool,
) -> int:
    """Say for each URL what every rule of a scope decides, and which rule counts.

    Of the built-in steps the first that decides counts; after them, the last of the profile's rules that decides.
    Without --profile and --job, the profile has its defaults.

    \b
    Exit codes:
      0  all URLs are in scope
      1  a URL is out of scope
      2  the profile, the job, a seed or the hop path can't be used
    """
    from frontier.definition.job import JobError
    from frontier.explanation import HOP_LETTERS, ScopeExplainer

    if hops is not None and not set(hops) <= set(HOP_LETTERS):
        raise InputError(f"--hops {hops[:100]!r} has a letter that is no step; use {', '.join(HOP_LETTERS)}")
    if profile is not None and job is not None:
        raise InputError("--profile and --job name two scopes; leave one out")
    try:
        found, all_seeds = _scope_of(load_settings(home, settings_file), profile, job)
        explainer = ScopeExplainer(found, (*all_seeds, *seeds))
    except JobError as error:
        raise InputError(str(error)) from error
    is_all_in = True
    for url in urls:
        answer = explainer.explain(url, hop_path=hops, via=via)
        is_all_in = is_all_in and answer.decision == "accept"
        for line in [json.dumps(asdict(answer), ensure_ascii=False)] if as_json else _lines(answer):
            click.echo(line)
    for problem in explainer.list_problems():
        click.echo(f"ghostfleet: {problem}", err=True)
    return 0 if is_all_in else 1


def _scope_of(settings: Settings, profile: Path | None, job: str | None) -> tuple[Profile, list[str]]:
    """Return the profile and the seeds that the options name. Raises JobError."""
    from admin.jobs.control.queues import opened
    from admin.jobs.control.steering import FoundJob
    from admin.jobs.runs import PROFILE_FILE, find_runs
    from frontier.definition.job import JobError, Profile
    from frontier.definition.profile import load_profile
    from frontier.private_redis.server import RedisProblem

    if profile is not None:
        return load_profile(profile), []
    if job is None:
        return Profile(), []
    folders = sorted((settings.home / "collections").glob("*/jobs"))
    with steering_errors():
        runs = [run for folder in folders for run in find_runs(folder) if job in (run.state.job, run.state.name)]
    if not runs:
        raise JobError(f"--job {job}: there is no such job in {settings.home}; `ghostfleet job list` names them")
    latest = max(runs, key=lambda run: run.state.name[-14:])
    target = FoundJob(latest.state.name, latest, settings)
    try:
        with steering_errors(), opened(target) as frontier:  # people may have edited the profile since the job began
            found = frontier.stored_job().profile
    except RedisProblem as error:
        raise JobError(str(error)) from error
    except NotRunningError:
        found = load_profile(latest.folder / PROFILE_FILE)
    return found, list(latest.seeds().urls())


def _lines(answer: ScopeExplanation) -> Iterator[str]:
    from frontier.explanation import WAITING

    yield answer.url
    if answer.canonical:
        yield f"  canonical  {answer.canonical}"
        yield f"  SURT       {answer.surt}"
        yield f"  seen as    {answer.compared} ({answer.fingerprint})"
    yield f"  hop path   {answer.hop_path or ('none, a seed' if answer.is_seed else 'none')}"
    for is_built_in, title in ((True, "built-in steps, the first counts"), (False, "rules, the last counts")):
        steps = [step for step in answer.steps if step.is_built_in is is_built_in]
        if steps:
            yield f"  {title}:"
        for step in steps:
            why = f" ({step.reason})" if step.reason else ""
            what = f"{step.name}: {step.rule}" if step.is_built_in and step.rule else step.rule or step.name
            last = ", which no rule changes" if step.is_final and step.decision == "reject" else ""
            later = f", which decides {WAITING[step.needs]}" if step.needs else ""
            yield f"    {step.decision}{why}  {what}{last}{later}"
    for each in answer.sheet_values:
        yield f"  {each.key} = {each.value}  by {each.source}"
    outcome = "accepted" if answer.decision == "accept" else f"rejected as {answer.reason}"
    yield f"  {outcome} by {answer.rule}"
    for need in answer.awaits:
        yield f"  a rule may reject the URL {WAITING[need]}"
