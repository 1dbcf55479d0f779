"""Import WARC files of other programs into a collection: find, copy or link, check, index, and deduplicate on request.

A file is imported completely or not at all. The copy is made under a temporary name, synced, checked and read for its
index lines. Then it gets its name in `archive/` and its sidecar in `indexes/`. A killed import leaves at most a
temporary file, which the next import removes, or a WARC file without its sidecar, which the next import, `repair` and
`reindex` complete. The same import can be repeated: files that the collection already has are recognised.

ARC files, HAR files, and files that the strict reader refuses, are converted (`admin.collections.transfer.conversion`,
`admin.collections.transfer.har`).
"""

from __future__ import annotations

import filecmp
import hashlib
import logging
import os
import re
import uuid
import zipfile
import zlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from typing import BinaryIO, Final

from admin.collections.marks import unfinished_deletions, unfinished_renaming
from admin.collections.transfer.conversion import Converted, convert, is_conversion
from admin.collections.transfer.har import convert_har
from admin.collections.writers import DRAFT_SUFFIX, IMPORT_DRAFT
from admin.units import counted, human_bytes
from archive.capture import Capture
from archive.file_lock import locked_folder, try_lock
from archive.files import free_bytes, make_folder, rename_new, replace_durably, replacement, sync_folder
from archive.line_sort import sorted_lines
from archive.names.warc_paths import ENDINGS, OPEN_SUFFIX, WarcPaths
from archive.program_name import command
from archive.settings.load import Settings
from archive.storage.presence import is_alone
from archive.storage.storage import Storage, StorageError
from archive.storage.upload import FinishedFile
from archive.wacz.reader import ForeignPackage, PackageError, packages_of
from archive.warc import cdxj
from archive.warc.reading.member_reader import WarcError
from archive.warc.upkeep.check import SHARED_MEMBER, check
from archive.warc.upkeep.rewrap import rewrap
from archive.warc.writing.open_file import create_locked
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.validation import acceptable
from dedupdb.index.sidecars import Sidecars, source_of

logger = logging.getLogger(__name__)

MAX_SHOWN_FINDINGS: Final = 5
"""The first findings of a file are shown; all are counted."""
_LOGGED_FLAWS: Final = 1_000
PAGES_FOLDER: Final = "pages"
"""The folder of a collection with the lists of pages of imported packages."""
_LAST_FILE: Final = "last-import"
"""The file of a collection that names the import which placed the last file."""
_COPY_SIZE: Final = 1 << 20
_WRONG_SHA256: Final = "its SHA-256 is not the one in the package's datapackage.json"
_ARCS: Final = (".arc", ".arc.gz")
_HAR: Final = ".har"
_WACZ: Final = ".wacz"
_NAME_LENGTH: Final = 180
_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._@+=,~-]+")
_PACKAGES_MAX: Final = 10_000
"""Further packages of a multi-WACZ description are ignored."""
_MULTI: Final = ".json"


class ImportProblem(Exception):
    """The import is not possible. The message names the argument, its value and the remedy."""


class ImportOutcome(StrEnum):
    """Each imported file has one of these outcomes."""

    IMPORTED = "imported"
    PRESENT = "present"
    """The collection already has a file with these bytes."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class ImportItem:
    """An item is one file to import: a path, or a member of the WACZ package at that path. `size` is in bytes."""

    path: Path
    size: int
    member: str = ""
    sha256: str = ""
    """The SHA-256 in hexadecimal digits that a package promises for the member; empty without a promise."""
    refusal: str = ""
    """The reason why the file can't be imported; empty for a WARC or ARC file."""

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.member.rpartition("/")[2] if self.member else self.path.name

    @property
    def is_arc(self) -> bool:
        """Return whether the file is an ARC file, by its name."""
        return self.name.endswith(_ARCS)

    @property
    def is_har(self) -> bool:
        """Return whether the file is a HAR file, by its name."""
        return self.name.endswith(_HAR)

    def __str__(self) -> str:
        return f"{self.path}!{self.member}" if self.member else str(self.path)


@dataclass(frozen=True, slots=True)
class Choices:
    """The choices are the options of an import.

    `by_reference` makes symbolic links instead of copies. With `dedup` the imported responses become originals to
    which later captures may refer. With `strict` a file with any finding is refused.
    """

    by_reference: bool = False
    dedup: bool = True
    strict: bool = False


@dataclass(frozen=True, slots=True)
class ImportedFile:
    """The result of one file has its name in the collection, its captures and its problems."""

    source: str
    outcome: ImportOutcome
    name: str = ""
    captures: int = 0
    left_out: int = 0
    """Captures that can't be indexed, for example because their URL is not text, and records that can't be read."""
    problems: int = 0
    first_problems: tuple[str, ...] = ()
    rewrapped: bool = False
    """True when the copy was recompressed with one member per record."""
    converted: bool = False
    """The records were read by warcio and written anew."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class KeptPages:
    """The kept pages of a package are counted, with its lists and entries that can't be used."""

    count: int = 0
    flaws: int = 0
    first_flaws: tuple[str, ...] = ()
    lists: tuple[str, ...] = ()
    """Names of the lists in the folder `pages` of the collection."""

    def __add__(self, other: KeptPages) -> KeptPages:
        """Return the pages of both."""
        shown = (*self.first_flaws, *other.first_flaws)
        lists = (*self.lists, *other.lists)
        return KeptPages(self.count + other.count, self.flaws + other.flaws, shown, lists)


@dataclass(slots=True)
class _Findings:
    count: int = 0
    first: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    shares_members: bool = False

    def add(self, finding: str) -> None:
        """Count a finding, and keep it if it is one of the first."""
        self.count += 1
        if len(self.first) < MAX_SHOWN_FINDINGS:
            self.first.append(finding)


def find(paths: Iterable[Path]) -> list[ImportItem]:
    """Return the WARC files at these paths: files, all files below folders, and the members of WACZ packages.

    A JSON file is the description of a multi-WACZ package; below folders, JSON files are not looked at.
    Files that can't be imported are in the list with a refusal. Raises ImportProblem for a path that does
    not exist, and when no file is found.
    """
    found: list[ImportItem] = []
    for path in paths:
        if path.is_dir():
            names = sorted(folder / name for folder, _, names in path.walk() for name in names)
            found += [item for each in names if _has_known_ending(each) for item in _items(each)]
        elif path.is_file():
            found += _items(path)
        else:
            raise ImportProblem(f"PATH {path} is not a file or folder; name WARC files, or folders with WARC files")
    if not found:
        endings = ", ".join((*ENDINGS, *_ARCS, _HAR, _WACZ))
        raise ImportProblem(f"PATH {', '.join(map(str, paths))} has no web archives; names must end in {endings}")
    return found


def _has_known_ending(path: Path) -> bool:
    endings = (*ENDINGS, *_ARCS, _HAR, _WACZ)
    return path.name.endswith((*endings, *(ending + OPEN_SUFFIX for ending in ENDINGS))) and path.is_file()


def _items(path: Path) -> list[ImportItem]:
    size = path.stat().st_size
    if path.name.endswith(_WACZ):
        return _wacz_items(path)
    if path.name.endswith(_MULTI):
        return _multi_items(path)
    if path.name.endswith(OPEN_SUFFIX):
        why = f"it is still being written, or its writer was killed; run `{command('repair')}` on its collection first"
        return [ImportItem(path, size, refusal=why)]
    return [ImportItem(path, size)]


def _wacz_items(path: Path) -> list[ImportItem]:
    try:
        with ForeignPackage(path) as package:
            return [ImportItem(path, each.size, each.member, each.sha256) for each in package.warcs()]
    except PackageError as error:
        return [ImportItem(path, 0, refusal=str(error))]


def _multi_items(path: Path) -> list[ImportItem]:
    """Return the files of all packages that a multi-WACZ description names beside itself."""
    try:
        names = packages_of(path)
    except PackageError as error:
        return [ImportItem(path, 0, refusal=str(error))]
    if not names:
        return [ImportItem(path, 0, refusal="it is not the description of a multi-WACZ package")]
    found = []
    for name in names[:_PACKAGES_MAX]:
        near = path.parent / name
        if "://" in name:
            found.append(ImportItem(path, 0, name, refusal="it is at a URL; download it, and import the file"))
        elif ".." in Path(name).parts or Path(name).is_absolute() or not near.is_file():
            found.append(ImportItem(path, 0, name, refusal=f"there is no such package below {path.parent}"))
        else:
            found += _wacz_items(near)
    return found


class Importer:
    """The importer adds files to one collection, one after the other."""

    def __init__(self, settings: Settings, collection: str, captures: Captures, choices: Choices) -> None:
        """Create the collection's folders if needed, and remove the temporary files of killed imports.

        Raises ImportProblem for a collection that is only partly deleted or renamed.
        """
        self._settings = settings
        self._collection = collection
        self._captures = captures
        self._choices = choices
        self._folder = settings.collection(collection)
        self._archive = settings.archive_dir(collection)
        self._indexes = settings.index_dir(collection)
        if collection in unfinished_deletions(settings):
            again = command(f"collection delete {collection}")
            raise ImportProblem(f"collection {collection} is only partly deleted; run `{again}` first")
        if change := unfinished_renaming(self._folder):
            again = command(f"collection rename {change.old} {change.new}")
            raise ImportProblem(f"collection {collection} is only partly renamed; run `{again}` first")
        make_folder(self._archive)
        make_folder(self._indexes)
        self._remove_drafts()
        self._package: tuple[Path, ForeignPackage] | None = None
        self._storage: Storage | None = None
        self._by_size = defaultdict[int, list[Path]](list)
        self._noted: set[str] = set()
        self._id = uuid.uuid4().hex.encode()
        self._note_new_files()

    def space_needed(self, wanted: Sequence[ImportItem]) -> int:
        """Return the largest number of bytes that the copies may take; 0 when files are linked."""
        return 0 if self._choices.by_reference else sum(each.size for each in wanted if not each.refusal)

    def take(self, wanted: ImportItem, copied: Callable[[int], None] = lambda size: None) -> ImportedFile:
        """Import one file and return the result; `copied` is called with the number of bytes of each step.

        Raises OSError when the file can't be written to the home; then the incomplete copy is removed.
        """
        if wanted.refusal:
            return ImportedFile(str(wanted), ImportOutcome.REFUSED, reason=wanted.refusal)
        try:
            if self._choices.by_reference:
                return self._link(wanted)
            return self._copy(wanted, copied)
        except (WarcError, PackageError, zipfile.BadZipFile, zlib.error, EOFError) as error:
            reason = error.reason if isinstance(error, WarcError) else str(error)
            at = f" at offset {error.offset}" if isinstance(error, WarcError) else ""
            if self._choices.by_reference:
                reason += "; import it without --by-reference to convert the records that can be read"
            return ImportedFile(str(wanted), ImportOutcome.REFUSED, reason=f"the file is damaged{at}: {reason}")
        except StorageError as error:
            why = f"the storage can't be asked whether it has the file ({error}); import it again later"
            return ImportedFile(str(wanted), ImportOutcome.REFUSED, reason=why)

    def close(self) -> None:
        """Close the package that is open."""
        if self._package is not None:
            self._package[1].close()
            self._package = None

    def keep_pages(self, package: Path) -> KeptPages:
        """Keep the lists of pages of a package in the collection's folder `pages`; return what the lists have.

        The list has the package's name. The same package again writes the same list. Raises PackageError and OSError.
        """
        name = _UNSAFE.sub("_", package.name).lstrip(".-_")[-_NAME_LENGTH:] or "package"
        count = flaws = 0
        first: list[str] = []

        def report(said: str) -> None:
            nonlocal flaws
            flaws += 1
            if len(first) < MAX_SHOWN_FINDINGS:
                first.append(f"{package.name}: {said}")
            if flaws <= _LOGGED_FLAWS:
                logger.warning("%s: %s", package, said)

        make_folder(self._folder / PAGES_FOLDER)
        with ForeignPackage(package) as opened:
            path = self._folder / PAGES_FOLDER / f"{name}-{opened.fingerprint}.jsonl"
            for said in opened.flaws():
                report(said)
            with replacement(path) as file:
                for page in opened.pages(report):
                    file.write(page.line().encode("utf-8", "replace"))
                    count += 1
        if not count:
            path.unlink()
        return KeptPages(count, flaws, tuple(first), (path.name,) if count else ())

    def _link(self, wanted: ImportItem) -> ImportedFile:
        if wanted.member:
            why = "a file inside a WACZ package can't be linked; import it without --by-reference"
            return ImportedFile(str(wanted), ImportOutcome.REFUSED, reason=why)
        if wanted.is_har:
            why = "a HAR file can't be linked; import it without --by-reference to convert it"
            return ImportedFile(str(wanted), ImportOutcome.REFUSED, reason=why)
        if wanted.is_arc:
            why = "an ARC file can't be linked; import it without --by-reference to convert it"
            return ImportedFile(str(wanted), ImportOutcome.REFUSED, reason=why)
        target = wanted.path.resolve()
        if there := self._same(target, wanted.size):
            return self._present(wanted, there, target)
        found = _findings(target)
        if found.shares_members:
            why = "several records share one gzip member; import it without --by-reference to recompress the copy"
            return ImportedFile(str(wanted), ImportOutcome.REFUSED, reason=why)
        if refused := self._refused_by_strict(wanted, found):
            return refused
        return self._place(wanted, target, wanted.name, _sha256(target), found)

    def _copy(self, wanted: ImportItem, copied: Callable[[int], None]) -> ImportedFile:
        if not wanted.member and (there := self._same(wanted.path, wanted.size)):
            copied(wanted.size)
            return self._present(wanted, there, wanted.path)
        with self._draft(self._archive, "copy") as (draft, file):
            sha256 = hashlib.sha256()
            with self._opened(wanted) as source:
                while piece := source.read(_COPY_SIZE):
                    sha256.update(piece)
                    file.write(piece)
                    copied(len(piece))
            _make_durable(file)
            if wanted.member and (there := self._same(draft, draft.stat().st_size)):
                return self._present(wanted, there, draft)
            if wanted.is_arc or wanted.is_har:
                return self._convert(wanted, draft, sha256.hexdigest())
            try:
                return self._take_copy(wanted, draft, sha256.hexdigest())
            except WarcError as damage:
                return self._convert(wanted, draft, sha256.hexdigest(), damage)

    def _take_copy(self, wanted: ImportItem, draft: Path, sha256: str) -> ImportedFile:
        """Import a copy as it is, or recompressed. Raises WarcError for a damaged file."""
        found = _findings(draft)
        if wanted.sha256 and wanted.sha256 != sha256:
            found.count += 1
            found.first.insert(0, _WRONG_SHA256)
        if found.shares_members:
            return self._rewrap(wanted, draft, found)
        if refused := self._refused_by_strict(wanted, found):
            return refused
        return self._place(wanted, draft, wanted.name, sha256, found)

    def _convert(self, wanted: ImportItem, copy: Path, sha256: str, damage: WarcError | None = None) -> ImportedFile:
        """Import the records of `copy`, as far as they can be read. `damage` says why the copy was refused.

        Raises WarcError when no record can be read.
        """
        stem = wanted.name.removesuffix(".gz").removesuffix(".zst").removesuffix(".arc").removesuffix(".warc")
        stem = stem.removesuffix(_HAR)
        name = f"{stem}.warc.gz"
        for known in _names(name, sha256):
            if is_conversion(self._archive / known, sha256):
                return self._present(wanted, self._archive / known, self._archive / known)
        said = _Findings()

        def report(finding: str) -> None:
            said.add(finding)
            if said.count <= _LOGGED_FLAWS:
                logger.warning("%s: %s", wanted, finding)

        with self._draft(self._archive, "converted") as (draft, file):
            try:
                convert_it = convert_har if wanted.is_har else convert
                done = convert_it(copy, file, self._settings, self._collection, sha256, report)
            except WarcError as error:
                raise damage or error from error
            _make_durable(file)
            if there := self._same(draft, draft.stat().st_size):
                return self._present(wanted, there, draft)
            found = _findings(draft)
            found.count += said.count + 1
            first = _conversion_finding(done, damage, is_har=wanted.is_har)
            found.first = [first, *said.first, *found.first][:MAX_SHOWN_FINDINGS]
            if wanted.sha256 and wanted.sha256 != sha256:
                found.count += 1
                found.first.insert(0, _WRONG_SHA256)
            if refused := self._refused_by_strict(wanted, found):
                return refused
            result = self._place(wanted, draft, name, sha256, found)
            if result.outcome is ImportOutcome.PRESENT:
                return result
            return replace(result, converted=True, left_out=result.left_out + done.lost)

    @contextmanager
    def _opened(self, wanted: ImportItem) -> Iterator[BinaryIO]:
        """Yield the file for reading. A package stays open for its next file, since its directory may be long."""
        if not wanted.member:
            with wanted.path.open("rb") as file:
                yield file
            return
        if self._package is None or self._package[0] != wanted.path:
            self.close()
            self._package = wanted.path, ForeignPackage(wanted.path)
        with self._package[1].open(wanted.member) as member:
            yield member

    def _rewrap(self, wanted: ImportItem, copy: Path, before: _Findings) -> ImportedFile:
        """Import the records of `copy`, which has the findings `before`, with one gzip member each."""
        with self._draft(self._archive, "rewrapped") as (draft, file):
            rewrap(copy, file, self._settings.archive.gzip_level)
            _make_durable(file)
            if there := self._same(draft, draft.stat().st_size):
                return self._present(wanted, there, draft)
            found = max(_findings(draft), before, key=lambda each: each.count)  # a wrong end is right in the new file
            if refused := self._refused_by_strict(wanted, found):
                return refused
            stem = wanted.name.removesuffix(".gz").removesuffix(".zst")
            result = self._place(wanted, draft, f"{stem}.gz", _sha256(draft), found)
            return replace(result, rewrapped=result.outcome is ImportOutcome.IMPORTED)

    def _place(self, wanted: ImportItem, source: Path, name: str, digest: str, found: _Findings) -> ImportedFile:
        """Give a draft a name in the collection, or make a link to the user's file, unless the collection has the file.

        The digest distinguishes files of the same name. Raises StorageError.
        """
        with locked_folder(self._archive):  # another import may be about to place the same file
            self._note_files_of_others()
            if there := self._same(source, source.stat().st_size) or self._stored(source, name, digest):
                return self._present(wanted, there, source)
            place = WarcPaths(self._folder, self._free_name(name, digest))
            with self._sidecar(place, source, found.ids) as (lines, count, left_out):
                if self._choices.by_reference:
                    place.warc.symlink_to(source)
                else:
                    rename_new(source, place.warc)
                self._note(str(place.warc))
                sync_folder(self._archive)
                replace_durably(lines, place.sidecar)
        return _imported(wanted, place, count, left_out, found)

    def _present(self, wanted: ImportItem, there: Path, source: Path) -> ImportedFile:
        """Write the sidecar of a file that the collection already has, if it is missing or dedup needs a new one.

        `source` has the bytes of `there`, or is the same file.
        """
        place = WarcPaths(self._folder, there.relative_to(self._archive).as_posix())
        had_lines = place.sidecar.exists()
        if not had_lines or (self._choices.dedup and _is_unknown_to_dedup(place.sidecar)):
            found = _findings(source)
            with self._sidecar(place, source, found.ids) as (lines, _, _):
                if not had_lines or not filecmp.cmp(lines, place.sidecar, shallow=False):
                    self._captures.drop_file(self._collection, place.name, source_of(self._collection, place.name))
                    replace_durably(lines, place.sidecar)
                    if had_lines:  # another indexer may have read the old lines in the meantime
                        Sidecars(self._settings.home, self._captures).read_anew(self._collection, place.name)
        return ImportedFile(str(wanted), ImportOutcome.PRESENT, place.name)

    @contextmanager
    def _sidecar(self, place: WarcPaths, warc: Path, flawed: set[str]) -> Iterator[tuple[Path, int, int]]:
        """Write the index lines of a WARC file to a draft; yield the draft, its lines and the captures left out."""
        counts = [0, 0]

        def lines() -> Iterator[str]:
            for capture in cdxj.captures_of(warc, self._collection, place.name):
                if _is_acceptable(capture):
                    counts[0] += 1
                    yield cdxj.line(self._for_dedup(capture, flawed))
                else:
                    counts[1] += 1

        make_folder(place.sidecar.parent)
        with self._draft(place.sidecar.parent, "lines") as (draft, file):
            with sorted_lines((f"{line}\n" for line in lines()), draft.parent) as merged:
                file.writelines(line.encode() for line in merged)
            _make_durable(file)
            yield draft, counts[0], counts[1]

    def _for_dedup(self, capture: Capture, flawed: set[str]) -> Capture:
        """Remove a response from all dedup buckets unless it may become an original."""
        is_original = self._choices.dedup and capture.record_id not in flawed
        return capture if is_original or capture.kind == "revisit" else replace(capture, buckets=())

    def _refused_by_strict(self, wanted: ImportItem, found: _Findings) -> ImportedFile | None:
        if not (self._choices.strict and found.count):
            return None
        why = f"it has {counted(found.count, 'finding')}, and --strict allows none"
        return ImportedFile(
            str(wanted), ImportOutcome.REFUSED, problems=found.count, first_problems=tuple(found.first), reason=why
        )

    def _note_files_of_others(self) -> None:
        """Note new files of the collection if another import may have placed one since this import placed its last one.

        The caller holds the lock of the folder.
        """
        last = self._folder / _LAST_FILE
        with suppress(FileNotFoundError):
            if last.read_bytes() == self._id:
                return
        self._note_new_files()
        last.write_bytes(self._id)

    def _note_new_files(self) -> None:
        """Note the sizes of files of the collection that were not noted before.

        Imports that run at once do this often, so it makes no `Path` for a known one, as `closed` would.
        """
        for folder, _, names in os.walk(self._archive):
            for name in names:
                if name.endswith(ENDINGS) and (path := f"{folder}/{name}") not in self._noted:
                    self._note(path)

    def _note(self, path: str) -> None:
        with suppress(OSError):  # a symbolic link whose file is missing
            self._by_size[os.stat(path).st_size].append(Path(path))
            self._noted.add(path)

    def _same(self, path: Path, size: int) -> Path | None:
        """Return the file of the collection, in the home, that has the same bytes; None without one."""
        for there in self._by_size[size]:
            with suppress(FileNotFoundError):  # the storage has the file, and the local copy was removed
                if there.samefile(path) or filecmp.cmp(there, path, shallow=False):
                    return there
        return None

    def _stored(self, path: Path, name: str, digest: str) -> Path | None:
        """Return the path of a file with the same bytes that only the storage has; None without one.

        Only the names that the file may have got are looked for. Raises StorageError.
        """
        if not self._settings.storage.url:
            return None
        for each in _names(name, digest):
            file = FinishedFile(WarcPaths(self._folder, each))
            if os.path.lexists(file.warc) or not file.sidecar.exists():
                continue
            self._storage = self._storage or Storage(self._settings.storage)
            if self._storage.has_same(path, file.name, lambda: False):
                return file.warc
            if not self._storage.is_there():
                raise StorageError(f"{self._storage.place} does not exist")
        return None

    def _free_name(self, name: str, digest: str) -> str:
        """Return a safe name that no file of the collection has. If needed, a part of the digest is added.

        Another home may have other bytes under the plain name, and a shared index would mix up their captures.
        """
        names = _names(name, digest)
        for each in names if is_alone(self._settings) else names[1:]:
            place = WarcPaths(self._folder, each)
            if not any(os.path.lexists(path) for path in (place.warc, place.growing, place.sidecar)):
                return each
        raise FileExistsError(f"{self._archive / names[-1]} exists already with other bytes")

    @contextmanager
    def _draft(self, folder: Path, what: str) -> Iterator[tuple[Path, BinaryIO]]:
        """Yield a new, locked file in the folder; the file is removed at the end unless it was renamed.

        The lock keeps another import into the collection, which begins meanwhile, from removing the file.
        """
        path = folder / f"{IMPORT_DRAFT}{os.getpid()}-{what}{DRAFT_SUFFIX}"
        path.unlink(missing_ok=True)
        with open(create_locked(path), "wb") as file:
            try:
                yield path, file
            finally:
                path.unlink(missing_ok=True)

    def _remove_drafts(self) -> None:
        for path in (
            *self._archive.glob(f"{IMPORT_DRAFT}*{DRAFT_SUFFIX}"),
            *self._indexes.glob(f"{IMPORT_DRAFT}*{DRAFT_SUFFIX}"),
        ):
            with suppress(FileNotFoundError), path.open("r+b") as file:
                if try_lock(file.fileno()):
                    path.unlink(missing_ok=True)
                    logger.warning("%s is removed: a killed import left it", path)


def packages_in(items: Iterable[ImportItem], done: Iterable[ImportedFile]) -> list[Path]:
    """Return the packages of which the collection now has a file, each once; `done` has the results in order."""
    results = zip(items, done, strict=False)  # an interrupted import has fewer results
    return list(
        dict.fromkeys(item.path for item, result in results if item.member and result.outcome != ImportOutcome.REFUSED)
    )


def check_space(settings: Settings, needed: int) -> None:
    """Raise ImportProblem when the copies don't fit into the home's file system."""
    free = free_bytes(settings.home)
    if needed > free:
        raise ImportProblem(
            f"the home {settings.home} has {human_bytes(free)} of free space, but the copies need "
            f"{human_bytes(needed)}; free some space, or import with --by-reference"
        )


def _findings(path: Path) -> _Findings:
    found = _Findings()
    for problem in check(path):
        if problem.message == SHARED_MEMBER:
            found.shares_members = True
            continue
        if problem.record_id:
            found.ids.add(problem.record_id)
        found.add(f"at offset {problem.offset}: {problem.words}")
    return found


def _conversion_finding(done: Converted, damage: WarcError | None, *, is_har: bool) -> str:
    """Return the finding that says what was converted, and why."""
    converted = f"its {counted(done.taken, 'record')} {'was' if done.taken == 1 else 'were'} converted"
    if done.is_arc:
        return f"the file is ARC; {converted}"
    if is_har:
        lost = f"{done.lost:,} {'entry was' if done.lost == 1 else 'entries were'} left out"
        return f"the file is HAR; {counted(done.taken, 'exchange')} became records, and {lost}"
    why = f" at offset {damage.offset}: {damage.reason}" if damage else ""
    return f"the file is damaged{why}; {converted}, as warcio reads them"


def _is_unknown_to_dedup(sidecar: Path) -> bool:
    """Return whether a response has no buckets: dedup skips the response, or it was imported without dedup."""
    with sidecar.open("rb") as lines:
        return any(b'"buckets":[]' in line and b'"kind":' not in line for line in lines)


def _is_acceptable(capture: Capture) -> bool:
    try:
        acceptable(capture)
    except ValueError as error:
        logger.warning("a capture was left out of the index: %s", error)
        return False
    return True


def _imported(wanted: ImportItem, place: WarcPaths, count: int, left_out: int, found: _Findings) -> ImportedFile:
    return ImportedFile(
        str(wanted), ImportOutcome.IMPORTED, place.name, count, left_out, found.count, tuple(found.first)
    )


def _names(name: str, digest: str) -> tuple[str, ...]:
    """Return the names that a file may get in the collection: a safe form of its own, and two with its digest."""
    safe = _UNSAFE.sub("_", name).lstrip(".-_") or "import.warc"
    ending = next((ending for ending in ENDINGS if safe.endswith(ending)), ".warc")
    stem = safe.removesuffix(ending)[:_NAME_LENGTH] or "import"
    return f"{stem}{ending}", f"{stem}-{digest[:8]}{ending}", f"{stem}-{digest[:64]}{ending}"


def _make_durable(file: BinaryIO) -> None:
    file.flush()
    os.fsync(file.fileno())


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
