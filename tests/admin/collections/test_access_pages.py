"""admin/collections/access and its pages: rules that people make in the admin take effect wherever readers are."""

from __future__ import annotations

import html
import re
import threading
import urllib.request
from collections.abc import Iterator

import httpx
import pytest
from sqlalchemy import select
from support.archive.browsed_collection import NAME, Shelf
from support.browsers.running_viewer import running_viewer
from support.proxy.running_proxy import RunningProxy
from support.web.axe_pages import serious_on_pages
from support.web.site_server import RunningSite, running_site, send_form

from admin.models.database import Database
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE
from archive.access_rules import FILE_NAME, Access, AccessRules, load, rule_for
from archive.settings.load import Settings

SITE = "http://example.org"
RULES = f"/collections/{NAME}/access"
API = f"/api/v1{RULES}"
HOSTILE = '"><script>alert(1)</script>'


@pytest.fixture
def shelf(settings: Settings) -> None:
    shelf = Shelf(settings)
    for path in ("/open", "/hidden/a", "/blocked"):
        shelf.page(path)
    shelf.close()


@pytest.fixture
def site(sqlite_database: Database, settings: Settings, shelf: None) -> Iterator[RunningSite]:
    with running_site(sqlite_database, settings.home) as running:
        yield running


@pytest.fixture
def curator(site: RunningSite) -> Iterator[httpx.Client]:
    with site.client(Role.CURATOR) as client:
        yield client


def rules(client: httpx.Client) -> list[dict[str, object]]:
    """The rules as programs read them."""
    found: list[dict[str, object]] = client.get(f"{API}/rules").json()["items"]
    return found


def test_readers_see_what_the_rules_of_the_admin_allow(curator: httpx.Client, settings: Settings) -> None:
    seen = ("/open", "/hidden/a", "/blocked")

    def change(**values: str) -> None:
        answer = send_form(curator, f"{RULES}/rules/new", **values)
        assert (answer.status_code, answer.headers["Location"]) == (303, RULES), answer.text

    with (
        RunningProxy(settings.home, {"proxy.mode": "replay", "proxy.collection": NAME}) as proxy,
        running_viewer(settings) as viewer,
        viewer.client() as reader,
    ):

        def listed() -> list[str]:
            question = f"http://{proxy.ready['cdx']}/{NAME}/cdx?url=*.example.org&fl=url&output=text"
            with urllib.request.urlopen(question, timeout=30) as answer:
                return [line.decode().strip().removeprefix(SITE) for line in answer]

        def statuses() -> list[tuple[int, int]]:
            viewed = [reader.get(f"/w/{NAME}/2026id_/{SITE}{path}").status_code for path in seen]
            return list(zip((proxy.get(SITE + path).status for path in seen), viewed, strict=True))

        assert (statuses(), listed()) == ([(200, 200)] * 3, ["/blocked", "/hidden/a", "/open"])
        change(url=f"{SITE}/hidden/", access="exclude")
        change(url=f"{SITE}/blocked", access="block", is_exact="on")
        assert (statuses(), listed()) == ([(200, 200), (404, 404), (451, 451)], ["/blocked", "/open"])
        hidden = next(str(each["id"]) for each in rules(curator) if each["access"] == "exclude")
        answer = send_form(curator, f"{RULES}/rules/{hidden}", to=f"{RULES}/rules/{hidden}/remove")
        assert answer.status_code == 303
        send_form(curator, f"{RULES}/default", access="allow", newer_days="36500")
        assert (statuses(), listed()) == ([(404, 404), (404, 404), (451, 451)], ["/blocked"])


def test_a_person_lists_searches_changes_and_tries_rules(curator: httpx.Client) -> None:
    assert "There are no rules" in curator.get(RULES).text
    wrong = send_form(curator, f"{RULES}/rules/new", url="http://", access="block", before="soon", newer_days="x")
    assert (wrong.status_code, 'value="soon"' in wrong.text) == (422, True)
    assert 'id="newer_days-problem"' in wrong.text
    wrong = send_form(curator, f"{RULES}/rules/new", url="http://", access="block")
    assert 'id="url-problem"' in wrong.text
    wrong = send_form(curator, f"{RULES}/rules/new", url=SITE, access="block", after="soon")
    assert 'id="after-problem"' in wrong.text
    for url in ("*.example.org", f"{SITE}/news/"):
        assert send_form(curator, f"{RULES}/rules/new", url=url, access="block", after="2026").status_code == 303
    text = curator.get(RULES, params={"text": "news"}).text
    assert ("after 2026-01-01" in text, "*.example.org" in text) == (True, False)
    tried = curator.get(RULES, params={"url": f"{SITE}/news/today", "date": "2026-05-01"}).text
    assert re.search(r"role=\"status\">A capture of .*?block", html.unescape(tried))
    changed = send_form(
        curator, f"{RULES}/rules/{rules(curator)[0]['id']}", url=f"{SITE}/News/", access="allow", older_days="1.5",
        edition=str(rules(curator)[0]["edition"]),
    )  # fmt: skip
    assert changed.status_code == 303
    assert [(each["url"], each["older_days"]) for each in rules(curator)] == [
        (f"{SITE}/News/", 1.5),
        ("*.example.org", None),
    ]


def test_who_changed_the_rules_stands_in_the_audit(site: RunningSite, curator: httpx.Client) -> None:
    send_form(curator, f"{RULES}/rules/new", url=f"{SITE}/a", access="exclude")
    made = rules(curator)[0]
    send_form(curator, f"{RULES}/rules/{made['id']}", url=f"{SITE}/a", access="block")
    send_form(curator, f"{RULES}/rules/{made['id']}", to=f"{RULES}/rules/{made['id']}/remove")
    send_form(curator, f"{RULES}/default", access="block")
    with site.database.reading(COMMAND_LINE) as opened:
        found = opened.session.scalars(
            select(AuditEntry).where(AuditEntry.action.startswith("access-rule.")).order_by(AuditEntry.id)
        ).all()
    assert [(each.action.partition(".")[2], each.actor, each.entity_name) for each in found] == [
        (word, "the-curator", NAME) for word in ("create", "change", "remove", "set-default")
    ]
    assert [each.old and each.old["access"] for each in found] == [None, "exclude", "block", "allow"]
    assert [each.new and each.new["access"] for each in found] == ["exclude", "block", None, "block"]


def test_a_change_on_top_of_another_one_is_refused_and_both_are_shown(curator: httpx.Client) -> None:
    send_form(curator, f"{RULES}/rules/new", url=f"{SITE}/a", access="exclude")
    made = rules(curator)[0]
    path = f"{RULES}/rules/{made['id']}"
    stale = str(made["edition"])
    send_form(curator, path, url=f"{SITE}/a", access="allow", edition=stale)
    refused = send_form(curator, path, url=f"{SITE}/a", access="block", edition=stale)
    assert (refused.status_code, "Both versions" in refused.text) == (422, True)
    assert rules(curator)[0]["access"] == "allow"
    refused = send_form(curator, f"{RULES}/default", access="block", edition=stale)
    assert (refused.status_code, curator.get(API).json()["access"]) == (422, "allow")
    token = re.search(r'name="csrf_token" value="([^"]+)"', curator.get(path).text)
    assert token is not None
    by_program = {"json": {"access": "block"}, "headers": {"X-CSRFToken": token[1]}}
    assert curator.put(f"{API}/rules/{made['id']}", **by_program).status_code == 428
    by_program["headers"]["If-Match"] = f'"{stale}-x"'
    assert curator.put(f"{API}/rules/{made['id']}", **by_program).status_code == 412


def test_readers_of_the_admin_read_rules_and_change_none(site: RunningSite, curator: httpx.Client) -> None:
    send_form(curator, f"{RULES}/rules/new", url=f"{SITE}/{HOSTILE}", access="exclude")
    with site.client(Role.READER) as reader:
        text = reader.get(RULES).text
        assert (SITE in text, "<script>alert" in text, "/rules/new" in text) == (True, False, False)
        assert reader.get(f"{RULES}/rules/new").status_code == 403
    assert "<script>alert" not in curator.get(f"{RULES}/rules/{rules(curator)[0]['id']}").text


def test_a_file_that_can_not_be_read_is_named_and_stays(curator: httpx.Client, settings: Settings) -> None:
    path = settings.collection(NAME) / FILE_NAME
    path.write_text("spoilt\n")
    assert (curator.get(RULES).status_code, curator.get(f"{RULES}/rules/new").status_code) == (409, 409)
    assert "mend the file" in curator.get(API).json()["detail"]
    assert path.read_text() == "spoilt\n"


def test_changes_at_the_same_time_are_all_kept(curator: httpx.Client, settings: Settings) -> None:
    path = settings.collection(NAME) / FILE_NAME
    AccessRules([rule_for(f"{SITE}/first", Access.BLOCK)]).save(path)
    token = re.search(r'name="csrf_token" value="([^"]+)"', curator.get(f"{RULES}/rules/new").text)
    assert token is not None
    answers = []

    def add(number: int) -> None:
        values = {"csrf_token": token[1], "url": f"{SITE}/{number}", "access": "exclude"}
        answers.append(curator.post(f"{RULES}/rules/new", data=values).status_code)

    threads = [threading.Thread(target=add, args=(number,)) for number in range(12)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert (answers, len(load(path).rules)) == ([303] * 12, 13)


def test_a_list_of_pywb_is_taken_whole_or_not_at_all(site: RunningSite, curator: httpx.Client) -> None:
    token = re.search(r'name="csrf_token" value="([^"]+)"', curator.get(f"{RULES}/rules/new").text)
    assert token is not None
    headers = {"X-CSRFToken": token[1]}
    good = 'org,example)/a - {"access": "exclude"}\n# nothing\norg,example)/b### - {"access": "block"}\n'
    wrong = curator.post(f"{API}/upload", json={"text": good + "no rule\n"}, headers=headers)
    assert (wrong.status_code, wrong.json()["problems"][0]["line"], rules(curator)) == (422, 4, [])
    assert curator.post(f"{API}/upload", json={"text": good}, headers=headers).json()["rules"] == 2
    without_url = rules(curator)[0]
    answer = send_form(curator, f"{RULES}/rules/{without_url['id']}", access="allow", is_exact="on")
    assert answer.status_code == 303
    assert (rules(curator)[0]["key"], rules(curator)[0]["access"]) == ("org,example)/b", "allow")


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_the_pages_are_accessible(site: RunningSite, curator: httpx.Client) -> None:
    send_form(curator, f"{RULES}/rules/new", url=f"{SITE}/a", access="exclude", after="2026")
    made = rules(curator)[0]["id"]
    paths = [f"{RULES}?url=x", f"{RULES}/rules/{made}", f"{RULES}/default"]
    assert serious_on_pages(site.address, curator, paths) == []
