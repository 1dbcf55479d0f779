"""The pages of this folder get these answers of the server."""

from __future__ import annotations

import base64
import json
from typing import Final

from support.pages.feature import Answers, Question, Reply, data, page


def _basic(question: Question) -> Reply:
    wanted = "Basic " + base64.b64encode(b"reader:leaf").decode()
    if question.headers.get("authorization") != wanted:
        return Reply("Password, please", status=401, headers=(("WWW-Authenticate", 'Basic realm="Reading room"'),))
    return Reply(question.feature.text(), "text/html; charset=utf-8")


def _form_login(question: Question) -> Reply:
    """Return the page to members, and a form for the login to all others."""
    form = "<form method=post action=enter><input name=user><input name=password type=password><button id=go>Log in</button></form>"
    is_member = "member=yes" in question.headers.get("cookie", "")
    text = question.feature.text() if is_member else question.feature.text(form)
    return Reply(text, "text/html; charset=utf-8", headers=(("Cache-Control", "no-store"),))


def _enter(question: Question) -> Reply:
    if b"user=reader" in question.body and b"password=leaf" in question.body:
        return Reply(
            status=303, headers=(("Location", "./"), ("Set-Cookie", "member=yes; Path=/form-login/; HttpOnly; Secure"))
        )
    return Reply("wrong", status=403)


def _found(question: Question) -> Reply:
    text = f"<p>Results for {question.parameter('q')}</p><img src='83x10-found.png'>"
    return Reply(question.feature.text(text), "text/html; charset=utf-8")


def _results(question: Question) -> Reply:
    """Answer the page of a search, whatever was sought."""
    word = "".join(letter for letter in question.parameter("q") if letter.isalnum() or letter == " ")
    return page(
        f"<title>Search</title><h1>Results for “{word}”</h1><ol><li><a href='#herbarium'>Herbarium sheet</a>"
        "<img src='609x40-hits.png' alt='' onload=\"if (this.naturalWidth === 609) document.documentElement.dataset.result = 'pass'\"></ol>"
    )


def _products(question: Question) -> Reply:
    return data(
        json.dumps(
            {"total": 4, "cover": f"prices/426x20-from{question.parameter('min')}-to{question.parameter('max')}.png"}
        )
    )


ANSWERS: Final[Answers] = {
    "basic-login": {"": _basic},
    "form-login": {"": _form_login, "enter": _enter},
    "search-form": {"results": _found},
    "herbarium-search": {"results": _results},
    "price-range": {"products": _products},
}
