"""A harvester reports the incidents of its job from the state of the job's folder, until the database has them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field

from admin.harvester.dispatch_link import DispatchLink
from admin.harvester.job_folder import JobFolder
from admin.jobs.crawling.render_lag import LATE_SECONDS
from admin.models.errors import DatabaseRefused, UseCaseError
from frontier.lease import RenderProgress

log = logging.getLogger(__name__)


@dataclass(slots=True)
class IncidentReports:
    """Incident reports are remembered, so that each incident of one job is reported once."""

    link: DispatchLink
    folder: JobFolder
    _is_kill_reported: bool = False
    _has_renders: bool = False
    _is_late_reported: bool | None = None
    """None before the first report, since an earlier harvester may have reported something."""
    _patterns_reported: set[str] = field(default_factory=set)

    def note_patterns(self, patterns: Mapping[str, str]) -> None:
        """Keep the patterns that were switched off in the state of the job's folder."""
        known = self.folder.state.patterns_off
        if not patterns.keys() <= known.keys():
            self.folder.save(patterns_off={**known, **patterns})

    def note_renders(self, renders: RenderProgress) -> None:
        """Keep in the state of the job's folder whether a page has waited too long for its render."""
        self._has_renders = self._has_renders or renders.is_used
        age = renders.oldest_seconds or 0.0
        was_late, is_late = self.folder.state.late_renders > 0, age > LATE_SECONDS
        if is_late and not was_late:
            self.folder.save(late_renders=max(renders.depth, 1), late_seconds=age)
        elif was_late and not is_late:
            self.folder.save(late_renders=0, late_seconds=0.0)

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
            if self._has_renders and (is_late := state.late_renders > 0) is not self._is_late_reported:
                seconds, queued = state.late_seconds, state.late_renders
                self.link.renders_late(job, is_late=is_late, seconds=seconds, queued=queued)
                self._is_late_reported = is_late
        except (DatabaseRefused, UseCaseError) as error:
            log.warning("job %d: an incident could not be reported: %s", job.id, error)
