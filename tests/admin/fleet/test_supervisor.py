"""Real children, killed, refused and abandoned."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from waiting import until

from admin.process import Role, Stage, StartError
from admin.supervise import GaveUp, Post, Supervisor

TESTS = Path(__file__).parent.parent
PYTHONPATH = os.pathsep.join([str(TESTS), str(TESTS.parent)])


@pytest.fixture
def notices() -> list[str]:
    return []


@pytest.fixture
def supervisor(tmp_path: Path, notices: list[str]) -> Iterator[Supervisor]:
    made = Supervisor(tmp_path / "logs", {**os.environ, "PYTHONPATH": PYTHONPATH}, notices.append)
    yield made
    made.stop(hurry=lambda: True)


@pytest.fixture
def role(tmp_path: Path) -> Callable[..., Role]:
    def make(name: str, mode: str = "serve", stage: Stage = Stage.PROXIES, **more: object) -> Role:
        return Role(name, stage, (mode, str(tmp_path)), module="a_child", **more)  # type: ignore[arg-type]

    return make


type MakeRole = Callable[..., Role]


def test_what_a_child_says_when_ready_is_known(supervisor: Supervisor, role: MakeRole) -> None:
    post = supervisor.start(role("one"))
    supervisor.wait_ready([post], 30)
    assert post.child.facts == {"ready": True, "number": 42}


def test_a_child_that_refuses_is_quoted(supervisor: Supervisor, role: MakeRole) -> None:
    post = supervisor.start(role("one", "refuse"))
    with pytest.raises(StartError, match="the disk is full; make room"):
        supervisor.wait_ready([post], 30)


def test_a_child_that_crashes_before_it_is_ready_is_named_with_the_last_line_of_its_log(
    supervisor: Supervisor, role: MakeRole, tmp_path: Path
) -> None:
    post = supervisor.start(role("one", "crash"))
    with pytest.raises(StartError, match=r"one ended with code 3: out of luck .*logs/one.log"):
        supervisor.wait_ready([post], 30)


def test_a_killed_child_is_replaced_and_told_of(supervisor: Supervisor, role: MakeRole, notices: list[str]) -> None:
    prepared: list[str] = []
    post = supervisor.start(role("one", before_restart=lambda: prepared.append("repaired")))
    supervisor.wait_ready([post], 30)
    first = post.child.pid

    os.kill(first, signal.SIGKILL)

    until(lambda: _ticked(supervisor) and post.restarts and post.child.is_ready, what="another child")
    assert post.child.pid != first
    assert post.restarts == 1
    assert prepared == ["repaired"]
    assert notices == ["one was killed by SIGKILL and starts again"]


def test_a_child_that_is_replaced_ends_once_the_other_is_ready(
    supervisor: Supervisor, role: MakeRole, notices: list[str], tmp_path: Path
) -> None:
    post = supervisor.start(role("one"))
    supervisor.wait_ready([post], 30)
    old = post.child

    supervisor.replace(post, role("one"), 30)

    assert post.child.is_ready
    until(lambda: _ticked(supervisor) and old.exit_code is not None, what="the old child's end")
    assert (old.exit_code, (tmp_path / "order").read_text(), notices, post.restarts) == (0, "one\n", [], 0)


def test_a_child_that_is_replaced_and_will_not_end_is_killed(supervisor: Supervisor, role: MakeRole) -> None:
    post = supervisor.start(role("one", "stubborn", stop_seconds=0.2))
    supervisor.wait_ready([post], 30)
    old = post.child

    supervisor.replace(post, role("one"), 30)

    until(lambda: _ticked(supervisor) and old.exit_code == -signal.SIGKILL, what="the old child's end")


@pytest.mark.parametrize(("mode", "why"), [("refuse", "the disk is full"), ("crash", "one ended with code 3")])
def test_a_child_stays_when_the_other_can_not_serve(
    supervisor: Supervisor, role: MakeRole, mode: str, why: str
) -> None:
    post = supervisor.start(role("one"))
    supervisor.wait_ready([post], 30)
    before = post.child

    with pytest.raises(StartError, match=why):
        supervisor.replace(post, role("one", mode), 30)

    assert post.child is before
    assert _ticked(supervisor)
    assert before.exit_code is None
    assert post.role.arguments[0] == "serve"


def test_what_a_killed_child_left_running_ends_with_it(supervisor: Supervisor, role: MakeRole, tmp_path: Path) -> None:
    post = supervisor.start(role("one", "parent"))
    supervisor.wait_ready([post], 30)
    grandchild = int(until(lambda: _text(tmp_path / "one.grandchild"), what="the grandchild"))

    os.kill(post.child.pid, signal.SIGKILL)

    until(lambda: _ticked(supervisor) and not _lives(grandchild), what="the grandchild's end")


def test_a_child_that_keeps_dying_is_given_up(supervisor: Supervisor, role: MakeRole) -> None:
    supervisor.start(role("one", "crash"))
    with pytest.raises(GaveUp, match=r"one died 6 times in a row; .*out of luck"):
        until(lambda: not _ticked(supervisor), what="the end of patience", within=60)


def test_a_worker_that_has_done_its_work_is_not_replaced(supervisor: Supervisor, role: MakeRole) -> None:
    post = supervisor.start(role("worker-0", "work", Stage.WORKERS, ends_by_itself=True))
    until(lambda: _ticked(supervisor) and post.finished, what="the worker's end")
    assert post.restarts == 0
    assert supervisor.remaining(Stage.WORKERS) == []


def test_stages_end_one_after_the_other(supervisor: Supervisor, role: MakeRole, tmp_path: Path) -> None:
    _start_one_of_each(supervisor, role)
    supervisor.stop()
    assert (tmp_path / "order").read_text().split() == ["worker-0", "proxy-0", "indexer-0", "redis-0"]


def test_a_child_that_will_not_end_is_killed(supervisor: Supervisor, role: MakeRole) -> None:
    post = supervisor.start(role("one", "stubborn", stop_seconds=0.2))
    supervisor.wait_ready([post], 30)
    supervisor.stop()
    assert post.child.exit_code == -signal.SIGKILL


def test_nothing_is_left_behind_when_the_supervisor_has_stopped(supervisor: Supervisor, role: MakeRole) -> None:
    before = _open_files()
    posts = [supervisor.start(role(name)) for name in ("one", "two")]
    supervisor.wait_ready(posts, 30)
    supervisor.stop()
    assert not any(_lives(post.child.pid) for post in posts)
    assert _open_files() < before, "the lifelines were open before, and nothing is open after"


def test_when_the_parent_is_killed_the_children_end_in_order(tmp_path: Path) -> None:
    program = f"""
import os, sys
from pathlib import Path
from threading import Event
from admin.process import Role, Stage
from admin.supervise import Supervisor
supervisor = Supervisor(Path({str(tmp_path)!r}) / "logs", dict(os.environ), print)
names = ["redis-0", "indexer-0", "proxy-0", "worker-0"]
posts = [
    supervisor.start(Role(name, stage, ("serve", {str(tmp_path)!r}), module="a_child"))
    for name, stage in zip(names, reversed(Stage), strict=True)
]
supervisor.wait_ready(posts, 60)
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


def _start_one_of_each(supervisor: Supervisor, role: MakeRole) -> list[Post]:
    names = ["redis-0", "indexer-0", "proxy-0", "worker-0"]
    posts = [supervisor.start(role(name, stage=stage)) for name, stage in zip(names, reversed(Stage), strict=True)]
    supervisor.wait_ready(posts, 60)
    return posts


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


def _open_files() -> int:
    return len(os.listdir("/dev/fd"))
