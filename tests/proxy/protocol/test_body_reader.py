"""Where a body ends, and what its payload is: the same however the bytes are cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from archive.http.chunked import MAX_LINE, PayloadReader, dechunk
from proxy.protocol.body_reader import BodyReader
from proxy.protocol.http1 import Framing


def read(framing: Framing, length: int, pieces: list[bytes], *, strict: bool = False) -> tuple[bytes, bytes, bool, str]:
    """The payload, what came behind the message, whether it is done, what broke it: after the pieces one by one."""
    payload, rest = bytearray(), bytearray()
    reader = BodyReader(framing, length, payload.__iadd__, strict=strict)
    for piece in pieces:
        taken = reader.feed(piece)
        assert reader.done or taken == len(piece)
        rest += piece[taken:]
    reader.finish()
    return bytes(payload), bytes(rest), reader.done, reader.broken


def cut(data: bytes, places: list[int]) -> list[bytes]:
    """The bytes in pieces, none of them empty."""
    bounds = sorted({0, len(data), *(place % (len(data) + 1) for place in places)})
    return [data[start:stop] for start, stop in pairwise(bounds)]


cuts = st.lists(st.integers(0, 1 << 16), max_size=8)


def test_trailers_are_remembered_within_bounds() -> None:
    reader = BodyReader(Framing.CHUNKED, 0, lambda _: None)
    assert reader.trailers == ()
    reader.feed(b"1\r\na\r\n0\r\nA : 1 \r\nb:\r\n")
    assert reader.trailers == ((b"A", b"1"), (b"b", b""))
    for number in range(100):
        reader.feed(b"C: %d%b\r\n" % (number, b"x" * 10_000))
    assert len(reader.trailers) == 2 + 6
    reader.feed(b"\r\n")
    assert reader.done


class TestBody:
    def test_of_no_bytes_is_done_at_once(self) -> None:
        assert read(Framing.NONE, 0, [b"next"]) == (b"", b"next", True, "")
        assert read(Framing.LENGTH, 0, [b"next"]) == (b"", b"next", True, "")

    @given(st.binary(max_size=40), st.binary(max_size=10), cuts)
    def test_by_length_ends_there(self, body: bytes, behind: bytes, places: list[int]) -> None:
        found = read(Framing.LENGTH, len(body), cut(body + behind, places))

        assert found == (body, behind, True, "")

    @given(st.binary(max_size=40), cuts)
    def test_by_close_is_everything(self, body: bytes, places: list[int]) -> None:
        assert read(Framing.CLOSE, 0, cut(body, places)) == (body, b"", False, "")

    @given(
        st.lists(st.binary(min_size=1, max_size=30), max_size=4),
        st.sampled_from([b"", b";x=1", b' ; a="b"']),
        st.sampled_from([b"", b"X-Sum: 5\r\n", b"A: 1\r\nB: 2\r\n"]),
        st.binary(max_size=10),
        cuts,
    )
    def test_in_chunks_ends_behind_its_trailers_however_it_is_cut(
        self, pieces: list[bytes], extension: bytes, trailers: bytes, behind: bytes, places: list[int]
    ) -> None:
        body = b"".join(b"%X%b\r\n%b\r\n" % (len(piece), extension, piece) for piece in pieces)
        body += b"0%b\r\n%b\r\n" % (extension, trailers)

        for strict in (False, True):
            found = read(Framing.CHUNKED, 0, cut(body + behind, places), strict=strict)
            assert found == (b"".join(pieces), behind, True, "")

    @given(st.binary(max_size=60) | st.text("0123aF;\r\n x", max_size=60).map(str.encode), cuts)
    def test_in_chunks_or_not_has_the_payload_that_a_reader_of_the_archive_finds(
        self, body: bytes, places: list[int]
    ) -> None:
        payload, rest, done, broken = read(Framing.CHUNKED, 0, cut(body, places))

        assert (payload, rest, done, bool(broken)) == (*read(Framing.CHUNKED, 0, [body])[:3], bool(broken))
        taken = body[: len(body) - len(rest)]
        assert payload == b"".join(dechunk(cut(taken, places)))

    @pytest.mark.parametrize("excess", [0, 1])
    @pytest.mark.parametrize("size", [1 << 30, 1 << 16, 1000])
    @pytest.mark.parametrize(
        ("before", "line", "after"),
        [(b"", b"5;%b\r\n", b"hello\r\n0\r\n\r\n"), (b"5\r\nhello\r\n0\r\n", b"X:%b\r\n", b"\r\n")],
    )
    def test_may_have_lines_as_long_as_a_reader_of_the_archive_takes(
        self, before: bytes, line: bytes, after: bytes, size: int, excess: int
    ) -> None:
        longest = line % (b"y" * (MAX_LINE - len(line % b"") + excess))
        body = before + longest + after
        pieces = [body[at : at + size] for at in range(0, len(body), size)]
        decoder = PayloadReader()

        payload, _, done, _ = read(Framing.CHUNKED, 0, pieces)
        found = b"".join(part for piece in pieces for part in decoder.feed(piece)) + decoder.finish()

        assert (found, decoder.error is None) == (payload, done)
        assert done is not bool(excess)

    @given(st.text("0123aF;\r\n x", max_size=40).map(str.encode), cuts)
    def test_of_a_request_is_read_the_same_however_it_is_cut(self, body: bytes, places: list[int]) -> None:
        """And what strict reading takes for whole, lenient reading sees exactly so."""
        whole = read(Framing.CHUNKED, 0, [body], strict=True)
        in_pieces = read(Framing.CHUNKED, 0, cut(body, places), strict=True)

        assert (in_pieces[0], bool(in_pieces[3])) == (whole[0], bool(whole[3]))
        if whole[2]:
            assert in_pieces == whole == read(Framing.CHUNKED, 0, [body])

    @pytest.mark.parametrize(
        "body",
        [
            pytest.param(b"0x5\r\nhello\r\n0\r\n\r\n", id="0x"),
            pytest.param(b"+5\r\nhello\r\n0\r\n\r\n", id="plus"),
            pytest.param(b"-5\r\nhello\r\n0\r\n\r\n", id="minus"),
            pytest.param(b"5_0\r\nhello\r\n0\r\n\r\n", id="underscore"),
            pytest.param(b" 5\r\nhello\r\n0\r\n\r\n", id="space before the size"),
            pytest.param(b"5 \r\nhello\r\n0\r\n\r\n", id="space behind the size"),
            pytest.param(b"5\nhello\r\n0\r\n\r\n", id="bare LF behind the size"),
            pytest.param(b"5\r\nhello\n0\r\n\r\n", id="bare LF behind the chunk"),
            pytest.param(b"5\r\nhello\r\r\n0\r\n\r\n", id="two CRs behind the chunk"),
            pytest.param(b"5\r\nhelloX\r\n0\r\n\r\n", id="a byte too many"),
            pytest.param(b"5\r\nhello\r\n0\r\n\n", id="bare LF as the end"),
            pytest.param(b"5\r\nhello\r\n0\r\nA: b\n\r\n", id="bare LF in the trailers"),
            pytest.param(b"5\r\nhello\r\n0\r\nA: b\x00\r\n\r\n", id="NUL in the trailers"),
            pytest.param(b"5;\x00\r\nhello\r\n0\r\n\r\n", id="NUL in the extension"),
            pytest.param(b"5;a\rb\r\nhello\r\n0\r\n\r\n", id="CR in the extension"),
            pytest.param(b"\r\n5\r\nhello\r\n0\r\n\r\n", id="an empty line first"),
            pytest.param(b"10000000000000005\r\nhello\r\n0\r\n\r\n", id="more than 64 bits"),
            pytest.param(b"5;" + b"x" * 70_000, id="an extension without end"),
        ],
    )
    def test_of_a_request_with_odd_chunks_is_broken(self, body: bytes) -> None:
        _, _, done, broken = read(Framing.CHUNKED, 0, [body], strict=True)

        assert broken
        assert not done

    @pytest.mark.parametrize(
        "body",
        [
            b" 5 ;x\nhello\n0\n\n",
            b"5\r\r\nhello\r\r\n0\r\n\r\n",
            b"00005\r\nhello\r\n000\r\n\r\n",
            b"5;" + b"x" * 60_000 + b"\r\nhello\r\n0\r\n\r\n",
        ],
    )
    def test_of_a_response_with_odd_chunks_is_read(self, body: bytes) -> None:
        assert read(Framing.CHUNKED, 0, [body]) == (b"hello", b"", True, "")

    def test_that_was_never_in_chunks_is_payload_as_it_stands(self) -> None:
        page = b"<html>\nno chunks at all\n</html>"

        payload, _, done, broken = read(Framing.CHUNKED, 0, [page])

        assert (payload, done) == (page, False)
        assert broken == "bad chunk size b'<html>\\n'"

    def test_payload_ends_where_the_chunks_break(self) -> None:
        payload, _, done, broken = read(Framing.CHUNKED, 0, [b"5\r\nhello\r\nmoss", b"\r\nmore"])

        assert (payload, done, broken) == (b"hello", False, "bad chunk size b'moss\\r\\n'")

    def test_payload_can_go_elsewhere_from_now_on(self) -> None:
        first, second = bytearray(), bytearray()
        reader = BodyReader(Framing.LENGTH, 10, first.__iadd__)

        reader.feed(b"hello")
        reader.payload_to(second.__iadd__)
        reader.feed(b"world")

        assert (bytes(first), bytes(second)) == (b"hello", b"world")
