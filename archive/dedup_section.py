"""The section `[dedup]` of the settings: which payloads are kept once, and what is asked of origins."""

from __future__ import annotations

import re
from typing import Final, Literal

from pydantic import Field, field_validator

from archive import cdx_address
from archive.section import Section
from archive.sections import NAME_PATTERN

type Match = Literal["digest", "url", "equivalent"]
type FilterMode = Literal["blacklist", "whitelist"]
type Recall = Literal["lost", "always", "never"]
_STATUS: Final = re.compile(r"[2-5](\d\d|xx)")
_NEVER_WHOLE: Final = frozenset((206, 304))
"""A part is not the whole, and a 304 has no payload."""


class DedupSettings(Section):
    """Have we these bytes?"""

    enabled: bool = Field(True, description="write revisit records for payloads the collection holds already")
    match: Match = Field(
        "digest", description="the same: digest, whatever its URL; url, of this URL; equivalent, of a URL with its key"
    )
    statuses: str = Field(
        "2xx", description="statuses whose payloads are deduplicated, as 2xx,404; a 206 and a 304 never are"
    )
    min_bytes: int = Field(1, ge=1, description="payloads smaller than this are always kept whole")
    min_text_bytes: int = Field(0, ge=0, description="the same for text: HTML, CSS, scripts, JSON, XML, SVG")
    min_binary_bytes: int = Field(0, ge=0, description="the same for everything else")
    mime_filter: str = Field("", description="regular expression of whole media types; empty filters none")
    mime_filter_mode: FilterMode = Field(
        "blacklist", description="blacklist keeps what matches whole, whitelist keeps everything else whole"
    )
    only_with_bucket: bool = Field(False, description="deduplicate only where a request or session names a bucket")
    blackout_seconds: float = Field(
        0, ge=0, description="a revisit of the same URL is not written so long after its original; 0 writes all"
    )
    recall: Recall = Field(
        "lost", description="look new payloads up in the index: lost, when Redis has lost some; always; never"
    )
    conditional: bool = Field(
        False, description="ask origins whether a page changed since its last capture; a 304 becomes a revisit"
    )
    cdx_servers: dict[str, str] = Field(
        default_factory=dict,
        description="collection to the CDX server of an archive elsewhere that is asked whether it has a payload of the"
        " same URL; * is every collection; takes archive.digest sha1",
    )
    cdx_seconds: float = Field(
        2, gt=0, le=20, description="longest wait for CDX servers, for all URLs of a batch together; then written whole"
    )
    cdx_connections: int = Field(8, ge=1, le=64, description="most questions of one process to CDX servers at a time")
    claim_seconds: float = Field(30, gt=0, description="a claim of a writer that died expires after this")
    wait_seconds: float = Field(5, gt=0, description="how long to wait for another writer's claim before writing whole")

    @field_validator("statuses")
    @classmethod
    def _statuses_are_known(cls, text: str) -> str:
        read_statuses(text)
        return text

    @field_validator("cdx_servers")
    @classmethod
    def _servers_can_be_asked(cls, servers: dict[str, str]) -> dict[str, str]:
        for collection, address in servers.items():
            if collection != "*" and not re.fullmatch(NAME_PATTERN, collection):
                raise ValueError(f"{collection[:80]!r} is no collection, and not *")
            cdx_address.parse(address)
        return servers

    @field_validator("mime_filter")
    @classmethod
    def _filter_is_a_pattern(cls, text: str) -> str:
        try:
            re.compile(text)
        except re.error as error:
            raise ValueError(f"{text!r} is no regular expression: {error}") from error
        return text


def read_statuses(text: str) -> frozenset[int]:
    """The statuses in a list such as `2xx,404`, without 206 and 304. Raises ValueError for what is no status."""
    found: set[int] = set()
    for part in text.lower().replace(" ", "").split(","):
        if not _STATUS.fullmatch(part):
            raise ValueError(f"{part!r} is no status from 200 on, and no class of them such as 2xx")
        first = int(part.replace("xx", "00"))
        found |= set(range(first, first + 100)) if part.endswith("xx") else {first}
    return frozenset(found - _NEVER_WHOLE)
