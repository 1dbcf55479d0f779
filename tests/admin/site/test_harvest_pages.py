"""admin/web/pages/harvests: every value of a definition, copies, conflicts, events, and why a domain is in its job."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping

import httpx
import pytest
from support.admin.harvest_database import MovableClock
from support.web.site_pages import HOSTILE, refused, saved
from support.web.site_server import RunningSite, send_form

from admin.harvests.definitions.definition import show_harvest
from admin.harvests.domains.extended_fields import FieldCreation, create_field
from admin.models.domain_tables import FieldKind
from admin.models.harvest_tables import HarvestKind
from admin.models.people_tables import Role
from admin.models.transaction import COMMAND_LINE
from admin.scheduler.assembly import installed_scheduler
from archive.settings.load import load

NEWS = {
    **{"name": "news", "kind": "selective", "collection": "news", "schedule": "daily", "audience": "readers"},
    **{"comments": "a & b", "facts": "operator: Anna\nisPartOf: press", "traps": "/calendar/\n# \\?sort="},
    **{"max_seconds": "60", "channel": "", "configurations": "example.org\nexample.com defaultconfig"},
}
PAGE = "/harvests/news"


@pytest.fixture
def filled(curator: httpx.Client) -> httpx.Client:
    send_form(curator, "/domains/upload", text="example.org\nexample.com\n")
    made = send_form(curator, "/harvests/new", **NEWS)
    assert made.headers["Location"] == PAGE, made.text
    return curator


def form_values(client: httpx.Client, path: str) -> dict[str, str]:
    """What a browser would send of a page's form when nobody had touched it; line ends are CR LF."""
    page = client.get(path).text
    form = page[page.index('<form method="post"') :]
    values = dict(re.findall(r'<input id="([^"]+)" name="[^"]+" type="[^"]+" value="([^"]*)"', form))
    values |= dict(re.findall(r'<input type="hidden" name="(edition)" value="([^"]*)"', form))
    values |= dict(re.findall(r'<textarea id="([^"]+)"[^>]*>\n(.*?)</textarea>', form, re.DOTALL))
    for name, options in re.findall(r'<select id="([^"]+)".*?>(.*?)</select>', form, re.DOTALL):
        chosen = re.search(r'value="([^"]*)" selected', options)
        values[name] = chosen[1] if chosen else ""
    return {name: html.unescape(value).replace("\n", "\r\n") for name, value in values.items()}


def test_all_values_of_a_harvest_are_made_shown_and_kept(stocked_site: RunningSite, filled: httpx.Client) -> None:
    shown = html.unescape(filled.get(PAGE).text)
    for words in (
        "operator",
        "Anna",
        "isPartOf",
        "readers",
        "a & b",
        "/calendar/",
        "(not in force)",
        "2 configurations",
    ):
        assert words in shown
    with stocked_site.database.reading(COMMAND_LINE) as transaction:
        found = show_harvest(transaction, "news")
    assert found.facts == {"operator": "Anna", "isPartOf": "press"}
    assert [(each.expression, each.is_active) for each in found.traps] == [("/calendar/", True), ("\\?sort=", False)]
    assert (found.configurations, found.max_seconds) == (2, 60)


def test_saving_an_untouched_form_changes_nothing_and_plans_no_date_anew(
    stocked_site: RunningSite, filled: httpx.Client, clock: MovableClock
) -> None:
    values = form_values(filled, f"{PAGE}/edit")
    assert values["traps"] == "/calendar/\r\n# \\?sort="
    with stocked_site.database.reading(COMMAND_LINE) as transaction:
        before = show_harvest(transaction, "news")
    clock.move(90_000_000)
    assert send_form(filled, f"{PAGE}/edit", **{**values, "comments": "new"}).status_code == 303
    with stocked_site.database.reading(COMMAND_LINE) as transaction:
        after = show_harvest(transaction, "news")
    changed = {key for key in type(after).model_fields if getattr(before, key) != getattr(after, key)}
    assert changed == {"comments", "edition"}
    cleared = {**form_values(filled, f"{PAGE}/edit"), "schedule": "", "traps": "", "facts": ""}
    assert send_form(filled, f"{PAGE}/edit", **cleared).status_code == 303
    with stocked_site.database.reading(COMMAND_LINE) as transaction:
        found = show_harvest(transaction, "news")
    assert (found.schedule, found.traps, found.facts) == (None, [], {})


def test_wrong_values_are_named_beside_their_fields_and_kept(filled: httpx.Client) -> None:
    wrong: Mapping[str, str] = {
        **NEWS,
        **{"name": "other", "facts": "no colon", "first_run": "tomorrow", "traps": "[", "configurations": "x y"},
    }
    answer = send_form(filled, "/harvests/new", **wrong)
    assert answer.status_code == 422
    for field in ("facts", "first_run"):
        assert f'id="{field}-problem"' in answer.text
    assert "no colon" in answer.text
    answer = send_form(filled, "/harvests/new", **{**wrong, "facts": "", "first_run": ""})
    assert 'id="traps-problem"' in answer.text
    answer = send_form(filled, "/harvests/new", **{**wrong, "facts": "", "first_run": "", "traps": ""})
    assert 'id="configurations-problem"' in answer.text
    assert filled.get("/harvests/other").status_code == 404


def test_a_harvest_with_many_crawler_traps_is_edited(filled: httpx.Client) -> None:
    traps = "".join(f"/calendar/{number}/{'x' * 100}\n" for number in range(900))
    path = saved(filled, "/harvests/new", **{**NEWS, "name": "many", "traps": traps})
    assert saved(filled, f"{path}/edit", **{**form_values(filled, f"{path}/edit"), "comments": "changed"}) == path


def test_two_people_who_edit_a_harvest_see_both_versions(filled: httpx.Client) -> None:
    values = form_values(filled, f"{PAGE}/edit")
    assert send_form(filled, f"{PAGE}/edit", **{**values, "audience": "theirs"}).status_code == 303
    late = send_form(filled, f"{PAGE}/edit", **{**values, "audience": "mine"})
    assert late.status_code == 422
    assert re.search(r"Audience</th><td[^>]*><pre>theirs</pre></td><td[^>]*><pre>mine</pre></td>", late.text)
    assert "Comments</th>" not in late.text
    edition = re.search(r'name="edition" value="(\d+)"', late.text)
    assert edition is not None
    again = send_form(filled, f"{PAGE}/edit", **{**values, "audience": "mine", "edition": edition[1]})
    assert again.status_code == 303
    assert "mine" in filled.get(PAGE).text


def test_a_copy_has_everything_but_state_and_runs(stocked_site: RunningSite, filled: httpx.Client) -> None:
    send_form(filled, f"{PAGE}/copy", f"{PAGE}/activate")
    assert send_form(filled, f"{PAGE}/copy", name="news").status_code == 422
    assert send_form(filled, f"{PAGE}/copy", name="copy").headers["Location"] == "/harvests/copy"
    with stocked_site.database.reading(COMMAND_LINE) as transaction:
        old, new = show_harvest(transaction, "news"), show_harvest(transaction, "copy")
    differing = {key for key in type(old).model_fields if getattr(old, key) != getattr(new, key)}
    assert differing <= {"id", "name", "is_active", "edition", "created", "first_run", "next_run"}
    assert (new.is_active, new.configurations) == (False, 2)


def test_snapshots_have_limits_and_continue_an_earlier_one(stocked_site: RunningSite, curator: httpx.Client) -> None:
    page = curator.get("/harvests/new?kind=snapshot").text
    assert 'name="schedule"' not in page
    values = {"kind": "snapshot", "collection": "all", "max_bytes": "1 MB", "max_objects": ""}
    assert send_form(curator, "/harvests/new", name="first", **values).status_code == 303
    assert '<option value="first"' in curator.get("/harvests/new?kind=snapshot").text
    assert send_form(curator, "/harvests/new", name="second", previous="first", **values).status_code == 303
    with stocked_site.database.reading(COMMAND_LINE) as transaction:
        found = show_harvest(transaction, "second")
    assert (found.kind, found.previous, found.max_bytes) == (HarvestKind.SNAPSHOT, "first", 1_000_000)
    assert (
        send_form(curator, "/harvests/second/edit", **form_values(curator, "/harvests/second/edit")).status_code == 303
    )
    listed = curator.get("/harvests?kind=snapshot&state=inactive&search=sec").text
    assert "second" in listed
    assert ">first<" not in listed


def test_urls_of_an_event_are_pasted_or_uploaded_and_bad_lines_are_named(filled: httpx.Client) -> None:
    page = f"{PAGE}/configurations"
    pasted = send_form(filled, page, urls="https://new.example.net/a\nnot a url\n", action="urls")
    assert pasted.status_code == 200
    assert "Line 2" in pasted.text
    assert "1 configuration added" in pasted.text
    token = re.search(r'name="csrf_token" value="([^"]+)"', filled.get(page).text)
    assert token is not None
    lines = "".join(f"https://event{number}.net/{number}\n" for number in range(1_500)).encode()
    uploaded = filled.post(
        page,
        data={"csrf_token": token[1], "action": "urls", "max_bytes": "5000", "urls": ""},
        files={"file": ("urls.txt", lines)},
    )
    assert "configurations added" in uploaded.text
    assert "1\u202f503 configurations" in uploaded.text, re.findall(r"class=\"total\">([^<]*)", uploaded.text)
    assert 'rel="next"' in uploaded.text
    nothing = send_form(filled, page, urls=" ", action="urls")
    assert 'id="urls-problem"' in nothing.text


def test_chosen_configurations_are_removed(filled: httpx.Client) -> None:
    page = f"{PAGE}/configurations"
    removed = send_form(filled, page, action="remove", chosen="example.com defaultconfig")
    assert removed.status_code == 303
    assert "example.com" not in filled.get(page).text
    assert send_form(filled, page, action="add", domains="absent.example").status_code == 422


def test_extended_fields_of_harvests_are_part_of_the_form(stocked_site: RunningSite, filled: httpx.Client) -> None:
    fields = {"Contact": FieldKind.TEXT, "Press": FieldKind.YES_NO, "Until": FieldKind.DATE}
    with stocked_site.database.transaction(COMMAND_LINE) as transaction:
        inputs = {
            name: f"extended-{create_field(transaction, FieldCreation(entity='harvest', name=name, kind=kind)).id}"
            for name, kind in fields.items()
        }
    path = f"{PAGE}/edit"
    values = {**form_values(filled, path), inputs["Contact"]: "anna@library.example", inputs["Press"]: "yes"}
    refused(filled, path, f'id="{inputs["Until"]}-problem"', **{**values, inputs["Until"]: "tomorrow"})
    saved(filled, path, **values)
    assert "anna@library.example" in filled.get(PAGE).text
    again = form_values(filled, path)
    assert (again[inputs["Contact"]], again[inputs["Press"]]) == ("anna@library.example", "yes")
    saved(filled, path, **{**again, inputs["Press"]: "no"})
    made = saved(filled, "/harvests/new", **{**NEWS, "name": "other", inputs["Contact"]: "bert"})
    assert "bert" in filled.get(made).text


def test_a_page_explains_why_a_domain_is_in_its_job(
    stocked_site: RunningSite, filled: httpx.Client, clock: MovableClock
) -> None:
    before = filled.get(f"{PAGE}/explain?domain=example.org").text
    assert "The harvest has not run yet." in before
    assert "defaultconfig" in before
    assert filled.get(f"{PAGE}/explain?domain=absent.example").status_code == 404
    send_form(filled, f"{PAGE}/copy", f"{PAGE}/run_now")
    settings = load({"home": str(stocked_site.home)}, environment={})
    scheduler = installed_scheduler(stocked_site.database, settings)
    scheduler.tick()
    scheduler.wait()
    after = filled.get(f"{PAGE}/explain?domain=example.org").text
    assert '<a href="/jobs/1">1</a>' in after
    assert "Expected objects" in after


def test_a_reader_sees_and_may_not_change(stocked_site: RunningSite, filled: httpx.Client) -> None:
    with stocked_site.client(Role.READER) as reader:
        assert "Add or remove" not in reader.get(PAGE).text
        assert 'name="domains"' not in reader.get(f"{PAGE}/configurations").text
        assert reader.get(f"{PAGE}/copy").status_code == 403
        assert reader.get(f"{PAGE}/explain").status_code == 200


def test_crawler_traps_of_a_harvest_are_tested_with_samples_before_they_are_saved(filled: httpx.Client) -> None:
    path = f"{PAGE}/crawler-traps"
    values = form_values(filled, path)
    assert (values["active"], values["inactive"]) == ("/calendar/", "\\?sort=")
    samples = "http://example.org/calendar/2027\nhttp://example.org/about"
    tested = send_form(filled, path, action="test", active="/calendar/\n(", samples=samples)
    assert tested.status_code == 200
    assert "Line 2" in tested.text
    assert "no regular expression" in tested.text
    assert (tested.text.count(">excluded<"), tested.text.count(">fetched<")) == (1, 1)
    assert "Nothing was saved." in tested.text
    slow = refused(filled, path, "line 2: ", **{**values, "action": "save", "active": "/a/\n(a|aa)+$"})
    assert "(a|aa)+$" in slow.text
    refused(filled, path, 'id="inactive-problem"', **{**values, "action": "save", "inactive": "("})
    assert form_values(filled, path) == values, "nothing was saved"
    hostile = f"/old/{HOSTILE}"
    saved(filled, path, **{**values, "action": "save", "active": "/calendar/\r\n/cal\\.php", "inactive": hostile})
    late = refused(filled, path, "Somebody else has changed this", **{**values, "action": "save", "active": "/mine/"})
    assert "/mine/" in late.text
    shown = filled.get(path).text
    assert "<script>alert" not in shown
    assert form_values(filled, f"{PAGE}/edit")["traps"] == f"/calendar/\r\n/cal\\.php\r\n# {hostile}"


def test_a_reader_sees_the_crawler_traps_of_a_harvest_and_changes_none(
    stocked_site: RunningSite, filled: httpx.Client
) -> None:
    with stocked_site.client(Role.READER) as reader:
        assert "/calendar/" in reader.get(f"{PAGE}/crawler-traps").text
        answer = send_form(reader, "/profile/password", f"{PAGE}/crawler-traps", action="save", active="/mine/")
        assert answer.status_code == 403
    assert "/mine/" not in filled.get(f"{PAGE}/crawler-traps").text


def test_run_now_says_that_no_harvester_serves_the_channel(filled: httpx.Client) -> None:
    sent = send_form(filled, f"{PAGE}/copy", f"{PAGE}/run_now")

    said = html.unescape(filled.get(sent.headers["Location"]).text)

    assert "has no harvester: start one with" in said
    assert "has no harvester, and an active harvest uses it" in html.unescape(filled.get("/").text)
