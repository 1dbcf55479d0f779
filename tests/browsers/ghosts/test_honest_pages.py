"""A ghost keeps a page that is not what its URL promises, and says so in crawl.log and in the page information."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from support.browsers.visits import Fleet, page, redirect
from support.origins.raw_origin import RawOrigin, Send

from browsers.ghosts.ghost import Ghost
from browsers.plain.visitor import PlainVisitor

pytestmark = pytest.mark.browser

ARTICLE = "<p>The pond is full of newts.</p>" * 60
WALL = "position:fixed;inset:0;background:#000c;z-index:9"
LOGIN = "<form><h1>Members</h1>Name <input name=n> Password <input type=password name=p><button>Log in</button></form>"


@pytest.fixture(scope="module")
def ghost(engine_fleet: Fleet) -> Iterator[Ghost]:
    limits = {"page_seconds": 30, "load_seconds": 10, "settle_max_seconds": 3, "scroll_seconds": 5}
    visitor = Ghost(engine_fleet.settings(sandbox=False, **limits), [engine_fleet.control], engine_fleet.trusted)
    yield visitor
    visitor.close()


@pytest.mark.parametrize(
    ("annotation", "shown"),
    [
        ("page:waf:cloudflare", page("<h1>Checking</h1>", head="<title>Just a moment...</title>", status="403 No")),
        pytest.param(
            "page:captcha:hcaptcha",
            page("Please confirm <div class='h-captcha' style='width:9px;height:9px'></div>"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "page:rate-limit:429",
            page("Slow down", status="429 Too Many Requests", headers="Retry-After: 1\r\n"),
            marks=pytest.mark.slow,
        ),
        ("page:soft-404:title", page("Sorry", head="<title>Page not found</title>")),
        ("page:consent-wall:covered", page(f"{ARTICLE}<div style='{WALL}'><p>We value your privacy</p></div>")),
        pytest.param(
            "page:consent-wall:covered",
            page(f"{ARTICLE}<div style='{WALL}'></div><dialog open style='{WALL};margin:auto'>Cookies?</dialog>"),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "page:consent-wall:covered",
            page(f"{ARTICLE}<iframe style='{WALL};width:100%;height:100%' title='Consent Message'></iframe>"),
            marks=pytest.mark.slow,
        ),
        (
            "page:consent-wall:covered",
            page(
                f"{ARTICLE}<div id=host style='{WALL}'></div>"
                "<script>host.attachShadow({mode: 'open'}).innerHTML = '<b>Wir verwenden Cookies</b>'</script>"
            ),
        ),
        ("page:blank:one-colour", page("<div style='height:50px'></div>")),
        ("page:login-wall:form", page(LOGIN)),
    ],
)
def test_a_flawed_page_is_kept_and_flagged(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin, annotation: str, shown: Send
) -> None:
    origin.script("/shown", shown)
    order = fleet.order(origin.url("/shown"))

    visit = ghost.visit(order)

    assert [note for note in visit.annotations if note.startswith("page:")] == [annotation]
    kept = fleet.proxy.records(order.collection)
    assert len(kept.of(order.url, "response")) == 1
    (info,) = kept.of(f"urn:pageinfo:{order.url}")
    _, kind, rule = annotation.split(":")
    assert json.loads(info.block)["flaws"] == [{"type": kind, "rule": rule}]


def test_a_page_that_leads_to_a_login_is_flagged_and_a_login_page_is_not(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    origin.script("/members/list", redirect("/login?next=/members/list"))
    origin.script("/login?next=/members/list", page(LOGIN))
    origin.script("/login", page(LOGIN))

    assert "page:login-wall:redirect" in ghost.visit(fleet.order(origin.url("/members/list"))).annotations
    assert ghost.visit(fleet.order(origin.url("/login"))).annotations == ()


@pytest.mark.parametrize(
    "body",
    [
        f"{ARTICLE}<div style='position:fixed;bottom:0;left:0;right:0;height:80px'>We use cookies</div>",
        pytest.param(
            f"<div style='position:fixed;inset:0;overflow:auto'>{ARTICLE}<footer>Cookies</footer></div>",
            marks=pytest.mark.slow,
        ),
        pytest.param(f"{ARTICLE}<div style='{WALL}'>Subscribe to the newsletter</div>", marks=pytest.mark.slow),
        "<canvas width=300 height=300></canvas><script>"
        "document.querySelector('canvas').getContext('2d').fillRect(9, 9, 99, 99)</script>",
        pytest.param(f"{ARTICLE}<form>Comment as <input type=password></form>", marks=pytest.mark.slow),
    ],
    ids=["cookie bar", "page in a fixed box", "newsletter", "drawing", "comment form"],
)
def test_an_ordinary_page_is_not_flagged(ghost: Ghost, fleet: Fleet, origin: RawOrigin, body: str) -> None:
    origin.script("/", page(body))

    visit = ghost.visit(fleet.order(origin.url("/")))

    assert [note for note in visit.annotations if note.startswith("page:")] == []


def test_a_plain_crawler_flags_refusals_too(plain_fleet: Fleet, origin: RawOrigin) -> None:
    origin.script("/checked", page("x", status="403 No", headers="Server: cloudflare\r\nCf-Mitigated: challenge\r\n"))
    origin.script("/busy", page("x", status="429 Too Many Requests"))
    origin.script("/gone", page("x", status="404 Not Found"))
    visitor = PlainVisitor(plain_fleet.settings(), [plain_fleet.control])
    try:
        found = {name: visitor.visit(plain_fleet.order(origin.url(f"/{name}"))) for name in ("checked", "busy", "gone")}
    finally:
        visitor.close()

    assert found["checked"].annotations == ("page:waf:cloudflare",)
    assert found["busy"].annotations == ("page:rate-limit:429",)
    assert found["gone"].annotations == ()
