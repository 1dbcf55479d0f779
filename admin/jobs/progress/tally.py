"""The tally counts the lines of a job's crawl.log for the live view, the reports and the summary.

Its memory grows with the number of hosts, media types and seeds that were tried, but not with the number of lines, nor
with the seeds that still wait. The log is read once, while it grows.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from admin.jobs.status_names import DISREGARDED, is_failure
from archive import crawl_log, url
from archive.fast_frozen import fast_frozen
from archive.rotated_log import open_log

NOT_MODIFIED: Final = 304
_GHOST_ERROR: Final = "ghost"
_PAGE_FLAW: Final = "page"
_CONTENT_SIZE: Final = "content-size:"
"""Annotations of failed browser visits have this prefix."""
_MAX_KIND_LENGTH: Final = 40
_BEGINNING: Final = 300
"""Bytes at the beginning of a log by which the log is told from another one: they have a time and a URL."""
_MAX_KINDS: Final = 50


@fast_frozen(frozen=True, slots=True)
class Count:
    """The count has a number of URLs, and the bytes of their responses."""

    urls: int = 0
    bytes: int = 0

    def plus(self, size: int) -> Count:
        """Return the count with one more URL."""
        return Count(self.urls + 1, self.bytes + size)


_NOTHING: Final = Count()


@dataclass(slots=True)
class HostCount:
    """The counts of one host are those of its new, duplicate and unmodified URLs.

    A job may have a million hosts with few URLs each. The counts without URLs are one object for all of them.
    """

    novel: Count = _NOTHING
    duplicate: Count = _NOTHING
    not_modified: Count = _NOTHING
    robots: int = 0

    @property
    def total(self) -> Count:
        """Return the count of all URLs of the host."""
        kinds = (self.novel, self.duplicate, self.not_modified)
        return Count(sum(kind.urls for kind in kinds), sum(kind.bytes for kind in kinds))

    def add(self, line: crawl_log.LogLine, size: int) -> None:
        """Count the URL of a line, whose response has so many bytes."""
        if crawl_log.REVISIT in line.annotations:
            self.duplicate = self.duplicate.plus(size)
        elif line.code == NOT_MODIFIED:
            self.not_modified = self.not_modified.plus(size)
        else:
            self.novel = self.novel.plus(size)


@dataclass(slots=True)
class SeedOutcome:
    """The outcome has the last status code of a seed, the end of its redirects, and the URLs that the seed led to."""

    code: int = 0
    redirect: str = ""
    """The last URL of the seed's redirects; empty when the seed does not redirect."""
    final_code: int = 0
    """The last status code of that URL."""
    urls: int = 0
    bytes: int = 0
    novel_bytes: int = 0
    failed: int = 0
    """Tries without a response."""

    @property
    def was_crawled(self) -> bool:
        """Return whether the seed's server answered."""
        return self.code > 0


class JobTally:
    """The tally counts the lines of one job's crawl.log."""

    def __init__(self) -> None:
        self.hosts: defaultdict[str, HostCount] = defaultdict(HostCount)
        self.mimes: defaultdict[str, Count] = defaultdict(Count)
        self.codes: Counter[int] = Counter()
        self._seeds: dict[str, SeedOutcome] = {}
        self.files: Counter[str] = Counter()
        """The number of archived URLs by WARC file."""
        self.ghost_errors: Counter[str] = Counter()
        """The number of failed browser visits by kind: `ghost:hang` counts as `hang`."""
        self.page_flaws: Counter[str] = Counter()
        """The number of flawed pages by kind: `page:waf:cloudflare` counts as `waf`."""
        self.all = HostCount()
        """The counts of all hosts together."""

    def seed(self, url: str) -> SeedOutcome:
        """Return what became of a seed."""
        return self._seeds.get(url) or SeedOutcome()

    def add(self, line: crawl_log.LogLine) -> None:
        """Count one line. Of a line that only adds annotations to another one, count only the annotations."""
        self._count_annotations(line)
        if line.extra.get(crawl_log.ANNOTATES):
            return
        self.codes[line.code] += 1
        self._record_seed(line)
        if line.source and is_failure(line.code):
            self._outcome(line.source).failed += 1
        host = self.hosts[url.host_of(line.url)]
        if line.code == crawl_log.ROBOTS:
            host.robots += 1
        if line.code <= 0:
            return
        size = size_of(line)
        if line.source:
            source = self._outcome(line.source)
            source.urls += 1
            source.bytes += size
            source.novel_bytes += size if is_novel(line) else 0
        if name := line.extra.get("warcFilename"):
            self.files[str(name)] += 1
        mime = line.mime or "no-type"
        self.mimes[mime] = self.mimes[mime].plus(size)
        for count in (host, self.all):
            count.add(line, size)

    @property
    def processed(self) -> int:
        """Return the number of counted lines: one for each URL that was tried or decided."""
        return self.codes.total()

    @property
    def failures(self) -> dict[int, int]:
        """The codes of failures and their counts, most frequent first."""
        return {code: count for code, count in self.codes.most_common() if is_failure(code)}

    @property
    def disregards(self) -> int:
        """Return the number of URLs that a rule or limit excluded."""
        return sum(self.codes[code] for code in DISREGARDED)

    def _record_seed(self, line: crawl_log.LogLine) -> None:
        if not line.hop_path:
            self._outcome(line.url).code = line.code
        elif line.source and not line.hop_path.strip("R"):
            outcome = self._outcome(line.source)
            outcome.redirect, outcome.final_code = line.url, line.code

    def _outcome(self, seed: str) -> SeedOutcome:
        found = self._seeds.get(seed)
        if found is None:
            found = self._seeds[seed] = SeedOutcome()
        return found

    def _count_annotations(self, line: crawl_log.LogLine) -> None:
        for annotation in line.annotations:
            family, _, rest = annotation.partition(":")
            if family == _GHOST_ERROR:
                _count(self.ghost_errors, rest)
            elif family == _PAGE_FLAW:
                _count(self.page_flaws, rest.partition(":")[0])


class LogFollower:
    """The follower reads a growing crawl.log: each call yields the complete lines since the last call.

    The parts of a rotated log are read as one file. A file that took the place of a removed one is read from its
    beginning.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._beginning = b""
        """The first bytes of the file that was read last. A new file may have the inode of a removed one."""
        self.damaged = 0
        """The number of lines that can't be parsed."""

    def lines(self) -> Iterator[crawl_log.LogLine]:
        """Yield new lines in order. An incomplete last line is left for the next call."""
        try:
            file = open_log(self._path)
        except FileNotFoundError:
            return
        with file:
            beginning = file.read(_BEGINNING)
            if not self._beginning or not beginning.startswith(self._beginning):
                self._offset = 0
            if len(self._beginning) < _BEGINNING or self._offset == 0:
                self._beginning = beginning
            file.seek(self._offset)
            for raw in file:
                if not raw.endswith(b"\n"):
                    return
                self._offset += len(raw)
                try:
                    yield crawl_log.parse(raw.decode("utf-8", "replace"))
                except ValueError:
                    self.damaged += 1


def _count(counter: Counter[str], kind: str) -> None:
    """Count the kind, unless a hostile log has too many kinds already."""
    name = kind[:_MAX_KIND_LENGTH]
    if name in counter or len(counter) < _MAX_KINDS:
        counter[name] += 1


def is_novel(line: crawl_log.LogLine) -> bool:
    """Return whether the collection did not have the payload of this line before."""
    return crawl_log.REVISIT not in line.annotations and line.code != NOT_MODIFIED


def size_of(line: crawl_log.LogLine) -> int:
    """Return the bytes of head and body, as Heritrix's reports count them, or of the body when only that is known.

    Heritrix names the size of a duplicate, which it does not write, in an annotation.
    """
    if "contentSize" in line.extra:
        return int(line.extra["contentSize"])
    for annotation in line.annotations:
        size = annotation.removeprefix(_CONTENT_SIZE)
        if annotation != size and size.isdecimal():
            return int(size)
    return line.size or 0
