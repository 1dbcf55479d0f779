"""admin/people/invitations.py: the first administrator, links that work once, and what is typed into their forms."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import select
from support.admin.harvest_database import DAY, MovableClock
from support.admin.site_users import PASSWORD, actions, actor_of, add_person, person

from admin.models.database import Database
from admin.models.errors import Forbidden, InvalidInput, NotFound
from admin.models.people_tables import Invitation, Role, User
from admin.models.transaction import COMMAND_LINE
from admin.people.invitations import (
    Acceptance,
    LinkRefused,
    NewInvitation,
    OneTimeLink,
    accept_invitation,
    create_user,
    first_invitation,
    invite,
    list_invitations,
    open_link,
    reset_password,
    revoke_invitation,
    set_password,
)
from admin.people.login import LoginRefused, log_in
from admin.people.users import NewUser


def first(database: Database) -> OneTimeLink | None:
    with database.transaction(COMMAND_LINE) as transaction:
        return first_invitation(transaction)


def names(database: Database) -> list[str]:
    with database.transaction(COMMAND_LINE) as transaction:
        return list(transaction.session.scalars(select(User.name).order_by(User.name)))


def test_the_first_start_makes_a_link_and_the_link_makes_an_administrator(database: Database) -> None:
    link = first(database)
    assert link is not None
    login = accept_invitation(database, link.token, Acceptance(name="Anna", password=PASSWORD), address="192.0.2.7")
    actor = actor_of(database, login.cookie)
    assert actor is not None
    assert (actor.name, actor.role, actor.user_id) == ("anna", Role.ADMINISTRATOR, login.user_id)
    assert first(database) is None
    assert actions(database) == ["invitation.create", "user.create", "session.start"]


def test_the_database_has_no_token(database: Database) -> None:
    link = first(database)
    assert link is not None
    with database.transaction(COMMAND_LINE) as transaction:
        row = transaction.session.scalars(select(Invitation)).one()
        assert link.token not in str(vars(row))
        assert len(link.token) == 43  # 256 bits in base64


def test_a_second_start_makes_the_first_link_useless(database: Database) -> None:
    old, new = first(database), first(database)
    assert old is not None
    assert new is not None
    with pytest.raises(LinkRefused):
        accept_invitation(database, old.token, Acceptance(name="anna", password=PASSWORD))
    accept_invitation(database, new.token, Acceptance(name="anna", password=PASSWORD))


@pytest.mark.both_databases
def test_a_race_for_one_link_makes_one_user(database: Database) -> None:
    link = first(database)
    assert link is not None
    outcomes: list[str] = []
    start = threading.Barrier(4)

    def accept(number: int) -> None:
        start.wait()
        try:
            accept_invitation(database, link.token, Acceptance(name=f"user{number}", password=PASSWORD))
            outcomes.append("made")
        except LinkRefused:
            outcomes.append("refused")

    threads = [threading.Thread(target=accept, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["made", "refused", "refused", "refused"]
    assert len(names(database)) == 1


def test_a_link_works_once_and_until_it_expires(database: Database, clock: MovableClock) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        used, late = (invite(transaction, NewInvitation(role=Role.OPERATOR)).token for _ in range(2))
    accept_invitation(database, used, Acceptance(name="bert", password=PASSWORD))
    with pytest.raises(LinkRefused, match="used already"):
        accept_invitation(database, used, Acceptance(name="carl", password=PASSWORD))
    clock.move(3 * DAY - 1)
    assert open_link(database, late).role == Role.OPERATOR
    clock.move(1)
    with pytest.raises(LinkRefused):
        open_link(database, late)


@pytest.mark.parametrize("token", ["", "x", "é" * 43, "a" * 1_000_000, "\0", "' OR 1=1 --", "\ud800"])
def test_a_text_that_is_no_token_is_refused(sqlite_database: Database, token: str) -> None:
    first(sqlite_database)
    with pytest.raises(LinkRefused):
        open_link(sqlite_database, token)


def test_a_refused_form_leaves_the_link_unused_and_names_all_problems(database: Database) -> None:
    link = first(database)
    assert link is not None
    given = Acceptance(
        name="Anna Berg", password="short", full_name="Anna\r\nBcc: x", email="a@b\r\nBcc: c@d", zone="Mars/Olympus"
    )
    with pytest.raises(InvalidInput) as caught:
        accept_invitation(database, link.token, given)
    assert [problem.field for problem in caught.value.problems] == ["name", "full_name", "email", "zone", "password"]
    assert "use at least 12" in str(caught.value)
    assert names(database) == []
    accept_invitation(database, link.token, Acceptance(name="anna", password=PASSWORD))


def test_the_same_name_is_refused_beside_the_field(database: Database) -> None:
    add_person(database, "anna")
    with pytest.raises(InvalidInput, match=r"name: there is a user 'anna' already"):
        add_person(database, "ANNA")


def test_administrators_alone_invite(database: Database) -> None:
    curator = person(database, "carl", Role.CURATOR)
    with database.transaction(curator) as transaction:
        for use_case in (
            lambda: invite(transaction, NewInvitation()),
            lambda: list_invitations(transaction),
            lambda: revoke_invitation(transaction, 1),
            lambda: create_user(transaction, NewUser(name="x", role=Role.READER)),
            lambda: reset_password(transaction, "carl"),
        ):
            with pytest.raises(Forbidden):
                use_case()


def test_open_links_are_listed_in_pages_and_revoked(database: Database) -> None:
    admin = person(database, "anna", Role.ADMINISTRATOR)
    with database.transaction(admin) as transaction:
        tokens = [invite(transaction, NewInvitation(role=Role.READER)).token for _ in range(3)]
        page = list_invitations(transaction, limit=2)
        rest = list_invitations(transaction, after=int(page.next or 0), limit=2)
        assert [each.created_by for each in page.items + rest.items] == ["anna"] * 3
        assert rest.next is None
        revoke_invitation(transaction, page.items[0].id)
    with pytest.raises(LinkRefused):
        open_link(database, tokens[0])
    with pytest.raises(NotFound), database.transaction(admin) as transaction:
        revoke_invitation(transaction, 2**70)


def test_a_user_whom_an_administrator_makes_chooses_the_password_by_a_link(database: Database) -> None:
    with database.transaction(COMMAND_LINE) as transaction:
        link = create_user(transaction, NewUser(name="dora", role=Role.READER, email="dora@bücher.example"))
    assert link.user is not None
    assert (link.user.has_password, link.user.email) == (False, "dora@xn--bcher-kva.example")
    with pytest.raises(LinkRefused):  # the link makes no other user
        accept_invitation(database, link.token, Acceptance(name="eve", password=PASSWORD))
    set_password(database, link.token, PASSWORD)
    log_in(database, "dora", PASSWORD)


def test_a_reset_ends_the_password_and_the_sessions_at_once(database: Database) -> None:
    login = add_person(database, "anna")
    with database.transaction(COMMAND_LINE) as transaction:
        earlier = reset_password(transaction, "anna")
        link = reset_password(transaction, "anna")
    assert actor_of(database, login.cookie) is None
    with pytest.raises(LoginRefused):
        log_in(database, "anna", PASSWORD)
    with pytest.raises(LinkRefused):
        set_password(database, earlier.token, "another password 17")
    with pytest.raises(InvalidInput):
        set_password(database, link.token, "short")
    set_password(database, link.token, "another password 17")
    log_in(database, "anna", "another password 17")
    with pytest.raises(LinkRefused):
        set_password(database, link.token, "yet another password")
