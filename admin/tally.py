"""What a job's crawl.log adds up to: the one source of the live view, the reports and the summary, so they agree.

Memory grows with hosts, media types and seeds, never with lines; a log of any length is read once, as it grows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from admin.codes import DISREGARDED, is_failure
from archive import crawl_log, url

NOT_MODIFIED: Final = 304


@dataclass(slots=True)
class Count:
    """URLs, and the bytes of their responses."""

    urls: int = 0
    bytes: int = 0

    def add(self, size: int) -> None:
        """One more."""
        self.urls += 1
        self.bytes += size


@dataclass(slots=True)
class HostCount:
    """One line of the hosts report: what came, and how it was new or not."""

    total: Count = field(default_factory=Count)
    novel: Count = field(default_factory=Count)
    duplicate: Count = field(default_factory=Count)
    not_modified: Count = field(default_factory=Count)
    robots: int = 0


@dataclass(slots=True)
class SeedOutcome:
    """What became of a seed: its last code, and where it led when it was a redirect."""

    code: int = 0
    redirect: str = ""

    @property
    def was_crawled(self) -> bool:
        """Whether its server answered."""
        return self.code > 0


class Tally:
    """Counts lines of one job's crawl.log."""

    def __init__(self, seeds: Sequence[str]) -> None:
        self.seeds = {seed: SeedOutcome() for seed in seeds}
        self.hosts: defaultdict[str, HostCount] = defaultdict(HostCount)
        self.mimes: defaultdict[str, Count] = defaultdict(Count)
        self.codes: Counter[int] = Counter()
        self.all = HostCount()
        """Everything that was answered, whatever the host."""
        self._led_from = {seed: seed for seed in seeds}

    def add(self, line: crawl_log.LogLine) -> None:
        """Count one line."""
        self.codes[line.code] += 1
        self._note_seed(line)
        host = self.hosts[url.host_of(line.url)]
        if line.code == crawl_log.ROBOTS:
            host.robots += 1
        if line.code <= 0:
            return
        size = _size(line)
        self.mimes[line.mime or "no-type"].add(size)
        for count in (host, self.all):
            count.total.add(size)
            _kind(count, line).add(size)

    @property
    def processed(self) -> int:
        """Lines counted: every URL that was tried or decided."""
        return self.codes.total()

    @property
    def failures(self) -> dict[int, int]:
        """Codes of what was wanted and did not come, most frequent first."""
        return {code: count for code, count in self.codes.most_common() if is_failure(code)}

    @property
    def disregards(self) -> int:
        """URLs left alone on purpose."""
        return sum(self.codes[code] for code in DISREGARDED)

    def _note_seed(self, line: crawl_log.LogLine) -> None:
        if line.url in self.seeds:
            self.seeds[line.url].code = line.code
        elif line.hop_path.endswith("R") and line.via in self._led_from:
            seed = self._led_from[line.via]
            self._led_from[line.url] = seed
            self.seeds[seed].redirect = line.url


class LogFollower:
    """Reads a growing crawl.log: each call gives the whole lines that came since the last one."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self.damaged = 0
        """Lines that are none of a crawl.log."""

    def lines(self) -> Iterator[crawl_log.LogLine]:
        """New lines in order; a last line without its end waits for the next call."""
        try:
            file = self._path.open("rb")
        except FileNotFoundError:
            return
        with file:
            file.seek(self._offset)
            for raw in file:
                if not raw.endswith(b"\n"):
                    return
                self._offset += len(raw)
                try:
                    yield crawl_log.parse(raw.decode("utf-8", "replace"))
                except ValueError:
                    self.damaged += 1


def _kind(count: HostCount, line: crawl_log.LogLine) -> Count:
    if crawl_log.REVISIT in line.annotations:
        return count.duplicate
    return count.not_modified if line.code == NOT_MODIFIED else count.novel


def _size(line: crawl_log.LogLine) -> int:
    """Bytes of head and body, as Heritrix's reports count them; of the body alone where the line knows no more."""
    return int(line.extra.get("contentSize", line.size or 0))
