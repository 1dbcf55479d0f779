"""archive/steady_work.py: a thread that must live lives, and every thread of the program is known."""

from __future__ import annotations

import ast
import errno
import logging
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from archive.steady_work import SteadyWork

ROOT: Final = Path(__file__).resolve().parents[2]
FOLDERS: Final = ("admin", "archive", "dedupdb", "frontier", "proxy", "browsers")
KNOWN: Final = {
    "admin/jobs/crawling/seed_queueing.py": "SteadyWork",
    "admin/collections/tasks/work.py": "ends the process with its parent",
    "admin/collections/tasks/worker.py": "SteadyWork",
    "admin/commands/processes/roles.py": "the CDX server, whose loop outlives errors; Uploader.run, whose look catches",
    "admin/commands/processes/scheduler.py": "send_messages and watch_logs, by SteadyWork",
    "admin/commands/processes/site.py": "the site's event loop, which outlives errors",
    "admin/commands/processes/view.py": "the viewer's event loop, which outlives errors",
    "admin/commands/qa.py": "tells the progress of a command, and ends with it",
    "admin/qa/workers/mending.py": "SteadyWork",
    "admin/demo": "the demonstration's own web site",
    "admin/fleet/child.py": "ends the process with its parent",
    "admin/fleet/memory.py": "calls the allocator alone",
    "admin/fleet/startup_responder.py": "catches the errors of each connection, and ends with the start",
    "admin/fleet/uploads.py": "one upload, whose end is awaited",
    "admin/harvester/dispatch_link.py": "SteadyWork",
    "admin/scheduler/scheduler.py": "SteadyWork",
    "admin/serving/web_server.py": "an event loop, which outlives errors",
    "admin/viewing/player.py": "fetches the player once, and says what failed",
    "admin/viewing/server.py": "SteadyWork",
    "browsers/ghosts/loop_thread.py": "an event loop, which outlives errors",
    "browsers/crawling/heartbeat.py": "SteadyWork",
    "dedupdb/fleet/registry.py": "SteadyWork",
    "frontier/segments/spiller.py": "SteadyWork",
    "proxy/recording/recorder.py": "the writer, which catches the errors of each batch",
    "proxy/scripting/user_addons.py": "catches the errors of each addon",
}
"""Modules that start threads, and why the threads live as long as they must."""
DESCRIPTORS: Final = """
import errno, logging, os, resource, sys, threading, time
from pathlib import Path
from archive.local_endpoints import Listeners
from browsers.crawling.heartbeat import LeaseHeartbeat
from dedupdb.fleet.registry import Member, MemberHeartbeat
from types import SimpleNamespace

logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stdout)
beats = {"member": 0, "lease": 0}
tries = {"member": 0, "lease": 0}
# A heartbeat has the lock while it uses a descriptor, so that it takes none while the program fills or frees them.
descriptors = threading.Lock()
def put(*_, **__): beats["member"] += 1
def renew(lease):
    tries["lease"] += 1
    with descriptors:
        os.close(os.open("/dev/null", os.O_RDONLY))
    beats["lease"] += 1
    return True
registry = SimpleNamespace(put=put, members=list, remove=lambda _: None, close=lambda: None)
home = Path(sys.argv[1])
(home / "run" / "listeners").mkdir(parents=True)
def listens():
    tries["member"] += 1
    with descriptors:
        Listeners(home).all()
    return ()
member = Member("127.0.0.1:1", "127.0.0.1:2")
heartbeat = MemberHeartbeat(registry, member, lambda: 0.0, every_seconds=0.01, listens=listens)
def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, (beats, threading.enumerate())
        time.sleep(0.01)
with LeaseHeartbeat(renew, 0.01) as leases, leases.holding(SimpleNamespace(token="t", url="u", attempt=1)):
    heartbeat.start()
    until(lambda: min(beats.values()) > 2)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    taken = []
    with descriptors:
        try:
            while True:
                taken.append(os.open("/dev/null", os.O_RDONLY))
        except OSError as error:
            assert error.errno == errno.EMFILE
        before = dict(tries)
    until(lambda: all(tries[name] > before[name] + 10 for name in tries))
    with descriptors:
        for fd in taken:
            os.close(fd)
        before = dict(beats)
    until(lambda: all(beats[name] > before[name] + 2 for name in beats))
    heartbeat.close()
"""


def test_a_failure_is_said_once_and_so_is_its_end(caplog: pytest.LogCaptureFixture) -> None:
    answers: list[Exception | int] = [1, OSError(errno.EMFILE, "x"), OSError(errno.ENFILE, "y"), 2, KeyError("z"), 3]

    def work() -> int:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    steady = SteadyWork("the work", work)
    with caplog.at_level(logging.WARNING):
        assert [steady() for _ in range(6)] == [1, None, None, 2, None, 3]
    said = [(record.getMessage(), bool(record.exc_info)) for record in caplog.records]
    assert said == [
        ("the work failed and is tried again: OSError: [Errno 24] x", False),
        ("the work goes on", False),
        ("the work failed and is tried again: KeyError: 'z'", True),
        ("the work goes on", False),
    ]


def test_heartbeats_survive_a_lack_of_descriptors_and_say_so_once(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", DESCRIPTORS, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert found.returncode == 0, found.stderr
    lines = found.stdout.splitlines()
    for what in ("the heartbeat in the registry of proxies", "the renewal of leases"):
        said = [line for line in lines if line.startswith(what)]
        assert len(said) == 2, lines
        assert "Too many open files" in said[0]
        assert said[1] == f"{what} goes on"


def test_every_module_that_starts_a_thread_says_why_the_thread_lives() -> None:
    found = set[str]()
    for path in (each for folder in FOLDERS for each in (ROOT / folder).rglob("*.py")):
        text = path.read_text("utf-8")
        if "Thread(" not in text:
            continue
        calls = [node.func for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
        if any(
            (each.attr if isinstance(each, ast.Attribute) else getattr(each, "id", "")) == "Thread" for each in calls
        ):
            name = path.relative_to(ROOT).as_posix()
            found.add("admin/demo" if name.startswith("admin/demo/") else name)
            if KNOWN.get(name, "").endswith("SteadyWork"):
                assert "SteadyWork(" in text or name.endswith("scheduler.py"), name
    assert found <= set(KNOWN), "let the thread do its work by SteadyWork, and add its module here"
