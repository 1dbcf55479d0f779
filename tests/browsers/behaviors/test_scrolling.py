"""When scrolling ends, and what a step waits for."""

from __future__ import annotations

from typing import Any, cast

import pytest
from playwright.async_api import Page
from support.browsers.driven_page import DrivenFrame, open_page

from browsers.behaviors.page_tools import call, observer
from browsers.behaviors.scrolling import MAX_BYTES, MAX_HEIGHT, MAX_STEPS, Pace, Scroll, ScrollPosition


def scrolled(positions: list[ScrollPosition], *, time_is_up: bool = False) -> Scroll:
    """The state after these steps, or at the first that ends it."""
    scroll = Scroll()
    for position in positions:
        scroll = scroll.after(position, time_is_up=time_is_up)
        if scroll.ended is not None:
            break
    return scroll


def test_a_page_that_fits_its_window_needs_one_step() -> None:
    assert scrolled([ScrollPosition(0, 1000, 1000)]) == Scroll(1, 1000, 0, "bottom")


def test_the_bottom_is_looked_at_again_before_it_is_believed() -> None:
    bottom = ScrollPosition(500, 1000, 1500)

    assert scrolled([bottom]).ended is None
    assert scrolled([bottom, bottom, bottom]) == Scroll(3, 1500, 2, "bottom")


def test_a_page_that_grows_is_scrolled_on() -> None:
    growing = [ScrollPosition(500 * step, 1000, 1000 + 500 * step) for step in range(1, 50)]

    assert scrolled(growing).ended is None
    assert scrolled(growing).stalls == 0


def test_an_endless_page_ends_by_height_or_by_steps() -> None:
    tall = [ScrollPosition(step * 1e5, 1000, 1000 + step * 1e5) for step in range(1, 100)]
    long = [ScrollPosition(step, 1000, 90_000) for step in range(1, 2 * MAX_STEPS)]

    assert scrolled(tall).ended == "height"
    assert scrolled(tall).height > MAX_HEIGHT
    assert scrolled(long) == Scroll(MAX_STEPS, 90_000, 0, "steps")


def test_a_tall_page_is_no_endless_one() -> None:
    assert scrolled([ScrollPosition(700, 1000, 10 * MAX_HEIGHT)]).ended is None


def test_a_page_that_fetches_too_much_ends_by_bytes() -> None:
    state = Scroll().after(ScrollPosition(700, 1000, 9000), time_is_up=False, received=MAX_BYTES + 1)

    assert state.ended == "bytes"


def test_a_tall_calm_page_is_scrolled_faster_until_it_asks_for_something() -> None:
    tall, pace, paces = ScrollPosition(700, 1000, 300_000), Pace(), []
    for _ in range(8):
        pace = pace.after(tall, has_asked=False, has_grown=False)
        paces.append(pace.views)

    assert paces == [1, 1, 2, 4, 8, 16, 16, 16]
    assert pace.after(tall, has_asked=True, has_grown=False).views == 8
    assert pace.after(tall, has_asked=False, has_grown=True) == Pace()
    assert pace.after(ScrollPosition(700, 1000, 9000), has_asked=False, has_grown=False) == Pace()


def test_time_ends_it_unless_the_bottom_was_reached() -> None:
    assert scrolled([ScrollPosition(700, 1000, 5000)], time_is_up=True).ended == "time"
    assert scrolled([ScrollPosition(0, 1000, 900)], time_is_up=True).ended == "bottom"


def test_a_missing_pixel_is_still_the_bottom() -> None:
    assert ScrollPosition(498.5, 1000, 1500).is_bottom
    assert not ScrollPosition(490, 1000, 1500).is_bottom


LONG = "<!doctype html><body style='height: 20000px'><script>let heard = 0, asked = 0;</script>"
STEPS = """
async count => {
  const tools = window[Symbol.for('ghostfleet.tools')];
  const all = [];
  for (let i = 0; i < count; i++) {
    await tools.scrollStep(0, false, i % 2 === 1, false);
    all.push(heard);
  }
  return all;
}
"""


async def open_long_page(page: Page, script: str) -> None:
    """Show a long page with this script, and put the tools in it."""
    await page.add_init_script(observer().source)
    await page.goto("about:blank")
    await page.set_content(f"{LONG}<script>{script}</script>")
    await call(cast(Any, DrivenFrame(page.main_frame)), "position")


@pytest.mark.browser
async def test_a_step_ends_when_the_page_has_heard_of_it() -> None:
    """On a busy machine the browser tells the page late, and a box at its end was left before it could grow."""
    async with open_page() as page:
        await open_long_page(page, "addEventListener('scroll', () => { heard += 1; })")
        heard = await page.evaluate(STEPS, 10)
    assert heard[-1] > 0, "no step gave the page a moment to hear of it"


@pytest.mark.browser
async def test_a_document_that_is_never_drawn_is_waited_for_twice() -> None:
    async with open_page() as page:
        await open_long_page(page, "requestAnimationFrame = () => { asked += 1; };")
        await page.evaluate(STEPS, 10)
        assert await page.evaluate("asked") == 2


@pytest.mark.browser
async def test_a_frame_that_is_hidden_is_not_waited_for() -> None:
    async with open_page() as page:
        await page.add_init_script(observer().source)
        await page.goto("about:blank")
        await page.set_content(f'<iframe style="display: none" srcdoc="{LONG}"></iframe>')
        (frame,) = page.main_frame.child_frames
        await frame.wait_for_load_state()
        await frame.evaluate("void (requestAnimationFrame = () => { asked += 1; })")
        await call(cast(Any, DrivenFrame(frame)), "position")
        await frame.evaluate(STEPS, 10)
        assert await frame.evaluate("asked") == 0
