"""Digests as records and index lines name them: which algorithms there are, how each is labelled and encoded. Pure.

Labels and encodings are those of the community's recommendation on WARC/1.1 (iipc/warc-specifications#80): SHA-1 in
upper-case base32, as nearly every archive has it, all others in lower-case base16. Of the forms of SHA-256 that are
found in the wild (`sha256:` or `sha-256:`, base16 or base32) warcio and FastWARC both verify this one. BLAKE3 is
verified by us alone so far: others say that they don't know it. An index names SHA-1 without its label, as pywb does.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Literal, Protocol

type Algorithm = Literal["sha1", "sha256", "blake3"]
DEFAULT_ALGORITHM: Final = "sha1"
_LABELLED: Final = re.compile(r"\s*([A-Za-z0-9-]{1,32}):(.*)", re.DOTALL)
_KNOWN: Final = frozenset(
    name for name in hashlib.algorithms_guaranteed if not name.startswith("shake") and "_" not in name
) | {"blake3"}
_LETTERS: Final = bytes.maketrans(bytes(range(32)), b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
_int: Final = int.from_bytes


class Hasher(Protocol):
    """The part of hashlib's objects used here."""

    def update(self, data: bytes | bytearray | memoryview, /) -> object:
        """Takes more bytes."""

    def digest(self) -> bytes:
        """The digest of what was taken."""


def _spread() -> Iterator[tuple[int, int, int]]:
    """For each step the masks of the lower and the upper halves, and by how much the upper ones move."""
    together, room = 160, 256
    while together > 5:
        together, room = together // 2, room // 2
        lower = sum(((1 << together) - 1) << at for at in range(0, 256, 2 * room))
        yield lower, lower << together, room - together


_SPREAD: Final = tuple(_spread())


def _blake3() -> Hasher:
    from blake3 import blake3  # only who asks for it pays for loading it

    made: Hasher = blake3()
    return made


NEW_HASHER: Final[Mapping[Algorithm, Callable[[], Hasher]]] = {
    "sha1": hashlib.sha1(usedforsecurity=False).copy,
    "sha256": hashlib.sha256().copy,
    "blake3": _blake3,
}
"""What makes a hasher, for each algorithm that records can be written with. A copy costs less than a new one."""


def hasher(algorithm: str) -> Hasher:
    """A new hasher for the algorithm of a digest that was read, as `parse` names it. Raises ValueError."""
    return _blake3() if algorithm == "blake3" else hashlib.new(algorithm, usedforsecurity=False)


def labelled(algorithm: str, digest: bytes) -> str:
    """The digest as a record's field has it: `sha1:BASE32`, else `algorithm:base16`."""
    return f"{algorithm}:{base32(digest) if algorithm == 'sha1' else digest.hex()}"


def index_text(algorithm: str, digest: bytes) -> str:
    """The digest as an index line has it."""
    return labelled(algorithm, digest).removeprefix("sha1:")


def algorithm_of(index_digest: str | None) -> str:
    """The algorithm that an index line's digest was made with: SHA-1 when it has no label, or is not known."""
    label, colon, _ = (index_digest or "").partition(":")
    return label if colon else DEFAULT_ALGORITHM


def parse(said: str) -> tuple[str, bytes | None]:
    """Algorithm and raw value of a labelled digest of anybody's, `sha1:BASE32` or `SHA-256:base16` for instance.

    The algorithm is "" when it is not known, the value None when it can't be read.
    """
    found = _LABELLED.fullmatch(said)
    algorithm = found[1].lower().replace("-", "") if found else ""
    if found is None or algorithm not in _KNOWN:
        return "", None
    size, text = len(hasher(algorithm).digest()), found[2].strip()
    try:
        if len(text) == 2 * size and not text.endswith("="):
            value = bytes.fromhex(text)
        else:
            value = base64.b32decode(text.upper() + "=" * (-len(text) % 8))
    except (ValueError, binascii.Error):
        return algorithm, None
    return algorithm, value if len(value) == size else None


def same(said: str, other: str) -> bool:
    """Whether two labelled digests name the same bytes; False too when their algorithms differ."""
    algorithm, value = parse(said)
    return (algorithm, value) == parse(other) and value is not None


def as_indexed(said: str) -> str | None:
    """A record's labelled digest as the index has it, in our encoding; as it is when its algorithm is not known.

    None for one that can't be read, or is not labelled.
    """
    algorithm, value = parse(said)
    if value is not None:
        return index_text(algorithm, value)
    return said if not algorithm and _LABELLED.fullmatch(said) else None


def base32(digest: bytes) -> str:
    """A SHA-1 as most WARC files write it (RFC 4648 section 6), in a third of the time the standard library takes.

    Every exchange has four of them. Its 160 bits are spread to 32 bytes of five, all at once: each step halves what
    stands together, and moves the upper halves up.
    """
    bits = _int(digest)
    for lower, upper, shift in _SPREAD:
        bits = bits & lower | (bits & upper) << shift
    return bits.to_bytes(32).translate(_LETTERS).decode()
