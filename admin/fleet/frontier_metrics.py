"""Report the queues and the workers of all jobs in a Redis, as metrics for Prometheus."""

from __future__ import annotations

import logging
from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from archive.settings.load import Settings
from frontier.lease import JobProgress
from frontier.shards import reports_of
from frontier.store import FrontierLost, FrontierUnavailable, job_names

log = logging.getLogger(__name__)

_LABEL = "crawl"
"""Label with the name of the run; Prometheus has a label `job` of its own."""
_GAUGES = {
    "ghostfleet_frontier_queued": "URLs that wait for their visit",
    "ghostfleet_frontier_active": "visits in progress",
    "ghostfleet_frontier_excluded": "URLs that robots.txt forbids, or whose host was set aside",
    "ghostfleet_frontier_hosts": "hosts with URLs that wait",
    "ghostfleet_frontier_hosts_waiting": "those of them that may not be visited yet",
    "ghostfleet_frontier_paused": "1 while the job is paused",
    "ghostfleet_workers_active": "worker processes that visit a URL of the job",
}
_COUNTERS = {
    "ghostfleet_frontier_done": "URLs that were visited",
    "ghostfleet_frontier_failed": "URLs that failed after all tries",
    "ghostfleet_frontier_bytes": "bytes that visits fetched",
    "ghostfleet_frontier_retries": "visits that are repeated",
    "ghostfleet_frontier_swept": "leases that expired, since their worker was lost",
}


class FrontierMetrics(Collector):
    """The collector reports the jobs in the frontier. Names of counters end in _total."""

    def __init__(self, settings: Settings, redis_url: str) -> None:
        self._settings = settings
        self._redis_url = redis_url

    def collect(self) -> list[Metric]:
        """Return the current numbers, one metric family for each; none of them has a sample while Redis is away."""
        families: list[Metric] = [GaugeMetricFamily(name, text) for name, text in _GAUGES.items()]
        families += [CounterMetricFamily(name, text) for name, text in _COUNTERS.items()]
        try:
            for name, progress, workers in self._jobs():
                for family in families:
                    suffix = "_total" if family.type == "counter" else ""
                    value = _value(family.name.rpartition("frontier_")[2], progress, workers)
                    family.add_sample(f"{family.name}{suffix}", {_LABEL: name}, value)
        except FrontierUnavailable as error:
            log.warning("the jobs in the frontier can't be counted: %s", error)
        return families

    def _jobs(self) -> Iterator[tuple[str, JobProgress, int]]:
        url, settings = self._redis_url, self._settings.frontier
        seconds = self._settings.redis.timeout_seconds
        for name in job_names(url, settings.shard, timeout_seconds=seconds):
            with reports_of(url, name, settings, timeout_seconds=seconds) as reports:
                try:
                    yield name, reports.progress(), len(reports.active_workers())
                except FrontierLost:
                    continue  # the job has just ended


def _value(name: str, progress: JobProgress, workers: int) -> float:
    match name:
        case "active":
            return progress.leased
        case "paused":
            return progress.paused is not None
        case "ghostfleet_workers_active":
            return workers
        case _:
            return float(getattr(progress, name))
