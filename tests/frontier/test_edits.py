"""A running job's profile is edited: by whom, from what to what, for all workers, after a restart, and as a patch."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from threading import Barrier, BrokenBarrierError

import pytest
import yaml
from support.stores.real_frontier import Bench

from archive.settings import FrontierSettings
from frontier.definition.edits import ProfileEdit, ProfileEditRefused, edits_between, patch_of, with_edits
from frontier.definition.job import Job, JobError, PolitenessOverrides, Profile, Seed
from frontier.definition.profile import load_profile
from frontier.definition.scope import Accepted, Candidate, Rejected
from frontier.lease import JobFinished, Lease
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier
from frontier.store import ScriptArgument, Store

PLAIN = Profile(scope="any")


def _crawled(worker: Frontier) -> tuple[list[str], list[tuple[Lease, Rejected]]]:
    """The URLs that a worker visits until the job ends, and those that it gets no more."""
    visited, out, held = list[str](), list[tuple[Lease, Rejected]](), list[Lease]()
    while True:
        answer = worker.exchange([(lease, VisitOutcome(200)) for lease in held], ["w"])
        out += answer.rejected
        held = [claim for claim in answer.claims if isinstance(claim, Lease)]
        visited += [lease.url for lease in held]
        if isinstance(answer.claims[0], JobFinished):
            return visited, out


def test_an_edit_holds_for_workers_that_know_nothing_of_it(bench: Bench) -> None:
    frontier = bench.frontier("http://a.test/", "http://b.test/", "http://c.test/", profile=PLAIN)
    worker = bench.again(frontier)
    first = worker.claim("w")
    assert isinstance(first, Lease)
    assert worker.politeness_of(first.url).min_delay_ms == 0
    operator = bench.again(frontier)
    values = {"politeness": {"min_delay_seconds": 30}, "robots": "ignore", "sheets": ["a.test max_links=1"]}
    edits = operator.edit(values, by="mia")
    assert [(edit.key, edit.before, edit.by) for edit in edits] == [
        ("politeness.min_delay_seconds", None, "mia"), ("robots", None, "mia"), ("sheets", [], "mia"),
    ]  # fmt: skip
    assert isinstance(worker.claim("v"), Lease)
    assert worker.politeness_of("http://b.test/").min_delay_ms == 30_000
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


def test_a_process_that_claims_nothing_decides_and_queues_seeds_by_the_edited_scope(bench: Bench) -> None:
    profile = Profile(scope="any", exclude=("/x/",))
    frontier = bench.frontier("http://a.test/x/", "http://b.test/", profile=profile, opened=False)
    frontier.begin_job()
    link = Candidate("http://b.test/x/1", "L", depth=1)
    assert isinstance(frontier.decide([link], 1)[0], Rejected)
    bench.again(frontier).edit({"exclude": ()})
    assert isinstance(frontier.decide([link], 1)[0], Accepted)
    bench.again(frontier).edit({"exclude": ("b.test",)})
    frontier.queue_seeds()
    assert [seed.url for seed in frontier.reports.seeds()] == ["http://a.test/x/"]


def test_threads_that_learn_of_an_edit_together_miss_no_later_change(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier = bench.frontier("http://a.test/", profile=PLAIN)
    worker = bench.again(frontier)
    lease = worker.claim("w")
    assert isinstance(lease, Lease)
    frontier.add_reject("/print/")
    both, narrow = Barrier(2), worker._scope.narrow

    def together(patterns: Iterable[str]) -> None:
        with suppress(BrokenBarrierError):
            both.wait(0.5)
        narrow(patterns)

    monkeypatch.setattr(worker._scope, "narrow", together)
    worker._scope_length = 1
    with ThreadPoolExecutor(2) as threads:
        list(threads.map(lambda _: worker.rejecting_queued([lease], 1), range(2)))
    frontier.add_reject("/copy/")
    (out,) = worker.rejecting_queued([replace(lease, url="http://a.test/copy/1")], 2)
    assert out is not None
    assert out.rule == "reject /copy/"


def test_an_edit_while_a_worker_learns_of_another_edit_is_not_missed(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier = bench.frontier("http://a.test/", "http://b.test/", profile=PLAIN)
    worker = bench.again(frontier)
    frontier.edit({"max_links": 5})
    read = worker.stored_job

    def edited_meanwhile() -> Job:
        job = read()
        frontier.edit({"max_links": 7})
        return job

    with monkeypatch.context() as slow:
        slow.setattr(worker, "stored_job", edited_meanwhile)
        worker.claim("w")
    worker.claim("v")
    assert worker.job.profile.max_links == 7


def test_a_queued_url_that_edited_rules_reject_ends_and_is_counted_with_its_rule(bench: Bench) -> None:
    frontier = bench.frontier("http://a.test/", profile=PLAIN)
    worker = bench.again(frontier)
    page = [Candidate(f"http://{host}.test/{number}", "L", depth=1) for host in "ab" for number in range(3)]
    page.append(Candidate("http://c.test/far", "L", depth=1))
    worker.add(page)
    assert [each.reason for each in worker.add(page) if isinstance(each, Rejected)] == ["seen"] * 7
    rule = "REJECT SurtPrefixed http://(test,b,"
    frontier.edit({"rules+": [rule], "sheets+": ["c.test hops=0"]}, by="mia")
    (link,) = worker.add([Candidate("http://b.test/new", "L", depth=1)])
    assert isinstance(link, Rejected), "the answer to the links tells of the edit, before any claim"
    visited, out = _crawled(worker)
    assert sorted(visited) == ["http://a.test/", *(f"http://a.test/{number}" for number in range(3))]
    assert sorted(lease.url for lease, _ in out) == [*(f"http://b.test/{n}" for n in range(3)), "http://c.test/far"]
    assert {each.rule for _, each in out} == {f"rule 1: {rule}", "hops 0"}
    progress = frontier.reports.progress()
    assert (progress.done, progress.excluded, progress.queued, progress.codes[-5000]) == (4, 4, 0, 4)
    kept = [each for each in frontier.reports.rejected() if each.rule == f"rule 1: {rule}"]
    assert len(kept) == 4


def test_queued_urls_that_an_edit_rejects_use_up_no_quota(bench: Bench) -> None:
    frontier = bench.frontier(profile=Profile(scope="any", quotas=("host urls=2",)))
    urls = ["http://a.test/x/1", "http://a.test/x/2", "http://a.test/3", "http://a.test/4"]
    frontier.add([Candidate(url, "L", depth=1) for url in urls])
    frontier.edit({"exclude": ["/x/"]})
    visited, out = _crawled(frontier)
    assert sorted(visited) == ["http://a.test/3", "http://a.test/4", "http://example.org/"]
    assert len(out) == 2


def test_a_wider_scope_takes_later_links_and_holds_after_a_restart(bench: Bench) -> None:
    first = Profile(scope="host", hops=1)
    frontier = bench.frontier("http://a.test/", profile=first)
    worker = bench.again(frontier)
    far, other = Candidate("http://a.test/far", "LL", depth=2), Candidate("http://b.test/", "L", depth=1)
    assert [type(each) for each in worker.add([far, other])] == [Rejected, Rejected]
    frontier.edit({"hops": 2, "rules+": ["ACCEPT SurtPrefixed http://(test,b,"]}, by="mia")
    assert [type(each) for each in worker.add([far, other])] == [Accepted, Accepted]
    again = bench.frontier("http://a.test/", profile=first)
    assert (again.job.profile.hops, len(again.job.profile.rules)) == (2, 1)
    assert sorted(_crawled(bench.again(frontier))[0]) == ["http://a.test/", "http://a.test/far", "http://b.test/"]


def test_rules_of_two_people_are_both_taken_and_lines_are_removed(bench: Bench) -> None:
    frontier = bench.frontier(profile=PLAIN)
    rules = [f"REJECT MatchesRegex .*/{number}" for number in range(3)]
    bench.again(frontier).edit({"rules+": rules[:2]}, by="mia")
    frontier.edit({"rules+": rules[2]}, by="ben")
    frontier.edit({"rules-": [rules[0]], "exclude": ["/x"]}, by="ben")
    profile = bench.again(frontier).job.profile
    assert (profile.rules, profile.exclude) == (tuple(rules[1:]), ("/x",))


def test_all_problems_of_an_edit_are_named_with_their_places(bench: Bench, tmp_path: Path) -> None:
    frontier = bench.frontier(profile=Profile(scope="any", rules=("ACCEPT All",)))
    values = {
        "scope": "any", "hops": -1, "rules+": ["REJECT All", "REJECT Nothing"], "rules-": ["REJECT gone"],
        "limits": {"urs": 1}, "exclude": "/x/", "hops+": ["1"],
    }  # fmt: skip
    with pytest.raises(ProfileEditRefused) as caught:
        frontier.edit(values, by="mia")
    assert {each.key for each in caught.value.problems} == {
        "scope", "hops", "rules+.1", "rules-", "limits.urs", "exclude", "hops+",
    }  # fmt: skip
    for line in (f"REJECT SurtPrefixedListFile {tmp_path}/none.txt", f"REJECT MatchesListRegex {tmp_path}/none.txt"):
        with pytest.raises(JobError):
            frontier.edit({"rules+": [line]}, by="mia")
    assert frontier.edits() == []


def test_an_edit_of_a_long_list_has_the_changed_lines_and_is_taken_over_and_exported() -> None:
    lines = [f"REJECT MatchesRegex .*/{number}/.*" for number in range(2_000)]
    first = Profile(rules=tuple(lines))
    second = Profile(rules=(*lines[:700], "ACCEPT MatchesRegex .*/in/.*", *lines[702:]))
    third = Profile(rules=(*second.rules[:9], *second.rules[10:], "REJECT MatchesRegex .*/last/.*"))
    edits = [*edits_between(first, second, by="mia", time=1), *edits_between(second, third, by="mia", time=2)]
    assert [(each.line, each.before, each.after) for each in edits] == [
        (700, lines[699:703], [lines[699], "ACCEPT MatchesRegex .*/in/.*", lines[702]]),
        (9, lines[8:11], [lines[8], lines[10]]),
        (1_998, lines[1_999:], [lines[1_999], "REJECT MatchesRegex .*/last/.*"]),
    ]  # fmt: skip
    stored = [ProfileEdit.unpacked(each.packed()) for each in edits]
    assert with_edits(first, stored) == third
    longer = Profile(rules=(*lines, "REJECT MatchesRegex .*/last/.*"))
    assert with_edits(longer, edits_between(first, longer, by="mia", time=1)) == longer
    assert with_edits(Profile(rules=("ACCEPT All",)), stored) == Profile(rules=("ACCEPT All",))
    patch = patch_of(stored)
    assert patch.values == {"rules": ["ACCEPT MatchesRegex .*/in/.*", "REJECT MatchesRegex .*/last/.*"]}
    assert sorted(patch.removed) == sorted(f"rules: {lines[number]}" for number in (9, 700, 701))
    assert patch.misplaced == ("ACCEPT MatchesRegex .*/in/.*",)
    moved = edits_between(Profile(rules=tuple(lines[:2])), Profile(rules=(lines[1], lines[0])), by="mia", time=1)
    assert patch_of(moved).misplaced


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
        ({"politeness": {1: 2}}, "politeness.1"),
        ({"rules-": [["REJECT All"]]}, "rules has no line"),
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
