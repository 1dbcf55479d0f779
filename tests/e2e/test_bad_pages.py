"""A crawl of pages that misbehave ends by itself, and names each of them in crawl.log, report and summary."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from support.archive.warc_reader import Archive
from support.browsers.garden_crawl import END_SECONDS
from support.browsers.visits import document, page
from support.origins.raw_origin import RawOrigin, Repeat, Send
from support.processes.ghostfleet_command import processes_of
from support.processes.machine_needs import redis_server
from support.processes.waiting import until

from archive.warc.upkeep.check import check
from bench.process import our_command, source_environment

pytestmark = pytest.mark.browser

LIMITS = {
    "BROWSERS__SANDBOX": "false",
    "BROWSERS__PAGE_SECONDS": "16",
    "BROWSERS__LOAD_SECONDS": "3",
    "BROWSERS__SETTLE_MAX_SECONDS": "2",
    "BROWSERS__SCROLL_SECONDS": "1",
    "BROWSERS__BEHAVIOR_SECONDS": "2",
    "BROWSERS__CLOSE_SECONDS": "5",
    "BROWSERS__POPUP_SECONDS": "1",
    "BROWSERS__RETRY_PAGES": "0",
    "BROWSERS__PAGE_MEMORY_BYTES": "300000000",
    "PROXY__MAX_BODY_BYTES": "20000",
}
SCRIPTS = {
    "hang": "while (1);",
    "memory": "const kept = []; for (;;) kept.push(new Uint8Array(20e6).fill(1))",
    "windows": "for (let i = 0; i < 100; i++) window.open('/opened?' + i)",
    "reload": "onload = () => location.reload()",
    "asks": "setInterval(() => { new Image().src = '/asked?' + Math.random() }, 20)",
    "secret": "new Image().src = '/locked'; fetch('/locked')",
}
NOTES = {
    "hang": "ghost:hang",
    "memory": "ghost:out-of-memory",
    "windows": "ghost:many-windows",
    "reload": "ghost:never-settled",
    "asks": "ghost:never-settled",
    "download": "not-rendered",
}
"""An annotation of each page in crawl.log."""
DOWNLOAD = (
    Send(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/zip\r\nContent-Disposition: attachment; filename=x.zip\r\n\r\n"
    ),
    Repeat(b"x" * 1000),
)
UNAUTHORIZED = Send(b"HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 2\r\n\r\nno")


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin("127.0.1.62") as origin:
        origin.script("/", page("<p>home" + "".join(f"<a href=/{name}>{name}</a>" for name in (*SCRIPTS, "download"))))
        for name, script in SCRIPTS.items():
            origin.script(f"/{name}", page(f"<p>{name}<script>{script}</script>"))
        origin.script("/download", *DOWNLOAD)
        origin.script("/locked", UNAUTHORIZED)
        origin.otherwise(lambda _: [document(b"x", "text/plain")])
        yield origin


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_crawl_of_bad_pages_ends_and_names_each_of_them(origin: RawOrigin, home: Path) -> None:
    redis_server()
    with tempfile.TemporaryDirectory(prefix="gf-", ignore_cleanup_errors=True) as temporary:
        environment = {f"GHOSTFLEET_{name}": value for name, value in LIMITS.items()}
        options = ("--visitor", "browser", "--allow-private", "--robots", "ignore", "--delay", "0", "--json")
        done = subprocess.run(
            our_command("crawl", origin.url("/"), "--home", str(home), *options),
            env={**source_environment(), **environment, "TMPDIR": temporary},
            capture_output=True,
            text=True,
            timeout=END_SECONDS,
            check=False,
        )
        until(lambda: not processes_of(home), what="the end of all processes of the home")
        until(lambda: not _processes_with(temporary), what="the end of all browsers")
        assert [path.name for path in Path(temporary).iterdir() if path.name.startswith("ghostfleet-ghost-")] == []

    (folder,) = (home / "collections" / "default" / "jobs").iterdir()
    lines = [line.split(maxsplit=12) for line in (folder / "crawl.log").read_text("utf-8").splitlines()]
    notes = {
        name: ",".join(line[11] for line in lines if line[3] == origin.url(f"/{name}"))
        for name in (*SCRIPTS, "download")
    }
    report: dict[str, Any] = json.loads((folder / "report.json").read_text("utf-8"))
    assert {name: note for name, note in NOTES.items() if note in notes[name].split(",")} == NOTES
    assert {line[1] for line in lines if line[3] == origin.url("/locked")} == {"401"}
    troubles = {note.removeprefix("ghost:") for note in NOTES.values() if note.startswith("ghost:")}
    assert report["ghost_trouble"].keys() >= troubles
    summary = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, summary["status"]) == (3, "gaps"), done.stderr[-3000:]
    told = ", ".join(summary["missing"])
    assert "1 URL failed after all tries" in told
    assert all(f"1 × {trouble}" in told or trouble == "never-settled" for trouble in troubles), told
    archive_folder = home / "collections" / "default" / "archive"
    assert list(check(archive_folder)) == []
    archive = Archive.read(archive_folder)
    for name in SCRIPTS:
        assert archive.of(origin.url(f"/{name}"), "response"), name
        assert bool(archive.of(f"urn:pageinfo:{origin.url(f'/{name}')}")) == (name != "memory"), name


NO_SANDBOX = "#!/bin/sh\necho 'FATAL: No usable sandbox! If this is a Debian system,' >&2\nexit 1\n"


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("", "browsers.executable = '{path}' is not an executable; set its path, or leave the setting empty"),
        pytest.param(NO_SANDBOX, "{path} does not start: no sandbox can be had here; install", marks=pytest.mark.slow),
    ],
    ids=["missing", "without a sandbox"],
)
def test_a_crawl_whose_browser_can_not_start_fails_and_says_why(
    home: Path, tmp_path: Path, program: str, reason: str
) -> None:
    redis_server()
    path = tmp_path / "chromium"
    if program:
        path.write_text(program)
        path.chmod(0o755)
    done = subprocess.run(
        our_command("crawl", "http://127.0.1.62:9/", "--home", str(home), "--visitor", "browser", "--json"),
        env={**source_environment(), "GHOSTFLEET_BROWSERS__EXECUTABLE": str(path)},
        capture_output=True,
        text=True,
        timeout=END_SECONDS,
        check=False,
    )

    summary = json.loads(done.stdout.splitlines()[-1])
    assert (done.returncode, summary["status"]) == (1, "failed"), done.stderr[-3000:]
    assert summary["reason"].startswith(reason.format(path=path))
    until(lambda: not processes_of(home), what="the end of all processes of the home")


def _processes_with(folder: str) -> list[int]:
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if any(folder in word for word in process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found
