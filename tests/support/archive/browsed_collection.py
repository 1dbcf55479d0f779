"""A collection as a crawl leaves it: WARC files by our writer, with what a ghost keeps of a page, and their index."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable
from typing import Final

from PIL import Image

from archive.capture import Body, Capture, Context, Original
from archive.settings.load import Settings
from archive.url import key
from archive.warc import cdxj
from archive.warc.records.derived import ResourceKind, resource_record
from archive.warc.writing.writer import WarcWriter
from dedupdb.captures.capture_index import Captures
from dedupdb.index.sidecars import Sidecars
from support.archive.exchanges import DATE, exchange, keep, response

NAME: Final = "news"
SECOND: Final = 1_000_000
DAY: Final = 86_400 * SECOND
HOSTILE: Final = '"><script>alert(1)</script>'
PAGE: Final = "http://example.org/page"


NOTES: Final = {
    "title": f"Title {HOSTILE}",
    "url": PAGE,
    "finalUrl": f"{PAGE}#end",
    "flaws": [{"type": "logged-out", "rule": HOSTILE}, "no flaw", {"type": 3}],
    "behaviors": [{"id": "scroll", "steps": 7, "ended": "timeout", "links": 2, "requests": 3, "detail": HOSTILE}, 5],
    "counts": {"requests": 12, "failed": 1},
    "proxy": {"counts": {"missing": 2, "status": 1}},
}
"""What a ghost noted about its visit, with values that no ghost writes."""


def png(width: int = 64, height: int = 48) -> bytes:
    """A small picture."""
    out = io.BytesIO()
    Image.new("RGB", (width, height), (200, 30, 40)).save(out, "PNG")
    return out.getvalue()


class Shelf:
    """Writes records to a collection's WARC file."""

    def __init__(self, settings: Settings, name: str = NAME) -> None:
        self.settings = settings
        self.name = name
        self.writer = WarcWriter(settings, name)

    def page(self, path: str = "/page", date: int = DATE, original: Original | None = None, **changed: str) -> Capture:
        """Keep a response of http://example.org."""
        changed.setdefault("mime", "text/html")
        answer = response(status=changed.pop("status", "200 OK"), mime=changed["mime"])
        context = Context(self.name, job=changed.pop("job", "daily-20261121081500"), page_id="page-1")
        return keep(self.writer, exchange(path, answer, started=date, context=context, **changed), original)

    def kept(
        self,
        prefix: str,
        block: bytes,
        content_type: str = "image/png",
        *,
        url: str = PAGE,
        date: int = DATE + SECOND,
        page_id: str = "page-1",
        kind: ResourceKind = "resource",
        concurrent_to: str | None = None,
    ) -> Capture:
        """Keep a record as a ghost's visit leaves it."""
        record = resource_record(
            kind,
            prefix + url,
            content_type,
            Body((block,), None, len(block)),
            date=date,
            context=Context(self.name, job="daily-20261121081500", page_id=page_id),
            warcinfo_id=self.writer.warcinfo_id,
            concurrent_to=concurrent_to,
        )
        return self.writer.append([record])[0]

    def close(self) -> None:
        """Give the file its final name, and index it."""
        self.writer.close()
        with Captures(self.settings.database_url) as captures:
            Sidecars(self.settings.home, captures).reconcile(self.name)


def fill(settings: Settings) -> dict[str, Capture]:
    """Make a collection with a page that a ghost visited, and some more; return captures by what they are."""
    shelf = Shelf(settings)
    found = {
        "page": shelf.page(),
        "later": shelf.page(date=DATE + 40 * DAY),
        "missing": shelf.page("/gone", status="404 Not Found"),
        "image": shelf.page("/logo.png", mime="image/png"),
        "hostile": shelf.page(f"/{HOSTILE}", mime=f"text/{HOSTILE}"),
        "view": shelf.kept("urn:view:", png()),
        "text": shelf.kept("urn:text:", f"Hello {HOSTILE}".encode(), "text/plain; charset=utf-8"),
        "info": shelf.kept("urn:pageinfo:", json.dumps(NOTES).encode(), "application/json"),
        "notes": shelf.kept(
            "", b"outlink: http://example.org/ L a/@href\r\n", "application/warc-fields", kind="metadata"
        ),
        "html": shelf.kept("urn:fullPage:", f"<!doctype html>{HOSTILE}".encode()),
    }
    found["revisit"] = shelf.page("/page", DATE + 41 * DAY, Original.of(found["later"]))
    shelf.close()
    return found


def add_rows(settings: Settings, captures: Iterable[Capture]) -> None:
    """Add rows to the index alone."""
    with Captures(settings.database_url) as index:
        index.add(captures)


def fill_index(settings: Settings, urls: int) -> None:
    """Add a page to the collection, and name the page in the index by so many URLs. Packaging takes a while then."""
    shelf = Shelf(settings)
    page = shelf.page()
    shelf.close()
    sidecar = settings.index_dir(NAME) / f"{page.filename}.cdxj"
    (one,) = cdxj.read(sidecar, NAME)
    line, lines = cdxj.line(one), []
    for number in range(urls):
        url = f"http://www.example.org/Page?z={number}&a=1"
        lines.append(line.replace(one.url, url).replace(one.key, key(url), 1))
    cdxj.write_sorted(sidecar, lines)
