"""Bad days of QA: pages, collections and programs that misbehave. Each session ends in time and names the trouble."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sqlalchemy import delete, select
from support.origins.routed_site import Asked, Routed, RoutedSite
from support.processes.waiting import until
from support.qa.crawled_home import Crawled

from admin.collections.reader_misses import MissCollector
from admin.models.database import Database, open_database
from admin.models.qa_tables import QaPageState, QaSession, QaState
from admin.qa import sessions
from admin.qa.leases import QA
from admin.qa.reviewing import missed_urls, repairs
from admin.qa.reviewing.missed_urls import MissRepair
from admin.qa.reviewing.repairs import RepairPartView
from admin.qa.sessions import NewQaSession, QaPageView
from archive.settings.load import load
from bench.process import our_command, source_environment, tree
from dedupdb.captures.schema import CAPTURES, open_engine

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]
SECONDS = 300.0
NAME = "days"
BRIEF = {
    "GHOSTFLEET_QA__PAGE_SECONDS": "15",
    "GHOSTFLEET_BROWSERS__LOAD_SECONDS": "5",
    "GHOSTFLEET_BROWSERS__SETTLE_MAX_SECONDS": "5",
}
"""Times after which a page that misbehaves is left."""
WITHOUT_END = {
    "GHOSTFLEET_QA__PAGE_SECONDS": "600",
    "GHOSTFLEET_BROWSERS__LOAD_SECONDS": "500",
    "GHOSTFLEET_BROWSERS__SETTLE_MAX_SECONDS": "500",
}
_HANGS = "<script src=/whole.js></script><script>if (!window.whole) for (;;) ;</script>"
_ASKS = """<script src=/whole.js></script><script>
let n = 0;
const ask = () => fetch("/never/" + n++).finally(ask);
if (!window.whole) for (let i = 0; i < 2; i++) ask();
</script>"""
PAGES = {
    "good": "<p>A good page.",
    "better": "<p>Another good page.",
    "best": "<p>A third good page.",
    "hangs": f"<p>A page that hangs.{_HANGS}",
    "asks": f"<p>A page that asks.{_ASKS}",
    "tall": "<style>p{height:30px;margin:0}</style>" + "".join(f"<p>row {number}" for number in range(1000)),
    "long": f"<p>{'A long text goes on. ' * 100}" * 500,
}
"""Pages that are good at their capture. Without the script whole.js, some of them are not in replay."""


def environment(**more: str) -> dict[str, str]:
    return {
        **source_environment(),
        "GHOSTFLEET_PROXY__ALLOW_PRIVATE": "true",
        "GHOSTFLEET_QA__PAGE_SECONDS": "60",
        "GHOSTFLEET_QA__PROCESS_SECONDS": "0.2",
        **more,
    }


def run(home: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        our_command(*arguments, "--home", str(home)),
        env=environment(**more), capture_output=True, text=True, timeout=SECONDS, check=False,
    )  # fmt: skip


@contextmanager
def captured(home: Path, *names: str, **settings: str) -> Iterator[str]:
    """Crawl the pages, take the script out of the index, and yield the address of the site."""
    links = "".join(f"<a href=/{name}>{name}</a>" for name in names)

    def routes(asked: Asked) -> Routed | None:
        if asked.path == "/whole.js":
            return Routed(b"window.whole = true", "text/javascript")
        body = f"<title>All</title>{links}" if asked.path == "/" else PAGES.get(asked.path[1:])
        return None if body is None else Routed(f"<!doctype html>{body}".encode(), "text/html; charset=utf-8")

    with RoutedSite(routes) as site:
        url = site.url("").rstrip("/")
        done = run(home, "crawl", f"{url}/", "--collection", NAME, "--visitor", "browser", "--delay", "0", **settings)
        assert done.returncode == 0, done.stdout + done.stderr
        engine = open_engine(load({"home": str(home)}, environment={}).database_url)
        with engine.begin() as connection:
            connection.execute(delete(CAPTURES).where(CAPTURES.c.url == f"{url}/whole.js"))
        engine.dispose()
        yield url


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """Two good pages, and two that misbehave in replay."""
    home = tmp_path_factory.mktemp("days") / "home"
    with captured(home, "good", "best", "hangs", "asks") as url:
        yield Crawled(url, home)


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


@pytest.mark.slow
def test_pages_that_misbehave_in_replay_are_judged_in_time_and_named(home: Path, days: Crawled) -> None:
    """The quick form is the end of `test_a_stop_ends_the_visits…`."""
    days.copy(home)
    done = run(home, "qa", "run", NAME, "--workers", "2", **BRIEF)
    found = judged(home)
    assert set(found) == {"", "good", "best", "hangs", "asks"}, done.stderr
    assert all(page.state is QaPageState.JUDGED for page in found.values()), found
    assert found["good"].score == 100, done.stdout
    assert "hangs" in kinds(found["hangs"])
    assert "missing-script" in kinds(found["asks"])


@pytest.mark.slow
def test_pages_that_are_large_are_judged_in_time(home: Path) -> None:
    with captured(home, "tall", "long"):
        pass
    done = run(home, "qa", "run", NAME, "--workers", "2", GHOSTFLEET_QA__PAGE_SECONDS="15")
    found = judged(home)
    assert set(found) == {"", "tall", "long"}, done.stderr
    assert all(page.state is QaPageState.JUDGED for page in found.values()), found
    assert kinds(found["tall"]) | kinds(found["long"]) <= {"hangs"}, "a slow machine may need more than 15 seconds"


@pytest.mark.parametrize("way", ["command", pytest.param("signal", marks=pytest.mark.slow)])
def test_a_stop_ends_the_visits_of_pages_that_hang_and_later_the_pages_are_named(
    home: Path, days: Crawled, way: str
) -> None:
    url = days.copy(home)
    with opened(home) as database:
        with database.transaction(QA) as transaction:
            wanted = [f"{url}/", f"{url}/hangs", f"{url}/asks", f"{url}/good"]
            number = sessions.start(transaction, NewQaSession(collection=NAME, urls=wanted)).id
        command = our_command("qa", "work", "--home", str(home))
        slow = environment(**WITHOUT_END, GHOSTFLEET_QA__WORKERS="4")
        with subprocess.Popen(command, env=slow, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            until(
                lambda: Counter(states(database, number)) == {QaPageState.JUDGED: 2, QaPageState.TAKEN: 2},
                what="the good pages", within=SECONDS, every=0.1,
            )  # fmt: skip
            asked = time.monotonic()
            if way == "command":
                with database.transaction(QA) as transaction:
                    sessions.stop(transaction, number)
            else:
                process.send_signal(signal.SIGINT)
            ended = QaState.STOPPED if way == "command" else QaState.WAITING
            until(lambda: state(database, number) is ended, what="the end of the session", within=60)
            print(f"seconds until the session had ended: {time.monotonic() - asked:.1f}")
            assert sorted(states(database, number)) == ["judged", "judged", "waiting", "waiting"]
            process.send_signal(signal.SIGTERM)
            process.wait(60)
            print(f"seconds until the process had ended: {time.monotonic() - asked:.1f}")
        before = {name: page.judged for name, page in judged(home, number).items()}
        if way == "command":
            with database.transaction(QA) as transaction:
                sessions.resume(transaction, number)
        brief = environment(**{**BRIEF, "GHOSTFLEET_QA__PAGE_SECONDS": "20", "GHOSTFLEET_BROWSERS__LOAD_SECONDS": "15"})
        with subprocess.Popen(command, env=brief, stderr=subprocess.DEVNULL) as process:
            until(lambda: state(database, number) is QaState.DONE, what="the end", within=SECONDS, every=0.1)
            process.send_signal(signal.SIGTERM)
            process.wait(60)
        after = judged(home, number)
        assert {name: after[name].judged for name in before} == before
        assert "hangs" in kinds(after["hangs"])
        assert "missing-script" in kinds(after["asks"])


def browser_of(process: subprocess.Popen[bytes]) -> int:
    """Return the process of the browser with which another process judges pages; 0 while there is none."""
    for pid in tree(process.pid):
        with suppress(OSError):
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            if b"chrom" in command.partition(b"\0")[0] and b"--type=" not in command:
                return pid
    return 0


@contextmanager
def working(home: Path, log: Path, **settings: str) -> Iterator[subprocess.Popen[bytes]]:
    """A QA process with a log, which is asked to end at the end."""
    command = our_command("qa", "work", "--home", str(home))
    with (
        log.open("ab") as file,
        subprocess.Popen(command, env=environment(**settings), stdout=subprocess.DEVNULL, stderr=file) as process,
    ):
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def start(database: Database, count: int = 1) -> list[int]:
    with database.transaction(QA) as transaction:
        return [sessions.start(transaction, NewQaSession(collection=NAME)).id for _ in range(count)]


@pytest.mark.slow
def test_two_sessions_at_once_judge_moved_files_although_a_browser_is_killed(home: Path, tmp_path: Path) -> None:
    storage = tmp_path / "storage"
    storage.mkdir()
    stored = {"GHOSTFLEET_STORAGE__URL": str(storage)}
    with captured(home, "good", "better", **stored):
        pass
    for file in load({"home": str(home)}, environment={}).archive_dir(NAME).glob("*.warc.gz"):
        assert list(storage.rglob(file.name)), "the file is in the storage"
        file.unlink()
    with opened(home) as database, working(home, tmp_path / "log", **stored) as first:
        both = start(database, 2)
        with working(home, tmp_path / "log", **stored):
            for _ in range(2):
                browser = until(lambda: browser_of(first), what="a browser", within=SECONDS)
                until(
                    lambda: "taken" in states(database, both[0]) + states(database, both[1]), what="a visit", within=60
                )
                os.kill(browser, signal.SIGKILL)
                until(lambda pid=browser: browser_of(first) != pid, what="the end of the browser", within=60)
            for number in both:
                until(lambda number=number: state(database, number) is QaState.DONE, what="an end", within=SECONDS)
    for number in both:
        found = judged(home, number)
        assert {name: (page.score, page.why) for name, page in found.items()} == dict.fromkeys(
            ("", "good", "better"), (100, "")
        )


@pytest.mark.slow
def test_what_readers_missed_is_captured_by_a_repair_and_judged(home: Path, days: Crawled, tmp_path: Path) -> None:
    url = days.copy(home)
    with opened(home) as database:
        collector = MissCollector(load({"home": str(home), "view.collect_misses": True}, environment={}))
        collector.note(NAME, f"{url}/whole.js", f"{url}/asks")
        collector.note(NAME, f"{url}/better", "")
        collector.flush()
        with database.transaction(QA) as transaction:
            number = missed_urls.repair_missed(transaction, NAME, MissRepair()).id

        def parts() -> list[RepairPartView]:
            with database.reading(QA) as reading:
                return repairs.show(reading, number).parts

        with working(home, tmp_path / "log"):
            until(
                lambda: all(part.score_after >= 0 for part in parts()), what="the judgement", within=SECONDS, every=0.2
            )
        with database.reading(QA) as reading:
            assert missed_urls.list_missed(reading, NAME).items == []
        found = {part.url: (part.score_after, [each["why"] for each in part.outcomes]) for part in parts()}
        assert found == dict.fromkeys((f"{url}/asks", f"{url}/better"), (100, [""]))


def test_a_damaged_record_is_named_and_the_other_pages_are_judged(home: Path, days: Crawled) -> None:
    url = days.copy(home)
    settings = load({"home": str(home)}, environment={})
    engine = open_engine(settings.database_url)
    with engine.begin() as connection:
        wanted = select(CAPTURES.c.filename, CAPTURES.c.offset, CAPTURES.c.length).where(
            CAPTURES.c.url == f"{url}/good", CAPTURES.c.kind == "response"
        )
        ((name, offset, length),) = connection.execute(wanted).all()
    engine.dispose()
    damaged = settings.archive_dir(NAME) / Path(name).name
    content = bytearray(damaged.read_bytes())
    content[offset + length // 2 : offset + length // 2 + length // 4] = b"\xff" * (length // 4)
    damaged.unlink()  # the file belongs to the other tests, too
    damaged.write_bytes(content)
    (home / "pages.txt").write_text(f"{url}/\n{url}/good\n{url}/best\n", "utf-8")
    run(home, "qa", "run", NAME, "--workers", "2", "--pages", str(home / "pages.txt"))
    found = judged(home)
    assert {name: page.state for name, page in found.items()} == dict.fromkeys(("", "good", "best"), QaPageState.JUDGED)
    assert "page-missing" in kinds(found["good"])
    assert found[""].score == found["best"].score == 100


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of its own with little room; skips where it can't be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=120m", "tmpfs", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.slow
def test_a_session_goes_on_by_itself_when_a_full_disk_has_room_again(small_disk: Path, tmp_path: Path) -> None:
    home, ballast, log = small_disk / "home", small_disk / "ballast", tmp_path / "log"
    enough = {"GHOSTFLEET_ARCHIVE__MIN_FREE_BYTES": "0"}
    with captured(home, "good", "better", **enough):
        pass
    with opened(home) as database, working(home, log, **enough) as process:
        (number,) = start(database)
        until(lambda: "judged" in states(database, number), what="the first judgement", within=SECONDS)
        with suppress(OSError), ballast.open("wb", buffering=0) as file:
            while True:
                file.write(bytes(4096))
        until(lambda: "disk is full" in log.read_text("utf-8", "replace"), what="the trouble by name", within=SECONDS)
        assert process.poll() is None
        ballast.unlink()
        until(lambda: state(database, number) is QaState.DONE, what="all judgements", within=SECONDS)
    assert {name: (page.state, page.score) for name, page in judged(home, number).items()} == dict.fromkeys(
        ("", "good", "better"), (QaPageState.JUDGED, 100)
    )
