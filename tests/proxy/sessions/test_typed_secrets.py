"""proxy/sessions/secrets/typed_secrets: what a person typed is found in responses in any spelling, in bounded work."""

from __future__ import annotations

import base64
import gzip
import html
import json
import re
from urllib.parse import quote, quote_plus

import pytest

from archive.capture import Body, Message
from proxy.sessions.secrets.redaction import Redaction
from proxy.sessions.secrets.typed_secrets import TypedSecrets

SECRET = "gehe1m/<Zucker>&'9\"ß ü"
RULES = Redaction(fields=frozenset(("password", "pin")), headers=frozenset(("authorization",)))


def message(head: str, body: bytes = b"") -> Message:
    return Message(f"{head}\r\n\r\n".encode(), Body((body,), None, len(body)))


def form(body: str, kind: str = "application/x-www-form-urlencoded") -> Message:
    return message(f"POST /login HTTP/1.1\r\nHost: a.org\r\nContent-Type: {kind}", body.encode())


def answer(body: bytes, *fields: str) -> Message:
    return message("\r\n".join(("HTTP/1.1 200 OK", *(fields or ("Content-Type: text/html",)))), body)


def knowing(*requests: Message) -> TypedSecrets:
    typed = TypedSecrets()
    for request in requests:
        typed.learn(request, RULES)
    return typed


REQUESTS = [
    form(f"user=eva&password={quote_plus(SECRET)}"),
    form(json.dumps({"login": [{"Password": SECRET}]}), "application/json; charset=utf-8"),
    form(
        f'--b\r\nContent-Disposition: form-data; name="password"\r\n\r\n{SECRET}\r\n--b--\r\n',
        "multipart/form-data; boundary=b",
    ),
    message(f"GET /login?user=eva&password={quote(SECRET)} HTTP/1.1\r\nHost: a.org"),
    message(f"GET / HTTP/1.1\r\nAuthorization: Basic {base64.b64encode(f'eva:{SECRET}'.encode()).decode()}"),
]
SPELLINGS = [
    SECRET,
    quote(SECRET, safe=""),
    re.sub("%..", lambda found: found[0].lower(), quote_plus(SECRET)),
    html.escape(SECRET),
    html.escape(SECRET).replace("&#x27;", "&#39;"),
    json.dumps(SECRET)[1:-1],
    json.dumps(SECRET).replace("/", "\\/")[1:-1],
    *(base64.b64encode(f"{before}{SECRET}{behind}".encode()).decode() for before in ("", "a", "ab") for behind in "xy"),
]


@pytest.mark.parametrize("request_", REQUESTS, ids=["form", "json", "multipart", "query", "basic"])
def test_what_is_typed_is_learned_and_found(request_: Message) -> None:
    typed = knowing(request_)
    assert typed.is_shown_by(answer(f"<p>your password is {html.escape(SECRET)}</p>".encode()))
    assert not typed.is_shown_by(answer(b"<p>welcome, eva</p>"))


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_each_spelling_is_found(spelling: str) -> None:
    typed = knowing(REQUESTS[0])
    assert typed.is_shown_by(answer(f"x{spelling}x".encode()))
    packed = answer(gzip.compress(f"x {spelling}".encode()), "Content-Type: text/html", "Content-Encoding: gzip")
    assert typed.is_shown_by(packed)


@pytest.mark.parametrize("secret", ["<>&'\"/", "/a/ß<ü>", "äöüßéè", "a b c d"])
def test_a_secret_with_few_letters_is_found_in_each_spelling(secret: str) -> None:
    typed = knowing(form(f"password={quote_plus(secret)}"))
    spelled = (secret, quote(secret, safe=""), quote_plus(secret), html.escape(secret), json.dumps(secret)[1:-1])
    for spelling in (*spelled, base64.b64encode(secret.encode()).decode()):
        assert typed.is_shown_by(answer(f"x{spelling}x".encode())), spelling


def test_a_secret_in_pieces_and_in_the_head_is_found() -> None:
    typed = knowing(form("password=hunter2-long"))
    pieces = answer(b"3\r\nhun\r\n9\r\nter2-long\r\n0\r\n\r\n", "Transfer-Encoding: chunked")
    assert typed.is_shown_by(pieces)
    assert typed.is_shown_by(answer(b"", "Location: /?p=hunter2-long"))
    picture = answer(b"hunter2-long", "Content-Type: image/png")
    assert not typed.is_shown_by(picture)


def test_short_values_and_other_fields_are_no_secrets() -> None:
    typed = knowing(form("pin=12345&user=long-enough&comment=also-long-enough"))
    assert not typed.is_shown_by(answer(b"12345 long-enough also-long-enough"))


def test_the_work_is_bounded() -> None:
    many = "&".join(f"password=secret-{number}" for number in range(5_000))
    typed = knowing(form(many[:60_000]))
    late = b" " * 600_000 + b"secret-1 "
    assert not typed.is_shown_by(answer(late)), "only the beginning is searched"
    nested = form("[" * 50_000 + "]" * 50_000, "application/json")
    assert not knowing(nested, form("\0\xff&%%%", "application/json")).is_shown_by(answer(b"x"))
    bomb = answer(gzip.compress(bytes(50_000_000)), "Content-Type: text/html", "Content-Encoding: gzip")
    assert not knowing(form("password=hunter2-long")).is_shown_by(bomb)
    typed = knowing(*(form(f"password=secret-{number:03}") for number in range(30)))
    assert typed.is_shown_by(answer(b"secret-029"))
    assert not typed.is_shown_by(answer(b"secret-001")), "the newest ten are known"


def test_no_more_of_a_response_is_read_than_is_searched() -> None:
    typed, shown = knowing(REQUESTS[0]), SECRET.encode()
    chunks = b"1\r\nx\r\n" * 100_000 + b"%x\r\n%s\r\n0\r\n\r\n" % (len(shown), shown)
    assert not typed.is_shown_by(answer(chunks, "Content-Type: text/html", "Transfer-Encoding: chunked"))
    assert typed.is_shown_by(answer(b"x" * 500_000 + shown))
    assert not typed.is_shown_by(answer(b"x" * 600_000 + shown))
