"""When scrolling ends."""

from __future__ import annotations

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
