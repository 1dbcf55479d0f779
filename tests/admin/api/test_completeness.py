"""Everything that the site does, programs do too: each page that changes something has an operation."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Final

from flask import Flask

import admin
from admin.operations import OPERATIONS
from admin.site.assembly import PAGES

NAMES = {operation.name for operation in OPERATIONS}
OPERATIONS_OF: Final = {
    "domains.create": ("domain.create",),
    "domains.change": ("domain.change",),
    "domains.delete": ("domain.delete",),
    "collections.replay": ("collection.replay",),
    "collections.access.create": ("access-rule.create",),
    "collections.access.edit": ("access-rule.change",),
    "collections.access.remove": ("access-rule.remove",),
    "collections.access.default": ("access-rule.set-default",),
    "collections.tasks.index": ("task.create-package",),
    "collections.tasks.upload": ("task.create-import",),
    "collections.tasks.act": ("task.cancel", "task.remove"),
    "domains.aliases.edit": ("domain.set-alias",),
    "domains.aliases.end": ("domain.unset-alias",),
    "domains.aliases.renew": ("domain.renew-alias",),
    "domains.configurations.create": ("configuration.create",),
    "domains.configurations.delete": ("configuration.delete",),
    "domains.configurations.edit": ("configuration.change",),
    "domains.configurations.make_default": ("domain.change",),
    "domains.extended_fields.create": ("extended-field.create",),
    "domains.extended_fields.delete": ("extended-field.delete",),
    "domains.extended_fields.edit": ("extended-field.change",),
    "domains.owners.index": ("domain.add-owner",),
    "domains.passwords.create": ("password.create",),
    "domains.passwords.delete": ("password.delete",),
    "domains.passwords.edit": ("password.change",),
    "domains.seed_lists.create": ("seed-list.create",),
    "domains.seed_lists.delete": ("seed-list.delete",),
    "domains.seed_lists.edit": ("seed-list.change",),
    "domains.trap_lists.act": (
        "trap-list.change",
        "trap-list.delete",
    ),
    "domains.trap_lists.create": (
        "trap-list.create",
        "trap.test",
    ),
    "domains.trap_lists.edit": (
        "trap-list.change",
        "trap.test",
    ),
    "domains.traps.edit": (
        "domain.set-traps",
        "trap.test",
    ),
    "domains.uploads.create": ("domain.upload",),
    "bulk.show": ("bulk.preview", "bulk.change"),
    "collections.description.capture": ("description.change-capture",),
    "collections.description.edit": ("description.change",),
    "collections.description.exclude": ("exclusion.create",),
    "collections.description.remove": ("exclusion.remove",),
    "permissions.create": ("permission.create",),
    "permissions.edit": ("permission.change",),
    "permissions.letter": ("permission.write-letter",),
    "permissions.remove": ("permission.remove",),
    "permissions.template": ("letter.save-template",),
    "tray.assign": ("tray.assign",),
    "tray.dismiss": ("tray.dismiss",),
    "harvests.copy": ("harvest.copy",),
    "harvests.traps.edit": (
        "harvest.change",
        "trap.test",
    ),
    "profile.end_others": ("session.end",),
    "profile.end_session": ("session.end",),
    "profile.notifications.act": (
        "subscription.remove",
        "subscription.test",
    ),
    "profile.notifications.index": ("subscription.create",),
    "profile.show": ("profile.change",),
    "profile.tokens.index": ("token.create",),
    "profile.tokens.revoke": ("token.revoke",),
    "capture.act": ("capture-session.pause", "capture-session.resume", "capture-session.end"),
    "capture.harvest": ("capture-session.make-harvest",),
    "capture.note": ("capture-session.note",),
    "capture.start": ("capture-session.start",),
    "qa.act": ("qa.stop", "qa.resume"),
    "qa.capture_by_hand": ("qa.capture-by-hand",),
    "qa.decide": ("qa.decide",),
    "qa.delete": ("qa.delete",),
    "qa.repair": ("qa.repair",),
    "qa.repair_missed": ("qa.repair-missed",),
    "qa.start": ("qa.start",),
    "qa.stop_repair": ("qa.stop-repair",),
    "qa.undo": ("qa.undo",),
    "schedules.preview": ("schedule.preview-rule",),
    "templates.copy": ("template.copy",),
    "templates.rename": ("template.change",),
    "templates.restore": ("template.restore-version",),
    "templates.verify": ("template.verify",),
    "users.create": (
        "user.create",
        "invitation.create",
    ),
    "users.revoke_invitation": ("invitation.revoke",),
    "users.revoke_token": ("user.revoke-token",),
    "users.show": ("user.change",),
    "harvests.create": ("harvest.create",),
    "harvests.edit": ("harvest.change",),
    "harvests.configurations": ("harvest.add-configurations", "harvest.remove-configurations"),
    "harvests.act": ("harvest.activate", "harvest.deactivate", "harvest.run-now", "harvest.delete"),
    "schedules.create": ("schedule.create",),
    "schedules.change": ("schedule.change",),
    "schedules.delete": ("schedule.delete",),
    "templates.create": ("template.create",),
    "templates.edit": ("template.add-version", "template.change", "template.edit", "template.verify"),
    "templates.act": ("template.activate", "template.deactivate", "template.delete"),
    "jobs.command": ("job.command",),
    "jobs.queue_files.act": ("task.cancel", "task.remove"),
    "jobs.queue_files.export": ("task.export-queues",),
    "jobs.queue_files.rebuild": ("task.rebuild-queues",),
    "jobs.queue_files.upload": ("task.import-queues",),
    "jobs.act": ("job.resubmit", "job.reject", "job.undo_reject", "job.cancel"),
    "logs.analyse": ("log.analyse",),
    "fleet.create_channel": ("channel.create",),
    "fleet.delete_channel": ("channel.delete",),
    "fleet.forget": ("harvester.forget",),
    "users.index": ("invitation.create",),
    "users.act": ("user.activate", "user.deactivate", "user.reset-password"),
}
"""The operations that do what a page does, by the page's endpoint."""
FOR_BROWSERS_ONLY: Final = {
    "collections.player": "fetches the player; `view --fetch-player` is for programs",
    "openid.link": "leads a browser to a provider",
    "profile.unlink": "takes back what a browser linked",
    "profile.password": "asks for the present password; a token can't change a password",
    "login.show": "opens a session of a browser; programs have tokens",
    "login.leave": "ends a session of a browser",
    "login.welcome": "takes a one-time link, with which a person chooses a password",
}
NOT_FOR_PROGRAMS: Final = {
    "install_stock": "fills a new database",
    "register": "harvesters do it by themselves",
    "refuse_registration": "harvesters cause it by themselves",
    "claim_job": "harvesters do it by themselves",
    "accept_invitation": "a person chooses a password with a one-time link",
    "accept_reset": "a person chooses a password with a one-time link",
    "report_end": "harvesters do it by themselves",
    "report_killed_crawl": "harvesters do it by themselves",
    "report_slow_patterns": "harvesters do it by themselves",
    "report_late_renders": "harvesters do it by themselves",
    "fail_silent_jobs": "the scheduler does it by itself",
    "add_user": "user.create, user.invite and accepted links call it",
    "apply": "user.change and profile.change call it",
    "end_session_of": "session.end and logout call it",
    "enter": "opens a session of a browser",
    "count_attempt": "counts failed logins of browsers",
    "link_identity": "a login by OpenID Connect calls it",
    "unlink_identity": "asks for a browser; user.reset-password and user.deactivate are for programs",
    "order_task": "the orders of tasks call it",
    "resubmit": "job.resubmit checks the right and calls it",
    "fail_job": "job.cancel calls it",
    "reject": "job.reject calls it",
}
"""Functions that leave an audit entry, and are no operations."""


def test_each_page_that_changes_something_has_operations() -> None:
    app = Flask(__name__)
    for blueprint in PAGES:
        app.register_blueprint(blueprint)
    changing = {
        rule.endpoint for rule in app.url_map.iter_rules() if (rule.methods or set()) - {"GET", "HEAD", "OPTIONS"}
    }
    missing = sorted(changing - OPERATIONS_OF.keys() - FOR_BROWSERS_ONLY.keys())
    assert missing == [], (
        f"{missing} change something: declare an Operation for each in operations.py beside its use case, and add a row"
        f" to OPERATIONS_OF in {__file__}"
    )
    assert {name for names in OPERATIONS_OF.values() for name in names} <= NAMES
    assert set(OPERATIONS_OF) | set(FOR_BROWSERS_ONLY) <= changing, "a page is gone: take its row away"


def test_each_use_case_that_leaves_an_audit_entry_is_an_operation() -> None:
    ours = {inspect.unwrap(operation.use_case).__name__ for operation in OPERATIONS}
    top = Path(admin.__file__).parent
    found = {}
    for folder in ("curation", "harvests", "people", "notifications", "collections"):
        for path in (top / folder).rglob("*.py"):
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.FunctionDef) and not node.name.startswith("_") and _is_use_case(node):
                    found[node.name] = f"{path.relative_to(top)}:{node.lineno}"
    missing = {name: where for name, where in found.items() if name not in ours and name not in NOT_FOR_PROGRAMS}
    assert missing == {}, (
        f"{missing} change something: declare an Operation for each in operations.py beside it, or add a reason to"
        f" NOT_FOR_PROGRAMS in {__file__}"
    )
    assert len(found) > 50


def _is_use_case(function: ast.FunctionDef) -> bool:
    first = function.args.args[0].arg if function.args.args else ""
    return first == "transaction" and any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "audit"
        for node in ast.walk(function)
    )
