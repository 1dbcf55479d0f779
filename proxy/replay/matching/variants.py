"""One of several representations is chosen as the origin chose it: by the request headers that `Vary` names.

The index has no request headers. So the recorded requests are read, which lie behind their responses in the WARC file,
and only when there are several captures and the first of them says `Vary`.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from archive.capture import Capture
from archive.http.http_message import Fields
from archive.warc.reading.member_reader import WarcError
from proxy.protocol.http1 import FieldLines

_LOOKED_AT: Final = 24
"""Captures whose requests are read for one answer."""
_REMEMBERED: Final = 4_000
_NEVER: Final = frozenset({"*", "accept-datetime", "accept-encoding", "access-control-request-method"})
"""Names in Vary that choose nothing here. A content coding is undone by the client, and was sent by Accept-Encoding."""
_MOST_NAMES: Final = 8
_MOBILE: Final = re.compile(r"mobi|android|iphone|ipad", re.IGNORECASE)
SAME: Final = 3
LIKE: Final = 1


class RecordedRequests(Protocol):
    """The variants need this part of `proxy.replay.memento.Archive`."""

    def response_fields(self, capture: Capture) -> Fields:
        """Return the header fields of a recorded response. Raises OSError or WarcError."""

    def request_fields(self, capture: Capture) -> Fields | None:
        """Return those of the recorded request; None when it can't be found. Raises OSError or WarcError."""


@dataclass(frozen=True, slots=True)
class _Known:
    """A known choice is what a capture says about it."""

    vary: tuple[str, ...]
    request: Fields | None
    has_request: bool
    """The request was looked for."""


class Variants:
    """This chooser picks among captures of one URL. Threads may share it; every call blocks."""

    def __init__(self, records: RecordedRequests) -> None:
        self._records = records
        self._known: OrderedDict[tuple[str, str], _Known] = OrderedDict()
        self._lock = threading.Lock()

    def matching(
        self,
        captures: Sequence[Capture],
        asked: FieldLines,
        always: tuple[str, ...] = (),
        never: frozenset[str] = frozenset(),
    ) -> tuple[list[Capture], list[Capture], tuple[str, ...]]:
        """Return the captures that fit the request best, the others, and the values by which they were chosen.

        Both lists keep their order. The headers `always` choose whether or not `Vary` names them, and `never` don't.
        """
        if len(captures) < 2:
            return list(captures), [], ()
        names = tuple(name for name in dict.fromkeys((*self._names(captures[0]), *always)) if name not in never)
        if not names:
            return list(captures), [], ()
        wanted = {name: _value(asked, name) for name in names}
        scores = [self._score(capture, wanted) for capture in captures[:_LOOKED_AT]]
        best = max(scores)
        chosen = [capture for capture, score in zip(captures, scores, strict=False) if score == best]
        others = [capture for capture in captures if capture not in chosen]
        return chosen, others, tuple(value or "" for value in wanted.values())

    def _names(self, capture: Capture) -> tuple[str, ...]:
        known = self._look(capture)
        return known.vary if known is not None else ()

    def _score(self, capture: Capture, wanted: dict[str, str | None]) -> int:
        known = self._look(capture, with_request=True)
        if known is None or known.request is None:
            return 0
        return sum(likeness(name, value, known.request.get(name)) for name, value in wanted.items())

    def _look(self, capture: Capture, *, with_request: bool = False) -> _Known | None:
        place = (capture.filename, capture.record_id)
        with self._lock:
            found = self._known.get(place)
        if found is not None and (found.has_request or not with_request):
            return found
        try:
            vary = found.vary if found is not None else _vary(self._records.response_fields(capture))
            has_request = with_request or bool(vary)
            known = _Known(vary, self._records.request_fields(capture) if has_request else None, has_request)
        except (OSError, WarcError):
            return None
        with self._lock:
            self._known[place] = known
            while len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
        return known


def likeness(name: str, asked: str | None, recorded: str | None) -> int:
    """Return how well the value of a request header fits a recorded one: SAME, LIKE or 0."""
    asked, recorded = _plain(asked), _plain(recorded)
    if asked == recorded:
        return SAME
    if name == "accept-language":
        return LIKE if asked[:2] == recorded[:2] else 0
    if name == "user-agent":
        return LIKE if bool(_MOBILE.search(asked)) is bool(_MOBILE.search(recorded)) else 0
    if name == "accept":
        return LIKE if asked.partition(",")[0] == recorded.partition(",")[0] else 0
    if name == "cookie":
        ours, theirs = _pairs(asked), _pairs(recorded)
        return LIKE if theirs and (theirs <= ours or _names(theirs) == _names(ours)) else 0
    return 0


def _plain(value: str | None) -> str:
    return "".join((value or "").lower().split())


def _pairs(cookies: str) -> set[str]:
    return set(filter(None, cookies.split(";")))


def _names(pairs: set[str]) -> set[str]:
    return {pair.partition("=")[0] for pair in pairs}


def _vary(fields: Fields) -> tuple[str, ...]:
    names = (name.strip().lower() for value in fields.all("Vary") for name in value.split(","))
    return tuple(name for name in dict.fromkeys(names) if name and name not in _NEVER)[:_MOST_NAMES]


def _value(fields: FieldLines, name: str) -> str | None:
    wanted = name.encode("latin-1", "replace")
    return next((value.decode("latin-1") for found, value, _ in fields if found == wanted), None)
