"""An exchange ends in one of these ways: its bytes go to the recorder, and the client gets the rest or a reason."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from archive import crawl_log
from archive.capture import Exchange, Message, Truncation
from proxy.delivery.delivery import Delivery
from proxy.fetch.failures import Failure, spool_failure
from proxy.fetch.order import Order
from proxy.fetch.origin_line import OriginLine
from proxy.fetch.progress import ExchangeProgress, FetchStage
from proxy.fetch.response_reader import ResponseReader
from proxy.fetch.services import Services
from proxy.fetch.transcript import Transcript, showing_secret, with_trailers
from proxy.log_lines import about
from proxy.protocol.http1 import ResponseHead
from proxy.recording.keep import Kept, Lost
from proxy.refusal import Refused
from proxy.sessions.secrets.typed_secrets import TypedSecrets

log = logging.getLogger(__name__)


def _nothing() -> None:
    """Do nothing: the exchange is over already."""


class ExchangeEnding:
    """An exchange ending brings one exchange to its end. Only the first call has an effect.

    `over` is called when nothing more will happen.
    """

    __slots__ = ("_delivery", "_line", "_order", "_over", "_progress", "_services", "_transcript")

    def __init__(
        self,
        order: Order,
        transcript: Transcript,
        line: OriginLine,
        delivery: Delivery,
        progress: ExchangeProgress,
        services: Services,
        over: Callable[[], None],
    ) -> None:
        self._order = order
        self._transcript = transcript
        self._line = line
        self._delivery = delivery
        self._progress = progress
        self._services = services
        self._over = over

    def whole(self, head: ResponseHead, truncated: Truncation | None, incoming: ResponseReader) -> None:
        """End with a response, which is whole unless it is `truncated`."""
        if not self._transcript.keeps:
            self._deliver(truncated)
            self._transcript.learn_secrets()
            self._order.session.note_relayed(
                self._order.head.method, self._order.shown_url, head.status, self._transcript.received
            )
            self._finish()
            return
        if self._services.settings.deliver == "at_once":
            self._deliver(truncated)
        try:
            exchange = self._transcript.exchange(head, self._line.origin, truncated, incoming.doubt)
        except OSError as error:  # the last of the body waits in memory for a disk that is full
            self._fail(spool_failure(error))
            return
        trailers, remarks = incoming.trailers, self._delivery.remarks
        if trailers or remarks:
            exchange = with_trailers(exchange, trailers, remarks)
        self._submit(exchange, self._answered)

    def failed(self, failure: Failure) -> None:
        """End with nothing to keep: write a line in the crawl log, and answer with the reason."""
        if self._begins():
            self._fail(failure)

    def turned_away(self, refused: Refused) -> None:
        """End a request that was not to be fetched."""
        if self._begins():
            failure = Failure(refused.code, refused.word, refused.status)
            self._refuse(failure, f"{refused}\n", refused.extra)

    def unreadable(self, raw: bytes, why: str, failure: Failure) -> None:
        """Keep the bytes as they came, in a record that is not a response; the client is told why."""
        if not self._begins():
            return
        self._note_failure(failure)
        self._log(f"{failure.code} {failure.word} {why}")
        text = f"ghostfleet could not understand {self._order.url}: {why}; {len(raw)} bytes came\n"
        self._delivery.refuse(failure.status, failure.code, failure.word, text)
        try:
            exchange = self._transcript.unreadable(self._line.origin, raw, failure.code, failure.word)
        except OSError:
            exchange = self._transcript.failure(self._line.origin, crawl_log.RUNTIME, ("spool",))
        self._note(exchange)

    def _finish(self) -> None:
        """Tell the owner, and let go of the owner: a cycle of references would keep all of an exchange in memory."""
        over, self._over = self._over, _nothing
        over()

    def _begins(self) -> bool:
        """Return whether nobody has ended it before."""
        if self._progress.is_ending:
            return False
        self._progress.enter(FetchStage.KEEPING)
        self._line.hang_up()
        return True

    def _fail(self, failure: Failure) -> None:
        self._log(f"{failure.code} {failure.word} {failure.detail}".rstrip())
        text = f"ghostfleet could not fetch {self._order.url}: {failure.detail or failure.word}\n"
        self._refuse(failure, text, "")

    def _refuse(self, failure: Failure, text: str, extra: str) -> None:
        self._note_failure(failure)
        self._delivery.refuse(failure.status, failure.code, failure.word, text, extra)
        self._note(self._transcript.failure(self._line.origin, failure.logged, failure.annotations))

    def _note_failure(self, failure: Failure) -> None:
        order = self._order
        order.session.note_failure(order.head.method, order.shown_url, failure.code, failure.word)

    def _log(self, why: str) -> None:
        log.info("%s: %s", self._order.shown_url, why, extra=about(self._transcript.id))

    def _note(self, failed: Exchange) -> None:
        """Write a line in the crawl log, unless nothing is kept at all."""
        if self._transcript.keeps:
            self._submit(failed, lambda *_: self._finish())
        else:
            self._finish()

    def _submit(self, exchange: Exchange, answer: Callable[[Kept | Lost, Exchange], None]) -> None:
        """Hand the exchange to the recorder, once its response was searched for what a person typed."""
        secrets, response = self._transcript.secrets, exchange.response
        if secrets is None or response is None:
            self._services.recorder.submit(exchange, lambda outcome: answer(outcome, exchange))
        elif self._services.gate.is_draining:  # the recorder may stop before a thread has searched
            self._submit_searched(exchange, lambda: secrets.is_shown_by(response), answer)
        else:
            self._services.run(self._search(secrets, exchange, response, answer))

    async def _search(
        self,
        secrets: TypedSecrets,
        exchange: Exchange,
        response: Message,
        answer: Callable[[Kept | Lost, Exchange], None],
    ) -> None:
        # A search takes up to some hundredths of a second, in which the event loop serves others.
        search = self._services.loop.run_in_executor(None, secrets.is_shown_by, response)
        await asyncio.wait([search])
        self._submit_searched(exchange, search.result, answer)

    def _submit_searched(
        self, exchange: Exchange, is_shown: Callable[[], bool], answer: Callable[[Kept | Lost, Exchange], None]
    ) -> None:
        try:
            searched = showing_secret(exchange) if is_shown() else exchange
        except OSError as error:
            self._fail(spool_failure(error))
            return
        self._services.recorder.submit(searched, lambda outcome: answer(outcome, searched))

    def _answered(self, outcome: Kept | Lost, exchange: Exchange) -> None:
        url = self._order.url
        self._order.session.note(outcome, url, exchange, self._transcript.received)
        if isinstance(outcome, Kept):
            self._delivery.kept(outcome)
            self._tell(outcome)
            self._deliver(exchange.truncated)
        else:
            self._delivery.refuse(503, 0, "not-kept", f"ghostfleet could not keep {url}: {outcome.reason}\n")
        self._finish()

    def _tell(self, outcome: Kept) -> None:
        facts, session, context = self._line.facts, self._order.session, self._order.policy.context
        if facts is not None and outcome.capture is not None and context.collection not in facts.recorded_for:
            self._services.provenance.tell(facts, session, context, outcome.capture)

    def _deliver(self, truncated: Truncation | None) -> None:
        if truncated is None:
            self._delivery.let_go()
        else:
            self._delivery.cut()
