"""The keeper turns exchanges into durable records, a batch at a time. It knows neither the network
nor mitmproxy.

The order ensures that every revisit resolves and every acknowledged response stays: ask dedup, build records, append,
make durable, then settle dedup and the index, then report "kept". In doubt the whole record is written.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from archive import crawl_log
from archive.capture import Capture, Exchange, Original
from archive.fast_frozen import fast_frozen
from archive.settings.load import Settings
from archive.warc.writing.dictionary import frame_writer
from dedupdb.claims.claims import ClaimVerdict, DedupStore, PayloadKey, Settlement
from dedupdb.claims.dedup_rules import DedupRules
from dedupdb.claims.originals import IsThere
from dedupdb.redis_io.link import DedupUnavailable
from proxy.recording.cpu_affinity import TaskRunner, run_inline
from proxy.recording.plan import DerivedRecord, Plan
from proxy.recording.tallies import tallies_of
from proxy.recording.writers import Writers

_MOST_LOGS: Final = 1024
"""How many logs are remembered at once: clients choose the names of prefixes."""


@fast_frozen(frozen=True, slots=True)
class Kept:
    """The exchange's records are durable. `capture` is None when there was no response to keep."""

    capture: Capture | None
    is_revisit: bool = False


@dataclass(frozen=True, slots=True)
class Lost:
    """Keeping failed; nothing of this exchange is in a WARC."""

    reason: str


class Later:
    """Another writer is keeping the same bytes now; ask again in a moment."""


LATER: Final = Later()
type KeepOutcome = Kept | Lost | Later


class Keeper:
    """Keeps batches of exchanges of any number of collections. Not thread-safe: one thread owns it."""

    def __init__(
        self,
        settings: Settings,
        dedup: DedupStore | None,
        *,
        process: str = "0",
        run_heavy: TaskRunner = run_inline,
        is_there: IsThere | None = None,
    ) -> None:
        """`run_heavy` runs long jobs; `is_there` tells whether the capture that a 304 is about is still on disk.

        Raises SettingsError for a zstd dictionary that can't be used.
        """
        frame_writer(settings.archive)
        self._settings = settings
        self._dedup = dedup
        self._dedup_rules = DedupRules(settings.dedup)
        self._is_there = is_there
        self._uses_dedup = dedup is not None and settings.dedup.enabled
        self._writers = Writers(settings, process, run_heavy)
        self._logs: dict[tuple[str, str], crawl_log.CrawlLog] = {}
        self.counts: Counter[str] = Counter()
        """Totals since the start: exchanges, revisits and of these not_modified (after a 304), lost,
        dedup_unavailable, warc_bytes."""
        self.dedup_trouble = ""
        """Why Redis could not be asked the last time; empty when it could."""

    def keep(self, items: Sequence[Exchange | DerivedRecord], *, patient: Callable[[int], bool]) -> list[KeepOutcome]:
        """Return one outcome per item, in order, once the whole batch is durable.

        `patient` tells whether the item at that position may still wait for another writer's claim on its bytes.
        """
        plans = [Plan(item) for item in items]
        self._ask_dedup(plans, patient)
        self._look_for_unchanged(plans)
        self._writers.write([plan for plan in plans if plan.is_kept_whole and not plan.later and not plan.failure])
        self.counts["lost"] += sum(bool(plan.failure) for plan in plans)
        self._settle_dedup(plans)
        self._log(plans)
        return [self._outcome(plan) for plan in plans]

    @property
    def trouble(self) -> str:
        """Return why a file can't be opened or closed at present; empty when all is well."""
        return self._writers.trouble

    def idle_close(self) -> None:
        """Close files that have seen no record for a while, and those whose closing failed before.

        Raises KeepError, after all of them, when one could not be closed.
        """
        self._writers.idle_close()

    def close(self) -> None:
        """Give every file its final name. Raises KeepError, after all of them, when one could not be closed whole."""
        self._writers.close()

    def close_collection(self, collection: str, prefix: str | None = None) -> None:
        """Give that collection's files their final names, or those of a prefix alone; raises as `close` does."""
        self._writers.close(collection, prefix)

    def _ask_dedup(self, plans: Sequence[Plan], patient: Callable[[int], bool]) -> None:
        """Ask dedup about the batch; let twins within the batch wait for the first of them, so that no revisit can
        outlive its original's file.
        """
        asked: dict[PayloadKey, int] = {}
        for position, plan in enumerate(plans):
            if not isinstance(plan.item, Exchange):
                continue
            plan.want = self._payload_key(plan.item)
            if plan.item.unchanged is not None:
                plan.in_blackout = self._dedup_rules.in_blackout(
                    plan.item.url, plan.item.started, plan.item.unchanged.original
                )
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
                plan.refer_to(answer, in_blackout=self._dedup_rules.in_blackout)
            elif answer is ClaimVerdict.GRANTED:
                plan.granted = not plan.later
            elif answer is ClaimVerdict.HELD:
                plan.later = plan.later or patient(position) or _is_ours(plan.want, zip(asked, answers, strict=True))

    def _look_for_unchanged(self, plans: Sequence[Plan]) -> None:
        """Drop a 304 about a capture whose file was removed since it was read: its client has to ask again."""
        if self._is_there is None:
            return
        for plan in plans:
            unchanged = plan.item.unchanged if isinstance(plan.item, Exchange) else None
            if unchanged is None or not unchanged.original.filename:
                continue
            original = unchanged.original
            try:
                is_there = self._is_there(plan.item.context.collection, original)
            except DedupUnavailable as error:
                self.dedup_trouble = str(error)
                is_there = False
            if not is_there:
                plan.failure = f"the capture that has not changed is no longer in {original.filename}"

    def _payload_key(self, exchange: Exchange) -> PayloadKey | None:
        digests, context = exchange.digests, exchange.context
        if (
            not self._uses_dedup
            or digests is None
            or exchange.truncated is not None
            or not self._dedup_rules.takes(exchange.outcome, exchange.mime, digests.payload_length)
            or not context.dedup
            or not context.archived
        ):
            return None
        return self._dedup_rules.payload_key(
            context.collection,
            exchange.url,
            digests.payload_sha256,
            digests.payload_length,
            context.buckets,
            algorithm=digests.algorithm,
            digest=digests.payload,
        )

    def _settle_dedup(self, plans: Sequence[Plan]) -> None:
        if self._dedup is None:
            return
        granted = [(plan.want, plan.as_original) for plan in plans if plan.want and plan.granted]
        kept = [(want, original) for want, original in granted if original]
        released = [want for want, original in granted if not original]
        captures = [plan.capture for plan in plans if plan.capture]
        try:
            self._dedup.settle(Settlement(kept=kept, released=released, captures=captures, tallies=tallies_of(plans)))
        except DedupUnavailable as error:
            self.dedup_trouble = str(error)
            # The sidecars hold these captures; the claims expire, and their bytes will be written once more.
            self.counts["dedup_unavailable"] += 1

    def _log(self, plans: Sequence[Plan]) -> None:
        lines: dict[tuple[str, str], list[str]] = defaultdict(list)
        for plan in plans:
            if plan.is_logged:
                context = plan.item.context
                assert context.log_dir is not None
                lines[context.log_dir, context.log_name or crawl_log.FILE_NAME].append(plan.log_line())
        for (folder, name), text in lines.items():
            if len(self._logs) >= _MOST_LOGS:
                self._logs.clear()  # they are open only while they are written to
            log = self._logs.setdefault((folder, name), self._log_of(folder, name))
            try:
                log.append(text)
            except OSError:
                self.counts["log_lines_lost"] += len(text)

    def _log_of(self, folder: str, name: str) -> crawl_log.CrawlLog:
        """Return a log. Only the crawl.log of a job is rotated; other programs read logs with other names."""
        is_of_job = name == crawl_log.FILE_NAME
        return crawl_log.CrawlLog(Path(folder), name, rotate_bytes=self._settings.logs.rotate_bytes if is_of_job else 0)

    def _outcome(self, plan: Plan) -> KeepOutcome:
        if plan.later:
            return LATER
        if plan.failure:
            return Lost(plan.failure)
        self.counts["exchanges"] += not (isinstance(plan.item, DerivedRecord) and plan.item.is_ours)
        is_revisit = plan.is_revisit and plan.capture is not None
        self.counts["revisits"] += is_revisit
        self.counts["not_modified"] += is_revisit and plan.original is None
        self.counts["warc_bytes"] += plan.capture.length if plan.capture else 0
        return Kept(plan.capture, is_revisit)


def _is_ours(want: PayloadKey | None, answers: Iterable[tuple[PayloadKey, Original | ClaimVerdict]]) -> bool:
    """Return whether a key of this batch holds the claim on these bytes, in one of the same buckets."""
    return want is not None and any(
        answer is ClaimVerdict.GRANTED and want.overlaps(granted) for granted, answer in answers
    )
