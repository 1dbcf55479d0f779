"""A spool keeps the bytes of a message while they pass, first in memory, then on disk, and hashes them."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, cast

from archive.capture import NO_BODY, Body, Digests, Message
from archive.digest import DEFAULT_ALGORITHM, NEW_HASHER, Algorithm, Hasher


class Spool:
    """Collects one HTTP message. Beyond `limit` bytes the body moves to an unnamed file in `folder`."""

    __slots__ = (
        "_block",
        "_file",
        "_folder",
        "_limit",
        "_needs_sha256",
        "_parts",
        "_payload",
        "_sha256",
        "algorithm",
        "head",
        "length",
        "payload_length",
    )

    def __init__(
        self, limit: int, folder: Path, algorithm: Algorithm = DEFAULT_ALGORITHM, *, needs_sha256: bool = True
    ) -> None:
        """`algorithm` is that of the digests which the records name. `needs_sha256`: dedup will want the SHA-256."""
        self._limit = limit
        self._folder = folder
        self._parts: list[bytes] = []
        self._file: BinaryIO | None = None
        self.head = b""
        self.length = 0
        self.algorithm = algorithm
        self._needs_sha256 = needs_sha256
        self._block: Hasher | None = None
        """Hashing begins with the body, since most requests have no body."""
        self._payload: Hasher | None = None
        self._sha256: Hasher | None = None
        self.payload_length = 0

    def start(self, head: bytes) -> None:
        """Spool the head, byte for byte."""
        self.head = head

    def add(self, data: bytes) -> None:
        """Spool the next bytes of the body as on the wire. Raises OSError when the spool's disk is full."""
        (self._block or self._begin_block()).update(data)
        self.length += len(data)
        if self._file is None:
            self._parts.append(data)
            if self.length > self._limit:
                self._to_disk()
        else:
            self._file.write(data)

    def add_payload(self, data: bytes | memoryview) -> None:
        """Hash the next bytes of the body with its transfer coding removed."""
        self.payload_length += len(data)
        (self._payload or self._begin_payload()).update(data)
        if self._sha256 is not None:
            self._sha256.update(data)

    def message(self) -> Message:
        """Return what has been collected so far. Its body stays readable until `close`."""
        if self._file is not None:
            self._file.flush()
        if not self.length:
            return Message(self.head, NO_BODY)
        return Message(self.head, Body(tuple(self._parts), self._file, self.length))

    def digests(self) -> Digests:
        """Return the digests of the bytes so far; the SHA-256 is empty when it was not asked for."""
        block, payload = self._block or self._begin_block(), (self._payload or self._begin_payload()).digest()
        sha256 = self._sha256.digest() if self._sha256 else payload if self.algorithm == "sha256" else b""
        return Digests(block.digest(), payload, sha256, self.payload_length, self.algorithm)

    def close(self) -> None:
        """Drop the bytes, and close the file."""
        self._parts.clear()
        if self._file is not None:
            with suppress(OSError):  # on a full disk closing fails to write bytes that are not needed any more
                self._file.close()
            self._file = None

    def _begin_block(self) -> Hasher:
        self._block = block = NEW_HASHER[self.algorithm]()
        block.update(self.head)
        return block

    def _begin_payload(self) -> Hasher:
        self._payload = payload = NEW_HASHER[self.algorithm]()
        if self._needs_sha256 and self.algorithm != "sha256":
            self._sha256 = NEW_HASHER["sha256"]()
        return payload

    def _to_disk(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        # On Linux it never has a name, which a kill could leave behind.
        self._file = file = cast(BinaryIO, tempfile.TemporaryFile(dir=self._folder, buffering=1 << 18))  # noqa: SIM115 - closed by close()
        for part in self._parts:
            file.write(part)
        self._parts.clear()


class RedactingSpool(Spool):
    """Collects a message whose recorded head lacks the values of some headers. Digests are of what is recorded."""

    __slots__ = ("_redact",)

    def __init__(
        self, limit: int, folder: Path, algorithm: Algorithm, redact: Callable[[bytes], tuple[bytes, object]]
    ) -> None:
        super().__init__(limit, folder, algorithm)
        self._redact = redact

    def start(self, head: bytes) -> None:
        """Spool the head without the values."""
        super().start(self._redact(head)[0])


class DiscardingSpool(Spool):
    """Counts the bytes of a message that is only relayed, and keeps none."""

    __slots__ = ()

    def start(self, head: bytes) -> None:
        """Note the head."""
        self.head = head

    def add(self, data: bytes) -> None:
        """Count the next bytes of the body."""
        self.length += len(data)

    def add_payload(self, data: bytes | memoryview) -> None:
        """Count the same bytes without their transfer coding."""
        self.payload_length += len(data)
