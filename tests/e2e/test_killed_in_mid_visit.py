"""Promise 3 in the middle of visits: a killed browser, worker or proxy costs a second visit, and no page is lost.

Each of three pages has a picture that does not come until one kind of process was killed.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.archive.warc_reader import Archive
from support.browsers.garden_crawl import END_SECONDS, QUICK, kill9
from support.browsers.visits import document, page
from support.origins.raw_origin import RawOrigin, Step, Wait
from support.processes.ghostfleet_command import processes_of
from support.processes.machine_needs import redis_server
from support.processes.waiting import until

from archive.warc.upkeep.check import check
from bench.process import our_command, source_environment

pytestmark = pytest.mark.browser

VICTIMS: Mapping[str, str] = {"browser": "--remote-debugging-pipe", "worker": "worker-", "proxy": "proxy-"}
PAGES = ("/", *(f"/{name}" for name in VICTIMS))
PATIENT = {
    "GHOSTFLEET_BROWSERS__PAGE_SECONDS": "200",
    "GHOSTFLEET_BROWSERS__LOAD_SECONDS": "150",
    "GHOSTFLEET_BROWSERS__SETTLE_MAX_SECONDS": "150",
}
"""Limits that no visit reaches on a busy machine."""
KINDS = ("view", "thumbnail", "fullPage", "text", "dom", "pageinfo")
PICTURE = document(b"\x89PNG\r\n\x1a\n", "image/png")


class Site:
    """A home page with links to three pages, whose pictures wait for a kill when they are first asked for."""

    def __init__(self, origin: RawOrigin) -> None:
        self._killed = {name: threading.Event() for name in VICTIMS}
        self.waiting: list[str] = []
        """The pages whose pictures have been asked for, each once."""
        origin.script("/", page("<p>home" + "".join(f"<a href=/{name}>{name}</a>" for name in VICTIMS)))
        for name in VICTIMS:
            origin.script(f"/{name}", page(f"<p>{name}<script>new Image().src = '/{name}.png'</script>"))
            origin.answer(f"/{name}.png", lambda _, name=name: self._picture(name))

    def killed(self, name: str) -> None:
        """Let the picture come, since the process was killed."""
        self._killed[name].set()

    def end(self) -> None:
        """Let all pictures come."""
        for event in self._killed.values():
            event.set()

    def _picture(self, name: str) -> list[Step]:
        if name in self.waiting:
            return [PICTURE]
        self.waiting.append(name)
        return [Wait(self._killed[name]), PICTURE]


@pytest.fixture
def temporary() -> Iterator[Path]:
    """A folder for the browsers' files, with a name that is short enough for Chromium's sockets."""
    with tempfile.TemporaryDirectory(prefix="gf-", ignore_cleanup_errors=True) as folder:
        yield Path(folder)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("rendering", ["synchronous", pytest.param("asynchronous", marks=pytest.mark.slow)])
def test_pages_whose_browser_worker_or_proxy_is_killed_are_captured_whole(
    rendering: str, home: Path, temporary: Path
) -> None:
    redis_server()
    with RawOrigin("127.0.1.61") as origin:
        site = Site(origin)
        process = _crawl(origin.url("/"), home, temporary, rendering)
        try:
            for name in ("browser", "worker", "proxy"):
                until(lambda name=name: name in site.waiting, what=f"the visit of /{name}", within=90)
                role = VICTIMS[name] if name != "worker" or rendering == "synchronous" else "render-worker-"
                kill9(process.pid, home, [role])
                site.killed(name)
            said, errors = process.communicate(timeout=END_SECONDS)
        finally:
            site.end()
            if process.poll() is None:
                process.kill()
                process.communicate()

    assert process.returncode == 0, errors[-3000:]
    (report_file,) = (home / "collections" / "default" / "jobs").glob("*/report.json")
    report: dict[str, Any] = json.loads(report_file.read_text("utf-8"))
    counts = report["frontier"]
    assert (counts["pages"], counts["queued"], counts["leased"], counts["failed"]) == (len(PAGES), 0, 0, 0), counts
    assert set(report["ghost_trouble"]) == {"crash"}, report
    # On a busy machine, a browser may not answer for ten seconds. It then counts as crashed, too.
    assert f"{report['ghost_trouble']['crash']} × crash" in said
    if rendering == "asynchronous":
        renders = counts["renders"]
        assert (renders["done"], renders["queued"], renders["leased"], renders["failed"]) == (len(PAGES), 0, 0, 0), (
            renders
        )
    folder = home / "collections" / "default" / "archive"
    assert [path.name for path in folder.iterdir() if path.name.endswith(".open")] == []
    assert list(check(folder)) == []
    archive = Archive.read(folder)
    for path in PAGES:
        _check_page(archive, origin.url(path))
    for name in VICTIMS:
        assert _is_kept(archive, origin.url(f"/{name}.png"))
    until(lambda: not processes_of(home), what="the end of all processes of the home")
    until(lambda: not _processes_with(temporary), what="the end of all browsers")
    assert [path.name for path in temporary.iterdir() if path.name.startswith("ghostfleet-ghost-")] == []


def _crawl(seed: str, home: Path, temporary: Path, rendering: str) -> subprocess.Popen[str]:
    options = ("--visitor", "browser", "--rendering", rendering, "--workers", "1", "--render-workers", "1")
    fetch = ("--allow-private", "--robots", "ignore", "--delay", "0", "--json")
    environment = {"GHOSTFLEET_BROWSERS__SANDBOX": "false", "TMPDIR": str(temporary), **QUICK, **PATIENT}
    return subprocess.Popen(
        our_command("crawl", seed, "--home", str(home), *options, *fetch),
        env={**source_environment(), **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def _is_kept(archive: Archive, url: str) -> bool:
    """Whether the archive has a whole answer of the site with status 200."""
    records = archive.of(url, "response", "revisit")
    return any(b" 200 " in record.block[:15] and record.field("WARC-Truncated") != "disconnect" for record in records)


def _check_page(archive: Archive, url: str) -> None:
    """One visit of the page has all its records, and each information about a page stands with all others."""
    assert _is_kept(archive, url), url
    infos = archive.of(f"urn:pageinfo:{url}")
    assert infos, url
    for info in infos:
        page_id = info.field("WARC-Page-ID")
        kinds = {kind for kind in KINDS if _of_page(archive, f"urn:{kind}:{url}", page_id)}
        assert kinds == set(KINDS), url
        assert json.loads(info.block)["status"] == 200, url
        assert info.field("WARC-Concurrent-To") in {record.id for record in archive.of(url, "response", "revisit")}, url


def _of_page(archive: Archive, url: str, page_id: str | None) -> bool:
    return any(record.field("WARC-Page-ID") == page_id for record in archive.of(url))


def _processes_with(folder: Path) -> list[int]:
    """Processes whose command line names the folder."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(str(folder) in word for word in process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found
