"""From the first administrator to a page in replay: a person at a browser, and `ghostfleet up` on this machine."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, sync_playwright
from playwright.sync_api import Page as Tab
from selectolax.lexbor import LexborHTMLParser
from support.admin.harvesters import FAST
from support.origins.many_sites import ManySites
from support.processes.ghostfleet_command import Command
from support.processes.waiting import until
from support.web.axe_pages import serious
from support.web.site_server import PASSWORD
from warcio.archiveiterator import ArchiveIterator

from archive import crawl_log
from archive.warc.upkeep.check import check
from browsers.engines.chromium.executable import find_chromium

pytestmark = pytest.mark.browser

FREE_PORTS: Final = ("--port", "0", "--proxy-port", "0", "--replay-port", "0", "--view-port", "0")
QUICK: Final = {
    **FAST,
    "GHOSTFLEET_HARVESTER__SEND_READY_SECONDS": "1",
    "GHOSTFLEET_GENERATION__PERIOD_SECONDS": "0.5",
    "GHOSTFLEET_GENERATION__LEASE_SECONDS": "3",
    "GHOSTFLEET_HARVESTS__DEFAULT_MAX_RATE": "6000",
}
MANY: Final = 1_000
SOME: Final = 8
HOUR: Final = 3_600
SLOW: Final = "slow-news.org"


@pytest.fixture
def sites() -> Iterator[ManySites]:
    with ManySites() as running:
        yield running


@pytest.fixture
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium(""), args=["--no-sandbox"])
        yield browser
        browser.close()


class Person:
    """A person who uses the site in a browser, and a program with the same session."""

    def __init__(self, tab: Tab, address: str) -> None:
        self.tab = tab
        self.address = address

    def goto(self, path: str) -> None:
        self.tab.goto(path if path.startswith("http") else self.address + path)

    def fill(self, **fields: str) -> None:
        """Type into the fields with these names; in names, two underscores stand for a dot."""
        for name, value in fields.items():
            self.tab.locator(f"[name='{name.replace('__', '.')}']:visible").first.fill(value)

    def press(self, name: str) -> None:
        self.tab.get_by_role("button", name=name, exact=True).click()

    def send(self, name: str) -> None:
        """Press a button and wait for the next page, which would interrupt a later navigation."""
        with self.tab.expect_navigation():
            self.press(name)

    def told(self, path: str, **query: Any) -> Any:
        answer = self.tab.request.get(f"{self.address}/api/v1{path}", params=query)
        assert answer.status == 200, answer.text()
        return answer.json()

    def jobs(self, **query: Any) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.told("/jobs", **query)["items"]
        return found

    def job_in(self, harvest: str, status: str, run: int) -> dict[str, Any]:
        """The job of a run of a harvest, once it is in this state."""

        def found() -> dict[str, Any] | None:
            jobs = [job for job in self.jobs() if job["harvest_name"] == harvest and job["run_number"] == run]
            return next((job for job in jobs if job["status"] == status), None)

        return until(found, what=f"a job of {harvest}, run {run}, to be {status}", within=150, every=0.2)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("count", [SOME, pytest.param(MANY, marks=pytest.mark.slow)])
def test_a_person_harvests_many_domains_and_sees_a_page_in_replay(
    tmp_path: Path, sites: ManySites, browser: Browser, count: int
) -> None:
    clock = tmp_path / "clock"
    clock.write_text("0")
    environment = {
        **QUICK,
        "GHOSTFLEET_DATABASE__CLOCK_FILE": str(clock),
        "GHOSTFLEET_HARVESTS__DEFAULT_TEMPLATE": "quick",
    }
    reaching = ("--allow-private", "--resolve", f"*.org={sites.address}")
    with Command("up", "--json", *FREE_PORTS, *reaching, home=tmp_path / "home", **environment) as command:
        ready = command.line(ready=True)
        assert {"harvester-FOCUSED", "harvester-SNAPSHOT"} <= set(ready["pids"])
        context = browser.new_context(viewport={"width": 1280, "height": 900})
        context.set_default_timeout(120_000)  # a slow machine is no failure
        person = Person(context.new_page(), ready["admin"])
        become_administrator(person, ready["first_administrator"])
        make_template(person)
        upload_domains(person, count)
        make_harvests(person)

        first = person.job_in("hourly news", "STARTED", 0)
        watch_pause_and_resume(person, first["id"])
        sites.hurry()
        snapshot = person.job_in("everything", "DONE", 0)
        first = person.job_in("hourly news", "DONE", 0)
        sites.dawdle()
        clock.write_text(str(HOUR + 60))

        second = person.job_in("hourly news", "STARTED", 1)
        until(lambda: person.told(f"/jobs/{second['id']}")["objects"] >= 3, what="some objects", within=60, every=0.2)
        harvester = pid_of(person, second["harvester"])
        os.kill(harvester, signal.SIGKILL)
        sites.hurry()
        failed = person.job_in("hourly news", "FAILED", 1)
        assert "interrupted" in failed["harvest_error"]
        again = resubmit(person, failed["id"])
        done = until(lambda: ended(person, again), what="the resubmitted job to end", within=150, every=0.2)
        assert (done["status"], done["resubmission_of_id"]) == ("DONE", failed["id"])

        for number in (first["id"], snapshot["id"], failed["id"], done["id"]):
            statistics_are_those_of_the_crawl_log(person, tmp_path / "home", number)
        domains = person.told(f"/jobs/{snapshot['id']}/domains", limit=1)
        assert domains["total"] == count + 1
        if count == MANY:
            every_page_opens(person)
        session = open_in_replay(person)
        sites.stop()
        sees_the_archive(browser, session, "http://www.gf0007.org/", "This is www.gf0007.org")
        command.signal(signal.SIGINT)
        assert command.ended() == 0


def become_administrator(person: Person, link: str) -> None:
    person.goto(link)
    person.fill(name="first", zone="Europe/Copenhagen", password=PASSWORD, repeated=PASSWORD)
    person.press("Make the user")
    person.tab.get_by_role("heading", name="Overview").wait_for()


def make_template(person: Person) -> None:
    """The stock template without pauses, by the form of fields."""
    person.goto("/templates/new")
    person.fill(name="quick")
    if not person.tab.locator("fieldset.section").count():
        person.press("Fields")
    person.tab.locator("details", has=person.tab.locator("[id$='politeness-delay_factor']")).locator("summary").click()
    for field, value in {"delay_factor": "0", "min_delay_seconds": "0", "max_delay_seconds": "0"}.items():
        person.tab.locator(f"[id$='politeness-{field}']").fill(value)
    person.press("Save")
    person.tab.wait_for_url("**/templates/quick")
    assert "min_delay_seconds: 0" in person.told("/templates/quick")["text"]


def upload_domains(person: Person, count: int) -> None:
    person.goto("/domains/upload")
    names = [f"gf{number:04}.org" for number in range(count)]
    person.fill(text="\n".join([*names, SLOW, "no domain at all"]))
    person.press("Add the domains")
    person.tab.get_by_text(f"Line {count + 2}").wait_for()
    assert person.told("/domains", limit=1)["total"] == count + 1


def make_harvests(person: Person) -> None:
    person.goto("/harvests/new?kind=selective")
    person.fill(name="hourly news", collection="news", configurations=SLOW)
    person.tab.locator("[name=schedule]").select_option(label="hourly")
    person.press("Save")
    person.send("Activate")
    person.goto("/harvests/new?kind=snapshot")
    person.fill(name="everything", collection="all", max_objects="10")
    person.press("Save")
    person.send("Activate")


def watch_pause_and_resume(person: Person, number: int) -> None:
    """The page of the job changes by itself; a pause holds until it is taken back."""
    person.goto(f"/jobs/{number}")
    objects = person.tab.locator("#live article", has_text="expected").locator(".big")
    until(lambda: objects.inner_text().isdecimal() and int(objects.inner_text()) >= 2, what="progress", within=60)
    person.send("Pause")
    status = person.tab.locator("#live [role=status]").first
    until(lambda: "paused" in status.inner_text(), what="the page to say paused", within=60)
    person.goto(f"/jobs/{number}")
    person.press("Resume")
    until(lambda: "paused" not in status.inner_text(), what="the page to say that the job runs", within=60)


def pid_of(person: Person, name: str) -> int:
    (found,) = [each for each in person.told("/harvesters")["items"] if each["name"] == name]
    return int(found["pid"])


def resubmit(person: Person, number: int) -> int:
    person.goto(f"/jobs/{number}")
    person.press("Resubmit …")
    person.press("Yes, resubmit")
    person.tab.get_by_text(f"Job {number} was resubmitted").wait_for()
    return int(urlsplit(person.tab.url).path.rpartition("/")[2])


def ended(person: Person, number: int) -> dict[str, Any] | None:
    job: dict[str, Any] = person.told(f"/jobs/{number}")
    return job if job["status"] in ("DONE", "FAILED") else None


def statistics_are_those_of_the_crawl_log(person: Person, home: Path, number: int) -> None:
    """The metadata file is valid, and its crawl.log has the objects and bytes that the statistics say."""
    job = person.told(f"/jobs/{number}")
    (path,) = (home / "collections" / job["collection"] / "archive").glob(f"{number}-metadata-1.warc*")
    assert [str(problem) for problem in check(path)] == []
    sums: dict[str, tuple[int, int]] = {}
    for text in crawl_log_of(path):
        line = crawl_log.parse(text)
        host = urlsplit(line.source).hostname or urlsplit(line.url).hostname or ""
        if line.code > 0 and not line.extra.get("annotates"):
            objects, size = sums.get(host.removeprefix("www."), (0, 0))
            sums[host.removeprefix("www.")] = (objects + 1, size + line.extra["contentSize"])
    told, after = {}, None
    while True:
        page = person.told(f"/jobs/{number}/domains", limit=500, **({"after": after} if after else {}))
        told |= {each["domain_name"]: (each["objects"], each["bytes"]) for each in page["items"] if each["objects"]}
        if (after := page["next"]) is None:
            break
    assert told == sums
    total = person.told(f"/jobs/{job['id']}")
    assert (total["objects"], total["bytes"]) == (
        sum(each[0] for each in sums.values()),
        sum(s[1] for s in sums.values()),
    )


def crawl_log_of(path: Path) -> list[str]:
    with path.open("rb") as file:
        for record in ArchiveIterator(file):
            if "/crawl/logs/crawl.log?" in (record.rec_headers.get_header("WARC-Target-URI") or ""):
                return list(record.content_stream().read().decode().splitlines())
    raise AssertionError(f"{path} has no crawl.log")


def every_page_opens(person: Person) -> None:
    """Open each page of the site that a link leads to, one for each kind of address, and check it with axe.

    `tests/admin/site` checks the pages each time.
    """
    seen: set[str] = set()
    waiting, found = ["/"], list[str]()
    while waiting:
        path = waiting.pop(0)
        shape = re.sub(r"\d+|(?<=/domains/)[^/?]+\.org|(?<=offset=)\d+", "*", path.partition("?")[0])
        if shape in seen:
            continue
        seen.add(shape)
        answer = person.tab.request.get(person.address + path)
        assert answer.ok, f"{path}: {answer.status}"
        person.goto(path)
        found += serious(person.tab, path)
        links = [node.attributes["href"] or "" for node in LexborHTMLParser(answer.body()).css("a[href]")]
        waiting += [link for link in links if link.startswith("/") and not is_left_out(link)]
    assert found == []
    assert len(seen) > 25, sorted(seen)


def is_left_out(link: str) -> bool:
    """Downloads, and the page that ends the session."""
    return bool(re.search(r"\.txt|\.csv|\.pdf|/download|/file(?:\?|$)|/picture|openapi|logout|/api/", link))


def open_in_replay(person: Person) -> str:
    """Search a capture on the page of the collection, and open a session for it. Return the proxy's address."""
    person.goto("/collections/all/captures?url=http%3A%2F%2Fwww.gf0007.org%2F&match=exact")
    person.tab.locator("table a[href*='/capture?']").first.click()
    person.press("Open a replay session")
    return person.tab.locator("#replay-proxy").inner_text()


def sees_the_archive(browser: Browser, proxy: str, url: str, text: str) -> None:
    context = browser.new_context(proxy={"server": f"http://{proxy}", "bypass": "<-loopback>"})
    try:
        tab = context.new_page()
        answer = tab.goto(url)
        assert answer is not None
        assert answer.status == 200
        assert text in tab.inner_text("body")
        assert "memento-datetime" in answer.headers
    finally:
        context.close()
