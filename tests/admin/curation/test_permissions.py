"""admin/curation/permissions: harvests leave out sites by their permissions, and letters reach owners."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select
from support.admin.harvest_database import DAY, START, MovableClock
from support.admin.harvest_world import World
from support.admin.site_users import actions, person
from support.web.mail_receiver import MailReceiver

from admin.curation.permissions.letters import LetterInput, LetterTemplateInput, filled, save_template, write_letter
from admin.curation.permissions.permission import (
    PermissionChange,
    PermissionCreation,
    change_permission,
    create_permission,
    list_events,
    list_permissions,
    remove_permission,
    site_of,
)
from admin.harvests.generation.preview import preview_run
from admin.harvests.permission_book import PermissionBook, PermissionStanding, standing_of
from admin.models.curation_tables import LetterTemplate, PermissionState
from admin.models.database import Database
from admin.models.errors import IllegalState, InvalidInput
from admin.models.harvest_tables import Harvest
from admin.models.people_tables import Notification, Role
from admin.models.transaction import COMMAND_LINE
from admin.notifications.message import OutgoingMessage, mail_of
from archive.settings.curation import PermissionRule
from archive.settings.notifications import NotificationSettings
from archive.url import canonical
from frontier.definition.job import Profile
from frontier.definition.rules.url_patterns import UrlPatterns

REFUSED, GRANTED = PermissionState.REFUSED, PermissionState.GRANTED
SITES = (
    *("example.org", "sub.example.org", "example.organic", "https://example.org/", "https://example.org/Open"),
    *("https://example.org/open/a", "https://example.org/Private/", "https://example.org/büro/"),
    *("https://example.org/a?y=2&B=1", "https://example.org/a?b=1", "https://example.org/a"),
    *("http://example.org:8080/", "http://sub.example.org:81/x"),
)
URLS = tuple(
    f"https://{host}{path}"
    for host in ("example.org", "www.example.org", "sub.example.org", "a.sub.example.org:81", "example.org:8080")
    for path in (
        *("/", "/open", "/OPEN/a", "/private/", "/Private/x", "/private", "/Büro/", "/b%c3%bcro/", "/x", "/a", "/A/b"),
        *("/a?b=1", "/a?y=2", "/A?b=1&Y=2", "/a?y=2&b=1", "/a?z=3&y=2&b=1", "/a?B=12", "/a?y=23&b=1", "/a?xb=1"),
    )
)


def note(database: Database, site: str, state: PermissionState, **values: Any) -> int:
    with database.transaction(COMMAND_LINE) as transaction:
        return create_permission(transaction, PermissionCreation(site=site, state=state, **values)).id


def permission_of(world: World, harvest: int, rule: str) -> None:
    with world.database.transaction(COMMAND_LINE) as transaction:
        transaction.session.get_one(Harvest, harvest).permission = rule


def test_the_longest_site_decides_and_a_permission_expires_at_its_moment() -> None:
    assert standing_of(GRANTED, START, START - 1) is PermissionStanding.GRANTED
    assert standing_of(GRANTED, START, START) is PermissionStanding.EXPIRED
    book = PermissionBook(
        "unless-refused",
        {
            "org,example": PermissionStanding.REFUSED,
            "org,example)/open": PermissionStanding.GRANTED,
            "net,other)/x/": PermissionStanding.EXPIRED,
        },
    )
    assert book.why_barred("https://www.example.org/") is PermissionStanding.REFUSED
    assert book.why_barred("https://sub.example.org/a") is PermissionStanding.REFUSED
    assert book.why_barred("https://example.org/open/a") is None
    assert book.why_barred("https://example.organic/") is None
    assert book.why_barred("https://other.net/") is None
    assert book.why_barred("https://other.net/x/y") is PermissionStanding.EXPIRED
    assert PermissionBook("only-granted").why_barred("https://other.net/") is PermissionStanding.NONE
    assert PermissionBook("ignored", book.sites).why_barred("https://example.org/") is None


@given(
    st.dictionaries(st.sampled_from(SITES), st.sampled_from(PermissionStanding)),
    st.sampled_from(["only-granted", "unless-refused"]),
)
def test_the_traps_of_a_domain_bar_the_urls_that_the_book_bars(
    standings: dict[str, PermissionStanding], rule: PermissionRule
) -> None:
    book = PermissionBook(rule, {site_of(site)[1]: standing for site, standing in standings.items()})
    traps = UrlPatterns(book.barred_parts("example.org"))
    assert [url for url in URLS if traps.first_found(canonical(url))] == [url for url in URLS if book.why_barred(url)]
    assert not any(map(traps.first_found, ("https://example.organic/open", "https://anexample.org/", "https://org/")))


def test_a_profile_takes_the_traps_of_many_and_long_sites() -> None:
    granted = {f"org,example)/{number:04}": PermissionStanding.GRANTED for number in range(1_000)}
    long = {
        site_of(f"https://example.org/{path}")[1]: PermissionStanding.REFUSED for path in ("ä" * 900, "p?" + "&" * 900)
    }
    book = PermissionBook("only-granted", granted | long)
    traps = list(book.barred_parts("example.org"))
    assert Profile(exclude=tuple(traps)).exclude == tuple(traps)
    patterns = UrlPatterns(traps)
    assert patterns.first_found("https://example.org/0000") is None
    assert patterns.first_found("https://example.org/x")
    assert patterns.first_found(canonical(f"https://example.org/{'ä' * 900}"))


def test_generation_leaves_out_sites_with_the_reason(world: World) -> None:
    for name in ("refused.org", "expired.org", "asked.org", "granted.org", "part.org"):
        world.domain(name)
    note(world.database, "refused.org", REFUSED)
    note(world.database, "expired.org", GRANTED, granted_until=START - DAY)
    note(world.database, "asked.org", PermissionState.ASKED)
    note(world.database, "granted.org", GRANTED, granted_until=START + DAY)
    note(world.database, "https://part.org/private/", PermissionState.WITHDRAWN)
    harvest = world.snapshot()

    def left_out(rule: str) -> dict[str, int]:
        permission_of(world, harvest, rule)
        with world.database.reading(COMMAND_LINE) as transaction:
            return preview_run(transaction, "snapshot").left_out

    assert left_out("") == left_out("unless-refused") == {"permission-expired": 1, "permission-refused": 1}
    assert left_out("ignored") == {}
    assert left_out("only-granted") == {
        "permission-asked": 1,
        "permission-expired": 1,
        "permission-none": 1,
        "permission-refused": 1,
    }
    permission_of(world, harvest, "unless-refused")
    run = world.generate(harvest)
    assert run is not None
    assert run.left_out == {"permission-expired": 1, "permission-refused": 1}
    assert sorted(name for names in world.domains_by_job(harvest) for name in names) == [
        "asked.org", "granted.org", "part.org",
    ]  # fmt: skip
    (traps,) = {str(job.profile) for job in world.jobs(harvest) if "part" in str(job.profile)}
    assert r"part\\.org" in traps, "the crawl must not reach the refused part by links"


@pytest.mark.both_databases
def test_a_permission_keeps_its_history_and_each_change_is_audited(database: Database, clock: MovableClock) -> None:
    number = note(database, "Example.ORG", PermissionState.ASKED, contact="Anna")
    with database.transaction(COMMAND_LINE) as transaction:
        changed = change_permission(
            transaction, number, PermissionChange(state=GRANTED, licence="CC BY 4.0", granted_until=clock.now + DAY)
        )
        assert (changed.site, changed.standing) == ("example.org", PermissionStanding.GRANTED)
    clock.move(DAY)
    with database.transaction(COMMAND_LINE) as transaction:
        assert list_permissions(transaction, search="EXAMPLE").items[0].standing is PermissionStanding.EXPIRED
        change_permission(transaction, number, PermissionChange(is_endless=True, note="by telephone"))
        assert [each.note for each in list_events(transaction, number).items] == ["by telephone", "", ""]
        with pytest.raises(InvalidInput, match="already"):
            create_permission(transaction, PermissionCreation(site="*.example.org"))
        remove_permission(transaction, number)
    assert actions(database)[-4:] == [
        "permission.create", "permission.change", "permission.change", "permission.remove",
    ]  # fmt: skip


@pytest.mark.parametrize("site", ["", "two words", "http://", "x" * 2_000, "a\nb", "https://example.org:999999/"])
def test_what_is_no_site_is_refused_in_one_line(site: str) -> None:
    with pytest.raises(InvalidInput, match="site") as refused:
        site_of(site)
    assert "\n" not in str(refused.value)


def test_a_letter_template_keeps_a_name_that_an_earlier_release_took(sqlite_database: Database) -> None:
    short = LetterTemplateInput(subject="s", body="x")
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        for name in ("new", "a\0b"):
            with pytest.raises(InvalidInput):
                save_template(transaction, name, short)
        save_template(transaction, "short", short)
        transaction.session.scalars(select(LetterTemplate)).one().name = "new"
        assert save_template(transaction, "new", LetterTemplateInput(subject="s", body="y")).body == "y"


def test_a_letter_is_filled_in_and_sent_by_the_outbox(sqlite_database: Database, mail: MailReceiver) -> None:
    database = sqlite_database
    number = note(database, "example.org", PermissionState.ASKED, contact="{site}", email="owner@example.org")
    anna = person(database, "anna", Role.CURATOR)
    with database.transaction(anna) as transaction:
        with pytest.raises(InvalidInput, match="colour"):
            save_template(transaction, "short", LetterTemplateInput(subject="{colour}", body="x"))
        save_template(
            transaction, "short", LetterTemplateInput(subject="About {site}", body="Dear {contact}, {person}")
        )
        letter = write_letter(transaction, number, LetterInput(template="short", is_sent=True))
        assert (letter.subject, letter.body) == ("About example.org", "Dear {site}, anna")
        row = transaction.session.scalars(select(Notification)).one()
        assert list_events(transaction, number).items[0].what == "letter-sent"
        sent = OutgoingMessage(
            *(row.id, row.message_id, row.user_id, row.event, row.target, row.subject, row.body, row.created, 0, None)
        )
    made = mail_of([sent], START, NotificationSettings(sender="archive@example.net"))
    assert (made["To"], made["Subject"], made["Auto-Submitted"]) == ("owner@example.org", "About example.org", None)
    assert made.get_content().strip() == "Dear {site}, anna"
    with database.transaction(COMMAND_LINE) as transaction, pytest.raises(IllegalState, match="user"):
        write_letter(transaction, number, LetterInput(is_sent=True))
    assert filled("{site} {nothing}", {"site": "{today}", "today": "x"}) == "{today} {nothing}"
