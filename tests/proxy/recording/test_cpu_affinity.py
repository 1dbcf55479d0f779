"""The two busy threads of a process share a core, until others want it too."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from proxy.recording.cpu_affinity import CoreStay, SharedCore, Times

SECOND = 1_000_000_000
linux = pytest.mark.skipif(
    not sys.platform.startswith("linux") or len(os.sched_getaffinity(0)) < 2, reason="takes Linux and two cores"
)


def told(stay: CoreStay, waited: list[float], ran: float = 0.0) -> list[bool]:
    """What it says second by second, of which the loop waited those shares and the writer ran that one."""
    total, answers = 0.0, []
    for second, share in enumerate([0.0, *waited]):
        total += share
        answers.append(stay.should_stay(Times(second * SECOND, int(total * SECOND), int(second * ran * SECOND))))
    return answers[1:]


def test_it_stays_where_the_loop_hardly_waits() -> None:
    assert all(told(CoreStay(), [0.1, 0.0, 0.14] * 5))


def test_waiting_for_the_writer_does_not_count_as_a_crowded_core() -> None:
    assert all(told(CoreStay(), [0.4] * 10, ran=0.3))


def test_a_crowded_core_is_left() -> None:
    assert told(CoreStay(), [0.0, 0.0, 0.5]) == [True, True, False]


def test_when_every_core_is_crowded_changes_become_rarer() -> None:
    answers = told(CoreStay(), [0.5] * 1000)
    left = [second for second, stays in enumerate(answers) if not stays]
    gaps = [later - earlier for earlier, later in itertools.pairwise(left)]
    assert gaps == sorted(gaps)
    assert gaps[0] < 10
    assert 60 < gaps[-1] < 70


def test_a_quiet_second_makes_it_ready_to_leave_again() -> None:
    stay = CoreStay()
    told(stay, [0.5] * 200)
    assert told(stay, [0.0, 0.0, 0.5])[-1] is False


@contextmanager
def thread() -> Iterator[int]:
    """The native id of one that waits."""
    over = threading.Event()
    made = threading.Thread(target=over.wait)
    made.start()
    assert made.native_id is not None
    try:
        yield made.native_id
    finally:
        over.set()
        made.join()


def on_a_thread(work: threading.Thread) -> None:
    """So that what is bound meanwhile is not the thread of the tests."""
    work.start()
    work.join(30)
    assert not work.is_alive()


@linux
def test_both_threads_share_a_core_and_no_other_does() -> None:
    everywhere = os.sched_getaffinity(0)
    with thread() as loop, thread() as writer, thread() as other:
        core = SharedCore()
        core.tick(loop, writer, 0)
        assert os.sched_getaffinity(loop) == os.sched_getaffinity(writer) == {core.core}
        assert (os.sched_getscheduler(loop), os.sched_getscheduler(writer)) == (os.SCHED_OTHER, os.SCHED_BATCH)
        assert os.sched_getaffinity(other) == everywhere
        core.tick(loop, writer, SECOND)
        assert os.sched_getaffinity(loop) == {core.core}


@linux
def test_a_thread_started_by_a_bound_one_is_unbound() -> None:
    everywhere = os.sched_getaffinity(0)
    found: list[set[int]] = []

    def loop() -> None:
        with thread() as writer:
            core = SharedCore()
            core.tick(threading.get_native_id(), writer, 0)
            with thread() as late:
                found.append(os.sched_getaffinity(late))
                core.tick(threading.get_native_id(), writer, SECOND)
                found.append(os.sched_getaffinity(late))

    on_a_thread(threading.Thread(target=loop))
    assert len(found[0]) == 1
    assert found[1] == everywhere


@linux
def test_a_long_job_may_run_on_any_core() -> None:
    everywhere = os.sched_getaffinity(0)
    found: list[set[int]] = []

    def look_after_a_second(core: SharedCore, loop: int) -> None:
        core.tick(loop, threading.get_native_id(), SECOND)
        found.append(os.sched_getaffinity(0))

    def writer() -> None:
        core = SharedCore()
        core.run_unpinned(lambda: found.append(os.sched_getaffinity(0)))
        with thread() as loop:
            core.tick(loop, threading.get_native_id(), 0)
            core.run_unpinned(lambda: found.append(os.sched_getaffinity(0)))
            core.run_unpinned(lambda: look_after_a_second(core, loop))
            with pytest.raises(ValueError, match="broken"):
                core.run_unpinned(_broken)
            found.append(os.sched_getaffinity(0))
            found.append({-1 if core.core is None else core.core})

    on_a_thread(threading.Thread(target=writer))
    assert found[0] == found[1] == found[2] == everywhere
    assert found[3] == found[4]


@linux
def test_a_long_job_runs_although_no_core_can_be_chosen() -> None:
    """The threads' core may have left the cpuset, and so may all the others."""
    gone, done = 1_000_000, list[str]()

    def writer() -> None:
        core = SharedCore()
        core.core = gone
        core.run_unpinned(lambda: done.append("last core gone"))
        core._cores = frozenset((gone,))
        core.run_unpinned(lambda: done.append("all gone"))
        done.append("no error")

    on_a_thread(threading.Thread(target=writer))
    assert done == ["last core gone", "all gone", "no error"]


def _broken() -> None:
    raise ValueError("broken")


@linux
def test_where_there_is_one_core_nothing_is_done() -> None:
    found: list[int | None] = []

    def alone() -> None:
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        with thread() as writer:
            core = SharedCore()
            core.tick(threading.get_native_id(), writer, 0)
            found.append(core.core)

    on_a_thread(threading.Thread(target=alone))
    assert found == [None]


@linux
def test_a_thread_that_has_ended_does_no_harm() -> None:
    everywhere, gone = os.sched_getaffinity(0), 1 << 30
    core = SharedCore()
    core.tick(gone, gone, 0)
    assert core.core is None

    with thread() as loop, thread() as writer:
        core = SharedCore()
        core.tick(loop, writer, 0)
        core.tick(loop, gone, SECOND)
        assert core.core is None
        assert os.sched_getaffinity(loop) == os.sched_getaffinity(writer) == everywhere
