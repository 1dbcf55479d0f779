"""These pages show jobs: the list, and one job with its progress, hosts, log, pictures, domains and commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from flask import Blueprint, request, url_for
from werkzeug.wrappers import Response

from admin.csv_text import csv_bytes
from admin.harvests.dispatch import job_domains, listing, observations, queue_answers, steering
from admin.harvests.dispatch.job_domains import DomainOrder
from admin.harvests.dispatch.listing import JobOrder
from admin.harvests.dispatch.steering import CAN_NOT_BE_UNDONE, OF_QUEUES, JobCommandInput, Verb
from admin.harvests.domains.seeds import seed_lines, split_lines
from admin.models.errors import IllegalState, InvalidInput, UseCaseError
from admin.models.job_tables import JobStatus, StopReason
from admin.models.transaction import Right
from admin.web.charts import job_charts
from admin.web.forms.form import Form
from admin.web.forms.limit_inputs import given_limits
from admin.web.forms.scope_form import asked_about
from admin.web.page import carry_out, done, needs, page, read, reading, recent, transaction, visitor

BLUEPRINT: Final = Blueprint("jobs", __name__, url_prefix="/jobs")
_FILTERS: Final = ("status", "harvest", "harvest_id", "run_number", "channel", "domain", "harvester", "order", "after")
_JOB_LIMITS: Final = ("urls", "pages", "bytes", "seconds", "host_pages")
_DOMAIN_LIMITS: Final = ("objects", "bytes")
_COMMAND_FIELDS: Final = (
    *("urls", "host", "expression", "domain", "groups", "reason", "priority", "force", "state", "page"),
    *("url", "profile"),
    *(f"max_{name}" for name in _DOMAIN_LIMITS),
    *(f"job_{name}" for name in _JOB_LIMITS),
)
_HOST_COLUMNS: Final = ("host", "queued", "objects", "failed", "kind", "why")
_NO_LIMIT: Final = "none"
_MOST_SHOWN: Final = 20
_PICTURE_POLICY: Final = "default-src 'none'; sandbox"
_QUESTIONS: Final = {
    Verb.STOP_AFTER_PAGE: "Stop job {} after the pages that are being visited? It can't go on later.",
    Verb.STOP_NOW: "Stop job {} now? Pages that are being visited break off, and the job can't go on later.",
    Verb.DELETE_URLS: "Delete the queued URLs of job {} in which the expression is found? They count as excluded.",
    Verb.ADD_REJECT: "Reject these URLs in job {}? The rule can't be taken back while the job runs.",
}
_ACT_QUESTIONS: Final = {
    "resubmit": "Make a new job with the content of job {}? Job {} stays as it is, and is marked as resubmitted.",
    "cancel": "Cancel job {}? It counts as failed then, and can be resubmitted.",
}


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show jobs with filters, in an order."""
    sent = {name: request.args.get(name, "").strip() for name in _FILTERS}
    given: dict[str, Any] = {name: text for name, text in sent.items() if text}
    form = Form({"harvest": "", **given}, places={"harvest_id": "harvest"})
    problem = ""
    for name in ("harvest_id", "run_number"):
        if name in given and not (given[name].isascii() and given[name].isdecimal() and len(given[name]) < 19):
            form.add(name, f"{given.pop(name)[:50]!r} is no number")
        elif name in given:
            given[name] = int(given[name])
    for name, kind in (("status", JobStatus), ("order", JobOrder)):
        if name in given and given[name] not in kind:
            form.add(name, f"{given.pop(name)[:50]!r} is none of these; choose one")
    try:
        jobs = recent("jobs", lambda opened: listing.list_jobs(opened, **given), *sorted(given.items()))
    except UseCaseError as error:
        problem, jobs = f"{error}. All jobs are shown", recent("jobs", listing.list_jobs)
    counts = recent("counts of jobs", listing.count_by_status)
    if not problem and form.has_problems:
        problem = "A filter can't be used, and is left out"
    statuses, orders = list(JobStatus), list(JobOrder)
    return page(
        "jobs/index.html", jobs=jobs, counts=counts, form=form, problem=problem, statuses=statuses, orders=orders
    )


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


@BLUEPRINT.get("/<int:number>/log", endpoint="log")
@needs(Right.READ)
def log(number: int) -> Response:
    """Show the end of a running job's crawl.log, and search it."""
    return _log(number, "jobs/log.html")


@BLUEPRINT.get("/<int:number>/log/live", endpoint="log_live")
@needs(Right.READ)
def log_live(number: int) -> Response:
    """Show the lines of the log."""
    return _log(number, "jobs/log_lines.html")


@BLUEPRINT.get("/<int:number>/queues", endpoint="queues")
@needs(Right.READ)
def queues(number: int) -> Response:
    """Show the hosts with the longest queues of a running job, and the URLs that an operator asked for."""
    return page("jobs/queues.html", **_queue_values(number))


@BLUEPRINT.get("/<int:number>/queues/answer", endpoint="queue_answer")
@needs(Right.READ)
def queue_answer(number: int) -> Response:
    """Show the part of the page of the queues that has the answer."""
    return page("jobs/queue_answer.html", **_queue_values(number))


@BLUEPRINT.get("/<int:number>/edits", endpoint="edits")
@needs(Right.READ)
def edits(number: int) -> Response:
    """Show who changed which keys of the profile of a job, from what and to what, and the patch that this makes."""
    with reading() as opened:
        job = listing.show_job(opened, number)
        found = queue_answers.list_edits(opened, number)
    return page("jobs/edits.html", job=job, found=found)


@BLUEPRINT.get("/<int:number>/edits.yaml", endpoint="edits_yaml")
@needs(Right.READ)
def edits_yaml(number: int) -> Response:
    """Return the patch for download."""
    with reading() as opened:
        text = queue_answers.list_edits(opened, number).patch
    headers = {"Content-Disposition": f'attachment; filename="job-{number}-edits.yaml"'}
    return Response(text, content_type="application/yaml; charset=utf-8", headers=headers)


@BLUEPRINT.get("/<int:number>/pictures/<int:picture>", endpoint="picture")
@needs(Right.READ)
def picture(number: int, picture: int) -> Response:
    """Return a small picture of a page; nothing in it can become active."""
    image = read(observations.picture_bytes, number, picture)
    headers = {
        "Content-Security-Policy": _PICTURE_POLICY,
        "X-Content-Type-Options": "nosniff",
        "Content-Disposition": "inline",
        "Cache-Control": "private, max-age=86400, immutable",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    return Response(image, content_type=observations.picture_type(image), headers=headers)


@BLUEPRINT.get("/<int:number>/domains", endpoint="domains")
@needs(Right.READ)
def domains(number: int) -> Response:
    """Show the job's domains, why each is in the job, what the job got of it, and why it ended there."""
    order, reason = request.args.get("order", "name"), request.args.get("stop_reason", "")
    with reading() as opened:
        job = listing.show_job(opened, number)
        found = job_domains.list_job_domains(
            opened,
            number,
            order=DomainOrder(order) if order in DomainOrder else DomainOrder.NAME,
            stop_reason=StopReason(reason) if reason in StopReason else None,
            after=request.args.get("after"),
            limit=200,
        )
        reasons = job_domains.stop_reasons(opened, number)
    return page("jobs/domains.html", job=job, domains=found, reasons=reasons, order=order, reason=reason)


@BLUEPRINT.get("/<int:number>/domains.csv", endpoint="domains_csv")
@needs(Right.READ)
def domains_csv(number: int) -> Response:
    """Return the job's domains as CSV, for spreadsheets."""
    with reading() as opened:
        listing.show_job(opened, number)
        text = job_domains.job_domains_csv(opened, number)
    headers = {"Content-Disposition": f'attachment; filename="job-{number}-domains.csv"'}
    return Response(text, content_type="text/csv; charset=utf-8", headers=headers)


@BLUEPRINT.get("/<int:number>/hosts.csv", endpoint="hosts_csv")
@needs(Right.READ)
def hosts_csv(number: int) -> Response:
    """Return the hosts of the newest report with their queues as CSV, for spreadsheets."""
    with reading() as opened:
        listing.show_job(opened, number)
        samples = listing.job_curve(opened, number)
    hosts = samples[-1].hosts if samples else []
    text = csv_bytes(_HOST_COLUMNS, [[each.get(name, "") for name in _HOST_COLUMNS] for each in hosts])
    headers = {"Content-Disposition": f'attachment; filename="job-{number}-hosts.csv"'}
    return Response(text, content_type="text/csv; charset=utf-8", headers=headers)


@BLUEPRINT.get("/<int:number>/setup", endpoint="setup")
@needs(Right.READ)
def setup(number: int) -> Response:
    """Show what the job was made of: profile, seeds, facts."""
    with reading() as opened:
        job = listing.show_job(opened, number)
        seeds = list(seed_lines(listing.job_seeds(opened, number).decode()))
    return page("jobs/setup.html", job=job, seeds=seeds[:1000], seeds_count=len(seeds))


@BLUEPRINT.get("/<int:number>/scope", endpoint="scope")
@needs(Right.CURATE)
def scope(number: int) -> Response:
    """Say why URLs are in or out of the scope of a job."""
    with reading() as opened:
        listing.show_job(opened, number)
        asked = asked_about(opened, job_id=number)
    back = url_for("jobs.show", number=number)
    return page("templates/scope.html", asked.status, asked=asked, title=f"job {number}", back=back, has_seeds=True)


@BLUEPRINT.get("/<int:number>/seeds.txt", endpoint="seeds")
@needs(Right.READ)
def seeds(number: int) -> Response:
    """Return the job's seeds for download."""
    text = read(listing.job_seeds, number)
    headers = {"Content-Disposition": f'attachment; filename="job-{number}-seeds.txt"'}
    return Response(text, content_type="text/plain; charset=utf-8", headers=headers)


@BLUEPRINT.route("/<int:number>/command", methods=["POST"], endpoint="command")
@needs(Right.OPERATE)
def command(number: int) -> Response:
    """Give a command to a running job, and ask first when it can't be undone."""
    is_of_domain = request.form.get("verb") == Verb.SET_DOMAIN_LIMITS
    prefix, names = ("max", _DOMAIN_LIMITS) if is_of_domain else ("job", _JOB_LIMITS)
    places = {f"limits.{name}": f"{prefix}_{name}" for name in names}
    if request.form.get("verb") == Verb.SHOW_URL:
        places["urls"] = "url"
    form = Form(dict.fromkeys(("verb", *_COMMAND_FIELDS), ""), places=places)
    is_confirmed = request.form.get("confirmed") == "yes"
    asked: list[JobCommandInput] = []

    def give(given: JobCommandInput) -> steering.JobCommandView | None:
        if given.verb in CAN_NOT_BE_UNDONE and not is_confirmed:
            with reading() as opened:
                if (status := listing.show_job(opened, number).status) is not JobStatus.STARTED:
                    raise IllegalState(f"job {number} is {status}; only a STARTED job takes commands")
            steering.check_command(given)
            asked.append(given)
            return None
        return carry_out(steering.give_command, number, given)

    result = form.run(give, JobCommandInput, _command_of)
    if asked:
        question = _QUESTIONS[asked[0].verb].format(number)
        fields = {name: request.form[name] for name in ("verb", *_COMMAND_FIELDS) if request.form.get(name)}
        return page("jobs/confirm.html", number=number, question=question, fields=fields, label=str(asked[0].verb))
    is_of_queues = request.form.get("page") == "queues" or request.form.get("verb") in OF_QUEUES
    if result is not None:
        text = f"Job {number} was told to {result.verb}. Its harvester answers with its next report."
        return done(text, "jobs.queues" if is_of_queues else "jobs.show", number=number)
    if is_of_queues:
        return page("jobs/queues.html", 422, **{**_queue_values(number), "form": form})
    return page("jobs/show.html", 422, **{**_values(number), "form": form})


@BLUEPRINT.post("/<int:number>/<any(resubmit, reject, undo_reject, cancel):action>", endpoint="act")
@needs(Right.OPERATE)
def act(number: int, action: str) -> Response:
    """Resubmit, reject or cancel a job, or take a rejection back; ask first when it can't be undone."""
    reason = request.form.get("reason", "")[:1000]
    if action in _ACT_QUESTIONS and request.form.get("confirmed") != "yes":
        read(listing.show_job, number)
        question = _ACT_QUESTIONS[action].format(number, number)
        fields = {"reason": reason} if reason else {}
        return page("jobs/confirm.html", number=number, question=question, fields=fields, label=action)
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
        samples = listing.job_curve(opened, number)
        commands = steering.list_commands(opened, number)
        pictures = observations.list_pictures(opened, number)
        reasons = job_domains.stop_reasons(opened, number)
    form = Form(dict.fromkeys(("verb", *_COMMAND_FIELDS), ""))
    form.is_sent = False
    return {
        "job": job,
        "samples": samples,
        "charts": job_charts(samples, visitor().zone),
        "commands": commands,
        "is_paused": steering.is_paused(commands),
        "pictures": pictures,
        "reasons": reasons,
        "form": form,
        "verbs": list(Verb),
    }


def _queue_values(number: int) -> dict[str, Any]:
    with reading() as opened:
        job = listing.show_job(opened, number)
        hosts = queue_answers.list_queues(opened, number)
        answer = queue_answers.latest_answer(opened, number)
        commands = [each for each in steering.list_commands(opened, number) if each.verb in OF_QUEUES][:_MOST_SHOWN]
    form = Form(dict.fromkeys(("verb", *_COMMAND_FIELDS), ""))
    form.is_sent = False
    return {"job": job, "hosts": hosts, "answer": answer, "commands": commands, "form": form}


def _log(number: int, template: str) -> Response:
    form = Form({"pattern": request.args.get("pattern", "")})
    found = None
    with reading() as opened:
        job = listing.show_job(opened, number)
        try:
            found = observations.show_log(opened, number, pattern=form.value("pattern"))
        except UseCaseError as error:
            form.take(error)
    return page(template, 422 if form.has_problems else 200, job=job, log=found, form=form)


def _command_of(sent: dict[str, Any]) -> dict[str, Any]:
    """Return what the use case takes, of the texts of the form."""
    values: dict[str, Any] = {"verb": sent.get("verb", ""), "reason": sent.get("reason", "")}
    if sent.get("urls", "").strip():
        values["urls"] = tuple(line.strip() for line in split_lines(sent["urls"]) if line.strip())
    if values["verb"] == Verb.SET_GROUPS:
        values["groups"] = tuple(line.strip() for line in sent.get("groups", "").splitlines() if line.strip())
    if sent.get("profile", "").strip():
        values["profile"] = sent["profile"]
    if values["verb"] == Verb.SHOW_URL:
        values["urls"] = (sent.get("url", "").strip(),)
    for name in ("host", "expression", "domain", "priority", "state"):
        if sent.get(name, "").strip():
            values[name] = sent[name].strip()
    if sent.get("force"):
        values["force"] = True
    if values["verb"] == Verb.SET_LIMITS:
        values["limits"] = _limits(sent, "job", _JOB_LIMITS)
    if values["verb"] == Verb.SET_DOMAIN_LIMITS:
        values["limits"] = _limits(sent, "max", _DOMAIN_LIMITS)
    return values


def _limits(sent: dict[str, Any], prefix: str, names: Sequence[str]) -> dict[str, int | None]:
    """Return the limits that a person wrote; None for `none`, and nothing for an empty field. Raises InvalidInput."""
    given = {f"limits.{name}": text for name in names if (text := sent.get(f"{prefix}_{name}", "").strip())}
    numbers, problems = given_limits({field: text for field, text in given.items() if text != _NO_LIMIT})
    if problems:
        raise InvalidInput(*problems)
    return {field.removeprefix("limits."): numbers.get(field) for field in given}
