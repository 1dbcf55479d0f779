"""A foreign package is read here: its WARC files, its checksums and its lists of pages. Nothing in it is trusted.

The directory of the ZIP file, each line of a list and each text have a largest size. Names are never used as paths.
"""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, Any, BinaryIO, Final, Self, cast

from archive.dates import iso_date, parse_date
from archive.json_text import parsed_object
from archive.names.warc_paths import ENDINGS
from archive.wacz.package import DESCRIPTION
from archive.wacz.pages import EXTRA_PAGES, PAGES, ArchivedPage

MOST_DIRECTORY: Final = 8 << 20
"""Bytes of the list of files at the end of a package, which is about 80,000 files."""
MOST_WARCS: Final = 5_000
"""WARC files of a package. Each one is copied, checked and indexed by itself."""
MOST_PAGES: Final = 1_000_000
"""Further pages of a list are not read."""
MOST_TEXT: Final = 500_000
"""Characters of a page's text that are kept."""
_MOST_LINE: Final = 4 << 20
"""Longer lines of a list of pages are left out."""
_MOST_DESCRIPTION: Final = 64 << 20
_LONGEST: Final = 65_536
_SHA256: Final = re.compile(r"sha256:([0-9a-fA-F]{64})")
_MULTI: Final = "multi-wacz-package"
_METHODS: Final = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""Methods for which `zipfile` bounds what it unpacks at once. For others, the packed bytes alone decide how much."""


type Report = Callable[[str], object]
"""The function is called with each thing that was left out: its place and the reason."""


def _unreported(said: str) -> None:
    """Report nothing."""


def _named(report: Report, name: str, said: str) -> None:
    report(f"{name} {said}")


class PackageError(ValueError):
    """The file is no package that can be read. The message says why."""


@dataclass(frozen=True, slots=True)
class PackagedWarc:
    """A WARC file in a package has its member's name, its size in bytes, and the SHA-256 that the package promises."""

    member: str
    size: int
    sha256: str = ""
    """Hexadecimal; empty when the package promises none."""


class _Bounded(io.RawIOBase):
    """A file of which no single read returns more than MOST_DIRECTORY bytes, as for a list of a million names."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        if size <= MOST_DIRECTORY:
            found = self._file.read(size if size >= 0 else MOST_DIRECTORY + 1)
            if len(found) <= MOST_DIRECTORY:
                return found
        raise PackageError(f"its list of files has more than {MOST_DIRECTORY:,} bytes")

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        return self._file.tell()

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def close(self) -> None:
        self._file.close()
        super().close()


class ForeignPackage:
    """The package is open for reading; use it as a context manager."""

    def __init__(self, path: Path) -> None:
        """Raise PackageError for a file that is no package, and OSError."""
        file = _Bounded(path.open("rb"))
        try:
            self._zip = zipfile.ZipFile(cast(IO[bytes], file))
        except PackageError:
            file.close()
            raise
        except (zipfile.BadZipFile, NotImplementedError, ValueError) as error:
            file.close()
            raise PackageError(f"it is not a WACZ package: {error}") from error
        except BaseException:
            file.close()
            raise
        self._file = file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._zip.close()
        self._file.close()

    @property
    def fingerprint(self) -> str:
        """Return eight hexadecimal digits that packages with other files do not share."""
        names = sorted(f"{each.CRC:08x} {each.filename}\n" for each in self._zip.infolist())
        return hashlib.sha256("".join(names).encode("utf-8", "replace")).hexdigest()[:8]

    def warcs(self) -> list[PackagedWarc]:
        """Return the WARC files in the folder `archive/`. Raises PackageError when there are none."""
        promised = self._promised()
        found = [
            PackagedWarc(each.filename, each.file_size, promised.get(each.filename, ""))
            for each in self._zip.infolist()
            if each.filename.startswith("archive/") and each.filename.endswith(ENDINGS)
        ]
        if not found and any(each.filename.endswith(".wacz") for each in self._zip.infolist()):
            raise PackageError("it contains other packages; unpack it, and import these")
        if not found:
            raise PackageError("it has no WARC files in its folder archive/")
        if len(found) > MOST_WARCS:
            raise PackageError(f"it has {len(found):,} WARC files; split it into packages of at most {MOST_WARCS:,}")
        return found

    @contextmanager
    def open(self, member: str) -> Iterator[BinaryIO]:
        """Yield a member for reading. Raises PackageError for one that can't be opened, and so may reading."""
        try:
            if (method := self._zip.getinfo(member).compress_type) not in _METHODS:
                raise PackageError(f"the file is compressed by method {method}; pack it with stored or deflated files")
            opened = self._zip.open(member)
        except (KeyError, NotImplementedError, RuntimeError, zipfile.BadZipFile) as error:
            raise PackageError(f"the file can't be unpacked: {error}") from error
        with opened:
            yield cast(BinaryIO, opened)

    def pages(self, report: Report = _unreported) -> Iterator[ArchivedPage]:
        """Yield the pages of both lists, at most a million of each. What is no page is reported and left out."""
        for name in (PAGES, EXTRA_PAGES):
            try:
                with self.open(name) as member:
                    yield from read_pages(member, are_seeds=name == PAGES, report=partial(_named, report, name))
            except PackageError as error:
                if name in self._zip.namelist():
                    report(f"{name} can't be read: {error}")

    def flaws(self) -> Iterator[str]:
        """Yield what can't be used of the package's description."""
        names = set(self._zip.namelist())
        if DESCRIPTION not in names:
            yield f"{DESCRIPTION} is missing, so no checksum of the package was compared"
            return
        said = self._description()
        listed = said.get("resources")
        if not isinstance(listed, list):
            yield f"{DESCRIPTION} has no list of resources, so no checksum of the package was compared"
            return
        for number, each in enumerate(listed, 1):
            path, digest = (each.get("path"), each.get("hash")) if isinstance(each, dict) else (None, None)
            where = f"{DESCRIPTION} resource {number}"
            if not isinstance(path, str):
                yield f"{where} names no path"
            elif path not in names:
                yield f"{where} names {path[:200]!r}, which the package lacks"
            elif path.startswith("archive/") and not _SHA256.fullmatch(str(digest)):
                yield f"{where} has the hash {str(digest)[:80]!r} for {path[:200]!r}, which is no SHA-256 to compare"

    def _description(self) -> dict[str, Any]:
        try:
            with self.open(DESCRIPTION) as member:
                found = member.read(_MOST_DESCRIPTION + 1)
        except (PackageError, zipfile.BadZipFile, EOFError, zlib.error):
            return {}
        return parsed_object(found) if len(found) <= _MOST_DESCRIPTION else {}

    def _promised(self) -> dict[str, str]:
        """Return the SHA-256 of each member that the description names."""
        listed = self._description().get("resources")
        found = {}
        for each in listed if isinstance(listed, list) else []:
            digest = _SHA256.fullmatch(str(each.get("hash"))) if isinstance(each, dict) else None
            if digest:
                found[str(each.get("path"))] = digest[1].lower()
        return found


def read_pages(lines: IO[bytes], *, are_seeds: bool = False, report: Report = _unreported) -> Iterator[ArchivedPage]:
    """Yield the pages of a list. Lines that are no page, or longer than 4 MiB, are reported and left out.

    `are_seeds` is what counts for pages that do not say so themselves. A list that can't be unpacked ends early.
    """
    count = number = 0
    try:
        while line := lines.readline(_MOST_LINE):
            number += 1
            if count == MOST_PAGES:
                report(f"line {number}: the list has more than {MOST_PAGES:,} pages; the others were left out")
                return
            if not line.endswith(b"\n") and len(line) == _MOST_LINE:
                while (rest := lines.readline(_MOST_LINE)) and not rest.endswith(b"\n"):
                    pass
                report(f"line {number}: it has more than {_MOST_LINE:,} bytes")
                continue
            if not line.strip():
                continue
            text = line.decode("utf-8", "replace")
            said = parsed_object(text)
            if "format" in said and "url" not in said:
                continue  # the head of the list
            page = _page(said, are_seeds=are_seeds)
            if isinstance(page, str):
                report(f"line {number}: {page}: {text.strip()[:60]!r}")
                continue
            if "\ufffd" in text and not _is_utf8(line):
                report(f"line {number}: it is not UTF-8; the page is listed with U+FFFD for each wrong byte")
            count += 1
            yield page
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        report(f"line {number + 1}: the list can't be unpacked from here on: {error}")


def _is_utf8(line: bytes) -> bool:
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _page(said: dict[str, Any], *, are_seeds: bool) -> ArchivedPage | str:
    """Return the page of a line, or why the line is no page."""
    if not said:
        return "it is no JSON object"
    url, moment = said.get("url"), said.get("ts")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")) or len(url) > _LONGEST:
        return "it has no url of a web page"
    try:
        date = int(moment * 1000) if isinstance(moment, int | float) else parse_date(str(moment))
        iso_date(date)  # else the page's own line could not be written
    except (ValueError, OverflowError):
        return "it has no ts that is a date"
    status, depth, is_seed = said.get("status"), said.get("depth"), said.get("seed")
    return ArchivedPage(
        id=_text(said.get("id"), 200) or f"{date}-{url[:150]}",
        url=url,
        date=date,
        title=_text(said.get("title"), 500),
        mime=_text(said.get("mime"), 200),
        status=status if isinstance(status, int) and 0 < status < 1000 else None,
        depth=depth if isinstance(depth, int) and 0 <= depth < 10_000 else None,
        is_seed=is_seed if isinstance(is_seed, bool) else are_seeds,
        text=_text(said.get("text"), MOST_TEXT),
    )


def _text(value: object, most: int) -> str:
    return value[:most] if isinstance(value, str) else ""


def packages_of(path: Path) -> list[str]:
    """Return the paths of the packages that a multi-WACZ description (JSON) names; empty for another file.

    Raises PackageError for a description that is too large, and OSError.
    """
    if path.stat().st_size > _MOST_DESCRIPTION:
        raise PackageError(f"it has more than {_MOST_DESCRIPTION:,} bytes")
    said = parsed_object(path.read_bytes())
    listed = said.get("resources")
    if said.get("profile") != _MULTI or not isinstance(listed, list):
        return []
    return [str(each.get("path")) for each in listed if isinstance(each, dict)]
