"""Pages are compared with what their site answers to a URL that does not exist, which is asked once for each folder.

The visitor of the page asks the site through the proxy, so that the answer is recorded as all traffic is. A line of
crawl.log says that this URL is a check. The visitor waits for the host's pause, and asks only where robots.txt lets us.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from browsers.page_quality.missing_page import SOFT_404, directory_of, is_alike, missing_url
from browsers.plain.robots_rules import RobotsRules
from browsers.plain.visitor import SiteFailure
from browsers.visit import FleetUnavailable, PageLook, Visit, Visitor, VisitOrder
from frontier.lease import Lease, extend
from frontier.politeness import delay_ms
from frontier.queue import Frontier

log = logging.getLogger(__name__)

CHECK_NOTE: Final = "soft-404-check"
"""The annotation in crawl.log of a URL that was asked for since it does not exist."""
_NOT_KNOWN: Final = "-"
"""The answer of a folder that has no status 200 for such a URL, or that could not be asked."""


class MissingPages:
    """A finder of soft 404s among the visits of a job."""

    def __init__(
        self, frontier: Frontier, rules: RobotsRules, stop: threading.Event, note: Callable[[Lease, int, str], None]
    ) -> None:
        """`note` writes a line of crawl.log: a lease with the URL, the status, and an annotation."""
        self._frontier = frontier
        self._rules = rules
        self._stop = stop
        self._note = note

    def checked(self, lease: Lease, order: VisitOrder, visit: Visit, visitor: Visitor) -> Visit:
        """Return the visit, with an annotation when its page looks like one that does not exist.

        Raises FrontierUnavailable and FrontierLost.
        """
        folder = directory_of(lease.url)
        is_known = any(note.startswith("page:soft-404") for note in visit.annotations)
        if visit.code != 200 or visit.look is None or folder is None or is_known:
            return visit
        answers, kind = self._frontier.missing_pages, visitor.name
        answer = answers.get(kind, folder)
        began = time.monotonic()
        if answer is None:
            missing = self._ask(lease, order, visit, visitor, folder)
            answer = missing.text() if missing is not None else _NOT_KNOWN
            answers.put(kind, folder, answer)
        missing = PageLook.read(answer)
        notes = (SOFT_404.annotation,) if missing is not None and is_alike(visit.look, missing) else ()
        # The host rests after both requests as long as after one that took the time of both.
        took_ms = round((time.monotonic() - began) * 1000)
        return replace(visit, annotations=(*visit.annotations, *notes), duration_ms=visit.duration_ms + took_ms)

    def _ask(self, lease: Lease, order: VisitOrder, visit: Visit, visitor: Visitor, folder: str) -> PageLook | None:
        """Return how the site answers to a URL that does not exist; None when it says so, or does not answer."""
        url = missing_url(folder)
        asked = replace(lease, url=url, hop_path=extend(lease.hop_path, "P"), via=lease.url)
        checking = replace(order, url=url, hop_path=asked.hop_path, via=lease.url, attempt=1)
        decision = self._rules.decide(asked, checking)
        if decision.code is not None:
            return None
        pause = delay_ms(visit.duration_ms, self._frontier.politeness_of(lease.url), decision.crawl_delay_seconds)
        if self._stop.wait(pause / 1000):
            return None
        try:
            status, look = visitor.look(checking)
        except (SiteFailure, FleetUnavailable) as error:
            log.info("a page that does not exist at %s could not be asked for: %s", folder, error)
            return None
        self._note(asked, status, CHECK_NOTE)
        return look if status == 200 else None
