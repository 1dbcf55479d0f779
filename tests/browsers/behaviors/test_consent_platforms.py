"""browsers/behaviors/consent_platforms: the rules run where a platform shows a sign, and not behind their time."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest
from playwright.async_api import Frame as PlaywrightFrame
from support.browsers.driven_page import DrivenFrame, open_page

from browsers.behaviors import consent_platforms
from browsers.behaviors.consent_platforms import _agree, _may_have_platform, _rules, _selectors
from browsers.behaviors.page_access import Clock
from browsers.engines.interface import Frame, World

VRM = "<div>Your Privacy: the VRM of Admiral</div>"
SIGNS = {
    "a rule's element": ("<dialog class=cookie-consent><form class=cookie-consent__form></form></dialog>", True),
    "a rule's frame": ("<iframe id=fast-cmp-iframe></iframe>", True),
    "one of several elements": ("<div id=ketch-banner></div>", True),
    "an element by XPath": ("<div id=modal><div><header></header></div></div>", True),
    "a selector without its last bracket": (
        "<a href=https://policies.google.com/technologies/cookies>cookies</a>",
        True,
    ),
    "an element of a platform in the library": ("<div class=klaro><div class=cookie-notice></div></div>", True),
    "a variable": ("<script>window.Cookiebot = {}</script>", True),
    "texts": (VRM, True),
    "one of the texts": (VRM.replace("VRM", ""), False),
    "a banner of the site itself": ("<div class=cookies id=banner><button>Agree</button></div>", False),
    "an empty document": ("", False),
}
IN_FRAMES = {"<div id=piano-cookie_banner></div>": True, "<div id=onetrust-banner-sdk></div>": False, "": False}
"""Documents in a frame of a page: most platforms show their window in the page itself."""


class _SlowFrame:
    """A frame whose rules ask for a thousand pieces of code at once, and whose time ends with the first piece."""

    url = "http://a.example/"
    is_main = True

    def __init__(self, clock: Clock) -> None:
        self.asked = 0
        self._clock = clock

    async def evaluate(self, function: str, values: list[Any], world: World = World.ISOLATED) -> Any:
        if world is World.PAGE:
            self.asked += 1
            self._clock._end = 0.0
            return True
        if "splice" in function:
            return [["eval", "", None, str(number), "true", ""] for number in range(1_000)]
        return True


async def test_no_code_of_the_rules_runs_when_the_time_is_over() -> None:
    clock = Clock(600)
    frame = _SlowFrame(clock)
    assert await _agree(cast(Frame, frame), clock) is None
    assert frame.asked == 1


async def shows_sign(frame: PlaywrightFrame) -> bool:
    return await _may_have_platform(cast(Frame, DrivenFrame(frame)))


@pytest.mark.browser
async def test_the_rules_run_where_a_platform_shows_a_sign() -> None:
    found = {}
    async with open_page() as page:
        for name, (body, _) in SIGNS.items():
            await page.goto("about:blank")  # the variables of the last document go
            await page.set_content(f"<!doctype html><body>{body}</body>")
            found[name] = await shows_sign(page.main_frame)
    assert found == {name: expected for name, (_, expected) in SIGNS.items()}


@pytest.mark.browser
async def test_frames_show_the_signs_of_platforms_in_frames() -> None:
    found = {}
    async with open_page() as page:
        for body in IN_FRAMES:
            await page.set_content(f"<!doctype html><iframe srcdoc='<!doctype html><body>{body}</body>'></iframe>")
            (frame,) = page.main_frame.child_frames
            await frame.wait_for_load_state()
            found[body] = await shows_sign(frame)
    assert found == IN_FRAMES


@pytest.mark.parametrize("url", ["https://cmp.a.example/index.html?message_id=1", "https://ccpa-pm.sp-prod.net/?x"])
async def test_the_url_of_a_frame_is_a_sign(url: str) -> None:
    frame = cast(Frame, _SlowFrame(Clock(0)))
    frame.url = url
    assert await _may_have_platform(frame)


def test_each_platform_of_the_library_has_a_sign() -> None:
    library = (consent_platforms._FOLDER / "autoconsent.playwright.js").read_text("utf-8")
    listed = re.search(r"var dynamicCMPs = \[(.*?)\]", library, re.DOTALL)
    assert listed is not None
    classes = [name.strip() for name in listed[1].split(",")]
    names = {
        re.search(rf'var {name} = class extends.*?this\.name = "(.*?)"', library, re.DOTALL)[1]  # type: ignore[index]
        for name in classes
    }
    assert names == {*consent_platforms._BUILT_IN, "Cybotcookiebot", "Sourcepoint-frame"}


def test_each_rule_for_any_site_has_a_sign() -> None:
    assert [rule["name"] for rule in _rules()[0] if not any(map(_selectors, rule["detectCmp"]))] == []
