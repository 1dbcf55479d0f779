"""The kinds of flawed pages, and what is looked at to find them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

MAX_TEXT: Final = 20_000
"""Rules look at so many characters of a page's text."""
MAX_DOM: Final = 300_000
"""Rules look at so many characters of a page's DOM."""
MAX_URLS: Final = 1000
"""Rules look at so many URLs that the page asked for."""


class PageFlawType(StrEnum):
    """A page that was captured is not what its URL promises."""

    WAF = "waf"
    """A firewall of the site answered: it checks the browser, or it refuses the visitor."""
    CAPTCHA = "captcha"
    """The site asks the visitor to prove that a person is there."""
    RATE_LIMIT = "rate-limit"
    """The site says that it was asked too often."""
    SOFT_404 = "soft-404"
    """The page says that there is no such page, with a status that says otherwise."""
    LOGIN_WALL = "login-wall"
    """The site shows a login instead of the page."""
    CONSENT_WALL = "consent-wall"
    """A question for consent covers the page."""
    AGE_GATE = "age-gate"
    """A question for the reader's age stands in place of the page, or covers it."""
    BUDGET = "budget"
    """Controls of the page were given up, since the budget for them was used up."""
    LOGGED_OUT = "logged-out"
    """The page does not show the login of the job's browser profile any more."""
    BLANK = "blank"
    """The page shows one colour and no text."""


@dataclass(frozen=True, slots=True)
class PageFlaw:
    """A flaw was found by this rule."""

    type: PageFlawType
    rule: str
    """Name of the rule, such as `cloudflare`."""
    detail: str = ""
    """Further words for the page information."""

    @property
    def annotation(self) -> str:
        """Return the annotation for crawl.log, such as `page:captcha:hcaptcha`."""
        return f"page:{self.type.value}:{self.rule}"


@dataclass(frozen=True, slots=True)
class PageEvidence:
    """The evidence is what is known of a page at the end of its visit. Longer texts than the bounds are cut."""

    url: str
    """The URL that was visited."""
    final_url: str = ""
    """The URL that the page has now."""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of the document, with names in lower case."""
    title: str = ""
    text: str = ""
    """The text that a reader sees."""
    dom: str = ""
    urls: tuple[str, ...] = ()
    """URLs that the page asked for."""
    password_fields: int = 0
    """Number of visible fields for passwords."""
    has_age_question: bool = False
    """True if a question for the reader's age stands in place of the page."""
    covered_by: str = ""
    """Text of a box that covers most of the window; empty when there is none."""
    is_of_one_colour: bool = False
    """True if the picture of the page has one colour."""
    is_rendered: bool = True
    """True if a browser showed the page, so that text and picture are known."""
