"""These pages start repairs of damaged pages, and show what came of each page and of each URL."""

from __future__ import annotations

from flask import request
from werkzeug.wrappers import Response

from admin.capture_sessions import mends
from admin.capture_sessions.mends import HandCapture
from admin.models.errors import IllegalState, InvalidInput, Problem
from admin.models.qa_tables import OVER
from admin.models.transaction import Right
from admin.qa.reviewing import missed_urls, repairs, review
from admin.qa.reviewing.missed_urls import MissRepair
from admin.qa.reviewing.repairs import NewRepair
from admin.web.page import carry_out, done, needs, page, read, transaction
from admin.web.pages.qa.session import BLUEPRINT


@BLUEPRINT.post("/<int:number>/repairs", endpoint="repair")
@needs(Right.OPERATE)
def start(number: int) -> Response:
    """Start a repair of one page, of what reviewers chose, of a host, of a kind of finding, or of all damaged pages."""
    sent = {name: request.form.get(name, "").strip() for name in ("page", "host", "kind", "chosen")}
    if len(sent["host"]) > 255 or len(sent["kind"]) > 40:
        raise InvalidInput(Problem("host", "the host or the kind of finding is too long"))
    with transaction() as opened:
        pages: list[int] = []
        if sent["page"]:
            pages = [_number(sent["page"])]
        elif sent["chosen"]:
            pages = review.pages_to_repair(opened, number)
            if not pages:
                raise IllegalState("no judged page of this session was sent to repair")
        given = NewRepair(pages=pages, host=sent["host"], kind=sent["kind"], whole="whole" in request.form)
        made = repairs.start(opened, number, given)
    return done("The repair waits for the QA process. This page shows how far it is.", "qa.show_repair", number=made.id)


@BLUEPRINT.post("/<int:number>/pages/<int:page_number>/capture-by-hand", endpoint="capture_by_hand")
@needs(Right.OPERATE)
def capture_by_hand(number: int, page_number: int) -> Response:
    """Open the page in the browser of a capture session."""
    made = carry_out(mends.capture_by_hand, number, page_number, HandCapture())
    text = "Capture the page here. It is judged again when the capture session has ended."
    return done(text, "capture.screen", number=made.capture_session, url=made.url)


@BLUEPRINT.post("/missed", endpoint="repair_missed")
@needs(Right.OPERATE)
def start_of_missed() -> Response:
    """Start a repair of one URL that readers of a collection missed, or of all."""
    url = request.form.get("url", "").strip()
    with transaction() as opened:
        given = MissRepair(urls=[url] if url else [])
        made = missed_urls.repair_missed(opened, request.form.get("collection", "").strip(), given)
    return done("The repair waits for the QA process. This page shows how far it is.", "qa.show_repair", number=made.id)


@BLUEPRINT.get("/repairs/<int:number>", endpoint="show_repair")
@needs(Right.READ)
def show(number: int) -> Response:
    """Show a repair with the scores of its pages before and after."""
    return _show(number, "qa/repair.html")


@BLUEPRINT.get("/repairs/<int:number>/live", endpoint="repair_live")
@needs(Right.READ)
def live(number: int) -> Response:
    """Show the part of a repair's page that changes while the repair goes on."""
    return _show(number, "qa/repair_live.html")


@BLUEPRINT.post("/repairs/<int:number>/stop", endpoint="stop_repair")
@needs(Right.OPERATE)
def stop(number: int) -> Response:
    """Stop a repair."""
    carry_out(repairs.stop, number)
    return done("The repair ends within seconds. What was captured stays.", "qa.show_repair", number=number)


def _show(number: int, template: str) -> Response:
    found = read(repairs.show, number)
    is_over = found.state in OVER
    is_judged = all(part.score_after >= 0 for part in found.parts)
    return page(
        template, repair=found, is_over=is_over, changes=not (is_over and (is_judged or found.after_id is None))
    )


def _number(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise InvalidInput(Problem("page", f"{text[:40]!r} is no number of a page"))
    return int(text)
