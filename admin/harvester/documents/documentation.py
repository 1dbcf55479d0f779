"""A job is documented by every log and report of its crawl under NetarchiveSuite's names, its set-up, its indexes.

Heritrix writes some logs that this system does not have as files. They are made here from what is there:
`local-errors.log` has the lines of crawl.log of URLs that were tried and not fetched, `runtime-errors.log` the
warnings and errors of all processes, `uri-errors.log` the links and seeds that are no URLs, and
`processors-report.txt` what each part of the crawl did.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from admin.fleet.log_format import redacted
from admin.harvester.crawl_process import OUTPUT_FILE
from admin.harvester.documents.metadata_file import CDX, JSON, TEXT, MetadataPart
from admin.harvester.job_folder import INFO_FILE, PROFILE_FILE, SEEDS_FILE, JobFolder
from admin.jobs.control.operator_log import FILE_NAME as OPERATOR_LOG
from admin.jobs.progress.progress_log import FILE_NAME as PROGRESS_FILE
from admin.jobs.runs import REPORT_FILE, STATE_FILE
from admin.jobs.status_names import is_failure
from archive import crawl_log
from archive.dates import iso_second
from archive.json_text import parsed_object
from archive.names.warc_paths import WarcPaths, sidecars
from archive.rotated_log import log_size, open_log
from archive.settings.load import Settings
from archive.warc import cdx11, cdxj
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import read_record

_LONGEST_EXCERPT: Final = 100_000_000
"""Bytes of one log file of the home that are kept with a job; of more, the last."""
_COPY_SIZE: Final = 1 << 20
_OWN_LOG: Final = "harvester"
"""How the names of the harvesters' own logs begin."""
_TROUBLE: Final = re.compile(r"\b(?:WARNING|ERROR|CRITICAL)\b")
_LOGS: Final = (
    ("local-errors.log", "local-errors.log"),
    (PROGRESS_FILE, PROGRESS_FILE),
    ("runtime-errors.log", "runtime-errors.log"),
    ("uri-errors.log", "uri-errors.log"),
)
_REPORTS: Final = (
    ("crawl-report.txt", TEXT),
    ("frontier-summary-report.txt", TEXT),
    ("hosts-report.txt", TEXT),
    ("mimetype-report.txt", TEXT),
    ("responsecode-report.txt", TEXT),
    ("seeds-report.txt", TEXT),
    ("seed-totals-report.txt", TEXT),
    ("warc-files-report.txt", TEXT),
    ("rejected-links.txt", TEXT),
    (REPORT_FILE, JSON),
    (STATE_FILE, JSON),
)
"""Reports in the run's folder. `frontier-summary-report.txt` was `frontier-report.txt` with Heritrix 1."""


def data_files(settings: Settings, folder: JobFolder) -> list[WarcPaths]:
    """Return the job's WARC files, by name: those with an index file, also when the file itself has left the home."""
    home = settings.collection(folder.claim.collection)
    return [place for place in sidecars(home) if Path(place.name).name.startswith(folder.file_prefix)]


def make_documents(settings: Settings, folder: JobFolder, result: Mapping[str, Any]) -> list[MetadataPart]:
    """Write what the crawl left no file of, and return all parts of the metadata file."""
    place = folder.path / "documents"
    place.mkdir(exist_ok=True)
    run = folder.run_folder or folder.path / "no-run"
    files = data_files(settings, folder)
    excerpts = _excerpts(settings, folder, place)
    _write(place / "local-errors.log", _local_errors(run / crawl_log.FILE_NAME))
    _write(place / "runtime-errors.log", _runtime_errors([folder.path / OUTPUT_FILE, *excerpts]))
    _write(place / "uri-errors.log", _uri_errors(folder, run))
    _write(place / "processors-report.txt", _processors_report(run))
    _write(place / "archivefiles-report.txt", _archive_files_report(files, folder.claim.collection))
    operator_log = run / OPERATOR_LOG
    return [
        *_setup(folder),
        MetadataPart("logs", crawl_log.FILE_NAME, TEXT, run / crawl_log.FILE_NAME),
        *([MetadataPart("logs", operator_log.name, TEXT, operator_log)] if operator_log.exists() else ()),
        MetadataPart("logs", "heritrix.out", TEXT, folder.path / OUTPUT_FILE),
        *(MetadataPart("logs", name, TEXT, (run if name == PROGRESS_FILE else place) / at) for name, at in _LOGS),
        *(MetadataPart("logs", path.name, TEXT, path) for path in excerpts),
        *(MetadataPart("reports", name, kind, run / name) for name, kind in _REPORTS),
        MetadataPart("reports", "processors-report.txt", TEXT, place / "processors-report.txt"),
        MetadataPart("reports", "archivefiles-report.txt", TEXT, place / "archivefiles-report.txt"),
        MetadataPart("reports", "domains-report.json", JSON, _json(result)),
        *_indexes(folder, files, place),
    ]


def _setup(folder: JobFolder) -> Iterator[MetadataPart]:
    job = folder.claim
    versions = {"majorversion": 1, "minorversion": 0, "harvestid": job.harvest_id, "harvestnum": job.run_number}
    query: dict[str, str | int] = {**versions, "jobid": job.id}
    earlier = ",".join(map(str, job.duplicate_reduction_jobs))
    aliases = "".join(f"{alias} is an alias of {of}\n" for alias, of in sorted(job.aliases.items()))
    yield MetadataPart("setup", INFO_FILE, JSON, folder.path / INFO_FILE)
    yield MetadataPart("setup", SEEDS_FILE, TEXT, folder.path / SEEDS_FILE)
    yield MetadataPart("setup", PROFILE_FILE, JSON, _json(shown_profile(folder.path / PROFILE_FILE)))
    yield MetadataPart("setup", "duplicatereductionjobs", TEXT, earlier.encode(), query)
    yield MetadataPart("setup", "aliases", TEXT, aliases.encode(), query)


def shown_profile(path: Path) -> dict[str, Any]:
    """Return the profile without the values of headers that may be secret."""
    try:
        profile = parsed_object(path.read_text("utf-8"))
    except OSError:
        return {}
    hidden = {"authorization", "cookie", *(name.lower() for name in profile.get("redact_headers") or ())}
    headers = profile.get("headers") or {}
    shown = {name: "…" if name.lower() in hidden else value for name, value in headers.items()}
    return {**profile, "headers": shown} if headers else profile


def _indexes(folder: JobFolder, files: Iterable[WarcPaths], place: Path) -> Iterator[MetadataPart]:
    job = folder.claim
    for file in files:
        name = Path(file.name).name
        target = place / f"{name}.cdx"
        _write(target, cdx11.lines(cdxj.read(file.sidecar, job.collection)))
        query: dict[str, str | int] = {"majorversion": 2, "minorversion": 0, "harvestid": job.harvest_id}
        query |= {"jobid": job.id, "filename": name}
        yield MetadataPart("index", "cdx", CDX, target, query)


def _archive_files_report(files: Iterable[WarcPaths], collection: str) -> Iterator[str]:
    """Yield when each file was opened and closed, and its size, as far as that is known."""
    yield "[ARCHIVEFILE] [Opened] [Closed] [Size]"
    for file in files:
        first = last = size = 0
        for capture in cdxj.read(file.sidecar, collection):
            first = min(first or capture.date, capture.date)
            last, size = max(last, capture.date), max(size, capture.offset + capture.length)
        try:
            stat = file.warc.stat()
            with read_record(file.warc, 0) as warcinfo:
                first = warcinfo.date
            last, size = stat.st_mtime_ns // 1000, stat.st_size
        except (OSError, WarcError, ValueError):
            pass  # it has left the home, or is damaged: the index knows the rest
        yield f"{Path(file.name).name} {iso_second(first)} {iso_second(last)} {size}"


def _local_errors(log: Path) -> Iterator[str]:
    for text in _text_lines(log):
        try:
            line = crawl_log.parse(text)
        except ValueError:
            continue
        if is_failure(line.code) and not line.extra.get(crawl_log.ANNOTATES):
            yield text


def _runtime_errors(logs: Iterable[Path]) -> Iterator[str]:
    for path in logs:
        for text in _text_lines(path):
            if _TROUBLE.search(text[:200]):
                yield f"{path.name}: {text}"


def _uri_errors(folder: JobFolder, run: Path) -> Iterator[str]:
    yield from (f"seed {text}" for text in folder.state.bad_seeds)
    for text in _text_lines(run / "rejected-links.txt"):
        if text.startswith(("no-url ", "scheme ")):
            yield text


def _processors_report(run: Path) -> Iterator[str]:
    """Yield what each part of the crawl did, as far as report.json and run.json say it."""
    report, state = _object(run / REPORT_FILE), _object(run / STATE_FILE)
    yield f"Processors report - {state.get('name', 'no run')}"
    frontier = report.get("frontier") or {}
    parts = {
        "Frontier": {name: value for name, value in frontier.items() if not isinstance(value, dict)},
        "Scope": frontier.get("rejected") or {},
        "Visitors": {
            "pages": state.get("pages", 0),
            "failed": state.get("failed", 0),
            **report.get("ghost_trouble", {}),
            **{f"page-{kind}": count for kind, count in report.get("page_flaws", {}).items()},
        },
        "Recorder": {"urls": state.get("urls", 0), "bytes": state.get("bytes", 0), **report.get("files", {})},
    }
    for part, counts in parts.items():
        yield ""
        yield f"Processor: {part}"
        yield from (f"  {name}: {value}" for name, value in counts.items())


def _excerpts(settings: Settings, folder: JobFolder, place: Path) -> list[Path]:
    """Copy what the crawl's processes wrote to the log files of the home; other crawls may have written there too."""
    target, found = place / "logs", []
    target.mkdir(exist_ok=True)
    sizes = folder.state.log_sizes
    if folder.run_folder is None:
        return []
    for log in sorted((settings.home / "logs").glob("*.log")):
        if log.name.startswith(_OWN_LOG):
            continue
        start, size = sizes.get(log.name, 0), log_size(log)
        start = max(start if start <= size else 0, size - _LONGEST_EXCERPT)
        if start < size:
            copy = target / log.name
            with open_log(log) as source, copy.open("w", encoding="utf-8") as file:
                source.seek(start)
                for text in _decoded(source, size - start):
                    file.write(f"{redacted(text)}\n")
            found.append(copy)
    return found


def log_sizes(home: Path) -> dict[str, int]:
    """Return the sizes of the home's log files, so that what is written from now on can be told from the rest."""
    return {path.name: log_size(path) for path in (home / "logs").glob("*.log")}


def _decoded(source: Any, size: int) -> Iterator[str]:
    """Yield the lines of the next so many bytes; a line of more than a megabyte comes in pieces."""
    left = size
    while left > 0 and (raw := source.readline(min(left, _COPY_SIZE))):
        left -= len(raw)
        yield raw.decode("utf-8", "replace").rstrip("\r\n")


def _text_lines(path: Path) -> Iterator[str]:
    try:
        with open_log(path) as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(0)
            yield from _decoded(file, size)
    except FileNotFoundError:
        return


def _object(path: Path) -> dict[str, Any]:
    try:
        return parsed_object(path.read_text("utf-8"))
    except OSError:
        return {}


def _json(value: Mapping[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n").encode("utf-8", "replace")


def _write(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        file.writelines(f"{line}\n" for line in lines)
