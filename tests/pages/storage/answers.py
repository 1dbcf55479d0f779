"""The pages of this folder get these answers of the server."""

from __future__ import annotations

from typing import Final

from support.pages.feature import Answers, Question, Reply, page


def _third_party(question: Question) -> Reply:
    if "third=yes" in question.headers.get("cookie", ""):
        return page("<img src='112x10-known.png' onload=\"parent.postMessage({part: 'known'}, '*')\">")
    cookie = ("Set-Cookie", "third=yes; Path=/third-party/; SameSite=None; Secure; Partitioned")
    return page("<script>location.replace('again.html')</script>", cookie)


def _again(question: Question) -> Reply:
    return page("<script>location.replace('inner.html')</script>")


ANSWERS: Final[Answers] = {
    "third-party": {
        "inner.html": _third_party,
        "again.html": _again,
    },
}
