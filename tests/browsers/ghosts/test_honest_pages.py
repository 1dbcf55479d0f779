"""A ghost keeps a page that is not what its URL promises, and says so in crawl.log and in the page information."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import pytest
from support.browsers.visits import Fleet, page, redirect, visited_together
from support.origins.raw_origin import RawOrigin, Send

from browsers.ghosts.ghost import Ghost
from browsers.plain.visitor import PlainVisitor
from browsers.visit import Visit

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


FLAWED = (
    ("page:waf:cloudflare", page("<h1>Checking</h1>", head="<title>Just a moment...</title>", status="403 No")),
    ("page:soft-404:title", page("Sorry", head="<title>Page not found</title>")),
    ("page:consent-wall:covered", page(f"{ARTICLE}<div style='{WALL}'><p>We value your privacy</p></div>")),
    (
        "page:consent-wall:covered",
        page(
            f"{ARTICLE}<div id=host style='{WALL}'></div>"
            "<script>host.attachShadow({mode: 'open'}).innerHTML = '<b>Wir verwenden Cookies</b>'</script>"
        ),
    ),
    ("page:blank:one-colour", page("<div style='height:50px'></div>")),
    ("page:login-wall:form", page(LOGIN)),
)
FLAWED_ALIKE = (
    (
        "page:captcha:hcaptcha",
        page("Please confirm <div class='h-captcha' style='width:9px;height:9px'></div>"),
    ),
    ("page:rate-limit:429", page("Slow down", status="429 Too Many Requests", headers="Retry-After: 1\r\n")),
    (
        "page:consent-wall:covered",
        page(f"{ARTICLE}<div style='{WALL}'></div><dialog open style='{WALL};margin:auto'>Cookies?</dialog>"),
    ),
    (
        "page:consent-wall:covered",
        page(f"{ARTICLE}<iframe style='{WALL};width:100%;height:100%' title='Consent Message'></iframe>"),
    ),
)


@pytest.mark.parametrize(
    "pages", [FLAWED, pytest.param(FLAWED_ALIKE, marks=pytest.mark.slow)], ids=["all kinds", "alike"]
)
def test_flawed_pages_are_kept_and_flagged(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin, pages: Sequence[tuple[str, Send]]
) -> None:
    for number, (_, shown) in enumerate(pages):
        origin.script(f"/shown-{number}", shown)
    orders = [fleet.order(origin.url(f"/shown-{number}")) for number in range(len(pages))]

    visits = visited_together(ghost, orders)

    for (annotation, _), order, visit in zip(pages, orders, visits, strict=True):
        assert flags(visit) == [annotation], order.url
        kept = fleet.proxy.records(order.collection)
        assert len(kept.of(order.url, "response")) == 1
        (info,) = kept.of(f"urn:pageinfo:{order.url}")
        _, kind, rule = annotation.split(":")
        assert json.loads(info.block)["flaws"] == [{"type": kind, "rule": rule}]


def flags(visit: Visit) -> list[str]:
    return [note for note in visit.annotations if note.startswith("page:")]


def test_a_page_that_leads_to_a_login_is_flagged_and_a_login_page_is_not(
    ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    origin.script("/members/list", redirect("/login?next=/members/list"))
    origin.script("/login?next=/members/list", page(LOGIN))
    origin.script("/login", page(LOGIN))

    orders = [fleet.order(origin.url(path)) for path in ("/members/list", "/login")]
    redirected, direct = visited_together(ghost, orders)

    assert "page:login-wall:redirect" in redirected.annotations
    assert direct.annotations == ()


ORDINARY = {
    "cookie bar": f"{ARTICLE}<div style='position:fixed;bottom:0;left:0;right:0;height:80px'>We use cookies</div>",
    "page in a fixed box": f"<div style='position:fixed;inset:0;overflow:auto'>{ARTICLE}<footer>Cookies</footer></div>",
    "newsletter": f"{ARTICLE}<div style='{WALL}'>Subscribe to the newsletter</div>",
    "drawing": "<canvas width=300 height=300></canvas><script>"
    "document.querySelector('canvas').getContext('2d').fillRect(9, 9, 99, 99)</script>",
    "comment form": f"{ARTICLE}<form>Comment as <input type=password></form>",
}


def test_ordinary_pages_are_not_flagged(ghost: Ghost, fleet: Fleet, origin: RawOrigin) -> None:
    for number, body in enumerate(ORDINARY.values()):
        origin.script(f"/{number}", page(body))

    visits = visited_together(ghost, [fleet.order(origin.url(f"/{number}")) for number in range(len(ORDINARY))])

    assert {name: flags(visit) for name, visit in zip(ORDINARY, visits, strict=True) if flags(visit)} == {}


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
