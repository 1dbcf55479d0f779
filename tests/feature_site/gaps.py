"""Gaps are features that ghosts do not capture, or that are not replayed, each with the reason."""

from __future__ import annotations

from typing import Final

_REASONS: Final = {
    "A ghost answers no to confirm and prompt.": ("dialogs",),
    "A ghost does not click.": ("accordion", "burger-menu", "carousel", "carousel-dots", "chained-clicks", "details", "details-exclusive", "frame-click", "gallery-lightbox", "hash-routes", "load-more", "load-more-link", "navigation-api", "new-tab", "pagination", "popover", "popup", "read-more", "shadow-click", "spa-buttons", "spa-routes", "tabs", "tabs-plain", "video-button"),
    "A ghost does not look at the icons that a web app manifest lists.": ("icons",),
    "A ghost does not use the elements of forms.": ("checks", "range-input", "search-form", "search-typed", "select"),
    "A ghost does not wait for the page"s timers.": ("interval", "polling", "scroll-slow", "timer-3s", "timer-chain"),
    "A ghost gives no consent.": ("age-gate", "consent-czech", "consent-danish", "consent-english", "consent-frame", "consent-french", "consent-german", "consent-japanese", "consent-shadow", "consent-spanish", "consent-tcf", "splash"),
    "A ghost has no login.": ("basic-login", "form-login"),
    "A ghost has no mouse and no keys.": ("first-key", "first-mouse", "hover-image", "hover-menu"),
    "A ghost scrolls neither boxes nor frames to their end.": ("frame-scroll", "frame-scroll-far", "inner-scroll", "inner-scroll-growing", "inner-scroll-side"),
    "A replay does not obey Vary.": ("vary-accept", "vary-language"),
    "A replay does not tell the bodies of requests apart.": ("fetch-post", "graphql"),
    "A replay gives the last of several answers.": ("growing",),
    "Messages of WebSockets are not replayed.": ("websocket",),
    "Random numbers differ in the replay.": ("random-url", "uuid-url"),
    "The clock differs in the replay.": ("date-url",),
    "The replay asks with parameters that were never captured.": ("cache-busting", "jsonp"),
    "navigator.webdriver is true in a ghost.": ("navigator",),
}
GAPS: Final = {name: reason for reason, names in _REASONS.items() for name in names}
