"""The scheduler looks each minute which harvests are ready, and generates their jobs in threads.

Each harvest is one unit of work. Snapshots have a thread of their own, so that a slow one delays no selective harvest.
Two schedulers may be started by mistake: one works, and the other waits and says for whom.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Final

from admin.harvests.generation.postponement import is_postponed, postponed
from admin.harvests.generation.ready import DueHarvest, due, is_ready
from admin.harvests.generation.run import EventKind, FenceLost, GenerationEvent, Generator, Listener
from admin.models.database import Database
from admin.models.errors import DatabaseRefused
from admin.models.harvest_tables import Harvest, HarvestKind
from admin.models.transaction import SCHEDULER, Transaction
from admin.scheduler.lease import LeaseFence, ProcessLease, Standing
from archive.settings.load import Settings
from archive.steady_work import SteadyWork

LEASE: Final = "scheduler"
_RENEWALS: Final = 3
"""Times that a lease is renewed before it would end."""
_LOG: Final = logging.getLogger("ghostfleet.scheduler")

type PeriodicTask = Callable[[Transaction], None]
"""Work that is done with each look, in a transaction of its own, such as the dispatch of new jobs."""


@dataclass(frozen=True, slots=True)
class TickReport:
    """The report says what one look at the harvests did."""

    waits_for: str = ""
    """The owner of the lease when another scheduler works."""
    overlaps: bool = False
    """The look was left out because the one before still went on."""
    started: tuple[str, ...] = ()
    """Names of the harvests whose generation was begun."""
    in_work: tuple[str, ...] = ()
    """Names of the harvests that are being generated, those of earlier looks included."""
    undone: int = 0
    """Drafts of interrupted runs that were removed."""


@dataclass(slots=True)
class _Work:
    harvest: DueHarvest
    since: float
    is_told: bool = False


@dataclass(slots=True)
class _State:
    """The state is shared by the threads of a scheduler; `lock` guards it."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    in_work: dict[int, _Work] = field(default_factory=dict)
    futures: set[Future[None]] = field(default_factory=set)
    away_since: float | None = None
    waits_for: str = ""
    postponed: frozenset[int] = frozenset()
    """Harvests that wait for a harvester of their channel; only a look changes them."""
    begun_with: int | None = None
    """The fencing number with which the first tasks were done."""


class _Stopping:
    """The fence lets nothing pass once the scheduler ends."""

    def __init__(self, fence: LeaseFence, stopped: threading.Event) -> None:
        self._fence, self._stopped = fence, stopped

    def check(self, transaction: Transaction) -> None:
        """Raise FenceLost when another scheduler works, or this one ends."""
        if self._stopped.is_set():
            raise FenceLost("the scheduler ends")
        self._fence.check(transaction)


class Scheduler:
    """A scheduler makes jobs of harvests that are ready. `run` goes on until it is stopped; tests call `tick`."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        listeners: Sequence[Listener] = (),
        first_tasks: Sequence[PeriodicTask] = (),
        tasks: Sequence[PeriodicTask] = (),
        owner: str | None = None,
    ) -> None:
        """Take nothing yet. `first_tasks` are done once when this scheduler begins to work, before its first look, such
        as the resubmission of jobs; `tasks` are done with each look, after it. Both keep their order.
        """
        generation = settings.generation
        self._database, self._settings = database, settings
        self._listeners, self._first_tasks, self._tasks = listeners, first_tasks, tasks
        self._lease = ProcessLease(database, LEASE, generation.lease_seconds, owner)
        self._selective = ThreadPoolExecutor(generation.threads, thread_name_prefix="selective")
        self._snapshots = ThreadPoolExecutor(1, thread_name_prefix="snapshots")
        self._ticking = threading.Lock()
        self._stopped = threading.Event()
        self._state = _State()
        for warning in generation.warnings():
            _LOG.warning(warning)

    @property
    def owner(self) -> str:
        """The name under which this scheduler holds the lease."""
        return self._lease.owner

    def tick(self) -> TickReport:
        """Look once for harvests that are ready, and begin to generate their jobs. Raises DatabaseRefused.

        The function does not wait for the jobs; `wait` does.
        """
        if not self._ticking.acquire(blocking=False):
            return TickReport(overlaps=True)
        try:
            standing = self._lease.hold()
            self._tell_standing(standing)
            if not standing.is_ours:
                return TickReport(waits_for=standing.owner)
            fence = _Stopping(LeaseFence(self._lease, standing.fence), self._stopped)
            if self._state.begun_with != standing.fence:
                self._do_tasks(fence, self._first_tasks)
                self._state.begun_with = standing.fence
            return self._look(fence)
        finally:
            self._ticking.release()

    def run(self, stop: threading.Event) -> None:
        """Look each minute until `stop` is set; go on when the database is away for a while."""
        keeper = threading.Thread(target=self._keep_lease, args=(stop,), name="lease", daemon=True)
        keeper.start()
        look = SteadyWork("the look of the scheduler", self._unless_away)
        while not stop.is_set():
            begun = time.monotonic()
            look(self.tick)
            stop.wait(max(0.0, self._settings.generation.period_seconds - (time.monotonic() - begun)))
        keeper.join()
        self.close()

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until everything that was begun has ended. Return whether it has."""
        with self._state.lock:
            futures = set(self._state.futures)
        return not wait(futures, seconds).not_done

    def close(self) -> None:
        """End the work that goes on, undo its drafts, and give the lease back."""
        self._stopped.set()
        for pool in (self._selective, self._snapshots):
            pool.shutdown(wait=True, cancel_futures=True)
        self._unless_away(self._give_back)

    def _give_back(self) -> None:
        standing = self._lease.hold()
        if standing.is_ours:
            self._generator(LeaseFence(self._lease, standing.fence)).undo_drafts()
            self._lease.release()

    def _look(self, fence: _Stopping) -> TickReport:
        generator = self._generator(fence)
        with self._state.lock:
            busy = dict(self._state.in_work)
        undone = generator.undo_drafts(without=list(busy))
        if undone:
            _LOG.warning("%d jobs of interrupted runs were removed; the runs are generated again", undone)
        with self._database.reading(SCHEDULER) as reading:
            ready = self._ready(reading)
        started = [harvest for harvest in ready if harvest.id not in busy]
        for harvest in started:
            self._begin(generator, harvest)
        self._tell_slow()
        self._do_tasks(fence, self._tasks)
        with self._state.lock:
            in_work = tuple(work.harvest.name for work in self._state.in_work.values())
        return TickReport(started=tuple(harvest.name for harvest in started), in_work=in_work, undone=undone)

    def _ready(self, reading: Transaction) -> list[DueHarvest]:
        """Return the due harvests whose channel has a harvester; say once of each other one why it waits."""
        if not self._settings.generation.postpone_unregistered_channel:
            return due(reading.session, reading.now)
        waiting = postponed(reading.session, reading.now)
        for harvest in waiting:
            if harvest.id not in self._state.postponed:
                _LOG.warning(
                    "harvest %s waits: no harvester has registered for channel %s; start one with"
                    " `ghostfleet harvester --channel %s`",
                    *(harvest.name, harvest.channel, harvest.channel),
                )
        self._state.postponed = frozenset(harvest.id for harvest in waiting)
        return due(reading.session, reading.now, ~is_postponed())

    def _begin(self, generator: Generator, harvest: DueHarvest) -> None:
        pool = self._snapshots if harvest.kind == HarvestKind.SNAPSHOT else self._selective
        with self._state.lock:
            self._state.in_work[harvest.id] = _Work(harvest, time.monotonic())
        future = pool.submit(self._generate, generator, harvest)
        with self._state.lock:
            self._state.futures.add(future)
        future.add_done_callback(self._forget)

    def _forget(self, done: Future[None]) -> None:
        with self._state.lock:
            self._state.futures.discard(done)

    def _generate(self, generator: Generator, harvest: DueHarvest) -> None:
        try:
            with self._database.reading(SCHEDULER) as reading:
                row = reading.session.get(Harvest, harvest.id)
                still = row is not None and is_ready(row, reading.now)
            if still:
                generator.generate(harvest.id)
        except FenceLost as error:
            _LOG.warning("harvest %s is not generated further here: %s", harvest.name, error)
        except DatabaseRefused as error:
            _LOG.warning("harvest %s is generated when the database is back: %s", harvest.name, error)
        except Exception:
            _LOG.exception("harvest %s could not be generated", harvest.name)
        finally:
            # The future is not done yet: whoever waits for it finds the harvest out of work afterwards.
            with self._state.lock:
                self._state.in_work.pop(harvest.id, None)

    def _do_tasks(self, fence: _Stopping, tasks: Sequence[PeriodicTask]) -> None:
        for task in tasks:
            try:
                with self._database.transaction(SCHEDULER) as transaction:
                    fence.check(transaction)
                    task(transaction)
            except (DatabaseRefused, FenceLost):
                raise
            except Exception:
                _LOG.exception("%s failed", getattr(task, "__name__", task))

    def _generator(self, fence: _Stopping | LeaseFence) -> Generator:
        return Generator(self._database, self._settings, fence, self._listeners)

    def _keep_lease(self, stop: threading.Event) -> None:
        """Renew a lease that is ours, also while a look takes long. Only a look takes a lease that is free."""
        renew = SteadyWork("the renewal of the scheduler's lease", self._unless_away)
        while not stop.wait(self._settings.generation.lease_seconds / _RENEWALS):
            renew(self._lease.renew)

    def _unless_away(self, work: Callable[[], object]) -> None:
        """Do the work; when the database is away, say so once, and say when it is back.

        The lease is renewed by a thread of its own. Work that began before the other thread met the database away does
        not show that the database is back.
        """
        state, begun = self._state, time.monotonic()
        try:
            work()
        except DatabaseRefused as error:
            with state.lock:
                if state.away_since is not None:
                    return
                state.away_since = time.monotonic()
            _LOG.error("%s; the scheduler goes on when the database is back", error)
        except FenceLost as error:
            _LOG.warning("another scheduler has taken over: %s", error)
        else:
            with state.lock:
                away_since = state.away_since
                if away_since is None or away_since >= begun:
                    return
                state.away_since = None
            _LOG.warning("the database is back after %.0f s", time.monotonic() - away_since)

    def _tell_standing(self, standing: Standing) -> None:
        if standing.is_ours and (standing.is_new or self._state.waits_for):
            _LOG.info("%s works as the scheduler, with fencing number %d", standing.owner, standing.fence)
        elif not standing.is_ours and self._state.waits_for != standing.owner:
            _LOG.warning("another scheduler works: %s; this one (%s) waits for it", standing.owner, self.owner)
        self._state.waits_for = "" if standing.is_ours else standing.owner

    def _tell_slow(self) -> None:
        """Say once which harvests take long to generate."""
        now = time.monotonic()
        with self._state.lock:
            works = list(self._state.in_work.values())
        for work in works:
            seconds = now - work.since
            if work.is_told or seconds <= self._settings.generation.slow_seconds:
                continue
            work.is_told = True
            _LOG.warning("harvest %s is being generated for %.0f s", work.harvest.name, seconds)
            message = f"the jobs of the run are being made for {seconds:.0f} s"
            with self._database.transaction(SCHEDULER) as transaction:
                for listener in self._listeners:
                    run = self._run_number(transaction, work.harvest)
                    event = GenerationEvent(
                        EventKind.STILL_GENERATING, work.harvest.id, work.harvest.name, run, message
                    )
                    listener(transaction, event)

    @staticmethod
    def _run_number(transaction: Transaction, harvest: DueHarvest) -> int:
        row = transaction.session.get(Harvest, harvest.id)
        return row.runs_made if row is not None else 0
