"""The bench of the frontier fills a queue, empties it, and tells what both cost."""

from __future__ import annotations

from bench.crawls.frontier import measure, measure_servers, servers_table, table
from frontier.definition.job import SeenRules


def test_a_small_queue_is_filled_and_emptied() -> None:
    found = measure(10, 200, 1, print)
    assert (found.hosts, found.urls, found.workers) == (10, 200, 1)
    assert min(found.added_per_second, found.known_per_second, found.pairs_per_second) > 0
    assert found.claim_p99_ms >= found.claim_p50_ms > 0
    assert found.idle_bytes > 0 < found.restart_seconds
    assert found.test_bytes > 0 <= found.known_micros
    assert found.claims >= found.urls
    assert table(found).row_count == 16


def test_hosts_that_wait_do_not_count_as_finished_urls() -> None:
    found = measure(20, 3_000, 1, print, batch=64, waiting=3_000, claims=2_000)
    assert found.waiting == 3_000
    assert 2_000 <= found.claims < 2_200
    assert 0 < found.seen_bytes < found.queued_bytes


def test_a_queue_is_emptied_in_batches_beside_hosts_that_wait() -> None:
    rules = SeenRules(method="bloom", expected_urls=1_000)
    found = measure(20, 200, 2, print, batch=8, waiting=50, rules=rules)
    assert (found.batch, found.waiting) == (8, 50)
    assert found.pairs_per_second > 0
    assert found.test_bytes > 0
    assert len(table(found, bloom=found).columns) == 3


def test_the_costs_of_a_job_over_three_slots_are_told_by_server(redis_url: str) -> None:
    found = measure_servers(redis_url, 20, 200, 1, print, shards=3)
    assert (found.shards, found.urls) == (3, 200)
    assert sum(server.calls for server in found.servers) >= 200
    assert servers_table(found).row_count == len(found.servers)
