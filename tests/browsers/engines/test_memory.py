"""A process that uses too much memory is ended; its end is told once."""

from __future__ import annotations

import os
import subprocess
import sys

import psutil
from support.processes.waiting import until

from browsers.engines.memory import MemoryWatch, ProcessTree

SLEEPER = [sys.executable, "-c", "import sys; sys.stdin.read()"]


def test_a_process_over_the_bound_is_killed_and_others_are_not() -> None:
    """T28: nothing bounded what a page allocates."""
    with (
        subprocess.Popen(SLEEPER, stdin=subprocess.PIPE) as greedy,
        subprocess.Popen(SLEEPER, stdin=subprocess.PIPE) as modest,
    ):
        watch = MemoryWatch(os.getpid(), 10**12)

        watch.check({greedy.pid: 10**12 + 1, modest.pid: 1})

        assert greedy.wait(30) == -9
        assert modest.poll() is None
        assert [watch.claim_end(), watch.claim_end()] == [True, False]
        modest.kill()


def test_the_end_of_a_process_waits_for_a_good_moment_and_not_for_ever() -> None:
    is_good: list[bool] = []
    with (
        subprocess.Popen(SLEEPER, stdin=subprocess.PIPE) as one,
        subprocess.Popen(SLEEPER, stdin=subprocess.PIPE) as another,
    ):
        watch = MemoryWatch(os.getpid(), 10**12, lambda: bool(is_good))

        watch.check({one.pid: 10**12 + 1})
        assert one.poll() is None
        is_good.append(True)
        watch.check({one.pid: 10**12 + 1})
        assert one.wait(30) == -9

        is_good.clear()

        def ended() -> bool:
            watch.check({another.pid: 10**12 + 1})
            return another.poll() is not None

        until(ended, what="the end of a process for which no moment is good")


def test_the_process_itself_may_use_twice_as_much() -> None:
    with subprocess.Popen(SLEEPER, stdin=subprocess.PIPE) as browser:
        watch = MemoryWatch(browser.pid, 1000)

        watch.check({browser.pid: 2000})
        assert browser.poll() is None

        watch.check({browser.pid: 2001})
        assert browser.wait(30) == -9


def test_the_end_of_a_small_process_tells_nothing() -> None:
    watch = MemoryWatch(os.getpid(), 10**12)

    watch.check({1_000_000_001: 4})
    watch.check({})

    assert not watch.claim_end()


def test_a_large_process_that_ends_by_itself_ended_for_its_memory() -> None:
    watch = MemoryWatch(os.getpid(), 10**12)

    watch.check({1_000_000_001: 10**12 - 1})
    watch.check({})

    assert watch.claim_end()


def test_a_tree_has_the_processes_below_a_process_and_no_others() -> None:
    nested = "import subprocess, sys; subprocess.Popen([sys.executable, '-c', 'input()']); print(flush=True); input()"
    with (
        subprocess.Popen([sys.executable, "-c", nested], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as outer,
        subprocess.Popen(SLEEPER, stdin=subprocess.PIPE),
    ):
        assert outer.stdout is not None
        outer.stdout.readline()
        tree = ProcessTree(outer.pid)

        first, second = tree.sizes(), tree.sizes()

        assert set(first) == set(second) == {outer.pid, *(one.pid for one in psutil.Process(outer.pid).children())}
        assert len(first) == 2
        assert first[outer.pid] > 1_000_000
        outer.kill()
