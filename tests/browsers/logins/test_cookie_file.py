"""Files of cookies: each form that programs write, and files that are none."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from bench.process import our_command, source_environment
from browsers.engines.interface import BrowserCookie
from browsers.logins.browser_profile import MAX_COOKIES
from browsers.logins.cookie_file import MAX_BYTES, CookieFileError, read_cookie_file
from browsers.logins.profile_store import ProfileStore

NETSCAPE = (
    "# Netscape HTTP Cookie File\n"
    "#HttpOnly_.example.org\tTRUE\t/\tTRUE\t2147483647\tsession\ts3cret\n"
    "www.example.org\tFALSE\t/shop\tFALSE\t0\tbasket\t7\n"
)
EXPECTED = {
    "session": BrowserCookie("session", "s3cret", ".example.org", "/", 2147483647, http_only=True, secure=True),
    "basket": BrowserCookie("basket", "7", "www.example.org", "/shop"),
}


def file_of(folder: Path, content: str | bytes) -> Path:
    path = folder / "cookies"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_file_of_netscape_s_form_is_read(tmp_path: Path) -> None:
    found = read_cookie_file(file_of(tmp_path, NETSCAPE))
    assert {each.name: each for each in found.cookies} == EXPECTED
    assert found.left_out == 0


def test_the_json_of_extensions_and_of_playwright_is_read(tmp_path: Path) -> None:
    cookie = {"name": "session", "value": "s3cret", "domain": ".example.org", "path": "/", "httpOnly": True}
    of_extension = [{**cookie, "secure": True, "expirationDate": 2147483647.5, "sameSite": "no_restriction"}]
    found = read_cookie_file(file_of(tmp_path, json.dumps(of_extension)))
    assert found.cookies == (
        BrowserCookie(
            "session", "s3cret", ".example.org", "/", 2147483647.5, http_only=True, secure=True, same_site="None"
        ),
    )
    state = {
        "cookies": [{**cookie, "expires": -1, "sameSite": "Lax"}],
        "origins": [{"origin": "https://example.org", "localStorage": [{"name": "a", "value": "b"}, {"name": 1}]}, 7],
    }
    found = read_cookie_file(file_of(tmp_path, json.dumps(state)))
    assert [(each.expires, each.same_site) for each in found.cookies] == [(-1, "Lax")]
    assert found.storage == {"https://example.org": (("a", "b"),)}


@pytest.mark.parametrize(
    "content",
    [b"", b"<html>", b"{", b'{"cookies": 7}', b"[" * 200_000, b"\xff\xfe\0", b"a\tb\n", b" " * (MAX_BYTES + 1)],
    ids=["empty", "html", "broken", "no-list", "deep", "binary", "no-header", "large"],
)
def test_another_file_is_named_in_one_line(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(CookieFileError) as raised:
        read_cookie_file(file_of(tmp_path, content))
    assert "\n" not in str(raised.value)


def test_cookies_that_can_not_be_used_are_counted(tmp_path: Path) -> None:
    good = {"name": "a", "value": "b", "domain": "example.org"}
    listed = [good] * (MAX_COOKIES + 3) + [7, {}, {**good, "value": None}, {**good, "domain": ""}]
    found = read_cookie_file(file_of(tmp_path, json.dumps(listed)))
    assert (len(found.cookies), found.left_out) == (MAX_COOKIES, 7)


def test_a_file_becomes_a_login_that_a_job_can_use(home: Path, tmp_path: Path) -> None:
    command = our_command(
        "profile", "browser", "import", "shop", str(file_of(tmp_path, NETSCAPE)), "--url", "https://www.example.org/",
        "--text", "Log out", "--home", str(home),
    )  # fmt: skip
    done = subprocess.run(command, env=source_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "s3cret" not in done.stdout + done.stderr
    stored = ProfileStore(home).load("shop")
    assert stored.headers_for("https://www.example.org/shop/1", 0)["Cookie"] in (
        "basket=7; session=s3cret", "session=s3cret; basket=7",
    )  # fmt: skip
    assert stored.check.text == "Log out"
    assert all(b"s3cret" not in each.read_bytes() for each in home.rglob("*") if each.is_file())
