"""The rules are data: each names a flaw, and what a page must show to have it.

A rule holds when each of its conditions holds. A condition with several values holds when one of them is found.
Patterns are searched in text of a bounded length, ignore case, and have no nested repetition.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from browsers.page_quality.flaws import PageEvidence, PageFlaw, PageFlawType


@dataclass(frozen=True, slots=True)
class PageRule:
    """A rule names a flaw. Conditions that are not set hold for all pages."""

    type: PageFlawType
    name: str
    statuses: frozenset[int] = frozenset()
    header: str = ""
    """The name of a header, a colon, and a pattern that its value has: `server: ^cloudflare`."""
    title: str = ""
    """Pattern in the title."""
    text: str = ""
    """Pattern in the visible text."""
    markup: tuple[str, ...] = ()
    """Words of the DOM, in lower case."""
    requested: tuple[str, ...] = ()
    """Words of a URL that the page asked for, in lower case."""
    most_text: int | None = None
    """Largest number of characters of visible text: a wall has little of it."""

    def holds(self, evidence: PageEvidence) -> bool:
        """Return whether the page has all that the rule asks for."""
        if self.statuses and evidence.status not in self.statuses:
            return False
        if self.most_text is not None and (not evidence.is_rendered or len(evidence.text.strip()) > self.most_text):
            return False
        if self.header and not _has_header(evidence, self.header):
            return False
        if self.title and not _found(self.title, evidence.title):
            return False
        if self.text and not _found(self.text, evidence.text):
            return False
        if self.markup and not _has_word(self.markup, evidence.dom.lower()):
            return False
        return not self.requested or any(_has_word(self.requested, url.lower()) for url in evidence.urls)

    @property
    def flaw(self) -> PageFlaw:
        """Return the flaw of a page for which the rule holds."""
        return PageFlaw(self.type, self.name)


REFUSALS: Final = frozenset({202, 401, 403, 405, 406, 429, 503, 520, 521})
"""Statuses with which a site refuses a visitor."""
_WALL: Final = 1500
"""A page of a firewall or a captcha has at most so many characters of text."""
_MESSAGE: Final = 3000
"""An error page has at most so many characters of text."""

_W, _C, _R, _N = PageFlawType.WAF, PageFlawType.CAPTCHA, PageFlawType.RATE_LIMIT, PageFlawType.SOFT_404

_NOT_FOUND: Final = (
    r"page (?:was |could |can |is |has been )?(?:not|n.t) (?:be )?(?:found|available|exist)"
    r"|(?:page|article|document|resource|file) (?:does not|doesn.t|no longer) exists?"
    r"|(?:cannot|can.t|couldn.t|could not) find (?:the|that|this|your) page|page (?:has been removed|not found)"
    r"|seite (?:wurde )?(?:leider )?nicht gefunden|seite existiert nicht|nicht gefunden"
    r"|page introuvable|page non trouv[eé]e|page n.existe (?:pas|plus)|p[aá]gina no (?:encontrada|existe)"
    r"|pagina non (?:trovata|esiste)|p[aá]gina n[aã]o (?:encontrada|existe)|pagina (?:is )?niet gevonden"
    r"|siden (?:blev |ble )?ikke (?:fundet|funnet)|siden findes ikke"
    r"|sidan (?:kunde inte hittas|finns inte|hittades inte)"
    r"|sivua ei l[oö]y(?:dy|tynyt)|nie znaleziono strony|strona nie istnieje|str[aá]nka nenalezena"
    r"|страница не найдена|сторінку не знайдено|ページが見つかりません|页面不存在|找不到页面|페이지를 찾을 수 없"
    r"|sayfa bulunamad[ıi]|الصفحة غير موجودة|הדף לא נמצא"
)

_TITLE_404: Final = (
    r"^\W{0,3}(?:error |fehler |erreur )?404\b|\b(?:error|fehler|erreur) 404\b|\b404 (?:error|not found)\b"
)

RULES: Final = (
    # Firewalls and checks of the browser
    PageRule(_W, "cloudflare", header="cf-mitigated: challenge"),
    PageRule(
        _W,
        "cloudflare",
        title=r"^just a moment|attention required.{0,3}\| cloudflare|^please wait\.\.\. \| cloudflare",
        most_text=_WALL,
    ),
    PageRule(_W, "cloudflare", statuses=REFUSALS, markup=("cf-error-details", "/cdn-cgi/challenge-platform/")),
    PageRule(_W, "cloudflare-blocked", header="server: ^cloudflare", title="access denied", most_text=_WALL),
    PageRule(_W, "akamai", statuses=REFUSALS, title="^access denied", text=r"reference\s{0,3}#|errors\.edgesuite\.net"),
    PageRule(_W, "akamai", markup=("sec-if-cpt-container", "sec-bc-tile-container", "bm-verify="), most_text=_WALL),
    PageRule(_W, "incapsula", markup=("_incapsula_resource",), most_text=_WALL),
    PageRule(_W, "incapsula", text="incapsula incident id|powered by imperva", most_text=_WALL),
    PageRule(_W, "datadome", statuses=REFUSALS, header="x-datadome: ."),
    PageRule(_W, "datadome", markup=("captcha-delivery.com",), most_text=_WALL),
    PageRule(_W, "perimeterx", markup=("px-captcha", "captcha.px-cdn.net", "_pxappid"), most_text=_WALL),
    PageRule(_W, "perimeterx", text="press & hold to confirm you are", most_text=_WALL),
    PageRule(_W, "aws-waf", header="x-amzn-waf-action: challenge|captcha"),
    PageRule(_W, "sucuri", title="sucuri website firewall|sucuri cloudproxy"),
    PageRule(_W, "sucuri", statuses=REFUSALS, header="x-sucuri-block: ."),
    PageRule(
        _W, "f5", text=r"the requested url was rejected\. please consult with your administrator", most_text=_WALL
    ),
    PageRule(_W, "kasada", statuses=frozenset({403, 429}), header="x-kpsdk-ct: ."),
    PageRule(_W, "vercel", header="x-vercel-mitigated: challenge|deny"),
    PageRule(_W, "anubis", title="making sure you.re not a bot"),
    PageRule(_W, "ddos-guard", title="^ddos-guard", most_text=_WALL),
    PageRule(_W, "client-challenge", title="^client challenge$", most_text=_WALL),
    PageRule(_W, "wordfence", statuses=REFUSALS, text="generated by wordfence|blocked by wordfence"),
    PageRule(_W, "modsecurity", statuses=frozenset({403, 406}), text="mod_security|not acceptable!"),
    PageRule(_W, "siteground", header="sg-captcha: challenge"),
    PageRule(
        _W,
        "browser-check",
        title=r"checking your browser|one moment, please|verifying (?:you|your browser)|security check(?:point)?$",
        most_text=_WALL,
    ),
    PageRule(
        _W,
        "blocked",
        statuses=REFUSALS,
        text=r"your (?:ip|ip address|request|access|connection)"
        r" (?:has been|was|is|to this (?:site|page) (?:has been|was))"
        r" (?:blocked|denied|limited|banned)|you have been blocked|bot (?:activity|traffic) (?:was )?detected",
        most_text=_MESSAGE,
    ),
    # Captchas
    PageRule(_C, "hcaptcha", markup=('class="h-captcha', "hcaptcha.com/1/api.js"), most_text=_WALL),
    PageRule(_C, "recaptcha", statuses=REFUSALS, markup=("g-recaptcha", "recaptcha/api.js", "recaptcha/enterprise")),
    PageRule(
        _C,
        "recaptcha",
        markup=("g-recaptcha", "recaptcha/api.js", "recaptcha/enterprise"),
        text=r"not a robot|are (?:you )?(?:a )?human|unusual traffic|verify (?:that )?you",
        most_text=_WALL,
    ),
    PageRule(_C, "turnstile", markup=("cf-turnstile", "challenges.cloudflare.com/turnstile"), most_text=400),
    PageRule(_C, "friendly-captcha", markup=("frc-captcha",), most_text=400),
    PageRule(_C, "altcha", markup=("<altcha-widget",), most_text=400),
    PageRule(_C, "arkose", markup=("funcaptcha", "arkoselabs.com"), most_text=_WALL),
    PageRule(_C, "geetest", markup=("geetest_captcha", "geetest_holder"), most_text=_WALL),
    PageRule(
        _C,
        "question",
        title=r"captcha|are you (?:a )?(?:human|robot)|robot check|human verification",
        most_text=_WALL,
    ),
    # Rate limits
    PageRule(_R, "429", statuses=frozenset({429})),
    PageRule(_R, "retry-after", statuses=frozenset({503}), header="retry-after: ."),
    PageRule(_R, "cloudflare-1015", text=r"you are being rate limited|error (?:code:? )?1015", most_text=_MESSAGE),
    PageRule(
        _R,
        "message",
        text=r"too many requests|rate limit (?:was |has been )?exceeded|zu viele anfragen|trop de requ[eê]tes"
        r"|demasiadas solicitudes",
        most_text=600,
    ),
    # Error pages with another status
    PageRule(_N, "title", statuses=frozenset({200}), title=_TITLE_404, most_text=_MESSAGE),
    PageRule(_N, "title", statuses=frozenset({200}), title=rf"{_NOT_FOUND}|^not found$", most_text=_MESSAGE),
    PageRule(
        _N,
        "text",
        statuses=frozenset({200}),
        text=rf"\A\W{{0,9}}(?:the |this |die |diese |la )?(?:{_NOT_FOUND})",
        most_text=_MESSAGE,
    ),
    PageRule(_N, "text", statuses=frozenset({200}), text=rf"\b404\b.{{0,200}}(?:{_NOT_FOUND})", most_text=_MESSAGE),
)
"""The rules in the order in which they are asked. The first rule of each kind of flaw counts."""


def _found(pattern: str, text: str) -> bool:
    return re.search(pattern, text, re.IGNORECASE | re.DOTALL) is not None


def _has_word(words: tuple[str, ...], text: str) -> bool:
    return any(word in text for word in words)


def _has_header(evidence: PageEvidence, condition: str) -> bool:
    name, _, pattern = condition.partition(": ")
    return _found(pattern, evidence.headers.get(name, ""))
