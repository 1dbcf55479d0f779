"""Real children, killed, refused and abandoned."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from support.processes.waiting import until

from admin.fleet.process import ChildReport, ProcessRole, ShutdownStage, StartError, StartInterrupted
from admin.fleet.supervisor import RestartLimitReached, Slot, Supervisor

TESTS = Path(__file__).parent.parent.parent
PYTHONPATH = os.pathsep.join([str(TESTS), str(TESTS.parent)])
START_SECONDS = 300
"""Longest start of a child. A busy machine may need half a minute."""
pytestmark = pytest.mark.timeout(400)


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def supervisor(tmp_path: Path, notices: list[str]) -> Iterator[Supervisor]:
    made = Supervisor(tmp_path / "logs", {**os.environ, "PYTHONPATH": PYTHONPATH}, notices.append)
    yield made
    made.stop(hurry=lambda: True)


@pytest.fixture
def role(tmp_path: Path) -> Callable[..., ProcessRole]:
    def make(
        name: str, mode: str = "serve", stage: ShutdownStage = ShutdownStage.PROXIES, **more: object
    ) -> ProcessRole:
        return ProcessRole(name, stage, (mode, str(tmp_path)), module="support.processes.supervised_child", **more)  # type: ignore[arg-type]

    return make


type MakeRole = Callable[..., ProcessRole]


def test_the_report_of_a_ready_child_is_read(supervisor: Supervisor, role: MakeRole) -> None:
    slot = supervisor.start(role("one"))
    supervisor.wait_ready([slot], START_SECONDS)
    assert slot.child.report == ChildReport(url="redis://a-child")


def test_the_error_that_a_child_reports_is_raised(supervisor: Supervisor, role: MakeRole) -> None:
    slot = supervisor.start(role("one", "refuse"))
    with pytest.raises(StartError, match="the disk is full; make room"):
        supervisor.wait_ready([slot], START_SECONDS)


def test_a_child_that_crashes_before_it_is_ready_is_named_with_the_last_line_of_its_log(
    supervisor: Supervisor, role: MakeRole, tmp_path: Path
) -> None:
    slot = supervisor.start(role("one", "crash"))
    with pytest.raises(StartError, match=r"one ended with code 3: out of luck .*logs/one.log"):
        supervisor.wait_ready([slot], START_SECONDS)


def test_a_killed_child_is_restarted_with_a_notice(supervisor: Supervisor, role: MakeRole, notices: list[str]) -> None:
    prepared: list[str] = []
    slot = supervisor.start(role("one", before_restart=lambda: prepared.append("repaired")))
    supervisor.wait_ready([slot], START_SECONDS)
    first = slot.child.pid

    os.kill(first, signal.SIGKILL)

    until(lambda: _ticked(supervisor) and slot.restarts and slot.child.is_ready, what="another child")
    assert slot.child.pid != first
    assert slot.restarts == 1
    assert prepared == ["repaired"]
    assert notices == ["one was killed by SIGKILL and is restarted"]


def test_a_child_that_can_not_be_started_again_is_tried_again(
    supervisor: Supervisor, role: MakeRole, notices: list[str], tmp_path: Path
) -> None:
    slot = supervisor.start(role("one"))
    supervisor.wait_ready([slot], START_SECONDS)
    log = tmp_path / "logs" / "one.log"
    log.unlink()
    log.mkdir()
    os.kill(slot.child.pid, signal.SIGKILL)
    until(lambda: _ticked(supervisor) and len(notices) > 1, what="a start that fails")
    assert "one can't be started: " in notices[1]
    log.rmdir()
    until(lambda: _ticked(supervisor) and slot.restarts and slot.child.is_ready, what="another child")


@pytest.mark.parametrize("free", [0, 2])
def test_a_child_is_tried_again_when_no_descriptor_was_free(
    supervisor: Supervisor, role: MakeRole, notices: list[str], free: int
) -> None:
    slot = supervisor.start(role("one"))
    supervisor.wait_ready([slot], START_SECONDS)
    os.kill(slot.child.pid, signal.SIGKILL)
    until(lambda: _ticked(supervisor) and notices, what="the notice of its death")
    before = _open_files()
    with _free_descriptors(free):
        until(lambda: _ticked(supervisor) and len(notices) > 1, what="a start that fails")
    assert notices[1] == "one can't be started: [Errno 24] Too many open files; it is tried again"
    assert _open_files() <= before
    until(lambda: _ticked(supervisor) and slot.restarts and slot.child.is_ready, what="another child")


def test_a_child_that_is_killed_before_it_is_ready_is_not_named_with_a_line_that_tells_nothing(
    supervisor: Supervisor, role: MakeRole
) -> None:
    slot = supervisor.start(role("one", "load"))
    os.kill(slot.child.pid, signal.SIGKILL)
    with pytest.raises(StartError, match=r"one was killed by SIGKILL; its log is .*logs/one.log$"):
        supervisor.wait_ready([slot], START_SECONDS)


def test_a_replaced_child_ends_when_the_new_one_is_ready(
    supervisor: Supervisor, role: MakeRole, notices: list[str], tmp_path: Path
) -> None:
    slot = supervisor.start(role("one"))
    supervisor.wait_ready([slot], START_SECONDS)
    old = slot.child

    supervisor.replace(slot, role("one"), 30)

    assert slot.child.is_ready
    until(lambda: _ticked(supervisor) and old.exit_code is not None, what="the old child's end")
    assert (old.exit_code, (tmp_path / "order").read_text(), notices, slot.restarts) == (0, "one\n", [], 0)


def test_a_replaced_child_that_does_not_end_is_killed(supervisor: Supervisor, role: MakeRole) -> None:
    slot = supervisor.start(role("one", "stubborn", stop_seconds=0.2))
    supervisor.wait_ready([slot], START_SECONDS)
    old = slot.child

    supervisor.replace(slot, role("one"), 30)

    until(lambda: _ticked(supervisor) and old.exit_code == -signal.SIGKILL, what="the old child's end")


@pytest.mark.parametrize(("mode", "why"), [("refuse", "the disk is full"), ("crash", "one ended with code 3")])
def test_a_child_stays_when_its_replacement_can_not_serve(
    supervisor: Supervisor, role: MakeRole, mode: str, why: str
) -> None:
    slot = supervisor.start(role("one"))
    supervisor.wait_ready([slot], START_SECONDS)
    before = slot.child

    with pytest.raises(StartError, match=why):
        supervisor.replace(slot, role("one", mode), 30)

    assert slot.child is before
    assert _ticked(supervisor)
    assert before.exit_code is None
    assert slot.role.arguments[0] == "serve"


@pytest.mark.parametrize(("mode", "why"), [("refuse", "the disk is full"), ("crash", "part died 6 times in a row")])
def test_the_owner_hears_of_a_child_that_fails_while_another_one_is_replaced(
    supervisor: Supervisor, role: MakeRole, monkeypatch: pytest.MonkeyPatch, mode: str, why: str
) -> None:
    monkeypatch.setattr("admin.fleet.supervisor.FIRST_PAUSE_SECONDS", 0.01)
    heard = list[str]()

    def hear(failed: Slot, error: str) -> None:
        heard.append(error)
        failed.role = role("part")
        supervisor.try_again(failed, 0)

    slot = supervisor.start(role("one"))
    supervisor.wait_ready([slot], START_SECONDS)
    part = supervisor.start(role("part", mode), hear)

    with pytest.raises(StartInterrupted):  # the new child never gets ready; it goes on until the owner has heard
        supervisor.replace(slot, role("one", "load"), 60, lambda: bool(heard))

    assert why in heard[0]
    until(lambda: _ticked(supervisor) and part.child.is_ready, what="the next child of the part")
    assert len(heard) == 1


def test_a_child_that_can_not_go_on_while_another_one_is_replaced_is_no_failure_of_the_new_one(
    supervisor: Supervisor, role: MakeRole
) -> None:
    slot = supervisor.start(role("one"))
    supervisor.wait_ready([slot], START_SECONDS)
    supervisor.start(role("two", "refuse"))
    with pytest.raises(RestartLimitReached, match="the disk is full; make room"):
        supervisor.replace(slot, role("one", "load"), 60)


def test_the_children_of_a_killed_child_are_killed(supervisor: Supervisor, role: MakeRole, tmp_path: Path) -> None:
    slot = supervisor.start(role("one", "parent"))
    supervisor.wait_ready([slot], START_SECONDS)
    grandchild = int(until(lambda: _text(tmp_path / "one.grandchild"), what="the grandchild"))

    os.kill(slot.child.pid, signal.SIGKILL)

    until(lambda: _ticked(supervisor) and not _lives(grandchild), what="the grandchild's end")


def test_a_process_group_is_killed_only_while_its_number_is_known_to_be_its_own(
    supervisor: Supervisor, role: MakeRole, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    slot = supervisor.start(role("one", "parent"))
    supervisor.wait_ready([slot], START_SECONDS)
    grandchild = int(until(lambda: _text(tmp_path / "one.grandchild"), what="the grandchild"))
    os.kill(slot.child.pid, signal.SIGKILL)
    until(lambda: slot.child.exit_code is not None, what="its end")
    until(lambda: not _lives(grandchild), what="the grandchild's end")

    killed = list[tuple[int, int]]()
    monkeypatch.setattr("os.killpg", lambda group, number: killed.append((group, number)))
    supervisor.stop()

    assert killed == [], "the number may be that of another group by now"


def test_a_child_that_keeps_dying_is_not_restarted(
    supervisor: Supervisor, role: MakeRole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("admin.fleet.supervisor.FIRST_PAUSE_SECONDS", 0.01)
    supervisor.start(role("one", "crash"))
    with pytest.raises(RestartLimitReached, match=r"one died 6 times in a row; .*out of luck"):
        until(lambda: not _ticked(supervisor), what="the end of patience", within=60)


def test_a_worker_that_has_finished_is_not_restarted(supervisor: Supervisor, role: MakeRole) -> None:
    slot = supervisor.start(role("worker-0", "work", ShutdownStage.WORKERS, ends_by_itself=True))
    until(lambda: _ticked(supervisor) and slot.finished, what="the worker's end")
    assert slot.restarts == 0
    assert supervisor.remaining(ShutdownStage.WORKERS) == []


def test_stages_end_one_after_the_other(supervisor: Supervisor, role: MakeRole, tmp_path: Path) -> None:
    _start_one_of_each(supervisor, role)
    supervisor.stop()
    assert (tmp_path / "order").read_text().split() == ["worker-0", "proxy-0", "indexer-0", "redis-0"]


def test_a_child_that_does_not_end_is_killed(supervisor: Supervisor, role: MakeRole) -> None:
    slot = supervisor.start(role("one", "stubborn", stop_seconds=0.2))
    supervisor.wait_ready([slot], START_SECONDS)
    supervisor.stop()
    assert slot.child.exit_code == -signal.SIGKILL


def test_a_child_counts_two_requests_when_the_hurry_has_begun_before_the_stop(
    supervisor: Supervisor, role: MakeRole
) -> None:
    slot = supervisor.start(role("one", "patient", hurried_seconds=60.0))
    supervisor.wait_ready([slot], START_SECONDS)
    supervisor.stop(hurry=lambda: True)
    assert slot.child.exit_code == 0


def test_a_child_that_was_asked_to_end_while_it_loaded_its_code_has_not_failed(
    supervisor: Supervisor, role: MakeRole, tmp_path: Path
) -> None:
    supervisor.start(role("early", "load"))
    until((tmp_path / "early.pid").exists, what="the child to run")
    assert supervisor.stop() == 1
    assert supervisor.failures == []


def test_no_child_runs_after_the_supervisor_has_stopped(supervisor: Supervisor, role: MakeRole) -> None:
    before = _open_files()
    slots = [supervisor.start(role(name)) for name in ("one", "two")]
    supervisor.wait_ready(slots, START_SECONDS)
    supervisor.stop()
    assert not any(_lives(slot.child.pid) for slot in slots)
    assert _open_files() < before, "the lifelines were open before, and nothing is open after"


def test_when_the_parent_is_killed_the_children_end_in_order(tmp_path: Path) -> None:
    program = f"""
import os, sys
from pathlib import Path
from threading import Event
from admin.fleet.process import ProcessRole, ShutdownStage
from admin.fleet.supervisor import Supervisor
supervisor = Supervisor(Path({str(tmp_path)!r}) / "logs", dict(os.environ), print)
names = ["redis-0", "indexer-0", "proxy-0", "worker-0"]
slots = [
    supervisor.start(
        ProcessRole(name, stage, ("serve", {str(tmp_path)!r}), module="support.processes.supervised_child")
    )
    for name, stage in zip(names, reversed(ShutdownStage), strict=True)
]
supervisor.wait_ready(slots, 60)
print("ready", flush=True)
Event().wait()
"""
    environment = {**os.environ, "PYTHONPATH": PYTHONPATH}
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"ready\n"
        pids = [int(path.read_text()) for path in tmp_path.glob("*.pid")]
        parent.kill()

    until(lambda: not any(_lives(pid) for pid in pids), what="the end of all four children")
    assert (tmp_path / "order").read_text().split() == ["worker-0", "proxy-0", "indexer-0", "redis-0"]


def _start_one_of_each(supervisor: Supervisor, role: MakeRole) -> list[Slot]:
    names = ["redis-0", "indexer-0", "proxy-0", "worker-0"]
    slots = [
        supervisor.start(role(name, stage=stage)) for name, stage in zip(names, reversed(ShutdownStage), strict=True)
    ]
    supervisor.wait_ready(slots, START_SECONDS)
    return slots


def _ticked(supervisor: Supervisor) -> bool:
    supervisor.tick()
    return True


def _text(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _lives(pid: int) -> bool:
    """Whether there is such a process that is no zombie."""
    with suppress(ProcessLookupError, FileNotFoundError):
        os.kill(pid, 0)
        status = Path(f"/proc/{pid}/stat")
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"
    return False


@contextmanager
def _free_descriptors(count: int) -> Iterator[None]:
    """Let this process open only so many further files."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(map(int, os.listdir("/dev/fd"))) + 10, before[1]))
    taken = list[int]()
    try:
        with suppress(OSError):
            while True:
                taken.append(os.dup(0))
        for _ in range(count):
            os.close(taken.pop())
        yield
    finally:
        for fd in taken:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


def _open_files() -> int:
    return len(os.listdir("/dev/fd"))
