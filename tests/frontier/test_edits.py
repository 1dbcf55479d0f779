"""A running job's profile is edited: by whom, from what to what, for all workers, after a restart, and as a patch."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Barrier, BrokenBarrierError

import pytest
import yaml
from support.stores.real_frontier import Bench

from archive.settings import FrontierSettings
from frontier.definition.edits import edits_between, patch_of, with_edits
from frontier.definition.job import JobError, PolitenessOverrides, Profile, Seed
from frontier.definition.profile import load_profile
from frontier.definition.scope import Candidate
from frontier.lease import Lease
from frontier.politeness import VisitOutcome
from frontier.store import ScriptArgument, Store

PLAIN = Profile(scope="any")


def test_an_edit_holds_for_workers_that_know_nothing_of_it(bench: Bench) -> None:
    frontier = bench.frontier("http://a.test/", "http://b.test/", "http://c.test/", profile=PLAIN)
    worker = bench.again(frontier)
    first = worker.claim("w")
    assert isinstance(first, Lease)
    assert worker.politeness_of(first.url).min_delay_ms == 0
    operator = bench.again(frontier)
    values = {"politeness": {"min_delay_seconds": 7}, "robots": "ignore", "sheets": ["a.test max_links=1"]}
    edits = operator.edit(values, by="mia")
    assert [(edit.key, edit.before, edit.by) for edit in edits] == [
        ("politeness.min_delay_seconds", None, "mia"), ("robots", None, "mia"), ("sheets", [], "mia"),
    ]  # fmt: skip
    assert isinstance(worker.claim("v"), Lease)
    assert worker.politeness_of("http://b.test/").min_delay_ms == 7_000
    assert worker.job.profile.robots == "ignore"
    assert worker.max_links("http://a.test/x") == 1
    worker.finish(first, VisitOutcome(200, is_document=True))
    assert bench.host("a.test")["d"] - bench.now() > 5_000


def test_a_process_that_adds_seeds_after_an_edit_of_another_one_obeys_the_edit(bench: Bench) -> None:
    frontier = bench.frontier("http://a.test/", profile=PLAIN)
    command = bench.again(frontier)
    frontier.edit({"sheets": ["b.test max_links=1"], "politeness": {"min_delay_seconds": 7}}, by="mia")
    command.add_seeds([Seed.parse("http://b.test/")])
    assert command.max_links("http://b.test/x") == 1
    assert command.politeness.min_delay_ms == 7_000


def test_threads_that_learn_of_an_edit_together_miss_no_later_change(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier = bench.frontier("http://a.test/", profile=PLAIN)
    worker = bench.again(frontier)
    assert isinstance(worker.claim("w"), Lease)
    frontier.add_reject("/print/")
    both, narrow = Barrier(2), worker._scope.narrow

    def together(patterns: Iterable[str]) -> None:
        with suppress(BrokenBarrierError):
            both.wait(0.5)
        narrow(patterns)

    monkeypatch.setattr(worker._scope, "narrow", together)
    worker._scope_length = 1
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda number: worker.rejecting(f"http://a.test/{number}", 1), range(2)))
    frontier.add_reject("/copy/")
    assert worker.rejecting("http://a.test/copy/1", 2) == "/copy/"


def test_a_lost_answer_to_an_edit_loses_no_word_about_the_edit(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    frontier = bench.frontier("http://a.test/", profile=Profile(scope="any", quotas=("host urls=1",)))
    frontier.add([Candidate("http://a.test/1", "L", depth=1)])
    for _ in range(2):
        if isinstance(claim := frontier.claim("w"), Lease):
            frontier.finish(claim, VisitOutcome(200))
    assert frontier.controls.hosts_aside() == {"a.test": "limit-host-urls"}
    run = Store.run

    def twice(store: Store, name: str, *arguments: ScriptArgument) -> object:
        """The client sends a script again when the connection broke before the answer."""
        if name == "amend":
            run(store, name, *arguments)
        return run(store, name, *arguments)

    monkeypatch.setattr(Store, "run", twice)
    (edit,) = frontier.edit({"quotas": ["host urls=9"]}, by="mia")
    assert (edit.key, edit.by) == ("quotas", "mia")
    assert [each.key for each in frontier.edits()] == ["quotas"]
    assert frontier.controls.hosts_aside() == {}


def test_the_scope_that_a_seeds_redirect_made_stays_after_an_edit(bench: Bench) -> None:
    frontier = bench.frontier("http://a.test/", profile=Profile(scope="host"))
    worker = bench.again(frontier)
    frontier.follow_seed("http://moved.test/")
    frontier.add_reject("/print/")
    frontier.edit({"max_links": 9}, by="mia")
    assert isinstance(worker.claim("w"), Lease)
    decisions = worker.decide([Candidate("http://moved.test/x", "L"), Candidate("http://a.test/print/1", "L")], 9)
    assert [type(decision).__name__ for decision in decisions] == ["Accepted", "Rejected"]


def test_edits_survive_a_restart_unless_the_profile_says_something_else_now(bench: Bench) -> None:
    frontier = bench.frontier(profile=PLAIN)
    frontier.edit({"politeness": {"min_delay_seconds": 7}, "robots": "ignore"}, by="mia")
    frontier.edit({"politeness": {"min_delay_seconds": 9}}, by="ben")
    again = bench.frontier(profile=PLAIN)
    assert again.job.profile.politeness.min_delay_seconds == 9
    assert again.job.profile.robots == "ignore"
    assert [(edit.by, edit.before, edit.after) for edit in again.edits() if edit.key != "robots"] == [
        ("mia", None, 7), ("ben", 7, 9),
    ]  # fmt: skip
    own = Profile(scope="any", robots="ignore", politeness=PolitenessOverrides(min_delay_seconds=2))
    assert bench.frontier(profile=own).job.profile.politeness.min_delay_seconds == 2


def test_limits_and_groups_are_edits_too(bench: Bench) -> None:
    frontier = bench.frontier(profile=PLAIN)
    frontier.set_limits({"urls": 5}, by="mia")
    frontier.set_groups(["shop *.shop.test parallel=2"], by="mia")
    frontier.set_limits({"urls": 5}, by="mia")
    assert [(edit.key, edit.after) for edit in frontier.edits()] == [
        ("limits.urls", 5), ("groups", ["shop *.shop.test parallel=2"]),
    ]  # fmt: skip
    again = bench.frontier(profile=PLAIN)
    assert again.reports.limits() == {"urls": 5}
    assert [group.name for group in again.reports.groups()] == ["shop"]


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"scope": "any"}, "can't be edited while a job runs"),
        ({"robots": "maybe"}, "robots"),
        ({"politeness": {"min_delay_seconds": -1}}, "min_delay_seconds"),
        ({"politeness": {"delay": 1}}, "politeness.delay"),
        ({"politeness": 3}, "politeness"),
        ({"sheets": ["a.test visitor=browser"]}, "stop the job, and start it again"),
        ({"sheets": ["a.test"]}, "is no sheet"),
        ({"groups": ["shop"]}, "is no group"),
    ],
)
def test_an_edit_that_can_not_be_used_changes_nothing(bench: Bench, values: dict[str, object], words: str) -> None:
    frontier = bench.frontier(profile=PLAIN)
    with pytest.raises(JobError, match=words):
        frontier.edit(values, by="mia")
    assert frontier.stored_job().profile == PLAIN
    assert frontier.edits() == []


def test_a_patch_makes_the_edited_profile_of_the_first_one(tmp_path: Path) -> None:
    first = Profile(sheets=("a.test robots=ignore",), politeness=PolitenessOverrides(max_retries=1))
    second = Profile(
        sheets=("a.test robots=ignore", "b.test max_links=5"),
        politeness=PolitenessOverrides(max_retries=None, min_delay_seconds=5),
        robots="ignore",
        quotas=("host urls=5",),
    )
    edits = edits_between(first, second, by="mia", time=1)
    patch = patch_of(edits)
    assert patch.removed == ()
    for name, values in (("base", first.model_dump(mode="json", exclude_defaults=True)), ("patch", patch.values)):
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(values))
    (tmp_path / "both.yaml").write_text("extends: [base.yaml, patch.yaml]\n")
    assert load_profile(tmp_path / "both.yaml") == second
    assert load_profile(tmp_path / "patch.yaml").robots == "ignore"
    assert with_edits(first, edits) == second


def test_a_value_that_came_back_is_no_part_of_the_patch_and_lines_that_went_are_named() -> None:
    one = Profile(sheets=("a.test robots=ignore",))
    two = Profile(robots="ignore")
    edits = [*edits_between(one, two, by="mia", time=1), *edits_between(two, Profile(), by="mia", time=2)]
    patch = patch_of(edits)
    assert patch.values == {}
    assert patch.removed == ("sheets: a.test robots=ignore",)


def test_the_share_of_lower_priorities_is_set_by_the_profile(bench: Bench) -> None:
    seldom = FrontierSettings(min_delay_seconds=0, delay_factor=0, skip_down=1_000)
    frontier = bench.frontier("http://a.test/", settings=seldom, profile=PLAIN)
    urls = [Candidate(f"http://a.test/{number}", "L", priority=1) for number in range(9)]  # type: ignore[arg-type]
    frontier.add([*urls, Candidate("http://a.test/low", "L")])
    frontier.edit({"politeness": {"skip_down": 3}}, by="mia")
    order = []
    for _ in range(5):
        lease = frontier.claim("w")
        assert isinstance(lease, Lease)
        order.append(lease.url)
        frontier.finish(lease, VisitOutcome(200))
    assert order.index("http://a.test/") == 2, "every third claim takes a URL of a lower priority"
