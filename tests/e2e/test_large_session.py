"""A session whose log has millions of lines is resumed, ended and shown in bounded memory."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from support.admin.log_lines import line
from support.browsers.recorded_window import ended, recording
from support.origins.login_site import LoginSite
from support.processes.memory import growth, peak_bytes
from support.processes.waiting import until
from support.web.site_server import running_site

from admin.capture_sessions import sessions
from admin.capture_sessions.recording import session_folder
from admin.capture_sessions.session_log import MOST_PAGES
from admin.capture_sessions.sessions import NewCaptureSession
from admin.models.capture_tables import CaptureDoor, CaptureState
from admin.models.database import Database, open_database
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from archive.crawl_log import FILE_NAME, NAVIGATION
from archive.settings.load import load
from bench.process import our_command, source_environment

pytestmark = pytest.mark.browser
EACH_PAGE = 20
"""URLs of a page with its parts."""
FEW = 10_000
"""Lines of a log that is too small to show a growth of memory."""
MOST_BYTES = 300_000_000
MEASURED = """import resource, subprocess, sys
code = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(code)"""


def write_log(path: Path, lines: int) -> None:
    """Write the log of a session in which pages with their parts were opened."""
    page = line(url="https://www.example.org/page-NUMBER?q=of%20a%20long%20session", annotations=(NAVIGATION,))
    part = line(url="https://cdn.example.org/part-NUMBER/of-a-page.js", mime="text/javascript")
    path.parent.mkdir(parents=True)
    with path.open("w") as file:
        for first in range(0, lines, EACH_PAGE):
            file.write(page.replace("NUMBER", str(first)) + "\n")
            for number in range(first + 1, min(first + EACH_PAGE, lines)):
                file.write(part.replace("NUMBER", str(number)) + "\n")


def made_session(database: Database) -> int:
    """A window's session that has ended, whose log nobody has read."""
    with database.transaction(COMMAND_LINE) as transaction:
        number = sessions.start(transaction, NewCaptureSession(collection="hand"), door=CaptureDoor.WINDOW).id
        sessions.find(transaction, number).state = CaptureState.ENDED
    return number


def end_of(log: Path) -> bytes:
    """The last bytes of a file."""
    with log.open("rb") as file:
        file.seek(-10_000, os.SEEK_END)
        return file.read()


def is_ours(process: psutil.Process) -> bool:
    """Return whether the process goes on, and is neither the browser nor Redis."""
    with suppress(psutil.NoSuchProcess):
        return "python" in process.name() or "ghostfleet" in process.name()
    return False


def command_peak(home: Path, *arguments: str, is_forked: bool) -> int:
    """Run a command to its good end; return the most bytes that it had in memory, 0 when it was forked.

    A small process starts the command, since Linux counts the memory of the process that starts another one as memory
    of both.
    """
    command = our_command(*arguments, "--home", str(home))
    if is_forked:
        subprocess.run(command, env=source_environment(), stdout=subprocess.DEVNULL, check=True)
        return 0
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command],
        env=source_environment(), stdout=subprocess.PIPE, check=True,
    )  # fmt: skip
    return int(done.stdout)


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(FEW, marks=pytest.mark.timeout(400)),
        pytest.param(3_000_000, marks=[pytest.mark.slow, pytest.mark.timeout(2_400)]),
    ],
)
def test_a_large_session_is_resumed_and_shown_in_little_memory(home: Path, lines: int) -> None:
    settings = load({"home": str(home)}, environment={})
    database = open_database(settings)
    number = made_session(database)
    write_log(session_folder(settings, "hand", number) / FILE_NAME, lines)
    with LoginSite() as site:
        with recording(home, site.url("/"), "--resume", str(number)) as (process, _, _):
            log = session_folder(settings, "hand", number) / FILE_NAME
            until(lambda: site.url("/").encode() in end_of(log), what="the new page", within=120)
            command = psutil.Process(process.pid)
            ours = [each.pid for each in (command, *command.children(recursive=True)) if is_ours(each)]
            process.send_signal(signal.SIGINT)
            peaks = [0]

            def has_ended() -> bool:
                for pid in ours:
                    with suppress(OSError, ValueError):  # it has ended
                        peaks.append(peak_bytes([pid]))
                return process.poll() is not None

            until(has_ended, what="the end of the command", within=1_500)
            last = ended(process)
        assert last["urls"] >= lines + 1
        assert last["pages"] > lines // EACH_PAGE
    assert max(peaks) < MOST_BYTES

    shown = {
        name: command_peak(home, "session", name, str(number), is_forked=lines == FEW)
        for name in ("show", "list-pages")
    }
    with running_site(database, home) as admin, admin.client(Role.ADMINISTRATOR) as client:
        behind = min(lines // EACH_PAGE, MOST_PAGES) - 20
        for warm in (False, True):
            with growth() as grown:
                for path in ("", "/live", "/pages", f"/pages?after={behind}", "/seeds.txt"):
                    answer = client.get(f"/capture/{number}{path}")
                    assert answer.status_code == 200
                    assert len(answer.content) < 20_000_000
                assert "page-" in client.get(f"/capture/{number}/pages?after={behind}").text
            if warm:
                shown["site"] = grown.bytes
    database.close()
    sys.stderr.write(json.dumps({"lines": lines, "record": max(peaks), **shown}) + "\n")
    assert max(shown.values()) < MOST_BYTES
