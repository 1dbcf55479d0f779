"""This process carries out one task: `python -m admin.collections.tasks.work FOLDER`. The site's worker starts it.

The process ends with its parent: it reads its standard input, which the parent keeps open, to the end. SIGTERM cancels
the task, and nothing half-done stays: the files that an import has taken by then are indexed, and are known to dedup.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Final

from admin.collections.tasks.queue_work import QUEUE_PROBLEMS, export_queues, import_queues, rebuild_queues
from admin.collections.tasks.task_folder import PACKAGE_FILE, UPLOAD_FOLDER, TaskFolder, TaskKind, TaskOrder
from admin.collections.transfer.importing import (
    Choices,
    ImportedFile,
    Importer,
    ImportItem,
    ImportOutcome,
    ImportProblem,
    KeptPages,
    check_space,
    find,
    packages_in,
)
from admin.collections.transfer.originals import add_originals
from admin.collections.transfer.packaging import Packager
from admin.collections.transfer.selection import ExportProblem, selection
from admin.options import INTERRUPTED, JOB_FAILED
from archive.program_name import command
from archive.settings.load import Settings, load
from archive.storage.storage import StorageError
from archive.wacz.reader import PackageError
from archive.warc.reading.member_reader import WarcError
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.schema import CapturesError
from dedupdb.index.indexer import Indexer
from dedupdb.redis_io.link import DedupUnavailable
from frontier.private_redis.server import EmbeddedRedis, RedisProblem

_MOST_NAMED: Final = 20
_OF_EACH: Final = 10_000
"""Bytes that a file counts for progress besides its own, since an empty file takes time too."""
_LONGEST: Final = 500
_NOTE_SECONDS: Final = 0.3
_NICENESS: Final = 10
_PROBLEMS: Final = (
    *(ExportProblem, ImportProblem, CapturesError, PackageError, StorageError, WarcError, ValueError),
    *QUEUE_PROBLEMS,
)

type _Note = Callable[[str, int, int], None]
"""The function notes the file that is read, how far the task is, and when it will be done, in the same unit."""


def main() -> int:
    """Carry out the task in the folder that the command line names; return the exit code."""
    folder = TaskFolder(Path(sys.argv[1]))
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.nice(_NICENESS)
    order = folder.order()
    if order is None:
        return JOB_FAILED
    settings = load()
    works = {
        TaskKind.PACKAGE: _package,
        TaskKind.IMPORT: _import,
        TaskKind.QUEUE_EXPORT: export_queues,
        TaskKind.QUEUE_IMPORT: import_queues,
        TaskKind.QUEUE_REBUILD: rebuild_queues,
    }
    try:
        facts = works[order.kind](settings, folder, order, _noter(folder))
        folder.note("facts.json", facts)
    except KeyboardInterrupt:
        return INTERRUPTED
    except _PROBLEMS as error:
        folder.note("facts.json", {"problem": str(error)[:_LONGEST]})
        return JOB_FAILED
    except OSError as error:
        folder.note("facts.json", {"problem": f"a file can't be used: {error.strerror or error}"[:_LONGEST]})
        return JOB_FAILED
    return JOB_FAILED if facts.get("problem") else 0


def _package(settings: Settings, folder: TaskFolder, order: TaskOrder, note: _Note) -> dict[str, Any]:
    wanted = order.conditions
    chosen = selection(wanted["since"], wanted["until"], wanted["job"], wanted["url_prefix"])
    packager = Packager(
        settings,
        order.collection,
        folder.path / PACKAGE_FILE,
        chosen,
        title=wanted["title"],
        originals=wanted["originals"],
    )
    made = packager.run(note)
    return {
        "bytes": made.bytes,
        "captures": made.captures,
        "originals": made.originals,
        "pages": made.pages,
        "missing": [line[:_LONGEST] for line in made.missing[:_MOST_NAMED]],
        "missing_count": len(made.missing),
        "hidden": made.hidden,
    }


def _import(settings: Settings, folder: TaskFolder, order: TaskOrder, note: _Note) -> dict[str, Any]:
    if not settings.collection(order.collection).is_dir():
        raise ImportProblem(f"collection {order.collection} is not in this home any more")
    wanted = find([folder.path / UPLOAD_FOLDER / order.conditions["file"]])
    with Captures(settings.database_url) as captures:
        importer = Importer(settings, order.collection, captures, Choices())
        check_space(settings, importer.space_needed(wanted))
        with closing(importer):
            done, problem = _taken(importer, wanted, note)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what was taken is made whole, if the site waits for so long
        with Indexer("", captures, settings.home) as indexer:
            new = indexer.reconcile(order.collection)
        untold = _unknown_to_dedup(settings, order.collection, captures)
        pages = KeptPages()
        try:
            for package in packages_in(wanted, done):
                pages += importer.keep_pages(package)
        except (PackageError, OSError) as error:
            untold.append(f"not all lists of pages are kept ({error}); import the file again")
    refused = [each for each in done if each.outcome is ImportOutcome.REFUSED]
    said = [f"{Path(each.source).name}: {each.reason}" for each in refused]
    said += [f"{each.name}: {line}" for each in done for line in each.first_problems]
    said += [*pages.first_flaws, *untold]
    if len(refused) == len(done):
        raise ImportProblem("; ".join(said[:_MOST_NAMED]))
    return {
        "captures": new,
        "pages": pages.count,
        "files": len(done) - len(refused),
        "names": [each.name for each in done if each.name],
        "page_lists": list(pages.lists),
        "missing": [line[:_LONGEST] for line in said[:_MOST_NAMED]],
        "missing_count": len(said),
        "problem": problem,
    }


def _taken(importer: Importer, wanted: list[ImportItem], note: _Note) -> tuple[list[ImportedFile], str]:
    """Import the files. Return the results, and why the import ended early; empty when it did not.

    Raises KeyboardInterrupt and OSError when the collection got no file until then.
    """
    size = max(1, sum(each.size + _OF_EACH for each in wanted))
    taken = 0
    done: list[ImportedFile] = []
    try:
        for each in wanted:

            def copied(count: int, name: str = each.name) -> None:
                nonlocal taken
                taken += count
                note(name, min(taken, size), size)

            done.append(importer.take(each, copied))
            copied(_OF_EACH)
    except (KeyboardInterrupt, OSError) as error:
        if not any(each.name for each in done):
            raise
        if isinstance(error, KeyboardInterrupt):
            return done, "the import was interrupted"
        return done, f"a file can't be used: {error.strerror or error}"[:_LONGEST]
    return done, ""


def _unknown_to_dedup(settings: Settings, collection: str, captures: Captures) -> list[str]:
    """Add the imported responses to the dedup store. Return why that is not possible; nothing when it was done."""
    try:
        with ExitStack() as running:
            url = settings.redis.url or running.enter_context(EmbeddedRedis(settings.home)).url
            add_originals(settings, collection, captures, url)
    except (DedupUnavailable, RedisProblem) as error:
        again = command(f"reindex {collection}")
        return [f"the dedup store lacks the imported responses ({error}); run `{again}` when Redis answers"]
    return []


def _noter(folder: TaskFolder) -> _Note:
    """Return the function that writes progress.json, at most three times in a second."""
    last = 0.0

    def note(name: str, number: int, of: int) -> None:
        nonlocal last
        if time.monotonic() - last >= _NOTE_SECONDS or number == of:
            last = time.monotonic()
            folder.note("progress.json", {"name": name[:_LONGEST], "number": number, "of": of})

    return note


def _end_with_parent() -> None:
    os.read(sys.stdin.fileno(), 1)  # a buffered read would hold a lock that the interpreter needs at its end
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
