"""archive/warc/records/derived.py: records made from a page."""

from __future__ import annotations

import io

from support.archive.exchanges import DATE, fields, sha1

from archive.capture import Body, Context, Original
from archive.warc.records.derived import resource_record

INFO = "6f1a7c1e-0000-4000-8000-000000000001"
ORIGINAL = Original("6f1a7c1e-0000-4000-8000-000000000002", "http://example.org/first", DATE - 7)


def test_resource_ties_to_the_response_of_its_page() -> None:
    context = Context("news", job="daily", page_id="page-1")
    text = Body((b"Wel", b"come"), None, 7)
    record = resource_record(
        "resource", "urn:text:http://example.org/", "text/plain; charset=utf-8", text,
        date=DATE, context=context, warcinfo_id=INFO, concurrent_to=ORIGINAL.record_id,
    )  # fmt: skip
    said = fields(record)
    assert said.get("WARC-Type") == "resource"
    assert said.get("Content-Type") == "text/plain; charset=utf-8"
    assert said.get("WARC-Concurrent-To") == f"<urn:uuid:{ORIGINAL.record_id}>"
    assert said.get("WARC-Block-Digest") == said.get("WARC-Payload-Digest") == sha1(b"Welcome")
    assert said.get("WARC-Page-ID") == "page-1"
    assert record.line is not None
    assert (record.line.key, record.line.mime) == ("urn:text:http://example.org/", "text/plain")


def test_metadata_has_no_payload() -> None:
    body = Body((b"a: b\r\n",), None, 6)
    record = resource_record(
        "metadata", "http://example.org/", "application/warc-fields", body,
        date=DATE, context=Context("news"), warcinfo_id=INFO,
    )  # fmt: skip
    assert fields(record).get("WARC-Payload-Digest") is None
    assert record.line is not None
    assert record.line.kind == "metadata"


def test_resource_of_a_spooled_body_is_read_from_its_file() -> None:
    spool = io.BytesIO(b"picture" * 1000)
    record = resource_record(
        "resource", "urn:view:http://example.org/", "image/png", Body((), spool, 7000),
        date=DATE, context=Context("news"), warcinfo_id=INFO,
    )  # fmt: skip
    assert fields(record).get("WARC-Block-Digest") == sha1(b"picture" * 1000)
    assert record.packed


def test_a_resource_that_was_cut_says_so() -> None:
    record = resource_record(
        "resource", "http://example.org/", "text/plain", Body((b"x",), None, 1), date=DATE, context=Context("news"),
        warcinfo_id=INFO, truncated="length",
    )  # fmt: skip

    assert fields(record).get("WARC-Truncated") == "length"
    assert record.line is not None
    assert record.line.truncated == "length"


def test_a_resource_names_the_digest_asked_for() -> None:
    record = resource_record(
        "resource", "http://example.org/", "text/plain", Body((b"x",), None, 1), date=DATE, context=Context("news"),
        warcinfo_id=INFO, algorithm="sha256",
    )  # fmt: skip

    digest = "sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
    assert fields(record).get("WARC-Block-Digest") == fields(record).get("WARC-Payload-Digest") == digest
    assert record.line is not None
    assert (record.line.digest, record.line.sha256) == (digest, digest[7:])
