"""Logins of several profiles are renewed apart, and one that may help is tried again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from browsers.logins.browser_profile import BrowserProfile, LoginCheck, LoginRecipe
from browsers.logins.form_login import LoginFailed, LoginNotTried
from browsers.logins.login_book import LoginBook
from browsers.logins.profile_store import ProfileStore
from browsers.logins.renewal import LoginRenewal

POND, LAKE = (
    BrowserProfile(
        name, f"http://{name}.test/", 1, check=LoginCheck(f"{name}.test", "#out"), recipe=LoginRecipe("newt")
    )
    for name in ("pond", "lake")
)


class Desk:
    """The renewal of two logins. `tried` has the profiles whose login was tried."""

    def __init__(self, home: Path) -> None:
        self.store, self.book = ProfileStore(home), LoginBook(None, (POND, LAKE))
        for profile in (POND, LAKE):
            self.store.save(profile)
        self.forgotten = 0
        self.tried: list[str] = []
        self.failure: Exception | None = None
        self.renewal = LoginRenewal(home, self.book, self.forget)

    def forget(self) -> None:
        self.forgotten += 1

    def log_in(self, profile: BrowserProfile) -> BrowserProfile:
        self.tried.append(profile.name)
        if self.failure is not None:
            raise self.failure
        return replace(profile, created=profile.created + 1)

    def renews(self, profile: BrowserProfile, failure: Exception | None = None) -> bool:
        self.failure = failure
        return self.renewal.renew_login(profile.url, profile, self.log_in)


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_login_whose_page_fails_for_a_moment_is_tried_again(desk: Desk) -> None:
    assert not desk.renews(POND, LoginNotTried("http://pond.test/ shows no field for a password"))
    assert desk.renews(POND)
    assert desk.book.for_url(POND.url) == replace(POND, created=2)


@pytest.mark.parametrize("failure", [LoginFailed("the site did not take the login"), None], ids=["refused", "no help"])
def test_a_login_that_did_not_help_is_not_repeated_and_another_one_is_tried(
    desk: Desk, failure: Exception | None
) -> None:
    desk.renews(POND, failure)
    used = desk.book.for_url(POND.url)
    assert used is not None

    assert not desk.renews(used)
    assert desk.renews(LAKE)
    assert desk.tried == ["pond", "lake"]


def test_a_login_that_never_gets_a_page_is_not_tried_for_ever(desk: Desk) -> None:
    for _ in range(50):
        desk.renews(POND, LoginNotTried("http://pond.test/ did not load"))

    assert len(desk.tried) == 20
    assert desk.renews(LAKE)


def test_what_visits_have_left_is_forgotten_when_another_worker_has_renewed_the_login(desk: Desk) -> None:
    desk.store.save(replace(POND, created=5))

    assert desk.renews(POND)
    assert desk.tried == []
    assert desk.forgotten == 1
