"""archive/digest.py: digests as records and indexes name them, ours and others'."""

from __future__ import annotations

import base64
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.digest import NEW_HASHER, Algorithm, algorithm_of, as_indexed, base32, index_text, labelled, parse, same

SHA1 = hashlib.sha1(b"abc").digest()
SHA256 = hashlib.sha256(b"abc").digest()


@pytest.mark.parametrize(
    ("algorithm", "text", "indexed"),
    [
        ("sha1", "sha1:VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5", "VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5"),
        ("sha256", "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", None),
        ("blake3", "blake3:6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85", None),
    ],
)
def test_each_algorithm_has_its_label_and_encoding(algorithm: Algorithm, text: str, indexed: str | None) -> None:
    taken = NEW_HASHER[algorithm]()
    taken.update(b"a")
    taken.update(memoryview(b"bc"))

    assert labelled(algorithm, taken.digest()) == text
    assert index_text(algorithm, taken.digest()) == (indexed or text)
    assert parse(text) == (algorithm, taken.digest())
    assert algorithm_of(indexed or text) == algorithm


@given(st.binary(min_size=20, max_size=20))
def test_base32_is_that_of_the_standard_library(digest: bytes) -> None:
    assert base32(digest) == base64.b32encode(digest).decode()


@pytest.mark.parametrize(
    ("said", "found"),
    [
        (f"SHA-1:{SHA1.hex()}", ("sha1", SHA1)),
        (f"sha1:{base64.b32encode(SHA1).decode().lower()}", ("sha1", SHA1)),
        (f"sha-256:{SHA256.hex().upper()}", ("sha256", SHA256)),
        (f"sha256:{base64.b32encode(SHA256).decode()}", ("sha256", SHA256)),
        (f"sha256:{base64.b32encode(SHA256).decode().rstrip('=')}", ("sha256", SHA256)),
        (f"md5:{hashlib.md5(b'abc').hexdigest()}", ("md5", hashlib.md5(b"abc").digest())),
        (f"md5:{base64.b32encode(hashlib.md5(b'abc').digest()).decode()}", ("md5", hashlib.md5(b"abc").digest())),
        (f"sha512:{hashlib.sha512(b'abc').hexdigest()}", ("sha512", hashlib.sha512(b"abc").digest())),
        ("sha1:short", ("sha1", None)),
        ("sha1:", ("sha1", None)),
        ("crc32:00", ("", None)),
        ("VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5", ("", None)),
        ("", ("", None)),
    ],
)
def test_digests_of_others_are_read(said: str, found: tuple[str, bytes | None]) -> None:
    assert parse(said) == found


def test_the_same_bytes_are_known_in_whatever_encoding_and_never_across_algorithms() -> None:
    assert same(f"SHA-1:{SHA1.hex()}", labelled("sha1", SHA1))
    assert not same(labelled("sha1", SHA1), labelled("sha256", SHA256))
    assert not same("crc32:00", "crc32:00"), "nobody can tell"


@pytest.mark.parametrize(
    ("said", "indexed"),
    [
        (f"sha1:{SHA1.hex()}", "VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5"),
        (f"SHA-256:{SHA256.hex().upper()}", f"sha256:{SHA256.hex()}"),
        ("crc32:00", "crc32:00"),
        ("sha1:short", None),
        ("bare", None),
        ("", None),
    ],
)
def test_an_index_has_one_form_of_a_digest(said: str, indexed: str | None) -> None:
    assert as_indexed(said) == indexed
