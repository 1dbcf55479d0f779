"""The note of a ghost about a page says how the visit went: flaws of the page, what behaviours did, what failed.

The note is a record `urn:pageinfo:` of anybody's making: what has another form than a ghost writes is left out.
"""

from __future__ import annotations

import json
from typing import Any, Final

from pydantic import Field

from admin.collections.browsing.records import plain_text
from admin.models.operation import OutputModel
from archive.url import MAX_LENGTH

MOST_LINES: Final = 50
"""Flaws and behaviours that are shown of one page."""
_LONGEST: Final = 500
_LOGINS: Final = frozenset(("logged-out", "login-wall"))
_MEANINGS: Final = {
    "waf": "a firewall of the site answered instead of the page",
    "captcha": "the site asked the visitor to prove that a person is there",
    "rate-limit": "the site said that it was asked too often",
    "soft-404": "the page says that there is no such page, with a status that says otherwise",
    "login-wall": "the site showed a login instead of the page",
    "consent-wall": "a question for consent covers the page",
    "age-gate": "a question for the reader's age stands in place of the page, or covers it",
    "budget": "controls of the page were given up, since the budget for them was used up",
    "logged-out": "the page does not show the login of the job's browser profile any more",
    "blank": "the page shows one colour and no text",
}


class FlawLine(OutputModel):
    """The flaw is a sign that the page is not what its URL promises."""

    type: str
    rule: str
    """The rule that found the flaw, such as cloudflare."""
    meaning: str
    """The flaw in words; empty for a type that is unknown here."""


class BehaviorLine(OutputModel):
    """The line says how far a behaviour came on the page."""

    id: str
    ended: str
    """done, no-effect, budget, timeout or error."""
    steps: int
    links: int
    requests: int
    bytes: int | None
    detail: str


class PageNotes(OutputModel):
    """The notes are what a ghost noted about its visit."""

    title: str = ""
    final_url: str = ""
    """The URL of the page at the end of the visit; empty when it is the one that was visited."""
    is_logged_out: bool = False
    """The page did not show the login that it should show, or a login instead of the page."""
    flaws: list[FlawLine] = Field(default_factory=list)
    behaviors: list[BehaviorLine] = Field(default_factory=list)
    requests: int | None = None
    failed: int | None = None
    """URLs of the page that failed, or had a status of 400 or more."""
    differences: int | None = None
    """Requests that the browser and the proxy don't tell alike."""
    browser: str = ""


def read_notes(block: bytes) -> PageNotes | None:
    """Return the notes in a record; None when the record can't be understood."""
    try:
        said = json.loads(block)
    except (ValueError, RecursionError):
        return None
    if not isinstance(said, dict):
        return None
    counts, proxy = _object(said.get("counts")), _object(said.get("proxy"))
    url, final_url = _text(said.get("url"), MAX_LENGTH), _text(said.get("finalUrl"), MAX_LENGTH)
    flaws = [
        FlawLine(type=kind, rule=_text(each.get("rule")), meaning=_MEANINGS.get(kind, ""))
        for each in _objects(said.get("flaws"))
        if (kind := _text(each.get("type")))
    ]
    return PageNotes(
        title=_text(said.get("title")),
        final_url="" if final_url == url else final_url,
        is_logged_out=any(each.type in _LOGINS for each in flaws),
        flaws=flaws,
        behaviors=[
            BehaviorLine(
                id=name,
                ended=_text(each.get("ended")),
                steps=_number(each.get("steps")) or 0,
                links=_number(each.get("links")) or 0,
                requests=_number(each.get("requests")) or 0,
                bytes=_number(each.get("bytes")),
                detail=_text(each.get("detail")),
            )
            for each in _objects(said.get("behaviors"))
            if (name := _text(each.get("id")))
        ],
        requests=_number(counts.get("requests")),
        failed=_number(counts.get("failed")),
        differences=_sum(proxy.get("counts")),
        browser=_text(said.get("browser")),
    )


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[dict[str, Any]]:
    return [each for each in value[:MOST_LINES] if isinstance(each, dict)] if isinstance(value, list) else []


def _text(value: object, most: int = _LONGEST) -> str:
    return plain_text(value[:most]) if isinstance(value, str) else ""


def _number(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _sum(value: object) -> int | None:
    """Return the sum of the counts of an object; None when there is no object."""
    return sum(_number(each) or 0 for each in value.values()) if isinstance(value, dict) else None
