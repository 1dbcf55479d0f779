"""A crawl of many domains whose queue lies on all servers of a Redis Cluster: a killed worker, a group, a quota."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Lock, Thread

import pytest
from support.browsers.garden_crawl import END_SECONDS, QUICK, fetched, kill9
from support.processes.machine_needs import redis_server
from support.processes.waiting import until
from support.stores.redis_cluster import RedisCluster

from archive.url import host_of
from bench.process import our_command, source_environment
from frontier.shards import shard_of

DOMAINS = 9
GROUPED = 6
"""The first domains are in one queue group."""
PAGES = 8


class _Site(ThreadingHTTPServer):
    """Pages of many domains: each has links to the next page of its domain, and to a page of the next domain."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Answers)
        self.pages: list[str] = []
        self.visits: list[int] = []
        """The number of requests to the group at the begin and at the end of each of them."""
        self._lock = Lock()
        self._at_once = 0

    def note(self, change: int) -> None:
        """Note that a request to a domain of the group begins or ends."""
        with self._lock:
            self._at_once += change
            self.visits.append(self._at_once)


class _Answers(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        host, page = self.headers["host"], self.path.removeprefix("/")
        number, domain = int(page or 0) if page.isdecimal() or not page else -1, int(host[4:].partition(".")[0])
        assert isinstance(self.server, _Site)
        if number >= 0 and domain < GROUPED:
            self.server.note(1)
            Event().wait(0.02)  # a page takes its time
            self.server.note(-1)
        self.send_response(404 if number < 0 else 200)
        body = b""
        if number >= 0:
            self.server.pages.append(f"http://{host}/{page}")
            links = [f"/{number + 1}"] if number + 1 < PAGES else []
            links.append(f"http://site{(domain + 1) % DOMAINS}.test/{number or ''}")
            body = "".join(f'<a href="{link}">{link}</a>' for link in links).encode()
            self.send_header("content-type", "text/html")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Write no line for a request."""


@contextmanager
def _site() -> Iterator[_Site]:
    with _Site() as site:
        thread = Thread(target=site.serve_forever, daemon=True)
        thread.start()
        try:
            yield site
        finally:
            site.shutdown()
            thread.join()


NAMES = [f"site{number}.test" for number in range(DOMAINS)]


def _crawl(home: Path, tmp_path: Path, profile: str, code: int, *, is_killed: bool) -> tuple[_Site, list[int]]:
    """Crawl the site over three shards until the command exits with a code. Return the site, and calls by server."""
    redis_server()
    (tmp_path / "wide.toml").write_text(profile, "utf-8")
    with RedisCluster(tmp_path) as cluster, _site() as site:
        places = [part for name in NAMES for part in ("--resolve", f"{name}=127.0.0.1:{site.server_port}")]
        job = ["--collection", "garden", "--job", "wide", "--scope", "any", "--delay", "0.01", "--visitor", "plain"]
        job += ["--profile", str(tmp_path / "wide.toml")]
        command = our_command(
            "crawl", f"http://{NAMES[0]}/", "--home", str(home), *job, "--workers", "2", "--allow-private", *places
        )
        settings = {**QUICK, "GHOSTFLEET_FRONTIER__SHARDS": "3", "GHOSTFLEET_REDIS__URL": cluster.url}
        environment = {**source_environment(), **settings}
        with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as crawl:
            try:
                if is_killed:
                    until(lambda: len(site.pages) >= DOMAINS or crawl.poll() is not None, what="requests")
                    kill9(crawl.pid, home, ("worker-",))
                crawl.wait(END_SECONDS)
            finally:
                if crawl.poll() is None:
                    crawl.kill()
            said = crawl.stderr.read().decode() if crawl.stderr else ""
        assert crawl.returncode == code, said[-3000:]
        calls = [
            server.client.info("commandstats").get("cmdstat_evalsha", {}).get("calls", 0) for server in cluster.servers
        ]
    return site, calls


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_group_and_a_quota_of_a_seed_hold_over_three_shards(home: Path, tmp_path: Path) -> None:
    group = f'groups = ["farm {",".join(NAMES[:GROUPED])} parallel=2"]\nquotas = ["seed urls=40"]\n'
    site, _ = _crawl(home, tmp_path, group, 4, is_killed=False)
    assert len({shard_of(name, 3) for name in NAMES[:GROUPED]}) > 1
    assert max(site.visits) == 2
    kept = {capture.url for capture in fetched(home) if capture.status == 200}
    assert 40 <= len(kept) < DOMAINS * PAGES


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_a_crawl_over_three_shards_keeps_every_page_once_though_a_worker_is_killed(home: Path, tmp_path: Path) -> None:
    _, calls = _crawl(home, tmp_path, "", 0, is_killed=True)
    kept = Counter(capture.url for capture in fetched(home) if capture.status == 200)
    assert len(kept) == DOMAINS * PAGES
    assert sum(kept.values()) - len(kept) <= 2  # the visits of the killed worker
    assert {shard_of(host_of(url), 3) for url in kept} == {0, 1, 2}
    assert min(calls) > DOMAINS, calls
