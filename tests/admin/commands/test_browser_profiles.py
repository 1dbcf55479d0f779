"""`ghostfleet profile browser`: a login is made, listed, checked and deleted by commands."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from support.browsers.visits import page
from support.origins.raw_origin import RawOrigin, Step
from support.processes.machine_needs import chromium, redis_server

from browsers.engines.interface import BrowserCookie
from browsers.logins.browser_profile import BrowserProfile, LoginCheck
from browsers.logins.profile_store import ProfileStore

ROOT = Path(__file__).parents[3]
FORM = "<form method=post action=/session><input name=user><input type=password name=pass><button>In</button></form>"


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    def answer(asked: bytes) -> Sequence[Step]:
        head, _, body = asked.partition(b"\r\n\r\n")
        if head.startswith(b"POST") and b"pass=s3cret" in body:
            return (page("Log out", headers="Set-Cookie: member=1; HttpOnly; Path=/\r\n"),)
        return (page("Log out" if b"member=1" in head else FORM),)

    with RawOrigin("127.0.1.63") as origin:
        origin.otherwise(answer)
        yield origin


def run(home: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "admin.cli", "profile", "browser", *words, "--home", str(home)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=110,
        env={**os.environ, "GHOSTFLEET_BROWSERS__SANDBOX": "false", **environment},
    )


@pytest.mark.browser
def test_a_login_is_made_listed_and_deleted(tmp_path: Path, origin: RawOrigin) -> None:
    chromium()
    redis_server()
    home, url = tmp_path / "home", origin.url("/login")

    made = run(
        home,
        *("create", "pond", "--url", url, "--user", "newt", "--text", "Log out", "--allow-private"),
        GHOSTFLEET_LOGIN_PASSWORD="s3cret",
    )
    stored = ProfileStore(home).load("pond")
    listed = run(home, "list", "--json")
    deleted = run(home, "delete", "pond")

    assert (made.returncode, made.stdout) == (0, "pond has 1 cookies and the storage of 1 sites\n"), made.stderr
    assert stored.check.text == "Log out"
    assert [(each["name"], each["url"]) for each in json.loads(listed.stdout)] == [("pond", url)]
    assert deleted.stdout == "pond is deleted\n"
    assert not (home / "collections" / "logins").exists()
    for path in (home / "logs").rglob("*"):
        assert "s3cret" not in path.read_text("utf-8", "replace"), path


@pytest.mark.parametrize(("content", "why"), [(b"p\xe4ssword\n", "not UTF-8"), (b"\n", "no password")])
def test_a_password_file_that_can_not_be_used_is_one_line(tmp_path: Path, content: bytes, why: str) -> None:
    file = tmp_path / "password"
    file.write_bytes(content)
    words = ("create", "pond", "--url", "http://localhost/", "--user", "newt", "--text", "Log out")
    done = run(tmp_path / "home", *words, "--password-file", str(file))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done.stderr
    assert str(file) in done.stderr
    assert why in done.stderr


@pytest.mark.browser
def test_a_login_by_a_flow_keeps_the_flow_and_the_text_that_shows_it(tmp_path: Path, origin: RawOrigin) -> None:
    chromium()
    redis_server()
    home, file = tmp_path / "home", tmp_path / "flow.json"
    steps = [
        {"type": "navigate", "url": origin.url("/login")},
        {"type": "change", "selectors": [["[name=user]"]], "value": "newt"},
        {"type": "change", "selectors": [["[name=pass]"]], "value": "s3cret"},
        {"type": "click", "selectors": [["button"]]},
    ]
    file.write_text(json.dumps({"title": "Log in", "steps": steps}), "utf-8")

    made = run(home, "create", "pond", "--flow", str(file), "--text", "Log out", "--allow-private")

    assert (made.returncode, made.stdout) == (0, "pond has 1 cookies and the storage of 1 sites\n"), made.stderr
    stored = ProfileStore(home).load("pond")
    assert (stored.url, stored.check.text) == (origin.url("/login"), "Log out")
    assert stored.recipe is not None
    assert stored.recipe.flow == file.read_text("utf-8")


@pytest.mark.browser
def test_a_login_that_the_site_does_not_know_any_more_is_reported(tmp_path: Path, origin: RawOrigin) -> None:
    chromium()
    redis_server()
    stale = BrowserCookie("member", "old", "127.0.1.63")
    check = LoginCheck("127.0.1.63", text="Log out")
    ProfileStore(tmp_path / "home").save(BrowserProfile("pond", origin.url("/login"), 1, (stale,), {}, check))

    checked = run(tmp_path / "home", "check", "pond", "--allow-private")

    assert checked.returncode == 1
    assert "does not show the login of pond any more" in checked.stderr


def test_what_can_not_be_used_is_said_in_one_line(tmp_path: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text("{}", "utf-8")
    for words, said in (
        (("check", "nothing"), "there is no browser profile nothing; known are: none"),
        (("delete", "nothing"), "there is no browser profile nothing"),
        (("create", "../x", "--url", "http://site.test/", "--user", "u"), "is no name of a browser profile"),
        (("create", "x", "--url", "nothing", "--user", "u"), "--url 'nothing' can't be used"),
        (("create", "x", "--url", "http://site.test/"), "--user is missing"),
        (("create", "x", "--user", "u"), "--url is missing"),
        (("create", "x", "--url", "http://site.test/", "--interactive"), "needs a display, and there is none"),
        (("create", "x", "--flow", str(broken)), "is no recorded flow"),
    ):
        done = run(tmp_path / "home", *words, DISPLAY="", WAYLAND_DISPLAY="")

        assert done.returncode == 2, words
        assert said in done.stderr
        assert done.stderr.count("\n") == 1
