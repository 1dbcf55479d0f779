"""These pages show one page of a QA session beside its capture, and take a reviewer's decision about it.

After a decision, the next page of the list is shown. Pictures of the capture are drawn anew; the archived page itself
is shown by the viewer at its own address.
"""

from __future__ import annotations

from typing import Any, Final

from flask import redirect, request, send_file, url_for
from werkzeug.wrappers import Response

from admin.harvests.templates.comparison import side_by_side
from admin.models.errors import NotFound
from admin.models.qa_tables import Ruling
from admin.models.transaction import Right
from admin.qa import sessions
from admin.qa.judging.findings import REPAIRABLE
from admin.qa.reviewing import decisions, review
from admin.qa.reviewing.decisions import PageRuling
from admin.qa.reviewing.review import CapturedPicture
from admin.qa.sessions import QaPageView
from admin.viewing.links import page_link, viewer_origin
from admin.viewing.origins import Origins
from admin.web.forms.form import Form
from admin.web.page import carry_out, done, needs, page, read, reading, saving, site
from admin.web.pages.qa.session import BLUEPRINT, asked_filter
from admin.web.security import allow_frames
from archive.dates import timestamp14

_PICTURE_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "private, max-age=3600",
}
_MODES: Final = ("side", "slider", "overlay", "difference")
_PARTS: Final = {"view": ("view", CapturedPicture.VIEW), "full-page": ("full-page", CapturedPicture.FULL_PAGE)}
_DECIDED: Final = {Ruling.ACCEPTED: "Accepted", Ruling.REJECTED: "Rejected", Ruling.REPAIR: "Sent to repair"}


@BLUEPRINT.get("/<int:number>/pages/<int:page_number>", endpoint="review")
@needs(Right.READ)
def show(number: int, page_number: int) -> Response:
    """Show a page beside its capture."""
    return _show(number, page_number, Form({"note": "", "assigned_to": ""}))


@BLUEPRINT.get("/<int:number>/review", endpoint="begin")
@needs(Right.READ)
def begin(number: int) -> Response:
    """Go to the worst page of a filter; to the list when no page fulfils the filter."""
    chosen = asked_filter()
    first = read(review.first_page, number, chosen)
    if first is None:
        return redirect(url_for("qa.pages", number=number, **chosen.given()), 303)
    return redirect(url_for("qa.review", number=number, page_number=first, **chosen.given()), 303)


@BLUEPRINT.post("/<int:number>/pages/<int:page_number>/decide", endpoint="decide")
@needs(Right.OPERATE)
def decide(number: int, page_number: int) -> Response:
    """Take a decision, and go to the next page; a note stays on the page."""
    chosen, form = asked_filter(), Form({"note": "", "assigned_to": ""})

    names = ("ruling", "note", "assigned_to")
    if not form.is_saved_by(
        saving(decisions.decide, number, page_number),
        PageRuling,
        lambda sent: {name: sent.get(name, "") for name in names},
    ):
        return _show(number, page_number, form)
    ruling = request.form.get("ruling", "")
    given = chosen.given()
    if ruling == Ruling.NOTE:
        return done("The note was kept.", "qa.review", number=number, page_number=page_number, **given)
    _, following = read(review.neighbours, number, page_number, chosen)
    text = f"{_DECIDED.get(Ruling(ruling), ruling)}: page {page_number}."
    if following is None:
        return done(f"{text} It was the last page of the list.", "qa.pages", number=number, **given)
    return done(text, "qa.review", number=number, page_number=following.id, last=page_number, **given)


@BLUEPRINT.post("/<int:number>/pages/<int:page_number>/undo", endpoint="undo")
@needs(Right.OPERATE)
def undo(number: int, page_number: int) -> Response:
    """Take the newest decision about a page back, and show the page."""
    carry_out(decisions.undo, number, page_number)
    given = asked_filter().given()
    return done("The decision was taken back.", "qa.review", number=number, page_number=page_number, **given)


@BLUEPRINT.get("/<int:number>/pages/<int:page_number>/texts", endpoint="texts")
@needs(Right.READ)
def texts(number: int, page_number: int) -> Response:
    """Show the texts of capture and replay side by side."""
    with reading() as opened:
        session, found = sessions.find(opened, number), sessions.show_page(opened, number, page_number)
        both = review.page_texts(opened, number, page_number)
    has_both = both.captured is not None and both.replayed is not None
    rows = side_by_side(both.captured or "", both.replayed or "") if has_both else []
    values: dict[str, Any] = {
        "session": session,
        "page": found,
        "texts": both,
        "rows": rows,
        "chosen": asked_filter().given(),
    }
    return page("qa/texts.html", **values)


@BLUEPRINT.get("/<int:number>/pages/<int:page_number>/replay/<name>", endpoint="replay_picture")
@needs(Right.READ)
def replay_picture(number: int, page_number: int, name: str) -> Response:
    """Return a picture of the replay, or where the replay differs."""
    path = read(review.replay_picture, number, page_number, name)
    answer = send_file(path, "image/png", conditional=True, etag=False)
    answer.headers.update(_PICTURE_HEADERS)
    return answer


@BLUEPRINT.get("/<int:number>/pages/<int:page_number>/capture/<name>", endpoint="captured_picture")
@needs(Right.READ)
def captured_picture(number: int, page_number: int, name: str) -> Response:
    """Return a picture of the capture, drawn anew."""
    if name not in _PARTS:
        raise NotFound("picture of the capture", name[:100])
    found = read(review.captured_picture, number, page_number, _PARTS[name][1])
    return Response(found.data, content_type=found.media_type, headers=_PICTURE_HEADERS)


def _show(number: int, page_number: int, form: Form) -> Response:
    chosen = asked_filter()
    with reading() as opened:
        session = sessions.find(opened, number)
        collection, job = session.collection, session.job
        found = sessions.show_page(opened, number, page_number)
        previous, following = review.neighbours(opened, number, page_number, chosen)
        made = decisions.list_decisions(opened, number, page_number).items
        names = review.reviewers(opened)
        kept = review.captured_pictures(opened, number, page_number)
    link = page_link(site().settings, request.host, collection, found.url, timestamp14(found.captured))
    has_frame = bool(link) and _allow_replay(collection)
    last = request.args.get("last", type=int)
    part = request.args.get("part", "")
    mode = request.args.get("mode", "")
    return page(
        "qa/review.html",
        422 if form.has_problems else 200,
        number=number,
        collection=collection,
        job=job,
        page=found,
        pictures=_pictures(found, kept),
        kinds_missing=REPAIRABLE,
        part=part if part in _PARTS else "view",
        mode=mode if mode in _MODES else _MODES[0],
        modes=_MODES,
        previous=previous,
        following=following,
        ahead=_ahead(following),
        decisions=made,
        reviewers=names,
        chosen=chosen.given(),
        link=link,
        has_frame=has_frame,
        undone=last or (found.id if found.decision is not None and not found.decision.is_earlier else None),
        form=form,
    )


def _allow_replay(collection: str) -> bool:
    """Let the present page show the viewer in a frame when the viewer lets it; return whether it does."""
    settings = site().settings
    if not any(_same_origin(each, request.host_url) for each in settings.view.frame_ancestors):
        return False
    origin = viewer_origin(settings, request.host)
    bar = Origins(settings).bar_origin(collection, origin.partition("://")[2])
    allow_frames(" ".join(each for each in (origin, bar) if each))
    return True


def _same_origin(source: str, address: str) -> bool:
    return source.rstrip("/") == address.rstrip("/")


def _pictures(found: QaPageView, kept: frozenset[CapturedPicture]) -> dict[str, dict[str, str]]:
    """Return the addresses of the pictures: for the window and the whole page, those of capture and replay."""
    pictures: dict[str, dict[str, str]] = {}
    for part, (stem, kind) in _PARTS.items():
        addresses = {}
        if kind in kept:
            addresses["capture"] = _captured(found, part)
        for side, name in (("replay", f"{stem}.png"), ("difference", f"{stem}-difference.png")):
            if name in found.pictures:
                addresses[side] = _replayed(found, name)
        if addresses:
            pictures[part] = addresses
    return pictures


def _ahead(following: QaPageView | None) -> list[str]:
    """Return the addresses of the pictures that are shown first of the next page."""
    if following is None:
        return []
    found = [_replayed(following, "view.png")] if "view.png" in following.pictures else []
    return [_captured(following, "view"), *found] if "view" in following.measures else found


def _captured(found: QaPageView, part: str) -> str:
    return url_for("qa.captured_picture", number=found.session_id, page_number=found.id, name=part, v=found.captured)


def _replayed(found: QaPageView, name: str) -> str:
    return url_for("qa.replay_picture", number=found.session_id, page_number=found.id, name=name, v=found.judged)
