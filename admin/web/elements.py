"""Small elements that stand in every row of a table are made here: a template's macro takes several times as long."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from zoneinfo import ZoneInfo

from markupsafe import Markup, escape

from admin.web import formats
from archive.dates import Micros, iso_second


@lru_cache(maxsize=1000)
def badge(text: str, kind: str = "") -> Markup:
    """Return a text in the colour of its kind; the kind is the text itself unless one is given."""
    shown, named = escape(text), escape(kind or str(text).lower().replace("_", "-"))
    return Markup(f'<span class="badge {named}">{shown}</span>')


def time_element(zone: Callable[[], ZoneInfo], clock: Callable[[], Micros]) -> Callable[[Micros | None], Markup | str]:
    """Return the function that shows a moment in this zone, with its distance from now; a dash for none."""

    def time(moment: Micros | None) -> Markup | str:
        if moment is None:
            return formats.NOTHING
        iso, ago, text = iso_second(moment), formats.ago_text(moment, clock()), formats.date_text(moment, zone())
        # Numbers and the words of `formats` need no escaping.
        return Markup(f'<time datetime="{iso}" title="{ago}">{text}</time>')

    return time
