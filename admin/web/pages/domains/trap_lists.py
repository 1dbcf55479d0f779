"""These pages show the global lists of crawler traps, which count for every harvest while they are active."""

from __future__ import annotations

from typing import Any, Final

from flask import Blueprint, Response, request
from werkzeug.wrappers import Response as AnyResponse

from admin.harvests.domains import crawler_traps as use_cases
from admin.harvests.domains.crawler_traps import TrapListChange, TrapListCreation, TrapListView
from admin.harvests.domains.trap_expressions import trap_lines
from admin.models.transaction import Right
from admin.web.forms import trap_forms
from admin.web.forms.form import Form
from admin.web.page import done, needs, page, read, reading, saving, transaction, with_long_lists

BLUEPRINT: Final = Blueprint("trap_lists", __name__, url_prefix="/crawler-traps")
_UTF_16: Final = (b"\xff\xfe", b"\xfe\xff")
_NUMBER: Final = "<int(max=9223372036854775807):number>"


@BLUEPRINT.get("", endpoint="index")
@needs(Right.READ)
def index() -> AnyResponse:
    """Show the global lists by name."""
    with reading() as opened:
        found = use_cases.list_trap_lists(opened, after=request.args.get("after", ""))
    return page("trap_lists/index.html", lists=found)


@BLUEPRINT.route("/new", methods=["GET", "POST"], endpoint="create")
@with_long_lists
@needs(Right.CURATE)
def create() -> AnyResponse:
    """Make a global list from a text or a file."""
    form = Form(
        {"name": "", "description": "", "text": "", "is_active": True, trap_forms.SAMPLES: ""}, switches=("is_active",)
    )
    report = None
    if form.is_sent:
        form.values["text"] = _sent_text()
        if request.form.get("action") == "test":
            report = _report(form)
        else:
            made = form.run(saving(use_cases.create_trap_list), TrapListCreation, lambda sent: _given(form, sent))
            if made is not None:
                message = f"The list {made.name} was made, with {made.traps} expressions."
                return done(message, "domains.trap_lists.edit", number=made.id)
    return _page(form, None, report)


@BLUEPRINT.route(f"/{_NUMBER}", methods=["GET", "POST"], endpoint="edit")
@with_long_lists
@needs(Right.READ, changes=Right.CURATE)
def edit(number: int) -> AnyResponse:
    """Show a global list; test others in its place, or keep them."""
    found = read(use_cases.show_trap_list, number)
    form = Form({**_values(found), trap_forms.SAMPLES: ""}, switches=("is_active",))
    report = None
    if form.is_sent:
        form.values["text"] = _sent_text()
        if request.form.get("action") == "test":
            report = _report(form)
        else:
            if form.is_saved_by(
                saving(use_cases.change_trap_list, number),
                TrapListChange,
                lambda sent: _given(form, sent),
                lambda: _values(read(use_cases.show_trap_list, number)),
            ):
                return done("The list was saved.", "domains.trap_lists.index")
    return _page(form, found, report)


@BLUEPRINT.post(f"/{_NUMBER}/<any(activate, deactivate, delete):action>", endpoint="act")
@needs(Right.CURATE)
def act(number: int, action: str) -> AnyResponse:
    """Activate, deactivate or delete a global list."""
    with transaction() as opened:
        if action == "delete":
            use_cases.delete_trap_list(opened, number)
        else:
            use_cases.change_trap_list(opened, number, TrapListChange(is_active=action == "activate"))
    return done(f"The list was {action}d.", "domains.trap_lists.index")


@BLUEPRINT.get(f"/{_NUMBER}/download", endpoint="download")
@needs(Right.READ)
def download(number: int) -> Response:
    """Send the expressions of a global list, one on each line."""
    found = read(use_cases.show_trap_list, number)
    answer = Response(f"{found.text}\n", content_type="text/plain; charset=utf-8")
    answer.headers["Content-Disposition"] = f'attachment; filename="crawler-traps-{number}.txt"'
    return answer


def _sent_text() -> str:
    """Return the text of the file that was sent with the form, and of its field when there is no file.

    Files are UTF-8, or UTF-16 with a byte order mark; bytes that are neither become U+FFFD.
    """
    file = request.files.get("file")
    if file is None or not file.filename:
        return request.form.get("text", "")
    content: bytes = file.read()
    return content.decode("utf-16" if content.startswith(_UTF_16) else "utf-8-sig", "replace")


def _report(form: Form) -> trap_forms.TrapTestReport | None:
    return trap_forms.tested(form, trap_lines(str(form.value("text"))), "text")


def _given(form: Form, sent: dict[str, Any]) -> dict[str, Any]:
    values = {key: value for key, value in sent.items() if key not in (trap_forms.SAMPLES, "action")}
    return {**values, "text": form.values["text"]}


def _values(found: TrapListView) -> dict[str, Any]:
    return found.model_dump(include={"name", "description", "text", "is_active", "edition"})


def _page(form: Form, found: TrapListView | None, report: trap_forms.TrapTestReport | None) -> AnyResponse:
    status = 422 if form.has_problems else 200
    return page("trap_lists/edit.html", status, trap_list=found, form=form, report=report)
