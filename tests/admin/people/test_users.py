"""admin/people/users.py and profile.py: roles, the last administrator, editions, and names that look like others."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from typing import Any

import pytest
from support.admin.site_users import PASSWORD, actions, actor_of, add_person, person
from support.each_value import each_value

from admin.capture_sessions import sessions
from admin.capture_sessions.sessions import NewCaptureSession
from admin.models.capture_tables import CaptureState
from admin.models.database import Database
from admin.models.errors import EditConflict, Forbidden, IllegalState, InvalidInput, NotFound
from admin.models.people_tables import AuditEntry, Role
from admin.models.transaction import COMMAND_LINE, Right
from admin.people.invitations import LinkRefused, NewInvitation, create_user, invite, open_link, reset_password
from admin.people.login import LoginRefused, log_in
from admin.people.operations import OPERATIONS
from admin.people.profile import ProfileChange, change_profile, show_profile
from admin.people.users import (
    NewUser,
    UserChange,
    activate_user,
    change_user,
    deactivate_user,
    end_user_sessions,
    list_users,
    show_user,
    show_user_sessions,
)


def make(database: Database, **values: str) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        create_user(transaction, NewUser.model_validate({"name": "anna", "role": "reader", **values}))


def test_users_are_listed_by_name_in_pages_and_filtered(database: Database) -> None:
    for name in ("carl", "anna", "bert", "anton"):
        make(database, name=name, role="curator" if name == "bert" else "reader")
    with database.transaction(COMMAND_LINE) as transaction:
        deactivate_user(transaction, "carl")
        first = list_users(transaction, limit=3)
        assert [user.name for user in first.items] == ["anna", "anton", "bert"]
        assert (first.next, first.total) == ("bert", 4)
        rest = list_users(transaction, after="bert", limit=3)
        assert ([user.name for user in rest.items], rest.next) == (["carl"], None)
        assert [user.name for user in list_users(transaction, role=Role.CURATOR).items] == ["bert"]
        assert [user.name for user in list_users(transaction, is_active=False).items] == ["carl"]
        assert [user.name for user in list_users(transaction, begins_with="AN").items] == ["anna", "anton"]
        for odd in ("%", "_", "a%", "\0", "' OR ''='", "x" * 10_000):
            assert list_users(transaction, begins_with=odd).items == []


def test_a_change_is_audited_with_what_differs_and_without_secrets(database: Database) -> None:
    make(database)
    with database.transaction(COMMAND_LINE) as transaction:
        seen = show_user(transaction, "anna")
        changed = change_user(
            transaction, "anna", UserChange(full_name="Anna", role=Role.READER, zone="Europe/Copenhagen", edition=1)
        )
        assert (seen.edition, changed.edition, changed.zone) == (1, 2, "Europe/Copenhagen")
    with database.transaction(COMMAND_LINE) as transaction:
        entry = transaction.session.query(AuditEntry).order_by(AuditEntry.id.desc()).first()
        assert entry is not None
        assert (entry.action, entry.entity_name) == ("user.change", "anna")
        assert entry.old == {"full_name": "", "zone": "UTC"}
        assert entry.new == {"full_name": "Anna", "zone": "Europe/Copenhagen"}


@pytest.mark.both_databases
def test_two_administrators_who_edit_the_same_user_get_a_conflict(database: Database) -> None:
    make(database)
    with database.transaction(COMMAND_LINE) as transaction:
        change_user(transaction, "anna", UserChange(full_name="A", edition=1))
    with pytest.raises(EditConflict), database.transaction(COMMAND_LINE) as transaction:
        change_user(transaction, "anna", UserChange(full_name="B", edition=1))


@pytest.mark.parametrize("change", [UserChange(role=Role.CURATOR), UserChange(is_active=False)])
def test_the_last_administrator_stays(database: Database, change: UserChange) -> None:
    anna = person(database, "anna", Role.ADMINISTRATOR)
    add_person(database, "bert", Role.ADMINISTRATOR)
    with database.transaction(anna) as transaction:
        deactivate_user(transaction, "bert")
    with pytest.raises(IllegalState, match="anna is the last administrator"), database.transaction(anna) as transaction:
        change_user(transaction, "anna", change)
    with database.transaction(anna) as transaction:
        activate_user(transaction, "bert")
        change_user(transaction, "anna", change)


@pytest.mark.both_databases
def test_two_administrators_who_demote_each_other_leave_one(database: Database) -> None:
    people = {name: person(database, name, Role.ADMINISTRATOR) for name in ("anna", "bert")}
    start = threading.Barrier(2)
    outcomes: list[str] = []

    def demote(name: str, other: str) -> None:
        start.wait()
        try:
            with database.transaction(people[name]) as transaction:
                change_user(transaction, other, UserChange(role=Role.READER))
            outcomes.append("demoted")
        except IllegalState:
            outcomes.append("refused")

    threads = [threading.Thread(target=demote, args=pair) for pair in (("anna", "bert"), ("bert", "anna"))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["demoted", "refused"]


def test_a_user_who_is_deactivated_has_no_session_and_no_login(database: Database) -> None:
    cookie = add_person(database, "anna").cookie
    with database.transaction(COMMAND_LINE) as transaction:
        deactivate_user(transaction, "anna")
    assert actor_of(database, cookie) is None
    with pytest.raises(LoginRefused):
        log_in(database, "anna", PASSWORD)
    with database.transaction(COMMAND_LINE) as transaction:
        activate_user(transaction, "anna")
    assert actor_of(database, cookie) is None
    log_in(database, "anna", PASSWORD)


@pytest.mark.parametrize(
    ("role", "change", "lost"),
    [
        (Role.ADMINISTRATOR, UserChange(is_active=False), {"invite", "reset", "own", "capture"}),
        (Role.ADMINISTRATOR, UserChange(role=Role.READER), {"invite", "reset", "capture"}),
        (Role.ADMINISTRATOR, UserChange(role=Role.OPERATOR), {"invite", "reset"}),
        (Role.CURATOR, UserChange(role=Role.READER), {"capture"}),
        (Role.CURATOR, UserChange(role=Role.ADMINISTRATOR), set()),
    ],
)
def test_links_and_capture_sessions_end_with_the_right_to_make_them(
    database: Database, role: Role, change: UserChange, lost: set[str]
) -> None:
    person(database, "anna", Role.ADMINISTRATOR)
    add_person(database, "bert")
    mallory = person(database, "mallory", role)
    with database.transaction(COMMAND_LINE) as transaction:
        links = {"own": reset_password(transaction, "mallory").token}
        others = invite(transaction, NewInvitation(role=Role.READER)).token
        kept = sessions.start(transaction, NewCaptureSession(collection="others")).id
    with database.transaction(mallory) as transaction:
        if role is Role.ADMINISTRATOR:
            links["invite"] = invite(transaction, NewInvitation(role=Role.ADMINISTRATOR)).token
            links["reset"] = reset_password(transaction, "bert").token
        numbers = [sessions.start(transaction, NewCaptureSession(collection="news")).id for _ in range(2)]
        sessions.pause(transaction, numbers[0])
    with database.transaction(COMMAND_LINE) as transaction:
        change_user(transaction, "mallory", change)
    for name, token in links.items():
        with pytest.raises(LinkRefused) if name in lost else nullcontext():
            open_link(database, token)
    open_link(database, others)
    states = (CaptureState.ENDING,) * 2 if "capture" in lost else (CaptureState.PAUSED, CaptureState.OPEN)
    with database.reading(COMMAND_LINE) as reading:
        assert tuple(sessions.show(reading, number).state for number in numbers) == states
        assert sessions.show(reading, kept).state is CaptureState.OPEN
    audited = actions(database)
    assert audited.count("invitation.revoke") == len(lost - {"capture"})
    assert audited.count("capture-session.end") == (2 if "capture" in lost else 0)


def test_an_administrator_sees_and_ends_the_sessions_of_a_user(database: Database) -> None:
    cookie = add_person(database, "anna").cookie
    with database.transaction(COMMAND_LINE) as transaction:
        assert len(show_user_sessions(transaction, "anna").items) == 1
        end_user_sessions(transaction, "anna")
        assert show_user_sessions(transaction, "anna").items == []
    assert actor_of(database, cookie) is None


def test_users_change_their_own_profile_but_not_their_role(database: Database) -> None:
    anna = person(database, "anna", Role.READER)
    with database.transaction(anna) as transaction:
        change_profile(transaction, ProfileChange(full_name="علي\u200f", email="a@example.org", zone="Asia/Riyadh"))
        shown = show_profile(transaction)
        assert (shown.full_name, shown.email, shown.role) == ("علي\u200f", "a@example.org", Role.READER)
    with pytest.raises(InvalidInput), database.transaction(anna) as transaction:
        change_profile(transaction, ProfileChange(email="a@example.org\r\nBcc: everybody@example.org"))
    with pytest.raises(Forbidden), database.transaction(anna) as transaction:
        change_user(transaction, "anna", UserChange(role=Role.ADMINISTRATOR))
    with pytest.raises(IllegalState), database.transaction(COMMAND_LINE) as transaction:
        show_profile(transaction)


@each_value(
    "name",
    [
        "",
        " ",
        "anna berg",
        "аnna",  # its first letter is Cyrillic
        "\u202eanna",
        "anna\u200f",
        "an/na",
        'an"na',
        "an'na",
        "<b>",
        "-anna",
        "a" * 65,
        "a" * 10_000,
        "anna\0",
        "anna\n",
        "scheduler",
        "Anonymous",
        "new",
    ],
)
def test_a_login_name_that_could_be_taken_for_another_is_refused(sqlite_database: Database, name: str) -> None:
    if name == "anna\n":  # spaces around are typing errors
        make(sqlite_database, name=name)
        return
    with pytest.raises(InvalidInput, match=r"^name: ") as caught:
        make(sqlite_database, name=name)
    assert len(str(caught.value)) < 400


@each_value(
    "email",
    [
        *("anna", "@example.org", "anna@", "a b@example.org", "a@b c.org", "a@b\r\nBcc: x@y", "a\0@b.org", "a@-b.org"),
        *("a@b..org", "a" * 65 + "@example.org", "a@" + "b" * 10_000, "Anna <a@example.org>", "a@b.org,c@d.org"),
        "é@b.org",
    ],
)
def test_an_address_that_could_become_another_header_is_refused(sqlite_database: Database, email: str) -> None:
    with pytest.raises(InvalidInput, match=r"email: .* is no e-mail address"):
        make(sqlite_database, email=email)


@each_value("name", ["x" * 201, "x" * 10_000, "a\nb", "a\x00b", "a\u202eb", "a\u2066b", "a\u2028b"])
def test_a_full_name_that_shows_another_text_is_refused(sqlite_database: Database, name: str) -> None:
    with pytest.raises(InvalidInput, match="full_name: "):
        make(sqlite_database, full_name=name)


def test_nobody_is_not_found(database: Database) -> None:
    for name in ("nobody", "", "\0", "x" * 10_000, "a\ud800"):
        with pytest.raises(NotFound), database.transaction(COMMAND_LINE) as transaction:
            show_user(transaction, name)


def test_every_operation_has_a_name_and_a_route_of_its_own() -> None:
    assert len({operation.name for operation in OPERATIONS}) == len(OPERATIONS)
    assert len({(operation.method, operation.path) for operation in OPERATIONS}) == len(OPERATIONS)


def test_an_operation_that_administers_is_refused_to_all_other_roles(sqlite_database: Database) -> None:
    actors = [person(sqlite_database, f"a-{role}", role) for role in (Role.READER, Role.OPERATOR, Role.CURATOR)]
    for operation in OPERATIONS:
        if operation.right is not Right.ADMINISTER:
            continue
        arguments: dict[str, Any] = {"name": "x"} if "{name}" in operation.path else {}
        arguments |= {"id": 1} if "{id}" in operation.path else {}
        given = {"given": object()} if operation.input else {}
        for actor in actors:
            with pytest.raises(Forbidden), sqlite_database.transaction(actor) as transaction:
                operation.use_case(transaction, **arguments, **given)
