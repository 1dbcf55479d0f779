"""This fault crawls pages that are made to stop a crawler, beside a site whose pages must all be visited."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from archive.crawl_log import SERIOUS, parse
from bench.faults.fleet_home import FleetFailure
from bench.process import our_command, source_environment, tree

_PAGES: Final = 20
_CRAWL_SECONDS: Final = 240.0
_QUICK: Final = {"GHOSTFLEET_FRONTIER__LEASE_SECONDS": "3", "GHOSTFLEET_FRONTIER__RETRY_SECONDS": "0.2"}
_KILLER: Final = "/kills"


def hostile_pages(draw: random.Random) -> dict[str, bytes]:
    """Return documents, by path, that cost a careless parser minutes or gigabytes. The seed chooses their sizes."""
    much = draw.randrange(50_000, 300_000)
    return {
        "/nested": b"<div>" * much,
        "/options": b"<select>" + b"<option>" * much,
        "/attributes": b"<i " + b" ".join(b"a%d=1" % number for number in range(much)) + b">",
        "/formatting": b"<p>"
        + b"".join(b"<b id=%d>" % number for number in range(4000))
        + b"</p>"
        + b"<p>x</p>" * 4000,
        "/unmatched": b"<b>" * much + b"</x>" * much,
        _KILLER: b"<a href=/after>",
    }


class _Site:
    """The site serves ordinary pages, which link to each other, at 127.0.0.1, and hostile pages at 127.0.0.2."""

    def __init__(self, pages: dict[str, bytes]) -> None:
        self.asked: list[str] = []
        self.home: Path | None = None
        self.crawl = 0
        self._pages = pages
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = site.answer(self.path)
                self.send_response(404 if body is None else 200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, format: str, *args: object) -> None:
                """Write no log."""

        self.server = ThreadingHTTPServer(("", 0), Handler)

    def answer(self, path: str) -> bytes | None:
        """Return the body of a path. A request for the path `/kills` first kills all workers of the crawl."""
        self.asked.append(path)
        if path == _KILLER:
            self._kill_workers()
        if path.startswith("/page"):
            return b"".join(b"<a href=/page%d>" % number for number in range(_PAGES))
        return self._pages.get(path)

    def _kill_workers(self) -> None:
        for pid in tree(self.crawl, str(self.home)):
            with suppress(OSError):
                if b"ghostfleet: worker-" in Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" "):
                    os.kill(pid, signal.SIGKILL)


def crawl_hostile_pages(draw: random.Random) -> None:
    """Crawl both sites in a temporary home. Raises FleetFailure when a page of the ordinary site was not visited."""
    pages = hostile_pages(draw)
    with _served(_Site(pages)) as site, tempfile.TemporaryDirectory(prefix="gf-poison-") as folder:
        site.home = Path(folder) / "home"
        site.home.mkdir()
        port = site.server.server_address[1]
        seeds = [f"http://127.0.0.1:{port}/page0", *(f"http://127.0.0.2:{port}{path}" for path in pages)]
        draw.shuffle(seeds)
        options = ["--home", str(site.home), "--collection", "poison", "--allow-private", "--delay", "0"]
        process = subprocess.Popen(
            our_command("crawl", *seeds, *options, "--workers", str(draw.choice([1, 2, 4])), "--limit-time", "200s"),
            env={**source_environment(), **_QUICK},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        site.crawl = process.pid
        try:
            process.wait(_CRAWL_SECONDS)
        except subprocess.TimeoutExpired:
            raise FleetFailure(f"a crawl with hostile pages did not end within {_CRAWL_SECONDS:.0f} s") from None
        finally:
            if process.poll() is None:
                process.kill()
                process.wait()
        _check(site)


def _check(site: _Site) -> None:
    assert site.home is not None
    (log,) = (site.home / "collections" / "poison" / "jobs").glob("*/crawl.log")
    lines = [parse(line) for line in log.read_text("utf-8").splitlines()]
    kept = {line.url.rpartition("/")[2] for line in lines if line.code == 200 and "://127.0.0.1:" in line.url}
    missing = {f"page{number}" for number in range(_PAGES)} - kept
    if missing:
        raise FleetFailure(
            f"hostile pages kept a crawl from {len(missing)} pages of another site: {', '.join(sorted(missing))}"
        )
    deaths = site.asked.count(_KILLER)
    aside = [line.url for line in lines if line.code == SERIOUS]
    if deaths != 2 or not any(url.endswith(_KILLER) for url in aside):
        raise FleetFailure(f"a page that killed its workers was visited {deaths} times; set aside: {aside}")


@contextmanager
def _served(site: _Site) -> Iterator[_Site]:
    thread = threading.Thread(target=site.server.serve_forever, daemon=True)
    thread.start()
    try:
        yield site
    finally:
        site.server.shutdown()
        thread.join()
        site.server.server_close()
