"""Every route of the site and of the API, taken from the route map, is requested by nobody and by each role."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import httpx
import pytest
from sqlalchemy import select
from support.admin.harvest_database import DAY, MovableClock
from support.web.security_site import (
    EVERYBODY,
    Route,
    SecuritySite,
    api_path,
    flask_app,
    form_token,
    operations,
    page_routes,
    shows_the_border,
)
from support.web.site_server import running_site

from admin.models.database import Database
from admin.models.people_tables import Role, User
from admin.models.transaction import COMMAND_LINE, RIGHTS, Actor, Door
from admin.people.api_tokens import NewApiToken, create_token
from admin.web.security import SAFE_METHODS

all_tries = pytest.mark.parametrize("is_whole", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["few", "all"])
"""Each route gets each try with --slow alone; else one try follows the other from route to route."""


class Visitor:
    """A browser of a role, which gets a fresh session when a request has ended the session before."""

    def __init__(self, secure: SecuritySite, role: Role | None) -> None:
        self._secure, self._role = secure, role
        self._begin()

    def request(self, route: Route) -> httpx.Response:
        """Request the route, with a token where a form would have one."""
        answer = self._answer(route)
        if answer.status_code == 400 or (self._role is not None and _is_login(answer)):
            self._browser.close()
            self._begin()
            answer = self._answer(route)
        return answer

    def close(self) -> None:
        self._browser.close()

    def _begin(self) -> None:
        self._browser = self._secure.browser(self._role)
        self._token = form_token(self._browser)

    def _answer(self, route: Route) -> httpx.Response:
        data = None if route.method in SAFE_METHODS else {"csrf_token": self._token}
        return self._browser.request(route.method, route.path, data=data)


def _is_login(answer: httpx.Response) -> bool:
    return answer.status_code == 303 and answer.headers["Location"].startswith("/login")


@pytest.fixture
def secure(sqlite_database: Database, tmp_path: Path) -> Iterator[SecuritySite]:
    with running_site(sqlite_database, tmp_path / "home") as running:
        yield SecuritySite.of(running)


def test_every_route_says_who_may_use_it(tmp_path: Path) -> None:
    missing = [str(route) for route in page_routes(flask_app(tmp_path)) if not route.is_declared]
    assert not missing, "mark these views by `needs(…)` or `login_is_not_needed`"


def test_a_route_that_says_nothing_is_found(tmp_path: Path) -> None:
    app = flask_app(tmp_path)
    app.add_url_rule("/left-open", "left_open", lambda: "", methods=["GET"])
    assert [route.path for route in page_routes(app) if not route.is_declared] == ["/left-open"]


@pytest.mark.timeout(600)
@all_tries
def test_pages_are_for_those_who_have_the_right(secure: SecuritySite, tmp_path: Path, is_whole: bool) -> None:
    wrong, routes = [], page_routes(flask_app(tmp_path / "map"))
    for role in EVERYBODY:
        visitor = Visitor(secure, role)
        for route in routes:
            if route.is_public and (role is not None or route.method != "GET"):
                continue  # `test_attacks` has logins and logouts
            if not is_whole and not shows_the_border(role, route.right):
                continue
            answer = visitor.request(route)
            is_login = _is_login(answer)
            if route.is_public:
                is_right = not is_login
            elif role is None:
                is_right = is_login
            elif route.right in RIGHTS[role]:
                is_right = answer.status_code not in (400, 401, 403, 405, 500) and not is_login
            else:
                is_right = answer.status_code == 403
            if not is_right:
                wrong.append(f"{role or 'nobody'} at {route}: {answer.status_code}")
        visitor.close()
    assert not wrong


FOREIGN = (
    {"Origin": "https://evil.test"},
    {"Origin": "null"},
    {"Origin": "http://127.0.0.1:1"},
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
)


def in_turn[T](tries: Sequence[T], number: int, is_whole: bool) -> Sequence[T]:
    """Return the try that the number of a route decides; with `is_whole`, all tries."""
    return tries if is_whole else (tries[number % len(tries)],)


@pytest.mark.timeout(600)
@all_tries
def test_every_form_is_refused_without_a_token_of_its_own_session(
    secure: SecuritySite, tmp_path: Path, is_whole: bool
) -> None:
    wrong = []
    with secure.browser(Role.ADMINISTRATOR) as other:
        foreign = form_token(other)
    with secure.browser(Role.ADMINISTRATOR) as browser:
        own = form_token(browser)
        routes = [each for each in page_routes(flask_app(tmp_path / "map")) if each.method not in SAFE_METHODS]
        for number, route in enumerate(routes):
            for token in ("", *in_turn(("wrong", foreign, own[:-1]), number, is_whole)):
                answer = browser.request(route.method, route.path, data={"csrf_token": token, "name": "made"})
                if answer.status_code != 400:
                    wrong.append(f"{route} with {token[:10]!r}: {answer.status_code}")
            for headers in in_turn(FOREIGN, number, is_whole):
                answer = browser.request(route.method, route.path, data={"csrf_token": own}, headers=headers)
                if answer.status_code != 403:
                    wrong.append(f"{route} with {headers}: {answer.status_code}")
        assert browser.get("/jobs").status_code == 200, "the session must have outlived all of this"
    assert not wrong


def test_a_token_is_of_no_use_with_the_form_cookie_of_another_session(secure: SecuritySite) -> None:
    with secure.browser(Role.CURATOR) as attacker, secure.browser(Role.ADMINISTRATOR) as victim:
        token = form_token(attacker)
        victim.cookies.set("ghostfleet_form", attacker.cookies["ghostfleet_form"])
        answer = victim.post("/domains", data={"csrf_token": token, "name": "example.org"})
        assert answer.status_code == 400


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "role",
    # `tests/admin/api` asks all routes of the API as each role, without a server
    [
        pytest.param(role, marks=() if role in (None, Role.READER) else pytest.mark.slow, id=str(role or "nobody"))
        for role in EVERYBODY
    ],
)
def test_operations_are_for_tokens_that_have_the_right(secure: SecuritySite, role: Role | None) -> None:
    headers = {} if role is None else {"Authorization": f"Bearer {token(secure.site.database, role)}"}
    wrong = []
    with httpx.Client(base_url=secure.site.address, timeout=60, headers=headers) as client:
        for operation in operations():
            answer = client.request(operation.method, api_path(operation.path), json=_body(operation.method))
            if role is None:
                is_right = answer.status_code == 401
            elif operation.right in RIGHTS[role]:
                is_right = answer.status_code not in (401, 403, 405, 500)
            else:
                is_right = answer.status_code == 403
            if not is_right:
                wrong.append(f"{operation.name}: {answer.status_code} {answer.text[:100]}")
    assert not wrong


@pytest.mark.timeout(300)
@all_tries
def test_a_token_that_has_expired_or_is_another_text_is_nobodys(
    secure: SecuritySite, clock: MovableClock, is_whole: bool
) -> None:
    made = token(secure.site.database, Role.ADMINISTRATOR, days=1)
    clock.move(2 * DAY)
    wrong = []
    tries = (f"Bearer {made}", "Bearer", "Bearer x", f"Basic {made}", f"Bearer {made}, Bearer {made}")
    with httpx.Client(base_url=secure.site.address, timeout=60) as client:
        for number, operation in enumerate(operations()):
            for text in in_turn(tries, number, is_whole):
                headers = {"Authorization": text}
                answer = client.request(
                    operation.method, api_path(operation.path), json=_body(operation.method), headers=headers
                )
                if answer.status_code != 401:
                    wrong.append(f"{operation.name}: {answer.status_code}")
    assert not wrong


@pytest.mark.timeout(300)
@all_tries
def test_the_session_of_a_browser_changes_nothing_by_the_api_without_its_token(
    secure: SecuritySite, is_whole: bool
) -> None:
    wrong = []
    with secure.browser(Role.ADMINISTRATOR) as browser:
        own = form_token(browser)
        tries = [{"X-CSRFToken": "wrong"}, *({**each, "X-CSRFToken": own} for each in FOREIGN)]
        for number, operation in enumerate(each for each in operations() if each.method not in SAFE_METHODS):
            path, body = api_path(operation.path), _body(operation.method)
            for headers in ({}, *in_turn(tries, number, is_whole)):
                answer = browser.request(operation.method, path, json=body, headers=headers)
                if answer.status_code != 403:
                    wrong.append(f"{operation.name} with {headers}: {answer.status_code}")
        assert browser.get("/jobs").status_code == 200
    assert not wrong


def token(database: Database, role: Role, days: int | None = None) -> str:
    """A token of the user of that role."""
    with database.reading(COMMAND_LINE) as reading:
        user_id = reading.session.scalars(select(User.id).where(User.name == f"the-{role}")).one()
    with database.transaction(Actor(f"the-{role}", role, Door.WEB, "", user_id)) as transaction:
        given = NewApiToken(name="test", role=role, **({} if days is None else {"days": days}))
        return create_token(transaction, given).token


def _body(method: str) -> dict[str, str] | None:
    return None if method in SAFE_METHODS else {}
