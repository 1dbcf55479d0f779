"""Whether a request may go to its origin at all: rules, then limits. The answers are warcprox's."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from archive import crawl_log
from dedupdb.claims import DedupUnavailable
from dedupdb.quotas import Limit, Quotas, Reached
from proxy.refusal import Refused
from proxy.rules import Rule, Subject, first_match, in_domain

log = logging.getLogger(__name__)

_THREADS: Final = 4
_FIRST_PAUSE: Final = 0.01
_LONGEST_PAUSE: Final = 0.25
_REACHED: Final = {False: (420, "limit"), True: (430, "soft limit")}


def blocked(rules: Sequence[Rule], subject: Subject) -> Refused | None:
    """The refusal (403) of a URL that a rule blocks. Raises Refused (400) for rules that take too long."""
    rule = first_match(rules, subject)
    if rule is None:
        return None
    given = dict(rule.given)
    return Refused(
        403,
        f"request rejected by warcprox: blocked by rule found in Warcprox-Meta header: {given}",
        "blocked-by-rule",
        code=crawl_log.BLOCKED_BY_RULE,
        meta={"blocked-by-rule": given},
    )


def reached(found: Reached) -> Refused:
    """The refusal for a limit: 420, or 430 for a soft one."""
    limit = found.limit
    status, word = _REACHED[limit.is_soft]
    return Refused(
        status,
        f"request rejected by warcprox: reached {word} {limit.key}={limit.most}",
        f"reached-{word.replace(' ', '-')}",
        code=crawl_log.QUOTA,
        meta={"stats": {limit.bucket: found.stats}, f"reached-{word.replace(' ', '-')}": {limit.key: limit.most}},
    )


def limits_of(limits: Sequence[Limit], host: str) -> tuple[Limit, ...]:
    """The limits that are for URLs of that host."""
    return tuple(limit for limit in limits if not limit.domain or in_domain(host, limit.domain))


class Admission:
    """Asks the fleet's counters, off the event loop: nothing of it is touched by requests without limits."""

    def __init__(self, quotas: Quotas, loop: asyncio.AbstractEventLoop, *, patience_seconds: float) -> None:
        """`patience_seconds`: how long a request waits for others under way that may use up its limit."""
        self._quotas = quotas
        self._loop = loop
        self._patience = patience_seconds
        self._threads = ThreadPoolExecutor(_THREADS, thread_name_prefix="limits")

    async def ask(self, collection: str, limits: Sequence[Limit], token: str) -> Refused | None:
        """None when the request may go on; then `release` it when it is over. Else what to answer.

        Without Redis nothing can be said, and the answer is 503: a client that set a limit means it.
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
                return reached(found)
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, pause * 2)

    def release(self, collection: str, limits: Sequence[Limit], token: str) -> None:
        """The request is over; nobody waits for this."""
        self._threads.submit(self._release, collection, limits, token)

    def stop(self) -> None:
        """Let the threads end."""
        self._threads.shutdown(wait=True)
        self._quotas.close()

    async def _run(self, call: Any, *arguments: Any) -> Reached | None:
        found: Reached | None = await self._loop.run_in_executor(self._threads, call, *arguments)
        return found

    def _release(self, collection: str, limits: Sequence[Limit], token: str) -> None:
        try:
            self._quotas.release(collection, limits, token)
        except DedupUnavailable as error:
            log.warning("a reservation of %s stays until it expires: %s", token, error)
