"""A page is assessed: its flaws are found by the table of rules, and by a few rules that compare two facts. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final
from urllib.parse import urlsplit

from browsers.page_quality.age_words import asks_for_age
from browsers.page_quality.flaws import MAX_DOM, MAX_TEXT, MAX_URLS, PageEvidence, PageFlaw, PageFlawType
from browsers.page_quality.rules import RULES

_LOGIN_PATH: Final = re.compile(
    r"/(?:[a-z_-]{0,30}(?:log-?in|sign-?in|anmelden|einloggen|connexion|iniciar-sesion|accedi|inloggen|logga-in|logg-inn)"
    r"[a-z_-]{0,30}|auth|sso|oauth2?|saml2?|idp)(?:[/.?]|$)",
    re.IGNORECASE,
)
_LONGEST_PATH: Final = 2000
"""A path is searched for a login so far."""
_LOGIN_TEXT: Final = re.compile(
    r"log ?in|sign ?in|please log|anmelden|einloggen|connectez-vous|identifiez-vous|inicie sesi[oó]n|log ind|logga in",
    re.IGNORECASE,
)
_LOGIN_MESSAGE: Final = 800
"""A page with a password field and less text than this is a login."""
_CONSENT_TEXT: Final = re.compile(
    r"cookie|consent|einwillig|datenschutz|zustimm|gdpr|rgpd|privacy|privatsph|confidentialit|privacidad|riservatezza"
    r"|samtykke|samtycke|suostum|zgod[aęy]|souhlas|toestemming|consenti|çerez|同意|クッキー|隐私",
    re.IGNORECASE,
)
_INDEX: Final = re.compile(r"/(?:index|home|default|start|main)(?:\.[a-z]{2,5})?/?", re.IGNORECASE)


def flaws_of(evidence: PageEvidence) -> tuple[PageFlaw, ...]:
    """Return the flaws of a page, at most one of each kind."""
    bounded = replace(
        evidence, text=evidence.text[:MAX_TEXT], dom=evidence.dom[:MAX_DOM], urls=evidence.urls[:MAX_URLS]
    )
    found: dict[PageFlawType, PageFlaw] = {}
    for rule in RULES:
        if rule.type not in found and rule.holds(bounded):
            found[rule.type] = rule.flaw
    for flaw in _compared(bounded):
        found.setdefault(flaw.type, flaw)
    if PageFlawType.WAF in found or PageFlawType.CAPTCHA in found:
        found.pop(PageFlawType.BLANK, None)  # an empty page is then a check that goes on
    return tuple(found.values())


def _compared(evidence: PageEvidence) -> Iterator[PageFlaw]:
    """Yield the flaws that show in two facts together."""
    if evidence.status == 200 and _is_sent_home(evidence):
        yield PageFlaw(PageFlawType.SOFT_404, "redirect-to-home")
    if login := _login(evidence):
        yield PageFlaw(PageFlawType.LOGIN_WALL, login)
    if evidence.has_age_question:
        yield PageFlaw(PageFlawType.AGE_GATE, "page")
    elif evidence.covered_by and asks_for_age(evidence.covered_by):
        yield PageFlaw(PageFlawType.AGE_GATE, "covered")
    elif _CONSENT_TEXT.search(evidence.covered_by[:MAX_TEXT]):
        yield PageFlaw(PageFlawType.CONSENT_WALL, "covered")
    if evidence.is_rendered and evidence.is_of_one_colour and not evidence.text.strip():
        yield PageFlaw(PageFlawType.BLANK, "one-colour")


def _login(evidence: PageEvidence) -> str:
    """Return the rule by which the page is a login that stands for another page; empty when it is none."""
    if evidence.status == 401 or evidence.headers.get("www-authenticate"):
        return "401"
    if not evidence.password_fields or _LOGIN_PATH.search(_path(evidence.url)):
        return ""
    if evidence.final_url and _LOGIN_PATH.search(_path(evidence.final_url)):
        return "redirect"
    is_short = len(evidence.text.strip()) < _LOGIN_MESSAGE
    return "form" if is_short and _LOGIN_TEXT.search(evidence.title + "\n" + evidence.text) else ""


def _is_sent_home(evidence: PageEvidence) -> bool:
    """Return whether a URL within the site led to the site's start page."""
    try:
        asked, shown = urlsplit(evidence.url), urlsplit(evidence.final_url)
    except ValueError:
        return False
    is_home = shown.path in ("", "/") and not shown.query and not shown.fragment
    is_deep = asked.path.strip("/").count("/") >= 1 and not _INDEX.fullmatch(asked.path)
    return is_home and is_deep and _site(asked.hostname) == _site(shown.hostname)


def _site(host: str | None) -> str:
    return (host or "").lower().removeprefix("www.")


def _path(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    path = f"{parts.path}?{parts.query}" if parts.query else parts.path
    return path[:_LONGEST_PATH]
