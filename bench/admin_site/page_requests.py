"""The pages of the admin site are requested from a running server, as a browser with a session does, and timed."""

from __future__ import annotations

import multiprocessing
import random
import re
import socket
import threading
import time
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
from sqlalchemy import func, select

from admin.models.database import Database
from admin.models.domain_tables import Domain
from admin.models.errors import UseCaseError
from admin.models.harvest_tables import Channel, Harvest
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.people_tables import User
from admin.models.recent_readings import RecentReadings
from admin.models.transaction import COMMAND_LINE, Actor, Transaction
from admin.people.invitations import first_invitation, reset_password
from admin.site.assembly import make_server
from admin.web import application
from archive.settings.load import load
from bench.admin_site.filled_database import SNAPSHOTS
from bench.process import resource_usage

TARGET_MS: Final = 200.0
_NAME: Final = "bench"
_PASSWORD: Final = "a password of the bench alone"
_CONTEXT: Final = multiprocessing.get_context("spawn")
_START_SECONDS: Final = 60.0
_SEED: Final = 15


@dataclass(frozen=True, slots=True)
class PageKind:
    """Pages of one kind are measured together: their paths are requested one after another."""

    name: str
    paths: Sequence[str]
    has_target: bool = True
    """The page must be answered within `TARGET_MS`."""


@dataclass(frozen=True, slots=True)
class PageTimes:
    """The requests for pages of one kind have these times."""

    database: str
    page: str
    concurrency: int
    requests: int
    errors: int
    p50_ms: float
    p95_ms: float
    max_ms: float
    cpu_ms: float | None
    """The server's CPU time of each request, without that of PostgreSQL; None where /proc does not tell it."""
    has_target: bool

    @property
    def is_slow(self) -> bool:
        """Return whether requests failed, or the page misses the target."""
        return self.errors > 0 or (self.has_target and self.p95_ms >= TARGET_MS)


def measure_pages(
    url: str, home: Path, requests: int, concurrencies: Sequence[int], only: str = ""
) -> Iterator[PageTimes]:
    """Serve the site of a database, request each kind of page so many times, and yield the times of each."""
    database = Database(url)
    kinds = [kind for kind in page_kinds(database) if only in kind.name]
    kind_of_database = database.engine.dialect.name
    with database.transaction(COMMAND_LINE) as transaction:
        is_known = transaction.session.scalar(select(User.id).where(User.name == _NAME)) is not None
        link = reset_password(transaction, _NAME) if is_known else first_invitation(transaction)
    if link is None:
        raise UseCaseError("the database has users of its own; give the bench an empty database")
    database.close()
    with served(url, home) as (address, server):
        cookies = logged_in(address, link.token)
        for kind in kinds:
            request_pages(address, cookies, kind.paths[:2], 2, 1)  # so that code and connections are there
            for concurrency in concurrencies:
                before = _cpu_seconds(server)
                times, errors = request_pages(address, cookies, kind.paths, requests, concurrency)
                after = _cpu_seconds(server)
                times.sort()
                yield PageTimes(
                    database=kind_of_database,
                    page=kind.name,
                    concurrency=concurrency,
                    requests=len(times),
                    errors=errors,
                    p50_ms=round(times[len(times) // 2] * 1000, 1),
                    p95_ms=round(times[min(len(times) - 1, len(times) * 95 // 100)] * 1000, 1),
                    max_ms=round(times[-1] * 1000, 1),
                    cpu_ms=None if before is None or after is None else round((after - before) * 1000 / len(times), 1),
                    has_target=kind.has_target,
                )


def page_kinds(database: Database) -> list[PageKind]:
    """Return the kinds of pages, with paths that this database has."""
    random_source = random.Random(_SEED)
    with database.reading(COMMAND_LINE) as reading:
        most = reading.session.scalar(select(func.max(HarvestJob.id))) or 1
        running = reading.session.scalars(
            select(HarvestJob.id).where(HarvestJob.status == JobStatus.STARTED).limit(20)
        ).all()
        channels = reading.session.scalars(select(Channel.name)).all()
        last_domain = reading.session.scalar(select(func.max(Domain.id))) or 1
        chosen = [1 + random_source.randrange(last_domain) for _ in range(50)]
        names = reading.session.scalars(select(Domain.name).where(Domain.id.in_(chosen))).all()
        frequent = reading.session.scalar(select(Domain.name).where(Domain.id == 1)) or names[0]
        harvests = reading.session.execute(
            select(Harvest.id, Harvest.name).where(Harvest.id.in_(range(1, 2 * SNAPSHOTS + 1)))
        ).all()
    snapshots = [(number, name) for number, name in harvests if number <= SNAPSHOTS]
    selective = [(number, name) for number, name in harvests if number > SNAPSHOTS]
    jobs = [1 + random_source.randrange(most) for _ in range(50)]
    of_harvest = {"snapshot": [number for number, _ in snapshots], "selective": [number for number, _ in selective]}
    lists: dict[str, list[str]] = {"first": [""], "deep": [f"after={number}" for number in jobs]}
    lists |= {status.value: [f"status={status.value}"] for status in JobStatus}
    lists |= {f"{status.value} deep": [f"status={status.value}&after={number}" for number in jobs[:10]]
              for status in (JobStatus.DONE, JobStatus.FAILED)}  # fmt: skip
    lists |= {f"harvest, {kind}": [f"harvest_id={number}" for number in found] for kind, found in of_harvest.items()}
    lists |= {f"harvest and state, {kind}": [f"harvest_id={number}&status=FAILED_REJECTED" for number in found]
              for kind, found in of_harvest.items()}  # fmt: skip
    lists["run"] = [f"harvest_id={number}&run_number=7" for number in of_harvest["selective"]]
    lists["channel"] = [f"channel={name}" for name in channels]
    lists["channel and state"] = [f"channel={name}&status=FAILED" for name in channels]
    lists["channel and harvest"] = [f"channel={channels[0]}&harvest_id={number}" for number in of_harvest["snapshot"]]
    lists["harvester"] = [f"harvester=harvester-{number}" for number in range(20)]
    lists["harvester and state"] = [f"harvester=harvester-{number}&status=STARTED" for number in range(20)]
    lists["unknown harvester"] = ["harvester=none-of-them"]
    lists["domain"] = [f"domain={name}" for name in names]
    lists["frequent domain"] = [f"domain={frequent}", f"domain={frequent}&after={most // 2}"]
    lists["frequent domain and state"] = [f"domain={frequent}&status=FAILED"]
    lists["unknown domain"] = ["domain=nobody.example"]
    kinds = [PageKind("overview", ["/"]), PageKind("overview, live part", ["/overview/live"])]
    kinds += [PageKind(f"jobs: {name}", [f"/jobs?{query}" for query in queries]) for name, queries in lists.items()]
    kinds += [PageKind(f"API jobs: {name}", [f"/api/v1/jobs?{query}" for query in queries])
              for name, queries in lists.items() if name in _ALSO_BY_API]  # fmt: skip
    kinds += [
        PageKind("job", [f"/jobs/{number}" for number in jobs]),
        PageKind("running job", [f"/jobs/{number}" for number in running]),
        PageKind("running job, live part", [f"/jobs/{number}/live" for number in running]),
        PageKind("job's domains", [f"/jobs/{number}/domains" for number in jobs]),
        PageKind("job's setup", [f"/jobs/{number}/setup" for number in jobs]),
        PageKind("API job", [f"/api/v1/jobs/{number}" for number in jobs]),
        PageKind("API job's domains", [f"/api/v1/jobs/{number}/domains" for number in jobs]),
        PageKind("API job's samples", [f"/api/v1/jobs/{number}/samples" for number in running]),
        PageKind("harvests", ["/harvests"]),
        PageKind("run history, snapshot", [f"/harvests/{name}" for _, name in snapshots]),
        PageKind("run history, selective", [f"/harvests/{name}" for _, name in selective]),
        PageKind("API run history", [f"/api/v1/harvests/{name}/runs" for _, name in selective]),
        PageKind("API harvests", ["/api/v1/harvests"]),
        PageKind("domains", ["/domains"]),
        PageKind("domains: beginning", [f"/domains?search=d{number}*" for number in range(10, 60)]),
        PageKind("domains: deep", [f"/domains?after={name}" for name in names]),
        PageKind("domains: name", [f"/domains?search={name}" for name in names]),
        PageKind("domains: top level", ["/domains?tld=dk", "/domains?tld=none"]),
        PageKind("domains: part of a name", ["/domains?search=*99*", "/domains?search=*nobody*"], has_target=False),
        PageKind("API domains: with history", ["/api/v1/domains?has_history=true"]),
        PageKind("API domains: without history", ["/api/v1/domains?has_history=false"], has_target=False),
        PageKind("API TLDs", ["/api/v1/tlds"], has_target=False),
        PageKind("domain", [f"/domains/{name}" for name in names]),
        PageKind("frequent domain", [f"/domains/{frequent}"]),
        PageKind("audit", ["/audit"]),
        PageKind("audit: filters", ["/audit?actor=person-7", "/audit?action=domain.change", "/audit?actor=nobody",
                                    "/audit?entity=domain&entity_id=400", "/audit?actor=person-7&action=job.resubmit"]),
        PageKind("API audit", ["/api/v1/audit"]),
        PageKind("fleet", ["/fleet"]),
    ]  # fmt: skip
    return kinds


_ALSO_BY_API: Final = ("first", "deep", "FAILED", "channel", "domain", "harvester")


def request_pages(
    address: str, cookies: Mapping[str, str], paths: Sequence[str], requests: int, concurrency: int
) -> tuple[list[float], int]:
    """Return the seconds of each request, and how many failed."""
    turns = iter(range(requests))
    lock = threading.Lock()
    times: list[float] = []
    errors = 0

    def work() -> None:
        nonlocal errors
        with httpx.Client(base_url=address, cookies=dict(cookies), timeout=120) as client:
            while True:
                with lock:
                    turn = next(turns, None)
                if turn is None:
                    return
                begun = time.perf_counter()
                try:
                    is_answered = client.get(paths[turn % len(paths)]).status_code == 200
                except httpx.HTTPError:
                    is_answered = False
                seconds = time.perf_counter() - begun
                with lock:
                    times.append(seconds)
                    errors += not is_answered

    threads = [threading.Thread(target=work) for _ in range(concurrency)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return times, errors


@contextmanager
def served(url: str, home: Path) -> Iterator[tuple[str, int]]:
    """Serve the site in a process of its own until the end of the block; yield its address and the process's number."""
    listener = socket.create_server(("127.0.0.1", 0))
    address = f"http://127.0.0.1:{listener.getsockname()[1]}"
    process = _CONTEXT.Process(target=_serve, args=(url, str(home), listener), daemon=True)
    process.start()
    listener.close()
    try:
        until, pause = time.monotonic() + _START_SECONDS, threading.Event()
        while True:
            try:
                httpx.get(f"{address}/login", timeout=_START_SECONDS)
                break
            except httpx.TransportError:
                if not process.is_alive() or time.monotonic() > until:
                    raise UseCaseError("the site did not start; its error stands above") from None
                pause.wait(0.1)
        assert process.pid is not None
        yield address, process.pid
    finally:
        process.terminate()
        process.join()


class _UnkeptReadings(RecentReadings):
    """Readings are not kept, since the bench asks for the same path many times in a row: each request costs its own."""

    def read[T](self, actor: Actor, name: str, use_case: Callable[[Transaction], T], *arguments: Hashable) -> T:
        """Return what the use case returns now."""
        with self._database.reading(actor) as transaction:
            return use_case(transaction)


def _serve(url: str, home: str, listener: socket.socket) -> None:
    application.RecentReadings = _UnkeptReadings  # type: ignore[attr-defined]
    settings = load({"home": home}, environment={})
    settings.home.mkdir(parents=True, exist_ok=True)
    make_server(Database(url, settings=settings), settings).run([listener])


def _cpu_seconds(pid: int) -> float | None:
    return resource_usage(pid).cpu if Path("/proc/self/stat").exists() else None


def logged_in(address: str, token: str) -> dict[str, Any]:
    """Log in by a one-time link, and return the cookies."""
    with httpx.Client(base_url=address, timeout=120) as client:
        path = f"/welcome/{token}"
        found = re.search(r'name="csrf_token" value="([^"]+)"', client.get(path).text)
        if found is None:
            raise UseCaseError("the site does not show the page of the one-time link")
        values = {"name": _NAME, "password": _PASSWORD, "repeated": _PASSWORD, "zone": "UTC"}
        answer = client.post(path, data={"csrf_token": found[1], **values})
        if answer.status_code != 303:
            raise UseCaseError(f"the site refused the bench's login with status {answer.status_code}")
        return dict(client.cookies)
