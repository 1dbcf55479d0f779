"""Names of errors, kinds of requests, keys and cookies are converted between Firefox and the interface."""

from __future__ import annotations

from typing import Any

import pytest

from browsers.engines.firefox.bidi import actions
from browsers.engines.firefox.bidi.cookies import cookie_of, parameter_of
from browsers.engines.firefox.bidi.errors import reason_of
from browsers.engines.firefox.bidi.http_login import BidiHttpLogin
from browsers.engines.firefox.bidi.network import BidiRequests
from browsers.engines.interface import HttpCredentials
from browsers.engines.traffic import Traffic


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        ("unknown error: Error: NS_ERROR_NET_TIMEOUT", "ERR_TIMED_OUT"),
        ("unknown error: Error: NS_ERROR_PROXY_CONNECTION_REFUSED", "ERR_PROXY_CONNECTION_FAILED"),
        ("unknown error: SEC_ERROR_UNKNOWN_ISSUER", "ERR_CERT_AUTHORITY_INVALID"),
        ("unknown error: NS_BINDING_ABORTED", "ERR_ABORTED"),
        ("unknown error: something else", "ERR_FAILED"),
        ("", "ERR_FAILED"),
    ],
)
def test_errors_have_the_names_of_all_engines(message: str, reason: str) -> None:
    assert reason_of(message) == reason


def test_keys_are_pressed_and_released() -> None:
    (source,) = actions.keys(actions.key_of("Escape") + "ü")

    assert [(each["type"], each["value"]) for each in source["actions"]] == [
        ("keyDown", "\ue00c"),
        ("keyUp", "\ue00c"),
        ("keyDown", "ü"),
        ("keyUp", "ü"),
    ]
    with pytest.raises(ValueError, match="'Escapade' is no key"):
        actions.key_of("Escapade")


def test_a_cookie_comes_back_as_it_was() -> None:
    told = {
        "name": "n",
        "value": {"type": "string", "value": "v"},
        "domain": ".a.test",
        "path": "/p",
        "expiry": 5,
        "httpOnly": True,
        "secure": False,
        "sameSite": "lax",
        "size": 2,
    }

    cookie = cookie_of(told)

    assert (cookie.domain, cookie.expires, cookie.same_site) == (".a.test", 5, "Lax")
    assert parameter_of(cookie) == {name: value for name, value in told.items() if name != "size"}


def request(url: str, *, count: int = 0, headers: dict[str, str] | None = None, **facts: Any) -> dict[str, Any]:
    """The parameters of an event of one request."""
    named = [{"name": name, "value": {"type": "string", "value": value}} for name, value in (headers or {}).items()]
    told = {"request": "7", "url": url, "method": "GET", "headers": named, "destination": "", "initiatorType": None}
    return {"context": "main", "navigation": None, "redirectCount": count, "request": told | facts}


@pytest.mark.parametrize(
    ("facts", "kind"),
    [
        ({"destination": "style"}, "stylesheet"),
        ({"destination": "iframe"}, "document"),
        ({"initiatorType": "xmlhttprequest"}, "xhr"),
        ({"initiatorType": "beacon"}, "ping"),
        ({"headers": {"Upgrade": "websocket"}}, "websocket"),
        ({"headers": {"Accept": "text/event-stream"}}, "eventsource"),
        ({"headers": {"Sec-Purpose": "prefetch"}}, "prefetch"),
        ({"destination": "a word of a later release"}, "other"),
    ],
)
def test_requests_have_the_kinds_of_all_engines(facts: dict[str, Any], kind: str) -> None:
    traffic = Traffic()

    BidiRequests(traffic, "main").handle(
        "network.beforeRequestSent", request("http://a.test/", **facts), is_popup=False
    )

    assert [listed.request.kind for listed in traffic.exchanges] == [kind]


def test_a_redirect_is_a_request_of_its_own_and_a_lost_frame_ends_its_requests() -> None:
    traffic = Traffic()
    events = BidiRequests(traffic, "main")
    response = {"response": {"status": 302, "headers": [{"name": "Location", "value": {"value": "/2"}}]}}

    first = request("http://a.test/1", destination="document") | {"navigation": "n"}
    events.handle("network.beforeRequestSent", first, is_popup=False)
    events.handle("network.responseStarted", first | response, is_popup=False)
    events.handle("network.responseCompleted", first | response, is_popup=False)
    events.handle("network.beforeRequestSent", request("http://a.test/2", count=1), is_popup=False)
    events.frames_ended(["main"])

    assert [(each.request.url, each.status, each.error) for each in traffic.exchanges] == [
        ("http://a.test/1", 302, ""),
        ("http://a.test/2", 0, "ERR_ABORTED"),
    ]
    assert traffic.exchanges[0].request.is_main


def test_an_object_that_becomes_a_frame_ends_its_request_when_the_frame_has_loaded() -> None:
    traffic = Traffic()
    events = BidiRequests(traffic, "main")

    events.handle("network.beforeRequestSent", request("http://a.test/data", destination="object"), is_popup=False)
    events.frame_loaded("http://a.test/other")
    assert traffic.exchanges[0].ended is None
    events.frame_loaded("http://a.test/data#part")

    assert traffic.exchanges[0].ended is not None
    assert traffic.asked["http://a.test/data"].is_whole


def asks(url: str, status: int = 401, number: str = "7", scheme: str = "Digest") -> dict[str, Any]:
    """The parameters of the event that an answer asks for credentials."""
    response = {"status": status, "authChallenges": [{"scheme": scheme, "realm": "x"}]}
    return {"request": {"request": number, "url": url}, "response": response}


@pytest.mark.parametrize(
    "question",
    [
        asks("https://a.test/"),
        asks("http://a.test:8080/"),
        asks("http://b.a.test/"),
        asks("http://a.test.evil.test/"),
        asks("http://a.test@evil.test/"),
        asks("http://a.test/", status=407),
        asks("http://[/"),
    ],
)
def test_only_the_origin_of_an_http_login_gets_its_credentials(question: dict[str, Any]) -> None:
    assert BidiHttpLogin(HttpCredentials("http://a.test", "newt", "s3cret")).answer(question) == {"action": "cancel"}


def test_credentials_are_given_once_for_each_request() -> None:
    login = BidiHttpLogin(HttpCredentials("http://a.test", "newt", "s3cret"))
    answers = [login.answer(asks("http://a.test/", number=number))["action"] for number in ("1", "1", "2")]
    assert answers == ["provideCredentials", "cancel", "provideCredentials"]
    assert login.scheme == "digest"
    assert BidiHttpLogin(None).answer(asks("http://a.test/")) == {"action": "cancel"}
