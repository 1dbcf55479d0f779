"""Each route of the API checks who asks, reads the arguments, runs one use case in a transaction, and answers in JSON.

Clients show an API token (`Authorization: Bearer …`). A browser of the site may use its session instead; then every
request that changes something needs the session's CSRF token.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from tempfile import SpooledTemporaryFile
from typing import IO, Any, Final, Protocol

from flask import Blueprint, Request, Response, request
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import HTTPException

from admin.api.arguments import BODY, LINES, parameters_model
from admin.api.openapi import document
from admin.api.problems import problem, problem_of
from admin.models.database import Database
from admin.models.errors import DatabaseRefused, InvalidInput, Problem, UseCaseError
from admin.models.operation import Operation
from admin.models.transaction import Actor, check_right
from admin.models.validation import problems_of

PREFIX: Final = "/api/v1"
MAX_BODY: Final = 16 * 1024 * 1024
"""Bytes of a JSON body."""
MAX_UPLOAD: Final = 1024 * 1024 * 1024
"""Bytes of an upload of lines."""
MAX_LINE: Final = 1_000_000
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
    described = json.dumps(document(operations, PREFIX), ensure_ascii=False)
    blueprint.add_url_rule(
        "/openapi.json", "openapi", lambda: Response(described, content_type="application/json"), methods=["GET"]
    )
    return blueprint


def error_answer(error: HTTPException) -> Response:
    """Return the problem document for a path or a method that the API does not have."""
    return problem(error.code or 500, f"http-{error.code}", error.name, error.description or error.name)


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
                with opened(actor) as transaction:
                    body = _body_of(operation(transaction, **arguments))
        except (UseCaseError, DatabaseRefused) as error:
            return problem_of(error)
        return _answer(operation, body)

    return view


def _arguments(operation: Operation, path: dict[str, str], files: ExitStack) -> dict[str, Any]:
    """Return the use case's arguments; `files` closes an upload. Raises InvalidInput."""
    given: dict[str, Any] = dict(path)
    repeated = [name for name in request.args if len(request.args.getlist(name)) > 1]
    if repeated:
        raise InvalidInput(*(Problem(name, "this parameter is given twice; give it once") for name in repeated))
    given.update(request.args.items())
    try:
        model = parameters_model(operation).model_validate(given)
        arguments = {name: getattr(model, name) for name in type(model).model_fields}
        if operation.input is not None:
            arguments[BODY] = _body(operation.input)
    except ValidationError as error:
        raise problems_of(error) from error
    if operation.takes_lines:
        arguments[LINES] = _read_lines(files.enter_context(_upload()))
    return arguments


def _body(model: type[BaseModel]) -> BaseModel:
    if (request.content_length or 0) > MAX_BODY:
        raise InvalidInput(Problem("", f"the body has more than {MAX_BODY} bytes; send less at once"))
    raw = request.stream.read(MAX_BODY + 1)
    if len(raw) > MAX_BODY:
        raise InvalidInput(Problem("", f"the body has more than {MAX_BODY} bytes; send less at once"))
    try:
        values = json.loads(raw or b"{}")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(Problem("", f"the body is no JSON: {error}")) from error
    if isinstance(values, dict) and "edition" in model.model_fields and "edition" not in values:
        edition = request.headers.get("If-Match", "").strip('"').partition("-")[0]
        if edition.isdecimal():
            values["edition"] = int(edition)
    return model.model_validate(values)


def _upload() -> IO[bytes]:
    """Return an upload, once all of it is here: a slow client must not hold a transaction open. Raises InvalidInput."""
    upload = SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 the caller closes it
    size = 0
    while piece := request.stream.read(_PIECE):
        size += len(piece)
        if size > MAX_UPLOAD:
            upload.close()
            raise InvalidInput(Problem("", f"the upload has more than {MAX_UPLOAD} bytes; divide it"))
        upload.write(piece)
    upload.seek(0)
    return upload


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
    edition, digest = _edition(body), hashlib.sha256(body).hexdigest()[:16]
    response.set_etag(digest if edition is None else f"{edition}-{digest}")
    if operation.method == "GET":
        response.make_conditional(request)
    return response


def _edition(body: bytes) -> str | None:
    """Return the edition that a single thing has. Its ETag begins with the edition, and If-Match may name it."""
    found = json.loads(body)
    edition = found.get("edition") if isinstance(found, dict) else None
    return str(edition) if isinstance(edition, int) else None
