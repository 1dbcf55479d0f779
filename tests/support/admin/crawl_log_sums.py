"""What a crawl log says of one domain, added up from its columns alone, without the program's own counting."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

from archive import crawl_log


def summed(run: Path, domain: str) -> tuple[int, int, int]:
    """Objects, bytes and new bytes of a domain, added up from the columns of crawl.log alone."""
    objects = size = new = 0
    for text in (run / "crawl.log").read_text().splitlines():
        line = crawl_log.parse(text)
        seed = urlsplit(line.source).hostname or ""
        if line.code > 0 and not line.extra.get("annotates") and (seed == domain or seed.endswith(f".{domain}")):
            objects, size = objects + 1, size + line.extra["contentSize"]
            new += 0 if "duplicate:digest" in line.annotations else line.extra["contentSize"]
    return objects, size, new
