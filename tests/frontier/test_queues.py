"""The queues of a job as operators see and change them, on a real Redis."""

from __future__ import annotations

import gc
import io
import json
import random
import threading
from collections.abc import Callable
from typing import Final

import pytest
from support.processes.memory import resident_bytes
from support.stores.real_frontier import Bench

from archive import crawl_log
from archive.settings import FrontierSettings
from frontier.definition.job import JobError
from frontier.definition.scope import Accepted, Candidate, Priority, Rejected
from frontier.lease import JobFinished, Lease, Pause
from frontier.politeness import VisitOutcome
from frontier.queue import Frontier
from frontier.queues.desk import RestoredUrl
from frontier.queues.entry import QueueEntry
from frontier.queues.lines import QueueHead, SeenMarks, numbered_lines, read_line, seen_line, url_line
from frontier.queues.url_search import UrlSearch

RESTING: Final = FrontierSettings(min_delay_seconds=0, delay_factor=0, retry_seconds=90, max_retry_seconds=90)
"""A URL rests after a failure."""

MANY_URLS: Final = """
for number = tonumber(ARGV[1]), tonumber(ARGV[1]) + 9999 do
  local record = '["http://many.example/a/rather/long/path/' .. number .. '",2,1,"L","http://many.example/"]'
  local score = string.format('%.0f', 600 * 2 ^ 40 + number)
  redis.call('HSET', KEYS[1], number, 'many.example\\n' .. score .. '\\n' .. record)
end
"""

type Claim = Callable[..., Lease]
type Links = Callable[..., list[Candidate]]


def _urls(frontier: Frontier, *states: str) -> set[str]:
    return {entry.url for entry in frontier.desk.entries(states)}  # type: ignore[arg-type]


def test_each_url_is_seen_with_its_state(bench: Bench, leased: Claim, links: Links) -> None:
    frontier = bench.frontier(settings=RESTING)
    seed = leased(frontier)
    frontier.finish(seed, VisitOutcome(200))
    frontier.add(links("http://example.org/a"))
    rests = leased(frontier)
    frontier.give_back(rests, "a test")
    frontier.add(links("http://example.org/b", "http://two.example/"))
    frontier.controls.set_host_aside("two.example", "a test")
    held = leased(frontier, "worker-1")
    found = {entry.url: entry for entry in frontier.desk.entries()}
    assert found[held.url].state == "leased"
    assert found[held.url].worker == "worker-1"
    assert found[held.url].lease_seconds > 0
    assert (found[rests.url].tries, found[rests.url].rest_seconds > 0) == (1, True)
    assert frontier.desk.resting_of(rests.host, 5)[0].url == rests.url
    assert found["http://two.example/"].state == "excluded"
    assert frontier.desk.leased_of(held.host, 5)[0].url == held.url
    assert frontier.desk.resting() == 1
    assert seed.url not in found, "Redis does not keep URLs that are done"


def test_a_host_shows_its_urls_in_the_order_of_their_visits(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    leased(frontier)
    frontier.add(
        [
            Candidate("http://example.org/deep", "LL", depth=2),
            Candidate("http://example.org/page", "L", via="http://example.org/", depth=1),
            Candidate("http://example.org/late", "L", depth=1),
            Candidate("http://example.org/first", "L", depth=1, priority=Priority.HIGH),
        ]
    )
    shown = frontier.desk.waiting("example.org", 3)
    assert [entry.url.rpartition("/")[2] for entry in shown] == ["first", "page", "late"]
    assert shown[1].as_json() == {
        "url": "http://example.org/page", "state": "queued", "priority": "standard", "depth": 1, "hop_path": "L",
        "via": "http://example.org/", "order": shown[1].order,
    }  # fmt: skip
    queue = frontier.reports.host_queue("example.org")
    assert (queue.queued, queue.visits, queue.aside) == (4, 1, "")
    assert frontier.reports.host_queue("nowhere.example").queued == 0


def test_deleted_urls_count_as_excluded_and_are_not_visited(bench: Bench, leased: Claim, links: Links) -> None:
    frontier = bench.frontier()
    seed = leased(frontier)
    frontier.add(links("http://example.org/a", "http://example.org/b", "http://example.org/calendar"))
    frontier.add(links("http://aside.example/calendar"))
    frontier.controls.set_host_aside("aside.example", "a test")
    gone = ["http://example.org/a", "http://example.org/calendar", "http://aside.example/calendar"]
    assert frontier.desk.delete([*gone, seed.url, "http://example.org/unknown"]) == 3
    assert frontier.desk.delete(gone) == 0, "a second call changes nothing"
    progress = frontier.reports.progress()
    assert (progress.queued, progress.excluded, progress.leased) == (1, 3, 1)
    assert progress.codes == {crawl_log.DELETED: 3}
    assert _urls(frontier, "excluded") == set(gone)
    frontier.finish(seed, VisitOutcome(200))
    assert leased(frontier).url == "http://example.org/b"
    assert [each.reason for each in frontier.add(links(*gone[:2])) if isinstance(each, Rejected)] == ["seen", "seen"]


def test_the_job_is_finished_when_its_last_url_was_deleted(bench: Bench) -> None:
    frontier = bench.frontier("http://example.org/")
    assert frontier.desk.delete(["http://example.org/"]) == 1
    assert [seed.state for seed in frontier.reports.seeds()] == ["excluded"]
    assert isinstance(frontier.claim("w"), JobFinished)


def test_a_resting_url_is_deleted(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier(settings=RESTING)
    lease = leased(frontier)
    frontier.give_back(lease, "a test")
    assert frontier.desk.delete([lease.url]) == 1
    assert frontier.reports.progress().queued == 0
    assert isinstance(frontier.claim("w"), JobFinished)


def test_each_url_is_either_deleted_or_visited_while_workers_claim(bench: Bench, links: Links) -> None:
    frontier = bench.frontier("http://0.example/")
    urls = [f"http://{number % 7}.example/{number}" for number in range(3_000)]
    frontier.add(links(*urls))
    visited: list[str] = []

    def work(name: str) -> None:
        own = bench.again(frontier)
        while isinstance(lease := own.claim(name), Lease) or not isinstance(lease, JobFinished):
            if isinstance(lease, Lease):
                visited.append(lease.url)
                own.finish(lease, VisitOutcome(200))

    workers = [threading.Thread(target=work, args=(f"w-{number}",)) for number in range(3)]
    for worker in workers:
        worker.start()
    shuffled = random.Random(7).sample(urls, 2_000)
    deleted = sum(frontier.desk.delete([url]) for url in shuffled)
    for worker in workers:
        worker.join()
    progress = frontier.reports.progress()
    assert deleted > 0
    assert len(visited) == len(set(visited))
    assert len(visited) + deleted == len(urls) + 1
    assert (progress.done, progress.excluded, progress.queued) == (len(visited), deleted, 0)
    assert not set(visited) & _urls(frontier, "excluded")


def test_a_block_ends_also_when_a_visit_ended_during_it(bench: Bench, leased: Claim, links: Links) -> None:
    frontier = bench.frontier()
    seed = leased(frontier)
    frontier.add(links("http://example.org/a"))
    frontier.controls.block_host("example.org", 900)
    frontier.finish(seed, VisitOutcome(200))
    assert isinstance(frontier.claim("w"), Pause)
    assert frontier.controls.wake_host("example.org")
    assert leased(frontier).url == "http://example.org/a"


def test_a_render_is_deleted_and_its_embeds_go_to_the_plain_crawler(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    page = leased(frontier)
    assert frontier.renders.add(page, [Candidate("http://example.org/picture", "E")])
    frontier.finish(page, VisitOutcome(200))
    assert [entry.url for entry in frontier.desk.renders().entries()] == [page.url]
    assert frontier.desk.renders().delete([page.url]) == 1
    assert _urls(frontier, "queued") == {"http://example.org/picture"}
    assert frontier.reports.progress().renders.excluded == 1


def test_urls_of_an_operator_keep_to_the_scope_and_do_not_widen_it(bench: Bench, leased: Claim) -> None:
    from frontier.definition.job import Profile

    frontier = bench.frontier(profile=Profile(scope="host"))
    leased(frontier)
    wanted = ["http://example.org/a", "http://elsewhere.example/", "http://example.org/"]
    inside, outside, seen = frontier.add_urls([Candidate(url, priority=Priority.HIGH) for url in wanted])
    assert isinstance(inside, Accepted)
    assert isinstance(outside, Rejected)
    assert (outside.reason, isinstance(seen, Rejected) and seen.reason) == ("scope", "seen")
    assert isinstance(frontier.add_urls([Candidate("http://elsewhere.example/b")])[0], Rejected)


def test_a_file_asks_once_for_a_second_visit(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    frontier.finish(leased(frontier), VisitOutcome(200))
    urls = ["http://example.org/"]
    assert frontier.desk.forget_seen("again.force 1", urls) == 1
    assert isinstance(frontier.add_urls([Candidate(urls[0])])[0], Accepted)
    assert frontier.desk.forget_seen("again.force 1", urls) == 0, "the file is read again after a kill"
    assert isinstance(frontier.add_urls([Candidate(urls[0])])[0], Rejected)
    frontier.finish(leased(frontier), VisitOutcome(-2, is_last=True))
    assert frontier.reports.progress().failed == 1
    frontier.desk.drop_marks()
    assert frontier.desk.forget_seen("again.force 1", urls) == 1
    assert frontier.reports.progress().failed == 0


def test_a_restored_job_has_the_same_urls_in_the_same_order(bench: Bench, leased: Claim, links: Links) -> None:
    frontier = bench.frontier(settings=RESTING)
    seed = leased(frontier)
    frontier.add(links(*(f"http://example.org/{number}" for number in range(40))))
    frontier.finish(seed, VisitOutcome(200))
    failed = leased(frontier)
    frontier.finish(failed, VisitOutcome(crawl_log.BAD_URL))
    frontier.give_back(leased(frontier), "a test")
    lines = [url_line(entry) for entry in frontier.desk.entries()]
    marks = [seen_line(chunk) for chunk in frontier.desk.seen()]
    order = [entry.url for entry in frontier.desk.waiting("example.org", 100)]
    frontier.forget()

    other = bench.frontier("http://seed.example/", name="summer")
    bench.client.delete(bench.key("q:seed.example", "summer"))
    random.Random(3).shuffle(lines)
    restored = [read_line(line) for line in lines]
    assert all(isinstance(each, RestoredUrl) for each in restored)
    answers = other.desk.restore([each for each in restored if isinstance(each, RestoredUrl)])
    assert answers == [True] * 40
    assert other.desk.restore([each for each in restored if isinstance(each, RestoredUrl)]) == [False] * 40
    assert [entry.url for entry in other.desk.waiting("example.org", 100)] == order
    assert other.desk.resting_of("example.org", 5)[0].tries == 1
    assert _urls(other, "failed") == {failed.url}
    read = [read_line(line) for line in marks]
    assert sum(other.desk.add_seen(each.marks) for each in read if isinstance(each, SeenMarks)) == 1, "the seed"
    assert isinstance(other.add(links(seed.url))[0], Rejected)


def test_nothing_is_restored_into_a_finished_job(bench: Bench, leased: Claim) -> None:
    frontier = bench.frontier()
    frontier.finish(leased(frontier), VisitOutcome(200))
    assert isinstance(frontier.claim("w"), JobFinished)
    assert frontier.desk.restore([RestoredUrl(Candidate("http://example.org/late"))]) is None


def test_sixty_thousand_urls_are_read_in_flat_memory(bench: Bench) -> None:
    frontier = bench.frontier()
    for first in range(1, 60_000, 10_000):
        bench.client.eval(MANY_URLS, 1, bench.key("u"), first)
    gc.collect()
    count, before, most = 0, resident_bytes(), 0
    for entry in frontier.desk.entries():
        count += len(url_line(entry)) > 0
        if count % 10_000 == 0:
            most = max(most, resident_bytes())
    assert count == 60_001
    assert most - before < 40_000_000  # the URLs as a list take several times as much


@pytest.mark.parametrize("pattern", ["(a+)+$", "(a|a)*$", "(a|aa)+$"], ids=["nested", "alternatives", "steps"])
def test_a_search_that_blows_up_ends_with_one_line(pattern: str) -> None:
    search = UrlSearch(pattern)
    urls = [f"http://example.org/{'a' * 3_000}!{number}" for number in range(50)]
    with pytest.raises(JobError, match="takes too long") as raised:
        _ = [search.finds(url) for url in urls]
    assert "\n" not in str(raised.value)


def test_a_search_that_is_slow_for_each_url_ends_after_its_time() -> None:
    search = UrlSearch("(?:a|b)+(?:b|c)+$", seconds=0.0)
    with pytest.raises(JobError, match="takes too long"):
        search.finds(f"http://example.org/{'a' * 300}")


@pytest.mark.parametrize("pattern", ["(", "", "a" * 5_000, "*", "(?P<n>"])
def test_an_expression_that_can_not_be_used_is_named(pattern: str) -> None:
    with pytest.raises(JobError, match="expression"):
        UrlSearch(pattern)


GARBAGE = [
    b"not json", b"[]", b"{}", b'{"url": 5}', b'{"url": "no url"}', b'{"url": "ftp://example.org/"}', b"\xff\xfe",
    b'{"url": "http://example.org/", "priority": "urgent"}', b'{"url": "http://example.org/", "depth": -1}',
    b'{"url": "http://example.org/", "hop_path": "L\\nL"}', b'{"url": "http://example.org/", "depth": 1e400}',
    b'{"format": "other/9"}', b'{"seen": ["x"]}', b'{"seen": ["99999999999999999999"]}', b'{"seen": 3}',
    b'{"seen": ["9999999999999999999"]}', b"[" * 100_000, b'{"url": "http://example.org/", "order": 1e300}',
    b'{"url": "http://example.org/", "rest_seconds": NaN}', b'{"url": "http://exa\\u0000mple.org/"}', b"null", b'"x"',
    b'{"url": "http://example.org/", "depth": ' + b"9" * 5_000 + b"}",
]  # fmt: skip


@pytest.mark.parametrize("line", GARBAGE, ids=range(len(GARBAGE)))
def test_a_line_that_can_not_be_used_is_named_in_one_line(line: bytes) -> None:
    with pytest.raises(JobError) as raised:
        read_line(line)
    assert "\n" not in str(raised.value)
    assert len(str(raised.value)) < 1_000


def test_lines_are_numbered_and_a_long_one_is_passed_over() -> None:
    long = b'{"url": "' + b"x" * 3_000_000 + b'"}\n'
    file = io.BytesIO(b'{"format":"ghostfleet-queue/1","job":"spring"}\n\n' + long + b'{"url":"http://example.org/"}')
    found = list(numbered_lines(file))
    assert [number for number, _ in found] == [1, 3, 4]
    assert found[1][1] is None
    assert read_line(found[0][1] or b"") == QueueHead("spring")
    assert read_line(found[2][1] or b"") == RestoredUrl(Candidate("http://example.org/"))


def test_a_line_has_the_cookies_and_a_view_does_not() -> None:
    entry = QueueEntry("queued", Candidate("http://example.org/", cookies="secret"))
    assert json.loads(url_line(entry))["cookies"] == "secret"
    assert "secret" not in json.dumps(entry.as_json())
