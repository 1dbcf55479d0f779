"""archive/warc/records/record.py: every field of an exchange's records."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import replace
from typing import Any

import pytest
from support.archive.exchanges import DATE, HTML, digest, digests, exchange, fields, message, request, response, sha1

from archive.capture import Context, Digests, Exchange, Origin, Original, Unchanged
from archive.dates import iso_date
from archive.digest import Algorithm
from archive.warc.records.header import MAX_HEADER
from archive.warc.records.record import Record, exchange_records, parse_buckets

INFO = "6f1a7c1e-0000-4000-8000-000000000001"
ORIGINAL = Original("6f1a7c1e-0000-4000-8000-000000000002", "http://example.org/first", DATE - 7)


def pair(exchanged: Exchange, original: Original | None = None) -> tuple[Record, Record]:
    first, second = exchange_records(exchanged, warcinfo_id=INFO, original=original)
    return first, second


def test_response_and_request_say_alike_what_they_share() -> None:
    for record in pair(exchange("/a?b=c")):
        said = fields(record)
        assert said.get("WARC-Date") == "2026-11-21T08:15:00.000123Z"
        assert said.get("WARC-Target-URI") == "http://example.org/a?b=c"
        assert said.get("WARC-Warcinfo-ID") == f"<urn:uuid:{INFO}>"
        assert said.get("WARC-IP-Address") == "192.0.2.7"
        assert said.all("WARC-Protocol") == ["http/1.1", "tls/1.3"]
        assert said.get("WARC-Cipher-Suite") == "TLS_AES_128_GCM_SHA256"
        assert said.get("WARC-Page-ID") == "page-1"
        assert said.get("WARC-Job-ID") == "daily"
        assert said.get("WARC-Record-ID") == f"<urn:uuid:{record.record_id}>"
        assert said.get("Content-Length") == str(record.block_length) == str(len(b"".join(record.chunks())))
        assert said.get("WARC-Block-Digest") == sha1(b"".join(record.chunks()))


def test_response_and_request_are_tied_both_ways() -> None:
    first, second = pair(exchange())
    assert fields(first).all("WARC-Concurrent-To") == [f"<urn:uuid:{second.record_id}>"]
    assert fields(second).all("WARC-Concurrent-To") == [f"<urn:uuid:{first.record_id}>"]


def test_a_header_that_no_reader_of_ours_would_take_is_refused() -> None:
    fits = MAX_HEADER - len(pair(exchange("/"))[0].header)
    assert len(pair(exchange("/" + "x" * fits))[0].header) == MAX_HEADER
    with pytest.raises(ValueError, match=f"the response record's header has more than {MAX_HEADER} bytes"):
        pair(exchange("/" + "x" * (fits + 1)))


def test_response_has_its_own_fields() -> None:
    said = fields(pair(exchange())[0])
    assert said.get("WARC-Type") == "response"
    assert said.get("Content-Type") == "application/http;msgtype=response"
    assert said.get("WARC-Payload-Digest") == sha1(HTML)
    assert said.get("WARC-Truncated") is None


def test_request_without_body_has_no_payload_digest() -> None:
    said = fields(pair(exchange())[1])
    assert said.get("WARC-Type") == "request"
    assert said.get("Content-Type") == "application/http;msgtype=request"
    assert said.get("WARC-Payload-Digest") is None


def test_payload_digest_of_an_upload_covers_its_body() -> None:
    said = fields(pair(exchange(method="POST", request=request("/", "POST", b"name=value")))[1])
    assert said.get("WARC-Payload-Digest") == sha1(b"name=value")


def test_payload_digest_of_a_chunked_upload_leaves_the_chunks_out() -> None:
    upload = message("POST / HTTP/1.1", "Transfer-Encoding: chunked", body=b"4\r\nname\r\n6\r\n=value\r\n0\r\n\r\n")
    said = fields(pair(exchange(method="POST", request=upload))[1])
    assert said.get("WARC-Payload-Digest") == sha1(b"name=value")
    assert said.get("WARC-Block-Digest") == sha1(b"".join(upload.chunks()))


def test_exchange_without_request_gives_one_record() -> None:
    (only,) = exchange_records(exchange(request=None), warcinfo_id=INFO)
    assert fields(only).get("WARC-Concurrent-To") is None


def test_exchange_without_response_is_refused() -> None:
    with pytest.raises(ValueError, match="no response to keep"):
        exchange_records(exchange(response=None, outcome=-2), warcinfo_id=INFO)


def test_revisit_names_its_original_to_the_microsecond() -> None:
    first, second = pair(exchange(), ORIGINAL)
    said = fields(first)
    assert said.get("WARC-Type") == "revisit"
    assert said.get("WARC-Profile") == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert said.get("WARC-Refers-To") == f"<urn:uuid:{ORIGINAL.record_id}>"
    assert said.get("WARC-Refers-To-Target-URI") == "http://example.org/first"
    assert said.get("WARC-Refers-To-Date") == "2026-11-21T08:15:00.000116Z"
    assert said.get("WARC-Payload-Digest") == sha1(HTML)
    assert fields(second).get("WARC-Type") == "request"


def test_an_original_of_another_program_is_named_by_its_own_id() -> None:
    foreign = replace(ORIGINAL, record_id="urn:sha1:ABC")
    unchanged = Unchanged(foreign, "sha1:4CD6SLVULCBFB6TWNDK3YJSLTRM7UMLU", 97)
    same, _ = pair(exchange(), foreign)
    not_modified, _ = pair(exchange(answer=message("HTTP/1.1 304 Not Modified"), unchanged=unchanged, mime=None))
    assert fields(same).get("WARC-Refers-To") == fields(not_modified).get("WARC-Refers-To") == "<urn:sha1:ABC>"


@pytest.mark.parametrize("record_id", ["", "a\x85b"])
def test_an_original_without_usable_id_is_named_as_exactly_as_it_is_known(record_id: str) -> None:
    first, _ = pair(exchange(), replace(ORIGINAL, record_id=record_id))
    said = fields(first)
    assert said.get("WARC-Refers-To") is None
    assert said.get("WARC-Refers-To-Date") == iso_date(ORIGINAL.date)


def test_revisit_keeps_the_head_and_says_that_the_body_was_cut() -> None:
    exchanged = exchange()
    assert exchanged.response
    first, _ = pair(exchanged, ORIGINAL)
    said = fields(first)
    assert b"".join(first.chunks()) == exchanged.response.head
    assert said.get("WARC-Truncated") == "length"
    assert said.get("WARC-Block-Digest") == sha1(exchanged.response.head)
    assert said.get("WARC-Payload-Length") == str(len(HTML))


def test_truncated_exchange_says_so_and_can_be_no_revisit() -> None:
    exchanged = exchange(truncated="disconnect")
    assert fields(pair(exchanged)[0]).get("WARC-Truncated") == "disconnect"
    with pytest.raises(ValueError, match="cut short"):
        pair(exchanged, ORIGINAL)


def test_certificate_error_is_seen_on_both_records() -> None:
    origin = Origin("192.0.2.7", ("http/1.1",), None, "certificate has expired")
    for record in pair(exchange(origin=origin)):
        assert fields(record).get("WARC-TLS-Verification") == "certificate has expired"


def test_further_fields_are_added() -> None:
    for record in pair(exchange(fields=(("WARC-Resource-Type", "websocket"),))):
        assert fields(record).get("WARC-Resource-Type") == "websocket"


def test_trailers_are_the_responses_and_can_not_break_its_header() -> None:
    trailers = ((b"x-sum", b"1"), (b"x-odd", b"50% \xe4\r\nWARC-Type: x"))
    captured = replace(exchange(), trailers=trailers)
    assert fields(pair(captured)[0]).get("WARC-HTTP-Trailer") is None, "the block has them"
    first, second = pair(captured, ORIGINAL)
    assert fields(first).all("WARC-HTTP-Trailer") == ["x-sum: 1", "x-odd: 50%25 %E4%0D%0AWARC-Type: x"]
    assert fields(second).get("WARC-HTTP-Trailer") is None


@pytest.mark.parametrize("value", ["a\r\nWARC-Type: warcinfo", "a\nb", "a\0b", "a\tb", "a\x7fb", "a\x85b", "a\ud800"])
def test_no_value_can_start_a_field_of_its_own(value: str) -> None:
    with pytest.raises(ValueError, match="control characters"):
        pair(exchange(fields=(("WARC-Note", value),)))
    with pytest.raises(ValueError, match="control characters"):
        pair(exchange(url=f"http://example.org/{value}"))
    with pytest.raises(ValueError, match="control characters"):
        pair(exchange(origin=Origin(certificate_error=value)))
    with pytest.raises(ValueError, match="control characters"):
        pair(exchange(context=Context("news", page_id=value)))
    with pytest.raises(ValueError, match="control characters"):
        pair(exchange(), replace(ORIGINAL, url=value))


@pytest.mark.parametrize("name", ["", "WARC Note", "WARC-Note:", "Ä", "a\r\nb"])
def test_field_names_must_be_tokens(name: str) -> None:
    with pytest.raises(ValueError, match="be the name of a WARC field"):
        pair(exchange(fields=((name, "x"),)))


def test_a_field_of_the_recorder_can_not_be_given_twice() -> None:
    with pytest.raises(ValueError, match="can't be given twice"):
        pair(exchange(fields=(("warc-TARGET-uri", "http://other.example/"),)))


def test_target_with_a_space_is_refused() -> None:
    with pytest.raises(ValueError, match="has a space"):
        pair(exchange("/a b"))


def test_index_line_tells_what_the_record_holds() -> None:
    exchanged = exchange("/a", method="POST")
    line = pair(exchanged)[0].line
    assert line is not None
    expected = ("org,example)/a?__wb_method=post", "response", 200, "text/html")
    assert (line.key, line.kind, line.status, line.mime) == expected
    assert (line.method, line.job, line.page_id) == ("POST", "daily", "page-1")
    assert (line.digest, line.payload_length) == (sha1(HTML)[5:], len(HTML))
    assert line.sha256 == hashlib.sha256(HTML).hexdigest()
    assert pair(exchanged)[1].line is None


def test_index_line_of_a_revisit_points_to_the_original() -> None:
    line = pair(exchange(), ORIGINAL)[0].line
    assert line is not None
    assert (line.kind, line.refers_to, line.sha256) == ("revisit", ORIGINAL, None)


def test_response_without_type_is_unknown_in_the_index() -> None:
    line = pair(exchange(mime=None))[0].line
    assert line is not None
    assert line.mime == "unk"


def test_two_builds_of_one_exchange_have_ids_of_their_own() -> None:
    assert pair(exchange())[0].record_id != pair(exchange())[0].record_id


def test_empty_body_has_the_digest_of_nothing() -> None:
    said = fields(pair(exchange(answer=response(b"")))[0])
    assert said.get("WARC-Payload-Digest") == "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"


def test_digests_of_a_request_taken_while_it_passed_are_believed() -> None:
    taken = Digests(b"b" * 20, b"p" * 20, bytes(32), 4)

    _, second = pair(replace(exchange("/form"), request=request("/form", "POST", b"a=b!"), request_digests=taken))

    assert fields(second).get("WARC-Block-Digest") == "sha1:" + base64.b32encode(b"b" * 20).decode()
    assert fields(second).get("WARC-Payload-Digest") == "sha1:" + base64.b32encode(b"p" * 20).decode()


@pytest.mark.parametrize("algorithm", ["sha1", "sha256", "blake3"])
def test_every_digest_of_an_exchange_is_of_the_algorithm_asked_for(algorithm: Algorithm) -> None:
    upload, answer = request("/form", "POST", b"name=value"), response()
    made = exchange("/form", answer, request=upload, digests=digests(answer, algorithm))

    first, second = pair(made)
    revisit, _ = pair(made, ORIGINAL)

    def named(data: bytes) -> str:
        raw = digest(data, algorithm)
        return f"{algorithm}:{base64.b32encode(raw).decode() if algorithm == 'sha1' else raw.hex()}"

    for record in (first, second, revisit):
        assert fields(record).get("WARC-Block-Digest") == named(b"".join(record.chunks()))
    assert [fields(each).get("WARC-Payload-Digest") for each in (first, second, revisit)] == [
        named(HTML),
        named(b"name=value"),
        named(HTML),
    ]
    assert first.line is not None
    assert first.line.digest == named(HTML).removeprefix("sha1:"), "SHA-1 alone has no label in an index"


@pytest.mark.parametrize(
    ("facts", "field", "buckets"),
    [
        ({}, None, ("",)),
        ({"buckets": (("a", "rw"), ("seeds", "ro"), ("ä b:c", "rw"))}, "a %C3%A4%20b%3Ac", ("a", "ä b:c")),
        ({"buckets": (("seeds", "ro"),)}, "", ()),
        ({"dedup": False}, "", ()),
    ],
)
def test_a_response_says_which_buckets_it_fills(
    facts: dict[str, Any], field: str | None, buckets: tuple[str, ...]
) -> None:
    answer, _ = pair(exchange(context=Context("news", **facts)))
    said = fields(answer).get("WARC-Dedup-Buckets")
    assert said == field
    assert answer.line is not None
    assert answer.line.buckets == buckets == parse_buckets(said)


def test_a_304_of_a_conditional_request_is_a_revisit_of_what_it_is_about() -> None:
    said = message("HTTP/1.1 304 Not Modified", 'ETag: "x"')
    unchanged = Unchanged(ORIGINAL, "sha1:4CD6SLVULCBFB6TWNDK3YJSLTRM7UMLU", 97)
    revisit, asked = pair(exchange(answer=said, unchanged=unchanged, mime=None))
    header = fields(revisit)
    assert header.get("WARC-Type") == "revisit"
    assert header.get("WARC-Profile") == "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
    assert header.get("WARC-Refers-To") == f"<urn:uuid:{ORIGINAL.record_id}>"
    assert header.get("WARC-Refers-To-Target-URI") == ORIGINAL.url
    assert header.get("WARC-Refers-To-Date") == iso_date(ORIGINAL.date)
    assert header.get("WARC-Payload-Digest") == unchanged.digest
    assert (header.get("WARC-Payload-Length"), header.get("WARC-Truncated")) == ("97", None)
    assert b"".join(revisit.chunks()) == said.head
    line = revisit.line
    assert line is not None
    assert (line.kind, line.status, line.digest) == ("revisit", 304, unchanged.digest.removeprefix("sha1:"))
    assert (line.refers_to, line.payload_length) == (ORIGINAL, 97)
    assert fields(asked).get("WARC-Concurrent-To") == f"<urn:uuid:{revisit.record_id}>"


def test_with_the_head_of_the_page_it_is_a_revisit_of_the_same_payload_beside_the_304_as_it_came() -> None:
    """T22: a 304 in the place of a page is an empty page in pywb and ReplayWeb.page."""
    said = message("HTTP/1.1 304 Not Modified", 'ETag: "x"')
    head = b'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nETag: "x"\r\nContent-Length: 97\r\n\r\n'
    unchanged = Unchanged(ORIGINAL, "sha1:4CD6SLVULCBFB6TWNDK3YJSLTRM7UMLU", 97, head)

    made = exchange_records(exchange(answer=said, unchanged=unchanged, mime=None), warcinfo_id=INFO)
    revisit, confirmed, asked = made

    header = fields(revisit)
    assert header.get("WARC-Profile") == "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
    assert header.get("WARC-Payload-Digest") == unchanged.digest
    assert header.get("WARC-Truncated") == "length"
    assert header.get("WARC-Updated-By") == f"<urn:uuid:{confirmed.record_id}>"
    assert header.all("WARC-Concurrent-To") == [f"<urn:uuid:{one.record_id}>" for one in (asked, confirmed)]
    assert b"".join(revisit.chunks()) == head
    assert revisit.line is not None
    assert (revisit.line.status, revisit.line.mime, revisit.line.payload_length) == (200, "text/html", 97)
    assert b"".join(confirmed.chunks()) == said.head
    assert confirmed.kind == "metadata"
    assert fields(confirmed).get("WARC-Target-URI") == f"urn:not-modified:{fields(revisit).get('WARC-Target-URI')}"
    assert fields(confirmed).get("Content-Type") == "application/http;msgtype=response"
