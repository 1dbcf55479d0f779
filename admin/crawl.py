"""One job to its end on this machine: the use case behind `ghostfleet crawl`.

The fleet is started, the frontier gets the seeds, workers visit until it has nothing more to hand out, a limit is
reached, or a signal comes. Then everything ends in order, and the reports are made from crawl.log.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from typing import Final

from admin.definition import Definition
from admin.fleet import Fleet
from admin.interrupts import Interrupts
from admin.progress import Display, View
from admin.reports import JobFacts, write_reports
from admin.runs import Run, Status, held, take_up
from admin.summary import Summary
from admin.tally import LogFollower, Tally
from archive.settings import Settings

log = logging.getLogger(__name__)

TICK_SECONDS: Final = 0.25
_RATE_SECONDS: Final = 10.0
