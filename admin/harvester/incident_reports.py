"""A harvester reports the incidents of its job from the state of the job's folder, until the database has them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from admin.harvester.dispatch_link import DispatchLink
from admin.harvester.job_folder import JobFolder
from admin.models.errors import DatabaseRefused, UseCaseError

log = logging.getLogger(__name__)


@dataclass(slots=True)
class IncidentReports:
    """The object remembers what of one job was reported."""

    link: DispatchLink
    folder: JobFolder
    _is_kill_reported: bool = False
    _patterns_reported: set[str] = field(default_factory=set)

    def note_patterns(self, patterns: Mapping[str, str]) -> None:
        """Keep the patterns that were switched off in the state of the job's folder."""
        known = self.folder.state.patterns_off
        if not patterns.keys() <= known.keys():
            self.folder.save(patterns_off={**known, **patterns})

    def send(self) -> None:
        """Report what was not reported yet. A database that does not answer is logged, and asked again next time."""
        job, state = self.folder.claim, self.folder.state
        try:
            if state.was_killed and not self._is_kill_reported:
                self.link.crawl_killed(job, state.reason)
                self._is_kill_reported = True
            if not state.patterns_off.keys() <= self._patterns_reported:
                self.link.patterns_off(job, state.patterns_off)
                self._patterns_reported |= state.patterns_off.keys()
        except (DatabaseRefused, UseCaseError) as error:
            log.warning("job %d: an incident could not be reported: %s", job.id, error)
