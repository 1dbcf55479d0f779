"""Invariant: each accepted URL is in exactly one of queued, leased, done, failed, excluded, whatever happens.

Hypothesis drives a real Redis and a plain model side by side: late workers, leases that run out, things said twice,
processes that die, hosts set aside and woken.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from support.stores.real_frontier import Bench

from archive.settings import FrontierSettings
from archive.settings.values.cluster_url import is_cluster
from frontier.definition.job import PolitenessOverrides, Profile
from frontier.definition.scope import Accepted, Candidate
from frontier.lease import MAX_LOST, JobFinished, JobStopped, Lease, Pause
from frontier.politeness import LeaseEnding, Step, VisitOutcome, next_step

RULES = FrontierSettings(
    min_delay_seconds=0, delay_factor=0, retry_seconds=1000, max_retry_seconds=5000, max_retries=1, host_failures=3
)
GROUPED = {"a.example", "b.example"}
HOSTS = ("a.example", "b.example", "c.example")
CODES = (200, 404, 503, -3, -7, -9998)
LONGEST = 600
CLUSTER_SHARE = 4
"""On a cluster, each of hundreds of new clients asks for the commands and the slots first: fewer examples must do."""


@dataclass
class Url:
    """What the model knows of one accepted URL."""

    host: str
    place: tuple[int, int]
    state: str = "queued"
    tries: int = 0
    is_behind: bool = False
    """Its worker was lost, so that the others of its host come first."""
    rest: str = ""
    """`resting` after a failure of its own, then `ripe` until a claim puts it back into its queue."""


@dataclass
class Held:
    """A lease as the worker has it, and whether it still is its own."""

    lease: Lease
    is_current: bool = True
    is_late: bool = False
    ending: LeaseEnding | None = None


@dataclass
class Model:
    """The frontier as it should be."""

    urls: dict[str, Url] = field(default_factory=dict)
    aside: set[str] = field(default_factory=set)
    resting_hosts: set[str] = field(default_factory=set)
    failures: dict[str, int] = field(default_factory=lambda: dict.fromkeys(HOSTS, 0))
    held: list[Held] = field(default_factory=list)
    sequence: int = 0
    group: set[str] = field(default_factory=set)
    """Hosts of which one is visited at a time."""

    def busy(self) -> set[str]:
        return {url.host for url in self.urls.values() if url.state == "leased"}

    def waiting(self, host: str) -> list[str]:
        mine = [name for name, url in self.urls.items() if url.host == host and url.state == "queued" and not url.rest]
        return sorted(mine, key=lambda name: (self.urls[name].is_behind, self.urls[name].place))

    def open_hosts(self) -> set[str]:
        kept = self.aside | self.busy() | self.resting_hosts | (self.group if self.busy() & self.group else set())
        return {host for host in HOSTS if host not in kept and self.waiting(host)}

    def counts(self) -> dict[str, int]:
        counts = dict.fromkeys(("queued", "leased", "done", "failed", "excluded"), 0)
        for url in self.urls.values():
            is_aside = url.state == "queued" and not url.rest and url.host in self.aside
            counts["excluded" if is_aside else url.state] += 1
        return counts

    def end(self, name: str, ending: LeaseEnding, *, counts: bool = True, rests: bool = False) -> None:
        url = self.urls[name]
        url.is_behind = False
        url.rest = "resting" if rests and ending is LeaseEnding.AGAIN else ""
        if ending is LeaseEnding.AGAIN:
            url.state, url.tries = "queued", url.tries + counts
        else:
            url.state = str(ending)

    def put_back(self) -> None:
        for url in self.urls.values():
            url.rest = "" if url.rest == "ripe" else url.rest

    def sweep(self) -> int:
        late = [held for held in self.held if held.is_current and held.is_late]
        for held in late:
            held.is_current = False
            url = self.urls[held.lease.url]
            over = url.tries >= RULES.max_retries + MAX_LOST
            self.end(held.lease.url, LeaseEnding.FAILED if over else LeaseEnding.AGAIN)
            url.is_behind = True
        return len(late)


class FrontierMachine(RuleBasedStateMachine):
    """Steps that workers, operators and accidents take."""

    bench: ClassVar[Bench]
    groups: ClassVar[tuple[str, ...]] = ()

    def __init__(self) -> None:
        super().__init__()
        self.bench.client.flushall()
        sessions = PolitenessOverrides(session_budget=3 if self.groups else None)
        profile = Profile(scope="any", groups=self.groups, politeness=sessions)
        self.frontier = self.bench.frontier("http://a.example/seed", settings=RULES, profile=profile)
        self.model = Model(group=GROUPED if self.groups else set())
        self._accept("http://a.example/seed", 0)

    @rule(host=st.sampled_from(HOSTS), number=st.integers(0, 7), depth=st.integers(0, 2))
    def add(self, host: str, number: int, depth: int) -> None:
        url = f"http://{host}/{number}"
        [decision] = self.frontier.add([Candidate(url, "L" * depth, depth=depth)])
        assert isinstance(decision, Accepted) is (url not in self.model.urls)
        if isinstance(decision, Accepted):
            self._accept(url, depth)

    @rule(worker=st.sampled_from(("w1", "w2", "w3")))
    def claim(self, worker: str) -> None:
        self.model.sweep()
        self.model.put_back()
        claimed, answer = self.model, self.frontier.claim(worker)
        if isinstance(answer, Lease):
            assert answer.host in claimed.open_hosts()
            assert answer.url == claimed.waiting(answer.host)[0]
            assert answer.attempt == claimed.urls[answer.url].tries + 1
            assert answer.host_failures == claimed.failures[answer.host]
            claimed.urls[answer.url].state = "leased"
            claimed.held.append(Held(answer))
            return
        assert not claimed.open_hosts()
        counts = claimed.counts()
        over = counts["queued"] == 0 and counts["leased"] == 0
        assert isinstance(answer, JobFinished if over else Pause)

    @precondition(lambda self: self.model.held)
    @rule(which=st.integers(0, 50), code=st.sampled_from(CODES), say_twice=st.booleans())
    def finish(self, which: int, code: int, say_twice: bool) -> None:
        held = self._held(which)
        step = next_step(
            VisitOutcome(code),
            self.frontier.politeness,
            attempt=held.lease.attempt,
            host_failures=held.lease.host_failures,
        )
        said = self.frontier.finish(held.lease, VisitOutcome(code, bytes=1))
        if not held.is_current:
            assert said in (LeaseEnding.STALE, held.ending)
            return
        assert said is step.ending
        self._over(held, step)
        if say_twice:
            assert self.frontier.finish(held.lease, VisitOutcome(code, bytes=1)) is step.ending

    @precondition(lambda self: self.model.held)
    @rule(which=st.integers(0, 50), counts=st.booleans())
    def give_back(self, which: int, counts: bool) -> None:
        held = self._held(which)
        said = self.frontier.give_back(held.lease, "trouble", counts=counts)
        if not held.is_current:
            assert said in (LeaseEnding.STALE, held.ending)
            return
        gone = counts and held.lease.attempt > RULES.max_retries
        assert said is (LeaseEnding.FAILED if gone else LeaseEnding.AGAIN)
        held.is_current, held.ending = False, said
        self.model.end(held.lease.url, said, counts=counts, rests=counts)

    @precondition(lambda self: self.model.held)
    @rule(which=st.integers(0, 50))
    def add_links_of_a_visit(self, which: int) -> None:
        held = self._held(which)
        url = f"{held.lease.url}-more"
        decisions = self.frontier.add([Candidate(url, "L", depth=1)], held.lease)
        if not held.is_current:
            assert decisions == []
        elif isinstance(decisions[0], Accepted):
            self._accept(url, 1)

    @precondition(lambda self: self.model.held)
    @rule(which=st.integers(0, 50))
    def run_out(self, which: int) -> None:
        held = self._held(which)
        if held.is_current:
            self.bench.expire(held.lease)
            held.is_late = True

    @precondition(lambda self: self.model.held)
    @rule(which=st.integers(0, 50))
    def renew(self, which: int) -> None:
        held = self._held(which)
        assert self.frontier.renew(held.lease) is held.is_current
        held.is_late = held.is_late and not held.is_current

    @rule()
    def sweep(self) -> None:
        assert self.frontier.sweep() == self.model.sweep()

    @rule()
    def time_passes(self) -> None:
        self.bench.make_due(*HOSTS)
        self.bench.make_retries_due()
        self.model.resting_hosts.clear()
        for url in self.model.urls.values():
            url.rest = "ripe" if url.rest else ""

    @rule(host=st.sampled_from(HOSTS))
    def set_aside(self, host: str) -> None:
        assert self.frontier.controls.set_host_aside(host, "unwanted") is (host not in self.model.aside)
        self.model.aside.add(host)

    @rule(host=st.sampled_from(HOSTS))
    def wake(self, host: str) -> None:
        self.frontier.controls.wake_host(host)
        self.model.aside.discard(host)
        self.model.failures[host] = 0

    @rule(stop=st.booleans())
    def halt_and_go_on(self, stop: bool) -> None:
        if stop:
            self.frontier.controls.stop("enough")
        else:
            self.frontier.controls.pause()
        self.model.sweep()
        self.model.put_back()
        assert isinstance(self.frontier.claim("w"), JobStopped if stop else Pause)
        self.frontier.controls.resume()

    @rule()
    def process_dies_and_another_takes_over(self) -> None:
        self.frontier.close()
        self.frontier = self.bench.again(self.frontier, RULES)

    @invariant()
    def counters_tell_the_truth(self) -> None:
        progress = self.frontier.reports.progress()
        counts = self.model.counts()
        assert {name: getattr(progress, name) for name in counts} == counts
        assert progress.accepted == len(self.model.urls)
        assert progress.hosts == len(
            [host for host in HOSTS if host not in self.model.aside and self.model.waiting(host)]
        )

    @invariant()
    def every_url_is_in_one_place(self) -> None:
        client, key = self.bench.client, self.bench.key
        queued = [id for host in HOSTS for id in client.zrange(key(f"q:{host}"), 0, -1)]
        leases, retries = client.zrange(key("leases"), 0, -1), client.zrange(key("retry"), 0, -1)
        ended = client.hkeys(key("ended"))
        places: list[Any] = [*queued, *leases, *retries, *ended]
        assert len(places) == len(set(places))
        assert set(client.hkeys(key("u"))) == {
            *queued,
            *leases,
            *retries,
        }
        done = self.model.counts()["done"]
        assert len(places) + done == len(self.model.urls)

    @invariant()
    def groups_know_how_many_visits_go_on(self) -> None:
        for report in self.frontier.reports.groups():
            assert report.visits == len(self.model.busy() & self.model.group)

    @invariant()
    def hosts_know_how_many_visits_go_on(self) -> None:
        for host in HOSTS:
            assert self.bench.host(host).get("n", 0) == (host in self.model.busy())

    def _accept(self, url: str, depth: int) -> None:
        self.model.sequence += 1
        host = url.split("/")[2]
        self.model.urls[url] = Url(host, (depth, self.model.sequence))

    def _held(self, which: int) -> Held:
        return self.model.held[-1 - which % len(self.model.held)]

    def _over(self, held: Held, step: Step) -> None:
        held.is_current, held.ending = False, step.ending
        host = held.lease.host
        self.model.end(held.lease.url, step.ending, rests=step.url_wait_ms > 0)
        if step.host_wait_ms:
            self.model.resting_hosts.add(host)
        if step.host_failed:
            self.model.failures[host] += 1
            if self.model.failures[host] >= RULES.host_failures:
                self.model.aside.add(host)
        elif step.ending is LeaseEnding.DONE:
            self.model.failures[host] = 0


def explore(bench: Bench, examples: int, steps: int) -> None:
    FrontierMachine.bench = bench
    run_state_machine_as_test(
        FrontierMachine,
        settings=settings(
            max_examples=examples // CLUSTER_SHARE if is_cluster(bench.url) else examples,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
        ),
    )


@pytest.mark.timeout(LONGEST)
def test_every_url_is_in_exactly_one_state_through_everything(bench: Bench) -> None:
    explore(bench, 12, 40)


@pytest.mark.timeout(LONGEST)
def test_every_url_is_in_exactly_one_state_with_groups_and_sessions(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FrontierMachine, "groups", ("pair a.example,b.example parallel=1",))
    explore(bench, 12, 40)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_every_url_is_in_exactly_one_state_through_very_much(bench: Bench) -> None:
    explore(bench, 1000, 60)
