"""admin/web/pages/schedules: dates are shown while a rule is typed, with what clocks and months do to them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from playwright.sync_api import BrowserContext, expect
from support.each_value import each_value
from support.web.site_server import RunningSite, send_form

from admin.models.people_tables import Role

NEW = "/schedules/new"
DAILY = {
    **{"name": "night", "comments": "", "every": "1", "unit": "day", "hour": "2", "minute": "30"},
    **{"zone": "Europe/Copenhagen", "ends": "never", "starts": "2027-03-27T00:00"},
}


def preview(client: httpx.Client, **values: str) -> str:
    answer = send_form(client, NEW, "/schedules/preview", **values)
    assert answer.status_code == 200
    assert "<html" not in answer.text, "htmx gets a part of the page"
    return answer.text


def test_the_preview_says_what_clocks_do(curator: httpx.Client) -> None:
    spring = preview(curator, **DAILY)
    assert "02:30 does not exist on 2027-03-28" in spring
    assert "2027-03-28 03:30:00+02:00" in spring
    assert spring.count("<tr><td>") == 10
    autumn = preview(curator, **{**DAILY, "starts": "2027-10-30T00:00"})
    assert "comes twice on this day" in autumn
    monthly = preview(curator, **{**DAILY, "unit": "month", "month_day": "31", "starts": "2027-01-01T00:00"})
    assert "this month has no day 31" in monthly


@each_value(
    ("values", "words"),
    [
        ({"unit": "hour", "minute": "15", "hour": ""}, "Every hour, at minute 15"),
        ({"unit": "day", "every": "3", "hour": "", "minute": ""}, "Every 3 days, anytime"),
        ({"unit": "week", "weekday": "6"}, "on Sunday at 02:30"),
        ({"unit": "month", "month_day": "1", "ends": "count", "ends_after": "4"}, "4 times"),
        ({"ends": "date", "ends_at": "2027-03-30T00:00"}, "until 2027-03-30T00:00"),
        ({"ends": "count", "ends_after": "1"}, "Once"),
    ],
)
def test_all_kinds_of_rules_are_previewed_and_kept(curator: httpx.Client, values: dict[str, str], words: str) -> None:
    assert words in preview(curator, **{**DAILY, **values})
    made = send_form(curator, NEW, **{**DAILY, **values})
    assert made.status_code == 303, made.text
    shown = curator.get("/schedules/night").text
    assert words in shown
    form = curator.get("/schedules/night/edit").text
    for name in ("hour", "minute", "month_day", "ends_after", "ends_at", "starts"):
        expected = {**DAILY, **values}.get(name, "")
        assert re.search(f'name="{name}"[^>]* value="{expected}"', form), name
    assert send_form(curator, "/schedules/night", "/schedules/night/delete").status_code == 303


def test_an_unfinished_rule_says_what_is_missing_and_nothing_is_kept(curator: httpx.Client) -> None:
    assert "the minute is missing" in preview(curator, **{**DAILY, "minute": ""})
    assert "Mars/Olympus" in preview(curator, **{**DAILY, "zone": "Mars/Olympus"})
    assert "no date" in preview(curator, **{**DAILY, "starts": "tomorrow"})
    assert curator.get("/schedules/night").status_code == 404


def test_without_scripts_a_button_shows_the_dates(curator: httpx.Client) -> None:
    shown = send_form(curator, NEW, action="preview", **DAILY)
    assert shown.status_code == 200
    assert "02:30 does not exist on 2027-03-28" in shown.text
    assert 'value="night"' in shown.text
    assert curator.get("/schedules/night").status_code == 404
    assert send_form(curator, NEW, **DAILY).status_code == 303
    changed = send_form(curator, "/schedules/night/edit", action="preview", **{**DAILY, "hour": "5", "edition": "1"})
    assert "2027-03-28 05:30:00+02:00" in changed.text
    assert 'name="edition" value="1"' in changed.text


def test_a_conflict_shows_what_is_kept_and_what_was_typed(curator: httpx.Client) -> None:
    send_form(curator, NEW, **DAILY)
    edit = "/schedules/night/edit"
    assert send_form(curator, edit, **{**DAILY, "hour": "4", "edition": "1"}).status_code == 303
    late = send_form(curator, edit, **{**DAILY, "hour": "6", "edition": "1"})
    assert late.status_code == 422
    assert re.search(r"Hour</th><td[^>]*><pre>4</pre></td><td[^>]*><pre>6</pre></td>", late.text)
    assert "Minute</th>" not in late.text
    assert send_form(curator, edit, **{**DAILY, "hour": "6", "edition": "2"}).status_code == 303


def test_a_reader_may_not_change_schedules(stocked_site: RunningSite) -> None:
    with stocked_site.client(Role.READER) as reader:
        assert reader.get("/schedules/hourly").status_code == 200
        assert reader.get(NEW).status_code == 403


@pytest.mark.browser
@pytest.mark.timeout(300)
def test_dates_follow_the_typing(open_context: Callable[[str, bool], BrowserContext]) -> None:
    tab: Any = open_context("light", True).new_page()
    refused: list[str] = []
    tab.on("console", lambda message: refused.append(message.text))
    tab.goto(NEW)
    dates = tab.locator("#dates")
    expect(dates).to_contain_text("Every day, anytime")
    tab.fill("[name='starts']", "2027-03-27T00:00")
    tab.fill("[name='zone']", "Europe/Copenhagen")
    tab.fill("[name='hour']", "2")
    expect(dates).to_contain_text("the minute is missing", timeout=60_000)
    tab.fill("[name='minute']", "30")
    expect(dates).to_contain_text("02:30 does not exist on 2027-03-28", timeout=60_000)
    tab.select_option("[name='unit']", "week")
    tab.select_option("[name='weekday']", "0")
    expect(dates).to_contain_text("on Monday at 02:30", timeout=60_000)
    assert refused == []
