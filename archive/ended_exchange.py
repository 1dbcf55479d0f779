"""An exchange of a proxy's session has ended: the form in which the control port tells clients of the exchange."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Self


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

    @property
    def is_in_archive(self) -> bool:
        """Return whether the archive has the response, in this record or in an earlier one."""
        return self in (ExchangeEnd.KEPT, ExchangeEnd.REVISIT)


@dataclass(frozen=True, slots=True)
class EndedExchange:
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
    digest: str = ""
    """The payload's digest as the index has it; empty for a response that is not in the archive."""
    query: str = ""
    """The request's body as a query, as in the index (`archive.warc.records.request_query`); empty without a body."""

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Return the exchange that `to_json` described. Unknown fields are ignored."""
        known = {name: value[name] for name in cls.__dataclass_fields__ if name in value}
        return cls(**{**known, "end": ExchangeEnd(known["end"])})

    def to_json(self) -> dict[str, Any]:
        """Return the fields that are set, for the control port."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__ if getattr(self, name) != ""}
