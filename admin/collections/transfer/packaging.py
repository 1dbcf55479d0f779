"""Write a WACZ package with a collection, or with chosen captures of it.

Records are copied with their compressed bytes into the package, without another copy of the WARC files. Files in the
zstd format are packed with gzip instead, record by record, since players of WACZ packages read no other format. The
package gets its name when it is complete.
"""

from __future__ import annotations

import shutil
import tempfile
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from io import TextIOWrapper
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO

from admin.collections.description_file import read_description
from admin.collections.transfer.importing import PAGES_FOLDER
from admin.collections.transfer.page_search import INFO, PageSearch, candidate, listed, visited
from admin.collections.transfer.selection import (
    ExportProblem,
    Selection,
    captures_in,
    choose,
    indexed_files,
    is_of_job,
    record_ranges,
)
from admin.jobs.runs import Run, RunError, find_runs
from admin.units import counted
from archive.access_rules import Access, AccessControl, AccessRuleError, AccessRules
from archive.capture import Capture
from archive.dates import Micros, iso_second
from archive.files import locked_draft, make_folder
from archive.line_sort import sorted_lines
from archive.names.warc_paths import WarcPaths, growing
from archive.rotated_log import log_exists, log_size, open_log
from archive.settings.load import Settings
from archive.storage.record_store import RecordStore
from archive.storage.storage import Storage, StorageError
from archive.wacz import index, pages
from archive.wacz.package import PackageTitle, PackageWriter
from archive.wacz.pages import ArchivedPage
from archive.wacz.reader import read_pages
from archive.wacz.signature import SigningKey
from archive.warc.compression.gzip_member import packed_stream
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import records
from archive.warc.records.record import RECORD_END

_COPY_SIZE: Final = 1 << 20
_ZSTD: Final = ".warc.zst"


@dataclass(slots=True)
class PackagedCollection:
    """The result has the package's file and counts, and the captures that are missing from it."""

    file: str
    bytes: int = 0
    warcs: int = 0
    captures: int = 0
    originals: int = 0
    """Captures that were added because a chosen revisit refers to them; `captures` includes them."""
    pages: int = 0
    seeds: int = 0
    hidden: int = 0
    """Captures that were left out because the access rules or the licences hide them or their content."""
    is_signed: bool = False
    missing: list[str] = field(default_factory=list)
    """One line for each problem because of which captures are missing."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields for `--json`."""
        return asdict(self)


class _Places:
    """The places of a file's records in the package: unchanged, or by their offset in the file."""

    def __init__(self, places: list[tuple[int, int, int]] | None) -> None:
        """`places` has old offset, new offset and new length, by old offset; None when nothing changes."""
        self._places = places

    def of(self, offset: int, length: int) -> tuple[int, int] | None:
        """Return new offset and length; None for a record that is not in the package."""
        if self._places is None:
            return offset, length
        at = bisect_left(self._places, (offset, 0, 0))
        if at == len(self._places) or self._places[at][0] != offset:
            return None
        return self._places[at][1:]


class Packager:
    """The packager writes one package of one collection."""

    def __init__(
        self,
        settings: Settings,
        collection: str,
        target: Path,
        chosen: Selection,
        *,
        title: str = "",
        key: SigningKey | None = None,
        originals: bool = True,
        for_readers: bool = True,
    ) -> None:
        """`originals` adds the originals of chosen revisits. A package `for_readers` has no captures that the access
        rules exclude or block. Raises ExportProblem when `target` is a folder, or when the rules can't be read.
        """
        if target.is_dir():
            raise ExportProblem(f"-o {target} is a folder; name a file, such as {target / collection}.wacz")
        self._settings = settings
        self._folder = settings.collection(collection)
        self._collection = collection
        self._target = target
        self._chosen = chosen
        self._rules = _rules_of(settings, collection) if for_readers else AccessRules()
        try:
            self._description = read_description(self._folder)
        except ValueError as error:
            raise ExportProblem(str(error)) from error
        self._title = title
        self._key = key
        self._with_originals = originals
        self._search = PageSearch(RecordStore(settings), collection)
        self._hidden = defaultdict[WarcPaths, set[int]](set)
        """Offsets of the captures of each file that the rules hide."""
        self._hidden_visits: set[str] = set()
        """Page ids of the visits at whose end there was a URL that the rules hide."""
        self._storage: Storage | None = None
        self._names: set[str] = set()
        self._result = PackagedCollection(str(target), is_signed=key is not None)

    def run(self, watch: Callable[[str, int, int], None] = lambda name, number, of: None) -> PackagedCollection:
        """Write the package and return the result; `watch` is called for each WARC file before the file is read.

        Raises ExportProblem when another process writes the same package, OSError when it can't be written, and
        ValueError for a damaged sidecar. Then nothing is left of the package, and an older one is unchanged.
        """
        wanted = self._wanted()
        make_folder(self._target.parent)
        try:
            with locked_draft(self._target) as file, self._scratch() as candidates:
                writer = PackageWriter(file)
                with sorted_lines(self._copied(writer, wanted, candidates, watch), self._target.parent) as lines:
                    self._write_index(writer, lines)
                runs = self._runs()
                main = self._write_pages(writer, candidates, runs)
                for run in runs if self._rules.is_open else ():  # a log names the URLs that the rules hide
                    self._write_log(writer, run)
                writer.finish(self._package_title(main), self._key)
                file.seek(0, 2)
                self._result.bytes = file.tell()
        except BlockingIOError as error:
            raise ExportProblem(f"-o {self._target} is being written by another process; name another file") from error
        return self._result

    def _wanted(self) -> list[tuple[WarcPaths, set[int] | None]]:
        """Return the files to read with the offsets of the chosen captures; None for all captures of a file."""
        if self._chosen.is_everything and self._rules.is_open:
            self._result.missing += [
                f"{place.name} is still being written and was left out" for place in growing(self._folder)
            ]
            open_names = {place.name for place in growing(self._folder)}
            return [(place, None) for place in indexed_files(self._folder) if place.name not in open_names]
        found = choose(self._folder, self._chosen, originals=self._with_originals)
        self._result.missing += found.missing
        self._result.originals = found.originals
        if self._rules.is_open:
            return list(found.offsets.items())
        self._hide_visits(found.offsets)
        readable = ((place, self._readable(place, offsets)) for place, offsets in found.offsets.items())
        return [(place, offsets) for place, offsets in readable if offsets]

    def _hide_visits(self, chosen: dict[WarcPaths, set[int]]) -> None:
        """Find the visits of chosen captures that ended at a hidden URL, or at one that their note can't tell."""
        visits = {
            each.page_id for place, offsets in chosen.items() for each in captures_in(place) if each.offset in offsets
        }
        for each in chain.from_iterable(map(captures_in, indexed_files(self._folder))):
            if each.url.startswith(INFO) and each.page_id in visits:
                final_url = self._search.final_url(each)
                if final_url is None or not self._shows(final_url, each.date):
                    self._hidden_visits.add(each.page_id or each.record_id)

    def _readable(self, place: WarcPaths, offsets: set[int]) -> set[int]:
        """Return the offsets of the captures that the rules show."""
        hidden = self._hidden[place]
        hidden.update(each.offset for each in captures_in(place) if not self._shows_capture(each))
        self._result.hidden += len(offsets & hidden)
        return offsets - hidden

    def _shows_capture(self, capture: Capture) -> bool:
        """Return whether readers may see a capture. The records of a visit tell of the URL at its end, too."""
        is_answer = capture.kind in ("response", "revisit")
        is_of_hidden_visit = not is_answer and (capture.page_id or capture.record_id) in self._hidden_visits
        return not is_of_hidden_visit and self._shows(capture.url, capture.date)

    def _shows(self, url: str, date: Micros) -> bool:
        return self._rules.decide(url, date) not in (Access.EXCLUDE, Access.BLOCK)

    def _package_title(self, main: ArchivedPage | None) -> PackageTitle:
        """Return the title of the package, with the description of the collection where no other title was chosen."""
        facts = self._description.package_facts()
        title = str(facts.pop("title", ""))
        description = str(facts.pop("description", ""))
        date = iso_second(main.date) if main else ""
        shown = self._title or title or self._collection
        return PackageTitle(shown, description, main.url if main else "", date, facts)

    def _copied(
        self,
        writer: PackageWriter,
        wanted: list[tuple[WarcPaths, set[int] | None]],
        candidates: TextIO,
        watch: Callable[[str, int, int], None],
    ) -> Iterator[str]:
        """Copy the WARC files into the package; yield their index lines, and write candidates for pages."""
        for number, (place, offsets) in enumerate(wanted, 1):
            watch(place.name, number, len(wanted))
            try:
                with self._local(place) as path:
                    name, places = self._add_file(writer, place, path, offsets)
            except (FileNotFoundError, StorageError, WarcError) as error:
                self._note_missing(place, offsets, error)
                continue
            self._result.warcs += 1
            for capture in captures_in(place):
                if offsets is not None and capture.offset not in offsets:
                    continue
                at = places.of(capture.offset, capture.length)
                if at is None:
                    continue
                self._result.captures += 1
                if (line := candidate(capture)) is not None:
                    candidates.write(line)
                if capture.kind != "metadata":
                    yield index.index_line(capture, name, *at)

    def _note_missing(self, place: WarcPaths, offsets: set[int] | None, error: Exception) -> None:
        what = counted(len(offsets), "chosen capture") if offsets is not None else "all captures"
        if isinstance(error, FileNotFoundError):
            why = "is neither in the home nor in the storage" if self._settings.storage.url else "is not in the home"
        elif isinstance(error, WarcError):
            why = f"is damaged at offset {error.offset}: {error.reason}"
        else:
            why = f"can't be read: {error}"
        self._result.missing.append(f"{place.name} with {what} {why}")

    def _add_file(
        self, writer: PackageWriter, place: WarcPaths, path: Path, offsets: set[int] | None
    ) -> tuple[str, _Places]:
        """Add the records of a file; return the file's name in the package, and the records' places."""
        name, starts = place.name, None if offsets is None else record_ranges(path, offsets, self._hidden[place])
        if name.endswith(_ZSTD):
            return self._add_packed(writer, name, path, None if starts is None else {start for start, _ in starts})
        if starts is None:
            free, size = self._free_name(name), path.stat().st_size
            writer.add(f"archive/{free}", _pieces(path, [(0, size)]), size)
            return free, _Places(None)
        places, end = [], 0
        for start, stop in starts:
            places.append((start, end, stop - start))
            end += stop - start
        free = self._free_name(name)
        writer.add(f"archive/{free}", _pieces(path, starts), end)
        return free, _Places(places)

    def _add_packed(self, writer: PackageWriter, name: str, path: Path, starts: set[int] | None) -> tuple[str, _Places]:
        """Add the records of a zstd file in the gzip format. They are packed to a file of their own first."""
        with tempfile.TemporaryFile(dir=self._target.parent) as packed:
            places = []
            for record in records(path):
                if starts is not None and record.offset not in starts:
                    continue
                begin = packed.tell()
                pieces = _record_pieces(record.header, record.block())
                for piece in packed_stream(pieces, self._settings.archive.gzip_level):
                    packed.write(piece)
                places.append((record.offset, begin, packed.tell() - begin))
            size = packed.tell()
            packed.seek(0)
            free = self._free_name(f"{name.removesuffix(_ZSTD)}.warc.gz")
            writer.add(f"archive/{free}", iter(lambda: packed.read(_COPY_SIZE), b""), size)
        return free, _Places(places)

    def _free_name(self, name: str) -> str:
        """Return a name without folders that no other file of the package has."""
        flat = name.replace("/", "-")
        free, number = flat, 1
        while free.lower() in self._names:
            number += 1
            free = f"{number}-{flat}"
        self._names.add(free.lower())
        return free

    @contextmanager
    def _local(self, place: WarcPaths) -> Iterator[Path]:
        """Yield the path of a WARC file. A file that is only in the storage is copied for the time of the block."""
        if place.warc.exists() or not self._settings.storage.url:
            yield place.warc
            return
        if self._storage is None:
            self._storage = Storage(self._settings.storage)
        name = f"{self._collection}/archive/{place.name}"
        with (
            self._storage.open(name, wanted_to=_COPY_SIZE) as far,
            tempfile.NamedTemporaryFile(dir=self._target.parent, prefix=".wacz-", suffix=".part") as near,
        ):
            shutil.copyfileobj(far, near, _COPY_SIZE)
            near.flush()
            yield Path(near.name)

    @contextmanager
    def _scratch(self) -> Iterator[TextIO]:
        """Yield a temporary file for lines, which has no name."""
        folder = self._target.parent
        with tempfile.TemporaryFile("w+", dir=folder, encoding="utf-8", errors="replace", newline="\n") as file:
            yield file

    def _write_index(self, writer: PackageWriter, lines: Iterator[str]) -> None:
        entries: list[str] = [index.LIST_HEAD]
        with tempfile.TemporaryFile(dir=self._target.parent) as data:
            for block in index.blocks(lines):
                entries.append(block.entry)
                data.write(block.data)
            size = data.tell()
            data.seek(0)
            writer.add(f"indexes/{index.BLOCK_NAME}", iter(lambda: data.read(_COPY_SIZE), b""), size)
        listed = "".join(entries).encode()
        writer.add(f"indexes/{index.LIST_NAME}", (listed,), len(listed))

    def _write_pages(self, writer: PackageWriter, candidates: TextIO, runs: list[Run]) -> ArchivedPage | None:
        """Write the lists of pages; return the first page of the first seed, or else the first page."""
        for run in runs:
            self._add_visits(candidates, run)
        self._add_listed(candidates)
        candidates.seek(0)
        order = {url: number for number, url in enumerate(url for run in runs for url in run.seeds().urls())}
        main: ArchivedPage | None = None
        with (
            self._scratch() as seeds,
            self._scratch() as others,
            sorted_lines(candidates, self._target.parent) as lines,
        ):
            texts = [False, False]
            for page in self._search.pages(lines):
                if page.id in self._hidden_visits or not self._shows(page.url, page.date):
                    continue
                (seeds if page.is_seed else others).write(page.line())
                texts[page.is_seed] |= bool(page.text)
                self._result.pages += 1
                self._result.seeds += page.is_seed
                if main is None or _rank(page, order) < _rank(main, order):
                    main = page
            if self._result.seeds:
                self._add_list(writer, pages.PAGES, pages.head("Seed pages", is_main=True, has_text=texts[1]), seeds)
                self._add_list(
                    writer, pages.EXTRA_PAGES, pages.head("Other pages", is_main=False, has_text=texts[0]), others
                )
            else:
                self._add_list(writer, pages.PAGES, pages.head("Pages", is_main=True, has_text=texts[0]), others)
        return main

    def _add_list(self, writer: PackageWriter, path: str, head: str, lines: TextIO) -> None:
        lines.flush()
        raw = lines.buffer
        size = raw.seek(0, 2)
        raw.seek(0)
        first = head.encode("utf-8", "replace")
        pieces = chain((first,), iter(lambda: raw.read(_COPY_SIZE), b""))
        writer.add(path, pieces, len(first) + size, is_compressed=True)

    def _runs(self) -> list[Run]:
        """Return the runs of the chosen job, or all runs, oldest first."""
        try:
            runs = list(find_runs(self._folder / "jobs"))
        except RunError as error:
            self._result.missing.append(f"the crawl logs are left out: {error}")
            return []
        return [run for run in runs if not self._chosen.job or is_of_job(run.folder.name, self._chosen.job)]

    def _add_listed(self, candidates: TextIO) -> None:
        for path in sorted((self._folder / PAGES_FOLDER).glob("*.jsonl")):
            with path.open("rb") as lines:
                candidates.writelines(map(listed, read_pages(lines)))

    def _add_visits(self, candidates: TextIO, run: Run) -> None:
        if not log_exists(run.crawl_log):
            return
        with TextIOWrapper(open_log(run.crawl_log), encoding="utf-8", errors="replace", newline="\n") as lines:
            for line in lines:
                if (found := visited(line, run.folder.name)) is not None:
                    candidates.write(found)

    def _write_log(self, writer: PackageWriter, run: Run) -> None:
        if log_exists(run.crawl_log):
            size = log_size(run.crawl_log)
            writer.add(f"logs/{run.folder.name}.log", _pieces(run.crawl_log, [(0, size)]), size, is_compressed=True)


def _rules_of(settings: Settings, collection: str) -> AccessRules:
    """Return the rules that hold for readers of a collection. Raises ExportProblem."""
    control = AccessControl(settings.home / "collections", settings.curation.access_policy())
    try:
        return control.rules(collection)
    except AccessRuleError as error:
        raise ExportProblem(f"the access rules can't be read, so no package is made for readers: {error}") from error


def _rank(page: ArchivedPage, seeds: dict[str, int]) -> tuple[bool, int]:
    """Return the place of a page among those that a reader may begin with: seeds first, in the order of the job."""
    return not page.is_seed, seeds.get(page.url, len(seeds))


def _record_pieces(header: bytes, block: Iterator[bytes]) -> Iterator[bytes]:
    yield header
    yield from block
    yield RECORD_END


def _pieces(path: Path, ranges: list[tuple[int, int]]) -> Iterator[bytes]:
    """Yield the bytes of these ranges of a file, or of a rotated log."""
    with open_log(path) as file:
        for start, end in ranges:
            yield from _range(file, start, end)


def _range(file: BinaryIO, start: int, end: int) -> Iterator[bytes]:
    file.seek(start)
    left = end - start
    while left and (piece := file.read(min(left, _COPY_SIZE))):
        yield piece
        left -= len(piece)
