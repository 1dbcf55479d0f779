"""Report harvests, jobs and harvesters in the admin's database, as metrics for Prometheus."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from admin.models.database import Database
    from archive.settings.load import Settings

log = logging.getLogger(__name__)

_SILENT: Final = "SILENT"


class HarvestMetrics(Collector):
    """The collector reads the database at each scrape. Without a database, there are no samples."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._database: Database | None = None

    def collect(self) -> list[Metric]:
        """Return the current numbers, one metric family for each."""
        jobs = GaugeMetricFamily("ghostfleet_harvest_jobs", "jobs by state, counted to 10,001", labels=["state"])
        harvesters = GaugeMetricFamily("ghostfleet_harvesters", "harvesters by state", labels=["state"])
        active = GaugeMetricFamily("ghostfleet_harvests_active", "harvests that the scheduler makes jobs of")
        scheduler = GaugeMetricFamily("ghostfleet_scheduler_works", "1 while a scheduler works")
        self._fill(jobs, harvesters, active, scheduler)
        return [jobs, harvesters, active, scheduler]

    def _fill(
        self,
        jobs: GaugeMetricFamily,
        harvesters: GaugeMetricFamily,
        active: GaugeMetricFamily,
        scheduler: GaugeMetricFamily,
    ) -> None:
        # The modules of the admin are slow to load, and an indexer without harvests does not need them.
        from admin.models.database import FILE_NAME

        if not self._settings.database.url and not (self._settings.home / FILE_NAME).exists():
            return
        from admin.harvests.dispatch.harvesters import list_harvesters
        from admin.harvests.dispatch.listing import count_by_status
        from admin.harvests.statistics.overview import count_active_harvests, has_scheduler
        from admin.models.database import open_database
        from admin.models.errors import DatabaseRefused
        from admin.models.job_tables import HarvesterState
        from admin.models.transaction import COMMAND_LINE

        try:
            if self._database is None:
                self._database = open_database(self._settings)
            with self._database.reading(COMMAND_LINE) as transaction:
                for status, count in count_by_status(transaction).items():
                    jobs.add_metric([status], count)
                states = dict.fromkeys((*HarvesterState, _SILENT), 0)
                for each in list_harvesters(transaction):
                    states[_SILENT if each.is_silent else each.state] += 1
                for state, count in states.items():
                    harvesters.add_metric([str(state)], count)
                active.add_metric([], count_active_harvests(transaction))
                scheduler.add_metric([], has_scheduler(transaction))
        except DatabaseRefused as error:
            log.warning("harvests can't be counted: %s", error)
