from __future__ import annotations

from dataclasses import replace

from support.archive.exchanges import exchange, request

from archive.capture import Digests
from proxy.fetch.transcript import as_recorded
from proxy.sessions.request_options import NOTHING
from proxy.sessions.secrets.redaction import NOTHING_REDACTED, Redaction

TAKEN = Digests(b"b" * 20, b"p" * 20, bytes(32), 13)


def test_a_redacted_request_does_not_keep_the_digests_of_its_secrets() -> None:
    headers = ("Content-Type: application/x-www-form-urlencoded",)
    sent = replace(
        exchange("/login", method="POST", request=request("/login", "POST", b"user=a&pin=12", *headers)),
        request_digests=TAKEN,
    )

    kept = as_recorded(sent, NOTHING, Redaction(frozenset(), frozenset({"pin"})), b"")

    assert kept.request is not None
    assert b"pin=12" not in b"".join(kept.request.chunks())
    assert kept.request_digests is None


def test_an_exchange_without_secrets_keeps_the_digests_taken_while_it_passed() -> None:
    sent = replace(exchange("/"), request_digests=TAKEN)

    assert as_recorded(sent, NOTHING, NOTHING_REDACTED, b"") is sent
    assert as_recorded(sent, NOTHING, Redaction(frozenset(), frozenset({"pin"})), b"").request_digests is TAKEN
