"""This module ties request records to the records of their answers, in WARC files of any program. No I/O.

Programs differ in three ways. The request lies before or behind its response, or further away when exchanges overlap.
WARC-Concurrent-To (WARC/1.1 section 5.7) is on the request, on the response, on both or on neither. The field may name
a record that the file does not have. So the field of either record decides. Records without such a tie belong together
when they have the same URL, about the same date, and no nearer record of that URL.

A bounded number of records waits for a partner. Records that lie further apart are not tied.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Final

from archive.capture import Capture
from archive.dates import Micros
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import StoredRecord
from archive.warc.records.request_query import asked_key, asked_query

WINDOW: Final = 4_096
"""An answer waits until this many further answers have come. Twice as many requests wait."""
_SAME_EXCHANGE: Final = 3_600_000_000
"""Microseconds. Records without a tie whose dates are further apart are of two exchanges."""
_COMPARED: Final = 64
"""The number of records of one URL among which the one with the same date is looked for."""
_ANSWERS: Final = ("response", "revisit")


@dataclass(frozen=True, slots=True)
class AskedRequest:
    """An asked request is a request record, as far as index lines have it."""

    record_id: str
    concurrent_to: Sequence[str]
    url: str
    date: Micros
    method: str
    body: str | None

    def of(self, capture: Capture) -> Capture:
        """Return the capture as the answer to this request."""
        if self.method == "GET":
            return capture
        key = asked_key(capture.url, self.method, self.body)
        return replace(capture, method=self.method, request_body=self.body, key=key)


def asked_by(record: StoredRecord) -> AskedRequest:
    """Return a request record's facts. Its block is read, if it has a body. Raises WarcError for a damaged block."""
    method, body = "GET", None
    if record.is_http:
        head = record.http
        method = head.method
        body = asked_query(method, head.fields.get("Content-Type"), record.payload())
    return AskedRequest(record.record_id, record.concurrent_to, record.url, _date(record), method, body)


@dataclass(slots=True)
class _Answer[T]:
    item: T
    place: int
    record_id: str
    concurrent_to: Sequence[str]
    url: str
    date: Micros
    is_http: bool
    request: AskedRequest | None = None


@dataclass(slots=True)
class _Request:
    asked: AskedRequest
    place: int
    is_tied: bool = False


@dataclass(slots=True)
class _OfUrl[T]:
    """The records of one URL wait here for their partners."""

    answers: list[_Answer[T]] = field(default_factory=list)
    requests: list[_Request] = field(default_factory=list)


class ExchangePairs[T]:
    """Exchange pairs take the records of one file in their order, and give each answer back with its request."""

    def __init__(self, window: int = WINDOW) -> None:
        self._window = window
        self._place = 0
        self._answers: deque[_Answer[T]] = deque()
        self._requests: deque[_Request] = deque()
        self._answer_by_id: dict[str, _Answer[T]] = {}
        self._request_by_id: dict[str, _Request] = {}
        self._request_naming: dict[str, _Request] = {}
        self._answers_naming: dict[str, list[_Answer[T]]] = {}

    def add_answer(self, item: T, record: StoredRecord) -> None:
        """Take a record that may answer a request, and what stands for the record."""
        self._place += 1
        is_answer = record.kind in _ANSWERS
        named = record.concurrent_to if is_answer else ()
        answer = _Answer(
            item, self._place, record.record_id, named, record.url, _date(record), is_answer and record.is_http
        )
        self._answers.append(answer)
        if answer.record_id:
            self._answer_by_id[answer.record_id] = answer
        tied = next((found for each in named if (found := self._request_by_id.get(each))), None)
        tied = tied or self._request_naming.get(answer.record_id)
        if tied is not None:
            _tie(answer, tied)
            return
        for each in named:
            self._answers_naming.setdefault(each, []).append(answer)

    def add_request(self, asked: AskedRequest) -> None:
        """Take a request record."""
        self._place += 1
        request = _Request(asked, self._place)
        self._requests.append(request)
        if asked.record_id:
            self._request_by_id[asked.record_id] = request
            for answer in self._answers_naming.pop(asked.record_id, ()):
                _tie(answer, request)
        for named in asked.concurrent_to:
            self._request_naming[named] = request
            if (found := self._answer_by_id.get(named)) is not None:
                _tie(found, request)
        while len(self._requests) > 2 * self._window:
            self._forget(self._requests.popleft())

    def settled(self, *, is_end: bool = False) -> Iterator[tuple[T, AskedRequest | None]]:
        """Yield the answers that wait no longer, in the order of the file, each with its request if there is one."""
        if not is_end and len(self._answers) < 2 * self._window:
            return
        count = len(self._answers) if is_end else self._window
        self._tie_by_url(is_end=is_end)
        for _ in range(count):
            answer = self._answers.popleft()
            if self._answer_by_id.get(answer.record_id) is answer:
                del self._answer_by_id[answer.record_id]
            for named in answer.concurrent_to:
                self._answers_naming.pop(named, None)
            yield answer.item, answer.request

    def _tie_by_url(self, *, is_end: bool) -> None:
        """Tie what has no tie yet. Before the end of the file, records of the later half with a field go on waiting."""
        if all(each.is_tied or each.asked.method == "GET" for each in self._requests):
            return
        middle = self._answers[self._window].place if not is_end else self._place + 1
        waiting: list[_Answer[T] | _Request] = [
            each
            for each in self._answers
            if each.request is None and each.is_http and (each.place < middle or not each.concurrent_to)
        ]
        waiting += [
            each
            for each in self._requests
            if not each.is_tied and (each.place < middle or not each.asked.concurrent_to)
        ]
        by_url: dict[str, _OfUrl[T]] = {}
        for record in sorted(waiting, key=lambda each: each.place):
            if isinstance(record, _Request):
                near = by_url.setdefault(record.asked.url, _OfUrl())
                if (answer := _taken(near.answers, lambda each: each.date, record.asked.date)) is None:
                    near.requests.append(record)
                else:
                    _tie(answer, record)
            else:
                near = by_url.setdefault(record.url, _OfUrl())
                if (request := _taken(near.requests, lambda each: each.asked.date, record.date)) is None:
                    near.answers.append(record)
                else:
                    _tie(record, request)

    def _forget(self, request: _Request) -> None:
        asked = request.asked
        if self._request_by_id.get(asked.record_id) is request:
            del self._request_by_id[asked.record_id]
        for named in asked.concurrent_to:
            if self._request_naming.get(named) is request:
                del self._request_naming[named]


def _tie[T](answer: _Answer[T], request: _Request) -> None:
    request.is_tied = True
    if answer.request is None:
        answer.request = request.asked


def _taken[R](waiting: list[R], date_of: Callable[[R], Micros], date: Micros) -> R | None:
    """Remove and return the nearest record with that date, else the nearest one of about that date, else None."""
    latest = range(len(waiting) - 1, -1, -1)
    at = next((each for each in islice(latest, _COMPARED) if date_of(waiting[each]) == date), None)
    if at is None and waiting and abs(date_of(waiting[-1]) - date) <= _SAME_EXCHANGE:
        at = len(waiting) - 1
    return None if at is None else waiting.pop(at)


def _date(record: StoredRecord) -> Micros:
    try:
        return record.date
    except WarcError:
        return 0
