"""The pages of this folder get these answers of the server."""

from __future__ import annotations

from typing import Final

from support.pages.feature import Answers, Question, Reply


def _challenge(question: Question) -> Reply:
    """Answer with the page to a visitor whose script has set a cookie, and with that script to any other."""
    if "clearance=" in question.headers.get("cookie", ""):
        return Reply(question.feature.text(), "text/html; charset=utf-8", headers=(("Cache-Control", "no-store"),))
    return Reply(
        "<!doctype html><title>Just a moment…</title><p>Checking your browser<script>"
        "setTimeout(() => { let sum = 0; for (let i = 0; i < 1000; i++) sum += i; document.cookie = `clearance=${sum}; path=/js-challenge/; max-age=600`; location.reload(); }, 600);</script>",
        "text/html; charset=utf-8",
        status=200,
        headers=(("Cache-Control", "no-store"),),
    )


ANSWERS: Final[Answers] = {
    "js-challenge": {"": _challenge},
}
