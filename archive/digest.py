"""This module has the digest algorithms, and their labels and encodings in records and index lines. No I/O.

Labels and encodings are those of the community's recommendation on WARC/1.1 (iipc/warc-specifications#80): SHA-1 in
upper-case base32, as in nearly every archive, all others in lower-case base16. SHA-256 is found as `sha256:` or
`sha-256:`, in base16 or base32; warcio and FastWARC both verify the form that is written here. Other programs report
BLAKE3 as unknown so far. An index has SHA-1 without its label, as pywb does.
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
    """A hasher has the part of the interface of hashlib's objects that is used here."""

    def update(self, data: bytes | bytearray | memoryview, /) -> object:
        """Take more bytes."""

    def digest(self) -> bytes:
        """Return the digest of what was taken."""


def _spread() -> Iterator[tuple[int, int, int]]:
    """Yield for each step the masks of the lower and the upper halves, and the shift of the upper ones."""
    together, room = 160, 256
    while together > 5:
        together, room = together // 2, room // 2
        lower = sum(((1 << together) - 1) << at for at in range(0, 256, 2 * room))
        yield lower, lower << together, room - together


_SPREAD: Final = tuple(_spread())


def _blake3() -> Hasher:
    from blake3 import blake3  # loaded only where it is used

    made: Hasher = blake3()
    return made


NEW_HASHER: Final[Mapping[Algorithm, Callable[[], Hasher]]] = {
    "sha1": hashlib.sha1(usedforsecurity=False).copy,
    "sha256": hashlib.sha256().copy,
    "blake3": _blake3,
}
"""Makes a hasher, for each algorithm that records can be written with. A copy costs less than a new hasher."""


def hasher(algorithm: str) -> Hasher:
    """Return a new hasher for the algorithm of a digest that was read, as `parse` names it. Raises ValueError."""
    return _blake3() if algorithm == "blake3" else hashlib.new(algorithm, usedforsecurity=False)


def labelled(algorithm: str, digest: bytes) -> str:
    """Return the digest in the form of record fields: `sha1:BASE32`, or `algorithm:base16` for all others."""
    return f"{algorithm}:{base32(digest) if algorithm == 'sha1' else digest.hex()}"


def index_text(algorithm: str, digest: bytes) -> str:
    """Return the digest in the form of index lines."""
    return labelled(algorithm, digest).removeprefix("sha1:")


def algorithm_of(index_digest: str | None) -> str:
    """Return the algorithm of an index line's digest: SHA-1 for a digest without label, and without a digest."""
    label, colon, _ = (index_digest or "").partition(":")
    return label if colon else DEFAULT_ALGORITHM


def parse(said: str) -> tuple[str, bytes | None]:
    """Return algorithm and raw value of a labelled digest of any program, such as `sha1:BASE32` or `SHA-256:base16`.

    The algorithm is "" when it is unknown. The value is None when it can't be read.
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
    """Return whether two labelled digests are equal. Digests of two algorithms are not."""
    algorithm, value = parse(said)
    return (algorithm, value) == parse(other) and value is not None


def as_indexed(said: str) -> str | None:
    """Return a record's labelled digest in the form of index lines; unchanged when its algorithm is unknown.

    Return None for a digest that can't be read or has no label.
    """
    algorithm, value = parse(said)
    if value is not None:
        return index_text(algorithm, value)
    return said if not algorithm and _LABELLED.fullmatch(said) else None


def base32(digest: bytes) -> str:
    """Return a SHA-1 in base32 (RFC 4648 section 6), in a third of the time that the standard library takes.

    Every exchange has four such digests. The 160 bits are spread to 32 bytes of 5 bits in five steps. Each step cuts
    every group of bits in half, and moves the upper half up.
    """
    bits = _int(digest)
    for lower, upper, shift in _SPREAD:
        bits = bits & lower | (bits & upper) << shift
    return bits.to_bytes(32).translate(_LETTERS).decode()
