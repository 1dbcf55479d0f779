"""The same site in both modes of rendering: the same URLs, each resource once, also after a kill."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from support.browsers.visits import Fleet, document, page
from support.origins.raw_origin import RawOrigin, Send, Wait
from support.processes.waiting import until

from archive.settings.load import Settings, load
from browsers.crawling.worker import WorkerTally, run_worker
from browsers.engines.interface import BrowserCookie
from browsers.logins.browser_profile import BrowserProfile
from browsers.logins.profile_store import ProfileStore
from frontier.definition.job import Job, Profile
from frontier.queue import Frontier

QUICK = {
    "frontier.min_delay_seconds": 0,
    "frontier.delay_factor": 0,
    "frontier.retry_seconds": 0,
    "browsers.sandbox": False,
    "browsers.behaviors": "",
    "browsers.page_records": "text",
    "browsers.patience_seconds": 0,
}
STYLE = document(b"body { background: url(/back.png) }", "text/css")
SCRIPT = document(
    b"var i = new Image(); i.src = '/made.png'; document.body.appendChild(i);"
    b"var a = document.createElement('a'); a.href = '/found'; a.textContent = 'x'; document.body.appendChild(a);",
    "text/javascript",
)
PICTURE = document(b"\x89PNG\r\n\x1a\n", "image/png")
GONE = page("gone", status="404 Not Found")
PARTS = {
    "/a.css": STYLE,
    "/a.js": SCRIPT,
    "/back.png": PICTURE,
    "/made.png": PICTURE,
    "/plain.png": PICTURE,
    "/gone.png": GONE,
}
PAGES = ("/", "/next", "/found")


def quick(fleet: Fleet, **more: Any) -> Settings:
    names = {name.replace("__", "."): value for name, value in more.items()}
    return load({"home": str(fleet.home), **QUICK, **names}, environment={})


def build(origin: RawOrigin) -> None:
    """A page with a style sheet, a picture, and a script that makes another picture and a link."""
    body = "<a href=/next>next</a><img src=/plain.png><img src=/gone.png><script src=/a.js></script>"
    origin.script("/", page(body, head="<link rel=stylesheet href=/a.css>"))
    origin.script("/next", page("<a href=/>home</a>"))
    origin.script("/found", page("made by a script"))
    origin.script("/robots.txt", document(b"User-agent: *\nDisallow:\n", "text/plain"))
    origin.script("/favicon.ico", PICTURE)
    for path, answer in PARTS.items():
        origin.script(path, answer)


def opened(settings: Settings, redis_url: str, origin: RawOrigin, **profile: Any) -> Frontier:
    job = Job.of("rendering", f"r{os.urandom(6).hex()}", [origin.url("/")], Profile(visitor="browser", **profile))
    frontier = Frontier(redis_url, job, settings.frontier)
    frontier.open_job()
    return frontier


def work(settings: Settings, fleet: Fleet, redis_url: str, log_dir: Path, *, renders: bool = False) -> WorkerTally:
    return run_worker(
        settings,
        job="rendering",
        proxy=fleet.proxy.ready["proxy"],
        controls=fleet.proxy.ready["controls"],
        redis_url=redis_url,
        name="render-worker-0" if renders else "worker-0",
        concurrency=1,
        stop=threading.Event(),
        log_dir=str(log_dir),
        renders=renders,
    )


def harvest(settings: Settings, fleet: Fleet, redis_url: str, log_dir: Path) -> tuple[WorkerTally, WorkerTally]:
    """A worker and a render worker at the same time, until the job has ended."""
    with ThreadPoolExecutor(2) as threads:
        plain = threads.submit(work, settings, fleet, redis_url, log_dir)
        rendered = threads.submit(work, settings, fleet, redis_url, log_dir, renders=True)
        return plain.result(), rendered.result()


def captured(fleet: Fleet, frontier: Frontier, origin: RawOrigin) -> Counter[str]:
    """How often each URL of the site was recorded, as a response or as a revisit."""
    kept = fleet.proxy.records(frontier.job.collection)
    records = [*kept.kinds("response"), *kept.kinds("revisit")]
    start = origin.url("")
    return Counter(record.url.removeprefix(start.rstrip("/")) for record in records if record.url.startswith(start))


def logged(log_dir: Path, origin: RawOrigin) -> Counter[str]:
    """How often each URL of the site has a line in crawl.log that counts."""
    lines = [line.split() for line in (log_dir / "crawl.log").read_text("utf-8").splitlines()]
    start = origin.url("").rstrip("/")
    return Counter(line[3].removeprefix(start) for line in lines if line[3].startswith(start))


@pytest.mark.browser
def test_both_modes_capture_the_same_urls_and_each_resource_once(
    fleet: Fleet, redis_url: str, origin: RawOrigin, tmp_path: Path
) -> None:
    build(origin)
    settings = quick(fleet)
    frontier = opened(settings, redis_url, origin)
    work(settings, fleet, redis_url, tmp_path / "synchronous")
    synchronous = captured(fleet, frontier, origin)
    frontier.forget()
    frontier.close()

    frontier = opened(settings, redis_url, origin, rendering="asynchronous")
    plain, rendered = harvest(settings, fleet, redis_url, tmp_path / "asynchronous")
    asynchronous = captured(fleet, frontier, origin)

    assert set(asynchronous) == set(synchronous)
    assert {path: asynchronous[path] for path in PARTS} == dict.fromkeys(PARTS, 1)
    assert {path: synchronous[path] for path in PARTS} == dict.fromkeys(PARTS, 1)
    # Each page is fetched by the plain crawler and then by its render.
    assert {path: asynchronous[path] for path in PAGES} == dict.fromkeys(PAGES, 2)
    assert logged(tmp_path / "asynchronous", origin) == asynchronous
    assert "browser" not in plain.visits
    assert rendered.visits == {"browser": 3}
    progress = frontier.reports.progress()
    assert (progress.pages, progress.renders.done, progress.renders.depth) == (3, 3, 0)
    assert progress.renders.p95_seconds is not None
    kept = fleet.proxy.records(frontier.job.collection).kinds("resource")
    assert len([record for record in kept if record.url.startswith("urn:pageinfo:")]) == 3
    frontier.forget()
    frontier.close()


WORKER = """
import sys, threading
from archive.settings.load import load
from browsers.engines.interface import BrowserCookie
from browsers.logins.browser_profile import BrowserProfile
from browsers.logins.profile_store import ProfileStore
from browsers.crawling.worker import run_worker
proxy, control, redis_url = sys.argv[1:]
run_worker(load(), job="rendering", proxy=proxy, controls=[control], redis_url=redis_url, name="render-worker-9",
           concurrency=1, stop=threading.Event(), renders=True)
"""


@contextmanager
def victim(settings: Settings, fleet: Fleet, redis_url: str) -> Iterator[subprocess.Popen[bytes]]:
    """A render worker in a process group of its own, with its browser; the group is killed at the end."""
    arguments = [fleet.proxy.ready["proxy"], fleet.proxy.ready["controls"][0], redis_url]
    environment: Mapping[str, str] = {**os.environ, **settings.for_child()}
    process = subprocess.Popen([sys.executable, "-c", WORKER, *arguments], env=environment, start_new_session=True)
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.slow
@pytest.mark.browser
def test_a_render_whose_worker_is_killed_is_done_once_more_and_the_others_once(
    fleet: Fleet, redis_url: str, origin: RawOrigin, tmp_path: Path
) -> None:
    build(origin)
    never, asked = threading.Event(), threading.Event()

    def style(_: bytes) -> list[Send | Wait]:
        if asked.is_set():
            return [STYLE]
        asked.set()
        return [Wait(never)]

    origin.answer("/a.css", style)
    settings = quick(fleet)
    frontier = opened(settings, redis_url, origin, rendering="asynchronous")
    with ThreadPoolExecutor(1) as threads:
        plain = threads.submit(work, settings, fleet, redis_url, tmp_path)
        with victim(quick(fleet, frontier__lease_seconds=2), fleet, redis_url):
            until(asked.is_set, what="the render to fetch the style sheet")
        never.set()
        rendered = work(settings, fleet, redis_url, tmp_path, renders=True)
        plain.result()

    assert rendered.visits == {"browser": 3}
    progress = frontier.reports.progress()
    assert (progress.renders.done, progress.renders.depth, progress.renders.failed) == (3, 0, 0)
    kept = fleet.proxy.records(frontier.job.collection)
    infos = Counter(record.url for record in kept.kinds("resource") if record.url.startswith("urn:pageinfo:"))
    assert sorted(infos.values()) == [1, 1, 1]
    assert [path for path in PARTS if not captured(fleet, frontier, origin)[path]] == []
    frontier.forget()
    frontier.close()


@pytest.mark.browser
def test_plain_and_ghost_send_the_user_agent_and_the_cookie_of_the_profile(
    fleet: Fleet, redis_url: str, origin: RawOrigin, tmp_path: Path
) -> None:
    build(origin)
    settings = quick(fleet)
    agent, secret = "Mozilla/5.0 (compatible; spring +https://archive.example/)", "s3cret-4711"
    cookie = BrowserCookie("sid", secret, origin.address)
    ProfileStore(settings.home).save(BrowserProfile("pond", origin.url("/"), 1, (cookie,)))
    frontier = opened(
        settings, redis_url, origin, rendering="asynchronous", user_agent=agent, browser_profile="pond", hops=0
    )
    harvest(settings, fleet, redis_url, tmp_path)

    visits = [visit.received.decode("latin-1") for visit in origin.asked("/")]
    assert [field(visit, "user-agent") for visit in visits] == [agent, agent]
    assert [field(visit, "cookie") for visit in visits] == [f"sid={secret}"] * 2
    requests = fleet.proxy.records(frontier.job.collection).of(origin.url("/"), "request")
    assert [field(request.block.decode("latin-1"), "user-agent") for request in requests] == [agent, agent]
    assert not any(secret.encode() in request.block for request in requests)
    frontier.forget()
    frontier.close()


def field(request: str, name: str) -> str:
    """The value of a header field of a request."""
    lines = request.split("\r\n\r\n")[0].split("\r\n")[1:]
    return {key.lower(): value.strip() for key, _, value in (line.partition(":") for line in lines)}[name]
