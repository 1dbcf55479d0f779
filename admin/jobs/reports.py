"""The reports that archivists read after a job, in Heritrix's names and columns, computed from crawl.log."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from admin.tally import HostCount, Tally
from frontier.reports import RejectedLink


@dataclass(frozen=True, slots=True)
class JobFacts:
    """What the reports say of the job as a whole. `seconds` is the time it was worked on, over all its runs."""

    name: str
    status: str
    """How it ended, in words."""
    seconds: float
    remaining: Mapping[str, int]
    """URLs still queued, by host; empty when the job came to its end."""


def write_reports(folder: Path, tally: Tally, facts: JobFacts) -> list[Path]:
    """Write the five reports into the job's folder, each whole or not at all; their paths."""
    reports = {
        "crawl-report.txt": crawl_report(tally, facts),
        "seeds-report.txt": seeds_report(tally),
        "hosts-report.txt": hosts_report(tally, facts.remaining),
        "mimetype-report.txt": mimetype_report(tally),
        "responsecode-report.txt": responsecode_report(tally),
    }
    return [_write(folder / name, lines) for name, lines in reports.items()]


def write_rejected(folder: Path, links: Iterable[RejectedLink]) -> Path:
    """Write the last links that were not taken in, newest first, each with the reason and the rule that decided.

    It is no report of Heritrix's: `[reason] [rule] [url] [via]`, "-" for what there is none of.
    """
    lines = (f"{link.reason} {link.rule or '-'} {link.url} {link.via or '-'}" for link in links)
    return _write(folder / "rejected-links.txt", chain(["[reason] [rule] [url] [via]"], lines))


def seeds_report(tally: Tally) -> Iterator[str]:
    """`[code] [status] [seed] [redirect]`, a line per seed."""
    yield "[code] [status] [seed] [redirect]"
    for seed, outcome in tally.seeds.items():
        status = "CRAWLED" if outcome.was_crawled else "NOTCRAWLED"
        yield f"{outcome.code} {status} {seed} {outcome.redirect}".rstrip()


def hosts_report(tally: Tally, remaining: Mapping[str, int]) -> Iterator[str]:
    """A line per host, those with most URLs first; hosts of which all is still queued come last."""
    yield (
        "[#urls] [#bytes] [host] [#robots] [#remaining] [#novel-urls] [#novel-bytes] "
        "[#dup-by-hash-urls] [#dup-by-hash-bytes] [#not-modified-urls] [#not-modified-bytes]"
    )
    hosts = {**{host: HostCount() for host in remaining}, **tally.hosts}
    for host, count in sorted(hosts.items(), key=lambda item: (-item[1].total.urls, item[0])):
        kinds = (count.novel, count.duplicate, count.not_modified)
        news = " ".join(f"{kind.urls} {kind.bytes}" for kind in kinds)
        yield f"{count.total.urls} {count.total.bytes} {host} {count.robots} {remaining.get(host, 0)} {news}"


def mimetype_report(tally: Tally) -> Iterator[str]:
    """`[#urls] [#bytes] [mime-types]`, most URLs first."""
    yield "[#urls] [#bytes] [mime-types]"
    for mime, count in sorted(tally.mimes.items(), key=lambda item: (-item[1].urls, item[0])):
        yield f"{count.urls} {count.bytes} {mime}"


def responsecode_report(tally: Tally) -> Iterator[str]:
    """`[#urls] [rescode]`, most URLs first; HTTP statuses and Heritrix's negative codes alike."""
    yield "[#urls] [rescode]"
    for code, count in sorted(tally.codes.items(), key=lambda item: (-item[1], item[0])):
        yield f"{count} {code}"


def crawl_report(tally: Tally, facts: JobFacts) -> Iterator[str]:
    """The job in numbers, under Heritrix's labels."""
    crawled = sum(outcome.was_crawled for outcome in tally.seeds.values())
    yield f"crawl name: {facts.name}"
    yield f"crawl status: {facts.status}"
    yield f"duration: {conventional_duration(facts.seconds)}"
    yield ""
    yield f"seeds crawled: {crawled}"
    yield f"seeds uncrawled: {len(tally.seeds) - crawled}"
    yield ""
    yield f"hosts visited: {sum(count.total.urls > 0 for count in tally.hosts.values())}"
    yield ""
    yield f"URIs processed: {tally.processed}"
    yield f"URI successes: {tally.all.total.urls}"
    yield f"URI failures: {sum(tally.failures.values())}"
    yield f"URI disregards: {tally.disregards}"
    yield ""
    yield from _novelty(tally.all)
    yield f"URIs/sec: {tally.all.total.urls / max(facts.seconds, 0.001):.2f}"
    yield f"KB/sec: {tally.all.total.bytes / 1024 / max(facts.seconds, 0.001):.0f}"


def conventional_duration(seconds: float) -> str:
    """As Heritrix prints it: `1d2h3m4s567ms`, units that are zero at the front left out."""
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
    unfinished = path.with_name(f".{path.name}.new")
    with unfinished.open("w", encoding="utf-8") as file:
        file.writelines(f"{line}\n" for line in lines)
    unfinished.replace(path)
    return path
