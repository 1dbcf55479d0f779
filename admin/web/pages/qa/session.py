"""These pages list QA sessions and repairs, start a session, and show one with its progress and its scores."""

from __future__ import annotations

from contextlib import suppress
from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.harvests.dispatch.qa_sessions import run_names
from admin.harvests.domains.seeds import split_lines
from admin.models.errors import IllegalState, InvalidInput, NotFound, Problem
from admin.models.qa_tables import PageChoice, Ruling
from admin.models.transaction import Right
from admin.qa import sessions
from admin.qa.judging.findings import DamageSeverity, FindingKind
from admin.qa.reviewing import missed_urls, repairs, review
from admin.qa.reviewing.review import PageFilter
from admin.qa.sessions import NewQaSession, QaSessionView
from admin.web.forms.form import Form
from admin.web.page import carry_out, done, needs, page, reading, transaction, with_long_lists

BLUEPRINT: Final = Blueprint("qa", __name__, url_prefix="/qa")
_TEXTS: Final = ("collection", "jobs", "sample", "urls")
_MOST_JOBS: Final = 100
_MISSED: Final = 50
"""Number of missed URLs that the page of a collection lists."""
_FILTERS: Final = ("kind", "host", "severity", "ruling", "reviewer")


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show QA sessions and the newest repairs."""
    collection = request.args.get("collection", "").strip()[:255]
    with reading() as opened:
        found = sessions.list_sessions(opened, collection, after=request.args.get("after"))
        newest = repairs.list_repairs(opened, collection, limit=20)
        missed = None
        with suppress(NotFound, IllegalState):  # a name that was typed, or a collection without an index
            missed = missed_urls.list_missed(opened, collection, limit=_MISSED) if collection else None
    return page("qa/index.html", sessions=found, repairs=newest, collection=collection, missed=missed)


@BLUEPRINT.route("/start", methods=["GET", "POST"], endpoint="start")
@with_long_lists
@needs(Right.READ, changes=Right.OPERATE)
def start() -> Response:
    """Start a QA session of a collection or of a list of pages, or one of each of several jobs."""
    form = Form({**dict.fromkeys(_TEXTS, ""), "choice": PageChoice.SPREAD}, switches=("follows",))
    if form.is_sent:
        made = _start(form)
        if len(made) == 1:
            return done(
                "The QA session waits for the QA process. This page shows how far it is.", "qa.show", number=made[0]
            )
        if made:
            return done(f"{len(made)} QA sessions were started, one for each job.", "qa.index")
    elif not form.is_kept:
        form.values |= {"collection": request.args.get("collection", "")[:255], "jobs": _asked_jobs()}
    return page("qa/start.html", 422 if form.has_problems else 200, form=form, choices=list(PageChoice))


@BLUEPRINT.get("/<int:number>", endpoint="show")
@needs(Right.READ)
def show(number: int) -> Response:
    """Show a QA session."""
    with reading() as opened:
        rulings = review.ruling_counts(opened, number)
        return page("qa/show.html", **_values(number), rulings=rulings, to_repair=rulings.get(Ruling.REPAIR, 0))


@BLUEPRINT.get("/<int:number>/live", endpoint="live")
@needs(Right.READ)
def live(number: int) -> Response:
    """Show the part of a session's page that changes while the session goes on."""
    return page("qa/live.html", **_values(number))


@BLUEPRINT.post("/<int:number>/<any(stop, resume):action>", endpoint="act")
@needs(Right.OPERATE)
def act(number: int, action: str) -> Response:
    """Stop a session, or let it go on."""
    with transaction() as opened:
        if action == "stop":
            sessions.stop(opened, number)
            return done("The session ends within seconds. It can be resumed.", "qa.show", number=number)
        sessions.resume(opened, number)
    return done("The session goes on as soon as the QA process takes it.", "qa.show", number=number)


@BLUEPRINT.post("/<int:number>/delete", endpoint="delete")
@needs(Right.CURATE)
def delete(number: int) -> Response:
    """Delete a session with its judgements."""
    carry_out(sessions.delete, number)
    return done(f"QA session {number} was deleted. Decisions about pages stay.", "qa.index")


@BLUEPRINT.get("/<int:number>/pages", endpoint="pages")
@needs(Right.READ)
def pages(number: int) -> Response:
    """Show the pages of a session, the worst first."""
    chosen, problem = asked_filter(), ""
    with reading() as opened:
        session = sessions.show(opened, number)
        try:
            found = sessions.list_pages(opened, number, after=request.args.get("after"), **chosen.given())
        except InvalidInput as error:
            found, problem = sessions.list_pages(opened, number, **chosen.given()), str(error)
        names = review.reviewers(opened)
    rulings = ["open", *(each for each in Ruling if each not in (Ruling.NOTHING, Ruling.NOTE))]
    return page(
        "qa/pages.html",
        422 if problem else 200,
        session=session,
        pages=found,
        chosen=chosen.given(),
        form=Form(dict.fromkeys(_FILTERS, "") | chosen.given()),
        problem=problem,
        kinds=list(FindingKind),
        severities=list(DamageSeverity),
        rulings=rulings,
        reviewers=names,
    )


def asked_filter() -> PageFilter:
    """Return the filter that the query of the present request names."""
    return PageFilter(**{name: request.args.get(name, "").strip()[:255] for name in _FILTERS})


def _values(number: int) -> dict[str, Any]:
    with reading() as opened:
        return {"session": sessions.show(opened, number)}


def _start(form: Form) -> list[int]:
    """Start a session for each job that was named, or one without a job, and return their numbers."""
    sent = form.sent()
    jobs = [line.strip() for line in str(sent.get("jobs", "")).splitlines() if line.strip()]
    if len(jobs) > _MOST_JOBS:
        form.add("jobs", f"there are {len(jobs):,} jobs; name at most {_MOST_JOBS} at once")
        return []

    targets: list[str | None] = [*jobs] or [None]

    def save(given: NewQaSession) -> list[int]:
        with transaction() as opened:
            views: list[QaSessionView] = [
                sessions.start(opened, given.model_copy(update={"job": job})) for job in targets
            ]
        return [view.id for view in views]

    def values(sent: dict[str, Any]) -> dict[str, Any]:
        long = next((job for job in jobs if len(job) > 255), None)
        if long is not None:
            raise InvalidInput(Problem("jobs", f"{long[:40]!r}… is too long for the name of a run"))
        return {
            "collection": str(sent.get("collection", "")).strip(),
            "sample": str(sent.get("sample", "")).strip(),
            "choice": sent.get("choice") or PageChoice.SPREAD,
            "urls": split_lines(str(sent.get("urls", ""))),
            "follows": sent.get("follows", False),
        }

    return form.run(save, NewQaSession, values) or []


def _asked_jobs() -> str:
    """Return the names of the runs that the query asks for: one, or those of all jobs of a run of a harvest."""
    if job := request.args.get("job", "")[:255]:
        return job
    harvest, run = request.args.get("harvest", "")[:255], request.args.get("run_number", "")
    if not harvest or not (run.isascii() and run.isdecimal() and len(run) < 10):
        return ""
    with reading() as opened:
        return "\n".join(run_names(opened, harvest, int(run)))
