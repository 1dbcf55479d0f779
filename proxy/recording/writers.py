"""The WARC files that one process has open, and a batch's way into them. Not thread-safe: one thread owns it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Final

from archive.settings import Settings
from archive.warcfile import KeepError, WarcWriter
from proxy.onecore import Apart
from proxy.plan import Plan

_HEAVY_BYTES: Final = 512 << 10
"""Packed in more than a millisecond."""


class Writers:
    """One writer for each collection and prefix, made when first needed."""

    def __init__(self, settings: Settings, process: str, apart: Apart) -> None:
        self._settings = settings
        self._process = process
        self._apart = apart
        self._writers: dict[tuple[str, str | None], WarcWriter] = {}

    def write(self, plans: Sequence[Plan]) -> None:
        """Every plan's records are durable afterwards and its capture set, or it has a failure."""
        touched: dict[WarcWriter, list[Plan]] = defaultdict(list)
        for plan in plans:
            if plan.weight > _HEAVY_BYTES:
                self._apart(partial(self._append, plan, touched))
            else:
                self._append(plan, touched)
        for writer, written in touched.items():
            try:
                writer.sync()
            except KeepError as error:
                for plan in written:
                    plan.failure, plan.capture = str(error), None

    def idle_close(self) -> None:
        """Close files that have seen no record for a while."""
        now = time.monotonic()
        for writer in self._writers.values():
            writer.idle_close(now)

    def close(self, collection: str | None = None, prefix: str | None = None) -> None:
        """Give the files their final names: all, a collection's, or those of a prefix alone.

        Raises KeepError, after all of them, when one could not be closed whole.
        """
        failures = []
        for name in [name for name in self._writers if collection in (None, name[0]) and prefix in (None, name[1])]:
            try:
                self._writers.pop(name).close()
            except KeepError as error:
                failures.append(error)
        if failures:
            more = f"; so did {len(failures) - 1} more" if len(failures) > 1 else ""
            raise KeepError(f"{failures[0]}{more}") from failures[0]

    def _append(self, plan: Plan, touched: dict[WarcWriter, list[Plan]]) -> None:
        try:
            writer = self._writer(plan)
            plan.capture = writer.append(plan.records(writer.warcinfo_id, self._settings.archive.digest))[0]
            touched[writer].append(plan)
        except KeepError as error:  # it took the writer's whole batch so far with it
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
        return self._writers[name]
