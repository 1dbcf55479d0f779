"""Signals, counted."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator

import pytest
from support.processes.waiting import until

from admin.jobs.interrupts import Interrupts


@pytest.fixture(autouse=True)
def heeded_sighup() -> Iterator[None]:
    """Let SIGHUP do as usual, also when nohup has started the tests."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


def test_each_signal_is_counted_and_ends_the_wait() -> None:
    with Interrupts() as interrupts:
        assert not interrupts.wait(0)
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupts.wait(30)
        assert not interrupts.asked_to_hurry()
        os.kill(os.getpid(), signal.SIGINT)
        until(interrupts.asked_to_hurry, what="the second signal to be noticed")


def test_a_signal_that_interrupts_no_system_call_ends_the_wait() -> None:
    waiting, ended, late = threading.get_ident(), threading.Event(), []

    def send() -> None:
        until(lambda: sys._current_frames()[waiting].f_code is Interrupts.wait.__code__, what="the wait")
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)  # another thread takes the signal
        if not ended.wait(60):
            late.append("the wait goes on")
            interrupts.wake()

    with Interrupts() as interrupts:
        sender = threading.Thread(target=send)
        sender.start()
        assert interrupts.wait(None)
        ended.set()
        sender.join()
    assert not late


def test_sighup_asks_for_a_restart_in_a_fleet_that_can_restart() -> None:
    with Interrupts(restarts=True) as interrupts:
        os.kill(os.getpid(), signal.SIGHUP)
        until(lambda: interrupts.asked_to_restart, what="the signal to be noticed")
        assert not interrupts.asked_to_stop
    with Interrupts() as interrupts:
        os.kill(os.getpid(), signal.SIGHUP)
        until(lambda: interrupts.asked_to_stop, what="the signal to be noticed")


@pytest.mark.parametrize("restarts", [False, True])
def test_a_process_that_ignored_sighup_goes_on_when_its_terminal_is_closed(
    restarts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    has_terminal = True
    monkeypatch.setattr("admin.jobs.interrupts._has_terminal", lambda: has_terminal)
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupts(restarts=restarts) as interrupts:
            has_terminal = False
            os.kill(os.getpid(), signal.SIGHUP)
            assert not interrupts.wait(30)
            assert (interrupts.count, interrupts.asked_to_restart) == (0, restarts)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_another_thread_can_end_the_wait_without_a_signal() -> None:
    with Interrupts() as interrupts:
        threading.Thread(target=interrupts.wake).start()
        assert not interrupts.wait(None)


def test_earlier_signal_handlers_are_restored() -> None:
    before = signal.getsignal(signal.SIGTERM)
    with Interrupts():
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before
