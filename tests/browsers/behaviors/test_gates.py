"""A ghost passes a plain question for the age and a check of the browser, and comes to the page that was wanted."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from support.browsers.visits import Fleet, page, redirect, visited_together
from support.origins.raw_origin import RawOrigin, Step

from browsers.ghosts.ghost import Ghost

pytestmark = pytest.mark.browser

WINE = page("<h1>Our wines</h1><p>Riesling and others.</p>")
QUESTION = "<h1>Willkommen</h1><p>Sind Sie volljährig?</p>"
CHECK = page(
    "<p>Checking your browser</p><script>setTimeout(() => { document.cookie = 'clearance=1'; location.reload(); }, 300)"
    "</script>",
    head="<title>Just a moment...</title>",
    status="503 Service Unavailable",
    headers="Server: cloudflare\r\nCf-Mitigated: challenge\r\n",
)


def flawed(notes: Sequence[str]) -> list[str]:
    return [note for note in notes if note.startswith("page:")]


def test_a_gate_at_an_address_of_its_own_is_passed_and_the_wanted_page_is_kept(
    patient_ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    def wine(request: bytes) -> Sequence[Step]:
        return [WINE if b"adult=1" in request else redirect("/gate")]

    answer = (
        "<form method=post action=/enter><button>Nein</button><button name=a value=1>Ja, ich bin 18</button></form>"
    )
    origin.answer("/wine", wine)
    origin.script("/gate", page(QUESTION + answer))
    origin.script(
        "/enter", page("<h1>Start</h1><a href=/wine>Weine</a>", headers="Set-Cookie: adult=1; Path=/\r\n")
    )  # the answer does not lead back
    order = fleet.order(origin.url("/wine"))

    visit = patient_ghost.visit(order)

    assert flawed(visit.annotations) == []
    assert visit.code == 200
    kept = fleet.proxy.records(order.collection)
    (info,) = kept.of(f"urn:pageinfo:{order.url}")
    assert json.loads(info.block)["finalUrl"] == order.url
    assert b"Our wines" in kept.of(f"urn:dom:{order.url}")[0].block
    assert any(b"Riesling" in each.block for each in kept.of(order.url, "response"))


def test_a_gate_that_is_not_passed_is_a_flaw_and_a_page_that_mentions_an_age_is_no_gate(
    patient_ghost: Ghost, fleet: Fleet, origin: RawOrigin
) -> None:
    origin.script("/wine", redirect("/gate"))
    origin.script("/gate", page(QUESTION + "<p>Bitte legen Sie Ihren Ausweis vor die Kamera.</p>"))
    origin.script("/concert", page("<h1>Concert</h1><p>Only for visitors of 18 years or older.</p>"))

    visits = visited_together(patient_ghost, [fleet.order(origin.url(path)) for path in ("/wine", "/concert")])

    assert [flawed(visit.annotations) for visit in visits] == [["page:age-gate:page"], []]


def test_a_check_that_ends_by_itself_is_no_flaw(patient_ghost: Ghost, fleet: Fleet, origin: RawOrigin) -> None:
    origin.answer("/", lambda request: [WINE if b"clearance=1" in request else CHECK])
    order = fleet.order(origin.url("/"))

    visit = patient_ghost.visit(order)

    assert (visit.code, flawed(visit.annotations)) == (200, [])
    (info,) = fleet.proxy.records(order.collection).of(f"urn:pageinfo:{order.url}")
    assert json.loads(info.block)["status"] == 200
