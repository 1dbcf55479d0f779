"""These pages show the reports, logs and set-up that an ended job left in its metadata file, with search in them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from flask import redirect, request, url_for
from werkzeug.wrappers import Response

from admin.harvests.dispatch import job_documents, listing
from admin.harvests.dispatch.job_documents import DocumentLine
from admin.models.errors import IllegalState, InvalidInput, NotFound
from admin.models.transaction import Right
from admin.web.files import download_block
from admin.web.forms.form import Form
from admin.web.page import needs, page, read, reading
from admin.web.pages.jobs.job import BLUEPRINT

_HEAD: Final = re.compile(r"\[[^\]]+\](?: \[[^\]]+\])+")
"""The first line of most reports: names of columns in brackets."""
_SEARCHED: Final = ("crawl.log", "local-errors.log")
"""Logs whose lines count for a domain."""
_GROUPS: Final = ("reports", "logs", "setup", "index")
_DOCUMENT: Final = "/<int:number>/documents/<int(max=9223372036854775807):offset>"


@BLUEPRINT.get("/<int:number>/documents", endpoint="documents")
@needs(Right.READ)
def documents(number: int) -> Response:
    """List the documents of a job."""
    trouble = ""
    found: Sequence[DocumentLine] = ()
    with reading() as opened:
        job = listing.show_job(opened, number)
        try:
            found = job_documents.list_documents(opened, number).items
        except (IllegalState, NotFound) as error:
            trouble = str(error)
    groups = {group: [each for each in found if each.group == group] for group in _GROUPS}
    return page("jobs/documents.html", job=job, groups=groups, documents=found, trouble=trouble)


@BLUEPRINT.get(_DOCUMENT, endpoint="document")
@needs(Right.READ)
def document(number: int, offset: int) -> Response:
    """Show a part of a document."""
    form = Form({name: request.args.get(name, "").strip() for name in ("pattern", "domain")})
    part = None
    given = request.args.get("after", "")
    after = int(given) if given.isascii() and given.isdecimal() and len(given) <= 18 else 0
    with reading() as opened:
        job = listing.show_job(opened, number)
        try:
            part = job_documents.show_document(
                opened, number, offset, pattern=form.value("pattern"), domain=form.value("domain"), after=after
            )
        except InvalidInput as error:
            form.take(error)
    columns, rows = _table(part.lines) if part is not None and after == 0 else ((), ())
    return page(
        "jobs/document.html",
        200 if part is not None else 422,
        job=job,
        part=part,
        form=form,
        offset=offset,
        after=after,
        columns=columns,
        rows=rows,
        is_by_domain=part is None or part.name in _SEARCHED,
    )


@BLUEPRINT.get("/<int:number>/crawl-log", endpoint="crawl_log")
@needs(Right.READ)
def crawl_log(number: int) -> Response:
    """Redirect to the crawl.log of the job; without one, to the list of documents, which says why there is none."""
    found = None
    with reading() as opened, suppress(IllegalState, NotFound):
        found = job_documents.log_of(job_documents.list_documents(opened, number).items)
    if found is None:
        return redirect(url_for("jobs.documents", number=number))
    domain = request.args.get("domain", "").strip()[:255]
    return redirect(url_for("jobs.document", number=number, offset=found.offset, domain=domain or None))


@BLUEPRINT.get(f"{_DOCUMENT}/file", endpoint="document_file")
@needs(Right.READ)
def document_file(number: int, offset: int) -> Response:
    """Return a document whole, as a download that no browser shows."""
    name, record = read(job_documents.document_record, number, offset)
    return download_block(record, name)


def _table(lines: Sequence[str]) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
    """Return the columns and rows of a report; nothing for a text that is no table."""
    if not lines or not _HEAD.fullmatch(lines[0]):
        return (), ()
    columns = re.findall(r"\[([^\]]+)\]", lines[0])
    rows = [line.split(None, len(columns) - 1) for line in lines[1:] if line.strip()]
    return columns, [[*row, *[""] * (len(columns) - len(row))] for row in rows]
