"""A job whose hosts are spread over several slots of Redis."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
from support.stores.real_frontier import PATIENT, Bench
from support.stores.redis_cluster import RedisCluster

from archive.settings import FrontierSettings
from frontier.definition.job import Job, JobError, Profile
from frontier.definition.scope import Accepted, Candidate
from frontier.definition.seeds import SeedFile
from frontier.lease import Claim, JobFinished, JobStopped, Lease, Pause
from frontier.name_lookups import NameLookups, ResolvedHost
from frontier.politeness import LeaseEnding, VisitOutcome
from frontier.queue import Frontier
from frontier.queues.desk import RestoredUrl
from frontier.shards import ShardedFrontier, frontier_for, frontier_of, reports_of, shard_names, shard_of
from frontier.store import FrontierUnavailable

type Make = Callable[..., ShardedFrontier]

OK = VisitOutcome(200, bytes=1, is_document=True)
THREE = PATIENT.model_copy(update={"shards": 3})
HOSTS = tuple(f"site{number}.test" for number in range(12))
ADDRESSES = tuple(f"192.0.2.{number}" for number in range(12))
URLS = tuple(f"http://{host}/" for host in HOSTS)


@pytest.fixture
def make(bench: Bench) -> Make:
    def made(*seeds: str, name: str = "spring", settings: FrontierSettings = THREE, **profile: Any) -> ShardedFrontier:
        job = Job.of(name, "garden", seeds or ["http://site0.test/"], Profile(**{"scope": "any", **profile}))
        frontier = frontier_for(bench.url, job, settings)
        bench.keep(frontier)
        frontier.open_job()
        assert isinstance(frontier, ShardedFrontier)
        return frontier

    return made


def _emptied(frontier: Frontier, *, shares: bool = False) -> tuple[list[str], Claim]:
    """Visit all URLs without links. Return them, and the claim after the last one."""
    visited = []
    for _ in range(1_000):
        if shares:
            assert isinstance(frontier, ShardedFrontier)
            frontier.share_counts()
        claim = frontier.claim("w")
        if isinstance(claim, JobFinished | JobStopped):
            return visited, claim
        if isinstance(claim, Lease):
            visited.append(claim.url)
            assert frontier.finish(claim, OK) is LeaseEnding.DONE
    raise AssertionError("the job does not end")


def _claimed(frontier: Frontier) -> Lease:
    """Return the next lease; the turns of groups are passed on until there is one."""
    for _ in range(100):
        if isinstance(claim := frontier.claim("w"), Lease):
            return claim
        assert isinstance(frontier, ShardedFrontier)
        frontier.share_counts()
    raise AssertionError("no URL is handed out")


def _of_shard(number: int, shards: int = 3) -> str:
    return next(host for host in HOSTS if shard_of(host, shards) == number)


def _links(*hosts: str, path: str = "a") -> list[Candidate]:
    return [Candidate(f"http://{host}/{path}", "L", via="http://seed.test/", depth=1) for host in hosts]


def test_a_domain_lies_in_one_shard_and_the_shards_are_spread_over_the_slots() -> None:
    assert len({shard_of(name, 3) for name in ("a.example.org", "example.org", "www.example.org:8080")}) == 1
    assert {shard_of(host, 3) for host in HOSTS} == {0, 1, 2}
    assert shard_names("main", 1) == ["main"]
    names = shard_names("main", 64)
    assert names[0] == "main"
    assert len(set(names)) == 64
    assert names == shard_names("main", 64)


def test_a_job_visits_each_url_once_and_ends(make: Make) -> None:
    frontier = make(*URLS)
    decisions = frontier.add([*_links(*HOSTS), *_links(*HOSTS)])
    assert [isinstance(decision, Accepted) for decision in decisions] == [True] * 12 + [False] * 12
    progress = frontier.reports.progress()
    assert (progress.queued, progress.hosts) == (24, 12)
    visited, end = _emptied(frontier)
    assert sorted(visited) == sorted([*URLS, *(f"{url}a" for url in URLS)])
    assert end == JobFinished()
    assert frontier.claim("another") == JobFinished()
    progress = frontier.reports.progress()
    assert (progress.done, progress.queued, progress.pages) == (24, 0, 24)
    assert {seed.state for seed in frontier.reports.seeds()} == {"done"}
    assert [facts.url for facts in frontier.reports.facts_of_seeds(URLS)] == list(URLS)
    assert frontier.add_urls(_links(HOSTS[1], path="late")) == []


def test_a_link_into_another_shard_does_not_let_the_job_end_early(make: Make, bench: Bench) -> None:
    """After a shard was sealed, a visit in the next one adds a link to it and ends, so that the next one is empty."""
    frontier, late = make(f"http://{_of_shard(2)}/"), f"http://{_of_shard(1)}/late"
    worker = frontier_of(bench.url, "spring", THREE)
    bench.keep(worker)
    lease = worker.claim("w")
    assert isinstance(lease, Lease)
    assert frontier.end_of_job() is None
    run, steps = frontier.shards[2].store.run, list[str]()

    def run_late(name: str, *arguments: Any) -> Any:
        if not steps:
            steps.append(name)
            assert isinstance(worker.add([lease.candidate(late, "L")], lease)[0], Accepted)
            assert worker.finish(lease, OK) is LeaseEnding.DONE
        return run(name, *arguments)

    frontier.shards[2].store.run = run_late  # type: ignore[method-assign]
    assert frontier.end_of_job() is None  # shards 2 and 0 were empty when they were asked
    assert steps == ["seal"]
    assert _emptied(frontier) == ([late], JobFinished())


def test_an_operators_url_in_a_sealed_shard_breaks_the_attempt_to_end(make: Make) -> None:
    frontier, other = make(f"http://{_of_shard(0)}/"), _of_shard(1)
    _, end = _emptied(frontier)
    assert end == JobFinished()
    frontier = make(f"http://{_of_shard(0)}/")  # resumed
    assert frontier.shards[1].store.run("seal", "seal") == 1
    assert isinstance(frontier.add_urls(_links(other))[0], Accepted)
    assert frontier.end_of_job() is None
    assert frontier.shards[1].store.run("seal", "seal") == 0
    assert _emptied(frontier)[0] == [f"http://{other}/a"]


def test_two_jobs_share_the_pauses_of_a_host_in_its_shard(make: Make) -> None:
    slow = THREE.model_copy(update={"min_delay_seconds": 60.0})
    hosts = ("a.site1.test", "site1.test")
    one = make(*(f"http://{host}/" for host in hosts), settings=slow)
    two = make(*(f"http://{host}/" for host in hosts), name="summer", settings=slow)
    leases = [one.claim("w"), two.claim("v")]
    assert all(isinstance(lease, Lease) for lease in leases)
    assert sorted(lease.host for lease in leases if isinstance(lease, Lease)) == sorted(hosts)
    assert isinstance(one.claim("x"), Pause)
    assert isinstance(two.claim("x"), Pause)
    for frontier, lease in zip((one, two), leases, strict=True):
        assert isinstance(lease, Lease)
        frontier.finish(lease, OK)
    paused = [frontier.claim("w") for frontier in (one, two)]
    assert [claim.why for claim in paused if isinstance(claim, Pause)] == ["politeness"] * 2
    one.controls.block_host("site2.test", 60)
    one.add_urls(_links("site2.test"))
    assert one.reports.host_queue("site2.test").due_seconds > 50
    assert isinstance(one.claim("w"), Pause)


def test_workers_of_a_job_begin_at_different_shards_and_leave_none_alone(make: Make) -> None:
    frontier = make(*URLS)
    for number in range(20):
        frontier.add(_links(*HOSTS, path=str(number)))
    shards = []
    for _ in range(60):  # one worker has work in each shard all the time
        lease = frontier.claim("w")
        assert isinstance(lease, Lease)
        shards.append(shard_of(lease.host, 3))
        frontier.finish(lease, OK)
    assert set(shards) == {0, 1, 2}
    firsts = {shard_of(lease.host, 3) for n in range(9) if isinstance(lease := frontier.claim(f"n{n}"), Lease)}
    assert firsts == {0, 1, 2}


def test_an_exchange_ends_visits_of_all_shards_and_claims_for_all_workers(make: Make) -> None:
    frontier, workers = make(*URLS), [f"w{number}" for number in range(12)]
    leases: list[Lease] = []
    while len(leases) < 12:
        claims = frontier.exchange((), workers[len(leases) :]).claims
        leases += [claim for claim in claims if isinstance(claim, Lease)]
    assert sorted(lease.url for lease in leases) == sorted(URLS)
    assert frontier.renew(leases[0])
    answer = frontier.exchange([(lease, OK) for lease in leases], workers)
    assert set(answer.endings) == {LeaseEnding.DONE}
    assert set(answer.claims) == {JobFinished()}
    assert frontier.exchange([(leases[3], OK)], ()).endings == (LeaseEnding.DONE,)  # the first answer


def test_the_urls_of_a_lost_worker_come_back(make: Make) -> None:
    frontier = make(*URLS)
    held = [lease for number in range(12) if isinstance(lease := frontier.claim(f"gone-{number}"), Lease)]
    assert len(held) == 12
    assert frontier.reports.active_workers() == {"gone"}
    assert frontier.take_back("gone-", counts=True) == 12
    assert not frontier.finish(held[0], OK)
    assert frontier.add([held[0].candidate(f"http://{_of_shard(1)}/x", "L")], held[0]) == []
    visited, end = _emptied(frontier)
    assert (sorted(visited), end) == (sorted(URLS), JobFinished())


def test_a_limit_of_the_job_counts_all_shards(make: Make) -> None:
    frontier = make(*URLS, limits={"urls": 7})
    for number in range(3):
        frontier.add(_links(*HOSTS, path=str(number)))
    visited, end = _emptied(frontier, shares=True)
    assert (len(visited), end) == (7, JobStopped("limit-urls"))
    frontier.set_limits({"urls": None, "pages": 20})
    visited, end = _emptied(frontier, shares=True)
    assert (len(visited), end) == (13, JobStopped("limit-pages"))
    frontier.set_limits({"pages": None})
    assert _emptied(frontier)[1] == JobFinished()
    assert frontier.reports.progress().done == 48


def test_a_quota_of_the_job_counts_all_shards_and_one_of_a_domain_is_exact(make: Make) -> None:
    frontier = make(*URLS, quotas=["job urls=10", "domain urls=2"])
    for number in range(5):
        frontier.add(_links("site1.test", path=str(number)))
    visited, end = _emptied(frontier, shares=True)
    assert (len(visited), end) == (10, JobStopped("limit-job-urls"))
    frontier.edit({"quotas": ("domain urls=2",)})
    visited += _emptied(frontier)[0]
    assert sum("site1.test" in url for url in visited) == 2
    assert frontier.reports.reached_quota("domain", "site1.test") == "quotas: domain urls"


def test_commands_hold_in_all_shards(make: Make, bench: Bench) -> None:
    frontier = make(*URLS)
    worker = frontier_of(bench.url, "spring", THREE)
    bench.keep(worker)
    frontier.controls.pause("lunch")
    assert [claim.why for n in range(6) if isinstance(claim := worker.claim(f"w{n}"), Pause)] == ["paused"] * 6
    assert frontier.controls.go_on()
    frontier.controls.stop("enough")
    assert {worker.claim(f"w{number}") for number in range(6)} == {JobStopped("enough")}
    frontier.controls.resume()
    assert frontier.controls.set_host_aside("site3.test", "too slow")
    frontier.add_reject("site4")
    frontier.edit({"rules+": ["REJECT OnDomains site5.test site6.test"]}, by="mia")
    assert set(frontier.controls.hosts_aside()) == {"site3.test"}
    visited, end = _emptied(worker)
    assert end == JobFinished()
    assert set(URLS) - set(visited) == {f"http://site{number}.test/" for number in (3, 4, 5, 6)}
    progress = worker.reports.progress()
    assert (progress.excluded, progress.codes[-5000]) == (4, 3)


def test_the_desk_sees_and_changes_the_queues_of_all_shards(make: Make) -> None:
    frontier = make(*URLS)
    desk = frontier.desk
    assert sorted(entry.candidate.url for entry in desk.entries(("queued",))) == sorted(URLS)
    assert [entry.candidate.url for entry in desk.waiting("site5.test", 5)] == ["http://site5.test/"]
    assert len(frontier.reports.longest_queues(20)) == 12
    assert desk.delete(URLS[:4]) == 4
    assert desk.restore([RestoredUrl(link) for link in _links(*HOSTS)]) == [True] * 12
    assert desk.forget_seen("again", URLS[:4]) == 4
    assert [isinstance(each, Accepted) for each in frontier.add([Candidate(url) for url in URLS[:5]])] == [True] * 4 + [
        False
    ]
    assert [answer for _, answer in frontier.visit_now([link.url for link in _links(*HOSTS)])] == [2] * 12
    assert desk.add_seen(["1", "2", "3"]) == 3
    assert frontier.outside.all_hosts(0, 5)[1] == 12
    pages = [frontier.outside.all_hosts(start, 5)[0] for start in (0, 5, 10)]
    assert sorted(name for page in pages for name in page) == sorted(HOSTS)
    visited, end = _emptied(frontier)
    assert (len(visited), end) == (24, JobFinished())


def test_a_dropped_job_leaves_no_key(make: Make) -> None:
    frontier = make(*URLS)
    lease = frontier.claim("w")
    assert isinstance(lease, Lease)
    frontier.renders.add(lease, [lease.candidate(f"http://{host}/style.css", "E") for host in HOSTS])
    client: Any = frontier.shards[0].store.client  # of a cluster, that of all servers
    frontier.forget()
    assert not list(client.scan_iter("gf:{*:spring*"))
    assert not client.exists("gf:{main}:=shards")


def test_renders_lie_in_the_shards_of_their_pages(make: Make) -> None:
    frontier = make(*URLS)
    for number in range(12):
        lease = frontier.claim(f"w{number}")
        assert isinstance(lease, Lease)
        foreign = lease.candidate(f"http://cdn-{shard_of(lease.host, 3)}.test/{lease.host}.css", "E")
        assert frontier.renders.add(lease, [lease.candidate(f"{lease.url}own.css", "E"), foreign])
        frontier.finish(lease, OK)
    progress = frontier.reports.progress()
    assert progress.renders.queued == 12
    assert isinstance(frontier.claim("w"), Lease | Pause)
    rendered = 0
    while isinstance(lease := frontier.renders.claim("r"), Lease):
        frontier.renders.finish(lease, OK)
        rendered += 1
    assert rendered == 12
    assert isinstance(lease, Pause)
    frontier.take_back("w", counts=False)
    visited, end = _emptied(frontier)
    assert end == JobFinished()
    assert sum(url.endswith("own.css") for url in visited) == 12  # the renders did not fetch them
    assert frontier.renders.claim("r") == JobFinished()
    assert frontier.reports.progress().renders.p95_seconds is not None


def test_long_queues_of_all_shards_wait_in_files(make: Make, tmp_path: Path) -> None:
    frontier = make(*URLS, settings=THREE.model_copy(update={"queue_memory": 8}))
    frontier.segments.folder = tmp_path / "queue"
    for host in (_of_shard(0), _of_shard(1), _of_shard(2)):
        frontier.add(Candidate(f"http://{host}/{number}", "L", depth=1) for number in range(40))
    spiller = frontier.spiller()
    spiller.look()
    assert frontier.reports.progress().spilled > 60
    assert len(list(frontier.desk.entries(("queued",)))) == 132
    visited = list[str]()
    while not isinstance(claim := frontier.claim("w"), JobFinished):
        if isinstance(claim, Lease):
            visited.append(claim.url)
            frontier.finish(claim, OK)
        else:
            assert isinstance(claim, Pause)
            spiller.look()
    assert len(visited) == len(set(visited)) == 132


def test_leases_are_not_lost_while_one_shard_does_not_answer(make: Make) -> None:
    frontier, workers = make(*URLS), [f"w{number}" for number in range(12)]
    ended = frontier.claim("w0")
    assert isinstance(ended, Lease)

    def refuse(*_: Any, **__: Any) -> Any:
        raise FrontierUnavailable("the server of this shard is down")

    down = frontier.shards[(shard_of(ended.host, 3) + 1) % 3]
    exchange, down.exchange = down.exchange, refuse  # type: ignore[method-assign]
    for _ in range(3):
        with pytest.raises(FrontierUnavailable):
            frontier.exchange([(ended, OK)], workers)
    down.exchange = exchange  # type: ignore[method-assign]
    answer = frontier.exchange([(ended, OK)], workers)
    assert answer.endings == (LeaseEnding.DONE,)
    leases = [lease for claim in answer.claims if isinstance(lease := claim, Lease)]
    while isinstance(lease := frontier.claim(f"x{len(leases)}"), Lease):
        leases.append(lease)
    assert sorted(lease.url for lease in leases) == sorted({*URLS} - {ended.url})
    assert all(frontier.finish(lease, OK) is LeaseEnding.DONE for lease in leases)


@pytest.mark.parametrize("lost", [0, 1])
def test_a_job_of_which_redis_has_lost_a_shard_begins_anew(make: Make, lost: int) -> None:
    frontier = make(*URLS)
    frontier.add(_links(*HOSTS))
    _emptied(frontier)
    frontier.shards[lost].store.drop()
    again = make(*URLS)
    assert sorted(_emptied(again)[0]) == sorted(URLS)
    assert again.reports.progress().done == 12


def test_a_url_that_comes_into_a_shard_while_it_is_sealed_again_is_visited(make: Make) -> None:
    frontier, other = make(f"http://{_of_shard(0)}/"), _of_shard(1)
    lease = frontier.claim("w")
    assert isinstance(lease, Lease)
    frontier.finish(lease, OK)
    assert frontier.shards[1].store.run("seal", "seal") == 1
    client, ends = frontier.shards[1].store.client, list[int]()
    open_shard = frontier._open_shard

    def opened_late(shard: int) -> bool:
        """Open the shard after another worker has begun a further attempt to end the job, which ends it later."""
        if ends:
            return open_shard(shard)
        frontier.shards[0].store.run("seal", "break")
        ends.append(int(frontier.shards[0].store.run("seal", "look")))
        assert [frontier.shards[number].store.run("seal", "seal") for number in (1, 2)] == [1, 1]
        client.hdel(frontier.shards[1].store.key("state"), "finished")
        return True

    frontier._open_shard = opened_late  # type: ignore[method-assign]
    assert isinstance(frontier.add_urls(_links(other))[0], Accepted)
    assert frontier.shards[0].store.run("seal", "end", ends[0], 0) == 0, "the attempt is broken"
    assert _emptied(frontier) == ([f"http://{other}/a"], JobFinished())


def test_another_number_of_shards_is_refused(make: Make, bench: Bench) -> None:
    make(*URLS)
    with pytest.raises(FrontierUnavailable, match=r"set frontier\.shards to 3"):
        Frontier.of(bench.url, "spring", PATIENT)
    with pytest.raises(FrontierUnavailable, match=r"set frontier\.shards to 3"):
        frontier_of(bench.url, "spring", PATIENT.model_copy(update={"shards": 2}))
    with pytest.raises(JobError, match="the unfinished job spring has 3"):
        bench.frontier(name="summer")
    with reports_of(bench.url, "spring", PATIENT, timeout_seconds=5) as reports:
        assert reports.progress().queued == 12


def test_a_job_that_is_refused_leaves_no_keys_in_any_shard(make: Make, bench: Bench) -> None:
    before = bench.frontier(*URLS)
    with pytest.raises(JobError, match="the unfinished job spring has 1"):
        make(*URLS, name="summer")
    assert not list(bench.client.scan_iter("gf:{*:summer*"))
    before.forget()
    assert len(_emptied(make(*URLS, name="summer"))[0]) == 12


@pytest.mark.parametrize("between", [1, 5])
def test_a_quota_of_a_seed_is_passed_by_what_ends_between_two_counts(make: Make, between: int) -> None:
    frontier = make(URLS[0], URLS[1], quotas=["seed urls=8"])
    links = [Candidate(f"{url}{page}", "L", source=URLS[0]) for url in URLS for page in range(9)]
    frontier.add(links)
    visited = Counter[str | None]()
    for number in range(300):
        if number % between == 0:
            frontier.share_counts()
        if isinstance(claim := frontier.claim(f"w{number % 3}"), Lease):
            visited[claim.source] += 1
            assert frontier.finish(claim, OK) is LeaseEnding.DONE
    assert 8 <= visited[URLS[0]] <= 8 + between - 1
    assert visited[URLS[1]] == 1
    assert frontier.reports.reached_quota("seed", URLS[0]) == "quotas: seed urls"
    frontier.edit({"quotas": ["seed urls=20"]})
    visited += Counter(url and URLS[0] for url in _emptied(frontier, shares=True)[0])
    assert visited[URLS[0]] == 20, "what was used before counts"
    frontier.edit({"quotas": []})
    _emptied(frontier)
    assert frontier.reports.progress().done == len(links) + 2


def test_a_job_does_not_end_while_hosts_are_taken_back(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    frontier = make(*URLS, limits={"host_pages": 1})
    frontier.add([Candidate(f"{url}more", "L") for url in URLS])
    for _ in URLS:
        lease = frontier.claim("w")
        assert isinstance(lease, Lease)
        frontier.finish(lease, OK)
    for shard in frontier.shards:
        assert isinstance(shard.claim("w"), Pause), "the hosts are set aside"
    with monkeypatch.context() as killed:
        killed.setattr(frontier, "wake_within_limits", lambda: None)
        frontier.edit({"limits": {"host_pages": 2}})
    assert frontier.end_of_job() is None
    assert len(_emptied(frontier)[0]) == len(URLS)


def test_new_bytes_of_a_seed_are_not_counted_once_for_each_shard(make: Make) -> None:
    frontier = make(*URLS, quotas=["seed new_bytes=900 urls=50"])
    frontier.note_new_bytes({("seed", URLS[0]): 899})
    frontier.share_counts()
    assert frontier.reports.reached_quota("seed", URLS[0]) == ""
    frontier.note_new_bytes({("seed", URLS[0]): 900})
    frontier.share_counts()
    assert frontier.reports.reached_quota("seed", URLS[0]) == "quotas: seed new_bytes"


def test_a_group_of_one_domain_holds(make: Make) -> None:
    hosts = [f"{letter}.example.org" for letter in "abcdef"]
    frontier = make(*(f"http://{host}/" for host in hosts), groups=["farm *.example.org parallel=1"])
    frontier._share_at = math.inf  # the step of each second does not come
    assert isinstance(frontier.claim("u"), Pause)
    frontier.share_counts()
    lease = frontier.claim("w")
    assert isinstance(lease, Lease)
    assert isinstance(frontier.claim("v"), Pause)
    assert [(each.name, each.visits, each.waiting) for each in frontier.reports.groups()] == [("farm", 1, 5)]
    assert frontier.reports.group_of(lease.host) == "farm"
    frontier.finish(lease, OK)
    visited, end = _emptied(frontier, shares=True)
    assert (len(visited), end) == (5, JobFinished())


@pytest.mark.parametrize(
    ("members", "hosts", "parallel"),
    [
        (",".join(HOSTS), HOSTS, 1),
        ("site*.test", HOSTS, 2),
        ("192.0.2.0/24", ADDRESSES, 4),
        ("cname:*.cdn.test", HOSTS, 3),
    ],
)
def test_a_group_whose_hosts_lie_in_all_shards_never_has_more_visits_than_it_may(
    make: Make, monkeypatch: pytest.MonkeyPatch, members: str, hosts: Sequence[str], parallel: int
) -> None:
    aliases = dict.fromkeys(HOSTS, ResolvedHost(alias_of="edge.cdn.test"))
    lookups = NameLookups(lambda name: aliases.get(name, ResolvedHost()))
    monkeypatch.setattr("frontier.queue.NameLookups", lambda: lookups)
    frontier = make("http://free.test/", groups=[f"farm {members} parallel={parallel}"])
    frontier.add([link for page in "abc" for link in _links(*hosts, path=page)])
    draw, held, visited, most = random.Random(7), list[Lease](), Counter[str](), 0
    for number in range(2_000):
        if draw.random() < 0.3:
            frontier.share_counts()
        if held and draw.random() < 0.5:
            frontier.finish(held.pop(draw.randrange(len(held))), OK)
        elif isinstance(claim := frontier.claim(f"w{number % 7}"), JobFinished):
            break
        elif isinstance(claim, Lease):
            held.append(claim)
            visited[claim.host] += 1
        most = max(most, sum(lease.host != "free.test" for lease in held))
    assert most == parallel
    assert visited == {**dict.fromkeys(hosts, 3), "free.test": 1}
    assert {shard_of(host, 3) for host in hosts} == {0, 1, 2}
    report = frontier.reports.groups()[0]
    assert (report.name, report.parallel, report.visits, report.visited) == ("farm", parallel, 0, 36)


def test_an_idle_worker_passes_the_turn_of_a_group_on(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("frontier.shards._IDLE_SECONDS", 0.01)
    frontier = make("http://free.test/", groups=["farm site*.test parallel=1 delay=0.01"])
    frontier.add(_links(*HOSTS))
    frontier.share_counts()
    frontier._share_at = math.inf  # the step of each second does not come
    visited = set[str]()
    while not isinstance(claim := frontier.claim("w"), JobFinished):
        if isinstance(claim, Lease):
            visited.add(claim.host)
            frontier.finish(claim, OK)
        else:
            assert isinstance(claim, Pause)
            assert claim.seconds <= 0.01
    assert visited == {*HOSTS, "free.test"}


def test_no_shard_waits_long_for_its_turn_of_a_group(make: Make) -> None:
    frontier = make("http://free.test/", groups=["farm site*.test parallel=1"])
    frontier.add([link for page in "abcdefghijkl" for link in _links(*HOSTS, path=page)])
    order = list[int]()
    for number in range(400):
        frontier.share_counts()
        if isinstance(claim := frontier.claim(f"w{number}"), Lease):
            frontier.finish(claim, OK)
            if claim.host != "free.test":
                order.append(shard_of(claim.host, 3))
    assert len(order) == 144
    turns = [(shard, len(list(visits))) for shard, visits in groupby(order)]
    assert {shard for shard, _ in turns[:4]} == {0, 1, 2}, turns
    # At last, some shards have no URL left.
    assert max(visits for _, visits in turns[:6]) <= 6, turns


def test_the_delay_of_a_group_holds_between_shards(make: Make) -> None:
    frontier = make("http://free.test/", groups=["farm site*.test parallel=2 delay=0.1"])
    frontier.add(_links(*HOSTS))
    times = list[tuple[int, int, str]]()
    while not isinstance(claim := frontier.claim("w"), JobFinished):
        frontier.share_counts()
        if isinstance(claim, Lease):
            begun, ended = frontier.shards[0].store.now_ms(), frontier.finish(claim, OK)
            assert ended is LeaseEnding.DONE
            if claim.host != "free.test":
                times.append((begun, frontier.shards[0].store.now_ms(), claim.host))
    assert len(times) == 12
    assert len({shard_of(host, 3) for *_, host in times[:6]}) > 1, "the shards take turns"
    # A visit ends after the first of its times, and the next one begins before the last of its own.
    assert all(later[1] - earlier[0] >= 100 for earlier, later in pairwise(times)), times


def test_a_shard_whose_hosts_are_not_visited_gives_its_turn_away(make: Make) -> None:
    """Only renders of the shard wait for the group, and no ghost claims them."""
    frontier = make("http://free.test/", groups=["farm site*.test parallel=1"])
    frontier.add([link for page in "ab" for link in _links(*HOSTS, path=page)])
    page = _claimed(frontier)
    while page.host == "free.test":
        frontier.finish(page, OK)
        page = _claimed(frontier)
    assert frontier.renders.add(page, [])
    frontier.finish(page, OK)
    visited = 0
    for _ in range(500):
        frontier.share_counts()
        frontier.renders.claim("r")
        own = frontier.shards[shard_of(page.host, 3)].renders
        own.take_back("r", counts=False)
        if isinstance(claim := frontier.claim("w"), Lease):
            visited += 1
            frontier.finish(claim, OK)
    assert visited == 23


def test_a_lower_limit_of_a_group_holds_from_the_next_visit_on(make: Make) -> None:
    frontier = make("http://free.test/", groups=["farm site*.test parallel=6"])
    frontier.add([link for page in "abc" for link in _links(*HOSTS, path=page)])
    held = list[Lease]()
    for number in range(60):
        frontier.share_counts()
        if isinstance(claim := frontier.claim(f"w{number}"), Lease):
            held.append(claim)
    assert len(held) == 7
    frontier.set_groups(["farm site*.test parallel=2"])
    visits = sum(lease.host != "free.test" for lease in held)
    for number in range(600):
        frontier.share_counts()
        if held and number % 3 == 0:
            frontier.finish(held.pop(0), OK)
        if isinstance(claim := frontier.claim(f"w{number}"), Lease):
            held.append(claim)
            assert sum(lease.host != "free.test" for lease in held) <= 2
    assert visits == 6
    assert frontier.claim("w") == JobFinished()


def test_two_processes_that_share_groups_out_at_the_same_time_give_no_visit_twice(make: Make, bench: Bench) -> None:
    frontier = make("http://free.test/", groups=["farm site*.test parallel=1"])
    frontier.add(_links(*HOSTS))
    for number in range(9):
        frontier.claim(f"w{number}")
    late = frontier_of(bench.url, "spring", THREE)
    bench.keep(late)
    assert isinstance(late, ShardedFrontier)
    run, steps = late.shards[2].store.run, list[str]()

    def run_late(name: str, *arguments: Any) -> Any:
        if name == "turns" and not steps:
            steps.append(name)
            frontier.share_counts()
        return run(name, *arguments)

    late.shards[2].store.run = run_late  # type: ignore[method-assign]
    late.share_counts()
    assert steps
    shares = [shard.store.client.hget(shard.store.key("groups"), "p:farm") for shard in frontier.shards]
    assert sorted(map(int, filter(None, shares))) == [0, 0, 1]


def test_a_continuous_crawl_does_not_end(make: Make) -> None:
    frontier = make(*URLS, revisit={"mode": "fixed", "interval_seconds": 3600})
    for _ in range(40):
        if isinstance(claim := frontier.claim("w"), Lease):
            frontier.finish(claim, OK)
    assert isinstance(claim, Pause)
    assert claim.why == "due"
    assert frontier.reports.progress().revisits == 12
    assert frontier.reports.revisit(URLS[7]) is not None


@pytest.mark.parametrize("hosts", [HOSTS, [_of_shard(0)], [_of_shard(1)]])
def test_the_limit_of_pages_ends_a_continuous_crawl(make: Make, hosts: Sequence[str]) -> None:
    seeds = [f"http://{host}/" for host in hosts]
    frontier = make(*seeds, revisit={"mode": "fixed", "interval_seconds": 3600}, limits={"pages": len(seeds)})
    visited, end = _emptied(frontier, shares=True)
    assert (len(visited), end) == (len(seeds), JobStopped("limit-pages"))
    frontier.set_limits({"pages": None})
    claims = [frontier.claim("w") for _ in range(10)]
    assert {claim.why for claim in claims if isinstance(claim, Pause)} >= {"due"}
    assert not any(isinstance(claim, JobStopped | JobFinished) for claim in claims)


def test_a_job_lives_in_one_slot_of_a_cluster_and_its_shards_lie_on_all_servers(tmp_path: Path) -> None:
    """The last job has scripts that its server does not know, while another server is down."""
    with RedisCluster(tmp_path) as cluster:
        job = Job.of("spring", "garden", URLS, Profile(scope="any"))
        frontier = frontier_for(cluster.url, job, THREE)
        frontier.open_job()
        assert isinstance(frontier, ShardedFrontier)
        client: Any = frontier.shards[0].store.client
        nodes = {client.get_node_from_key(shard.store.root).port for shard in frontier.shards}
        assert len(nodes) == 3
        frontier.mark_seen([f"http://{host}/style.css" for host in HOSTS])
        frontier.set_robots(URLS[0], 404)
        assert frontier.robots(URLS[0]) is not None
        visited, end = _emptied(frontier)
        assert (sorted(visited), end) == (sorted(URLS), JobFinished())
        assert len(list(frontier.reports.hosts())) == 12
        frontier.close()

        for shard in ("0", "1", "2", "3"):
            _a_whole_job(cluster.url, PATIENT.model_copy(update={"shard": shard}))
        owner = cluster.owner("gf:{main}:")
        cluster.servers[owner].client.script_flush()
        cluster.servers[owner - 1].kill()
        _a_whole_job(f"cluster://127.0.0.1:1,127.0.0.1:{cluster.servers[owner].port}", PATIENT)


def _a_whole_job(redis_url: str, settings: FrontierSettings) -> None:
    job = Job.of("j", "c", ["http://example.org/"], Profile(scope="any"))
    frontier = Frontier(redis_url, job, settings)
    frontier.open_job()
    lease = frontier.claim("w")
    assert isinstance(lease, Lease)
    links = [lease.candidate(f"http://host{number}.example/", "L") for number in range(5)]
    assert all(isinstance(decision, Accepted) for decision in frontier.add([*links], lease))
    frontier.mark_seen(["http://example.org/style.css"])
    frontier.set_robots(lease.url, 404)
    assert frontier.finish(lease, OK) is LeaseEnding.DONE
    assert frontier.reports.progress().queued == 5
    assert len(list(frontier.reports.urls("queued"))) == 5
    assert [seed.state for seed in frontier.reports.seeds()] == ["done"]
    frontier.forget()
    frontier.close()


def test_the_seeds_of_a_long_file_are_queued_in_all_shards(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("frontier.queue._CHUNK", 5)
    path, urls = tmp_path / "seeds.txt", [f"http://site{number}.test/" for number in range(40)]
    path.write_text("".join(f"{url}\n" for url in urls), "utf-8")
    job = Job(name="spring", collection="garden", seeds=SeedFile(path), profile=Profile(scope="any"))
    frontier = frontier_for(bench.url, job, THREE)
    bench.keep(frontier)
    frontier.open_job()
    assert frontier.unvisited_seed_hosts() == 40
    visited, end = _emptied(frontier)
    assert (sorted(visited), end) == (sorted(urls), JobFinished())


def test_the_bloom_filters_of_all_shards_are_moved(make: Make) -> None:
    seen = {"method": "bloom", "expected_urls": 1_000}
    frontier, other = make(*URLS, seen=seen), make(name="summer", seen=seen)
    for block in frontier.desk.seen_blocks():
        other.desk.add_seen_block(block)
    assert not any(isinstance(each, Accepted) for each in other.add([Candidate(url, "L", depth=1) for url in URLS]))


def test_the_bloom_filters_of_all_shards_are_in_the_progress(make: Make) -> None:
    bloom = make(*URLS, seen={"method": "bloom", "expected_urls": 1_000}).reports.progress().bloom
    assert bloom is not None
    assert (bloom.urls, bloom.expected_urls) == (12, 1_000)


def test_a_job_that_starts_over_with_other_rules_keeps_no_bloom_filter(make: Make) -> None:
    first = make(*URLS, seen={"method": "bloom", "expected_urls": 100_000})
    client: Any = first.shards[0].store.client  # of a cluster, that of all servers
    _emptied(first)
    assert len(list(client.scan_iter("gf:{*:spring:bloom:*"))) > 3
    again = make(*URLS, seen={"method": "exact"})
    assert not list(client.scan_iter("gf:{*:spring:bloom:*"))
    assert sorted(_emptied(again)[0]) == sorted(URLS)
