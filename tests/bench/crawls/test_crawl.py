"""The bench of the plain crawl serves a site, crawls it, and tells what the crawl cost."""

from __future__ import annotations

import socket
from contextlib import closing

import pytest
from support.processes.waiting import until

from bench.crawls.crawl import OURS, CrawlPlan, CrawlRound, costs_of, lines, measure, table
from bench.crawls.crawl_site import DOMAIN, LINKS, CrawlSite, SiteProcess
from bench.crawls.ghosts import is_measurable
from browsers.links.documents import links_of

PLAN = CrawlPlan(pages=30, hosts=3, workers=4, peers=[OURS])


def test_all_pages_of_a_site_can_be_reached_from_the_front_pages() -> None:
    site = CrawlSite(pages=500, hosts=7, port=8080)
    known, waiting = set(site.seeds), [(host, 0) for host in range(site.hosts)]
    by_url = {site.url(host, page): (host, page) for host in range(site.hosts) for page in range(site.pages_of(host))}
    while waiting:
        host, page = waiting.pop()
        found = links_of(site.url(host, page), 200, {"content-type": "text/html"}, site.body(host, page)).links
        assert len(found) == LINKS
        further = {link.url for link in found} - known
        known |= further
        waiting += [by_url[url] for url in further]
    assert known == set(by_url)
    assert len(by_url) == 500


def test_the_pages_of_a_site_have_five_kilobytes_and_are_the_same_each_time() -> None:
    one, other = CrawlSite(5_000, 50, 80), CrawlSite(5_000, 50, 80)
    sizes = [len(one.body(host, page)) for host in range(50) for page in range(100)]
    assert 4_500 < sum(sizes) / len(sizes) < 5_500
    assert one.body(49, 99) == other.body(49, 99) != one.body(48, 99)


def test_the_site_counts_pages_once_and_refuses_what_it_does_not_have() -> None:
    process = SiteProcess("127.0.1.1", 10, 2)
    asked = [("/", 0), ("/", 1), ("/", 1), ("/section-4/page-4.html", 1), ("/section-5/page-5.html", 1), ("/x", 0)]
    with closing(socket.create_connection(("127.0.1.1", process.site.port))) as client:
        for path, host in [*asked, ("/", 2)]:
            client.sendall(f"GET {path} HTTP/1.1\r\nHost: host-{host}.{DOMAIN}:1\r\n\r\n".encode())
        client.shutdown(socket.SHUT_WR)
        answers = b"".join(iter(lambda: client.recv(65_536), b""))
    assert (answers.count(b"HTTP/1.1 200"), answers.count(b"HTTP/1.1 404")) == (4, 3)
    counted = process.close()
    assert (counted.requests, counted.pages) == (7, 3)
    assert 0 < counted.first <= counted.last


def test_a_sample_belongs_to_the_outermost_known_function() -> None:
    folded = [
        "run (a.py:1);PlainVisitor.fetch (browsers/plain/visitor.py:1);LeaseQueue.claim (frontier/lease_queue.py:2) 3",
        "run (a.py:1);Frontier.add (frontier/queue.py:97) 6",
        "run (a.py:2) 1",
    ]
    assert list(costs_of(folded).items()) == [
        ("links of a page: scope and queue", 0.6),
        ("request through the proxy", 0.3),
        ("other", 0.1),
    ]


def test_the_report_has_rates_and_the_largest_costs() -> None:
    costs = {"a": 0.5, "b": 0.3, "c": 0.15, "d": 0.05}
    one = CrawlRound(OURS, 30, 30, 10.0, 4.0, 5.0, {"worker": 0.06, "proxy": 0.03}, 1, costs)
    assert (one.per_second, one.steady_per_second, round(one.cpu_ms, 6)) == (3.0, 6.0, 3.0)
    assert list(lines([one])) == [
        "CPU of ghostfleet, ms of a page: worker 2.00, proxy 1.00.",
        "Largest costs of a worker: a 50%, b 30%, c 15%.",
    ]


@pytest.mark.skipif(not is_measurable(), reason="only Linux tells the memory that processes share")
@pytest.mark.timeout(300)
def test_a_small_site_is_crawled_and_each_page_is_kept() -> None:
    def has_each_process() -> bool:
        (found,) = measure(PLAN, print)
        assert (found.pages, found.kept) == (30, 30)
        assert 0 < found.first_seconds < found.seconds
        assert table(PLAN, [found]).row_count == 1
        return found.peak_bytes > 0 and {"worker", "proxy", "redis-server"} <= found.cpu_seconds.keys()

    # The workers run for less than a second. On a busy machine all of them can end between two samples.
    until(has_each_process, what="a crawl with samples of each kind of process", within=60)
