"""A script sets the clock of a page to the moment of its capture. A replay by proxy and a browser can both use it."""

from __future__ import annotations

from functools import cache
from importlib import resources

from archive.dates import Micros


def clock_script(date: Micros) -> str:
    """Return JavaScript for the beginning of a document that was captured at this date.

    `Date` then begins at the date and runs on. `Math.random` gives the same numbers for the same date. Workers keep the
    clock of the machine, since they run no scripts of documents.
    """
    return _text().replace("CAPTURED", str(date // 1000))


@cache
def _text() -> str:
    lines = resources.files("archive").joinpath("page_clock.js").read_text("utf-8").splitlines()
    return "\n".join(line for line in lines if not line.startswith("//"))
