"""Write the reports about a job, with the names and columns of Heritrix's reports, from the counts of crawl.log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, Final

from admin.jobs.progress.tally import HostCount, JobTally
from admin.jobs.results.ending import JobEnding
from admin.jobs.states import HostState, JobState
from archive.files import replacement
from archive.rotated_log import RemovedPart
from frontier.definition.seeds import Seeds
from frontier.lease import JobProgress, RenderProgress
from frontier.links.rejections import SLOW_PATTERN
from frontier.reports import RejectedLink

_RUNNING: Final = JobEnding(JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class JobFacts:
    """The facts about a job as a whole for its reports. `seconds` is the duration of all attempts."""

    name: str
    status: str
    """The final state with its reason, such as `stopped (by an operator)`."""
    seconds: float
    remaining: Mapping[str, int]
    """Queued URLs by host; empty for a job that visited all of them."""
    started: str = ""
    """When the first attempt began (ISO, UTC)."""
    ended: str = ""
    ending: JobEnding = _RUNNING
    """The final states."""
    progress: JobProgress | None = None
    """The frontier's counts; None when the frontier could not be asked."""
    seeds: Seeds = ()
    removed_links: tuple[RemovedPart, ...] = ()
    """Files of links.log that were removed, since the log may have only so many."""


def write_reports(folder: Path, tally: JobTally, facts: JobFacts) -> list[Path]:
    """Write the reports into the job's folder, each atomically; return their paths."""
    reports = {
        "crawl-report.txt": crawl_report(tally, facts),
        "seeds-report.txt": seeds_report(tally, facts.seeds),
        "hosts-report.txt": hosts_report(tally, facts.remaining),
        "mimetype-report.txt": mimetype_report(tally),
        "responsecode-report.txt": responsecode_report(tally),
        "frontier-summary-report.txt": frontier_report(facts),
        "seed-totals-report.txt": seed_totals_report(tally, facts),
        "warc-files-report.txt": files_report(tally),
    }
    return [_write(folder / name, lines) for name, lines in reports.items()]


def write_rejected(folder: Path, links: Iterable[RejectedLink]) -> Path:
    """Write the last rejected links, newest first, each with the reason and the rule: `[reason] [rule] [url] [via]`.

    An empty column has "-". Heritrix has no such report.
    """
    lines = (f"{link.reason} {link.rule or '-'} {link.url} {link.via or '-'}" for link in links)
    return _write(folder / "rejected-links.txt", chain(["[reason] [rule] [url] [via]"], lines))


def seeds_report(tally: JobTally, seeds: Seeds) -> Iterator[str]:
    """Yield one line per seed: `[code] [status] [seed] [redirect]`."""
    yield "[code] [status] [seed] [redirect]"
    for seed in seeds:
        outcome = tally.seed(seed.url)
        status = "CRAWLED" if outcome.was_crawled else "NOTCRAWLED"
        yield f"{outcome.code} {status} {seed.url} {outcome.redirect}".rstrip()


def frontier_report(facts: JobFacts) -> Iterator[str]:
    """Yield the final state of the job, what is missing, and the frontier's counts; then one line per host."""
    ending, progress = facts.ending, facts.progress
    yield f"state: {ending.state}{f' ({ending.reason})' if ending.reason else ''}"
    yield f"exit code: {ending.exit_code}"
    yield from (f"missing: {line}" for line in ending.missing)
    if progress is not None:
        for name in ("pages", "queued", "leased", "done", "failed", "excluded", "retries", "swept"):
            yield f"{name}: {getattr(progress, name)}"
        yield f"left: {ending.left}"
        if progress.spilled or progress.lost:
            yield f"in files of long queues: {progress.spilled}, lost: {progress.lost}"
        if progress.revisits:
            yield f"to be visited again: {progress.revisits}"
        yield from render_lines(progress.renders)
        if progress.bloom:
            yield f"seen test: {progress.bloom.text}"
        for reason, count in sorted(progress.rejected.items()):
            if reason == SLOW_PATTERN:
                yield f"patterns passed over, as their search took too long: {count}"
            else:
                yield f"rejected as {reason}: {count}"
    for part in facts.removed_links:
        yield f"removed at {part.time}, since links.log had too many files: {part.file} with {part.lines} links"
    for text, url in sorted(ending.switched_off.items()):
        yield f"pattern switched off, as its search took too long, for instance in {url}: {text}"
    yield ""
    yield "[#left] [host] [state] [why]"
    for host in sorted(ending.hosts, key=lambda host: (-host.left, host.host)):
        yield f"{host.left} {host.host} {host.state} {host.why or '-'}"


def render_lines(renders: RenderProgress) -> Iterator[str]:
    """Yield the counts and the lag of the queue of renders; nothing for a job without one."""
    if renders.is_used:
        for name in ("queued", "leased", "done", "failed", "excluded", "retries"):
            yield f"renders {name}: {getattr(renders, name)}"
        for name, seconds in (("oldest", renders.oldest_seconds), ("p95 lag", renders.p95_seconds)):
            yield f"renders {name}: {'-' if seconds is None else conventional_duration(seconds)}"


def seed_totals_report(tally: JobTally, facts: JobFacts) -> Iterator[str]:
    """Yield the totals of the URLs that each seed led to: `[#urls] [#bytes] [#failed-tries] [state] [seed]`."""
    yield "[#urls] [#bytes] [#failed-tries] [state] [seed]"
    # A fleet that failed leaves no states.
    for seed, end in zip_longest(facts.seeds, facts.ending.seeds):
        count = tally.seed(seed.url)
        yield f"{count.urls} {count.bytes} {count.failed} {end.state if end else '-'} {seed.url}"


def files_report(tally: JobTally) -> Iterator[str]:
    """Yield the WARC files with the job's records, and the number of URLs in each: `[#urls] [file]`."""
    yield "[#urls] [file]"
    for name, count in sorted(tally.files.items()):
        yield f"{count} {name}"


def report_json(tally: JobTally, facts: JobFacts) -> dict[str, Any]:
    """Return the content of report.json: final states, counts of the frontier, WARC files."""
    ending, progress = facts.ending, facts.progress
    return {
        "exit_code": ending.exit_code,
        "frontier": None if progress is None else _counts(progress, ending),
        "hosts": [asdict(host) for host in ending.hosts if host.state is not HostState.VISITED],
        "switched_off_patterns": dict(ending.switched_off),
        "ghost_trouble": dict(tally.ghost_errors.most_common()),
        "page_flaws": dict(tally.page_flaws.most_common()),
        "files": dict(sorted(tally.files.items())),
        "removed_link_files": [asdict(part) for part in facts.removed_links],
    }


def _counts(progress: JobProgress, ending: JobEnding) -> dict[str, Any]:
    names = ("pages", "queued", "leased", "done", "failed", "excluded", "retries", "swept")
    return {name: getattr(progress, name) for name in names} | {
        "left": ending.left,
        "spilled": progress.spilled,
        "lost": progress.lost,
        "revisits": progress.revisits,
        "rejected": dict(progress.rejected),
        "renders": asdict(progress.renders) if progress.renders.is_used else None,
        "bloom": asdict(progress.bloom) if progress.bloom else None,
    }


def seed_rows(tally: JobTally, ending: JobEnding) -> Iterator[dict[str, Any]]:
    """Yield the final state and the totals of each seed, the lines of seeds.jsonl."""
    for seed in ending.seeds:
        count = tally.seed(seed.url)
        totals = {"urls": count.urls, "bytes": count.bytes, "failed_tries": count.failed}
        yield {**asdict(seed), "text": seed.text, **totals}


def hosts_report(tally: JobTally, remaining: Mapping[str, int]) -> Iterator[str]:
    """Yield one line per host, in the order of their URLs; hosts without a fetched URL come last."""
    yield (
        "[#urls] [#bytes] [host] [#robots] [#remaining] [#novel-urls] [#novel-bytes] "
        "[#dup-by-hash-urls] [#dup-by-hash-bytes] [#not-modified-urls] [#not-modified-bytes]"
    )
    hosts = {**{host: HostCount() for host in remaining}, **tally.hosts}
    for host, count in sorted(hosts.items(), key=lambda item: (-item[1].total.urls, item[0])):
        kinds = (count.novel, count.duplicate, count.not_modified)
        numbers = " ".join(f"{kind.urls} {kind.bytes}" for kind in kinds)
        yield f"{count.total.urls} {count.total.bytes} {host} {count.robots} {remaining.get(host, 0)} {numbers}"


def mimetype_report(tally: JobTally) -> Iterator[str]:
    """Yield one line per media type, most URLs first: `[#urls] [#bytes] [mime-types]`."""
    yield "[#urls] [#bytes] [mime-types]"
    for mime, count in sorted(tally.mimes.items(), key=lambda item: (-item[1].urls, item[0])):
        yield f"{count.urls} {count.bytes} {mime}"


def responsecode_report(tally: JobTally) -> Iterator[str]:
    """Yield one line per HTTP status and per Heritrix code, most URLs first: `[#urls] [rescode]`."""
    yield "[#urls] [rescode]"
    for code, count in sorted(tally.codes.items(), key=lambda item: (-item[1], item[0])):
        yield f"{count} {code}"


def crawl_report(tally: JobTally, facts: JobFacts) -> Iterator[str]:
    """Yield the job's totals with Heritrix's labels."""
    crawled = sum(tally.seed(seed.url).was_crawled for seed in facts.seeds)
    yield f"crawl name: {facts.name}"
    yield f"crawl status: {facts.status}"
    yield from (f"crawl {name}: {time}" for name, time in (("started", facts.started), ("ended", facts.ended)) if time)
    yield f"duration: {conventional_duration(facts.seconds)}"
    yield from (f"missing: {line}" for line in facts.ending.missing)
    yield ""
    yield f"seeds crawled: {crawled}"
    yield f"seeds uncrawled: {len(facts.seeds) - crawled}"
    yield ""
    yield f"hosts visited: {sum(count.total.urls > 0 for count in tally.hosts.values())}"
    yield ""
    if facts.progress is not None:
        yield f"documents: {facts.progress.pages}"
        yield from render_lines(facts.progress.renders)
    yield f"URIs processed: {tally.processed}"
    yield f"URI successes: {tally.all.total.urls}"
    yield f"URI failures: {sum(tally.failures.values())}"
    yield f"URI disregards: {tally.disregards}"
    yield ""
    yield from _novelty(tally.all)
    yield f"URIs/sec: {tally.all.total.urls / max(facts.seconds, 0.001):.2f}"
    yield f"KB/sec: {tally.all.total.bytes / 1024 / max(facts.seconds, 0.001):.0f}"


def conventional_duration(seconds: float) -> str:
    """Return the duration as Heritrix prints it: `1d2h3m4s567ms`, without leading units that are zero."""
    millis = round(seconds * 1000)
    days, rest = divmod(millis, 86_400_000)
    hours, rest = divmod(rest, 3_600_000)
    minutes, rest = divmod(rest, 60_000)
    whole, millis = divmod(rest, 1000)
    parts = [(days, "d"), (hours, "h"), (minutes, "m"), (whole, "s")]
    while parts and parts[0][0] == 0:
        parts.pop(0)
    return "".join(f"{value}{unit}" for value, unit in [*parts, (millis, "ms")])


def _novelty(count: HostCount) -> Iterator[str]:
    yield f"novel URIs: {count.novel.urls}"
    yield f"duplicate-by-hash URIs: {count.duplicate.urls}"
    yield f"not-modified URIs: {count.not_modified.urls}"
    yield ""
    yield f"total crawled bytes: {count.total.bytes}"
    yield f"novel crawled bytes: {count.novel.bytes}"
    yield f"duplicate-by-hash crawled bytes: {count.duplicate.bytes}"
    yield f"not-modified crawled bytes: {count.not_modified.bytes}"
    yield ""


def _write(path: Path, lines: Iterator[str]) -> Path:
    with replacement(path, durable=False) as file:  # each look at the job writes the reports again
        file.writelines(f"{line}\n".encode() for line in lines)
    return path
