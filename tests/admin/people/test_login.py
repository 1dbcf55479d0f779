"""admin/people/login.py and sessions.py: names and passwords, throttling, and what ends a session."""

from __future__ import annotations

import threading

import pytest
from argon2 import PasswordHasher
from sqlalchemy import func, select
from support.admin.harvest_database import HOUR, MINUTE, SECOND, MovableClock
from support.admin.site_users import ADDRESS, CHEAP, PASSWORD, actions, actor_of, add_person, person

from admin.models.database import Database
from admin.models.errors import Forbidden, IllegalState, InvalidInput, NotFound
from admin.models.people_tables import AuditEntry, LoginAttempts, Role, User, WebSession
from admin.models.transaction import COMMAND_LINE, Actor, Door
from admin.people.login import LoginRefused, log_in
from admin.people.passwords import PASSWORDS
from admin.people.profile import change_password
from admin.people.sessions import MOST_SESSIONS, end_session, end_session_of, list_sessions, session_of
from admin.people.throttling import TooManyAttempts, address_key
from admin.people.users import UserChange, change_user, deactivate_user, release_user
from archive.settings.load import Settings, load


def test_a_login_gives_a_session_whose_cookie_the_database_does_not_have(database: Database) -> None:
    add_person(database, "anna")
    login = log_in(database, " ANNA ", PASSWORD, address=ADDRESS, browser="Firefox\r\n/140")
    with database.transaction(COMMAND_LINE) as transaction:
        session = session_of(transaction, login.cookie, "192.0.2.9")
        assert session is not None
        assert (session.actor.name, session.actor.door, session.actor.address) == ("anna", Door.WEB, "192.0.2.9")
        assert session.full_name == "Anna"
        rows = transaction.session.scalars(select(WebSession)).all()
        assert all(login.cookie not in str(vars(row)) for row in rows)
        assert {row.browser for row in rows} == {"", "Firefox/140"}
        assert transaction.session.scalars(select(User)).one().last_login == transaction.now


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("anna", "wrong password 99"),
        ("nobody", PASSWORD),
        ("", ""),
        ("a" * 1_000_000, PASSWORD),
        ("anna", PASSWORD + "x" * 1_000_000),
        ("anna\0", PASSWORD),
        ("\u202eanna", PASSWORD),
        ("anna\ud800", PASSWORD),
        ("anna", "\ud800"),
    ],
)
def test_all_wrong_logins_get_the_same_answer(sqlite_database: Database, name: str, password: str) -> None:
    add_person(sqlite_database, "anna")
    with pytest.raises(LoginRefused, match="the name or the password is wrong"):
        log_in(sqlite_database, name, password)


def test_a_wrong_name_costs_as_many_hashes_as_a_wrong_password(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_person(sqlite_database, "anna")
    add_person(sqlite_database, "gone")
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        deactivate_user(transaction, "gone")

    class Counting(PasswordHasher):
        verified = 0

        def verify(self, hash: str | bytes, password: str | bytes) -> bool:
            Counting.verified += 1
            return super().verify(hash, password)

    PASSWORDS.warm_up()
    monkeypatch.setattr(PASSWORDS, "_hasher", Counting(**CHEAP))
    for name, password in (("anna", "wrong password"), ("nobody", "wrong password"), ("gone", PASSWORD)):
        Counting.verified = 0
        with pytest.raises(LoginRefused):
            log_in(sqlite_database, name, password)
        assert Counting.verified == 1


def test_a_hash_of_other_parameters_is_replaced_at_login(
    sqlite_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_person(sqlite_database, "anna")
    monkeypatch.setattr(PASSWORDS, "_hasher", PasswordHasher(time_cost=2, memory_cost=16, parallelism=1))
    log_in(sqlite_database, "anna", PASSWORD)
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        stored = transaction.session.scalars(select(User.password_hash)).one()
    assert stored is not None
    assert "m=16,t=2" in stored
    log_in(sqlite_database, "anna", PASSWORD)


def test_an_account_is_throttled_for_known_and_unknown_names_alike(database: Database, clock: MovableClock) -> None:
    add_person(database, "anna")
    for name in ("anna", "nobody"):
        for number in range(10):
            with pytest.raises(LoginRefused):
                log_in(database, name, "wrong password", address=f"192.0.2.{number}")
        with pytest.raises(TooManyAttempts, match="try again in 15 minutes") as caught:
            log_in(database, name, PASSWORD, address="192.0.2.99")
        assert caught.value.seconds == 900
    clock.move(14 * MINUTE)
    with pytest.raises(TooManyAttempts, match="try again in 1 minute,"):
        log_in(database, "anna", PASSWORD)
    clock.move(MINUTE)
    log_in(database, "anna", PASSWORD)
    assert actions(database).count("login.throttle") == 2


def test_the_audit_of_throttling_does_not_repeat_what_strangers_typed(database: Database) -> None:
    for _ in range(11):
        with pytest.raises((LoginRefused, TooManyAttempts)):
            log_in(database, "my-password-in-the-wrong-field", "x", address=ADDRESS)
    with database.transaction(COMMAND_LINE) as transaction:
        entry = transaction.session.scalars(select(AuditEntry).where(AuditEntry.action == "login.throttle")).one()
        assert "wrong-field" not in str(vars(entry))
        assert entry.new == {"address": ADDRESS}


def test_an_address_is_throttled_and_logins_that_succeed_do_not_count(database: Database) -> None:
    add_person(database, "anna")
    for number in range(49):
        with pytest.raises(LoginRefused):
            log_in(database, f"user{number}", "x", address="2001:db8::1")
        if number % 10 == 0:
            log_in(database, "anna", PASSWORD, address="2001:db8::1")
    with pytest.raises(LoginRefused):
        log_in(database, "user50", "x", address="2001:db8::2")
    with pytest.raises(TooManyAttempts):
        log_in(database, "anna", PASSWORD, address="2001:db8::ffff:ffff:ffff:ffff")
    log_in(database, "anna", PASSWORD, address="2001:db8:0:1::1")


@pytest.mark.both_databases
def test_attempts_at_the_same_moment_do_not_pass_together(database: Database) -> None:
    add_person(database, "anna")
    outcomes: list[type[Exception]] = []
    start = threading.Barrier(15)

    def attempt() -> None:
        start.wait()
        try:
            log_in(database, "anna", "wrong password")
        except (LoginRefused, TooManyAttempts) as error:
            outcomes.append(type(error))

    threads = [threading.Thread(target=attempt) for _ in range(15)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (outcomes.count(LoginRefused), outcomes.count(TooManyAttempts)) == (10, 5)


def test_attempts_that_reach_the_database_in_another_order_than_they_began_are_all_counted(
    database: Database, tables_url: str, clock: MovableClock, settings: Settings
) -> None:
    add_person(database, "anna")
    late = MovableClock()
    late.now = clock.now + 2 * SECOND
    outcomes: list[type[Exception]] = []
    another = Database(tables_url, late, settings)  # as in another process, whose attempt began a moment later
    try:
        for each in (another, database) * 15:
            with pytest.raises((LoginRefused, TooManyAttempts)) as caught:
                log_in(each, "anna", "wrong password")
            outcomes.append(caught.type)
    finally:
        another.close()
    assert (outcomes.count(LoginRefused), outcomes.count(TooManyAttempts)) == (10, 20)


def test_an_administrator_releases_an_account(database: Database) -> None:
    add_person(database, "anna")
    for _ in range(10):
        with pytest.raises(LoginRefused):
            log_in(database, "anna", "wrong password")
    with database.transaction(COMMAND_LINE) as transaction:
        release_user(transaction, "anna")
    log_in(database, "anna", PASSWORD)


def test_counters_that_have_ended_are_removed_and_a_clock_set_back_locks_nobody_out(
    database: Database, clock: MovableClock
) -> None:
    add_person(database, "anna")
    for _ in range(10):
        with pytest.raises(LoginRefused):
            log_in(database, "anna", "wrong password")
    clock.move(-HOUR)
    log_in(database, "anna", PASSWORD)
    clock.move(3 * HOUR)
    log_in(database, "anna", PASSWORD, address="192.0.2.77")
    with database.transaction(COMMAND_LINE) as transaction:
        keys = transaction.session.scalars(select(LoginAttempts.key)).all()
    assert keys == [address_key("192.0.2.77")]


def test_a_session_ends_when_idle_and_when_too_old(database: Database, clock: MovableClock) -> None:
    idle = add_person(database, "anna").cookie
    used = log_in(database, "anna", PASSWORD).cookie
    for _ in range(6 * 7):
        assert actor_of(database, used) is not None
        clock.move(4 * HOUR)
    assert actor_of(database, used) is None
    assert actor_of(database, idle) is None
    clock.move(-24 * 7 * HOUR + 8 * HOUR)  # the clock goes back, so that only idleness counts
    assert actor_of(database, idle) is None
    clock.move(-SECOND)
    assert actor_of(database, idle) is not None


def test_requests_note_at_most_once_a_minute_that_they_were_there(database: Database, clock: MovableClock) -> None:
    cookie = add_person(database, "anna").cookie
    seen = []
    for _ in range(4):
        clock.move(30 * SECOND)
        actor_of(database, cookie)
        with database.transaction(COMMAND_LINE) as transaction:
            seen.append(transaction.session.scalars(select(WebSession.seen)).one())
    assert len(set(seen)) == 3


def test_a_login_ends_the_session_that_the_browser_had(database: Database) -> None:
    former = add_person(database, "anna").cookie
    cookie = log_in(database, "anna", PASSWORD, former_cookie=former).cookie
    assert cookie != former
    assert actor_of(database, former) is None
    assert actor_of(database, cookie) is not None


def test_a_change_of_rights_needs_a_new_login(database: Database) -> None:
    cookie = add_person(database, "anna", Role.CURATOR).cookie
    with database.transaction(COMMAND_LINE) as transaction:
        change_user(transaction, "anna", UserChange(full_name="Anna Berg", role=Role.CURATOR))
    assert actor_of(database, cookie) is not None
    with database.transaction(COMMAND_LINE) as transaction:
        change_user(transaction, "anna", UserChange(role=Role.ADMINISTRATOR))
    assert actor_of(database, cookie) is None
    actor = actor_of(database, log_in(database, "anna", PASSWORD).cookie)
    assert actor is not None
    assert actor.role == Role.ADMINISTRATOR


def test_users_see_and_end_their_own_sessions_alone(database: Database) -> None:
    anna, other = add_person(database, "anna").cookie, add_person(database, "bert").cookie
    second = log_in(database, "anna", PASSWORD, address="198.51.100.9", browser="Firefox").cookie
    actor = actor_of(database, anna)
    stranger = actor_of(database, other)
    assert actor is not None
    assert stranger is not None
    with database.transaction(actor) as transaction:
        shown = {each.address: each.id for each in list_sessions(transaction).items}
        assert set(shown) == {ADDRESS, "198.51.100.9"}
    with pytest.raises(NotFound), database.transaction(stranger) as transaction:
        end_session(transaction, shown["198.51.100.9"])
    for pattern in ("", "%", "_" * 16, shown["198.51.100.9"][:3]):
        with pytest.raises(NotFound), database.transaction(actor) as transaction:
            end_session(transaction, pattern)
    with database.transaction(actor) as transaction:
        end_session(transaction, shown["198.51.100.9"])
    assert actor_of(database, second) is None
    assert actor_of(database, anna) is not None
    with pytest.raises(IllegalState, match="is no user"), database.transaction(COMMAND_LINE) as transaction:
        list_sessions(transaction)


def test_a_logout_ends_the_session(database: Database) -> None:
    cookie = add_person(database, "anna").cookie
    for _ in range(2):
        with database.transaction(COMMAND_LINE) as transaction:
            end_session_of(transaction, cookie)
    assert actor_of(database, cookie) is None


def test_a_user_has_a_bounded_number_of_sessions_and_the_oldest_end(
    sqlite_database: Database, clock: MovableClock
) -> None:
    oldest = add_person(sqlite_database, "anna").cookie
    for _ in range(MOST_SESSIONS):
        clock.move(SECOND)
        log_in(sqlite_database, "anna", PASSWORD)
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        assert transaction.session.scalar(select(func.count()).select_from(WebSession)) == MOST_SESSIONS
    assert actor_of(sqlite_database, oldest) is None


def test_a_change_of_the_password_ends_all_sessions_and_gives_a_new_one(database: Database) -> None:
    actor, elsewhere = person(database, "anna"), log_in(database, "anna", PASSWORD).cookie
    login = change_password(database, actor, PASSWORD, "another password 17")
    assert actor_of(database, elsewhere) is None
    assert actor_of(database, login.cookie) == actor
    with pytest.raises(LoginRefused):
        log_in(database, "anna", PASSWORD)
    log_in(database, "anna", "another password 17")


def test_the_present_password_is_asked_for_and_guesses_are_throttled(database: Database) -> None:
    actor = person(database, "anna")
    for _ in range(10):
        with pytest.raises(LoginRefused, match="present password is wrong"):
            change_password(database, actor, "a guess", "another password 17")
    with pytest.raises(TooManyAttempts):
        change_password(database, actor, PASSWORD, "another password 17")


@pytest.mark.parametrize(
    ("new", "said"),
    [
        ("short", "has 5 characters; use at least 12"),
        ("x" * 10_000, "has 10,000 characters; use at most 1000"),
        (PASSWORD, "is the present one"),
        ("ANNA.BERG@EXAMPLE.ORG", "is the user's name or address"),
        ("ababababababab", "repeats 2 characters"),
    ],
)
def test_a_bad_new_password_is_refused_with_the_remedy(sqlite_database: Database, new: str, said: str) -> None:
    actor = person(sqlite_database, "anna", email="anna.berg@example.org")
    with pytest.raises(InvalidInput, match=said):
        change_password(sqlite_database, actor, PASSWORD, new)


def test_a_token_can_not_change_the_password(sqlite_database: Database) -> None:
    actor = person(sqlite_database, "anna")
    program = Actor(actor.name, actor.role, Door.API, user_id=actor.user_id)
    with pytest.raises(Forbidden):
        change_password(sqlite_database, program, PASSWORD, "another password 17")


def test_the_settings_say_how_long_sessions_last(sqlite_database: Database, clock: MovableClock) -> None:
    sqlite_database.settings = load(
        {"home": str(sqlite_database.settings.home), "people.session_idle_seconds": 60}, environment={}
    )
    cookie = add_person(sqlite_database, "anna").cookie
    clock.move(59 * SECOND)
    assert actor_of(sqlite_database, cookie) is not None
    clock.move(59 * SECOND)
    assert actor_of(sqlite_database, cookie) is None
