"""The pages of this folder get these answers of the server."""

from __future__ import annotations

import json
from typing import Final
from urllib.parse import parse_qsl

from support.pages.feature import Answers, Question, Reply, data, js, png

_NO_STORE: Final = ("Cache-Control", "no-store")


def _sorted_query(question: Question) -> Reply:
    """Answer a form and a query by their members in any order."""
    pairs = dict(parse_qsl(question.body.decode() or question.query))
    return data(json.dumps({"name": f"{pairs['colour']}-{pairs['kind']}"}), _NO_STORE)


def _assigned(question: Question) -> Reply:
    """Assign a variant to a visitor by the bucket; both variants have the same parts here."""
    asked = dict(parse_qsl(question.query))
    return data(json.dumps({"bucket": int(asked["bucket"]), "picture": "340x20-variant.png"}), _NO_STORE)


def _link(question: Question) -> Reply:
    """Sign an address that is good for some seconds from the time of the client."""
    now = int(question.parameter("now"))
    return data(json.dumps({"url": f"file/330x20-linked.png?exp={now + 5}&sig=7c1e5a", "expires": now + 5}), _NO_STORE)


def _picture(name: str, size: tuple[int, int]) -> Reply:
    return Reply(png(name, size), "image/png")


def _linked(question: Question) -> Reply:
    return _picture("linked", (330, 20)) if "sig=" in question.query else Reply("Forbidden", status=403)


ANSWERS: Final[Answers] = {
    "date-forms": {"list/*": lambda q: Reply(q.path.removeprefix("list/"))},
    "random-forms": {
        "list/*": lambda q: Reply("path" if q.path.endswith(".json") else q.path.removeprefix("list/")),
    },
    "jsonp": {
        "words.js": lambda q: js(q.query.split("callback=")[1].split("&")[0] + '({"word": "leaf"});'),
    },
    "shuffled-parameters": {"find": _sorted_query},
    "drawn-bucket": {"experiment": _assigned},
    "expiring-link": {
        "links/sign": _link,
        "file/330x20-linked.png": _linked,
    },
}
