"""Browser profiles are kept encrypted, and nobody without the key has a login."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from browsers.engines.interface import BrowserCookie, HttpCredentials
from browsers.logins.browser_profile import MAX_COOKIES, MAX_STORAGE, BrowserProfile, LoginCheck, LoginRecipe
from browsers.logins.form_login import Credentials
from browsers.logins.profile_store import FOLDER, KEY_FILE, ProfileStore, ProfileUnusable

COOKIE = BrowserCookie("session", "s3cret-cookie", "site.test", expires=2e9, http_only=True, same_site="Lax")
PROFILE = BrowserProfile(
    "pond",
    "http://site.test/login",
    1_000_000,
    (COOKIE,),
    {"http://site.test": (("token", "s3cret-token"),)},
    LoginCheck("site.test", "#out", "Log out"),
    HttpCredentials("http://site.test", "newt", "s3cret-http", "basic"),
    LoginRecipe("newt", "s3cret-word", "s3cret-flow"),
)


@pytest.fixture
def store(tmp_path: Path) -> ProfileStore:
    return ProfileStore(tmp_path)


def test_a_profile_comes_back_as_it_was_saved(store: ProfileStore) -> None:
    store.save(PROFILE)
    store.save(replace(PROFILE, name="lake"))

    assert store.load("pond") == PROFILE
    assert store.names() == ["lake", "pond"]


def test_no_file_and_no_text_shows_a_secret(store: ProfileStore, tmp_path: Path) -> None:
    store.save(PROFILE)

    for path in (tmp_path / FOLDER).iterdir():
        assert b"s3cret" not in path.read_bytes()
        assert path.stat().st_mode & 0o077 == 0, path
    assert "s3cret" not in repr(PROFILE)
    assert "s3cret" not in repr(Credentials("newt", "s3cret"))


def test_a_file_under_another_name_or_with_another_key_is_refused(store: ProfileStore, tmp_path: Path) -> None:
    store.save(PROFILE)
    folder = tmp_path / FOLDER
    shutil.copy(folder / "pond.profile", folder / "other.profile")
    with pytest.raises(ProfileUnusable, match="can't be decrypted"):
        store.load("other")
    (folder / KEY_FILE).write_text(os.urandom(32).hex())
    with pytest.raises(ProfileUnusable, match="can't be decrypted"):
        store.load("pond")
    (folder / KEY_FILE).chmod(0o644)
    with pytest.raises(ProfileUnusable, match="chmod 600"):
        store.load("pond")
    (folder / KEY_FILE).unlink()
    with pytest.raises(ProfileUnusable, match="key file"):
        store.load("pond")


@pytest.mark.parametrize("damage", [b"", b"\x01", b"\x02" + b"x" * 50, b"\x01" + b"x" * 50])
def test_a_damaged_file_is_refused(store: ProfileStore, tmp_path: Path, damage: bytes) -> None:
    store.save(PROFILE)
    (tmp_path / FOLDER / "pond.profile").write_bytes(damage)

    with pytest.raises(ProfileUnusable, match="pond"):
        store.load("pond")


@pytest.mark.parametrize("name", ["../pond", "", "a/b", ".hidden", "x" * 65, "a\n"])
def test_a_name_that_could_leave_the_folder_is_refused(store: ProfileStore, name: str) -> None:
    with pytest.raises(ProfileUnusable, match="no name"):
        store.save(replace(PROFILE, name=name))
    with pytest.raises(ProfileUnusable, match="no name"):
        store.load(name)


def test_deleting_removes_the_file(store: ProfileStore) -> None:
    store.save(PROFILE)

    store.delete("pond")

    with pytest.raises(ProfileUnusable, match="known are: none"):
        store.load("pond")
    with pytest.raises(ProfileUnusable, match="no browser profile"):
        store.delete("pond")


def test_a_site_that_stores_without_end_is_cut_off(store: ProfileStore) -> None:
    storage = {f"http://{number}.test": (("k", "v" * (MAX_STORAGE // 3)),) for number in range(9)}
    store.save(replace(PROFILE, cookies=(COOKIE,) * (MAX_COOKIES + 1), storage=storage))

    kept = store.load("pond")

    assert len(kept.cookies) == MAX_COOKIES
    assert len(kept.storage) == 2


def test_a_check_holds_for_pages_of_its_host_only() -> None:
    assert PROFILE.check.applies_to("http://site.test/any")
    assert not PROFILE.check.applies_to("http://other.test/any")
    assert not PROFILE.check.applies_to("http://[")
    assert not LoginCheck("site.test").applies_to("http://site.test/any")


def test_a_profile_of_an_earlier_release_has_no_recipe(store: ProfileStore) -> None:
    text = replace(PROFILE, http=None, recipe=None).to_json()
    old = {name: value for name, value in json.loads(text).items() if name not in ("http", "recipe")}

    assert BrowserProfile.from_json(json.dumps(old)) == replace(PROFILE, http=None, recipe=None)


@pytest.mark.parametrize(
    ("url", "cookies"),
    [
        ("http://site.test/", "host=1; wide=2"),
        ("https://site.test/", "host=1; wide=2; secure=3"),
        ("http://sub.site.test/", "wide=2"),
        ("http://evilsite.test/", None),
        ("http://site.test/deep/x", "deep=4; host=1; wide=2"),
        ("http://site.test/deeper", "host=1; wide=2"),
        ("http://[", None),
    ],
)
def test_cookies_go_where_a_browser_sends_them(url: str, cookies: str | None) -> None:
    kept = (
        BrowserCookie("host", "1", "site.test"),
        BrowserCookie("wide", "2", ".site.test"),
        BrowserCookie("secure", "3", "site.test", secure=True),
        BrowserCookie("deep", "4", "site.test", path="/deep"),
        BrowserCookie("old", "5", "site.test", expires=10),
    )
    profile = replace(PROFILE, cookies=kept, http=None)

    assert profile.headers_for(url, now=100).get("Cookie") == cookies


def test_basic_credentials_go_to_their_origin_only() -> None:
    assert PROFILE.headers_for("http://site.test/x", now=1)["Authorization"] == "Basic bmV3dDpzM2NyZXQtaHR0cA=="
    for url in ("https://site.test/x", "http://site.test:81/x", "http://site.test.evil.test/x", "http://other.test/"):
        assert "Authorization" not in PROFILE.headers_for(url, now=1)
