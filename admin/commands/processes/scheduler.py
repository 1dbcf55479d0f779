"""The command `scheduler` makes and dispatches the jobs of harvests, apart from the admin site."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import click

from admin.commands.processes.database_role import begin_on_database
from admin.options import child_options, common, load_settings, say_mended


@click.command("scheduler")
@common
@child_options
def scheduler(home: Path | None, settings_file: Path | None, **given: Any) -> None:
    """Look each minute for harvests that are ready, and make their jobs, until SIGTERM or Ctrl-C.

    The scheduler also submits new jobs to channels, searches the logs of running jobs for anomalies, and sends
    notifications. A second scheduler waits for the first one to end, and says so in its log. A killed one is replaced
    after generation.lease_seconds.

    \b
    Exit codes:
      0  ended by a signal
      2  refused: the database can't be used, or has another version
    """
    settings = load_settings(home, settings_file, {})
    say_mended(settings)
    from admin.jobs.interrupts import run_until_signal
    from admin.scheduler.assembly import installed_scheduler, send_messages
    from admin.scheduler.log_watch import watch_logs

    standing, database = begin_on_database(settings, given, "scheduler")
    stop = threading.Event()
    works = installed_scheduler(database, settings)

    def work() -> None:
        sender = threading.Thread(target=send_messages, args=(database, stop), name="notifications")
        sender.start()
        watcher = threading.Thread(target=watch_logs, args=(database, stop), name="crawl logs")
        watcher.start()
        standing.report_ready()
        if standing.is_absent:
            click.echo(json.dumps({"ready": True, "scheduler": works.owner}))
        try:
            works.run(stop)
        finally:
            stop.set()
            sender.join()
            watcher.join()
            database.close()

    run_until_signal(work, stop)
