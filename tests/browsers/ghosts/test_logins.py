"""A login is made in a real browser, used by visits, and found to be lost."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import pytest
from origin import RawOrigin, Step
from visiting import Fleet, page

from browsers.ghosts.ghost import ChromiumVisitor
from browsers.ghosts.login_visits import has_login, profile_by_form
from browsers.logins.browser_profile import BrowserProfile, LoginCheck
from browsers.logins.form_login import Credentials, LoginFailed

pytestmark = pytest.mark.browser

COOKIE: Final = "member-4711"
TOKEN: Final = "token-0815"
FORM: Final = (
    "<form method=post action=/session><input name=q type=search><input name=user><input type=password name=pass>"
    "<button>Log in</button></form>"
)
FIRST_STEP: Final = (
    '<form onsubmit="event.preventDefault(); document.body.innerHTML = `<form method=post action=/session>'
    '<input type=hidden name=user value=${this.mail.value}><input type=password name=pass></form>`">'
    "<input name=mail><button>Next</button></form>"
)
SECRET: Final = (
    f"<script>document.body.append(localStorage.token === '{TOKEN}' ? 'Token is there' : 'Token is missing')</script>"
)


class MemberSite:
    """A site with a login. `is_open` says whether the session of the cookie is still valid."""

    def __init__(self, origin: RawOrigin) -> None:
        self.is_open = True
        origin.otherwise(self.answer)

    def answer(self, asked: bytes) -> Sequence[Step]:
        head, _, body = asked.partition(b"\r\n\r\n")
        path = head.split()[1]
        is_member = self.is_open and f"member={COOKIE}".encode() in head
        if path == b"/session" and b"user=newt" in body and b"pass=s3cret" in body:
            script = f"<script>localStorage.token = '{TOKEN}'</script>"
            cookie = f"Set-Cookie: member={COOKIE}; HttpOnly; SameSite=Lax; Path=/\r\n"
            return (page(f"<a id=out href=/logout>Log out</a>{script}", headers=cookie),)
        if path == b"/members":
            return (page(f"<a id=out>Log out</a>{SECRET}" if is_member else FORM),)
        return (page(FIRST_STEP if path == b"/two-steps" else "Wrong password" if path == b"/session" else FORM),)


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin("127.0.1.62") as origin:
        yield origin


@pytest.fixture
def site(origin: RawOrigin) -> MemberSite:
    return MemberSite(origin)


def profile_of(origin: RawOrigin, path: str = "/login") -> BrowserProfile:
    return BrowserProfile("pond", origin.url(path), 1, check=LoginCheck("127.0.1.62", "#out"))


def made(fleet: Fleet, profile: BrowserProfile, password: str = "s3cret") -> BrowserProfile:
    return profile_by_form(
        fleet.settings(sandbox=False),
        fleet.proxy.ready["proxy"],
        fleet.proxy.ready["controls"],
        profile,
        Credentials("newt", password),
    )


@pytest.mark.parametrize("path", ["/login", "/two-steps"])
def test_a_login_is_used_by_visits_and_no_record_of_a_request_has_its_cookie(
    fleet: Fleet, origin: RawOrigin, site: MemberSite, path: str
) -> None:
    profile = made(fleet, profile_of(origin, path))
    visitor = ChromiumVisitor(
        fleet.settings(sandbox=False, page_records=["text", "dom", "har"]),
        [fleet.control],
        fleet.trusted,
        profile=profile,
    )
    order = fleet.order(origin.url("/members"))
    try:
        visit = visitor.visit(order)
        site.is_open = False
        later = visitor.visit(replace(order, collection=f"{order.collection}-later"))
    finally:
        visitor.close()

    assert visit.annotations == ()
    kept = fleet.proxy.records(order.collection)
    (text,) = kept.of(f"urn:text:{order.url}")
    assert text.block.decode().splitlines() == ["Log outToken is there"]
    requests = kept.kinds("request")
    assert COOKIE.encode() not in b"".join(record.block for record in (*requests, *kept.of(f"urn:har:{order.url}")))
    assert {record.field("WARC-Redacted") for record in requests if record.url == order.url} == {"header cookie"}
    assert "page:logged-out:pond" in later.annotations
    (info,) = fleet.proxy.records(f"{order.collection}-later").of(f"urn:pageinfo:{order.url}")
    assert {"type": "logged-out", "rule": "pond"} in json.loads(info.block)["flaws"]


def test_the_login_itself_is_not_archived(fleet: Fleet, origin: RawOrigin, site: MemberSite) -> None:
    made(fleet, profile_of(origin))

    assert {"/login", "/session"} <= {seen.path for seen in origin.visits}
    assert not fleet.proxy.folder("logins").exists()


def test_a_wrong_password_and_a_page_without_a_form_are_named_without_the_password(
    fleet: Fleet, origin: RawOrigin, site: MemberSite
) -> None:
    with pytest.raises(LoginFailed, match="check looks for") as wrong:
        made(fleet, profile_of(origin), "wr0ng")
    origin.script("/empty", page("nothing"))
    with pytest.raises(LoginFailed, match="no field for a password"):
        made(fleet, profile_of(origin, "/empty"))
    with pytest.raises(LoginFailed, match="can't be opened"):
        made(fleet, replace(profile_of(origin), url="http://nowhere.invalid/"))
    assert "wr0ng" not in str(wrong.value)


def test_a_check_opens_the_page_with_the_login(fleet: Fleet, origin: RawOrigin, site: MemberSite) -> None:
    profile = replace(made(fleet, profile_of(origin)), url=origin.url("/members"))
    settings, ready = fleet.settings(sandbox=False), fleet.proxy.ready

    assert has_login(settings, ready["proxy"], ready["controls"], profile)
    site.is_open = False
    assert not has_login(settings, ready["proxy"], ready["controls"], profile)
