"""admin/people/api_tokens.py: tokens are shown once, have at most their user's role, expire and are revoked."""

from __future__ import annotations

import pytest
from sqlalchemy import select
from support.admin.harvest_database import DAY, MINUTE, MovableClock
from support.admin.site_users import add_person, person

from admin.models.database import Database
from admin.models.errors import Forbidden, InvalidInput, NotFound, UseCaseError
from admin.models.people_tables import ApiToken, AuditEntry, Role
from admin.models.transaction import COMMAND_LINE, Actor, Door
from admin.people.api_tokens import (
    MOST_TOKENS,
    ApiTokenMade,
    NewApiToken,
    create_token,
    lesser,
    list_tokens,
    list_user_tokens,
    revoke_token,
    revoke_user_token,
    token_actor,
)
from admin.people.users import UserChange, change_user, deactivate_user


def make(database: Database, actor: Actor, name: str = "backup", **values: object) -> ApiTokenMade:
    with database.transaction(actor) as transaction:
        return create_token(transaction, NewApiToken.model_validate({"name": name, **values}))


def user_of(database: Database, token: str) -> Actor | None:
    with database.transaction(COMMAND_LINE) as transaction:
        return token_actor(transaction, token, "192.0.2.8")


def test_a_token_acts_as_its_user_with_its_role(database: Database) -> None:
    anna = person(database, "anna", Role.CURATOR)
    made = make(database, anna, role="reader")
    assert made.token.startswith("gf_")
    assert user_of(database, made.token) == Actor("anna", Role.READER, Door.API, "192.0.2.8", anna.user_id)
    with database.transaction(COMMAND_LINE) as transaction:
        row = transaction.session.scalars(select(ApiToken)).one()
        entries = transaction.session.scalars(select(AuditEntry)).all()
        assert all(made.token not in str(vars(each)) for each in (row, *entries))
    with database.transaction(anna) as transaction:
        (shown,) = list_tokens(transaction).items
        assert "token" not in shown.model_dump()
        assert (shown.name, shown.used) == ("backup", transaction.now)


def test_a_token_has_at_most_the_role_of_its_user_when_made_and_later(database: Database) -> None:
    anna = person(database, "anna", Role.CURATOR)
    with pytest.raises(InvalidInput, match="role: a token of anna can't be administrator; choose curator"):
        make(database, anna, role="administrator")
    made = make(database, anna)
    with database.transaction(COMMAND_LINE) as transaction:
        change_user(transaction, "anna", UserChange(role=Role.OPERATOR))
    actor = user_of(database, made.token)
    assert actor is not None
    assert actor.role == Role.OPERATOR


def test_a_token_makes_no_token_since_that_would_outlive_it(database: Database) -> None:
    anna = person(database, "anna", Role.ADMINISTRATOR)
    program = user_of(database, make(database, anna, days=1).token)
    assert program is not None
    with pytest.raises(Forbidden, match="at the site or by a command"):
        make(database, program, "mine", role="reader", days=None)


def test_a_token_expires_ends_with_its_user_and_is_revoked(database: Database, clock: MovableClock) -> None:
    anna = person(database, "anna")
    short, lasting = make(database, anna, "short", days=1), make(database, anna, "lasting", days=None)
    clock.move(DAY)
    assert user_of(database, short.token) is None
    assert user_of(database, lasting.token) is not None
    with database.transaction(COMMAND_LINE) as transaction:
        deactivate_user(transaction, "anna")
    assert user_of(database, lasting.token) is None
    with database.transaction(COMMAND_LINE) as transaction:
        change_user(transaction, "anna", UserChange(is_active=True))
        assert [token.name for token in list_user_tokens(transaction, "anna").items] == ["short", "lasting"]
        revoke_user_token(transaction, "anna", short.id)
    with database.transaction(anna) as transaction:
        revoke_token(transaction, lasting.id)
    assert user_of(database, lasting.token) is None


def test_tokens_of_others_are_out_of_reach(database: Database) -> None:
    anna, bert = person(database, "anna"), person(database, "bert")
    made = make(database, anna)
    for number in (made.id, 0, -1, 2**70):
        with pytest.raises(NotFound), database.transaction(bert) as transaction:
            revoke_token(transaction, number)
    with pytest.raises(Forbidden), database.transaction(bert) as transaction:
        list_user_tokens(transaction, "anna")


@pytest.mark.parametrize("token", ["", "gf_", "gf_" + "a" * 1_000_000, "gf_é", "gf_\ud800", "gf_\0", "x"])
def test_a_text_that_is_no_token_is_nobody(sqlite_database: Database, token: str) -> None:
    add_person(sqlite_database, "anna")
    assert user_of(sqlite_database, token) is None


@pytest.mark.parametrize("name", ["", "  ", "a\nb", "x" * 10_000, "a\u202eb"])
def test_a_name_that_nobody_can_read_is_refused(sqlite_database: Database, name: str) -> None:
    with pytest.raises(InvalidInput, match="name: "):
        make(sqlite_database, person(sqlite_database, "anna"), name)


def test_the_number_of_tokens_is_bounded_and_names_differ(sqlite_database: Database) -> None:
    anna = person(sqlite_database, "anna")
    make(sqlite_database, anna, "t0")
    with pytest.raises(InvalidInput, match="you have a token 't0' already"):
        make(sqlite_database, anna, "t0")
    for number in range(1, MOST_TOKENS):
        make(sqlite_database, anna, f"t{number}")
    with pytest.raises(UseCaseError, match="revoke one"):
        make(sqlite_database, anna, "one more")


def test_uses_are_noted_at_most_once_a_minute(sqlite_database: Database, clock: MovableClock) -> None:
    made = make(sqlite_database, person(sqlite_database, "anna"))
    noted = set()
    for _ in range(4):
        clock.move(MINUTE // 2)
        user_of(sqlite_database, made.token)
        with sqlite_database.transaction(COMMAND_LINE) as transaction:
            noted.add(transaction.session.scalars(select(ApiToken.used)).one())
    assert len(noted) == 2


@pytest.mark.parametrize("first", list(Role))
@pytest.mark.parametrize("second", list(Role))
def test_the_lesser_role_is_the_one_with_fewer_rights(first: Role, second: Role) -> None:
    order = [Role.READER, Role.OPERATOR, Role.CURATOR, Role.ADMINISTRATOR]
    assert lesser(first, second) == min(first, second, key=order.index)
