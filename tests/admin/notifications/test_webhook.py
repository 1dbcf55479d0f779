"""admin/notifications/webhook.py: signatures, addresses that are refused, and servers that are slow or strange."""

from __future__ import annotations

import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
import trustme
from support.each_value import each_value
from support.web.webhook_receiver import WebhookReceiver, status

from admin.notifications.webhook import DONE, DeliveryAttempt, post, signature

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def send(target: str, seconds: float = 60, *, allow_private: bool = True, body: bytes = b"{}") -> DeliveryAttempt:
    return post(target, body, [SECRET], "msg_1", 1_800_000_000, seconds=seconds, allow_private=allow_private)


def test_the_signature_is_the_published_vector_of_standard_webhooks() -> None:
    made = signature(SECRET, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert made == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@each_value(
    "host",
    [
        *("127.0.0.1", "localhost", "[::1]", "0.0.0.0", "10.1.2.3", "192.168.1.1", "169.254.169.254"),
        *("100.100.100.200", "[::ffff:127.0.0.1]", "[fe80::1]", "[fd00:ec2::254]", "2130706433", "0x7f.1"),
        *("[64:ff9b::7f00:1]", "[::]"),
    ],
)
def test_private_addresses_and_this_machine_are_refused_in_every_spelling(host: str, hook: WebhookReceiver) -> None:
    delivery = send(f"https://{host}:{hook.port}/", allow_private=False)
    assert not delivery.is_done
    assert "notifications.webhook_allow_private" in delivery.error or "gaierror" in delivery.error
    assert hook.received == []


def test_an_address_of_this_machine_is_refused_although_it_is_public(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("admin.notifications.webhook.is_public", lambda address: True)
    delivery = send("https://127.0.0.1/", allow_private=False)
    assert delivery.is_final
    assert "this machine's own" in delivery.error


def test_webhooks_to_others_go_by_https(hook: WebhookReceiver) -> None:
    delivery = send("http://example.org/", allow_private=False)
    assert delivery.is_final
    assert "by https" in delivery.error


def test_a_name_is_resolved_once_and_the_connection_goes_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The name resolves to a public address when it is judged, and to loopback afterwards (DNS rebinding)."""
    asked: list[str] = []
    connected: list[Any] = []

    def resolve(host: Any, port: Any, *arguments: Any, **keywords: Any) -> list[Any]:
        asked.append(str(host))
        address = "192.0.2.1" if len(asked) == 1 or str(host) == "192.0.2.1" else "127.0.0.1"
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]

    def connect(self: socket.socket, address: Any) -> None:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    monkeypatch.setattr("admin.notifications.webhook.is_public", lambda address: address == "192.0.2.1")
    monkeypatch.setattr(socket.socket, "connect", connect)
    delivery = send("https://rebind.example/", allow_private=False)
    assert not delivery.is_done
    assert asked.count("rebind.example") == 1
    assert {each[0] for each in connected} == {"192.0.2.1"}


def test_a_server_with_one_private_address_among_others_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (ip, 443)) for ip in ("192.0.2.1", "10.0.0.1")]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *arguments, **keywords: found)
    monkeypatch.setattr("admin.notifications.webhook.is_public", lambda address: address == "192.0.2.1")
    assert "10.0.0.1" in send("https://example.org/", allow_private=False).error


def test_tls_is_verified_for_the_name_and_not_for_the_address(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with WebhookReceiver(tls=context) as hook:
        refused = send(hook.url(host="localhost"))
        assert "CERTIFICATE_VERIFY_FAILED" in refused.error
        assert refused.blames_server
        authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert send(hook.url(host="localhost")) == DONE
        assert hook.received[0].headers["host"] == f"localhost:{hook.port}"
        assert "127.0.0.1" in send(hook.url()).error  # the certificate is not for the address


def test_a_server_that_sends_its_answer_byte_by_byte_is_left_in_time(hook: WebhookReceiver) -> None:
    ended = threading.Event()

    def drip(handler: BaseHTTPRequestHandler) -> None:
        try:
            while not ended.wait(0.05):
                handler.wfile.write(b"H")
                handler.wfile.flush()
        except OSError:
            pass

    hook.answer = drip
    delivery = send(hook.url(), 0.5)  # by the time-out of each read alone it would never end
    ended.set()
    assert not delivery.is_done


def test_an_endless_answer_is_not_read(hook: WebhookReceiver) -> None:
    def pour(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(500)
        handler.end_headers()
        try:
            while True:
                handler.wfile.write(b"<" * 65536)
        except OSError:
            pass

    hook.answer = pour
    delivery = send(hook.url())
    assert delivery.error == "the server answered 500: " + "<" * 300


@pytest.mark.parametrize("answer", [b"", b"\0" * 1000, b"HTTP/1.1 999999\r\n\r\n", b"SSH-2.0-x\r\n"])
def test_an_answer_that_is_not_http_is_a_failure_of_the_server(hook: WebhookReceiver, answer: bytes) -> None:
    hook.answer = lambda handler: (handler.wfile.write(answer), None)[1]
    delivery = send(hook.url())
    assert (delivery.is_done, delivery.is_final, delivery.blames_server) == (False, False, True)


@pytest.mark.parametrize(
    ("code", "is_final", "blames_server"),
    [(400, False, False), (404, False, False), (410, True, False), (429, False, True), (500, False, True)],
)
def test_the_status_says_what_follows(hook: WebhookReceiver, code: int, is_final: bool, blames_server: bool) -> None:
    hook.answer = status(code, b"why", Retry_After="7")
    delivery = send(hook.url())
    assert (delivery.is_final, delivery.blames_server, delivery.retry_after) == (is_final, blames_server, 7)
    assert delivery.error == f"the server answered {code}: why"


@pytest.mark.parametrize("target", ["http://name-that-is-none.invalid/", "http://127.0.0.1:1/"])
def test_a_server_that_is_not_there_is_tried_again(target: str) -> None:
    delivery = send(target)
    assert (delivery.is_done, delivery.is_final, delivery.blames_server) == (False, False, True)
