"""How an exchange ends: what passed goes to the recorder, and the client gets the rest of it, or a word why not."""

from __future__ import annotations

import logging
from collections.abc import Callable

from archive import crawl_log
from archive.capture import Exchange, Truncation
from proxy.delivery import Delivery
from proxy.failures import Failure, spool_failure
from proxy.http1 import ResponseHead
from proxy.incoming import Incoming
from proxy.keep import Kept, Lost
from proxy.line import Line
from proxy.loglines import about
from proxy.order import Order
from proxy.progress import Progress, Stage
from proxy.recorded import with_trailers
from proxy.refusal import Refused
from proxy.services import Services
from proxy.transcript import Transcript

log = logging.getLogger(__name__)


class Ending:
    """Of one exchange, which ends once: of two that end it, the first has its way.

    `over` is called when nothing more will happen.
    """

    __slots__ = ("_delivery", "_line", "_order", "_progress", "_services", "_transcript")

    def __init__(
        self,
        order: Order,
        transcript: Transcript,
        line: Line,
        delivery: Delivery,
        progress: Progress,
        services: Services,
    ) -> None:
        self._order = order
        self._transcript = transcript
        self._line = line
        self._delivery = delivery
        self._progress = progress
        self._services = services

    def whole(
        self, head: ResponseHead, truncated: Truncation | None, incoming: Incoming, over: Callable[[], None]
    ) -> None:
        """A response came, all of it unless it is `truncated`."""
        if not self._transcript.keeps:
            self._deliver(truncated)
            self._order.session.note_relayed(self._transcript.received)
            over()
            return
        if self._services.settings.deliver == "at_once":
            self._deliver(truncated)
        try:
            exchange = self._transcript.exchange(head, self._line.origin, truncated, incoming.doubt)
        except OSError as error:  # the last of the body waits in memory for a disk that is full
            self._fail(spool_failure(error), over)
            return
        apart, remarks, inside = self._line.trailers, self._delivery.remarks, incoming.trailers
        if apart or remarks or inside:
            exchange = with_trailers(exchange, apart or inside, remarks, are_apart=bool(apart))
        self._services.recorder.submit(exchange, lambda outcome: self._answered(outcome, truncated, over))

    def failed(self, failure: Failure, over: Callable[[], None]) -> None:
        """Nothing to keep: a line in the crawl log, and an answer that says why."""
        if self._begins():
            self._fail(failure, over)

    def turned_away(self, refused: Refused, over: Callable[[], None]) -> None:
        """It was not to be fetched."""
        if self._begins():
            failure = Failure(refused.code, refused.word, refused.status)
            self._refuse(failure, f"{refused}\n", refused.extra, over)

    def unreadable(self, raw: bytes, why: str, failure: Failure, over: Callable[[], None]) -> None:
        """What came is kept as it came, in a record that nobody takes for a response; the client is told why."""
        if not self._begins():
            return
        self._order.session.note_failure(failure.code)
        self._log(f"{failure.code} {failure.word} {why}")
        text = f"ghostfleet could not understand {self._order.url}: {why}; {len(raw)} bytes came\n"
        self._delivery.refuse(failure.status, failure.code, failure.word, text)
        try:
            exchange = self._transcript.unreadable(self._line.origin, raw, failure.code, failure.word)
        except OSError:
            exchange = self._transcript.failure(self._line.origin, crawl_log.RUNTIME, ("spool",))
        self._note(exchange, over)

    def _begins(self) -> bool:
        """Whether nobody has ended it before."""
        if self._progress.is_ending:
            return False
        self._progress.enter(Stage.KEEPING)
        self._line.hang_up()
        return True

    def _fail(self, failure: Failure, over: Callable[[], None]) -> None:
        self._log(f"{failure.code} {failure.word} {failure.detail}".rstrip())
        text = f"ghostfleet could not fetch {self._order.url}: {failure.detail or failure.word}\n"
        self._refuse(failure, text, "", over)

    def _refuse(self, failure: Failure, text: str, extra: str, over: Callable[[], None]) -> None:
        self._order.session.note_failure(failure.code)
        self._delivery.refuse(failure.status, failure.code, failure.word, text, extra)
        self._note(self._transcript.failure(self._line.origin, failure.logged, failure.annotations), over)

    def _log(self, why: str) -> None:
        log.info("%s: %s", self._order.shown_url, why, extra=about(self._transcript.id))

    def _note(self, failed: Exchange, over: Callable[[], None]) -> None:
        """A line in the crawl log, unless nothing is kept at all."""
        if self._transcript.keeps:
            self._services.recorder.submit(failed, lambda _: over())
        else:
            over()

    def _answered(self, outcome: Kept | Lost, truncated: Truncation | None, over: Callable[[], None]) -> None:
        url = self._order.url
        self._order.session.note(outcome, url, self._transcript.received)
        if isinstance(outcome, Kept):
            self._delivery.kept(outcome)
            self._tell(outcome)
            self._deliver(truncated)
        else:
            self._delivery.refuse(503, 0, "not-kept", f"ghostfleet could not keep {url}: {outcome.reason}\n")
        over()

    def _tell(self, outcome: Kept) -> None:
        facts, session, context = self._line.facts, self._order.session, self._order.policy.context
        if facts is not None and outcome.capture is not None and context.collection not in facts.told:
            self._services.provenance.tell(facts, session, context, outcome.capture)

    def _deliver(self, truncated: Truncation | None) -> None:
        if truncated is None:
            self._delivery.let_go()
        else:
            self._delivery.cut()
