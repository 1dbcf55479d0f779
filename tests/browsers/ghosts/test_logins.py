"""A login is made in a real browser, used by visits, and found to be lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Final

import pytest
from support.browsers.visits import EngineFleet, Fleet, document, page
from support.origins.raw_origin import RawOrigin, Step, Wait
from support.processes.waiting import until

from browsers.engines.interface import BrowserCookie, HttpCredentials
from browsers.ghosts.ghost import Ghost
from browsers.ghosts.login_visits import has_login, made_profile, profile_by_hand
from browsers.ghosts.site_logins import SiteLogins
from browsers.logins import form_login
from browsers.logins.browser_profile import BrowserProfile, LoginCheck, LoginRecipe
from browsers.logins.form_login import LoginFailed
from browsers.logins.login_book import LoginBook
from browsers.logins.plain_login import PlainLogin
from browsers.logins.profile_store import ProfileStore
from browsers.plain.visitor import PlainVisitor
from browsers.visit import FleetUnavailable

pytestmark = pytest.mark.browser

COOKIE: Final = "member-4711"
TOKEN: Final = "token-0815"
FORM: Final = (
    "<form method=post action=/session><input name=q type=search><input name=user><input type=password name=pass>"
    "<button>Log in</button></form>"
)
NO_BUTTON: Final = "<form method=post action=/session><input name=user><input type=password name=pass></form>"
NO_FORM: Final = """<input id=name name=user><input id=word type=password><button id=go type=button>Sign in</button>
<script>
go.onclick = () => { const form = document.createElement('form'); form.method = 'post'; form.action = '/session';
  form.innerHTML = `<input name=user value=${name_.value}><input name=pass value=${word.value}>`;
  document.body.append(form); form.submit(); };
</script>""".replace("id=name ", "id=name_ ")
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
        self.is_open: bool | None = True
        """None when the site gives no login any more."""
        origin.otherwise(self.answer)

    def answer(self, asked: bytes) -> Sequence[Step]:
        head, _, body = asked.partition(b"\r\n\r\n")
        path = head.split()[1]
        is_member = self.is_open and f"member={COOKIE}".encode() in head
        if path == b"/session" and b"user=newt" in body and b"pass=s3cret" in body:
            self.is_open = None if self.is_open is None else True
            script = f"<script>localStorage.token = '{TOKEN}'</script>"
            cookie = f"Set-Cookie: member={COOKIE}; HttpOnly; SameSite=Lax; Path=/\r\n"
            return (page(f"<a id=out href=/logout>Log out</a>{script}", headers=cookie),)
        if path == b"/members":
            renewed = f"Set-Cookie: member={COOKIE}; HttpOnly; Path=/\r\n" if is_member else ""
            return (page(f"<a id=out>Log out</a>{SECRET}" if is_member else FORM, headers=renewed),)
        forms = {b"/no-button": NO_BUTTON, b"/no-form": NO_FORM}
        if path in forms:
            return (page(forms[path]),)
        return (page(FIRST_STEP if path == b"/two-steps" else "Wrong password" if path == b"/session" else FORM),)


@pytest.fixture
def origin() -> Iterator[RawOrigin]:
    with RawOrigin("127.0.1.62") as origin:
        yield origin


@pytest.fixture
def site(origin: RawOrigin) -> MemberSite:
    return MemberSite(origin)


@pytest.fixture(autouse=True)
def _no_profile_of_another_test(fleet: Fleet) -> None:
    """The fleet's home serves all tests, and a login that is stored there is one that a visit may renew."""
    stored = ProfileStore(fleet.home)
    for name in stored.names():
        stored.delete(name)


@pytest.fixture(autouse=True)
def _quick_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """The site of these tests answers at once."""
    monkeypatch.setattr(form_login, "_SETTLE_SECONDS", 0.6)


@pytest.fixture(scope="module")
def logins(engine_fleet: EngineFleet) -> Iterator[SiteLogins]:
    """A maker of logins by form, with one browser for all tests."""
    ready = engine_fleet.proxy.ready
    with SiteLogins(engine_fleet.settings(sandbox=False), ready["proxy"], ready["controls"]) as logins:
        yield logins


def profile_of(origin: RawOrigin, path: str = "/login") -> BrowserProfile:
    return BrowserProfile("pond", origin.url(path), 1, check=LoginCheck("127.0.1.62", "#out"))


def with_form(origin: RawOrigin, path: str = "/login", password: str = "s3cret") -> BrowserProfile:
    return replace(profile_of(origin, path), recipe=LoginRecipe("newt", password))


def made(fleet: Fleet, profile: BrowserProfile) -> BrowserProfile:
    return made_profile(
        fleet.settings(sandbox=False), fleet.proxy.ready["proxy"], fleet.proxy.ready["controls"], profile
    )


@pytest.mark.parametrize("path", ["/no-button", "/no-form", "/two-steps"])
def test_a_form_without_a_button_a_button_without_a_form_and_two_steps_log_in(
    logins: SiteLogins, origin: RawOrigin, site: MemberSite, path: str
) -> None:
    assert [cookie.value for cookie in logins.made(with_form(origin, path)).cookies] == [COOKIE]


def test_a_login_is_used_by_visits_and_neither_the_login_nor_its_cookie_is_recorded(
    fleet: Fleet, logins: SiteLogins, origin: RawOrigin, site: MemberSite
) -> None:
    profile = logins.made(with_form(origin))
    assert {"/login", "/session"} <= {seen.path for seen in origin.visits}
    assert not fleet.proxy.folder("logins").exists()
    visitor = Ghost(
        fleet.settings(sandbox=False, behaviors="", page_records=["text", "dom", "har"]),
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
    assert {record.field("WARC-Redacted") for record in requests if record.url == order.url} == {
        "header cookie; response header set-cookie"
    }
    (answer,) = kept.of(order.url, "response")
    assert b"\r\nSet-Cookie: redacted\r\n" in answer.block
    assert COOKIE.encode() not in b"".join(record.block for record in kept.records)
    assert "page:logged-out:pond" in later.annotations
    (info,) = fleet.proxy.records(f"{order.collection}-later").of(f"urn:pageinfo:{order.url}")
    assert {"type": "logged-out", "rule": "pond"} in json.loads(info.block)["flaws"]


def test_a_wrong_password_and_a_page_without_a_form_are_named_without_the_password(
    fleet: Fleet, logins: SiteLogins, origin: RawOrigin, site: MemberSite
) -> None:
    with pytest.raises(LoginFailed, match="check looks for") as wrong:
        logins.made(with_form(origin, password="wr0ng"))
    origin.script("/empty", page("nothing"))
    with pytest.raises(LoginFailed, match="no field for a password"):
        logins.made(with_form(origin, "/empty"))
    with pytest.raises(LoginFailed, match="can't be opened"):
        made(fleet, replace(with_form(origin), url="http://nowhere.invalid/"))
    assert "wr0ng" not in str(wrong.value)


def test_a_check_opens_the_page_with_the_login(
    fleet: Fleet, logins: SiteLogins, origin: RawOrigin, site: MemberSite
) -> None:
    profile = replace(logins.made(with_form(origin)), url=origin.url("/members"))
    settings, ready = fleet.settings(sandbox=False), fleet.proxy.ready

    assert has_login(settings, ready["proxy"], ready["controls"], profile)
    site.is_open = False
    assert not has_login(settings, ready["proxy"], ready["controls"], profile)


FLOW: Final = {
    "title": "Log in",
    "steps": [
        {"type": "setViewport", "width": 900, "height": 600},
        {"type": "navigate", "url": "URL"},
        {"type": "change", "selectors": [["[name=user]"]], "value": "newt"},
        {"type": "change", "selectors": [["[name=pass]"]], "value": "s3cret"},
        {"type": "click", "selectors": [["button"]]},
        {"type": "waitForElement", "selectors": [["#out"]]},
    ],
}


def by_flow(origin: RawOrigin) -> BrowserProfile:
    flow = json.dumps(FLOW).replace("URL", origin.url("/login"))
    return replace(profile_of(origin), recipe=LoginRecipe(flow=flow))


def test_a_recorded_flow_logs_in_and_a_job_renews_the_login_once_when_the_site_ends_it(
    fleet: Fleet, origin: RawOrigin, site: MemberSite
) -> None:
    profile = made(fleet, by_flow(origin))
    ProfileStore(fleet.home).save(profile)
    settings = fleet.settings(sandbox=False, behaviors="", page_records="text")
    visitor = Ghost(settings, [fleet.control], fleet.trusted, profile=profile)
    order = fleet.order(origin.url("/members"))
    try:
        first = visitor.visit(order)
        site.is_open = False
        with pytest.raises(FleetUnavailable, match="login-renewed"):
            visitor.visit(fleet.order(origin.url("/members")))
        again = visitor.visit(fleet.order(origin.url("/members")))
        site.is_open = None  # the site takes no login any more
        with pytest.raises(FleetUnavailable, match="login-renewed"):
            visitor.visit(fleet.order(origin.url("/members")))
        last = visitor.visit(fleet.order(origin.url("/members")))
    finally:
        visitor.close()

    assert (first.annotations, again.annotations) == ((), ())
    assert "page:logged-out:pond" in last.annotations
    assert ProfileStore(fleet.home).load("pond").created > profile.created
    assert "s3cret" not in repr(profile)


def test_a_visit_with_a_login_that_was_renewed_meanwhile_leaves_no_cookies_to_the_next(
    fleet: Fleet, origin: RawOrigin
) -> None:
    old, new = (
        replace(profile_of(origin), created=created, cookies=(BrowserCookie("member", value, "127.0.1.62"),))
        for created, value in ((1, "old"), (2, "new"))
    )
    over, book = threading.Event(), LoginBook(old)
    origin.script("/slow", page("<img src=/slow.png>"))
    origin.script("/slow.png", Wait(over), document(b"", "image/png"))
    origin.script("/next", page("next"))
    settings = fleet.settings(sandbox=False, storage="site-data", behaviors="", page_records="text")
    visitor = Ghost(settings, [fleet.control], fleet.trusted, logins=book)
    try:
        with ThreadPoolExecutor(1) as threads:
            slow = threads.submit(visitor.visit, fleet.order(origin.url("/slow")))
            until(lambda: origin.asked("/slow.png"), what="the page to load")
            book.replace(old, new)
            over.set()
            slow.result(timeout=60)
        visitor.visit(fleet.order(origin.url("/next")))
    finally:
        over.set()
        visitor.close()

    assert b"member=old" in origin.received("/slow")
    assert b"member=new" in origin.received("/next")


def test_a_flow_that_finds_no_element_is_named_without_its_values(
    fleet: Fleet, origin: RawOrigin, site: MemberSite
) -> None:
    steps = [*FLOW["steps"][:2], {"type": "change", "selectors": [["#no"]], "value": "s3cret", "timeout": 300}]
    flow = json.dumps({"title": "x", "steps": steps}).replace("URL", origin.url("/login"))

    with pytest.raises(LoginFailed, match="step 1 of the flow") as failed:
        made(fleet, replace(profile_of(origin), recipe=LoginRecipe(flow=flow)))
    assert "s3cret" not in str(failed.value)


def test_a_login_by_hand_is_stored_when_the_person_says_so(fleet: Fleet, origin: RawOrigin, site: MemberSite) -> None:
    script = f"<a id=out></a><script>document.cookie = 'member={COOKIE}'; localStorage.seat = '7'</script>"
    origin.script("/by-hand", page(script))
    ready = fleet.proxy.ready
    said = list[str]()

    stored = profile_by_hand(
        fleet.settings(sandbox=False),
        *(ready["proxy"], ready["controls"], profile_of(origin, "/by-hand"), lambda: said.append("yes")),
        has_display=False,
    )

    assert said == ["yes"]
    assert [cookie.value for cookie in stored.cookies] == [COOKIE]
    assert dict(stored.storage) == {origin.url("").rstrip("/"): (("seat", "7"),)}


@pytest.mark.parametrize("scheme", [pytest.param("basic", marks=pytest.mark.slow), "digest"])
def test_a_login_by_http_is_answered_and_not_recorded(fleet: Fleet, origin: RawOrigin, scheme: str) -> None:
    challenge = "Basic realm=x" if scheme == "basic" else 'Digest realm="x", qop="auth", nonce="abc", algorithm=MD5'

    def answer(asked: bytes) -> Sequence[Step]:
        head = asked.partition(b"\r\n\r\n")[0].decode()
        sent = next((line for line in head.splitlines() if line.lower().startswith("authorization:")), "")
        is_right = (
            "bmV3dDpzM2NyZXQ=" in sent if scheme == "basic" else 'username="newt"' in sent and "response=" in sent
        )
        if not is_right:
            return (page("Who?", status="401 No", headers=f"WWW-Authenticate: {challenge}\r\n"),)
        return (page("Inside <img src=/inside.png>"),)

    origin.otherwise(answer)
    url = origin.url("/members")
    http = HttpCredentials(url.removesuffix("/members"), "newt", "s3cret")
    profile = made(fleet, BrowserProfile("pond", url, 1, http=http))
    settings = fleet.settings(sandbox=False, behaviors="", page_records="text")
    visitor = Ghost(settings, [fleet.control], fleet.trusted, profile=profile)
    order = fleet.order(url)
    try:
        visit = visitor.visit(order)
    finally:
        visitor.close()

    assert profile.http is not None
    assert profile.http.scheme == scheme
    assert (visit.code, visit.annotations) == (200, ())
    kept = fleet.proxy.records(order.collection)
    statuses = [record.block.split()[1] for record in kept.of(url, "response")]
    assert statuses == ([b"200"] if scheme == "basic" else [b"401", b"200"])
    assert b"Authorization: redacted" in b"".join(record.block for record in kept.kinds("request"))
    assert b"bmV3dDpzM2NyZXQ" not in b"".join(record.block for record in kept.records)


@pytest.mark.parametrize("scheme", ["basic", pytest.param("digest", marks=pytest.mark.slow)])
def test_a_login_by_http_is_for_its_own_origin_and_goes_there_once(
    fleet: Fleet, origin: RawOrigin, scheme: str
) -> None:
    """Other origins that ask, and a file that refuses the credentials, get their 401 and hold no visit."""
    challenge = "Basic realm=x" if scheme == "basic" else 'Digest realm="x", qop="auth", nonce="abc", algorithm=MD5'
    refusal = page("Who?", status="401 No", headers=f"WWW-Authenticate: {challenge}\r\n")
    with RawOrigin("127.0.1.63") as other:
        url = origin.url("/members")
        origin.script("/members", page(f"Inside <img src=/secret.png><img src={other.url('/theirs.png')}>"))
        origin.script("/secret.png", refusal)
        other.script("/theirs.png", refusal)
        http = HttpCredentials(url.removesuffix("/members"), "newt", "s3cret", scheme)
        visitor = Ghost(
            fleet.settings(sandbox=False, behaviors="", page_records="text", page_seconds=60, settle_max_seconds=40),
            [fleet.control],
            fleet.trusted,
            profile=BrowserProfile("pond", url, 1, http=http),
        )
        order = fleet.order(url)
        try:
            visit = visitor.visit(order)
        finally:
            visitor.close()
        asked = [seen.received.lower().count(b"authorization:") for seen in origin.visits if "png" in seen.path]
        theirs = [seen.received.lower() for seen in other.visits]

    assert visit.code == 200
    assert not any("settle" in note or "timeout" in note for note in visit.annotations)
    assert sum(asked) == 1
    assert theirs
    assert not any(b"authorization:" in received for received in theirs)


def test_wrong_credentials_for_http_end_the_login(fleet: Fleet, origin: RawOrigin) -> None:
    origin.otherwise(lambda asked: (page("Who?", status="401 No", headers="WWW-Authenticate: Basic realm=x\r\n"),))
    url = origin.url("/members")
    http = HttpCredentials(url.removesuffix("/members"), "newt", "wr0ng")

    with pytest.raises(LoginFailed, match="does not take the user and the password"):
        made(fleet, BrowserProfile("pond", url, 1, http=http))


def test_files_of_the_site_are_fetched_with_the_login_too(
    fleet: Fleet, logins: SiteLogins, origin: RawOrigin, site: MemberSite
) -> None:
    profile = logins.made(with_form(origin))
    visitor = PlainVisitor(fleet.settings(), [fleet.control], login=PlainLogin(LoginBook(profile)))
    order = fleet.order(origin.url("/members"))
    try:
        visitor.visit(order)
    finally:
        visitor.close()

    kept = fleet.proxy.records(order.collection)
    (answer,) = kept.of(order.url, "response")
    assert b"Log out" in answer.block
    assert COOKIE.encode() not in b"".join(record.block for record in kept.records)
