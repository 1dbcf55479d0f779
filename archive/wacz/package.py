"""A package is a ZIP file with WARC files, an index, lists of pages, and a description with a checksum for each file.

The layout is that of WACZ 1.1.1 (https://specs.webrecorder.net/wacz/1.1.1/). WARC files and compressed indexes are
stored without a further compression, so that a player reads records by their position in the package.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, BinaryIO, Final

from archive.dates import iso_second, now_micros
from archive.version import SOFTWARE
from archive.wacz.signature import SigningKey

WACZ_VERSION: Final = "1.1.1"
DESCRIPTION: Final = "datapackage.json"
DIGEST: Final = "datapackage-digest.json"
_LARGE: Final = (1 << 31) - 1
"""Larger members have ZIP64 fields, in both of their headers."""


@dataclass(frozen=True, slots=True)
class PackageMember:
    """The member is one file of a package: its path, its size in bytes and its SHA-256 in hexadecimal digits."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class PackageTitle:
    """The title describes a package to its readers. `main_page_date` is in the form of a WARC-Date."""

    title: str
    description: str = ""
    main_page_url: str = ""
    main_page_date: str = ""
    further: Mapping[str, Any] = field(default_factory=dict)
    """Further fields of datapackage.json, such as keywords and licenses of Frictionless Data Package v1."""


class PackageWriter:
    """The writer adds members to a new package, one after the other. `file` is empty and can be searched."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=True)
        self._created = now_micros()
        self.members: list[PackageMember] = []

    def add(self, path: str, pieces: Iterable[bytes], size: int, *, is_compressed: bool = False) -> PackageMember:
        """Add a file from its pieces, which have `size` bytes in all.

        With `is_compressed` the member is compressed, which does for texts that are read as a whole. Raises OSError.
        """
        sha256, written = hashlib.sha256(), 0
        info = zipfile.ZipInfo(path, datetime.fromtimestamp(self._created // 1_000_000, UTC).timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED if is_compressed else zipfile.ZIP_STORED
        info.external_attr = 0o644 << 16
        # ReplayWeb.page computes the place of a member without ZIP64 fields in the central directory as if the local
        # header had none either. zipfile adds them to the local header alone for sizes a little below the limit.
        info.file_size = size if size > _LARGE else 0
        with self._zip.open(info, "w") as member:
            for piece in pieces:
                sha256.update(piece)
                member.write(piece)
                written += len(piece)
        added = PackageMember(path, written, sha256.hexdigest())
        self.members.append(added)
        return added

    def finish(self, title: PackageTitle, key: SigningKey | None = None) -> None:
        """Write the description and its digest, which `key` signs, and end the ZIP file. Raises OSError."""
        facts = {
            "profile": "data-package",
            "wacz_version": WACZ_VERSION,
            "title": title.title,
            "description": title.description,
            "mainPageUrl": title.main_page_url,
            "mainPageDate": title.main_page_date,
            "created": iso_second(self._created),
            "software": SOFTWARE,
            **title.further,
            "resources": [
                {
                    "name": each.path.rpartition("/")[2].lower(),
                    "path": each.path,
                    "hash": f"sha256:{each.sha256}",
                    "bytes": each.size,
                }
                for each in self.members
            ],
        }
        text = json.dumps({name: value for name, value in facts.items() if value != ""}, indent=2).encode()
        described = self.add(DESCRIPTION, (text,), len(text), is_compressed=True)
        digest = f"sha256:{described.sha256}"
        said: dict[str, object] = {"path": DESCRIPTION, "hash": digest}
        if key is not None:
            said["signedData"] = {
                "hash": digest,
                "signature": key.sign(digest),
                "publicKey": key.public,
                "created": iso_second(self._created),
                "software": SOFTWARE,
            }
        raw = json.dumps(said, indent=2).encode()
        self.add(DIGEST, (raw,), len(raw), is_compressed=True)
        self._zip.close()
