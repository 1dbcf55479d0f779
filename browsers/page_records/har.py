"""The requests of a page are written as an HTTP Archive (HAR 1.2), without the bodies of responses.

The bodies are in the WARC files. `_page_id` of the log is the page id of the WARC records. The values of request
headers that are not to be recorded are left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

from archive.dates import Micros, iso_date
from archive.version import version
from browsers.engines.traffic import AskedExchange

MAX_ENTRIES: Final = 5000
_REDACTED: Final = "redacted"
_MAX_PARAMETERS: Final = 1000


def har_of(
    asked: Sequence[AskedExchange],
    *,
    page_id: str,
    url: str,
    title: str,
    began: Micros,
    loaded: Micros | None,
    browser: str,
    unrecorded: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the HAR log of a visit that began at `began`. `unrecorded` are names of headers in lower case."""
    name, _, release = browser.partition("/")
    hidden = frozenset(header.lower() for header in unrecorded)
    page = {
        "startedDateTime": iso_date(began),
        "id": "page_1",
        "title": title or url,
        "pageTimings": {"onContentLoad": -1, "onLoad": _ms(began, loaded)},
    }
    entries = [_entry(each, hidden) for each in asked[:MAX_ENTRIES] if each.request.url.startswith(("http", "ws"))]
    return {
        "log": {
            "version": "1.2",
            "creator": {"name": "Ghostfleet", "version": version()},
            "browser": {"name": name, "version": release},
            "pages": [page],
            "entries": entries,
            "_page_id": page_id,
        }
    }


def _entry(asked: AskedExchange, hidden: frozenset[str]) -> dict[str, Any]:
    wait, receive = _ms(asked.began, asked.answered), _ms(asked.answered, asked.ended)
    entry: dict[str, Any] = {
        "pageref": "page_1",
        "startedDateTime": iso_date(asked.began),
        "time": max(_ms(asked.began, asked.ended), 0),
        "request": _request(asked, hidden),
        "response": _response(asked, hidden),
        "cache": {},
        "timings": {"send": 0, "wait": max(wait, 0), "receive": max(receive, 0)},
        "_resourceType": asked.request.kind,
    }
    return entry | ({"_error": asked.error} if asked.error else {})


def _request(asked: AskedExchange, hidden: frozenset[str]) -> dict[str, Any]:
    request = asked.request
    found: dict[str, Any] = {
        "method": request.method,
        "url": request.url,
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _headers(request.headers, hidden),
        "queryString": _query(request.url),
        "headersSize": -1,
        "bodySize": len(request.body.encode("utf-8", "replace")) if request.body is not None else 0,
    }
    if request.body is not None:
        mime = request.headers.get("content-type", "")
        found["postData"] = {"mimeType": mime, "params": [], "text": request.body}
    return found


def _response(asked: AskedExchange, hidden: frozenset[str]) -> dict[str, Any]:
    headers = asked.headers
    return {
        "status": asked.status,
        "statusText": "",
        "httpVersion": "HTTP/1.1",
        "cookies": [],
        "headers": _headers(headers, hidden),
        "content": {"size": _length(headers), "mimeType": headers.get("content-type", "x-unknown")},
        "redirectURL": headers.get("location", ""),
        "headersSize": -1,
        "bodySize": -1,
    }


def _headers(headers: Mapping[str, str], hidden: frozenset[str]) -> list[dict[str, str]]:
    return [{"name": name, "value": _REDACTED if name.lower() in hidden else value} for name, value in headers.items()]


def _query(url: str) -> list[dict[str, str]]:
    try:
        pairs = parse_qsl(urlsplit(url).query, keep_blank_values=True, max_num_fields=_MAX_PARAMETERS)
    except ValueError:
        return []  # the URL can't be parsed, or has too many parameters; the entry has it whole
    return [{"name": name, "value": value} for name, value in pairs]


def _length(headers: Mapping[str, str]) -> int:
    text = headers.get("content-length", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else -1


def _ms(began: Micros | None, ended: Micros | None) -> float:
    """Return the milliseconds between two moments; -1 when one is not known, as HAR says."""
    return -1 if began is None or ended is None else max(ended - began, 0) / 1000
