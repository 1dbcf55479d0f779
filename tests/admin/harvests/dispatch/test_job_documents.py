"""The reports and logs of an ended job come out of its metadata file: in a list, in parts, searched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.admin.job_rows import add_channel, add_domain, add_harvest, add_job

from admin.harvester.documents.metadata_file import TEXT, MetadataOwner, MetadataPart, publish_metadata, write_metadata
from admin.harvests.dispatch import job_documents
from admin.harvests.dispatch.job_documents import (
    LONGEST_LINE,
    DocumentLine,
    DocumentPart,
    counts_for,
    document_record,
    list_documents,
    log_of,
    show_document,
)
from admin.models.database import Database
from admin.models.errors import IllegalState, InvalidInput, NotFound
from admin.models.job_tables import HarvestJob, JobStatus
from admin.models.transaction import COMMAND_LINE
from archive.names.warc_paths import WarcPaths
from archive.settings.load import Settings
from dedupdb.captures.capture_index import Captures
from dedupdb.index.sidecars import Sidecars

COLLECTION = "news"
SEEDS = b"[code] [status] [seed] [redirect]\n200 CRAWLED http://www.example.org/\n"


def log_line(code: int, url: str, source: str) -> str:
    when = "2027-01-15T08:00:00.000Z"
    return f"{when} {code:>5}         10 {url} L - text/html #001 20270115080000000+5 sha1:X {source} - {{}}"


LOG = (
    log_line(200, "http://www.example.org/", "http://www.example.org/"),
    log_line(404, "http://cdn.test/a.png", "http://www.example.org/"),
    log_line(200, "http://example.net/", "http://example.net/"),
    log_line(200, "http://news.example.net/", "-"),
)


def ended_job(database: Database) -> int:
    with database.transaction(COMMAND_LINE) as transaction:
        add_domain(transaction, "example.org")
        job = add_job(transaction, add_harvest(transaction, add_channel(transaction)))
        job.status, job.ended = JobStatus.DONE, transaction.now
        return job.id


def publish(settings: Settings, folder: Path, job: int, parts: Sequence[MetadataPart], number: int = 1) -> None:
    """Write a metadata file as a harvester does, and index it."""
    name = f"{job}-metadata-{number}.warc"
    owner = MetadataOwner("kb.example", COLLECTION, 1, job, f"h1-{job}-20270115080000")
    write_metadata(folder / name, name, owner, parts, settings, 1_800_000_000_000_000)
    publish_metadata(folder / name, WarcPaths(settings.collection(COLLECTION), name), COLLECTION)
    with Captures(settings.database_url) as captures:
        Sidecars(settings.home, captures).reconcile(COLLECTION)


def parts(log: bytes = "\n".join(LOG).encode() + b"\n") -> list[MetadataPart]:
    query = {"jobid": 1, "filename": "1-1-a.warc.gz"}
    return [
        MetadataPart("reports", "seeds-report.txt", TEXT, SEEDS),
        MetadataPart("logs", "crawl.log", TEXT, log),
        MetadataPart("logs", "uri-errors.log", TEXT, b""),
        MetadataPart("index", "cdx", TEXT, b" CDX\n", query),
    ]


def listed(database: Database, job: int) -> dict[str, DocumentLine]:
    with database.reading(COMMAND_LINE) as opened:
        return {each.of_file or each.name: each for each in list_documents(opened, job).items}


def shown(database: Database, job: int, offset: int, **asked: str | int) -> DocumentPart:
    with database.reading(COMMAND_LINE) as opened:
        return show_document(opened, job, offset, **asked)  # type: ignore[arg-type]


def test_the_documents_of_a_job_are_listed_and_read(
    sqlite_database: Database, settings: Settings, tmp_path: Path
) -> None:
    job = ended_job(sqlite_database)
    publish(settings, tmp_path, job, parts())
    found = listed(sqlite_database, job)
    assert list(found) == ["1-1-a.warc.gz", "crawl.log", "uri-errors.log", "seeds-report.txt"]
    assert found["seeds-report.txt"].size == len(SEEDS)
    assert found["uri-errors.log"].size == 0
    assert log_of(list(found.values())) == found["crawl.log"]
    part = shown(sqlite_database, job, found["seeds-report.txt"].offset)
    assert (part.lines, part.next) == (SEEDS.decode().splitlines(), None)
    assert shown(sqlite_database, job, found["uri-errors.log"].offset).lines == []
    with sqlite_database.reading(COMMAND_LINE) as opened:
        name, record = document_record(opened, job, found["crawl.log"].offset)
        with record:
            assert (name, b"".join(record.block())) == (f"job-{job}-crawl.log", "\n".join(LOG).encode() + b"\n")
        with pytest.raises(NotFound):
            show_document(opened, job, 7)
        with pytest.raises(NotFound):
            list_documents(opened, job + 1)


def test_a_log_is_searched_by_pattern_and_by_the_domain_that_its_lines_count_for(
    sqlite_database: Database, settings: Settings, tmp_path: Path
) -> None:
    job = ended_job(sqlite_database)
    publish(settings, tmp_path, job, parts())
    log = listed(sqlite_database, job)["crawl.log"].offset
    assert shown(sqlite_database, job, log, pattern=r"\s404\s").lines == [LOG[1]]
    assert shown(sqlite_database, job, log, domain="example.org").lines == list(LOG[:2])
    assert shown(sqlite_database, job, log, domain="EXAMPLE.net").lines == list(LOG[2:])
    assert shown(sqlite_database, job, log, domain="ample.net").lines == []
    assert not counts_for("no line of a log", "example.org")
    for asked in ({"pattern": "("}, {"domain": "..."}, {"after": -1}, {"limit": 0}):
        with pytest.raises(InvalidInput):
            shown(sqlite_database, job, log, **asked)  # type: ignore[arg-type]


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 300])
def test_a_document_in_parts_has_each_line_once(
    sqlite_database: Database, settings: Settings, tmp_path: Path, limit: int
) -> None:
    lines = ["first", "x" * (LONGEST_LINE * 2 + 5), "", "last without an end"]
    job = ended_job(sqlite_database)
    publish(settings, tmp_path, job, parts("\n".join(lines).encode()))
    log = listed(sqlite_database, job)["crawl.log"].offset
    found, place = [], 0
    while True:
        part = shown(sqlite_database, job, log, limit=limit, after=place)
        assert len(part.lines) <= limit
        found += part.lines
        if part.next is None:
            break
        assert part.next > place
        place = part.next
    pieces = ["x" * LONGEST_LINE, "x" * LONGEST_LINE, "xxxxx"]
    assert found == ["first", *pieces, "", "last without an end"]


def test_a_part_too_far_behind_is_refused_after_a_bounded_time(
    sqlite_database: Database, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = ended_job(sqlite_database)
    publish(settings, tmp_path, job, parts(b"a line\n" * 300_000))
    log = listed(sqlite_database, job)["crawl.log"].offset
    assert shown(sqlite_database, job, log, after=2_000_009, limit=1).lines == ["ne"]
    monkeypatch.setattr(job_documents, "_SKIP_SECONDS", -1.0)
    with pytest.raises(IllegalState, match="byte 2000009 is too far behind to be shown; download the document whole"):
        shown(sqlite_database, job, log, after=2_000_009)


def test_the_newest_file_of_this_job_counts_and_none_of_another_job(
    sqlite_database: Database, settings: Settings, tmp_path: Path
) -> None:
    job = ended_job(sqlite_database)
    assert_nothing(sqlite_database, job)
    publish(settings, tmp_path, job, [MetadataPart("logs", "crawl.log", TEXT, b"old\n")])
    publish(settings, tmp_path, job, [MetadataPart("logs", "crawl.log", TEXT, b"new\n")], number=2)
    found = listed(sqlite_database, job)
    assert shown(sqlite_database, job, found["crawl.log"].offset).lines == ["new"]
    with sqlite_database.transaction(COMMAND_LINE) as transaction:
        transaction.session.get_one(HarvestJob, job).ended = None
    assert listed(sqlite_database, job) == {}


def assert_nothing(database: Database, job: int) -> None:
    with database.reading(COMMAND_LINE) as opened, pytest.raises((IllegalState, NotFound)):
        list_documents(opened, job)
