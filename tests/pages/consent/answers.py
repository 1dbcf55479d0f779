"""The pages of this folder get these answers of the server."""

from __future__ import annotations

from typing import Final

from support.pages.feature import Answers, Question, Reply

_NO_STORE: Final = ("Cache-Control", "no-store")


def _answer_distillery(question: Question) -> Reply:
    """Let grown-ups in, and lead them to the start page of the shop instead of the page that they wanted."""
    year = question.parameter("jahr")
    is_grown = year.isdigit() and 1900 < int(year) < 2005
    if not is_grown:
        return Reply("Zu jung", status=403)
    passed = ("Set-Cookie", "adult=yes; Path=/distillery-year/")
    return Reply(status=303, headers=(passed, ("Location", "/distillery-year/start"), _NO_STORE))


def _ask_distillery(question: Question) -> Reply:
    """Return the page to visitors with the cookie, and send all others to the gate."""
    if "adult=yes" in question.headers.get("cookie", ""):
        return Reply(question.feature.text(), "text/html; charset=utf-8", headers=(_NO_STORE,))
    return Reply(status=302, headers=(("Location", "/distillery-year/altersabfrage"), _NO_STORE))


def _ask_cognac(question: Question) -> Reply:
    """Return the page to visitors with the cookie, and a script that leads to the gate to all others."""
    if "adult=yes" in question.headers.get("cookie", ""):
        return Reply(question.feature.text(), "text/html; charset=utf-8", headers=(_NO_STORE,))
    script = "<script>location.replace('/cognac-box/majorite')</script>"
    return Reply(f"<!doctype html><title>Maison</title>{script}", "text/html; charset=utf-8", headers=(_NO_STORE,))


ANSWERS: Final[Answers] = {
    "distillery-year": {
        "pruefen": _answer_distillery,
        "": _ask_distillery,
    },
    "cognac-box": {"": _ask_cognac},
}
