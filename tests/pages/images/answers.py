"""The pages of this folder get these answers of the server."""

from __future__ import annotations

from typing import Final

from support.pages.feature import Answers, Question, Reply, png


def _picture(name: str, size: tuple[int, int]) -> Reply:
    return Reply(png(name, size), "image/png")


def _hinted(question: Question) -> Reply:
    word = "hinted" if question.headers.get("sec-ch-dpr") else "plain"
    return Reply(word, headers=(("Vary", "Sec-CH-DPR"), ("Cache-Control", "no-store")))


ANSWERS: Final[Answers] = {
    "other-density": {"img/*": _picture("logo", (308, 20))},
    "other-window": {"_next/image": _picture("next", (306, 22))},
    "client-hints": {"hint.txt": _hinted},
}
