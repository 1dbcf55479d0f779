"""Bad days of QA: pages, collections and programs that misbehave. Each session ends in time and names the trouble."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import delete
from support.origins.routed_site import Asked, Routed, RoutedSite
from support.processes.waiting import until

from admin.models.database import Database, open_database
from admin.models.qa_tables import QaPageState, QaSession, QaState
from admin.qa import sessions
from admin.qa.leases import QA
from admin.qa.sessions import NewQaSession, QaPageView
from archive.settings.load import load
from bench.process import our_command, source_environment
from dedupdb.captures.schema import CAPTURES, open_engine

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
SECONDS = 300.0
NAME = "days"
_HANGS = "<script src=/whole.js></script><script>if (!window.whole) for (;;) ;</script>"
_ASKS = """<script src=/whole.js></script><script>
let n = 0;
const ask = () => fetch("/never/" + n++).finally(ask);
if (!window.whole) for (let i = 0; i < 8; i++) ask();
</script>"""
PAGES = {
    "good": "<p>A good page.",
    "hangs": f"<p>A page that hangs.{_HANGS}",
    "asks": f"<p>A page that asks.{_ASKS}",
    "tall": "<style>p{height:30px;margin:0}</style>" + "".join(f"<p>row {number}" for number in range(1000)),
    "long": f"<p>{'A long text goes on. ' * 100}" * 5_000,
}
"""Pages that are good at their capture. Without the script whole.js, some of them are not in replay."""


def environment(**more: str) -> dict[str, str]:
    return {
        **source_environment(),
        "GHOSTFLEET_PROXY__ALLOW_PRIVATE": "true",
        "GHOSTFLEET_QA__PAGE_SECONDS": "15",
        **more,
    }


def run(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        our_command(*arguments, "--home", str(home)),
        env=environment(**more), capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip


@contextmanager
def captured(home: Path, *names: str) -> Iterator[str]:
    """Crawl the pages, take the script out of the index, and yield the address of the site."""
    links = "".join(f"<a href=/{name}>{name}</a>" for name in names)

    def routes(asked: Asked) -> Routed | None:
        if asked.path == "/whole.js":
            return Routed(b"window.whole = true", "text/javascript")
        body = f"<title>All</title>{links}" if asked.path == "/" else PAGES.get(asked.path[1:])
        return None if body is None else Routed(f"<!doctype html>{body}".encode(), "text/html; charset=utf-8")

    with RoutedSite(routes) as site:
        url = site.url("").rstrip("/")
        done = run(home, "crawl", f"{url}/", "--collection", NAME, "--visitor", "browser", "--delay", "0")
        assert done.returncode == 0, done.stdout + done.stderr
        engine = open_engine(load({"home": str(home)}, environment={}).database_url)
        with engine.begin() as connection:
            connection.execute(delete(CAPTURES).where(CAPTURES.c.url == f"{url}/whole.js"))
        engine.dispose()
        yield url


def judged(home: Path, session: int = 1) -> Mapping[str, QaPageView]:
    """Return the judged pages by the last part of their URL."""
    with opened(home) as database, database.reading(QA) as reading:
        found = sessions.list_pages(reading, session, limit=500).items
    return {page.url.rpartition("/")[2]: page for page in found}


@contextmanager
def opened(home: Path) -> Iterator[Database]:
    database = open_database(load({"home": str(home)}, environment={}))
    try:
        yield database
    finally:
        database.close()


def states(database: Database, session: int) -> list[QaPageState]:
    with database.reading(QA) as reading:
        return [page.state for page in reading.session.get_one(QaSession, session).rows]


def state(database: Database, session: int) -> QaState:
    with database.reading(QA) as reading:
        return reading.session.get_one(QaSession, session).state


def kinds(page: QaPageView) -> set[str]:
    return {str(reason["kind"]) for reason in page.reasons}


def test_pages_that_misbehave_in_replay_are_judged_in_time_and_named(home: Path) -> None:
    with captured(home, *PAGES):
        pass
    done = run(home, "qa", "run", NAME, "--workers", "2")
    found = judged(home)
    assert set(found) == {"", *PAGES}, done.stderr
    assert all(page.state is QaPageState.JUDGED for page in found.values()), found
    assert found["good"].score == found["tall"].score == 100, done.stdout
    assert kinds(found["long"]) <= {"hangs"}, "a slow machine may need more than 15 seconds for 10 MB of text"
    assert "hangs" in kinds(found["hangs"])
    assert "missing-script" in kinds(found["asks"])


@pytest.mark.parametrize("way", ["command", "signal"])
def test_a_stop_ends_the_visit_of_a_page_that_hangs_and_the_session_goes_on_later(home: Path, way: str) -> None:
    with captured(home, "hangs", "good"):
        pass
    with opened(home) as database:
        with database.transaction(QA) as transaction:
            number = sessions.start(transaction, NewQaSession(collection=NAME)).id
        command = our_command("qa", "work", "--home", str(home))
        slow = environment(GHOSTFLEET_QA__PAGE_SECONDS="600", GHOSTFLEET_BROWSERS__LOAD_SECONDS="500")
        with subprocess.Popen(command, env=slow, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            until(
                lambda: states(database, number).count(QaPageState.JUDGED) == 2, what="the good pages", within=SECONDS
            )
            assert states(database, number).count(QaPageState.TAKEN) == 1
            asked = time.monotonic()
            if way == "command":
                with database.transaction(QA) as transaction:
                    sessions.stop(transaction, number)
            else:
                process.send_signal(signal.SIGINT)
            ended = QaState.STOPPED if way == "command" else QaState.WAITING
            until(lambda: state(database, number) is ended, what="the end of the session", within=60)
            print(f"seconds until the session had ended: {time.monotonic() - asked:.1f}")
            assert sorted(states(database, number)) == ["judged", "judged", "waiting"]
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            print(f"seconds until the process had ended: {time.monotonic() - asked:.1f}")
        before = {name: page.judged for name, page in judged(home, number).items()}
        if way == "command":
            with database.transaction(QA) as transaction:
                sessions.resume(transaction, number)
        with subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL) as process:
            until(lambda: state(database, number) is QaState.DONE, what="all judgements", within=SECONDS)
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        after = judged(home, number)
        assert {name: after[name].judged for name in before} == before
        assert "hangs" in kinds(after["hangs"])
