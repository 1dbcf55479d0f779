"""The command `qa run` judges pages and waits for the end; `qa work` is the process that works on what waits."""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from admin.collections.names import CollectionName
from admin.commands.processes.database_role import work_until_signal
from admin.options import (
    INTERRUPTED,
    InputError,
    JobFailed,
    child_options,
    common,
    fetching,
    fetching_settings,
    load_settings,
    say_mended,
)
from archive.program_name import command

if TYPE_CHECKING:
    from admin.models.database import Database
    from admin.qa.sessions import QaSessionDetails

DAMAGED: Final = 3
_TELL_SECONDS: Final = 2.0
_POLL_SECONDS: Final = 1.0


@click.command("run")
@click.argument("collection", type=CollectionName())
@click.option(
    "--job", metavar="NAME", help="Name of a run, such as news-20261126080000.  [all pages of the collection]"
)
@click.option(
    "--sample", default="", metavar="N|SHARE", help="Judge a sample: a number of pages, or a share such as 10%."
)
@click.option(
    "--by",
    "choice",
    type=click.Choice(["spread", "size", "importance", "suspicion"]),
    default="spread",
    help="How the pages of a sample are chosen.  [spread]",
)
@click.option("--pages", type=click.Path(path_type=Path), metavar="FILE", help="File with URLs, one a line, to judge.")
@click.option("--follow", is_flag=True, help="Judge the pages of a running crawl, each soon after its capture.")
@click.option("--workers", type=click.IntRange(1, 256), metavar="N", help="Pages judged at a time.  [browsers.workers]")
@click.option("--session", type=int, metavar="NUMBER", help="Resume this QA session, which was stopped or has failed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document at the end.")
@common
@fetching
def run(home: Path | None, settings_file: Path | None, collection: str, as_json: bool, **given: Any) -> int:
    """Judge the captured pages of a COLLECTION by their replay.

    Each page is visited again in replay, with the window and the behaviours of its capture, and compared with the
    records of its capture. The pages with the worst scores are printed at the end. Ctrl-C stops the session within
    seconds; `--session` resumes it.

    \b
    Exit codes:
      0    all pages were judged, and none is damaged
      1    failed: nothing could be judged
      2    bad input
      3    pages are damaged, or could not be judged
      130  stopped
    """
    from contextlib import closing, suppress

    from admin.fleet.process import StartInterrupted
    from admin.jobs.interrupts import Interrupts
    from admin.models.database import open_database
    from admin.models.errors import UseCaseError
    from admin.models.qa_tables import QaState
    from admin.models.transaction import COMMAND_LINE
    from admin.qa import sessions
    from admin.qa.sessions import NewQaSession
    from admin.qa.workers.process import QaProcess
    from admin.qa.workers.tools import ToolsMissing

    settings = load_settings(home, settings_file, fetching_settings(given) | {"qa.workers": given["workers"]})
    say_mended(settings)
    urls = _read_urls(given["pages"])
    try:
        with closing(open_database(settings)) as database, Interrupts() as interrupts:
            with database.transaction(COMMAND_LINE) as transaction:
                if given["session"] is not None:
                    number = sessions.resume(transaction, given["session"]).id
                else:
                    wanted = NewQaSession(
                        collection=collection, job=given["job"], sample=given["sample"], choice=given["choice"],
                        urls=urls, follows=given["follow"],
                    )  # fmt: skip
                    number = sessions.start(transaction, wanted).id
            process = QaProcess(settings, database, lambda line: click.echo(line, err=True))
            over = threading.Event()
            teller = threading.Thread(target=_tell, args=(database, number, over), name="qa-progress")
            teller.start()
            try:
                with suppress(StartInterrupted):  # the session waits again, and is stopped below
                    process.work_on(number, lambda: interrupts.asked_to_stop)
                found = _await_end(database, number, interrupts)
            finally:
                over.set()
                teller.join()
            return _show_end(database, found, as_json=as_json, stopped=found.state is QaState.STOPPED)
    except ToolsMissing as error:
        raise JobFailed(str(error)) from error
    except UseCaseError as error:
        raise InputError(str(error)) from error


@click.command("work")
@common
@child_options
def work(home: Path | None, settings_file: Path | None, **given: Any) -> None:
    """Work on the QA sessions and repairs that wait, one after another, until SIGTERM or Ctrl-C.

    `ghostfleet up` runs this process. It starts proxies and a browser when there is work, and ends them afterwards.

    \b
    Exit codes:
      0  ended by a signal
      2  refused: the database can't be used, or has another version
    """
    settings = load_settings(home, settings_file, {})
    say_mended(settings)
    from admin.qa.workers.process import QaProcess

    work_until_signal(settings, given, "qa", QaProcess)


def _read_urls(path: Path | None) -> list[str]:
    """Return the lines of the file. Raises InputError."""
    if path is None:
        return []
    try:
        lines = path.read_text("utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"--pages {path} can't be read: {error}") from error
    urls = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    if not urls:
        raise InputError(f"--pages {path} has no URL; write one a line")
    return urls


def _await_end(database: Database, number: int, interrupts: Any) -> QaSessionDetails:
    """Return the session when it is over: the QA process of an installation may have taken it."""
    from admin.models.errors import IllegalState
    from admin.models.transaction import COMMAND_LINE
    from admin.qa import sessions

    has_asked = False
    while True:
        with database.reading(COMMAND_LINE) as reading:
            found = sessions.show(reading, number)
        if found.is_over:
            return found
        if interrupts.asked_to_stop and not has_asked:
            has_asked = True
            try:
                with database.transaction(COMMAND_LINE) as transaction:
                    sessions.stop(transaction, number)
            except IllegalState:
                continue
        interrupts.wait(_POLL_SECONDS)


def _tell(database: Database, number: int, over: threading.Event) -> None:
    """Print a line about the progress every few seconds, when there is something new to tell."""
    from admin.models.errors import UseCaseError
    from admin.models.transaction import COMMAND_LINE
    from admin.qa import sessions

    told = ""
    while not over.wait(_TELL_SECONDS):
        try:
            with database.reading(COMMAND_LINE) as reading:
                found = sessions.find(reading, number)
                line = f"QA session {number}: {found.judged + found.unjudged} of {found.pages} pages"
        except UseCaseError:
            continue
        if line != told:
            told = line
            click.echo(line, err=True)


def _show_end(database: Database, found: QaSessionDetails, *, as_json: bool, stopped: bool) -> int:
    """Print the result; return the exit code."""
    from admin.models.qa_tables import QaState
    from admin.models.transaction import COMMAND_LINE
    from admin.qa import sessions

    with database.reading(COMMAND_LINE) as reading:
        worst = sessions.list_pages(reading, found.id, limit=10).items
    if as_json:
        pages = [page.model_dump(mode="json") for page in worst]
        click.echo(json.dumps({**found.model_dump(mode="json"), "worst": pages}))
    else:
        totals = found.totals
        click.echo(
            f"QA session {found.id} of {found.collection}: {found.state}; {totals.severe} severely damaged,"
            f" {totals.noticeable} noticeably damaged, {found.unjudged} not judged, {totals.good} good,"
            f" of {found.pages} pages"
        )
        for page in worst:
            if page.why:
                click.echo(f"  ---  {page.url}: {page.why}")
            elif page.severity != "good":
                first = page.reasons[0] if page.reasons else {}
                about = f" {first['url']}" if first.get("url") else ""
                click.echo(f"  {page.score:3}  {page.url}: {first.get('words', '')}{about}")
        if stopped:
            resume = command(f"qa run {found.collection} --session {found.id}")
            click.echo(f"Stopped; `{resume}` goes on.", err=True)
    sys.stdout.flush()
    if stopped:
        return INTERRUPTED
    if found.state is QaState.FAILED:
        raise JobFailed(found.error)
    if not found.pages:
        about = "; capture pages first" if found.job is None else f" of the job {found.job}; check its name"
        raise JobFailed(f"nothing was judged: {found.collection} has no captured page{about}")
    return DAMAGED if found.totals.severe or found.totals.noticeable or found.unjudged else 0
