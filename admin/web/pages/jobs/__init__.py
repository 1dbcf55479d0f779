"""These pages show jobs: lists, one job live, its domains, files of queues, and the reports of a job that has ended.

`job` has the blueprint, to which `documents` and `queue_files` add their pages. They may import `admin.web` and use
cases.
"""

from __future__ import annotations

from typing import Final

from flask import Blueprint

import admin.web.pages.jobs.documents  # noqa: F401 the module adds its pages to the blueprint of `job`
from admin.web.pages.jobs import job, queue_files

BLUEPRINT: Final[Blueprint] = job.BLUEPRINT
BLUEPRINT.register_blueprint(queue_files.BLUEPRINT)
