"""Records of provenance belong to an exchange but are no part of it: the DNS answer it relied on, the certificates it
was shown.

Each is one record of its own, once for each collection and process as long as it is the same:

* `dns:NAME`, a response of type text/dns, as Heritrix writes it (see `proxy.origins.dns`); again with each new lookup.
* `urn:certificates:HOST:PORT`, metadata of type application/pem-certificate-chain (RFC 8555 section 9.1): the chain as
  the origin sent it, its own certificate first. WARC-Concurrent-To names the response that was first to come that way,
  WARC-TLS-Verification why the chain was not trusted. The URN keeps it from being taken for the page.
"""

from __future__ import annotations

import hashlib
import ssl
from typing import Final, Protocol

from archive.capture import Body, Capture, Context, Origin
from archive.dates import now_micros
from proxy.origins.dns import CONTENT_TYPE, DnsAnswer
from proxy.origins.upstream import ConnectionFacts
from proxy.recording.keep import Kept, Lost
from proxy.recording.plan import DerivedRecord
from proxy.recording.recorder import Recorder
from proxy.ttl_cache import TtlCache

PEM_CHAIN: Final = "application/pem-certificate-chain"
_SECONDS: Final = 7 * 86_400.0
_ENTRIES: Final = 65_536


class Busy(Protocol):
    """A session that is not over before its records are kept."""

    def began(self) -> None:
        """Note that a record is in progress."""

    def ended(self) -> None:
        """Note that the record is over."""


class Provenance:
    """Hands such records to the recorder, each once."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._told: TtlCache[tuple[object, ...], bool] = TtlCache(_SECONDS, _ENTRIES)

    def tell(self, facts: ConnectionFacts, session: Busy, context: Context, capture: Capture) -> None:
        """Keep what that collection does not have yet. `capture` is of a response that came over the connection."""
        facts.recorded_for.add(context.collection)
        if facts.answer is not None:
            self._once((context.collection, facts.host, facts.answer.date), _answer(facts.answer, context), session)
        if facts.chain:
            fingerprint = hashlib.sha256(b"".join(facts.chain)).digest()
            name = (context.collection, facts.host, facts.port, fingerprint)
            self._once(name, _certificates(facts, context, capture), session)

    def _once(self, name: tuple[object, ...], item: DerivedRecord, session: Busy) -> None:
        if self._told.get(name):
            return
        self._told.note(name, True)
        session.began()

        def answered(outcome: Kept | Lost) -> None:
            if isinstance(outcome, Lost):
                self._told.forget(name)
            session.ended()

        self._recorder.submit(item, answered)


def _answer(answer: DnsAnswer, context: Context) -> DerivedRecord:
    block = answer.block()
    return DerivedRecord(
        context, "response", answer.uri, CONTENT_TYPE, Body((block,), length=len(block)), answer.date,
        origin=Origin(ip=answer.nameserver, protocols=()), is_ours=True,
    )  # fmt: skip


def _certificates(facts: ConnectionFacts, context: Context, capture: Capture) -> DerivedRecord:
    pem = "".join(map(ssl.DER_cert_to_PEM_cert, facts.chain)).encode()
    return DerivedRecord(
        context, "metadata", f"urn:certificates:{facts.host}:{facts.port}", PEM_CHAIN, Body((pem,), length=len(pem)),
        now_micros(), capture.record_id, origin=facts.origin, is_ours=True,
    )  # fmt: skip
