"""What a tree of processes spends, and stopping it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from support.processes.waiting import until

from bench.process import resource_usage, stop, tree

CHILD = "import sys; sys.stdin.read()"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {CHILD!r}, 'the-mark'])"
# The system rounds the times in user and kernel mode down, each to a hundredth of a second: the program works longer
# than the 0.3 s that the test waits for.
BUSY = "import time\ninput()\nend = time.process_time() + 0.4\nwhile time.process_time() < end: pass\ninput()"


def start(program: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE)


def test_children_belong_to_the_tree() -> None:
    with start(PARENT) as process:
        members = until(lambda: len(found := tree(process.pid)) == 2 and found, what="the child")
        assert tree(os.getpid()) >= members
        process.communicate()


def test_a_marked_process_belongs_to_the_tree_wherever_it_is() -> None:
    with start(PARENT) as process, start(CHILD) as other:
        until(lambda: len(tree(other.pid, "the-mark")) >= 2, what="the marked child")
        process.communicate()
        other.communicate()


def test_cpu_and_memory_are_counted() -> None:
    with start(BUSY) as process:
        before = resource_usage(process.pid)
        assert process.stdin is not None
        process.stdin.write(b"\n")
        process.stdin.flush()
        until(lambda: resource_usage(process.pid).cpu >= 0.3, what="the work to be counted")
        used = resource_usage(process.pid).since(before)
        assert used.cpu > 0
        assert used.peak_bytes > 1_000_000
        assert used.redis_cpu == 0
        assert sum(used.by_title.values()) == pytest.approx(used.cpu)
        process.communicate(b"\n")


def test_stop_gives_the_exit_code() -> None:
    process = start(CHILD)

    with process:
        assert stop(process) == -signal.SIGTERM


def test_a_process_that_ignores_sigterm_is_killed_and_named() -> None:
    deaf = "import signal; signal.signal(15, signal.SIG_IGN); print('deaf', flush=True)\nwhile True: signal.pause()"
    with subprocess.Popen([sys.executable, "-c", deaf], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        with pytest.raises(RuntimeError, match="did not end"):
            stop(process, seconds=0.1)
        assert process.returncode == -signal.SIGKILL
