"""Forms are small: 64 KB and 100 fields. Views that take long lists or files say so, for people who may send them.

Fields are counted before they are kept, so that a body of `a=&a=&…` costs no more memory than its bytes.
"""

from __future__ import annotations

import io
from contextlib import ExitStack
from dataclasses import dataclass
from typing import IO, Any, Final

from a2wsgi.wsgi import Body, build_environ
from flask import Flask, Request, current_app, g, request
from werkzeug.datastructures import MultiDict
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import FormDataParser

from admin.collections.tasks.task_folder import upload_draft
from admin.models.errors import DatabaseRefused
from admin.models.transaction import Right
from admin.serving.request_bodies import SMALL_BODY
from admin.web.page import TAKES_FILES, TAKES_LISTS, site, visitor

MAX_FORM_BYTES: Final = 32 * 1024 * 1024
"""Bytes of a form with long lists, uploads included; longer uploads go by the API or the command line."""
_URLENCODED: Final = "application/x-www-form-urlencoded"


@dataclass(frozen=True, slots=True)
class FormLimits:
    """A form may have so many bytes and fields."""

    size: int = SMALL_BODY
    fields: int = 100


SMALL_FORM: Final = FormLimits()
LIST_FORM: Final = FormLimits(MAX_FORM_BYTES, 2_000)


class BodyLimits:
    """Body limits say how long the bodies of an application's requests may be."""

    def __init__(self, app: Flask) -> None:
        self._app = app

    def of(self, scope: Any) -> int:
        """Return the most bytes of a request's body, by its route and by the person who sends it."""
        environ = build_environ(scope, Body(None, None))  # type: ignore[arg-type]  # nothing is read of it
        with self._app.request_context(environ):  # type: ignore[arg-type]
            view = self._app.view_functions.get(request.endpoint or "")
            try:
                if (limit := getattr(view, "body_limit", None)) is not None:
                    return int(limit())
                g.visitor = site().find_visitor()
                return _limits().size
            except DatabaseRefused:
                return SMALL_BODY


class LimitedFormParser(FormDataParser):
    """The parser counts the fields of a form before it makes them. Parts of a multipart form are counted in between."""

    def parse(
        self, stream: IO[bytes], mimetype: str, content_length: int | None, options: dict[str, str] | None = None
    ) -> tuple[IO[bytes], MultiDict[str, str], Any]:
        """Return what the base class makes of the form. Raises RequestEntityTooLarge."""
        if mimetype == _URLENCODED:
            raw = stream.read()
            most = self.max_form_parts
            if most is not None and raw.count(b"&") >= most:
                raise RequestEntityTooLarge(f"the form has more than {most:,} fields; send fewer at once")
            stream = io.BytesIO(raw)
        return super().parse(stream, mimetype, content_length, options)


class LimitedRequest(Request):
    """The form of a request is parsed within its limits. Large files go to the home, not to the temporary folder."""

    form_data_parser_class = LimitedFormParser

    def _get_file_stream(
        self,
        total_content_length: int | None,
        content_type: str | None,
        filename: str | None = None,
        content_length: int | None = None,
    ) -> IO[bytes]:
        if "uploads" in g:
            return g.uploads.enter_context(upload_draft(site().settings))  # type: ignore[no-any-return]
        return super()._get_file_stream(total_content_length, content_type, filename, content_length)


def limit_forms(app: Flask) -> None:
    """Check the forms of an application by `before_request`. Call it after the visitor is known."""
    app.request_class = LimitedRequest
    app.config.update(
        MAX_CONTENT_LENGTH=SMALL_FORM.size, MAX_FORM_MEMORY_SIZE=SMALL_FORM.size, MAX_FORM_PARTS=SMALL_FORM.fields
    )
    app.before_request(_apply)
    app.teardown_request(_close_uploads)


def _apply() -> None:
    limits = _limits()
    if request.method != "POST" or limits is SMALL_FORM:
        return
    request.max_content_length = limits.size
    request.max_form_memory_size = min(limits.size, MAX_FORM_BYTES)
    request.max_form_parts = limits.fields
    if limits.size > MAX_FORM_BYTES:
        g.uploads = ExitStack()


def _limits() -> FormLimits:
    """Return the limits of the present request's form: small ones for people who may not send it."""
    view = current_app.view_functions.get(request.endpoint or "")
    takes = getattr(view, "takes", "")
    if not takes or g.get("visitor") is None or not visitor().may(getattr(view, "changes", Right.ADMINISTER)):
        return SMALL_FORM
    if takes == TAKES_FILES:
        return FormLimits(site().settings.admin.upload_max_bytes + MAX_FORM_BYTES, SMALL_FORM.fields)
    assert takes == TAKES_LISTS
    return LIST_FORM


def _close_uploads(_error: BaseException | None) -> None:
    if (uploads := g.pop("uploads", None)) is not None:
        uploads.close()
