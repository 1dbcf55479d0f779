"""crawl.log has one line for each URL that was tried or decided, with Heritrix's columns and status codes.

Columns, parted by spaces, "-" for what is not known: time of the line (ISO, milliseconds), code, bytes of the body,
URL, hop path, referring URL, media type, #thread, start (17 digits) + duration in ms, labelled digest of the payload,
source tag (the seed), annotations parted by commas, JSON with `contentSize`, `warcFilename`, `warcFileOffset`, and
`method` for any but GET.

Codes above zero are HTTP's own. Those below are Heritrix's, with Veidemann's additions for what Heritrix can't tell.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from archive.capture import Capture, Context, Exchange, Original
from archive.dates import Micros, iso_date, now_micros, parse_date
from archive.digest import labelled
from archive.json_text import compact_json
from archive.rotated_log import RotatedLog

# The frontier's Lua scripts write RUNTIME as '-5'.
UNTRIED: Final = 0
DNS_LOOKUP: Final = -1
"""A `dns:` lookup of its own failed; an http URL whose name is not found has DNS."""
CONNECT: Final = -2
LOST: Final = -3
TIMEOUT: Final = -4
RUNTIME: Final = -5
"""An error of ours, for instance a full disk: the URL may well be fine."""
DNS: Final = -6
BAD_URL: Final = -7
RETRIES: Final = -8
NO_SUCH_NAME: Final = -9
NO_ADDRESS: Final = -10
DEFERRED: Final = -50
UNQUEUEABLE: Final = -60
ROBOTS_UNREACHABLE: Final = -61
"""The robots.txt that must come first could not be fetched."""
PREREQUISITE: Final = -62
"""Another resource that must come first could not be fetched."""
PREREQUISITE_UNQUEUEABLE: Final = -63
EMPTY: Final = -404
SERIOUS: Final = -3000
CHAFF: Final = -4000
TOO_MANY_HOPS: Final = -4001
TOO_MANY_EMBEDS: Final = -4002
ALREADY_SEEN: Final = -4100
OUT_OF_SCOPE: Final = -5000
BLOCKED: Final = -5001
BLOCKED_BY_RULE: Final = -5002
QUOTA: Final = -5003
TIME_LIMIT: Final = -5004
MIXED_CONTENT: Final = -5010
CANCELLED: Final = -5011
DELETED: Final = -6000
KILLED: Final = -7000
ROBOTS: Final = -9998
"""The site's robots.txt forbids the URL."""

ANNOTATES: Final = "annotates"
"""Key of the JSON column of a line that only annotates a visit of which another line tells."""
FILE_NAME: Final = "crawl.log"
REVISIT: Final = "duplicate:digest"
"""The annotation of an exchange whose payload was held already."""
NAVIGATION: Final = "navigation"
"""The annotation of an exchange by which a person's browser opened a page."""
SHOWS_SECRET: Final = "showsSecret"
"""The annotation of an exchange whose response shows a secret that a person typed, and is recorded as it came."""
_NOTE: Final = re.compile(r'[^,"]*"[^"]*"|[^,]+')
_QUOTED: Final = re.compile(r'[^\s",]+:"[^\s"]*"')
"""An annotation that may hold commas, as DeDuplicator's `duplicate:"FILE,OFFSET"` does."""
_COLUMNS: Final = 12


@dataclass(frozen=True, slots=True)
class LogLine:
    """A line of crawl.log has these fields. Text that is not known is empty."""

    time: Micros
    code: int
    size: int | None
    url: str
    hop_path: str = ""
    via: str = ""
    mime: str = ""
    thread: int = 0
    started: Micros | None = None
    duration_ms: int = 0
    digest: str = ""
    """Labelled, such as `sha1:` and base32."""
    source: str = ""
    annotations: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    def text(self) -> str:
        """Return the line without its end. Spaces and control characters within a column are percent-escaped."""
        columns = (
            _milliseconds(self.time),
            f"{self.code:>5}",
            f"{'-' if self.size is None else self.size:>10}",
            _column(self.url),
            _column(self.hop_path),
            _column(self.via),
            _column(self.mime),
            f"#{self.thread:03d}",
            "-" if self.started is None else f"{_digits17(self.started)}+{self.duration_ms}",
            _column(self.digest),
            _column(self.source),
            ",".join(map(_note, self.annotations)) or "-",
        )
        return " ".join(columns) + (f" {compact_json(dict(self.extra))}" if self.extra else "")


def line(
    exchange: Exchange,
    *,
    code: int | None = None,
    annotations: Sequence[str] | None = None,
    capture: Capture | None = None,
    thread: int = 0,
) -> str:
    """Return the line of one exchange; `code` and `annotations` stand in for the exchange's own."""
    response, context, extra = exchange.response, exchange.context, dict[str, Any]()
    if response is not None:
        extra["contentSize"] = response.length
    if capture is not None:
        extra |= {"warcFilename": capture.filename, "warcFileOffset": capture.offset}
        if original := capture.refers_to:
            if original.record_id:
                extra["warcRefersTo"] = f"urn:uuid:{original.record_id}"
            extra |= {"warcRefersToTargetURI": original.url, "warcRefersToDate": iso_date(original.date)}
    if exchange.method != "GET":
        extra["method"] = exchange.method
    return LogLine(
        time=exchange.started + exchange.duration_ms * 1000,
        code=exchange.outcome if code is None else code,
        size=None if response is None else response.body.length,
        url=exchange.url,
        hop_path=context.hop_path,
        via=context.via or "",
        mime=exchange.mime or ("unknown" if context.log_name else ""),
        thread=thread,
        started=exchange.started,
        duration_ms=exchange.duration_ms,
        digest=labelled(exchange.digests.algorithm, exchange.digests.payload) if exchange.digests else "",
        source=context.source or "",
        annotations=tuple(exchange.annotations if annotations is None else annotations),
        extra=extra,
    ).text()


def derived_line(
    context: Context,
    url: str,
    *,
    code: int,
    size: int,
    mime: str,
    date: Micros,
    method: str,
    annotations: Sequence[str],
    capture: Capture | None,
) -> str:
    """Return the line of a record that a client handed in, by that method."""
    extra: dict[str, Any] = {"contentSize": size}
    digest = capture.digest if capture is not None and capture.digest is not None else ""
    if capture is not None:
        extra |= {"warcFilename": capture.filename, "warcFileOffset": capture.offset}
    return LogLine(
        time=now_micros(),
        code=code,
        size=size,
        url=url,
        hop_path=context.hop_path,
        via=context.via or "",
        mime=mime,
        started=date,
        digest=f"sha1:{digest}" if digest and ":" not in digest else digest,
        source=context.source or "",
        annotations=tuple(annotations),
        extra={**extra, "method": method},
    ).text()


def try_notes(attempt: int) -> tuple[str, ...]:
    """Return the annotation of a further try of a URL, as Heritrix writes it: `2t` for the second one."""
    return (f"{attempt}t",) if attempt > 1 else ()


def revisit_notes(original: Original, size: int) -> tuple[str, ...]:
    """Return the annotations of an exchange of so many bytes, head and body, whose payload is that capture's.

    Where the capture lies is said as Heritrix's DeDuplicator says it, for tools that make CDX lines from the log.
    """
    if not original.filename:
        return (REVISIT,)
    return REVISIT, f'duplicate:"{original.filename},{original.offset}"', f"content-size:{size}"


def parse(text: str) -> LogLine:
    """Return the facts of a line, ours or Heritrix's. Raises ValueError that quotes it."""
    columns = text.split(None, _COLUMNS)
    if len(columns) < _COLUMNS:
        raise ValueError(f"a crawl.log line has {_COLUMNS} columns, not {len(columns)}: {text[:300]!r}")
    known = ["" if column == "-" else column for column in columns[:_COLUMNS]]
    start, _, duration = known[8].partition("+")
    try:
        return LogLine(
            time=parse_date(known[0]),
            code=int(known[1]),
            size=int(known[2]) if known[2] else None,
            url=known[3],
            hop_path=known[4],
            via=known[5],
            mime=known[6],
            thread=int(known[7].removeprefix("#") or 0),
            started=parse_date(start) if start else None,
            duration_ms=int(duration or 0),
            digest=known[9],
            source=known[10],
            annotations=tuple(_NOTE.findall(known[11])),
            extra=json.loads(columns[12]) if len(columns) > _COLUMNS else {},
        )
    except ValueError as error:
        raise ValueError(f"not a crawl.log line ({error}): {text[:300]!r}") from error


class CrawlLog(RotatedLog):
    """The crawl.log of a job takes lines from any number of processes. It is rotated when it has `rotate_bytes`."""

    def __init__(self, folder: Path, name: str = FILE_NAME, *, rotate_bytes: int = 0) -> None:
        super().__init__(folder / name, rotate_bytes=rotate_bytes)


def _note(text: str) -> str:
    is_safe = text.isprintable() and _QUOTED.fullmatch(text)
    return text if is_safe else _column(text).replace(",", "%2C").replace('"', "%22")


def _column(text: str) -> str:
    """Return text as one column: what would part it, or end the line, becomes a percent-escape of its UTF-8."""
    if not text:
        return "-"
    if text.isprintable() and " " not in text:
        return text
    return "".join(
        char if char.isprintable() and char != " " else quote(char, safe="", errors="backslashreplace") for char in text
    )


def _milliseconds(date: Micros) -> str:
    return iso_date(date)[:-4] + "Z"


def _digits17(date: Micros) -> str:
    return "".join(char for char in iso_date(date)[:-4] if char.isdigit())
