"""The CDX server answers queries on the capture index over HTTP, with the parameters of pywb.

| request | answer |
|---|---|
| `GET /` | the collections, as pywb's collinfo.json |
| `GET /healthz` | 200 when the index can be read, else 503 |
| `GET /<collection>/cdx` | captures, streamed |
| `GET /<collection>/timemap/…`, `/timegate/…` | see `dedupdb.cdx.mementos` |
| `GET /<collection>` | the same in eleven columns, as OutbackCDX; with `q`, OpenWayback's XML |
| `POST /<collection>` | takes CDX lines, when a token is set; see `dedupdb.cdx.intake_pages` |

Parameters of `cdx`: `url` (also `*.host` and `url*`), `matchType` exact, prefix, host, domain; `from`, `to`, 4 to
14 digits; `limit`, negative for the last ones; `sort` default, reverse, closest, with `closest`; `filter`, repeatable;
`fl` or `fields`; `output` cdxj, json, text, cdx; `page`, `pageSize` in blocks of 3,000 index rows, `showNumPages`;
`collapse=FIELD` or `FIELD:N`, repeatable, and pywb's `collapseTime=N`; `resolveRevisits`; `reverse`; `showDupeCount`,
`showSkipCount`, `lastSkipTimestamp`; `offset`; `showResumeKey` with a limit, `resumeKey`; `urlkey` in place of `url`;
`collapseToFirst` of OutbackCDX; `fastLatest`, which changes nothing, since a negative limit is always quick.
A page has the rows that pass the filters among so many rows of the index, so it may be empty; a page behind the last is
refused. A parameter that the server can't use is refused with 400 and one line that names it.
"""

from __future__ import annotations

import difflib
import json
import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import batched, chain, islice
from typing import Any, Final

from flask import Blueprint, Flask, Response, jsonify, request
from werkzeug.datastructures import MultiDict

from archive.access_rules import AccessControl, AccessRuleError
from archive.listener_access import HostNames
from archive.names.name_rules import NAME_PATTERN
from dedupdb.captures import query as queries
from dedupdb.captures.capture_index import Captures, SearchTimeout
from dedupdb.captures.filters import Filter
from dedupdb.captures.query import QueryError
from dedupdb.captures.schema import CapturesError
from dedupdb.cdx import results as results
from dedupdb.cdx.formats import OutputForm, form
from dedupdb.cdx.intake_pages import IntakePages
from dedupdb.cdx.mementos import MementoPages
from dedupdb.cdx.xml_query import xml_answer

logger = logging.getLogger(__name__)

PARAMETERS: Final = (
    *("url", "matchType", "from", "to", "limit", "sort", "closest", "filter", "fl", "fields", "output"),
    *("page", "pageSize", "showNumPages", "collapse", "collapseTime", "resolveRevisits", "reverse"),
    *("showDupeCount", "showSkipCount", "lastSkipTimestamp", "fastLatest"),
    *("offset", "showResumeKey", "resumeKey", "urlkey", "collapseToFirst"),
)
IGNORED: Final = frozenset({"allowFuzzy", "gzip"})
"""Parameters of pywb and of Wayback whose absence changes no answer here."""
_REPEATABLE: Final = frozenset({"filter", "collapse", "collapseToFirst"})
_LINES_AT_ONCE: Final = 100
_MOST_SKIPPED: Final = 1_000_000
"""Captures that `offset` may leave out: all of them are read."""


_LOOPBACK_ONLY: Final = HostNames("127.0.0.1", (), "admin.host_names")


def create_app(
    captures: Captures,
    names: HostNames = _LOOPBACK_ONLY,
    access: AccessControl | None = None,
    memento_url: str = "",
    intake: IntakePages | None = None,
) -> Flask:
    """Return a WSGI application that answers from the index. Requests must name one of the host names.

    `access` hides captures that the rules of their collection exclude; without it, all are shown. `memento_url` is the
    beginning of the addresses of mementos; without it, there are no TimeMaps. Without an `intake`, no lines are taken.
    """
    app = Flask("ghostfleet-cdx", static_folder=None)
    app.register_blueprint(blueprint(captures, access, memento_url, intake))
    app.before_request(partial(_misdirected, names))
    return app


def blueprint(
    captures: Captures,
    access: AccessControl | None = None,
    memento_url: str = "",
    intake: IntakePages | None = None,
) -> Blueprint:
    """Return the same server as a blueprint for a larger application."""
    doors = Blueprint("cdx", __name__)

    @doors.get("/")
    def collections() -> Response:
        return jsonify([_described(name) for name in captures.collections() if not _is_hidden(access, name)])

    @doors.get("/healthz")
    def healthz() -> Response:
        captures.collections()
        return _line("ok", 200)

    @doors.get("/<collection>/cdx")
    def cdx(collection: str) -> Response:
        if not re.fullmatch(NAME_PATTERN, collection) or not captures.has(collection):
            return _line(f"there is no collection {collection[:80]!r} with captures", 404)
        return _found(captures, collection, request.args, _allowed(access, collection))

    @doors.get("/<collection>")
    def columns(collection: str) -> Response:
        if not re.fullmatch(NAME_PATTERN, collection) or not captures.has(collection):
            return _line(f"there is no collection {collection[:80]!r} with captures", 404)
        if "q" in request.args:
            return xml_answer(captures, collection, request.args["q"], _allowed(access, collection))
        return _found(captures, collection, request.args, _allowed(access, collection), output="cdx")

    def allowed(collection: str) -> tuple[Filter, ...] | None:
        is_known = re.fullmatch(NAME_PATTERN, collection) and captures.has(collection)
        return _allowed(access, collection) if is_known else None

    MementoPages(captures, memento_url, allowed).add_to(doors)
    (intake or IntakePages()).add_to(doors)

    @doors.errorhandler(QueryError)
    def refused(error: QueryError) -> Response:
        return _line(str(error), 400)

    @doors.errorhandler(AccessRuleError)
    def unruled(error: AccessRuleError) -> Response:
        logger.error("%s", error)
        return _line("the access rules of the collection can't be read at the moment", 503)

    @doors.errorhandler(SearchTimeout)
    def too_long(error: SearchTimeout) -> Response:
        return _line(str(error), 503)

    @doors.errorhandler(CapturesError)
    def broken(error: CapturesError) -> Response:
        logger.error("%s", error)
        return _line("the capture index can't be read at the moment", 503)

    return doors


def _misdirected(names: HostNames) -> Response | None:
    """Return the refusal of a request whose Host header has no name of this server, as with DNS rebinding."""
    refusal = names.refusal(request.headers.getlist("Host"))
    return _line(refusal, 421) if refusal else None


def _is_hidden(access: AccessControl | None, collection: str) -> bool:
    """Return whether curation hides the whole collection. A collection whose rules can't be read keeps its name."""
    try:
        return access is not None and access.rules(collection).hides_everything()
    except AccessRuleError:
        return False


def _allowed(access: AccessControl | None, collection: str) -> tuple[Filter, ...]:
    """Return the condition that readers may know of a capture; none when the collection has no rules."""
    if access is None or (rules := access.rules(collection)).is_open:
        return ()
    return (Filter(lambda capture: rules.decide(capture.url, capture.date), lambda word: word != "exclude", False),)


def _found(
    captures: Captures,
    collection: str,
    given: MultiDict[str, str],
    allowed: tuple[Filter, ...] = (),
    output: str = "cdxj",
) -> Response:
    """Return the answer to a query; `output` is the form when the query asks for none."""
    _refuse_unknown(given)
    single, collapses = _single(given), [*given.getlist("collapse"), *given.getlist("collapseToFirst")]
    query = queries.parse(collection, single, given.getlist("filter"))
    skipped = _offset(single, query)
    query = replace(query, allowed=allowed, limit=query.limit and query.limit + skipped)
    work = results.parse(single, collapses, query)
    output = given.get("output") or output
    wanted = form(output, given.get("fl") or given.get("fields") or "", work.extra)
    queries.flag(single, "fastLatest")  # a negative limit reads the latest captures alone in any case
    if queries.flag(single, "showNumPages"):
        return _pages(captures, query, queries.page_size(single))
    found = islice(results.find(captures, query, work), skipped, None)
    # The search for the first capture comes before the answer begins, so that an error still has a status.
    first = list(islice(found, 1))
    page = query.page
    if not first and page and page.number and captures.size(query) <= page.number * page.size:
        raise QueryError("page", f"{page.number} is behind the last page")
    if not first and output == "json" and wanted.media_type != "application/json":
        return _nothing(single["url"])
    whole = chain(first, found)
    if queries.flag(single, "showResumeKey"):
        size = (query.limit or 0) - skipped
        return Response(_with_resume_key(captures, wanted, whole, size), mimetype=wanted.media_type)
    return Response(_pieces(wanted, whole), mimetype=wanted.media_type)


def _offset(given: Mapping[str, str], query: queries.Query) -> int:
    """Return how many captures at the beginning are left out. Raises QueryError."""
    text = given.get("offset") or "0"
    if not (text.isascii() and text.isdecimal() and len(text) < 12 and int(text) <= _MOST_SKIPPED):
        raise QueryError("offset", f"{text[:40]!r} is not a whole number up to {_MOST_SKIPPED}; use resumeKey")
    if int(text) and query.limit is not None and query.limit < 0:
        raise QueryError("offset", "can't be used with a negative limit")
    return int(text)


def _with_resume_key(
    captures: Captures, wanted: OutputForm, found: Iterable[results.Shown], size: int
) -> Iterator[str]:
    """Yield the lines, then the key with which a later query goes on, if there may be more captures."""
    seen, last = 0, ""

    def counted() -> Iterator[results.Shown]:
        nonlocal seen, last
        for shown in found:
            seen += 1
            if seen == size and (mark := captures.mark_of(shown.last or shown.capture)) is not None:
                last = str(mark)
            yield shown

    held: str | None = None
    for line in wanted.lines(counted()):
        if held is not None:
            yield held
        held = line
    if wanted.media_type == "application/json":
        yield from (f",\n[],\n{json.dumps([last])}", held or "]\n") if last else (held or "",)
    elif wanted.media_type == "application/x-ndjson":
        yield f"{held or ''}{json.dumps({'resumeKey': last})}\n" if last else held or ""
    else:
        yield f"{held or ''}\n{last}\n" if last else held or ""


def _pages(captures: Captures, query: queries.Query, blocks: int) -> Response:
    """Return the number of pages in pywb's form."""
    count = -(-captures.size(query) // queries.BLOCK)
    return jsonify({"pages": -(-count // blocks), "pageSize": blocks, "blocks": count})


def _nothing(url: str) -> Response:
    """Return the response without captures in pywb's form. Clients that read JSON get an object, not an empty text."""
    answer = jsonify({"message": f"No Captures found for: {url[:2000]}"})
    answer.status_code = 404
    return answer


def _pieces(wanted: OutputForm, captures: Iterable[Any]) -> Iterator[str]:
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
        if name not in _REPEATABLE and len(set(given.getlist(name))) > 1:
            raise QueryError(name, "is given more than once")
    return given.to_dict()


def _described(collection: str) -> dict[str, str]:
    return {"id": collection, "name": collection, "cdx-api": f"{request.url_root}{collection}/cdx"}


def _line(text: str, status: int) -> Response:
    return Response(f"{text}\n", status, mimetype="text/plain")
