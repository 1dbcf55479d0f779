"""The writers hold the WARC files that one process has open, and write batches of exchanges into them.

They are not thread-safe: one thread owns them.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Final

from archive.settings.load import Settings
from archive.warc.writing.writer import KeepError, WarcWriter
from proxy.recording.cpu_affinity import TaskRunner
from proxy.recording.plan import Plan

_HEAVY_BYTES: Final = 512 << 10
"""Packed in more than a millisecond."""


class Writers:
    """One writer for each collection and prefix, made when first needed."""

    def __init__(self, settings: Settings, process: str, run_heavy: TaskRunner) -> None:
        self._settings = settings
        self._process = process
        self._run_heavy = run_heavy
        self._writers: dict[tuple[str, str | None], WarcWriter] = {}
        self._left_open: list[str] = []

    def write(self, plans: Sequence[Plan]) -> None:
        """Write the plans: afterwards every plan's records are durable and its capture set, or it has a failure.

        When another error is raised, nothing is left that the next batch would make durable.
        """
        touched: dict[WarcWriter, list[Plan]] = defaultdict(list)
        try:
            for plan in plans:
                if plan.weight > _HEAVY_BYTES:
                    self._run_heavy(partial(self._append, plan, touched))
                else:
                    self._append(plan, touched)
            for writer, written in touched.items():
                try:
                    writer.sync()
                except KeepError as error:
                    for plan in written:
                        plan.failure, plan.capture = str(error), None
        except BaseException:
            for writer in touched:
                writer.undo()
            raise

    @property
    def trouble(self) -> str:
        """Return why a file can't be opened or closed at present; empty when all is well."""
        return next((writer.trouble for writer in self._writers.values() if writer.trouble), "")

    def idle_close(self) -> None:
        """Close files that have seen no record for a while, and those whose closing failed before.

        Raises KeepError, after all of them, when an idle one could not be closed.
        """
        now, failures = time.monotonic(), list[KeepError]()
        for writer in self._writers.values():
            writer.try_again()
            try:
                writer.idle_close(now)
            except KeepError as error:
                failures.append(error)
        _raise(failures)

    def close(self, collection: str | None = None, prefix: str | None = None) -> None:
        """Give the files their final names: all, a collection's, or those of a prefix alone.

        Raises KeepError, after all of them, when one could not be closed whole. Closing all, that includes every file
        which was left open before.
        """
        failures = []
        for name in [name for name in self._writers if collection in (None, name[0]) and prefix in (None, name[1])]:
            writer = self._writers[name]
            try:
                writer.close()
            except KeepError as error:
                failures.append(error)
            if not writer.trouble:
                self._left_open += self._writers.pop(name).left_open
        if collection is None and not failures:
            failures += map(KeepError, self._left_open)
        _raise(failures)

    def _append(self, plan: Plan, touched: dict[WarcWriter, list[Plan]]) -> None:
        try:
            writer = self._writer(plan)
            plan.capture = writer.append(plan.records(writer.warcinfo_id, self._settings.archive.digest))[0]
            touched[writer].append(plan)
        except KeepError as error:  # the writer's whole batch so far is lost
            for lost in [*touched[writer], plan]:
                lost.failure, lost.capture = str(error), None
            touched[writer] = []  # still to be synced: only that makes the writer usable again
        except (OSError, ValueError) as error:
            plan.failure = f"{type(error).__name__}: {error}"

    def _writer(self, plan: Plan) -> WarcWriter:
        context = plan.item.context
        name = (context.collection, context.prefix)
        if name not in self._writers:
            self._writers[name] = WarcWriter(self._settings, name[0], prefix=name[1], process=self._process)
        self._writers[name].leave_removed()
        return self._writers[name]


def _raise(failures: Sequence[KeepError]) -> None:
    """Raise the first of them, with the number of the others."""
    if failures:
        more = f"; {len(failures) - 1} more could not be closed" if len(failures) > 1 else ""
        raise KeepError(f"{failures[0]}{more}") from failures[0]
