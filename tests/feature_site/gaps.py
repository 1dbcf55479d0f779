"""Gaps are features that ghosts do not capture, or that are not replayed, each with the reason."""

from __future__ import annotations

from typing import Final

_REASONS: Final = {
    "A person types another word than the ghost did.": ("search-form", "search-typed", "herbarium-search"),
    "A reader's dice choose another picture than the ghost's did.": ("ab-test",),
    "A person sets two sliders to values that the ghost did not combine.": ("price-range",),
    "A key of letters and digits in a path can't be told from the name of another picture.": ("keyed-path",),
    "The index has the beginning of a body alone, and the field that chooses stands behind a file.": ("named-upload",),
    "An encrypted text can't be told from the name of another thing.": ("sealed-query",),
    "A countdown ends after the time that a ghost has for a page's timers.": ("launch-countdown",),
    "A deadline has passed; with `proxy.replay_clock` the page has the clock of its capture.": ("expiring-link",),
}
GAPS: Final = {name: reason for reason, names in _REASONS.items() for name in names}
