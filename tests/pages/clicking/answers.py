"""The pages of this folder get these answers of the server."""

from __future__ import annotations

import json
from typing import Final

from support.pages.feature import Answers, Question, Reply, data


def _week(question: Question) -> Reply:
    at = int(question.parameter("offset"))
    return data(json.dumps({"title": f"Week {at}", "poster": f"posters/700x21-week{at}.png"}))


def _results(question: Question) -> Reply:
    at = int(question.parameter("page"))
    return data(json.dumps({"cover": f"covers/703x21-page{at}.png", "last": at == 8}))


def _comments(question: Question) -> Reply:
    number = question.parameter("thread")
    actions = "<button type=button class=like>Like</button><button type=button class=answer>Answer</button>"
    items = "".join(f"<li>Comment {number}.{at} {actions}</li>" for at in range(3))
    return Reply(f"<ul><li><img src='704x21-reply{number}.png'></li>{items}</ul>", "text/html; charset=utf-8")


def _rows(question: Question) -> Reply:
    picture = f"<img src='506x20-{question.parameter('material') or 'all'}.png'>"
    return Reply(f"<tr class='ant-table-row'><td>{picture}</td></tr>", "text/html; charset=utf-8")


ANSWERS: Final[Answers] = {
    "week-planner": {"week": _week},
    "pushed-pages": {"results": _results},
    "reply-threads": {"replies": _comments},
    "column-filter": {"rows": _rows},
}
