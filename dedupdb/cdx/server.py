"""The CDX server: the capture index over HTTP, in the words of pywb.

| request | answer |
|---|---|
| `GET /` | the collections, as pywb's collinfo.json |
| `GET /healthz` | 200 when the index can be read, else 503 |
| `GET /<collection>/cdx` | captures, streamed |

Parameters of the last: `url` (also `*.host` and `url*`), `matchType` exact, prefix, host, domain; `from`, `to`, 4 to
14 digits; `limit`, negative for the last ones; `sort` default, reverse, closest, with `closest`; `filter`, repeatable;
`fl` or `fields`; `output` cdxj, json, text, cdx. What it can't use is refused with 400 and one line that names it.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections.abc import Iterable, Iterator
from itertools import batched, chain, islice
from typing import Any, Final

from flask import Blueprint, Flask, Response, jsonify, request
from werkzeug.datastructures import MultiDict

from archive.sections import NAME_PATTERN
from dedupdb import query as queries
from dedupdb.captures import Captures, CapturesError, SearchTimeout
from dedupdb.cdx_formats import Form, form
from dedupdb.query import QueryError

logger = logging.getLogger(__name__)

PARAMETERS: Final = (
    *("url", "matchType", "from", "to", "limit", "sort", "closest", "filter", "fl", "fields", "output"),
)
IGNORED: Final = frozenset({"allowFuzzy", "gzip"})
"""Parameters of pywb and of Wayback whose absence changes no answer here."""
_LINES_AT_ONCE: Final = 100


def create_app(captures: Captures) -> Flask:
    """A WSGI application that answers from the index."""
    app = Flask("ghostfleet-cdx", static_folder=None)
    app.register_blueprint(blueprint(captures))
    return app


def blueprint(captures: Captures) -> Blueprint:
    """The same, to be hung into a larger application."""
    doors = Blueprint("cdx", __name__)

    @doors.get("/")
    def collections() -> Response:
        return jsonify([_described(name) for name in captures.collections()])

    @doors.get("/healthz")
    def healthz() -> Response:
        captures.collections()
        return _line("ok", 200)

    @doors.get("/<collection>/cdx")
    def cdx(collection: str) -> Response:
        if not re.fullmatch(NAME_PATTERN, collection) or not captures.has(collection):
            return _line(f"there is no collection {collection[:80]!r} with captures", 404)
        return _found(captures, collection, request.args)

    @doors.errorhandler(QueryError)
    def refused(error: QueryError) -> Response:
        return _line(str(error), 400)

    @doors.errorhandler(SearchTimeout)
    def too_long(error: SearchTimeout) -> Response:
        return _line(str(error), 503)

    @doors.errorhandler(CapturesError)
    def broken(error: CapturesError) -> Response:
        logger.error("%s", error)
        return _line("the capture index can't be read at the moment", 503)

    return doors


def _found(captures: Captures, collection: str, given: MultiDict[str, str]) -> Response:
    _refuse_unknown(given)
    query = queries.parse(collection, _single(given), given.getlist("filter"))
    wanted = form(given.get("output") or "cdxj", given.get("fl") or given.get("fields") or "")
    found = captures.search(query)
    # The first capture is looked for before the answer begins, while an error can still be said with a status.
    first = list(islice(found, 1))
    return Response(_pieces(wanted, chain(first, found)), mimetype=wanted.media_type)


def _pieces(wanted: Form, captures: Iterable[Any]) -> Iterator[str]:
    for lines in batched(wanted.lines(captures), _LINES_AT_ONCE):
        yield "".join(lines)


def _refuse_unknown(given: MultiDict[str, str]) -> None:
    for name in given:
        if name not in PARAMETERS and name not in IGNORED:
            near = difflib.get_close_matches(name, PARAMETERS, n=1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(PARAMETERS)}"
            raise QueryError(name[:40], f"is not supported; {hint}")


def _single(given: MultiDict[str, str]) -> dict[str, str]:
    for name in given:
        if name != "filter" and len(set(given.getlist(name))) > 1:
            raise QueryError(name, "is given more than once")
    return given.to_dict()


def _described(collection: str) -> dict[str, str]:
    return {"id": collection, "name": collection, "cdx-api": f"{request.url_root}{collection}/cdx"}


def _line(text: str, status: int) -> Response:
    return Response(f"{text}\n", status, mimetype="text/plain")
