"""These pages show jobs: the list, and one job with its progress, domains, commands and errors."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.dispatch import listing, steering
from admin.harvests.dispatch.steering import JobCommandInput, Verb
from admin.models.errors import UseCaseError
from admin.models.job_tables import JobStatus
from admin.models.transaction import Right
from admin.web.forms import Form
from admin.web.page import done, needs, page, reading, transaction

BLUEPRINT: Final = Blueprint("jobs", __name__, url_prefix="/jobs")
_FILTERS: Final = ("status", "harvest_id", "run_number", "channel", "domain", "harvester", "after")


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show jobs, newest first, with filters."""
    sent = {name: request.args.get(name, "").strip() for name in _FILTERS}
    given: dict[str, Any] = {name: text for name, text in sent.items() if text}
    problem = ""
    for name in ("harvest_id", "run_number"):
        if name in given and not given[name].isdecimal():
            problem = f"{name}: {given.pop(name)!r} is no number"
        elif name in given:
            given[name] = int(given[name])
    if "status" in given:
        given["status"] = JobStatus(given["status"]) if given["status"] in JobStatus else None
    with reading() as opened:
        try:
            jobs = listing.list_jobs(opened, **given)
        except UseCaseError as error:
            problem, jobs = str(error), listing.list_jobs(opened)
        counts = listing.count_by_status(opened)
    form = Form(given)
    return page("jobs/index.html", jobs=jobs, counts=counts, form=form, problem=problem, statuses=list(JobStatus))


@BLUEPRINT.get("/<int:number>", endpoint="show")
@needs(Right.READ)
def show(number: int) -> Response:
    """Show one job."""
    return page("jobs/show.html", **_values(number))


@BLUEPRINT.get("/<int:number>/live", endpoint="live")
@needs(Right.READ)
def live(number: int) -> Response:
    """Show the part of a job's page that changes while the job runs."""
    return page("jobs/live.html", **_values(number))


@BLUEPRINT.get("/<int:number>/domains", endpoint="domains")
@needs(Right.READ)
def domains(number: int) -> Response:
    """Show the job's domains, why each is in the job, and what the job got of it."""
    with reading() as opened:
        job = listing.show_job(opened, number)
        found = listing.job_domains(opened, number, after=request.args.get("after"), limit=200)
    return page("jobs/domains.html", job=job, domains=found)


@BLUEPRINT.get("/<int:number>/setup", endpoint="setup")
@needs(Right.READ)
def setup(number: int) -> Response:
    """Show what the job was made of: profile, seeds, facts."""
    with reading() as opened:
        job = listing.show_job(opened, number)
        seeds = listing.job_seeds(opened, number).decode().splitlines()
    return page("jobs/setup.html", job=job, seeds=seeds[:1000], seeds_count=len(seeds))


@BLUEPRINT.get("/<int:number>/seeds.txt", endpoint="seeds")
@needs(Right.READ)
def seeds(number: int) -> Response:
    """Return the job's seeds for download."""
    with reading() as opened:
        text = listing.job_seeds(opened, number)
    headers = {"Content-Disposition": f'attachment; filename="job-{number}-seeds.txt"'}
    return Response(text, content_type="text/plain; charset=utf-8", headers=headers)


@BLUEPRINT.route("/<int:number>/command", methods=["POST"], endpoint="command")
@needs(Right.OPERATE)
def command(number: int) -> Response:
    """Give a command to a running job."""
    form = Form({"verb": "", "urls": "", "host": "", "expression": "", "limits": "", "reason": ""})

    def give(given: JobCommandInput) -> steering.JobCommandView:
        with transaction() as opened:
            return steering.give_command(opened, number, given)

    result = form.run(give, JobCommandInput, _command_of)
    if result is not None:
        return done(f"Job {number} was told to {result.verb}.", "jobs.show", number=number)
    return page("jobs/show.html", 422, **{**_values(number), "form": form})


@BLUEPRINT.post("/<int:number>/<any(resubmit, reject, undo_reject, cancel):action>", endpoint="act")
@needs(Right.OPERATE)
def act(number: int, action: str) -> Response:
    """Resubmit, reject or cancel a job, or take a rejection back."""
    reason = request.form.get("reason", "")[:1000]
    with transaction() as opened:
        if action == "resubmit":
            new = steering.resubmit(opened, number)
            return done(f"Job {number} was resubmitted as job {new}.", "jobs.show", number=new)
        if action == "reject":
            steering.reject(opened, number, reason)
            return done(f"Job {number} was rejected.", "jobs.show", number=number)
        if action == "undo_reject":
            steering.undo_reject(opened, number)
            return done(f"Job {number} is failed again.", "jobs.show", number=number)
        steering.fail_job(opened, number, reason)
        return done(f"Job {number} was cancelled.", "jobs.show", number=number)


def _values(number: int) -> dict[str, Any]:
    with reading() as opened:
        job = listing.show_job(opened, number)
        samples = listing.job_samples(opened, number)
        commands = steering.list_commands(opened, number)
    form = Form({"verb": "", "urls": "", "host": "", "expression": "", "limits": "", "reason": ""})
    form.is_sent = False
    return {"job": job, "samples": samples, "commands": commands, "form": form, "verbs": list(Verb)}


def _command_of(sent: dict[str, Any]) -> dict[str, Any]:
    """Return what the use case takes, of the texts of the form."""
    values: dict[str, Any] = {"verb": sent.get("verb", ""), "reason": sent.get("reason", "")}
    if sent.get("urls", "").strip():
        values["urls"] = tuple(line.strip() for line in sent["urls"].splitlines() if line.strip())
    for name in ("host", "expression"):
        if sent.get(name, "").strip():
            values[name] = sent[name].strip()
    if sent.get("limits", "").strip():
        values["limits"] = dict(_limit(line) for line in sent["limits"].splitlines() if line.strip())
    return values


def _limit(line: str) -> tuple[str, Any]:
    name, _, value = line.partition("=")
    text = value.strip()
    return name.strip(), None if text in ("", "none") else text
