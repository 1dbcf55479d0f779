"""The site is put together here: database, pages, API, live streams and server."""

from __future__ import annotations

import logging
from functools import partial
from typing import Final

from flask import Blueprint

from admin.api.blueprint import error_answer, make_blueprint
from admin.api.problems import problem_of
from admin.capture_sessions.uploads import Upload, note_upload
from admin.collections.tasks.task_folder import TaskOrder, TaskResult
from admin.collections.tasks.worker import TaskWorker
from admin.models.database import Database
from admin.models.errors import DatabaseRefused
from admin.operations import OPERATIONS
from admin.site.identity import Identity
from admin.site.live import LiveStreams
from admin.site.screens import ScreenSockets
from admin.site.server import SiteServer
from admin.web.application import Api, create_app
from admin.web.body_limits import BodyLimits
from admin.web.page import Site
from admin.web.pages import ALL_PAGES
from archive.listener_access import HostNames
from archive.settings.load import Settings

log = logging.getLogger(__name__)
PAGES: Final[tuple[Blueprint, ...]] = ALL_PAGES


def make_server(database: Database, settings: Settings) -> SiteServer:
    """Return the server of the site, which is not started yet."""
    identity = Identity(database)
    site = Site(database, settings, identity.visitor)
    api = Api(make_blueprint(database, OPERATIONS, identity.actor_of), error_answer, problem_of)
    names = HostNames(settings.admin.host, settings.admin.site_names, "admin.host_names")
    app = create_app(site, names, PAGES, api)
    live = LiveStreams(database, names, identity.actor_of_cookie)
    screens = ScreenSockets(database, settings.home, names, identity.actor_of_cookie)
    tasks = TaskWorker(settings, partial(_note_import, settings, database))
    return SiteServer(app, BodyLimits(app).of, live, screens, tasks, settings.admin)


def _note_import(settings: Settings, database: Database, name: str, order: TaskOrder, result: TaskResult) -> None:
    """List the files of an import as a capture session. The import itself is done, whatever happens here."""
    facts = result.facts
    upload = Upload(
        order.collection,
        str(order.conditions["file"]),
        order.created_by,
        name,
        facts.get("names", ()),
        facts.get("page_lists", ()),
        facts.get("missing", ()),
        int(facts.get("missing_count", 0)),
    )
    try:
        note_upload(settings, database, upload)
    except (DatabaseRefused, OSError) as error:
        log.warning("the import %s is done, and is not listed as a capture session: %s", name, error)
