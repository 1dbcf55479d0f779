"""Each route of the API checks who asks, reads the arguments, runs one use case in a transaction, and answers in JSON.

Clients show an API token (`Authorization: Bearer …`). A browser of the site may use its session instead; then every
request that changes something needs the session's CSRF token.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final, Protocol
from urllib.parse import urlencode

from flask import Blueprint, Request, Response, request, send_file
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import HTTPException
from werkzeug.http import parse_etags

from admin.api.arguments import BODY, EDITION, LINES, UPLOAD, has_edition, parameters_model
from admin.api.openapi import document
from admin.api.problems import RequestRefused, problem, problem_of
from admin.collections.tasks.task_folder import upload_draft
from admin.models.database import Database
from admin.models.errors import DatabaseRefused, EditConflict, InvalidInput, Problem, UseCaseError
from admin.models.operation import Operation
from admin.models.transaction import Actor, check_right
from admin.models.validation import check_storable, problems_of, validated
from archive.settings.load import Settings

PREFIX: Final = "/api/v1"
MAX_BODY: Final = 1024 * 1024
"""Bytes of a JSON body. Longer lists go as lines."""
MAX_UPLOAD: Final = 1024 * 1024 * 1024
"""Bytes of an upload of lines."""
MAX_LINE: Final = 1_000_000
_IF_MATCH: Final = "If-Match"
_PIECE: Final = 65536
_IN_MEMORY: Final = 1024 * 1024


class Authenticate(Protocol):
    """The function tells who sends a request, by token or session; None is for nobody known.

    Raises UseCaseError for a session without its CSRF token.
    """

    def __call__(self, sent: Request, /) -> Actor | None: ...


def make_blueprint(database: Database, operations: Sequence[Operation], authenticate: Authenticate) -> Blueprint:
    """Return the blueprint with a route for each operation, and the OpenAPI document."""
    blueprint = Blueprint("api", __name__, url_prefix=PREFIX)
    for operation in operations:
        blueprint.add_url_rule(
            operation.path.replace("{", "<").replace("}", ">"),
            endpoint=operation.name.replace(".", "-"),
            view_func=_view(database, operation, authenticate),
            methods=[operation.method],
        )
    listed = tuple(operations)
    blueprint.add_url_rule(
        "/openapi.json",
        "openapi",
        lambda: Response(_document_text(listed), content_type="application/json"),
        methods=["GET"],
    )
    return blueprint


@lru_cache(maxsize=1)
def _document_text(operations: tuple[Operation, ...]) -> str:
    """Return the OpenAPI document, which takes long to make: the first client that asks for it waits, and no start."""
    return json.dumps(document(operations, PREFIX), ensure_ascii=False)


def error_answer(error: HTTPException) -> Response:
    """Return the problem document for a path or a method that the API does not have."""
    code = error.code or 500
    allow = getattr(error, "valid_methods", None)
    headers = {"Allow": ", ".join(sorted(allow))} if allow else {}
    return problem(code, f"http-{code}", error.name, error.description or error.name, headers=headers)


def _view(database: Database, operation: Operation, authenticate: Authenticate) -> Callable[..., Response]:
    def view(**path: str) -> Response:
        try:
            actor = authenticate(request)
            if actor is None:
                return problem(
                    401,
                    "unauthenticated",
                    "Nobody is logged in",
                    "Show an API token: Authorization: Bearer TOKEN",
                    headers={"WWW-Authenticate": "Bearer"},
                )
            check_right(actor, operation.right)  # before anything of the body is read
            opened = database.reading if operation.method == "GET" else database.transaction
            with ExitStack() as files:
                arguments = _arguments(operation, path, files)
                if operation.takes_file:
                    arguments[UPLOAD] = files.enter_context(_received_file(database.settings))
                if operation.in_parts is not None:
                    body = _body_of(operation.in_parts(database, actor, **arguments))
                else:
                    with opened(actor) as transaction:
                        result = operation(transaction, **arguments)
                        if isinstance(result, Path):
                            return _file_answer(operation, result)
                        body = _body_of(result)
        except EditConflict as error:
            if _IF_MATCH not in request.headers:
                return problem_of(error)
            return problem(412, "edit-conflict", "Somebody else changed it", str(error))
        except (UseCaseError, DatabaseRefused, RequestRefused) as error:
            return problem_of(error)
        return _answer(operation, body)

    def body_limit() -> int:
        """Return the most bytes of the present request's body; 0 for who may not send it."""
        try:
            actor = authenticate(request)
            if actor is None:
                return 0
            check_right(actor, operation.right)
        except UseCaseError:
            return 0
        if operation.takes_file:
            return database.settings.admin.upload_max_bytes
        return MAX_UPLOAD if operation.takes_lines else MAX_BODY

    view.__dict__["body_limit"] = body_limit
    return view


def _arguments(operation: Operation, path: dict[str, str], files: ExitStack) -> dict[str, Any]:
    """Return the use case's arguments; `files` closes an upload. Raises InvalidInput."""
    given: dict[str, Any] = dict(path)
    repeated = [name for name in request.args if name in path or len(request.args.getlist(name)) > 1]
    if repeated:
        raise InvalidInput(*(Problem(name, "this parameter is given twice; give it once") for name in repeated))
    given.update(request.args.items())
    edition = _edition_given() if has_edition(operation) else None
    if edition is not None and EDITION in parameters_model(operation).model_fields:
        given.setdefault(EDITION, edition)
    try:
        model = parameters_model(operation).model_validate(given)
        check_storable(model)
        arguments = {name: getattr(model, name) for name in type(model).model_fields}
        if operation.input is not None:
            values = _json_body()
            if has_edition(operation) and isinstance(values, dict) and EDITION in operation.input.model_fields:
                if edition is not None:
                    values.setdefault(EDITION, edition)
                elif EDITION not in values and request.headers.get(_IF_MATCH, "").strip() != "*":
                    raise RequestRefused(
                        428,
                        "edition-missing",
                        "The edition is missing",
                        "send the ETag that you read in If-Match, or the edition in the body; If-Match: * changes any",
                    )
            arguments[BODY] = body = validated(operation.input, values)
            check_storable(body)
    except ValidationError as error:
        raise problems_of(error) from error
    if operation.takes_lines:
        arguments[LINES] = _read_lines(files.enter_context(_upload()))
    return arguments


def _edition_given() -> int | None:
    """Return the edition of the header If-Match; None without one. Raises RequestRefused for one that can't match."""
    header = request.headers.get(_IF_MATCH, "").strip()
    if header in ("", "*"):
        return None
    editions = {tag.partition("-")[0] for tag in parse_etags(header).as_set(include_weak=True)}
    if len(editions) == 1 and (text := editions.pop()).isascii() and text.isdecimal() and len(text) <= 18:
        return int(text)
    raise RequestRefused(
        412, "edit-conflict", "Somebody else changed it", f"If-Match {header[:100]!r} is no ETag of one present edition"
    )


def _json_body() -> Any:
    """Return the values of the body. Raises RequestRefused for a body that is too large or no JSON by its type."""
    too_large = RequestRefused(
        413, "too-large", "The body is too large", f"the body has more than {MAX_BODY:,} bytes; send less at once"
    )
    if (request.content_length or 0) > MAX_BODY:
        raise too_large
    request.max_content_length = MAX_BODY + 1  # the limit of forms is a smaller one
    raw = request.stream.read(MAX_BODY + 1)
    if len(raw) > MAX_BODY:
        raise too_large
    if raw and not request.is_json:
        raise RequestRefused(
            415,
            "media-type",
            "The body has another type than JSON",
            f"the body has the type {request.mimetype[:100] or 'of nothing'!r}; send Content-Type: application/json",
        )
    try:
        return json.loads(raw or b"{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(Problem("", f"the body is no JSON: {error}")) from error


def _upload() -> IO[bytes]:
    """Return an upload, once all of it is here: a slow client must not hold a transaction open."""
    request.max_content_length = MAX_UPLOAD + 1  # forms may not be as large
    upload = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 the caller closes it
    size = 0
    while piece := request.stream.read(_PIECE):
        size += len(piece)
        if size > MAX_UPLOAD:
            upload.close()
            raise RequestRefused(
                413, "too-large", "The upload is too large", f"the upload has more than {MAX_UPLOAD:,} bytes; divide it"
            )
        upload.write(piece)
    upload.seek(0)
    return upload


@contextmanager
def _received_file(settings: Settings) -> Iterator[Path]:
    """Yield the path of a file with the request's body, once all of the body is here. Raises RequestRefused."""
    most = settings.admin.upload_max_bytes
    request.max_content_length = most + 1  # the limit of forms is a smaller one
    with upload_draft(settings) as file:
        size = 0
        while piece := request.stream.read(_PIECE):
            size += len(piece)
            if size > most:
                raise RequestRefused(
                    413, "too-large", "The upload is too large", f"the file has more than {most:,} bytes"
                )
            file.write(piece)
        file.flush()
        yield Path(file.name)


def _read_lines(upload: IO[bytes]) -> Iterator[bytes]:
    """Yield lines without their ends. Of a line that is too long, MAX_LINE + 1 bytes come."""
    while line := upload.readline(MAX_LINE + 1):
        yield line.removesuffix(b"\n")
        while len(line) > MAX_LINE and not line.endswith(b"\n"):
            line = upload.readline(MAX_LINE + 1)


def _body_of(result: Any) -> bytes | None:
    if result is None:
        return None
    if isinstance(result, BaseModel):
        return result.model_dump_json().encode()
    if isinstance(result, bytes):
        return result
    return json.dumps(result, ensure_ascii=False, default=_plain).encode()


def _plain(value: object) -> object:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else str(value)


def _file_answer(operation: Operation, path: Path) -> Response:
    """Return a file for download, whole or in ranges. A file that is removed meanwhile is sent to its end."""
    response = send_file(
        path, operation.media_type, as_attachment=True, download_name=path.name, conditional=True, etag=False
    )
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cache-Control"] = "no-store"
    return response


def _answer(operation: Operation, body: bytes | None) -> Response:
    if body is None:
        return Response(status=204)
    if operation.media_type != "application/json":
        response = Response(body, operation.status, content_type=operation.media_type)
        response.headers["Content-Disposition"] = "attachment"
        response.headers["X-Content-Type-Options"] = "nosniff"
        return response
    response = Response(body, operation.status, content_type="application/json")
    response.headers["Cache-Control"] = "private, no-cache"
    if operation.is_list:
        response.headers.extend(_links(body))
    edition, digest = _edition(body), hashlib.sha256(body).hexdigest()[:16]
    response.set_etag(digest if edition is None else f"{edition}-{digest}")
    if operation.method == "GET" and _IF_MATCH not in request.headers:  # that one is for changes
        response.make_conditional(request)
    return response


def _links(body: bytes) -> dict[str, str]:
    """Return the header by which a list names its next page (RFC 8288)."""
    after = json.loads(body).get("next")
    if after is None:
        return {}
    query = urlencode({**request.args.to_dict(), "after": after})
    return {"Link": f'<{request.path}?{query}>; rel="next"'}


def _edition(body: bytes) -> str | None:
    """Return the edition that a single thing has. Its ETag begins with the edition, and If-Match may name it."""
    found = json.loads(body)
    edition = found.get("edition") if isinstance(found, dict) else None
    return str(edition) if isinstance(edition, int) else None
