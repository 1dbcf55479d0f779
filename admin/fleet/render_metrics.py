"""Report the queues of renders of all jobs in a Redis, as metrics for Prometheus."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from archive.settings.load import Settings
from frontier.lease import RenderProgress
from frontier.shards import reports_of
from frontier.store import FrontierLost, FrontierUnavailable, job_names

log = logging.getLogger(__name__)

_LABEL = "crawl"
"""Label with the name of the run; Prometheus has a label `job` of its own."""


class RenderMetrics(Collector):
    """The collector reports the renders of the jobs in the frontier. Names of counters end in _total."""

    def __init__(self, settings: Settings, redis_url: str) -> None:
        self._settings = settings
        self._redis_url = redis_url

    def collect(self) -> list[Metric]:
        """Return the current numbers, one metric family for each; none of them has a sample while Redis is away."""
        families: dict[str, Metric] = {
            "queued": _gauge("queued", "pages that wait for an asynchronous render"),
            "active": _gauge("active", "asynchronous renders in progress"),
            "oldest_seconds": _gauge("oldest_seconds", "time since the oldest page was queued that is not rendered"),
            "p95_lag_seconds": _gauge("p95_lag_seconds", "lag that 95 of 100 finished renders did not exceed"),
            "done": _counter("done", "asynchronous renders that are done"),
            "failed": _counter("failed", "asynchronous renders that failed for good"),
            "lag_seconds": _counter("lag_seconds", "sum of the lags of all finished renders"),
        }
        try:
            for name, renders in self._renders():
                values = {
                    "queued": renders.queued,
                    "active": renders.leased,
                    "oldest_seconds": renders.oldest_seconds or 0.0,
                    "p95_lag_seconds": renders.p95_seconds or 0.0,
                    "done": renders.done,
                    "failed": renders.failed,
                    "lag_seconds": renders.lag_seconds,
                }
                for key, family in families.items():
                    suffix = "_total" if family.type == "counter" else ""
                    family.add_sample(f"{family.name}{suffix}", {_LABEL: name}, values[key])
        except FrontierUnavailable as error:
            log.warning("the renders of jobs can't be counted: %s", error)
        return list(families.values())

    def _renders(self) -> Iterator[tuple[str, RenderProgress]]:
        """Yield the progress of the renders of each job that has any."""
        url, settings = self._redis_url, self._settings.frontier
        seconds = self._settings.redis.timeout_seconds
        for name in job_names(url, settings.shard, timeout_seconds=seconds):
            with reports_of(url, name, settings, timeout_seconds=seconds) as reports:
                try:
                    if reports.has_renders():
                        yield name, reports.progress().renders
                except FrontierLost:
                    continue  # the job has just ended


def _gauge(name: str, text: str) -> Metric:
    return GaugeMetricFamily(f"ghostfleet_renders_{name}", text)


def _counter(name: str, text: str) -> Metric:
    return CounterMetricFamily(f"ghostfleet_renders_{name}", text)
