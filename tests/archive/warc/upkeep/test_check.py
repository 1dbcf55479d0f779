"""archive/warc/upkeep/check.py: each thing that can be wrong is found, and nothing in what is right."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.archive.exchanges import DATE, digest, exchange, keep, message, request, response
from support.archive.heritrix_crawl.site import WARC
from support.archive.oracles import write_with_warcio

from archive.capture import Original
from archive.settings.load import Settings
from archive.warc.reading.reader import records
from archive.warc.upkeep.check import FileProblem, Level, check
from archive.warc.writing.writer import WarcWriter


def members(path: Path) -> list[bytes]:
    """The file's records, unpacked."""
    data = path.read_bytes()
    ends = [record.finish() for record in records(path)]
    return [gzip.decompress(data[start:end]) for start, end in zip([0, *ends], ends, strict=False)]


def rewrite(path: Path, change: Callable[[list[bytes]], list[bytes]]) -> None:
    path.write_bytes(b"".join(map(gzip.compress, change(members(path)))))


def messages(path: Path) -> list[str]:
    return [problem.message for problem in check(path)]


@pytest.fixture
def warc(settings: Settings) -> Path:
    """warcinfo, response, request, revisit of that response, request."""
    writer = WarcWriter(settings, "news")
    first = keep(writer, exchange("/first"))
    keep(writer, exchange("/again", started=DATE + 9), Original(first.record_id, first.url, first.date))
    writer.close()
    return settings.archive_dir("news") / first.filename


def test_nothing_is_wrong_with_ours(warc: Path) -> None:
    assert messages(warc) == []
    assert messages(warc.parent) == []


def test_every_kind_of_answer_is_right(settings: Settings) -> None:
    writer = WarcWriter(settings, "news")
    head = message("HTTP/1.1 200 OK", "Content-Length: 999")
    for exchanged in (
        exchange("/chunked", message("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=b"1\r\na\r\n0\r\n\r\n")),
        exchange("/head", head, method="HEAD", request=request("/head", "HEAD")),
        exchange("/304", message("HTTP/1.1 304 Not Modified", "Content-Length: 9")),
        exchange("/cut", message("HTTP/1.1 200 OK", "Content-Length: 9", body=b"abc"), truncated="disconnect"),
        exchange("/empty", response(b"")),
        exchange("/post", method="POST", request=request("/post", "POST", b"a=b")),
    ):
        keep(writer, exchanged)
    writer.close()
    assert messages(settings.archive_dir("news")) == []


def test_files_of_warcio_are_right(tmp_path: Path) -> None:
    path = tmp_path / "a.warc.gz"
    write_with_warcio(path)
    assert messages(path) == []


NAMELESS = "the revisit names no original"


def test_custom_fields_of_heritrix_are_notes() -> None:
    chunked = "WARC-Payload-Digest is the digest of the body with its chunked coding"
    nameless = f"{NAMELESS}; an older capture of its URL has its payload digest"
    expected = [(Level.NOTE, text) for text in (chunked, nameless, nameless)]
    assert [(each.level, each.message) for each in check(WARC)] == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (rb"(?s)(chunked\r\n\r\n..\r\n.{20}).", rb"\1-", [r"WARC-Payload-Digest is .*, but the bytes give sha1:"]),
        (rb"(WARC-Date: 20)26(-11-27T20:23:36Z)", rb"\g<1>36\2", [NAMELESS, NAMELESS]),
        (rb"(not-modified(?s:.*)Payload-Digest: sha1:)....", rb"\1AAAA", [NAMELESS, NAMELESS]),
    ],
    ids=["the chunks are harmed", "the other capture is younger", "the digest is another one"],
)
def test_harm_is_no_custom_of_heritrix(tmp_path: Path, old: bytes, new: bytes, expected: list[str]) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(WARC.read_bytes())
    rewrite(path, lambda found: [re.sub(old, new, part) for part in found])
    problems = [each.message for each in check(path) if each.level is Level.PROBLEM]
    assert len(problems) == len(expected)
    assert all(map(re.fullmatch, (f"{text}.*" for text in expected), problems))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (rb"Welcome", b"Welcame", r"WARC-Block-Digest is sha1:.*but the bytes give sha1:"),
        (rb"Welcome", b"Welcame", r"WARC-Payload-Digest is sha1:.*but the bytes give sha1:"),
        (rb"Block-Digest: sha1:\w+", b"Block-Digest: crc32:00", r"WARC-Block-Digest 'crc32:00' can't be checked"),
        (rb"Block-Digest: sha1:\w+", b"Block-Digest: sha1:short", r"'sha1:short' can't be checked"),
        (rb"WARC/1\.1", b"WARC/2.0", r"version 'WARC/2\.0' is unknown"),
        (rb"WARC-Type: response", b"WARC-Type: answer", r"WARC-Type 'answer' is unknown"),
        (rb"WARC-Record-ID: <urn:uuid:(.*?)>", rb"WARC-Record-ID: urn:uuid:\1", r"not a URI in angle brackets"),
        (rb"WARC-Date: \S+", b"WARC-Date: today", r"WARC-Date can't be read"),
        (rb"WARC-Target-URI: \S+\r\n", b"", r"WARC-Target-URI is missing"),
        (rb"WARC-Warcinfo-ID: <urn:uuid:..", b"WARC-Warcinfo-ID: <urn:uuid:xx", r"WARC-Warcinfo-ID names xx"),
        (rb"WARC-Concurrent-To: <urn:uuid:..", b"WARC-Concurrent-To: <urn:uuid:xx", r"WARC-Concurrent-To names xx"),
        (rb"WARC-Type: response", b"WARC-Type: response\r\nWARC-Truncated: lazy", r"WARC-Truncated 'lazy'"),
        (rb"HTTP/1\.1 200 OK", b"HTTP/1.1 OKAY!!", r"the HTTP head starts with b'HTTP/1\.1 OKAY!!'"),
        (rb"Content-Type: text/html", b"Content Type  text/html", r"the HTTP head has the line b'Content Type"),
        (rb"Content-Length: 97", b"Content-Length: 98", r"the body has 97 of 98 bytes and there is no WARC-Truncated"),
    ],
)
def test_fault_in_a_response_is_found(warc: Path, old: bytes, new: bytes, expected: str) -> None:
    def change(found: list[bytes]) -> list[bytes]:
        found[1] = re.sub(old, new, found[1], count=1)
        return found

    rewrite(warc, change)
    assert any(re.search(expected, text) for text in messages(warc)), messages(warc)


@pytest.mark.parametrize(
    "named",
    [
        lambda data: b"SHA-256:" + hashlib.sha256(data).hexdigest().upper().encode(),
        lambda data: b"sha256:" + base64.b32encode(hashlib.sha256(data).digest()),
        lambda data: b"md5:" + hashlib.md5(data).hexdigest().encode(),
        lambda data: b"sha512:" + hashlib.sha512(data).hexdigest().encode(),
        lambda data: b"sha1:" + hashlib.sha1(data).hexdigest().encode(),
        lambda data: b"blake3:" + digest(data, "blake3").hex().encode(),
    ],
    ids=["SHA-256", "sha256 in base32", "md5", "sha512", "sha1 in base16", "blake3"],
)
def test_digests_of_other_algorithms_are_verified(warc: Path, named: Callable[[bytes], bytes]) -> None:
    def change(found: list[bytes]) -> list[bytes]:
        head, _, block = found[1].removesuffix(b"\r\n\r\n").partition(b"\r\n\r\n")
        head = re.sub(rb"(Block-Digest: )\S+", rb"\g<1>" + named(block), head)
        head = re.sub(rb"(Payload-Digest: )\S+", rb"\g<1>" + named(block.partition(b"\r\n\r\n")[2]), head)
        found[1] = head + b"\r\n\r\n" + block + b"\r\n\r\n"
        return found

    rewrite(warc, change)
    assert [text for text in messages(warc) if "the revisit" not in text] == []

    rewrite(warc, lambda found: [part.replace(b"Welcome", b"Welcame") for part in found])
    assert sum("but the bytes give" in text for text in messages(warc)) == 2


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (
            rb"Payload-Digest: sha1:....",
            b"Payload-Digest: sha1:AAAA",
            r"payload digest sha1:\w+, the revisit sha1:AAAA",
        ),
        (
            rb"Refers-To-Date: \S+",
            b"Refers-To-Date: 2026-11-21T08:15:00Z",
            r"has another date than WARC-Refers",
        ),
        (
            rb"Refers-To-Target-URI: \S+",
            b"Refers-To-Target-URI: http://x/",
            r"is of http://example\.org/first, not of http://x/",
        ),
        (rb"WARC-Profile: \S+", b"WARC-Profile: http://x/", r"WARC-Profile 'http://x/' is not a profile"),
        (rb"WARC-Date: 2026", b"WARC-Date: 2006", r"is later than its revisit"),
        (rb"WARC-Refers-To[\w-]*: \S+\r\n", b"", r"the revisit names no original"),
    ],
)
def test_fault_in_a_revisit_is_found(warc: Path, old: bytes, new: bytes, expected: str) -> None:
    def change(found: list[bytes]) -> list[bytes]:
        found[3] = re.sub(old, new, found[3])
        return found

    rewrite(warc, change)
    assert any(re.search(expected, text) for text in messages(warc)), messages(warc)


def test_revisit_that_began_before_its_original_is_let_pass(settings: Settings) -> None:
    """Of fetches that overlap, the one that ends first is the original."""
    writer = WarcWriter(settings, "news")
    original = keep(writer, exchange("/ends-first", started=2_000_000))
    keep(
        writer, exchange("/begins-first", started=1_000_000), Original(original.record_id, original.url, original.date)
    )
    writer.close()
    assert messages(settings.archive_dir("news")) == []


def test_revisit_of_what_is_not_there_is_found_in_a_folder(warc: Path) -> None:
    rewrite(warc, lambda found: [found[0], *found[3:]])
    assert messages(warc) == [], "one file of many can't tell"
    assert re.fullmatch(r"the original \S+ is in none of these files", messages(warc.parent)[0])


def test_revisit_of_what_is_in_another_archive_is_right_when_it_says_so(settings: Settings) -> None:
    writer = WarcWriter(settings, "news")
    elsewhere = Original("", "http://example.org/elsewhere", 1_000_000)
    kept = keep(writer, exchange("/again"), elsewhere)
    writer.close()
    folder = settings.archive_dir("news")
    (message,) = messages(folder)
    assert re.fullmatch(r"the original http://example.org/elsewhere of \S+ is in none of these files", message)

    named = b"WARC-Refers-To-Container: http://cdx.example.org/cdx\r\nWARC-Refers-To-Date"
    rewrite(folder / kept.filename, lambda found: [each.replace(b"WARC-Refers-To-Date", named) for each in found])
    assert messages(folder) == []


def test_original_in_another_file_is_enough(settings: Settings) -> None:
    first, second = WarcWriter(settings, "news", prefix="z"), WarcWriter(settings, "news", prefix="a")
    original = keep(first, exchange("/first"))
    keep(second, exchange("/again"), Original(original.record_id, original.url, original.date))
    first.close()
    second.close()
    assert messages(settings.archive_dir("news")) == []


def test_revisit_of_a_truncated_record_is_found(warc: Path) -> None:
    rewrite(
        warc,
        lambda found: [found[0], found[1].replace(b"WARC-Block", b"WARC-Truncated: time\r\nWARC-Block", 1), *found[2:]],
    )
    assert any("was cut short" in text for text in messages(warc))


def test_request_alone_is_found(warc: Path) -> None:
    rewrite(warc, lambda found: [found[0], *found[2:3]])
    assert any("neither response nor revisit" in text for text in messages(warc))


def test_file_without_warcinfo_is_found(warc: Path) -> None:
    rewrite(warc, lambda found: found[1:])
    assert messages(warc)[0] == "the file begins with a response, not with its warcinfo"


def test_id_that_is_not_unique_is_found(warc: Path) -> None:
    rewrite(warc, lambda found: [*found, found[-1]])
    assert any("the record's id is not unique" in text for text in messages(warc))


def test_records_that_share_a_member_are_found(warc: Path) -> None:
    path = warc
    path.write_bytes(gzip.compress(b"".join(members(path))))
    assert messages(path).count("the record shares its member with the one before") == 4


def test_body_cut_within_its_chunks_is_found(settings: Settings) -> None:
    writer = WarcWriter(settings, "news")
    keep(writer, exchange("/", message("HTTP/1.1 200 OK", "Transfer-Encoding: chunked", body=b"5\r\nabc")))
    writer.close()
    (text,) = messages(settings.archive_dir("news"))
    assert text.startswith("the chunked body is not whole and there is no WARC-Truncated")


def test_torn_tail_is_found_at_its_offset(warc: Path) -> None:
    last = [record.offset for record in records(warc)][-1]
    warc.write_bytes(warc.read_bytes()[:-20])
    found = [problem for problem in check(warc) if "cut off" in problem.message]
    assert found == [FileProblem(warc, last, "", "the gzip member is cut off")]


def test_fault_within_a_member_does_not_hide_the_others(warc: Path) -> None:
    def change(found: list[bytes]) -> list[bytes]:
        found[1] = found[1].replace(b"Content-Length: 1", b"Content-Length: 9", 1)
        found[4] = found[4].replace(b"User-Agent: tests", b"User-Agent: Tests")
        return found

    rewrite(warc, change)
    found = messages(warc)
    assert any("the block lacks" in text for text in found)
    assert any("WARC-Block-Digest" in text for text in found)


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", "the file is empty"),
        (b"<html>", "the bytes b'<html>' are not the beginning of a WARC record"),
        (gzip.compress(b"WARC/1.1\r\nContent-Length: x\r\n\r\n"), "Content-Length 'x' is not a length"),
    ],
)
def test_file_that_is_no_warc_is_found(tmp_path: Path, data: bytes, expected: str) -> None:
    path = tmp_path / "a.warc.gz"
    path.write_bytes(data)
    assert messages(path) == [expected]


def test_http_head_without_end_in_reach_is_one_problem(tmp_path: Path) -> None:
    block = b"HTTP/1.1 200 OK\r\nA: " + b"x" * (9 << 20)
    header = b"WARC/1.1\r\nWARC-Type: response\r\nWARC-Record-ID: <urn:uuid:1>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n"
    header += b"Content-Type: application/http\r\nContent-Length: %d\r\n\r\n" % len(block)
    path = tmp_path / "a.warc.gz"
    path.write_bytes(gzip.compress(header + block + b"\r\n\r\n"))
    assert any("the HTTP head has more than" in text for text in messages(path))


def test_file_that_is_missing_is_not_found(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        messages(tmp_path / "none.warc.gz")


def test_problem_is_one_line_with_file_offset_and_record() -> None:
    assert str(FileProblem(Path("a.warc.gz"), 7, "id", "is wrong")) == "a.warc.gz at 7 <id>: is wrong"


def test_records_of_a_plain_file_share_no_member(warc: Path) -> None:
    plain = warc.with_suffix("")
    plain.write_bytes(gzip.decompress(warc.read_bytes()))
    assert messages(plain) == []
