"""The site of the crawl bench has many hosts on one loopback address. Its pages are computed from their numbers.

`python -m bench.crawls.crawl_site ADDRESS PAGES HOSTS [VISITS]` prints a line with its port, which was free, and serves
the site until its standard input is closed. Then it writes one JSON line about the requests: their number, the number
of distinct pages, and the times of the first and the last page in seconds of the system's monotonic clock. The file
VISITS gets a line for each request of a page: the numbers of the host and of the page, and the time.

A page has about 5 KB and 39 links: ten to pages that only this page names, as far as there are any, five to the front
pages of other hosts, and the others to pages that each page of the host names. So 38 of 39 links were seen before.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Final, NamedTuple, TextIO, cast

import uvloop

from bench.process import source_environment

DOMAIN: Final = "crawl-bench.test"
LINKS: Final = 39
"""Links of a page of a host with at least as many pages."""
_CHILDREN: Final = 10
_OTHER_HOSTS: Final = 5
_TEXT_BYTES: Final = 2_100
_REFUSAL: Final = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n"
_PATH: Final = re.compile(r"/(?:section-[0-9]+/page-([0-9]+)\.html)?")
_HOST: Final = re.compile(rf"(?:\r\nhost: *)host-([0-9]+)\.{re.escape(DOMAIN)}", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class CrawlSite:
    """A site has so many pages, in equal parts on so many hosts. All hosts have the same port."""

    pages: int
    hosts: int
    port: int

    @property
    def seeds(self) -> list[str]:
        """Return the URLs of the front pages."""
        return [self.url(host, 0) for host in range(self.hosts)]

    def url(self, host: int, page: int) -> str:
        """Return the URL of a page."""
        return f"http://host-{host}.{DOMAIN}:{self.port}{_path(page)}"

    def pages_of(self, host: int) -> int:
        """Return the number of pages of a host."""
        return self.pages // self.hosts + (host < self.pages % self.hosts)

    def body(self, host: int, page: int) -> bytes:
        """Return the HTML of a page."""
        links = "".join(f'<li><a href="{target}">{target[-24:]}</a></li>\n' for target in self.links(host, page))
        text = _text()
        cut = (host * 7_919 + page * 104_729) % (len(text) - _TEXT_BYTES)
        title = f"Page {page} of host {host}"
        return (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title></head>\n'
            f"<body><h1>{title}</h1>\n<ul>\n{links}</ul>\n<p>{text[cut : cut + _TEXT_BYTES]}</p></body></html>\n"
        ).encode()

    def links(self, host: int, page: int) -> Sequence[str]:
        """Return what the links of a page say: paths for the pages of the host, and URLs for the other hosts."""
        count = self.pages_of(host)
        first = page * _CHILDREN + 1
        found = [_path(child) for child in range(first, min(first + _CHILDREN, count))]
        found += [self.url((host + step) % self.hosts, 0) for step in range(1, min(_OTHER_HOSTS + 1, self.hosts))]
        common = (_path(number) for number in range(count) if not first <= number < first + _CHILDREN)
        return [*found, *islice(common, LINKS - len(found))]


@dataclass(slots=True)
class CountedRequests:
    """The requests of a crawl are counted where they arrive. Times are seconds of the monotonic clock."""

    requests: int = 0
    pages: int = 0
    first: float = 0.0
    last: float = 0.0


class SiteVisit(NamedTuple):
    """A page was asked for at this time, in seconds of the monotonic clock."""

    host: int
    page: int
    time: float


class CrawlSiteServer(asyncio.Protocol):
    """A server answers the requests of one connection in order."""

    def __init__(
        self, site: CrawlSite, counted: CountedRequests, visits: TextIO | None, seen: set[tuple[int, int]]
    ) -> None:
        self._site, self._counted, self._seen, self._visits = site, counted, seen, visits
        self._pending = b""
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        heads = (self._pending + data).split(b"\r\n\r\n")
        self._pending = heads.pop()
        for head in heads:
            assert self._transport is not None
            self._transport.write(self._answer(head.decode("latin-1")))

    def _answer(self, head: str) -> bytes:
        self._counted.requests += 1
        words, named = head.split(" ", 2), _HOST.search(head)
        found = _PATH.fullmatch(words[1]) if len(words) == 3 else None
        if found is None or named is None:
            return _REFUSAL
        host, page = int(named[1]), int(found[1] or 0)
        if host >= self._site.hosts or page >= self._site.pages_of(host):
            return _REFUSAL
        self._counted.last = time.monotonic()
        self._counted.first = self._counted.first or self._counted.last
        self._seen.add((host, page))
        if self._visits is not None:
            self._visits.write(f"{host} {page} {self._counted.last:.6f}\n")
            self._visits.flush()
        body = self._site.body(host, page)
        head_lines = f"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {len(body)}\r\n\r\n"
        return head_lines.encode() + body


class SiteProcess:
    """The site is served by a process of its own."""

    def __init__(self, address: str, pages: int, hosts: int, visits: Path | None = None) -> None:
        """Start the process. It writes all visits of pages to the file `visits`, which is whole after `close`."""
        words = [str(word) for word in (pages, hosts, visits) if word is not None]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "bench.crawls.crawl_site", address, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=source_environment(),
        )
        assert self._process.stdout is not None
        if not (port := self._process.stdout.readline()):
            raise RuntimeError(f"the site did not start on {address}; check that this loopback address can be used")
        self.site = CrawlSite(pages, hosts, int(port))

    def close(self) -> CountedRequests:
        """End the process, and return what it was asked for."""
        said, _ = self._process.communicate()
        return CountedRequests(**json.loads(said)) if said else CountedRequests()


def read_visits(path: Path) -> list[SiteVisit]:
    """Return the visits in a file, in the order of their times."""
    lines = (line.split() for line in path.read_text("ascii").splitlines())
    return [SiteVisit(int(host), int(page), float(time)) for host, page, time in lines]


def _path(page: int) -> str:
    return f"/section-{page % 10}/page-{page}.html" if page else "/"


@cache
def _text() -> str:
    """Return random words, the same in every process."""
    return " ".join(_words())


def _words() -> Iterator[str]:
    draw = random.Random(41)
    known = ["".join(draw.choices("etaoinshrdlucmfw", k=draw.randint(2, 10))) for _ in range(3_000)]
    for _ in range(40_000):
        yield known[min(int(draw.expovariate(0.004)), len(known) - 1)]


async def _serve(address: str, pages: int, hosts: int, visits: TextIO | None) -> None:
    listener = socket.create_server((address, 0), backlog=1024)
    site = CrawlSite(pages, hosts, listener.getsockname()[1])
    counted, seen = CountedRequests(), set[tuple[int, int]]()
    _text()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: CrawlSiteServer(site, counted, visits, seen), sock=listener, backlog=1024)
    print(site.port, flush=True)
    await loop.run_in_executor(None, sys.stdin.read)
    server.close()
    found = {"requests": counted.requests, "pages": len(seen), "first": counted.first, "last": counted.last}
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    with Path(sys.argv[4]).open("w", encoding="ascii") if len(sys.argv) > 4 else nullcontext() as file:
        uvloop.run(_serve(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), file))
