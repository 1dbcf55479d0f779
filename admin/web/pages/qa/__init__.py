"""These pages start and show QA sessions, let people review captured pages, and show repairs and reports.

`session` has the blueprint, to which the other modules add their pages. They may import `admin.web` and use cases.
"""

from __future__ import annotations

from typing import Final

from flask import Blueprint

import admin.web.pages.qa.repair
import admin.web.pages.qa.report
import admin.web.pages.qa.review  # noqa: F401 the modules add their pages to the blueprint of `session`
from admin.web.pages.qa import session

BLUEPRINT: Final[Blueprint] = session.BLUEPRINT
