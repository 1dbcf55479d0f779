"""The supervisor starts child processes, restarts dead ones, and ends all of them in an order that loses no data.

Each child belongs to a `ShutdownStage`, and stages end one after the other: workers finish their visits while the
proxies still record, proxies drain while the indexer still reads, and Redis ends last. Each child leads a process
group of its own, so Ctrl-C at the terminal reaches only the parent. When the parent is killed, the lifelines end the
children in the same order (`admin.fleet.child`).
"""

from __future__ import annotations

import logging
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from admin.fleet.process import Child, Lifeline, ProcessRole, ShutdownStage, StartError, StartInterrupted, exit_text

log = logging.getLogger(__name__)

FIRST_PAUSE_SECONDS: Final = 0.2
LONGEST_PAUSE_SECONDS: Final = 10.0
STEADY_SECONDS: Final = 60.0
"""When a child has run this long, its earlier deaths no longer count."""
MAX_DEATHS: Final = 6
"""The supervisor gives up after this number of deaths in a row, each within STEADY_SECONDS."""
NOTICE_SECONDS: Final = 1.0
"""A start that takes longer is announced by a notice."""
HURRIED_SECONDS: Final = 2.0
"""The time from SIGTERM to SIGKILL in a hurry."""


class RestartLimitReached(Exception):
    """A child can't be kept alive. The message names the child, its last error and its log."""


@dataclass(slots=True)
class Slot:
    """A slot has a role and the child that fills it now."""

    role: ProcessRole
    child: Child
    on_failure: Callable[[Slot, str], None] | None = None
    """The owner of the slot, which hears why its child can't be kept alive."""
    deaths: int = 0
    """Deaths in a row, each within STEADY_SECONDS."""
    restarts: int = 0
    due: float | None = None
    """When the next child starts (monotonic seconds); None while there is a child."""
    finished: bool = False
    """The slot stays empty from now on."""
    last_end: str = ""
    """How the last child ended that was not asked to."""

    @property
    def is_filled(self) -> bool:
        """Return whether the slot has a process now."""
        return not self.finished and self.due is None


class Supervisor:
    """The supervisor has no thread: its owner calls `tick` a few times a second.

    `on_restart` is called with one line about each death that a restart follows.
    """

    def __init__(
        self,
        logs: Path,
        environment: Mapping[str, str],
        on_restart: Callable[[str], None],
        *,
        fds: tuple[int, ...] = (),
    ) -> None:
        """Start nothing yet. All children inherit `fds`, besides those of their roles."""
        self.slots: list[Slot] = []
        self.failures: list[str] = []
        """One line for each child, workers excepted, that failed when it was asked to end."""
        self._retired: dict[Child, float] = {}
        """The children that were replaced and still run, each with its deadline (monotonic seconds)."""
        self._logs = logs
        self._environment = environment
        self._fds = fds
        self._on_restart = on_restart
        self._lifelines = {stage: os.pipe() for stage in ShutdownStage}

    def start(self, role: ProcessRole, on_failure: Callable[[Slot, str], None] | None = None) -> Slot:
        """Start one child. `wait_ready` waits until it is ready. Raises StartError.

        When the child can't be kept alive, `on_failure` is called with the reason; without it, the check raises.
        """
        slot = Slot(role, self._spawn(role), on_failure)
        self.slots.append(slot)
        return slot

    def replace(
        self, slot: Slot, role: ProcessRole, within: float, abandon: Callable[[], bool] = lambda: False
    ) -> None:
        """Replace the child of a slot by a new one. The old child serves until the new one is ready, then it retires.

        The other children are supervised meanwhile. Raises StartError when the new child can't serve, StartInterrupted,
        and RestartLimitReached when another child can't be kept alive; in each case the old child stays.
        """
        if not slot.is_filled:
            slot.role = role
            self._restart(slot)
            self._wait_ready(slot.child, within, abandon)
            return
        old, new = slot.child, self._spawn(role, slot.child)
        try:
            self._wait_ready(new, within, lambda: self._check_others(slot) or abandon())
        except BaseException:
            new.reap()
            if old.has_retired:  # the new child died after the old one had handed everything over
                self._retire(old)
                slot.due = time.monotonic()
            raise
        slot.role, slot.child, slot.deaths = role, new, 0
        self._retire(old)

    def wait_ready(
        self,
        slots: Sequence[Slot],
        within: float,
        abandon: Callable[[], bool] = lambda: False,
        note: Callable[[str], None] | None = None,
    ) -> None:
        """Return when each child has reported that it is ready.

        When that takes more than a second, `note` is called with one line that names the children that are not ready.
        Raises StartError when a child reports an error or ends, or when `within` seconds have passed, and
        StartInterrupted as soon as `abandon` returns True.
        """
        began = time.monotonic()

        def should_abandon() -> bool:
            nonlocal note
            if note is not None and time.monotonic() - began > NOTICE_SECONDS:
                late = [slot for slot in slots if not slot.child.is_ready]
                note("waiting for " + ", ".join(f"{slot.role.name} to {slot.role.does}" for slot in late))
                note = None
            return abandon()

        for slot in slots:
            self._wait_ready(slot.child, within - (time.monotonic() - began), should_abandon)

    def tick(self) -> None:
        """Check all children once: record deaths, and restart children that are due. Never blocks for long.

        Raises RestartLimitReached when a child keeps dying, StartError when one reports that it can't serve here.
        """
        self._check_children(None)

    def try_again(self, slot: Slot, seconds: float) -> None:
        """Start a child for a slot that was given up, after so many seconds; its earlier deaths no longer count."""
        slot.finished, slot.deaths, slot.due = False, 0, time.monotonic() + seconds

    def remaining(self, stage: ShutdownStage) -> list[Slot]:
        """Return the slots of a stage that are filled or will be filled again."""
        return [slot for slot in self.slots if slot.role.stage == stage and not slot.finished]

    def stop_stage(self, stage: ShutdownStage, hurry: Callable[[], bool] = lambda: False) -> int:
        """End the children of a stage, wait until they are reaped, and return how many had to be killed.

        `hurry` is called while waiting. From when it returns True, each child has two seconds from its SIGTERM on; a
        role may have more time, from a second signal on.
        """
        slots = self.remaining(stage)
        ending = [slot.child for slot in slots if slot.is_filled]
        ending += [child for child in self._retired if child.role.stage == stage]
        for child in ending:
            child.terminate()
        began, hurried, pause = time.monotonic(), math.inf, threading.Event()
        while any(child.exit_code is None for child in ending):
            if hurried == math.inf and hurry():
                hurried = time.monotonic()
                for child in ending:
                    if child.role.hurried_seconds:
                        child.hurry()
            for child in ending:
                if time.monotonic() > _deadline(child.role, began, hurried) and child.exit_code is None:
                    waited = time.monotonic() - began
                    log.warning("%s did not end within %.0f s and is killed", child.role.name, waited)
                    child.kill()
            pause.wait(0.02)
        for child in ending:
            child.reap()
        for slot in slots:
            slot.finished, slot.due = True, None
        self._retired = {child: until for child, until in self._retired.items() if child not in ending}
        if stage > ShutdownStage.WORKERS:
            self.failures += [child.failure_message() for child in ending if _has_failed(child)]
        return sum((child.exit_code or 0) < 0 for child in ending)

    def stop(self, hurry: Callable[[], bool] = lambda: False) -> int:
        """End all children, stage by stage, and close the lifelines. Return how many children had to be killed.

        May be called again.
        """
        killed = sum(self.stop_stage(stage, hurry) for stage in ShutdownStage)
        for pair in self._lifelines.values():
            for fd in pair:
                os.close(fd)
        self._lifelines = {}
        return killed

    def _spawn(self, role: ProcessRole, predecessor: Child | None = None) -> Child:
        held = tuple(self._lifelines[stage][1] for stage in ShutdownStage if stage > role.stage)
        lifeline = Lifeline(self._lifelines[role.stage][0], held)
        role = replace(role, fds=(*role.fds, *self._fds)) if self._fds else role
        return Child(role, lifeline, self._environment, self._logs, predecessor)

    def _wait_ready(self, child: Child, within: float, abandon: Callable[[], bool]) -> None:
        deadline = time.monotonic() + within
        while not child.is_ready:
            if failure := child.start_failure:
                raise StartError(failure)
            if time.monotonic() > deadline:
                raise StartError(f"{child.role.name} was not ready after {within:.0f} s; see {child.log_file}")
            if abandon():
                raise StartInterrupted
            child.wait_for_report(0.2)

    def _check_others(self, replaced: Slot) -> bool:
        """Check the children of the other slots while one is replaced. Always returns False.

        Raises RestartLimitReached, never StartError, which would be taken for an error of the new child.
        """
        try:
            self._check_children(replaced)
        except StartError as error:
            raise RestartLimitReached(str(error)) from error
        return False

    def _check_children(self, replaced: Slot | None) -> None:
        """Check all children but that of the slot that is being replaced."""
        for slot in self.slots:
            if slot is replaced:
                continue
            if slot.is_filled:
                self._check_exit(slot)
            elif slot.due is not None and time.monotonic() >= slot.due:
                self._try_restart(slot)
        for child, until in list(self._retired.items()):
            self._check_retired(child, until)

    def _check_retired(self, child: Child, until: float) -> None:
        if child.exit_code is not None:
            del self._retired[child]
            child.reap()
            if child.exit_code:
                log.warning("the retired %s: %s", child.role.name, child.failure_message())
                self._prepare(child.role)
        elif time.monotonic() > until:
            log.warning("the retired %s does not end and is killed", child.role.name)
            child.kill()

    def _retire(self, child: Child) -> None:
        """Let the child end by itself. A child that handed nothing over is asked to end, within its `stop_seconds`."""
        child.close_link()
        self._retired[child] = math.inf
        if not child.has_retired:
            child.terminate()
            self._retired[child] = time.monotonic() + child.role.stop_seconds

    @staticmethod
    def _prepare(role: ProcessRole) -> None:
        if role.before_restart:
            role.before_restart()

    def _check_exit(self, slot: Slot) -> None:
        code = slot.child.exit_code
        if code is None:
            return
        message = slot.child.start_failure or f"{slot.role.name} {exit_text(code)}"
        slot.last_end = message
        slot.child.reap()
        if slot.role.ends_by_itself and code == 0:
            slot.finished = True
            return
        if error := slot.child.report.error:
            self._fail(slot, StartError(error))
            return
        steady = time.monotonic() - slot.child.started > STEADY_SECONDS
        reason = f": {slot.child.last_log_line()}" if code > 0 else ""
        notice = f"{slot.role.name} {exit_text(code)}{reason} and is restarted"
        self._restart_later(slot, 1 if steady else slot.deaths + 1, message, notice)

    def _restart_later(self, slot: Slot, deaths: int, message: str, notice: str) -> None:
        slot.deaths, slot.last_end = deaths, message
        if slot.deaths >= MAX_DEATHS:
            self._fail(slot, RestartLimitReached(f"{slot.role.name} died {slot.deaths} times in a row; {message}"))
            return
        pause = min(FIRST_PAUSE_SECONDS * 2 ** (slot.deaths - 1), LONGEST_PAUSE_SECONDS)
        slot.due = time.monotonic() + pause
        log.warning("%s; it is restarted in %.1f s", message, pause)
        self._on_restart(notice)

    @staticmethod
    def _fail(slot: Slot, error: StartError | RestartLimitReached) -> None:
        """Leave the slot empty, and tell its owner. Raises the error when the slot has none."""
        slot.finished, slot.due = True, None
        if slot.on_failure is None:
            raise error
        slot.on_failure(slot, str(error))

    def _try_restart(self, slot: Slot) -> None:
        """Start the next child of a slot. A start that fails counts as a death."""
        try:
            self._restart(slot)
        except StartError as error:
            self._restart_later(slot, slot.deaths + 1, str(error), f"{error}; it is tried again")

    def _restart(self, slot: Slot) -> None:
        self._prepare(slot.role)
        slot.child, slot.due = self._spawn(slot.role), None
        slot.restarts += 1


def _deadline(role: ProcessRole, asked: float, hurried: float) -> float:
    """Return when a child is killed that was asked to end at `asked`; `hurried` is when the hurry began."""
    if math.isinf(hurried):
        return asked + role.stop_seconds
    return hurried + role.hurried_seconds if role.hurried_seconds else asked + HURRIED_SECONDS


def _has_failed(child: Child) -> bool:
    """Return whether an ended child failed. SIGTERM is no failure of a child that was still loading its code."""
    return bool(child.exit_code) and (child.is_ready or child.exit_code != -signal.SIGTERM)
