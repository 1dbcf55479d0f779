"""Read what the archive has of the visit of a page: its pictures, its text, and the list of what it asked for."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from sqlalchemy import select

from admin.collections.browsing.index import OpenIndex
from admin.collections.browsing.records import RecordTrouble, read_block
from admin.qa.listing import INFO_PREFIX, newest_record, note_of
from archive.capture import Capture
from archive.dates import Micros, parse_date
from archive.repairs import is_repair
from archive.settings.load import Settings
from archive.url import key
from browsers.ghosts.page_errors import errors_of
from browsers.ghosts.page_outcome import links_out
from browsers.visit import FoundLink, Hop
from dedupdb.captures.schema import CAPTURES, reading, to_capture
from frontier.definition.scope import MAX_CHAIN

_C: Final = CAPTURES.c
_MOST_PICTURE: Final = 64_000_000
_MOST_TEXT: Final = 16_000_000
_MOST_RECORDS: Final = 50
_MOST_LINKS: Final = 16_000_000
_KINDS: Final = ("response", "revisit", "resource", "conversion")


@dataclass(frozen=True, slots=True)
class CapturedPage:
    """A captured page has the records that a crawl kept of a page. Everything but the URL may be missing."""

    url: str
    page_id: str
    captured: Micros
    """The date of the capture of the page's document."""
    note: Mapping[str, Any] = field(default_factory=dict)
    """The page information of the ghost (`browsers.page_records.page_info`)."""
    view: bytes | None = None
    full_page: bytes | None = None
    volatile: bytes | None = None
    """A mask of what changed between two pictures of the window."""
    text: str | None = None
    links: frozenset[str] | None = None
    """URLs of the links of the page; None when the crawl kept no list of them."""
    troubles: tuple[str, ...] = ()
    """One line for each record that can't be read, and for page information that is missing."""

    @property
    def viewport(self) -> tuple[int, int, float] | None:
        """Return width, height and scale of the ghost's window; None when they are not known.

        Other crawlers don't note the window: the size of its picture tells it then.
        """
        found, scale = self.note.get("viewport"), self.note.get("scale", 1.0)
        if found is None and self.view is not None:
            found = _size_of_png(self.view)
        if not isinstance(found, Mapping) or not isinstance(scale, int | float):
            return None
        width, height = found.get("width"), found.get("height")
        if not isinstance(width, int) or not isinstance(height, int) or width < 100 or height < 100:
            return None
        return min(width, 10_000), min(height, 10_000), min(max(float(scale), 0.1), 5.0)

    @property
    def random_seed(self) -> int | None:
        """Return the seed of the page's random numbers; None when it is not known."""
        found = self.note.get("randomSeed")
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    @property
    def final_url(self) -> str:
        """Return the URL of the page at the end of the visit."""
        found = self.note.get("finalUrl")
        return found if isinstance(found, str) and found else self.url

    @property
    def urls(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what the page asked for at its capture, by URL."""
        found = self.note.get("urls")
        return found if isinstance(found, Mapping) else {}

    @property
    def errors(self) -> Sequence[Mapping[str, Any]] | None:
        """Return the errors of the page's scripts at its capture; None when the ghost did not note them."""
        found = self.note.get("errors")
        return errors_of(found) if isinstance(found, list) else None

    @property
    def chain(self) -> list[str]:
        """Return the URLs by which HTTP redirects led to the page at its capture; empty when they are not known."""
        found = self.note.get("chain")
        entries = found[: MAX_CHAIN + 1] if isinstance(found, list) else ()
        return [str(each.get("url")) for each in entries if isinstance(each, Mapping)]

    @property
    def flaw_types(self) -> frozenset[str]:
        """Return the types of the flaws that the ghost found."""
        found = self.note.get("flaws")
        return frozenset(
            str(flaw.get("type")) for flaw in (found if isinstance(found, list) else ()) if isinstance(flaw, Mapping)
        )


def read_captured_page(
    settings: Settings,
    index: OpenIndex,
    collection: str,
    url: str,
    page_id: str,
    captured: Micros,
    *,
    is_rendered: bool,
) -> CapturedPage:
    """Return what the archive has of the visit of a page. Records that can't be read are named in `troubles`.

    A rendered page has page information, so its absence is a trouble.
    """
    note = note_of(settings, index, collection, page_id, url)
    troubles: list[str] = []
    if is_rendered and not note:
        troubles.append("the page information of the capture is missing or can't be read")

    def block_of(prefix: str, most: int) -> bytes | None:
        record = newest_record(index, collection, f"{prefix}{url}", page_id)
        if record is None:
            return None
        try:
            block, is_whole = read_block(settings, record, most)
        except RecordTrouble as error:
            troubles.append(str(error))
            return None
        if not is_whole:
            troubles.append(f"{prefix}{url[:200]} has more than {most:,} bytes")
        return block if is_whole else None

    text = block_of("urn:text:", _MOST_TEXT)
    return CapturedPage(
        url,
        page_id,
        _page_date(note) or captured,
        note,
        view=block_of("urn:view:", _MOST_PICTURE),
        full_page=block_of("urn:fullPage:", _MOST_PICTURE),
        volatile=block_of("urn:volatile:", _MOST_PICTURE),
        text=None if text is None else text.decode("utf-8", "replace"),
        links=_links_of(settings, index, collection, url, page_id) if page_id else None,
        troubles=tuple(troubles),
    )


def record_shown(index: OpenIndex, collection: str, record_id: str) -> Capture | None:
    """Return the capture of the record with this id; None without one."""
    if not record_id:
        return None
    query = select(CAPTURES).where(_C.collection == collection, _C.record_id == record_id).limit(1)
    with reading(index.engine) as connection:
        row = connection.execute(query).first()
    return to_capture(row) if row is not None else None


def visit_records(index: OpenIndex, collection: str, url: str, page_id: str) -> list[str]:
    """Return the ids of the records that a visit of a page left of a URL, without those of repairs, at most 50."""
    query = (
        select(CAPTURES)
        .where(
            _C.collection == collection, _C.key == key(url), _C.url == url, _C.page_id == page_id, _C.kind.in_(_KINDS)
        )
        .order_by(_C.date, _C.id)
        .limit(_MOST_RECORDS)
    )
    with reading(index.engine) as connection:
        captures = [to_capture(row) for row in connection.execute(query)]
    return [each.record_id for each in captures if not is_repair(each.job)]


def _links_of(settings: Settings, index: OpenIndex, collection: str, url: str, page_id: str) -> frozenset[str] | None:
    """Return the URLs of the links that a ghost kept of a page; None without a list that can be read whole."""
    record = newest_record(index, collection, url, page_id, kind="metadata")
    if record is None:
        return None
    try:
        block, is_whole = read_block(settings, record, _MOST_LINKS)
    except RecordTrouble:
        return None
    lines = (line.removeprefix("outlink: ").split(" ", 2) for line in block.decode("utf-8", "replace").splitlines())
    links = (FoundLink(line[0], cast(Hop, line[1]), line[2]) for line in lines if len(line) == 3)
    return frozenset(links_out(links)) if is_whole else None


def is_archived(index: OpenIndex, collection: str, url: str, digest: str = "") -> bool:
    """Return whether the collection has a capture of this URL, other than metadata.

    With a digest, only captures with this payload count.
    """
    wanted = [_C.collection == collection, _C.key == key(url), _C.kind.in_(_KINDS), _C.url == url]
    if digest:
        wanted.append(_C.digest == digest)
    query = select(_C.id).where(*wanted).limit(1)
    with reading(index.engine) as connection:
        return connection.scalar(query) is not None


def picture_record(index: OpenIndex, collection: str, kind: str, url: str, page_id: str) -> Capture | None:
    """Return the record of a picture of the page, such as kind `view` or `fullPage`; None without one."""
    return newest_record(index, collection, f"urn:{kind}:{url}", page_id)


def _size_of_png(picture: bytes) -> Mapping[str, int] | None:
    """Return width and height of a PNG picture; None for anything else."""
    if len(picture) < 24 or not picture.startswith(b"\x89PNG\r\n\x1a\n"):
        return None
    width, height = struct.unpack(">II", picture[16:24])
    return {"width": width, "height": height}


def _page_date(note: Mapping[str, Any]) -> Micros | None:
    """Return the date of the page's document, as the ghost noted it."""
    try:
        return parse_date(str(note.get("ts", "")))
    except ValueError:
        return None


__all__ = ["INFO_PREFIX", "CapturedPage", "is_archived", "picture_record", "read_captured_page"]
