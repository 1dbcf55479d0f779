"""These pages add many domains from a list, and give the report of what could not be used."""

from __future__ import annotations

from typing import BinaryIO, Final, cast

from flask import Blueprint, Response, abort, request, send_file
from werkzeug.wrappers import Response as AnyResponse

from admin.harvests.domains.upload_lines import pieces_of_file
from admin.harvests.domains.uploads import UploadReport, upload_domains
from admin.models.errors import UseCaseError
from admin.models.transaction import Right
from admin.web.forms.form import Form
from admin.web.page import needs, page, site, visitor, with_long_lists
from admin.web.upload_reports import UploadReportFile, report_path

BLUEPRINT: Final = Blueprint("uploads", __name__, url_prefix="/upload")
_MOST_SHOWN: Final = 100


@BLUEPRINT.route("", methods=["GET", "POST"], endpoint="create")
@with_long_lists
@needs(Right.CURATE)
def create() -> AnyResponse:
    """Add many domains from a list, one on each line."""
    form, report, token = Form({"text": ""}), None, ""
    if form.is_sent:
        written = UploadReportFile(site().settings.home, visitor().actor.user_id or 0)
        try:
            report = _uploaded(form, written)
        finally:
            token = written.token if written.close() else ""
    status = 422 if form.has_problems else 200
    return page("domains/upload.html", status, form=form, report=report, token=token, most=_MOST_SHOWN)


@BLUEPRINT.get("/reports/<token>", endpoint="report")
@needs(Right.CURATE)
def report(token: str) -> Response:
    """Send the lines of an upload that could not be used, with their numbers and the reasons."""
    path = report_path(site().settings.home, visitor().actor.user_id or 0, token)
    if path is None:
        abort(404, "there is no such report; reports are kept for a day")
    return send_file(path, "text/plain; charset=utf-8", as_attachment=True, download_name="lines-not-used.txt")


def _uploaded(form: Form, written: UploadReportFile) -> UploadReport | None:
    """Add the domains of the file, or of the text when there is no file. Return None when the list can't be read."""
    file = request.files.get("file")
    database, actor = site().database, visitor().actor
    try:
        if file is not None and file.filename:
            return upload_domains(database, actor, pieces_of_file(cast(BinaryIO, file.stream)), on_problem=written.add)
        return upload_domains(database, actor, [request.form.get("text", "")], on_problem=written.add)
    except UseCaseError as error:
        form.take(error)
        return None
