"""Gaps are features that ghosts do not capture, or that are not replayed, each with the reason."""

from __future__ import annotations

from typing import Final

_REASONS: Final = {
    "A ghost does not fill search forms by default.": ("search-form",),
    "A ghost does not follow links that the Navigation API intercepts.": ("navigation-api",),
    "A ghost does not wait for all intervals of a timer.": ("interval", "slides-by-timer"),
    "A ghost has no login.": ("basic-login", "form-login"),
    "A ghost sends keys, and does not press the mouse button on plain text.": ("first-key",),
    "A person types another word than the ghost did.": ("search-typed",),
    "A frame that is loaded twice in one page gets one answer in the replay.": ("third-party",),
    "The clock differs in the replay.": ("date-url", "hls-adaptive"),
    "The parameter is a number with a dot, which the rules for similar URLs do not list.": ("cache-busting",),
    "navigator.webdriver is true in a ghost.": ("navigator",),
}
GAPS: Final = {name: reason for reason, names in _REASONS.items() for name in names}
