"""A crawl of the garden site by the real command, and what it left in its home."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from admin.demo.garden import GardenSite
from archive.capture import Capture
from archive.warc import cdxj
from bench.process import our_command, source_environment, tree

SEED = "http://www.garden.test/"
COLLECTION = "garden"
END_SECONDS = 200.0
QUICK = {"GHOSTFLEET_FRONTIER__LEASE_SECONDS": "12", "GHOSTFLEET_FRONTIER__RETRY_SECONDS": "0.2"}
"""What a killed worker held is handed out again soon, so that the test need not wait for it."""
IMPOLITE = {"GHOSTFLEET_FRONTIER__MAX_CRAWL_DELAY_SECONDS": "0", "GHOSTFLEET_FRONTIER__PER_HOST": "2"}
"""Two pages of the site are visited at a time, without the pauses that the site asks for."""


def arguments(site: GardenSite, home: Path, *extra: str) -> list[str]:
    """The command line of a crawl of the site without pauses."""
    names = [part for name, address in site.resolve.items() for part in ("--resolve", f"{name}={address}")]
    fetch = ["--allow-private", "--upstream-ca", str(site.ca_pem), *names]
    job = ["--collection", COLLECTION, "--scope", "host", "--delay", "0"]
    return our_command("crawl", SEED, "--home", str(home), *job, *fetch, *extra)


def crawl(site: GardenSite, home: Path, *extra: str) -> subprocess.CompletedProcess[str]:
    """Crawls the site to its end, two pages at a time."""
    return subprocess.run(
        arguments(site, home, *extra),
        env={**source_environment(), **IMPOLITE},
        capture_output=True,
        text=True,
        timeout=END_SECONDS,
        check=False,
    )


@contextmanager
def crawling(
    site: GardenSite, home: Path, *extra: str, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """A crawl under way; killed if it has not ended by itself when the block is left."""
    process = subprocess.Popen(
        arguments(site, home, *extra),
        env={**source_environment(), **(environment or {})},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()


def archive_dir(home: Path) -> Path:
    """Where the crawl's WARC files are."""
    return home / "collections" / COLLECTION / "archive"


def captures(home: Path) -> list[Capture]:
    """Every line of the crawl's sidecars."""
    return [
        cdxj.parse(line, COLLECTION)
        for path in sorted((home / "collections" / COLLECTION / "indexes").glob("*.cdxj"))
        for line in path.read_text("utf-8").splitlines()
    ]


def fetched(home: Path) -> list[Capture]:
    """The captures that came from an origin: responses and revisits."""
    return [capture for capture in captures(home) if capture.kind in ("response", "revisit")]


def without_fragment(url: str) -> str:
    """The URL as it is fetched."""
    return urlsplit(url)._replace(fragment="").geturl()


def kill9(crawl: int, home: Path, roles: Sequence[str]) -> None:
    """Kills every child of the crawl that plays one of the roles, or that has one as a flag."""
    for pid in tree(crawl, str(home)):
        with suppress(OSError):
            title = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            if any((f" {role}" if role.startswith("--") else f"ghostfleet: {role}") in title for role in roles):
                os.kill(pid, signal.SIGKILL)
