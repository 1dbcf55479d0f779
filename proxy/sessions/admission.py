"""Rules, then limits, decide whether a request may go to its origin. Refusals have warcprox's statuses and texts."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from archive import crawl_log
from dedupdb.fleet.quotas import Limit, Quotas, Reached
from dedupdb.redis_io.link import DedupUnavailable
from proxy.recording.tallies import ALL, UNSPECIFIED
from proxy.refusal import Refused
from proxy.sessions.rules import Rule, Subject, first_match

log = logging.getLogger(__name__)

PATIENCE_SECONDS: Final = 20.0
"""Longest wait of a request for others in progress that may use up its limit."""
_THREADS: Final = 4
_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.25
_REACHED: Final = {False: (420, "limit"), True: (430, "soft limit")}


def block_refusal(rules: Sequence[Rule], subject: Subject) -> Refused | None:
    """Return the refusal (403) of a URL that a rule blocks. Raises Refused (400) for rules that take too long."""
    rule = first_match(rules, subject)
    if rule is None:
        return None
    definition = dict(rule.definition)
    return Refused(
        403,
        f"request rejected by warcprox: blocked by rule found in Warcprox-Meta header: {definition}",
        "blocked-by-rule",
        code=crawl_log.BLOCKED_BY_RULE,
        meta={"blocked-by-rule": definition},
    )


def limit_refusal(found: Reached) -> Refused:
    """Return the refusal for a limit: 420, or 430 for a soft one."""
    limit = found.limit
    status, word = _REACHED[limit.is_soft]
    return Refused(
        status,
        f"request rejected by warcprox: reached {word} {limit.key}={limit.most}",
        f"reached-{word.replace(' ', '-')}",
        code=crawl_log.QUOTA,
        meta={"stats": {limit.bucket: found.stats}, f"reached-{word.replace(' ', '-')}": {limit.key: limit.most}},
    )


def limits_of(limits: Sequence[Limit], stats: Sequence[str]) -> tuple[Limit, ...]:
    """Return the limits on buckets that a request counts in; `stats` are those it names, domains included."""
    counted = {ALL, *(stats or (UNSPECIFIED,))}
    return tuple(limit for limit in limits if limit.bucket in counted)


class Admission:
    """Asks the fleet's counters on threads, off the event loop. Requests without limits never come here."""

    def __init__(self, quotas: Quotas, loop: asyncio.AbstractEventLoop, *, patience_seconds: float) -> None:
        """`patience_seconds` is how long a request waits for others in progress that may use up its limit."""
        self._quotas = quotas
        self._loop = loop
        self._patience = patience_seconds
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="limits")

    async def admit(self, collection: str, limits: Sequence[Limit], token: str) -> Refused | None:
        """Return the refusal, or None when the request may go on; call `release` when that request is over.

        Without Redis the limits can't be checked, and the refusal is 503.
        """
        deadline, pause = self._loop.time() + self._patience, _FIRST_PAUSE
        while True:
            try:
                found = await self._run(self._quotas.admit, collection, limits, token)
            except DedupUnavailable as error:
                return Refused(503, f"the limits can't be checked: {error}", "limits", code=crawl_log.RUNTIME)
            if found is None:
                return None
            if found.is_certain or self._loop.time() >= deadline:
                return limit_refusal(found)
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 2)

    def release(self, collection: str, limits: Sequence[Limit], token: str) -> None:
        """Release the reservation of a request that is over, on a thread."""
        self._threads.submit(self._release, collection, limits, token)

    def stop(self) -> None:
        """Wait for the threads to end, and close the link to Redis."""
        self._threads.shutdown(wait=True)
        self._quotas.close()

    async def _run(self, call: Any, *arguments: Any) -> Reached | None:
        found: Reached | None = await self._loop.run_in_executor(self._threads, call, *arguments)
        return found

    def _release(self, collection: str, limits: Sequence[Limit], token: str) -> None:
        try:
            self._quotas.release(collection, limits, token)
        except DedupUnavailable as error:
            log.warning("the reservation %s stays until it expires: %s", token, error)
