"""TimeMaps list the captures of a URL, and the TimeGate leads to the one nearest to a date (RFC 7089).

| request | answer |
|---|---|
| `GET /<collection>/timemap/link/<url>` | the captures as application/link-format |
| `GET /<collection>/timemap/json/<url>` | the captures as one JSON object for each line, like pywb |
| `GET /<collection>/timegate/<url>` | a redirect to the capture nearest to `Accept-Datetime` |

The mementos are at another server, whose address is the setting admin.memento_url.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from email.utils import formatdate, parsedate_to_datetime
from itertools import chain, islice
from typing import Final
from urllib.parse import quote

from flask import Blueprint, Response, request

from archive.capture import Capture
from archive.dates import Micros
from archive.json_text import compact_json
from dedupdb.captures import query as queries
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.filters import Filter
from dedupdb.captures.query import Query

_SHOWN: Final = ("response", "revisit")
_LINK: Final = "application/link-format"


class MementoPages:
    """The pages answer about the captures of all collections."""

    def __init__(self, captures: Captures, prefix: str, allowed: Callable[[str], tuple[Filter, ...] | None]) -> None:
        """`prefix` is the beginning of the mementos' addresses.

        `allowed` returns the conditions that readers' captures of a collection fulfil, and None for a collection
        without captures.
        """
        self._captures = captures
        self._prefix = prefix
        self._allowed = allowed

    def add_to(self, doors: Blueprint) -> None:
        """Add the routes. Slashes within a URL are kept."""
        for path, view in (
            ("/<collection>/timemap/<any(link, json):form>/<path:url>", self.timemap),
            ("/<collection>/timegate/<path:url>", self.timegate),
        ):
            doors.add_url_rule(path, view_func=view, merge_slashes=False)

    def timemap(self, collection: str, form: str, url: str) -> Response:
        """Return all captures of the URL, the oldest first. Raises QueryError."""
        found = self._found(collection, f"/timemap/{form}/", url)
        first = list(islice(found[1], 1)) if found else []
        if found is None or not first:
            return _none()
        address, captures = found[0], chain(first, found[1])
        if form == "json":
            lines = (self._json(capture) for capture in captures)
            return Response(lines, mimetype="application/x-ndjson")
        gate = f"{request.url_root}{collection}/timegate/{address}"
        return Response(self._links(address, self._timemap(collection, address), gate, captures), mimetype=_LINK)

    def timegate(self, collection: str, url: str) -> Response:
        """Return a redirect to the capture nearest to `Accept-Datetime`, or to the newest. Raises QueryError."""
        found = self._found(collection, "/timegate/", url)
        try:
            date = _moment(request.headers.get("Accept-Datetime"))
        except (ValueError, OverflowError):
            answer = Response("Accept-Datetime is no date of HTTP\n", status=400, mimetype="text/plain")
            answer.headers["Vary"] = "accept-datetime"
            return answer
        if found is None:
            return _none()
        address, _ = found
        near = self._captures.search(replace(self._query(collection, address), sort="closest", closest=date))
        best = next(islice(near, 1), None)
        if best is None:
            return _none()
        answer = Response(status=302)
        answer.headers["Location"] = _in_link(self._memento(best))
        answer.headers["Vary"] = "accept-datetime"
        answer.headers["Link"] = (
            f'<{_in_link(best.url)}>; rel="original", '
            f'<{_in_link(self._timemap(collection, address))}>; rel="timemap"; type="{_LINK}"'
        )
        return answer

    def _found(self, collection: str, before: str, url: str) -> tuple[str, Iterator[Capture]] | None:
        """Return the URL as it was asked for, and its captures; None when nothing can be found."""
        if not self._prefix or self._allowed(collection) is None:
            return None
        raw = str(request.environ.get("REQUEST_URI") or request.environ.get("RAW_URI") or "")
        _, mark, rest = raw.partition(before)
        address = rest if mark else url
        return address, self._captures.search(self._query(collection, address))

    def _query(self, collection: str, url: str) -> Query:
        query = queries.parse(collection, {"url": url, "matchType": "exact"})
        shown = Filter(lambda capture: capture.kind, lambda kind: kind in _SHOWN, False)
        return replace(query, filters=(shown,), allowed=self._allowed(collection) or ())

    def _memento(self, capture: Capture) -> str:
        return f"{self._prefix}{capture.collection}/{capture.timestamp}id_/{capture.url}"

    def _timemap(self, collection: str, url: str) -> str:
        return f"{request.url_root}{collection}/timemap/link/{url}"

    def _json(self, capture: Capture) -> str:
        said = {
            "url": capture.url,
            "timestamp": capture.timestamp,
            "mime": capture.cdx_mime,
            "status": "-" if capture.status is None else str(capture.status),
            "digest": capture.digest or "-",
            "memento_url": self._memento(capture),
        }
        return f"{compact_json(said)}\n"

    def _links(self, url: str, own: str, gate: str, captures: Iterator[Capture]) -> Iterator[str]:
        yield f'<{_in_link(url)}>; rel="original",\n'
        yield f'<{_in_link(own)}>; rel="self"; type="{_LINK}",\n'
        yield f'<{_in_link(gate)}>; rel="timegate"'
        for capture in captures:
            date = formatdate(capture.date // 1_000_000, usegmt=True)
            yield f',\n<{_in_link(self._memento(capture))}>; rel="memento"; datetime="{date}"'
        yield "\n"


def _moment(header: str | None) -> Micros | None:
    return None if header is None else int(parsedate_to_datetime(header).timestamp() * 1_000_000)


def _in_link(url: str) -> str:
    """Return the URL with the characters escaped that would end it in a header."""
    return quote(url, safe="%/:?#[]@!$&'()*+,;=", errors="replace")


def _none() -> Response:
    return Response("the collection has no capture of this URL for readers\n", status=404, mimetype="text/plain")
