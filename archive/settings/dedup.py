"""The section `[dedup]` says which payloads are kept once, and which conditional requests origins get."""

from __future__ import annotations

import re
from typing import Final, Literal

from pydantic import Field, field_validator

from archive.settings.values.base import Section

type DedupMatch = Literal["digest", "url", "equivalent"]
type FilterMode = Literal["blacklist", "whitelist"]
type NotModified = Literal["identical-payload-digest", "server-not-modified"]
type RecallMode = Literal["lost", "always", "never"]
_STATUS: Final = re.compile(r"[2-5](\d\d|xx)")
_NEVER_WHOLE: Final = frozenset((206, 304))
"""A 206 is only a part of a resource, and a 304 has no payload."""


class DedupSettings(Section):
    """These settings control the deduplication."""

    enabled: bool = Field(
        True, description="Write a revisit record instead of a payload that the collection holds already."
    )
    match: DedupMatch = Field(
        "digest",
        description="Payloads that count as duplicates: digest, the same bytes under any URL; url, the same bytes under"
        " the same URL; equivalent, the same bytes under a URL with the same sort key.",
    )
    statuses: str = Field(
        "2xx",
        description="HTTP statuses whose payloads are deduplicated, comma separated, such as 2xx,404. 206 and 304 never"
        " are.",
    )
    min_bytes: int = Field(
        1, ge=1, description="Smallest payload in bytes that is deduplicated; smaller ones are always kept whole."
    )
    min_text_bytes: int = Field(
        0, ge=0, description="The same limit for text only: HTML, CSS, scripts, JSON, XML and SVG."
    )
    min_binary_bytes: int = Field(0, ge=0, description="The same limit for all other payloads.")
    mime_filter: str = Field(
        "", description="Regular expression for whole media types. By default no media type is filtered."
    )
    mime_filter_mode: FilterMode = Field(
        "blacklist",
        description="Use of mime_filter: blacklist deduplicates all media types but those that match, whitelist"
        " deduplicates only those that match.",
    )
    only_with_bucket: bool = Field(
        False, description="Deduplicate only requests that name a bucket, themselves or by their session."
    )
    blackout_seconds: float = Field(
        0,
        ge=0,
        description="Time after an original in which no revisit record of the same URL is written. 0 writes all.",
    )
    recall: RecallMode = Field(
        "lost",
        description="When payloads that Redis does not know are looked up in the capture index: lost, if Redis has lost"
        " some of its keys; always; or never.",
    )
    conditional: bool = Field(
        False,
        description="Ask origins whether a page has changed since its last capture. A 304 becomes a revisit record.",
    )
    not_modified: NotModified = Field(
        "identical-payload-digest",
        description="Profile of the revisit record for a 304: identical-payload-digest, with the page's present head,"
        " which every replay tool shows; or server-not-modified, with the 304 itself, which most tools show as an empty"
        " page.",
    )
    claim_seconds: float = Field(
        30, gt=0, description="Time after which the claim of a writer that has died is free again."
    )
    wait_seconds: float = Field(
        5, gt=0, description="Longest wait for the claim of another writer. After it the payload is kept whole."
    )

    @field_validator("statuses")
    @classmethod
    def _statuses_are_known(cls, text: str) -> str:
        read_statuses(text)
        return text

    @field_validator("mime_filter")
    @classmethod
    def _filter_is_a_pattern(cls, text: str) -> str:
        try:
            re.compile(text)
        except re.error as error:
            raise ValueError(f"it is not a regular expression: {error}") from error
        return text


def read_statuses(text: str) -> frozenset[int]:
    """Return the statuses in a list such as `2xx,404`, without 206 and 304. Raises ValueError for other text."""
    found: set[int] = set()
    for part in text.lower().replace(" ", "").split(","):
        if not _STATUS.fullmatch(part):
            raise ValueError(f"{part!r} is not a status from 200 to 599 or a class such as 2xx")
        first = int(part.replace("xx", "00"))
        found |= set(range(first, first + 100)) if part.endswith("xx") else {first}
    return frozenset(found - _NEVER_WHOLE)
