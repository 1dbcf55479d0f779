"""The list of a session's exchanges says of each request of a page how it ended, and whether the archive has it.

Only sessions with a page id have a list: the list of a page is short, and a crawler's session may last for months.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Self

from archive.capture import Exchange
from proxy.recording.keep import Kept, Lost

MAX_LISTED: Final = 5000
"""Largest number of exchanges in the list of one session."""
MAX_LISTED_TEXT: Final = 1_000_000
"""Largest number of characters of URLs and queries in the list of one session."""


class ExchangeEnd(StrEnum):
    """An exchange of a session ended in one of these ways."""

    KEPT = "kept"
    """The response is in a WARC file."""
    REVISIT = "revisit"
    """A revisit record is in a WARC file, since the archive has had the payload."""
    NOT_ARCHIVED = "not-archived"
    """A response came, and a rule or the client's wish said that it is not archived."""
    RELAYED = "relayed"
    """A response came in a session that archives nothing."""
    FAILED = "failed"
    """No response came, or one that can't be understood, or the request was refused; `status` has Heritrix's code."""
    LOST = "lost"
    """A response came and could not be written."""


@dataclass(frozen=True, slots=True)
class ListedExchange:
    """One exchange of a session has ended. `status` is the HTTP status, or Heritrix's negative code."""

    method: str
    url: str
    status: int
    end: ExchangeEnd
    mime: str = ""
    size: int = 0
    """Bytes of the response with its head."""
    truncated: str = ""
    """The value of WARC-Truncated; empty when the response is whole."""
    reason: str = ""
    """Why there is no response, in a word; empty when there is one."""
    query: str = ""
    """The request's body as a query, as in the index (see `archive.warc.request_query`); empty without a body."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the exchange that `to_json` described. Unknown fields are ignored."""
        known = {name: value[name] for name in cls.__dataclass_fields__ if name in value}
        return cls(**{**known, "end": ExchangeEnd(known["end"])})

    def to_json(self) -> dict[str, Any]:
        """Return the fields that are set, for the control port."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if getattr(self, name) != ""}


def listed(exchange: Exchange, outcome: Kept | Lost, size: int) -> ListedExchange:
    """Return the entry for an exchange with a response of `size` bytes."""
    if isinstance(outcome, Lost):
        end, reason = ExchangeEnd.LOST, "not-kept"
    else:
        end = ExchangeEnd.REVISIT if outcome.is_revisit else ExchangeEnd.KEPT
        end, reason = end if outcome.capture is not None else ExchangeEnd.NOT_ARCHIVED, ""
    return ListedExchange(
        method=exchange.method,
        url=exchange.url,
        status=exchange.outcome,
        end=end,
        mime=exchange.mime or "",
        size=size,
        truncated=exchange.truncated or "",
        reason=reason,
        query=(outcome.capture.request_body or "") if isinstance(outcome, Kept) and outcome.capture is not None else "",
    )


@dataclass(slots=True)
class ExchangeList:
    """The list holds the first exchanges of a session, and counts those that came when the list was full."""

    exchanges: list[ListedExchange] = field(default_factory=list)
    unlisted: int = 0
    _text: int = field(default=0, init=False, compare=False)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the list that another process sent (`to_json`)."""
        found = cls(unlisted=value.get("unlisted", 0))
        for entry in value.get("exchanges", ()):
            found.add(ListedExchange.from_json(entry))
        return found

    def add(self, entry: ListedExchange) -> None:
        """Add an exchange, or count it when the list is full."""
        length = len(entry.url) + len(entry.query)
        if len(self.exchanges) >= MAX_LISTED or self._text + length > MAX_LISTED_TEXT:
            self.unlisted += 1
            return
        self._text += length
        self.exchanges.append(entry)

    def joined(self, later: ExchangeList) -> ExchangeList:
        """Return this list followed by another one, within the same bounds."""
        found = ExchangeList(unlisted=self.unlisted + later.unlisted)
        for entry in (*self.exchanges, *later.exchanges):
            found.add(entry)
        return found

    def emptied(self) -> ExchangeList:
        """Return a list without entries that counts them all as unlisted."""
        return ExchangeList(unlisted=self.unlisted + len(self.exchanges))

    def to_json(self) -> dict[str, Any]:
        """Return the list for the control port and for the process that replaces this one."""
        return {"exchanges": [entry.to_json() for entry in self.exchanges], "unlisted": self.unlisted}
