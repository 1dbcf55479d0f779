"""Secrets in requests: what a record holds instead, and that nothing else changes."""

from __future__ import annotations

import pytest
from exchanges import message

from archive.capture import Body, Message
from proxy.redaction import Redaction

PASSWORD = Redaction(frozenset({"authorization"}), frozenset({"password"}))


def shown(request: Message, redaction: Redaction = PASSWORD) -> tuple[bytes, tuple[str, ...]]:
    """The recorded bytes, and what is said to be missing."""
    recorded, missing = redaction.request(request)
    return b"".join(recorded.chunks()), missing


def form(body: bytes, kind: str = "application/x-www-form-urlencoded", *fields: str) -> Message:
    """A POST."""
    lines = (f"Content-Type: {kind}", f"Content-Length: {len(body)}", *fields)
    return message("POST /login HTTP/1.1", "Host: a.test", *lines, body=body)


def test_a_request_without_secrets_stays_to_the_byte() -> None:
    asked = form(b"user=me&pass=1", "application/x-www-form-urlencoded", "X-Odd:  two  spaces ")

    assert shown(asked) == (b"".join(asked.chunks()), ())


def test_a_field_becomes_a_word_and_the_length_follows() -> None:
    text, missing = shown(form(b"user=me&password=hunter2&password=again&x"))

    assert text.endswith(b"Content-Length: 45\r\n\r\nuser=me&password=redacted&password=redacted&x")
    assert missing == ("field password",)


@pytest.mark.parametrize(
    ("said", "recorded", "missing"),
    [
        (b'{"user": "me", "password": "hunter2"}', b'{"user": "me", "password": "redacted"}', ("field password",)),
        (b'42["login",{"password":"hunter2"}]', b'42["login", {"password": "redacted"}]', ("field password",)),
        (b"user=me&password=hunter2", b"user=me&password=redacted", ("field password",)),
        (b'{"user":"me"}', b'{"user":"me"}', ()),
        (b"2", b"2", ()),
        (b"", b"", ()),
        (b"password hunter2", b"", ("message",)),
        (b'{"password": "hunt', b"", ("message",)),
    ],
)
def test_a_message_of_a_websocket_is_looked_into(said: bytes, recorded: bytes, missing: tuple[str, ...]) -> None:
    assert PASSWORD.message(said, is_text=True) == (recorded, missing)


def test_a_binary_message_is_left_out() -> None:
    assert PASSWORD.message(b'{"password": 1}', is_text=False) == (b"", ("message",))


def test_a_file_that_is_a_secret_goes_whole_and_the_rest_stays() -> None:
    body = (
        b'--b\r\nContent-Disposition: form-data; name="user"\r\n\r\nme\r\n'
        b'--b\r\nContent-Disposition: form-data; name="password"; filename="x"\r\nContent-Type: a/b\r\n\r\n'
        b"hunter2\r\n--b--\r\n"
    )

    text, missing = shown(form(body, 'multipart/form-data; boundary="b"'))

    assert text.endswith(body.replace(b"hunter2", b"redacted"))
    assert missing == ("field password",)


def test_chunks_are_looked_into() -> None:
    asked = message(
        "POST / HTTP/1.1",
        "Transfer-Encoding: chunked",
        "Content-Type: application/x-www-form-urlencoded",
        body=b"5\r\npassw\r\n9\r\nord=hunte\r\n0\r\n\r\n",
    )

    text, missing = shown(asked)

    assert text.endswith(b"Content-Length: 17\r\n\r\npassword=redacted")
    assert b"chunked" not in text
    assert missing == ("field password",)


@pytest.mark.parametrize(
    "asked",
    [
        form(b"password=hunter2", "text/plain"),
        form(b"password=hunter2", "application/x-www-form-urlencoded", "Content-Encoding: gzip"),
        form(b'{"password": "hunter2"', "application/json"),
        form(b"password=hunter2", "multipart/form-data"),
        form(b"no boundary, hunter2", "multipart/form-data; boundary=b"),
    ],
)
def test_a_body_that_can_not_be_looked_into_is_left_out(asked: Message) -> None:
    text, missing = shown(asked)

    assert b"hunter2" not in text
    assert text.endswith(b"Content-Length: 0\r\n\r\n")
    assert missing == ("body",)


def test_a_body_that_is_too_large_is_left_out() -> None:
    asked = form(b"password=hunter2")
    large = Message(asked.head, Body((b"password=hunter2" + b"x" * 4_194_304,), None, 4_194_320))

    assert shown(large)[1] == ("body",)


def test_headers_are_found_in_any_case_and_their_names_stay() -> None:
    asked = message("GET / HTTP/1.1", "AUTHORIZATION: Basic x", "Host: a.test")

    assert shown(asked) == (
        b"GET / HTTP/1.1\r\nAUTHORIZATION: redacted\r\nHost: a.test\r\n\r\n",
        ("header authorization",),
    )


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.test/?x=1&password=2#f", "http://a.test/?x=1&password=redacted#f"),
        ("http://a.test/?pass%77ord=2", "http://a.test/?pass%77ord=redacted"),
        ("http://a.test/password=2", "http://a.test/password=2"),
        ("http://a.test/?password", "http://a.test/?password"),
        ("http://a.test/?é=1&password=ü", "http://a.test/?é=1&password=redacted"),
    ],
)
def test_urls(url: str, expected: str) -> None:
    assert PASSWORD.url(url) == expected
