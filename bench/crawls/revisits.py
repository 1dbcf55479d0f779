"""This bench lets a continuous crawl run for a simulated month over pages that change at known rates.

The policy of the frontier and its scripts in a real Redis decide which page is visited when. Only the clock is
simulated: when nothing is due, the stored times are moved. Each schedule is compared with the same changes.
"""

from __future__ import annotations

import random
import tempfile
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import redis
from rich.table import Table

from archive.settings import FrontierSettings
from frontier.definition.job import Job, Profile, RevisitRules
from frontier.lease import Lease
from frontier.politeness import VisitOutcome
from frontier.private_redis.server import EmbeddedRedis
from frontier.queue import Frontier

HOUR: Final = 3_600.0
DAY: Final = 24 * HOUR
RATES: Final[Mapping[str, float]] = {"4 hours": 4 * HOUR, "1 day": DAY, "1 week": 7 * DAY, "1 month": 30 * DAY}
"""The mean times between two changes of a page. As many further pages never change."""
_NEVER: Final = "never"
_STEP: Final = 300.0
"""Simulated seconds by which the clock is moved at least."""
_ADAPTIVE: Final = RevisitRules(mode="adaptive", interval_seconds=DAY, min_seconds=HOUR, max_seconds=14 * DAY)
_SETTINGS: Final = FrontierSettings(min_delay_seconds=0, delay_factor=0, retry_seconds=0, max_retry_seconds=0)
_JOB: Final = "bench"
_ORIGIN: Final = "http://host"


@dataclass(frozen=True, slots=True)
class RevisitRound:
    """A schedule kept the pages of one rate, or all pages, up to date with these costs."""

    schedule: str
    rate: str
    """The mean time between two changes; `all` for all pages."""
    pages: int
    fetches: int
    changes: int
    missed: int
    """Changes that no visit saw, since the next change came first."""
    stale_share: float
    """The share of the time, from 0 to 1, in which the newest copy was not that of the page."""
    lag_hours: float
    """The mean time from a change until a visit saw it."""

    @property
    def missed_share(self) -> float:
        """Return the share of the changes that no visit saw."""
        return self.missed / self.changes if self.changes else 0.0


@dataclass(frozen=True, slots=True)
class _Page:
    url: str
    rate: str
    changes: Sequence[float]
    """The simulated times of the changes, in order."""


def measure(pages: int, days: float, tell: Callable[[str], None], *, seed: int = 1) -> list[RevisitRound]:
    """Crawl so many pages of each rate for so many days with each schedule. Raises RedisProblem."""
    made, end = _pages(pages, days * DAY, random.Random(seed)), days * DAY
    with (
        tempfile.TemporaryDirectory(prefix="gf-bench-", ignore_cleanup_errors=True) as folder,
        EmbeddedRedis(Path(folder)) as server,
    ):
        rounds = _crawled("adaptive", made, end, _ADAPTIVE, server.url, tell)
        same = max(len(made) * end / max(rounds[-1].fetches, 1), 60.0)
        for name, interval in (("fixed, as many fetches", same), ("fixed, 1 day", DAY), ("fixed, 7 days", 7 * DAY)):
            rules = RevisitRules(mode="fixed", interval_seconds=interval)
            rounds += _crawled(name, made, end, rules, server.url, tell)
    return rounds


def table(rounds: Sequence[RevisitRound]) -> Table:
    """Return the costs as a table."""
    made = Table(title="Continuous crawls in simulated time")
    for column in ("schedule", "pages change every", "pages", "fetches", "changes", "missed", "stale", "lag, hours"):
        made.add_column(column, justify="left" if column in ("schedule", "pages change every") else "right")
    for each in rounds:
        made.add_row(
            each.schedule,
            each.rate,
            f"{each.pages:,}",
            f"{each.fetches:,}",
            f"{each.changes:,}",
            f"{each.missed_share:.0%}",
            f"{each.stale_share:.1%}",
            f"{each.lag_hours:.1f}",
            end_section=each.rate == "all",
        )
    return made


def judged(
    schedule: str, rate: str, pages: Sequence[tuple[Sequence[float], Sequence[float]]], end: float
) -> RevisitRound:
    """Return the costs of pages, of each of which the times of the changes and of the visits are given, in order."""
    fetches = changes = missed = 0
    stale = lag = 0.0
    seen = 0
    for changed, visited in pages:
        fetches, changes = fetches + len(visited), changes + len(changed)
        for begin, over in pairwise((*visited, end)):
            between = changed[bisect_right(changed, begin) : bisect_right(changed, over)]
            if not between:
                continue
            stale += over - between[0]
            if over < end:
                missed += len(between) - 1
                seen += 1
                lag += over - between[-1]
    share = stale / (end * len(pages)) if pages else 0.0
    hours = lag / seen / HOUR if seen else 0.0
    return RevisitRound(schedule, rate, len(pages), fetches, changes, missed, share, hours)


def _pages(number: int, end: float, chance: random.Random) -> list[_Page]:
    """Return pages of each rate, which change at random times."""
    made: list[_Page] = []
    for rate, mean in (*RATES.items(), (_NEVER, 0.0)):
        for _ in range(number):
            changes: list[float] = []
            at = chance.expovariate(1 / mean) if mean else end
            while at < end:
                changes.append(at)
                at += chance.expovariate(1 / mean)
            made.append(_Page(f"{_ORIGIN}{len(made) // 10}.test/{len(made)}", rate, changes))
    return made


def _crawled(
    schedule: str, pages: Sequence[_Page], end: float, rules: RevisitRules, redis_url: str, tell: Callable[[str], None]
) -> list[RevisitRound]:
    """Return the costs of a schedule by rate, and last those of all pages."""
    visits = _visits(pages, end, rules, redis_url)
    rounds = []
    for rate in (*RATES, _NEVER, "all"):
        chosen = [(page.changes, visits[page.url]) for page in pages if rate in (page.rate, "all")]
        rounds.append(judged(schedule, rate, chosen, end))
    tell(f"{schedule}: {rounds[-1].fetches:,} fetches, {rounds[-1].stale_share:.1%} stale")
    return rounds


def _visits(pages: Sequence[_Page], end: float, rules: RevisitRules, redis_url: str) -> Mapping[str, list[float]]:
    """Return the simulated times at which the frontier hands out each page."""
    by_url = {page.url: page for page in pages}
    visits: dict[str, list[float]] = {url: [] for url in by_url}
    client: Any = redis.Redis.from_url(redis_url, protocol=2)
    frontier = Frontier(redis_url, Job.of(_JOB, "bench", by_url, Profile(scope="any", revisit=rules)), _SETTINGS)
    with closing(client), closing(frontier):
        frontier.open_job()
        state = f"gf:{{{_SETTINGS.shard}}}:{_JOB}:state"
        now = 0.0
        while now < end:
            answer = frontier.claim("bench")
            if isinstance(answer, Lease):
                version = bisect_right(by_url[answer.url].changes, now)
                visits[answer.url].append(now)
                frontier.finish(answer, VisitOutcome(200, bytes=1, digest=f"{version:016x}"))
                continue
            step = max(frontier.reports.progress().next_due_seconds or 0.0, _STEP)
            client.hincrby(state, "dueshift", -round(1000 * step))
            now += step
        frontier.forget()
    return visits
