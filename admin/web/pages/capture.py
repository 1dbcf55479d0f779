"""These pages make capture sessions, show what is kept while a person captures by hand, and end them."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, request
from werkzeug.wrappers import Response

from admin.capture_sessions import harvest, mends, notes, sessions
from admin.capture_sessions.harvest import HarvestFromSession
from admin.capture_sessions.notes import NewCaptureNote
from admin.capture_sessions.page_facts import picture_of, urls_with_picture
from admin.capture_sessions.recording import session_folder
from admin.capture_sessions.session_log import last_kept_urls
from admin.capture_sessions.sessions import CaptureAccess, CaptureSessionView, NewCaptureSession
from admin.models.capture_tables import CaptureDoor, CaptureState
from admin.models.errors import Forbidden, IllegalState, NotFound
from admin.models.transaction import Right
from admin.web.forms.form import Form
from admin.web.page import done, needs, page, read, reading, saving, transaction, visitor
from admin.web.security import is_from_another_site

BLUEPRINT: Final = Blueprint("capture", __name__, url_prefix="/capture")
_DONE: Final = {
    "pause": "The recording is paused. What the browser fetches now is not kept.",
    "resume": "The recording goes on within seconds.",
    "end": "The session ends within seconds. Its WARC files are closed then.",
}


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> Response:
    """Show capture sessions."""
    collection = request.args.get("collection", "").strip()[:255]
    with reading() as opened:
        found = sessions.list_sessions(opened, collection, after=request.args.get("after"))
    return page("capture/index.html", sessions=found, collection=collection)


@BLUEPRINT.route("/start", methods=["GET", "POST"], endpoint="start")
@needs(Right.OPERATE)
def start() -> Response:
    """Make a capture session for the person's own browser."""
    texts = dict.fromkeys(("collection", "title", "description", "hours"), "")
    form = Form(
        {**texts, "keeps_secrets": False, "keeps_cookies": True, "screen": True},
        switches=("keeps_secrets", "keeps_cookies", "screen"),
    )
    if form.is_sent:
        made = form.run(saving(sessions.start), NewCaptureSession, _given)
        if made is not None:
            if made.door is CaptureDoor.SCREEN:
                return done("The session is open.", "capture.screen", number=made.id, url=request.args.get("url", ""))
            return done(
                "The session is open. Configure your browser as this page says.", "capture.show", number=made.id
            )
    elif not form.is_kept:
        form.values["collection"] = request.args.get("collection", "")[:255]
    return page("capture/start.html", 422 if form.has_problems else 200, form=form)


@BLUEPRINT.get("/<int:number>", endpoint="show")
@needs(Right.READ)
def show(number: int) -> Response:
    """Show a capture session, and to its owner what the browser needs."""
    with reading() as opened:
        found = sessions.show(opened, number)
        access: CaptureAccess | None = None
        if found.door is CaptureDoor.OWN_BROWSER and found.state in (CaptureState.OPEN, CaptureState.PAUSED):
            try:
                access = sessions.show_access(opened, number)
            except (Forbidden, IllegalState):
                access = None
    return page("capture/show.html", **_values(number), access=access, form=Form(_form_values(found)))


@BLUEPRINT.get("/<int:number>/screen", endpoint="screen")
@needs(Right.OPERATE)
def screen(number: int) -> Response:
    """Show the browser of the session, which the person steers. It opens no URL that another site has chosen."""
    with reading() as opened:
        found = sessions.show(opened, number)
        if not sessions.may_steer(opened, sessions.find(opened, number)):
            raise Forbidden(f"capture session {number} belongs to {found.owner}")
        if found.door is not CaptureDoor.SCREEN or found.state not in (CaptureState.OPEN, CaptureState.PAUSED):
            raise NotFound("open screen of capture session", number)
    url = "" if is_from_another_site() else request.args.get("url", "")[:2_000]
    return page("capture/screen.html", **_values(number), url=url)


@BLUEPRINT.get("/<int:number>/live", endpoint="live")
@needs(Right.READ)
def live(number: int) -> Response:
    """Show the part of a session's page that changes while a person captures."""
    return page("capture/live.html", **_values(number))


@BLUEPRINT.post("/<int:number>/<any(pause, resume, end):action>", endpoint="act")
@needs(Right.OPERATE)
def act(number: int, action: str) -> Response:
    """Pause a session, go on with it, or end it."""
    steps = {"pause": sessions.pause, "resume": sessions.resume, "end": sessions.end}
    with transaction() as opened:
        steps[action](opened, number)
    return done(_DONE[action], "capture.show", number=number)


@BLUEPRINT.get("/<int:number>/pages", endpoint="pages")
@needs(Right.READ)
def pages(number: int) -> Response:
    """Show all pages of a session in the order of the visits."""
    with reading() as opened:
        found = sessions.show(opened, number)
        listed = sessions.list_pages(opened, number, after=request.args.get("after"))
        pictured = urls_with_picture(opened.settings, found.collection, [each.url for each in listed.items])
        noted = notes.notes_of_pages(opened, number, listed.items)
    return page("capture/pages.html", session=found, pages=listed, pictured=pictured, noted=noted)


@BLUEPRINT.get("/<int:number>/notes", endpoint="notes")
@needs(Right.READ)
def list_notes(number: int) -> Response:
    """Show all notes of a session in the order of the writing."""
    with reading() as opened:
        found = sessions.show(opened, number)
        listed = notes.list_notes(opened, number, after=request.args.get("after"))
    return page("capture/notes.html", session=found, notes=listed)


@BLUEPRINT.post("/<int:number>/notes", endpoint="note")
@needs(Right.OPERATE)
def write_note(number: int) -> Response:
    """Write a note about a page. The page with the browser asks for a line of text as the answer."""
    form = Form({"note": "", "url": ""})

    made = form.run(saving(notes.write_note, number), NewCaptureNote)
    if request.accept_mimetypes.best == "text/plain":
        if made is None:
            problems = [*form.whole, *(f"{name}: {text}" for name, texts in form.problems.items() for text in texts)]
            return Response("; ".join(problems), 422, mimetype="text/plain")
        return Response("The note was kept.", mimetype="text/plain")
    if made is not None:
        return done("The note was kept.", "capture.show", number=number)
    return _show_again(number, form)


@BLUEPRINT.get("/<int:number>/pages/<int:at>/picture", endpoint="picture")
@needs(Right.READ)
def picture(number: int, at: int) -> Response:
    """Send the picture of a page of a session."""
    with reading() as opened:
        found = sessions.show(opened, number)
        shown = sessions.find_page(opened, number, at)
        settings = opened.settings
    jpeg = picture_of(settings, found.collection, shown.url, shown.captured)
    if jpeg is None:
        raise NotFound("picture of the page", at)
    return Response(jpeg, mimetype="image/jpeg", headers={"Cache-Control": "private, max-age=86400"})


@BLUEPRINT.get("/<int:number>/seeds.txt", endpoint="seeds")
@needs(Right.READ)
def seeds(number: int) -> Response:
    """Download the URLs of the pages as a list of seeds."""
    urls = read(sessions.page_urls, number)
    name = f"attachment; filename=manual-{number}-seeds.txt"
    return Response("".join(f"{url}\n" for url in urls), mimetype="text/plain", headers={"Content-Disposition": name})


@BLUEPRINT.post("/<int:number>/harvest", endpoint="harvest")
@needs(Right.CURATE)
def make_harvest(number: int) -> Response:
    """Make a harvest whose seeds are the pages of the session."""
    form = Form({"name": "", "template": ""})

    def save(given: HarvestFromSession) -> str:
        with transaction() as opened:
            return harvest.make_harvest(opened, number, given).name

    made = form.run(save, HarvestFromSession, lambda sent: {**sent, "template": sent.get("template") or None})
    if made is not None:
        return done(f"Harvest {made} was made. It is not active yet.", "harvests.show", name=made)
    return _show_again(number, form)


@BLUEPRINT.get("/ca.pem", endpoint="ca")
@needs(Right.READ)
def ca() -> Response:
    """Download the certificate of the recording proxies, which a person's browser must trust."""
    with reading() as opened:
        path = opened.settings.home / "ca" / "ca.pem"
    try:
        pem = path.read_bytes()
    except FileNotFoundError as error:
        raise NotFound("certificate; the first recording proxy of the home makes it", "ca.pem") from error
    headers = {"Content-Disposition": "attachment; filename=ghostfleet-ca.pem"}
    return Response(pem, mimetype="application/x-x509-ca-cert", headers=headers)


def _show_again(number: int, form: Form) -> Response:
    """Show a session with what was wrong in one of its forms."""
    values = _values(number)
    form.values = {**_form_values(values["session"]), **form.values}
    return page("capture/show.html", 422, **values, access=None, form=form)


def _form_values(session: CaptureSessionView) -> dict[str, str]:
    """Return what the forms on the page of a session show first."""
    return {"name": session.run, "template": "", "note": "", "url": ""}


def _values(number: int) -> dict[str, Any]:
    with reading() as opened:
        found = sessions.show(opened, number)
        silence = sessions.silence(opened, number)
        newest = sessions.last_pages(opened, number)
        written = notes.last_notes(opened, number)
        noted = notes.notes_of_pages(opened, number, newest)
        mended = mends.mended_pages(opened, number)
        folder = session_folder(opened.settings, found.collection, number)
        pictured = urls_with_picture(opened.settings, found.collection, [each.url for each in newest])
        may_steer = visitor().may("operate") and sessions.may_steer(opened, sessions.find(opened, number))
    urls = last_kept_urls(folder)
    return {
        "session": found,
        "silence": silence,
        "pages": newest,
        "notes": written,
        "noted": noted,
        "mends": mended,
        "pictured": pictured,
        "urls": urls,
        "may_steer": may_steer,
    }


def _given(sent: dict[str, Any]) -> dict[str, Any]:
    """Return what the form sent as the input of the use case. Empty hours are those of the setting."""
    return {**sent, "hours": sent.get("hours") or None}
