"""QA from a crawl to a healed page: no false alarm, each wound is named, repaired, and judged again."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, sync_playwright
from sqlalchemy import delete, select, update
from support.browsers.recorded_window import ended, recording, steered
from support.origins.routed_site import Asked, Routed, RoutedSite
from support.processes.waiting import until
from support.qa.alarm_site import CAUSES, Cause, answer
from support.qa.crawled_home import Crawled
from support.web.site_server import RunningSite, running_site

from admin.models.database import open_database
from admin.models.people_tables import Role
from admin.models.qa_tables import QaPageState, QaSession, QaState
from admin.qa import sessions
from admin.qa.leases import QA
from admin.qa.reviewing import repairs
from admin.qa.reviewing.report import report_page
from admin.qa.sessions import NewQaSession, QaPageView
from archive.settings.load import Settings, load
from bench.process import our_command, source_environment
from browsers.engines.chromium.executable import find_chromium
from dedupdb.captures.schema import CAPTURES, open_engine

pytestmark = [pytest.mark.browser, pytest.mark.timeout(900)]
FEW = [cause for cause in CAUSES if cause.name in ("consent", "variant")]
ENVIRONMENT = {
    "GHOSTFLEET_PROXY__ALLOW_PRIVATE": "true",
    "GHOSTFLEET_QA__PROCESS_SECONDS": "0.2",
}
SECONDS = 400.0


def run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        our_command(*arguments, "--home", str(home)),
        env={**source_environment(), **ENVIRONMENT},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


@contextmanager
def alarm_site(causes: Sequence[Cause]) -> Iterator[tuple[RoutedSite, str]]:
    def routes(asked: Asked) -> Routed | None:
        if asked.path == "/":
            links = "".join(f'<a href="/{cause.name}/{part}">a</a>' for cause in causes for part in ("", "lost/"))
            return Routed(f"<!doctype html><title>All</title>{links}".encode(), "text/html; charset=utf-8")
        found = answer(asked.path)
        return None if found is None else Routed(found[0], found[1], headers=(("Cache-Control", "no-store"),))

    with RoutedSite(routes) as site:
        yield site, site.url("").rstrip("/")


@pytest.fixture(scope="module")
def few_causes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """The pages of a few causes of differences."""
    home = tmp_path_factory.mktemp("causes") / "home"
    with alarm_site(FEW) as (_, url):
        crawl(home, url)
        yield Crawled(url, home)


@pytest.fixture(scope="module")
def bed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crawled]:
    """The flower bed."""
    home = tmp_path_factory.mktemp("bed") / "home"
    with flower_bed() as url:
        crawl(home, url)
        yield Crawled(url, home)


def crawl(home: Path, url: str) -> None:
    done = run(home, "crawl", f"{url}/", "--collection", "alarms", "--visitor", "browser", "--delay", "0")
    assert done.returncode == 0, done.stdout + done.stderr


def wound(home: Path, url: str, causes: Sequence[Cause]) -> dict[str, str]:
    """Take one resource of each twin out of the index; return what is lost, by page."""
    lost = {f"{url}/{cause.name}/lost/": f"{url}/{cause.name}/lost/{cause.lost}" for cause in causes}
    engine = open_engine(load({"home": str(home)}, environment={}).database_url)
    with engine.begin() as connection:
        done = connection.execute(delete(CAPTURES).where(CAPTURES.c.url.in_(lost.values())))
    engine.dispose()
    assert done.rowcount == len(lost)
    return lost


def judged(home: Path, *urls: str) -> dict[str, QaPageView]:
    """Judge the collection by the command, or some pages of it, and return its pages."""
    (home / "pages.txt").write_text("\n".join(urls), "utf-8")
    chosen = ("--pages", str(home / "pages.txt")) if urls else ()
    done = run(home, "qa", "run", "alarms", "--workers", "2", "--json", *chosen)
    assert done.returncode == 3, done.stderr
    return pages(home, json.loads(done.stdout)["id"])


def pages(home: Path, session: int) -> dict[str, QaPageView]:
    database = open_database(load({"home": str(home)}, environment={}))
    with database.reading(QA) as reading:
        found = {page.url: page for page in sessions.list_pages(reading, session, limit=500).items}
    database.close()
    return found


def damaged_resources(page: QaPageView) -> list[Any]:
    return [reason["url"] for reason in page.reasons if reason["kind"].startswith("missing-")]


@contextmanager
def qa_process(home: Path) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        our_command("qa", "work", "--home", str(home)),
        env={**source_environment(), **ENVIRONMENT},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(60)


def wrong_answers(
    found: dict[str, QaPageView], lost: dict[str, str], url: str, causes: Sequence[Cause]
) -> list[tuple[str, str, list[dict[str, Any]]]]:
    """Return the judgements that are wrong: false alarms of whole pages, and twins whose loss is not named alone."""
    wrong = []
    for cause in causes:
        whole, twin = found[f"{url}/{cause.name}/"], found[f"{url}/{cause.name}/lost/"]
        if (whole.severity, whole.reasons) != ("good", []):
            wrong.append((f"false alarm: {cause.name}", whole.severity, whole.reasons))
        if twin.severity in ("good", "") or damaged_resources(twin) != [lost[twin.url]]:
            wrong.append((f"loss not named: {cause.name}", twin.severity, twin.reasons))
    return wrong


def test_wounds_are_named_and_heal(home: Path, few_causes: Crawled) -> None:
    url, causes = few_causes.copy(home), FEW[1:]
    lost = wound(home, url, causes)
    found = judged(home, *(f"{url}/{cause.name}/{part}" for cause in causes for part in ("", "lost/")))
    assert wrong_answers(found, lost, url, causes) == []
    parts = mended(home, 1).parts
    assert {part.url for part in parts} == set(lost)
    assert [(part.score_after, [each["why"] for each in part.outcomes]) for part in parts] == [(100, [""])] * len(parts)
    archive = load({"home": str(home)}, environment={}).archive_dir("alarms")
    assert list(archive.glob("alarms-patch-*")), "a repair writes into files of its own"
    assert list(archive.glob("alarms-qa-*"))


def test_a_page_that_was_captured_by_hand_is_judged_again(home: Path, few_causes: Crawled) -> None:
    lost = wound(home, few_causes.copy(home), FEW[:1])
    bad = judged_page(home, *lost)
    with recording(home, bad.url, collection="alarms") as (process, ready, address):
        chosen = ("--capture-session", str(ready["session"]))
        made = run(home, "qa", "capture-by-hand", str(bad.session_id), str(bad.id), *chosen, "--json")
        assert made.returncode == 0, made.stderr
        with steered(address) as (_, page):
            page.wait_for_load_state("networkidle")
        process.send_signal(signal.SIGINT)
        assert ended(process)["pages"] >= 1
    before = pages(home, bad.session_id)[bad.url].repair
    assert before is not None
    assert (before.state, before.capture_session, before.score_after) == (QaState.WAITING, ready["session"], -1)

    def mended() -> bool:
        found = pages(home, bad.session_id)[bad.url].repair
        return found is not None and found.score_after >= 0

    with qa_process(home):
        until(mended, what="the second judgement", within=SECONDS, every=0.2)
    found = pages(home, bad.session_id)[bad.url].repair
    assert found is not None
    assert (found.why, found.score_before, found.score_after) == ("", bad.score, 100)
    assert found.captured
    shown = json.loads(run(home, "session", "show", str(ready["session"]), "--json").stdout)["mends"]
    assert [(each["qa_page"], each["repair"]["score_after"]) for each in shown] == [(bad.id, 100)]
    database = open_database(load({"home": str(home)}, environment={}))
    with database.reading(QA) as reading:
        report = report_page(reading, bad.session_id).decode()
    database.close()
    assert f"Captured again by hand in session manual-{ready['session']} at" in report
    assert f"{bad.score} points before, 100 after" in report


@pytest.mark.slow
def test_a_killed_session_goes_on_where_it_was(home: Path, few_causes: Crawled) -> None:
    few_causes.copy(home)
    settings: Settings = load({"home": str(home)}, environment={})
    database = open_database(settings)
    with database.transaction(QA) as transaction:
        number = sessions.start(transaction, NewQaSession(collection="alarms")).id

    def count(state: QaPageState) -> int:
        with database.reading(QA) as reading:
            return sum(page.state is state for page in reading.session.get_one(QaSession, number).rows)

    with qa_process(home) as process:
        until(lambda: count(QaPageState.JUDGED) >= 1, what="the first judgement", within=SECONDS)
        process.kill()
        process.wait(60)
    with database.transaction(QA) as transaction:
        row = transaction.session.get_one(QaSession, number)
        assert row.state is QaState.RUNNING
        row.heard = 1  # as if the silence of the killed process had lasted
        kept = {page.url: page.judged for page in row.rows if page.state is QaPageState.JUDGED}
        for page in row.rows:
            page.taken_until = 1 if page.state is QaPageState.TAKEN else page.taken_until
    with qa_process(home):
        until(lambda: count(QaPageState.JUDGED) == 1 + 2 * len(FEW), what="all judgements", within=SECONDS)
    again = {page.url: page.judged for page in pages(home, number).values()}
    assert {url: again[url] for url in kept} == kept, "nothing is judged twice"
    database.close()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_a_person_reviews_thirty_pages_repairs_four_and_hands_over_the_report(home: Path) -> None:
    with garden() as (_, url):
        crawl(home, f"{url}/garden")
        lost = [f"{url}/garden/{number}/picture.png" for number in (3, 11, 19, 27)]
        settings = load({"home": str(home)}, environment={})
        engine = open_engine(settings.database_url)
        with engine.begin() as connection:
            assert connection.execute(delete(CAPTURES).where(CAPTURES.c.url.in_(lost))).rowcount == 4
        engine.dispose()
        database = open_database(settings)
        with qa_process(home), running_site(database, home) as site, driven_tab(site) as tab:
            tab.goto("/qa/start?collection=alarms")
            tab.get_by_role("button", name="Start").click()
            tab.wait_for_url(re.compile(r"/qa/\d+$"))
            session = int(tab.url.rpartition("/")[2])

            def is_judged() -> bool:
                with database.reading(QA) as reading:
                    return reading.session.get_one(QaSession, session).state is QaState.DONE

            until(is_judged, what="the judgement of all pages", within=SECONDS)
            tab.goto(f"/qa/{session}/pages")
            tab.locator("tbody a").first.click()
            tab.wait_for_url(re.compile(r"/pages/\d+"))
            for number in range(30):
                tab.wait_for_load_state("load")  # the keys work from here on
                place = tab.url
                tab.keyboard.press("p" if number < 4 else "a")
                tab.wait_for_function("place => location.href !== place", arg=place)
            assert [each["id"] for each in Axe().run(tab).response["violations"] if each["impact"] == "critical"] == []
            tab.goto(f"/qa/{session}")
            tab.get_by_role("button", name="Repair what was sent to repair").click()
            with database.reading(QA) as reading:
                repair = repairs.list_repairs(reading, "alarms").items[0].id

            def healed() -> bool:
                with database.reading(QA) as reading:
                    parts = repairs.show(reading, repair).parts
                return len(parts) == 4 and all(part.score_after == 100 for part in parts)

            until(healed, what="four pages that are whole again", within=SECONDS)
            report = tab.request.get(f"/qa/{session}/report").text()
        database.close()
    assert all(url in report for url in lost)


GARDEN_HOME = """<!doctype html><title>Home</title><a href=/bed/>bed</a> <a href=/spare.png>spare</a>
<a href=/old>old</a> <a href=/other>other</a>"""
GARDEN_BED = """<!doctype html><title>Bed</title><link rel=stylesheet href=/bed/sheet.css>
<h1>Bed</h1><img src=/bed/hero.png width=600 height=300><div id=menu></div>
<script src=/bed/menu.js></script><script src=/bed/app.js></script><script>paint(menu);</script>"""
GARDEN_SCRIPTS = {
    "/bed/app.js": b"const paint = menu => menu.prepend('painted');\nconst late = document.createElement('script');\n"
    b"late.src = '/bed/late.js';\ndocument.head.append(late);\n",
    "/bed/late.js": b"late.dataset.done = 'yes';",
    "/bed/menu.js": b"for (const name of ['roses', 'herbs', 'trees', 'moss'])\n"
    b"  menu.insertAdjacentHTML('beforeend', `<a href=/${name}>${name}</a> `);\n",
}


@contextmanager
def flower_bed() -> Iterator[str]:
    """A site with a page that needs a style sheet, three scripts and a picture, and a redirect to a page."""

    def routes(asked: Asked) -> Routed | None:
        if asked.path == "/":
            return Routed(GARDEN_HOME.encode(), "text/html; charset=utf-8")
        if asked.path == "/old":
            return Routed(b"", status=302, headers=(("Location", "/new"),))
        if asked.path in ("/new", "/other"):
            text = f"<!doctype html><title>A</title>{asked.path[1:]} page"
            return Routed(text.encode(), "text/html; charset=utf-8")
        if asked.path == "/bed/":
            return Routed(GARDEN_BED.encode(), "text/html; charset=utf-8")
        if asked.path == "/bed/sheet.css":
            return Routed(b"body {background: #efe}", "text/css")
        if asked.path in GARDEN_SCRIPTS:
            return Routed(GARDEN_SCRIPTS[asked.path], "text/javascript")
        found = answer(f"/consent{asked.path.removeprefix('/bed')}") if asked.path.endswith(".png") else None
        return Routed(found[0], found[1]) if found is not None else None

    with RoutedSite(routes) as site:
        yield site.url("").rstrip("/")


def swap(home: Path, there: str, spare: str) -> str:
    """Let the index lead from a resource to the record of another one, and return the digest that the page saw."""
    engine = open_engine(load({"home": str(home)}, environment={}).database_url)
    kept = CAPTURES.c.kind.in_(("response", "revisit"))
    with engine.begin() as connection:
        (row,) = connection.execute(select(CAPTURES).where(CAPTURES.c.url == there, kept)).all()
        connection.execute(delete(CAPTURES).where(CAPTURES.c.url == there))
        place = {"url": there, "key": row.key, "date": row.date, "page_id": row.page_id}
        done = connection.execute(update(CAPTURES).where(CAPTURES.c.url == spare, kept).values(**place))
    engine.dispose()
    assert done.rowcount == 1
    return str(row.digest)


def mended(home: Path, session: int) -> repairs.RepairDetails:
    """Repair all damaged pages of a session, and return the repair when the pages are judged again."""
    database = open_database(load({"home": str(home)}, environment={}))
    with database.transaction(QA) as transaction:
        repair = repairs.start(transaction, session, repairs.NewRepair()).id

    def after() -> repairs.RepairDetails:
        with database.reading(QA) as reading:
            return repairs.show(reading, repair)

    with qa_process(home):
        until(
            lambda: all(part.score_after >= 0 for part in after().parts), what="the repair", within=SECONDS, every=0.2
        )
    found = after()
    database.close()
    return found


def judged_page(home: Path, url: str) -> QaPageView:
    """Judge one page by the command, and return it."""
    (home / "pages.txt").write_text(url, "utf-8")
    done = run(home, "qa", "run", "alarms", "--pages", str(home / "pages.txt"), "--json")
    return pages(home, json.loads(done.stdout)["id"])[url]


@pytest.mark.slow
def test_a_swapped_content_is_named_and_the_repaired_record_wins_in_replay(home: Path, bed: Crawled) -> None:
    url = bed.copy(home)
    hero, page = f"{url}/bed/hero.png", f"{url}/bed/"
    digest = swap(home, hero, f"{url}/spare.png")
    damaged = judged_page(home, page)
    named = {reason["kind"]: reason.get("url") for reason in damaged.reasons}
    assert named["changed-resource"] == hero
    assert "picture" in named
    found = mended(home, damaged.session_id)
    assert [(part.url, part.score_after) for part in found.parts] == [(page, 100)]
    assert found.after_id is not None
    assert pages(home, found.after_id)[page].reasons == []
    engine = open_engine(load({"home": str(home)}, environment={}).database_url)
    with engine.begin() as connection:
        of_hero = connection.execute(select(CAPTURES).where(CAPTURES.c.url == hero)).all()
    engine.dispose()
    new = [row for row in of_hero if row.job == f"repair-{found.id}"]
    assert sorted((row.kind, row.digest) for row in new if row.kind == "response") == [("response", digest)]
    assert [row.kind for row in new if row.kind == "metadata"] == ["metadata"], "the provenance"
    assert {row.page_id for row in new} == {damaged.page_id}


@pytest.mark.slow
def test_a_redirect_that_leads_another_way_in_replay_is_named(home: Path, bed: Crawled) -> None:
    url = bed.copy(home)
    old = f"{url}/old"
    swap(home, old, f"{url}/other")
    (redirect,) = [each for each in judged_page(home, old).reasons if each["kind"] == "redirect"]
    assert f"the capture went by {old} → {url}/new, and the replay by {old}" in redirect["words"]


@pytest.mark.slow
def test_what_the_replay_alone_has_wrong_is_named_with_its_cause(home: Path, bed: Crawled) -> None:
    url = bed.copy(home)
    page = f"{url}/bed/"
    lost = [f"{url}/bed/{name}" for name in ("late.js", "menu.js")]
    engine = open_engine(load({"home": str(home)}, environment={}).database_url)
    with engine.begin() as connection:
        connection.execute(delete(CAPTURES).where(CAPTURES.c.url.in_(lost)))
    engine.dispose()
    found = judged_page(home, page)
    reasons = {reason.get("url", reason["kind"]): reason for reason in found.reasons}
    assert reasons[lost[0]]["initiator"] == f"script {url}/bed/app.js:4"
    assert reasons[lost[1]]["initiator"] == f"document {page}:3"
    assert reasons["links"]["words"] == "4 of 4 links of the capture are not in the replay"
    assert sorted(reasons["links"]["examples"]) == [f"{url}/{name}" for name in ("herbs", "moss", "roses", "trees")]
    assert found.measures["newScriptErrors"] == 0

    engine = open_engine(load({"home": str(home)}, environment={}).database_url)
    with engine.begin() as connection:
        connection.execute(delete(CAPTURES).where(CAPTURES.c.url == f"{url}/bed/app.js"))
    engine.dispose()
    found = judged_page(home, page)
    assert "a script has an error in replay alone: Uncaught ReferenceError: paint is not defined" in " ".join(
        reason["words"] for reason in found.reasons
    )
    report = run(home, "qa", "report-csv", str(found.session_id)).stdout
    assert f"asked for by document {page}:3" in report


@contextmanager
def garden() -> Iterator[tuple[RoutedSite, str]]:
    """A site of thirty pages with a picture each, below one page that links to them."""
    picture = answer("/consent/hero.png")
    assert picture is not None

    def routes(asked: Asked) -> Routed | None:
        if asked.path == "/garden/":
            links = "".join(f'<a href="/garden/{number}/">plant {number}</a> ' for number in range(30))
            return Routed(f"<!doctype html><title>Garden</title>{links}".encode(), "text/html; charset=utf-8")
        if asked.path.endswith("/picture.png"):
            return Routed(picture[0], picture[1])
        if found := re.fullmatch(r"/garden/(\d+)/", asked.path):
            body = f"<!doctype html><title>Plant {found[1]}</title><h1>{found[1]}</h1><img src=picture.png width=400>"
            return Routed(body.encode(), "text/html; charset=utf-8")
        return None

    with RoutedSite(routes) as site:
        yield site, site.url("").rstrip("/")


@contextmanager
def driven_tab(site: RunningSite) -> Iterator[Page]:
    """A tab of a curator who is logged in."""
    with site.client(Role.CURATOR) as client, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(""), args=["--no-sandbox"])
        context = browser.new_context(base_url=site.address, viewport={"width": 1400, "height": 1000})
        context.set_default_timeout(60_000)
        for name, value in client.cookies.items():
            context.add_cookies([{"name": name, "value": value, "url": site.address}])
        yield context.new_page()
        browser.close()


@pytest.mark.slow
@pytest.mark.timeout(5400)
def test_thirteen_causes_give_no_alarm_in_ten_runs(home: Path) -> None:
    with alarm_site(CAUSES) as (_, url):
        crawl(home, url)
    lost = wound(home, url, CAUSES)
    wrong = []
    for number in range(10):
        found = wrong_answers(judged(home), lost, url, CAUSES)
        print(
            f"run {number + 1}: {2 * len(CAUSES) - len(found)} of {2 * len(CAUSES)} are right",
            *found,
            sep="\n",
            flush=True,
        )
        wrong += found
    assert wrong == []
