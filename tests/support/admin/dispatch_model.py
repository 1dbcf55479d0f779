"""The dispatch as a state machine of hypothesis: everything that can go wrong, in any order, and what must hold.

Each rule lets one part do something by the functions of the program. What goes wrong with it is part of the rule: the
part dies at a statement or a commit, the database is away, a message comes late or twice, or another part comes between
two statements.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from admin.harvests.definitions.states import StateChange, activate_harvest, deactivate_harvest, run_harvest_now
from admin.harvests.dispatch import steering
from admin.harvests.dispatch.harvesters import forget_harvester
from admin.harvests.dispatch.steering import JobCommandInput, Verb
from admin.models.errors import DatabaseRefused, UseCaseError
from admin.models.transaction import COMMAND_LINE, Transaction
from support.admin.dispatch_parts import ALL, ASKED, DOMAINS_OF, NEWS, SILENT_SECONDS, HarvesterPart, Parts
from support.admin.harvest_database import DAY, HOUR, MINUTE, SECOND, START
from support.stores.faulty_database import Fault, Ill

TRANSITIONS: Final = {
    ("DRAFT", "NEW"),
    ("NEW", "SUBMITTED"),
    ("NEW", "FAILED"),
    ("SUBMITTED", "STARTED"),
    ("SUBMITTED", "RESUBMITTED"),
    ("SUBMITTED", "FAILED"),
    ("STARTED", "DONE"),
    ("STARTED", "FAILED"),
    ("FAILED", "RESUBMITTED"),
    ("FAILED", "FAILED_REJECTED"),
    ("FAILED_REJECTED", "FAILED"),
}
"""As they are written in the design; not taken from the program."""
ENDS: Final = {"DONE", "FAILED", "FAILED_REJECTED", "RESUBMITTED"}
ROUNDS: Final = 24
"""At most so many rounds all parts work undisturbed at the end; each takes two minutes."""
_POINTS: Final = st.integers(0, 24)
_ILLS: Final = st.one_of(st.none(), st.none(), st.sampled_from(list(Ill)))
_THREE: Final = st.integers(0, 2)
_ANY: Final = st.integers(0, 99)
_STATEMENTS: Final = st.sampled_from(["", "INSERT INTO jobs", "UPDATE harvests", "UPDATE jobs"])
"""How the statement begins at which something happens; with "", any point is meant."""
type UseCase = Callable[[Transaction, int], Any]
OPERATORS: Final[dict[str, UseCase]] = {
    "resubmits": steering.resubmit,
    "rejects": steering.reject,
    "undoes the rejection of": steering.undo_reject,
    "cancels": lambda transaction, job: steering.fail_job(transaction, job, "not wanted"),
    "pauses": lambda transaction, job: steering.give_command(transaction, job, JobCommandInput(verb=Verb.PAUSE)),
}


class DispatchModel(RuleBasedStateMachine):
    """The machine; a subclass has the databases."""

    databases: ClassVar[Any]

    def __init__(self) -> None:
        super().__init__()
        self.url = self.databases.new()
        self.parts = Parts(self.url)
        self.latest = START
        self.asked_runs = 0
        self.logged = 0
        self.seen_jobs: dict[int, tuple[Any, ...]] = {}
        self.statistics: dict[int, tuple[Any, ...]] = {}

    # -- schedulers

    @rule(which=st.sampled_from([0, 0, 0, 1]), ill=_ILLS, at=st.integers(0, 90), other=_THREE, by=_ANY)
    def scheduler_looks(self, which: int, ill: Ill | None, at: int, other: int, by: int) -> None:
        self.parts.schedulers[which].tick(self._fault(ill, at, other, by, scheduler=which))

    @rule(which=st.integers(0, 1))
    def scheduler_ends_in_order(self, which: int) -> None:
        self.parts.schedulers[which].stop()

    @rule(
        which=st.integers(0, 1), begins=_STATEMENTS, at=_POINTS, ill=_ILLS, other_begins=_STATEMENTS, other_at=_POINTS
    )
    def scheduler_is_slow_and_the_next_meets_trouble(
        self, which: int, begins: str, at: int, ill: Ill | None, other_begins: str, other_at: int
    ) -> None:
        def comes_between() -> None:
            self.parts.lose_lease()
            trouble = None if ill in (None, Ill.OTHER) else _fault_at(other_begins, other_at, ill)
            self.parts.schedulers[1 - which].tick(trouble)

        self.parts.schedulers[which].tick(_fault_at(begins, at, Ill.OTHER, comes_between))

    @rule()
    def lease_is_over(self) -> None:
        self.parts.lose_lease()

    # -- harvesters

    @rule(which=_THREE, steps=st.integers(1, 12))
    def harvester_works(self, which: int, steps: int) -> None:
        self.parts.harvesters[which].start()
        for _ in range(steps):
            self.parts.harvesters[which].step()

    @rule(which=_THREE, ill=st.sampled_from(list(Ill)), at=_POINTS, other=_THREE, by=_ANY)
    def message_meets_trouble(self, which: int, ill: Ill, at: int, other: int, by: int) -> None:
        self.parts.harvesters[which].start()
        self.parts.harvesters[which].step(self._fault(ill, at, other, by, harvester=which))

    @rule(at=st.integers(0, 8), is_late=st.booleans())
    def requests_for_jobs_cross(self, at: int, is_late: bool) -> None:
        first, second = self.parts.harvesters[:2]
        if is_late:
            self.parts.schedulers[0].tick()
        for each in (first, second):
            each.start()
            for _ in range(12):
                if each.pending is not None and each.pending.text != "claim":
                    each.step()
        first.step(Fault(Ill.OTHER, at, second.step))

    @rule(which=_THREE)
    def message_comes_later(self, which: int) -> None:
        self.parts.harvesters[which].step(is_delayed=True)

    @rule(which=_THREE)
    def message_comes_again(self, which: int) -> None:
        self.parts.harvesters[which].step(is_repeated=True)

    @rule(which=_THREE)
    def answer_is_lost(self, which: int) -> None:
        self.parts.harvesters[which].step(is_unanswered=True)

    @precondition(lambda self: any(each.wandering for each in self.parts.harvesters))
    @rule(which=_THREE, number=_ANY)
    def late_message_arrives(self, which: int, number: int) -> None:
        if self.parts.harvesters[which].wandering:
            self.parts.harvesters[which].arrive(number, self.parts.people)

    @rule(which=_THREE)
    def harvester_is_killed(self, which: int) -> None:
        self.parts.harvesters[which].kill()

    @rule(which=_THREE, is_cut_off=st.booleans())
    def network_is_cut_or_mended(self, which: int, is_cut_off: bool) -> None:
        self.parts.harvesters[which].cut_off(is_cut_off)

    # -- people and time

    @rule(does=st.sampled_from(list(OPERATORS)), number=_ANY)
    def operator_steers(self, does: str, number: int) -> None:
        if jobs := [row[0] for row in self.parts.rows("SELECT id FROM jobs WHERE status <> 'DRAFT' ORDER BY id")]:
            self._ask(lambda transaction: OPERATORS[does](transaction, jobs[number % len(jobs)]))

    @rule(which=_THREE)
    def operator_forgets_a_harvester(self, which: int) -> None:
        self._ask(lambda transaction: forget_harvester(transaction, self.parts.harvesters[which].model.name))

    @rule(harvest=st.sampled_from([NEWS, ALL, ASKED]), does=st.sampled_from(["activate", "run", "run", "deactivate"]))
    def curator_decides(self, harvest: str, does: str) -> None:
        use_case = {"activate": activate_harvest, "run": run_harvest_now, "deactivate": deactivate_harvest}[does]
        if self._ask(lambda transaction: use_case(transaction, harvest, StateChange())) and does == "run":
            self.asked_runs += 1

    @rule(micros=st.sampled_from([SECOND, MINUTE, 6 * MINUTE, HOUR, HOUR, (SILENT_SECONDS + 1) * SECOND, DAY, -HOUR]))
    def clock_moves(self, micros: int) -> None:
        self.parts.clock.move(micros)
        self.latest = max(self.latest, self.parts.clock.now)

    # -- what must hold

    @invariant()
    def nobody_crawls_a_job_twice(self) -> None:
        doubled = self.parts.crawls.doubled
        assert not doubled, f"jobs were crawled by two harvesters at a time: {doubled}"
        twice = {job: runs for job, runs in self.parts.crawls.begun.items() if len(runs) > 1}
        assert not twice, f"jobs were crawled more than once: {twice}"

    @invariant()
    def states_move_by_the_table(self) -> None:
        log = self.parts.rows("SELECT number, job, before, after FROM status_log WHERE number > :n", n=self.logged)
        for number, job, before, after in log:
            assert (before, after) in TRANSITIONS, f"job {job} went from {before} to {after}"
            self.logged = max(self.logged, number)

    @invariant()
    def jobs_are_kept_and_have_one_owner(self) -> None:
        found = self.parts.rows(
            "SELECT id, status, harvester, token, resubmitted_as_id, resubmission_of_id, harvest_error, objects"
            " FROM jobs WHERE status <> 'DRAFT'"
        )
        jobs = {row[0]: row[1:] for row in found}
        assert self.seen_jobs.keys() <= jobs.keys(), f"lost: {self.seen_jobs.keys() - jobs.keys()}"
        held = Counter(row[1] for row in jobs.values() if row[0] == "STARTED")
        assert all(count == 1 for count in held.values()), f"a harvester has several jobs: {held}"
        for job, (status, harvester, token, successor, predecessor, error, _) in jobs.items():
            before = self.seen_jobs.get(job)
            if before is not None and before[2]:
                assert (harvester, token) == before[1:3], f"job {job} changed its owner"
            assert (status == "RESUBMITTED") == (successor is not None), f"job {job} is {status} with {successor}"
            if successor is not None:
                assert (successor > job, jobs[successor][4]) == (True, job), f"job {job} has no chain to {successor}"
            if predecessor is not None:
                assert jobs[predecessor][3] == job, f"job {job} has no chain from {predecessor}"
            assert status != "DONE" or not error, f"job {job} is done with the error {error}"
        self.seen_jobs = jobs

    @invariant()
    def results_are_stored_once(self) -> None:
        found = self.parts.rows("SELECT id, job_id, domain_id, objects, bytes, stop_reason FROM domain_history")
        statistics = {row[0]: row[1:] for row in found}
        assert self.statistics.items() <= statistics.items(), "statistics were changed"
        self.statistics = statistics
        assert len({row[:2] for row in statistics.values()}) == len(statistics), "statistics are doubled"
        sums = Counter[int]()
        for job, _, objects, *_ in statistics.values():
            sums[job] += objects
        for job, objects in sums.items():
            assert self.seen_jobs[job][6] == objects, f"job {job} has {self.seen_jobs[job][6]} objects, not {objects}"
        ends = self.parts.rows("SELECT entity_id, count(*) FROM audit_entries WHERE action = 'job.end' GROUP BY 1")
        assert all(count == 1 for _, count in ends), f"ends were reported twice: {ends}"
        reported = self.parts.crawls.reported
        assert all(count <= 1 for count in reported.values()), f"reports counted twice: {reported}"

    @invariant()
    def runs_are_whole_and_none_is_doubled(self) -> None:
        runs = self.parts.rows(
            "SELECT h.name, r.number, r.jobs, r.is_extra FROM harvest_runs r JOIN harvests h ON h.id = r.harvest_id"
        )
        entries = self.parts.rows(
            "SELECT h.name, j.run_number, c.domain_name FROM jobs j JOIN harvests h ON h.id = j.harvest_id"
            " JOIN job_configurations c ON c.job_id = j.id"
            " WHERE j.status <> 'DRAFT' AND j.resubmission_of_id IS NULL"
        )
        domains: dict[tuple[str, int], list[str]] = {(name, number): [] for name, number, *_ in runs}
        for name, number, domain in entries:
            domains[name, number].append(domain)
        for (name, number), found in domains.items():
            assert sorted(found) == list(DOMAINS_OF[name]), f"run {number} of {name} has {sorted(found)}"
        dates = (self.latest - (START - MINUTE)) // HOUR + 1
        regular = sum(1 for name, _, _, is_extra in runs if name == NEWS and not is_extra)
        assert regular <= dates, f"{regular} runs in {dates} dates"
        extra = sum(1 for *_, is_extra in runs if is_extra)
        assert extra <= self.asked_runs, f"{extra} runs for {self.asked_runs} requests"
        assert sum(1 for name, *_ in runs if name == ALL) <= 1, f"the snapshot runs twice: {runs}"
        made = self.parts.rows("SELECT name, runs_made, why_inactive FROM harvests")
        counted = Counter(name for name, *_ in runs)
        expected = {name: counted[name] for name, *_ in made}
        assert {name: count for name, count, _ in made} == expected, f"a harvest has {made}, and runs {expected}"
        assert all(why == "" for *_, why in made), f"a fault deactivated a harvest: {made}"

    # -- the end

    def teardown(self) -> None:
        """Let all parts work undisturbed, and look whether every job ends."""
        try:
            if sys.exc_info()[0] is None:  # no step has failed
                self._mend()
        finally:
            self.parts.close()
            self.databases.drop(self.url)

    def _mend(self) -> None:
        scheduler, (h0, h1, h2) = self.parts.schedulers[0], self.parts.harvesters
        self.parts.schedulers[1].stop()
        self.parts.lose_lease()
        self.parts.clock.now = self.latest  # a clock that was set back comes to where it was
        if len(self.seen_jobs) % 2:  # it never comes back, with what it has
            h1.kill()
            alive = [h0, h2]
        else:
            alive = [h0, h1, h2]
        for harvester in alive:
            harvester.cut_off(False)
        is_over = False
        for number in range(ROUNDS):
            scheduler.tick()
            if number == 2:
                due = "SELECT name FROM harvests WHERE run_now = :yes OR (is_active = :yes AND next_run < :now)"
                assert self.parts.rows(due, yes=True, now=self.parts.clock.now) == [], "a run that is due is lost"
                for name in DOMAINS_OF:
                    self._ask(lambda transaction, name=name: deactivate_harvest(transaction, name, StateChange()))
            for harvester in alive:
                harvester.start()
                harvester.model.is_idle = False
                for _ in range(12):  # a job of two domains takes eight
                    if not harvester.model.is_idle:
                        harvester.step()
                if harvester.wandering:
                    harvester.arrive(number, self.parts.people)
            self.clock_moves(2 * MINUTE)
            was_over, is_over = is_over, self._is_over(alive)
            if number > 2 and was_over and is_over:
                break
        self.check()
        for harvester in alive:
            assert not harvester.model.disk, f"{harvester.model.name} never reported {list(harvester.model.disk)}"
        found = dict(self.parts.rows("SELECT id, status FROM jobs"))
        assert set(found.values()) <= ENDS, f"jobs do not end: {found}"

    def _is_over(self, alive: list[HarvesterPart]) -> bool:
        """Whether every job has ended, and nobody has anything left to say of one."""
        found = {status for (status,) in self.parts.rows("SELECT DISTINCT status FROM jobs")}
        return found <= ENDS and not any(each.model.disk or each.wandering for each in alive)

    def check(self) -> None:
        self.nobody_crawls_a_job_twice()
        self.states_move_by_the_table()
        self.jobs_are_kept_and_have_one_owner()
        self.results_are_stored_once()
        self.runs_are_whole_and_none_is_doubled()

    # -- the rest

    def _ask(self, use_case: Callable[[Transaction], Any]) -> bool:
        """Whether people got what they asked for."""
        try:
            with self.parts.people.transaction(COMMAND_LINE) as transaction:
                use_case(transaction)
        except (DatabaseRefused, UseCaseError):
            return False
        return True

    def _fault(
        self,
        ill: Ill | None,
        at: int,
        other: int,
        by: int,
        *,
        scheduler: int | None = None,
        harvester: int | None = None,
    ) -> Fault | None:
        if ill is None:
            return None

        def comes_between() -> None:
            """Let another part do something between two statements."""
            if by % 3 == 0 and scheduler is not None:
                self.parts.lose_lease()
                self.parts.schedulers[1 - scheduler].tick()
            elif by % 3 == 1 or scheduler is not None:
                which = other if other != harvester else (other + 1) % 3
                self.parts.harvesters[which].start()
                for _ in range(1 + by // 10):
                    self.parts.harvesters[which].step()
            else:
                names = list(OPERATORS)
                self.operator_steers(names[by % len(names)], by)

        return Fault(ill, at, comes_between)


def _fault_at(begins: str, at: int, ill: Ill, other: Callable[[], None] = lambda: None) -> Fault:
    """At a point by its number, or at the first or second statement that begins so."""
    return Fault(ill, at % 2 if begins else at, other, begins)
