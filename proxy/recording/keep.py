"""From exchanges to durable records, a batch at a time. Knows no network and no mitmproxy.

The order is what makes every revisit resolve and every acknowledged response stay: ask dedup, build records, append,
make durable, only then tell dedup and the index, only then say "kept". In doubt the whole record is written.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from archive import crawl_log
from archive.capture import Capture, Exchange, Original
from archive.dictionary import frame_writer
from archive.facts import fact
from archive.settings import Settings
from dedupdb.claims import DedupUnavailable, Granting, Verdict, Want
from dedupdb.eligible import Eligible
from proxy.onecore import Apart, at_once
from proxy.plan import Derived, Plan
from proxy.tallies import tallies_of
from proxy.writers import Writers


@fact(frozen=True, slots=True)
class Kept:
    """The exchange's records are durable. `capture` is None when there was no response to keep."""

    capture: Capture | None
    is_revisit: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """Keeping failed; nothing of this exchange is in a WARC."""

    reason: str


class Later:
    """Another writer is keeping the same bytes just now: ask again in a moment."""


LATER: Final = Later()
type Outcome = Kept | Lost | Later


class Keeper:
    """Keeps batches of exchanges of any number of collections. Not thread-safe: one thread owns it."""

    def __init__(
        self,
        settings: Settings,
        dedup: Granting | None,
        *,
        process: str = "0",
        apart: Apart = at_once,
    ) -> None:
        """`apart` does what takes long. Raises SettingsError for a zstd dictionary that can't be used."""
        frame_writer(settings.archive)
        self._settings = settings
        self._dedup = dedup
        self._eligible = Eligible(settings.dedup)
        self._asks = dedup is not None and settings.dedup.enabled
        self._writers = Writers(settings, process, apart)
        self._logs: dict[str, crawl_log.CrawlLog] = {}
        self.counts: Counter[str] = Counter()
        """Totals since the start: exchanges, revisits and of these not_modified (by the origin's word), lost,
        dedup_unavailable, warc_bytes."""
        self.dedup_trouble = ""
        """Why Redis could not be asked the last time; empty when it could."""

    def keep(self, items: Sequence[Exchange | Derived], *, patient: Callable[[int], bool]) -> list[Outcome]:
        """One outcome per item, in order, once the whole batch is durable.

        `patient` tells whether the item at that position may still wait for another writer's claim on its bytes.
        """
        plans = [Plan(item) for item in items]
        self._ask_dedup(plans, patient)
        self._writers.write([plan for plan in plans if plan.is_kept_whole and not plan.later])
        self.counts["lost"] += sum(bool(plan.failure) for plan in plans)
        self._tell_dedup(plans)
        self._log(plans)
        return [self._outcome(plan) for plan in plans]

    def idle_close(self) -> None:
        """Close files that have seen no record for a while."""
        self._writers.idle_close()

    def close(self) -> None:
        """Give every file its final name. Raises KeepError, after all of them, when one could not be closed whole."""
        self._writers.close()

    def close_collection(self, collection: str, prefix: str | None = None) -> None:
        """Give that collection's files their final names, or those of a prefix alone; raises as `close` does."""
        self._writers.close(collection, prefix)

    def _ask_dedup(self, plans: Sequence[Plan], patient: Callable[[int], bool]) -> None:
        """Twins within the batch wait for the first of them, so that no revisit can outlive its original's file."""
        asked: dict[Want, int] = {}
        for position, plan in enumerate(plans):
            if not isinstance(plan.item, Exchange):
                continue
            plan.want = self._want(plan.item)
            if plan.item.unchanged is not None:
                plan.in_blackout = self._eligible.in_blackout(plan.item.url, plan.item.started, plan.item.unchanged)
            if plan.want is not None and (first := asked.setdefault(plan.want, position)) != position:
                plan.twin, plan.later = first, True
        if not asked or self._dedup is None:
            return
        try:
            answers = self._dedup.claim(list(asked))
        except DedupUnavailable as error:
            self.dedup_trouble = str(error)
            self.counts["dedup_unavailable"] += len(asked)
            for plan in plans:
                plan.want, plan.later = None, False
            return
        self.dedup_trouble = ""
        known = dict(zip(asked.values(), answers, strict=True))
        for position, plan in enumerate(plans):
            answer = known.get(position if plan.twin is None else plan.twin)
            if isinstance(answer, Original):
                plan.refer_to(answer, in_blackout=self._eligible.in_blackout)
            elif answer is Verdict.GRANTED:
                plan.granted = not plan.later
            elif answer is Verdict.HELD:
                plan.later = plan.later or patient(position) or _is_ours(plan.want, zip(asked, answers, strict=True))

    def _want(self, exchange: Exchange) -> Want | None:
        digests, context = exchange.digests, exchange.context
        if (
            not self._asks
            or digests is None
            or exchange.truncated is not None
            or not self._eligible.takes(exchange.outcome, exchange.mime, digests.payload_length)
            or not context.dedup
            or not context.archived
        ):
            return None
        return self._eligible.want(
            context.collection,
            exchange.url,
            digests.payload_sha256,
            digests.payload_length,
            context.buckets,
            algorithm=digests.algorithm,
            digest=digests.payload,
        )

    def _tell_dedup(self, plans: Sequence[Plan]) -> None:
        if self._dedup is None:
            return
        granted = [(plan.want, plan.original_to_be) for plan in plans if plan.want and plan.granted]
        kept = [(want, original) for want, original in granted if original]
        released = [want for want, original in granted if not original]
        captures = [plan.capture for plan in plans if plan.capture]
        try:
            self._dedup.settle(kept, released, captures, tallies_of(plans))
        except DedupUnavailable as error:
            self.dedup_trouble = str(error)
            # The sidecars hold these captures; the claims expire, and their bytes will be written once more.
            self.counts["dedup_unavailable"] += 1

    def _log(self, plans: Sequence[Plan]) -> None:
        lines: dict[str, list[str]] = defaultdict(list)
        for plan in plans:
            if isinstance(plan.item, Exchange) and plan.item.context.log_dir and not plan.later:
                lines[plan.item.context.log_dir].append(plan.log_line(plan.item))
        for folder, text in lines.items():
            log = self._logs.setdefault(folder, crawl_log.CrawlLog(Path(folder)))
            try:
                log.append(text)
            except OSError:
                self.counts["log_lines_lost"] += len(text)

    def _outcome(self, plan: Plan) -> Outcome:
        if plan.later:
            return LATER
        if plan.failure:
            return Lost(plan.failure)
        self.counts["exchanges"] += not (isinstance(plan.item, Derived) and plan.item.is_ours)
        is_revisit = plan.is_revisit and plan.capture is not None
        self.counts["revisits"] += is_revisit
        self.counts["not_modified"] += is_revisit and plan.original is None
        self.counts["warc_bytes"] += plan.capture.length if plan.capture else 0
        return Kept(plan.capture, is_revisit)


def _is_ours(want: Want | None, answers: Iterable[tuple[Want, Original | Verdict]]) -> bool:
    """Whether what holds these bytes is this very batch: a want that fills one of the same buckets."""
    return want is not None and any(answer is Verdict.GRANTED and want.meets(granted) for granted, answer in answers)
