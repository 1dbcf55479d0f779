"""The pages of this folder get these answers of the server."""

from __future__ import annotations

from typing import Final

from support.pages.feature import Answers, Question, Reply, data


def _batches(question: Question) -> Reply:
    """Answer with a batch of a list: its pictures, and whether there are more."""
    number = int(question.query.removeprefix("batch=") or 1)
    pictures = f'["{60 + number}x10-batch{number}.png"]'
    return data(f'{{"pictures": {pictures}, "more": {"true" if number < 4 else "false"}}}')


ANSWERS: Final[Answers] = {"scroll-slow": {"list": _batches}}
