"""The list of a session's exchanges says of each request of a page how it ended, and whether the archive has it.

Only sessions with a page id have a list: the list of a page is short, and a crawler's session may last for months.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from archive.capture import Exchange
from archive.ended_exchange import EndedExchange, ExchangeEnd
from proxy.recording.keep import Kept, Lost

MAX_LISTED: Final = 5000
"""Largest number of exchanges in the list of one session."""
MAX_LISTED_TEXT: Final = 1_000_000
"""Largest number of characters of URLs and queries in the list of one session."""


def listed(exchange: Exchange, outcome: Kept | Lost, size: int) -> EndedExchange:
    """Return the entry for an exchange with a response of `size` bytes."""
    if isinstance(outcome, Lost):
        end, reason = ExchangeEnd.LOST, "not-kept"
    else:
        end = ExchangeEnd.REVISIT if outcome.is_revisit else ExchangeEnd.KEPT
        end, reason = end if outcome.capture is not None else ExchangeEnd.NOT_ARCHIVED, ""
    capture = outcome.capture if isinstance(outcome, Kept) else None
    return EndedExchange(
        method=exchange.method,
        url=exchange.url,
        status=exchange.outcome,
        end=end,
        mime=exchange.mime or "",
        size=size,
        truncated=exchange.truncated or "",
        reason=reason,
        digest=(capture.digest or "") if capture is not None else "",
        query=(capture.request_body or "") if capture is not None else "",
    )


@dataclass(slots=True)
class ExchangeList:
    """The list holds the first exchanges of a session, and counts those that came when the list was full."""

    exchanges: list[EndedExchange] = field(default_factory=list)
    unlisted: int = 0
    _text: int = field(default=0, init=False, compare=False)

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the list that another process sent (`to_json`)."""
        found = cls(unlisted=value.get("unlisted", 0))
        for entry in value.get("exchanges", ()):
            found.add(EndedExchange.from_json(entry))
        return found

    def add(self, entry: EndedExchange) -> None:
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
