"""Originals and lengths survive the few bytes that Redis keeps of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.capture import Original
from dedupdb.claims.packing import file_key, file_key_in, pack_length, pack_original, unpack_original

UUID = "11112222-3333-4444-5555-666677778888"


@given(
    record_id=st.uuids().map(str)
    | st.uuids().map(lambda number: str(number).upper())
    | st.text(min_size=1, max_size=60),
    url=st.text(st.characters(exclude_categories=["Cs"])),
    date=st.integers(-(2**63), 2**63 - 1),
)
def test_an_original_survives_packing(record_id: str, url: str, date: int) -> None:
    assert unpack_original(pack_original(Original(record_id, url, date)), {}) == Original(record_id, url, date)


@given(name=st.text(min_size=1), offset=st.integers(0, 2**48 - 1), record_id=st.sampled_from([UUID, "x" * 254]))
def test_its_place_does_too_where_the_files_name_is_known(name: str, offset: int, record_id: str) -> None:
    packed = pack_original(Original(record_id, "http://example.org/", 1, name, offset))
    key = file_key_in(packed)
    assert key == file_key(name)
    found, lost = unpack_original(packed, {key: name}), unpack_original(packed, {})
    assert found == lost == Original(record_id, "http://example.org/", 1)
    assert ((found.filename, found.offset), (lost.filename, lost.offset)) == ((name, offset), ("", 0))


@given(st.integers(0, 2**63), st.integers(0, 2**63))
def test_different_lengths_pack_differently(one: int, other: int) -> None:
    assert (pack_length(one) == pack_length(other)) == (one == other)


def test_a_usual_original_takes_40_bytes_besides_its_url() -> None:
    usual = Original(UUID, "http://example.org/", 1_700_000_000_123_456)
    assert len(pack_original(usual)) == 25 + len(usual.url)
    assert len(pack_original(replace(usual, filename="a-long-name.warc.gz", offset=7))) == 40 + len(usual.url)


@pytest.mark.parametrize("record_id", ["", "x" * 255])
def test_a_record_id_that_can_not_be_packed_is_refused(record_id: str) -> None:
    with pytest.raises(ValueError, match="1 to 254 can be kept"):
        pack_original(Original(record_id, "http://example.org/", 0))
