"""Archived responses made ready to be sent: from real WARC files and a real index, without a network."""

from __future__ import annotations

import gzip
import random
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from email.parser import BytesParser
from hashlib import sha256
from typing import Any

import brotli
import pytest
import zstandard
from support.archive.capture_rows import capture
from support.archive.kept_warcs import exchange, keep, sha1

from archive.capture import Body, Capture, Context, Digests, Exchange, Message, Original
from archive.dates import parse_date
from archive.settings.load import Settings
from archive.warc.records.derived import resource_record
from archive.warc.records.request_query import asked_query
from archive.warc.writing.writer import WarcWriter
from dedupdb.captures.capture_index import Captures
from proxy.protocol.byte_range import ByteRange
from proxy.replay.answers import archived_lines
from proxy.replay.matching.visits import PageLoad
from proxy.replay.matching.wanted import WantedCapture
from proxy.replay.memento import Archive, RecordDamaged

URL = "http://example.org/page"
DATE = b"Sat, 21 Nov 2026 08:00:00 GMT"


class Shelf:
    """A collection "news", its index, and what can be asked of both."""

    def __init__(self, settings: Settings, collection: str = "news") -> None:
        self.settings = settings
        self.captures = Captures(settings.database_url)
        self.writer = WarcWriter(settings, collection)
        self.archive = Archive(settings, self.captures)

    def keep(self, *exchanges: Exchange, original: Original | None = None) -> list[Capture]:
        kept = keep(self.writer, exchanges, original)
        self.captures.add(kept)
        return kept

    def find(self, url: str = URL, **changed: object) -> tuple[bytes, bytes] | None:
        """Head and body that would be sent."""
        facts = {"method": "GET", "date": None, "ranges": (), "is_conditional": False, "collection": "news"}
        memento = self.archive.find(WantedCapture(url=url, **(facts | changed)))  # type: ignore[arg-type]
        if memento is None:
            return None
        body = b"".join(memento.pieces)
        memento.close()
        assert memento.length == len(body)
        return memento.head, body

    def body(self, url: str = URL, **changed: object) -> bytes | None:
        found = self.find(url, **changed)
        return found and found[1]


@pytest.fixture
def shelf(settings: Settings) -> Iterator[Shelf]:
    made = Shelf(settings)
    yield made
    made.captures.close()


def raw(url: str, head: bytes, body: bytes, payload: bytes | None = None, status: int = 200) -> Exchange:
    """An exchange whose response is exactly these bytes."""
    made = exchange(url, body, status=status)
    payload = body if payload is None else payload
    assert made.digests
    digests = Digests(sha1(head + body), sha1(payload), made.digests.payload_sha256, len(payload))
    return replace(made, response=Message(head, Body((body,), None, len(body))), digests=digests)


def posted(body: bytes, answer: bytes) -> Exchange:
    """An exchange by POST of JSON."""
    made = exchange(URL, answer)
    head = b"POST /page HTTP/1.1\r\nHost: example.org\r\nContent-Type: application/json\r\n"
    request = Message(head + b"Content-Length: %d\r\n\r\n" % len(body), Body((body,), None, len(body)))
    return replace(made, method="POST", request=request)


def test_long_bodies_are_told_apart_by_their_ends(shelf: Shelf) -> None:
    """The index has their first 4,096 characters alone."""
    bodies = {
        word: b'{"query": "%s", "fruit": "%s"}' % (b"leaf " * 1_500, word) for word in (b"apple", b"pear", b"plum")
    }
    shelf.keep(*(posted(body, b"you sent " + word) for word, body in bodies.items()))

    def answer(body: bytes) -> bytes | None:
        query = asked_query("POST", "application/json", (body,))
        return shelf.body(method="POST", body=query, body_sha256=sha256(body).hexdigest())

    assert {word: answer(body) for word, body in bodies.items()} == {word: b"you sent " + word for word in bodies}
    assert answer(bodies[b"plum"] + b" ") is not None, "a body that was never sent gets the answer to its beginning"


def test_a_master_playlist_offers_the_captured_variants(shelf: Shelf) -> None:
    names = ("low", "high")
    master = "#EXTM3U\n" + "".join(f"#EXT-X-STREAM-INF:BANDWIDTH={len(name)}\n{name}/i.m3u8\n" for name in names)
    url = "http://example.org/film/master.m3u8"
    shelf.keep(exchange(url, master.encode()), exchange("http://example.org/film/high/i.m3u8", b"none", status=404))
    assert shelf.body(url) == master.encode(), "nothing was captured"
    shelf.keep(exchange("http://example.org/film/low/i.m3u8", b"#EXTM3U\n"))
    found = shelf.find(url)
    assert found is not None
    assert found[1] == master.replace("high/", "low/").replace(f"={len('high')}", f"={len('low')}").encode()
    assert b"Ghostfleet-Replay: edited" in headers(found[0])
    shelf.keep(exchange("http://example.org/film/high/i.m3u8", b"#EXTM3U\n"))
    assert shelf.body(url) == master.encode()


def test_a_frame_that_is_loaded_again_gets_its_next_capture(shelf: Shelf) -> None:
    frame = "http://example.org/frame"
    (document, *_) = shelf.keep(exchange(URL), exchange(frame, b"first"), exchange(frame, b"second"))
    page = PageLoad(URL)
    page.begin(document, [document])

    def loaded() -> bytes | None:
        return shelf.body(frame, visit=page, page=PageLoad(frame, page))

    assert [loaded() for _ in range(3)] == [b"first", b"second", b"second"]


def headers(head: bytes) -> list[bytes]:
    """The lines between status line and empty line."""
    return head.split(b"\r\n")[1:-2]


class TestHead:
    def test_keeps_what_describes_the_page_and_makes_the_rest_fit_this_client(self, shelf: Shelf) -> None:
        head = (
            b"HTTP/1.0 200 Fine\r\nX-ODD:  1 \r\nConnection: close\r\nKeep-Alive: 5\r\nTransfer-Encoding: chunked\r\n"
            b"Trailer: X-Sum\r\nSet-Cookie: a=b\nno colon\r\nFolded: a\r\n b\r\n\r\n"
        )
        shelf.keep(raw(URL, head, b"5\r\nhello\r\n0\r\nX-Sum: 1\r\n\r\n", b"hello"))

        found = shelf.find()

        assert found is not None
        assert found[0].startswith(b"HTTP/1.1 200 Fine\r\n")
        assert found[0].endswith(b"\r\n\r\n")
        *kept, length, date, link, vary, record = headers(found[0])
        assert kept == [b"X-ODD:  1 ", b"Set-Cookie: a=b", b"Folded: a b"]
        assert length == b"Content-Length: 5"
        assert date.startswith(b"Memento-Datetime: ")
        assert date.endswith(b" GMT")
        assert (link, vary) == (b'Link: <%s>; rel="original timegate"' % URL.encode(), b"Vary: Accept-Datetime")
        assert record.startswith(b"Ghostfleet-Record: ")
        assert found[1] == b"hello"

    @pytest.mark.parametrize("status", [204, 304])
    def test_of_a_response_without_body_announces_none(self, shelf: Shelf, status: int) -> None:
        shelf.keep(raw(URL, b"HTTP/1.1 %d X\r\nETag: a\r\n\r\n" % status, b"", status=status))

        found = shelf.find(is_conditional=True, fields=((b"if-none-match", b"a", b""),))

        assert found is not None
        assert headers(found[0])[0] == b"ETag: a"
        assert b"Content-Length" not in found[0]

    def test_to_a_head_has_the_length_and_no_body(self, shelf: Shelf) -> None:
        shelf.keep(exchange(URL, b"hello"))

        found = shelf.find(method="HEAD")

        assert found is not None
        assert b"Content-Length: 5\r\n" in found[0]
        assert found[1] == b""


class TestChoice:
    def test_falls_on_the_nearest_date_and_else_on_the_newest(self, shelf: Shelf) -> None:
        for number, day in enumerate((100, 200, 300)):
            shelf.keep(replace(exchange(URL, b"version %d" % number), started=day * 86_400_000_000))

        assert shelf.body() == b"version 2"
        assert shelf.body(date=120 * 86_400_000_000) == b"version 0"
        assert shelf.body(date=180 * 86_400_000_000) == b"version 1"
        assert shelf.body(date=0) == b"version 0"

    def test_never_falls_on_another_method(self, shelf: Shelf) -> None:
        shelf.keep(replace(exchange(URL, b"answer to a form"), method="POST"))

        assert shelf.find() is None
        assert shelf.body(method="POST") == b"answer to a form"
        shelf.keep(exchange(URL, b"the page"))
        assert shelf.body() == b"the page"
        assert shelf.body(method="POST") == b"answer to a form"

    @pytest.mark.parametrize(("url", "collection"), [("http://example.org/other", "news"), (URL, "other")])
    def test_never_falls_on_another_url_or_collection(self, shelf: Shelf, url: str, collection: str) -> None:
        shelf.keep(exchange(URL))

        assert shelf.find(url, collection=collection) is None

    def test_passes_over_not_modified_unless_it_was_asked_for(self, shelf: Shelf) -> None:
        shelf.keep(replace(exchange(URL, b"the page"), started=1_000_000))
        shelf.keep(raw(URL, b"HTTP/1.1 304 Not Modified\r\nETag: a\r\n\r\n", b"", status=304))

        assert shelf.body() == b"the page"
        found = shelf.find(is_conditional=True, fields=((b"if-none-match", b"a", b""),))
        assert found is not None
        assert found[0].startswith(b"HTTP/1.1 304 ")

    @pytest.mark.parametrize("is_revisit", [False, True])
    @pytest.mark.parametrize(
        ("recorded", "asked", "is_answer"),
        [
            (b'ETag: "b"', (b"if-none-match", b'"a"'), False),
            (b'ETag: "b"', (b"if-none-match", b'"b"'), True),
            (b'ETag: "b"', (b"if-none-match", b'"a", W/"b"'), True),
            (b'ETag: W/"b"', (b"if-none-match", b'"b"'), True),
            (b"Last-Modified: " + DATE, (b"if-none-match", b'"b"'), False),
            (b"Last-Modified: " + DATE, (b"if-modified-since", DATE), True),
            (b"Last-Modified: " + DATE, (b"if-modified-since", b"Sun, 22 Nov 2026 08:00:00 GMT"), False),
            (b"Server: x", (b"if-none-match", b'"b"'), False),
            (b"Server: x", (b"if-modified-since", DATE), False),
        ],
    )
    def test_falls_on_not_modified_for_a_client_with_that_very_response(
        self, shelf: Shelf, recorded: bytes, asked: tuple[bytes, bytes], is_answer: bool, is_revisit: bool
    ) -> None:
        """Another client would show its older page, or in patch mode never fetch."""
        shelf.keep(replace(exchange(URL, b"page a"), started=1_000_000))
        (confirmed,) = shelf.keep(replace(exchange(URL, b"page b"), started=2_000_000))
        not_modified = raw(URL, b"HTTP/1.1 304 Not Modified\r\n" + recorded + b"\r\n\r\n", b"", status=304)
        shelf.keep(not_modified, original=Original.of(confirmed) if is_revisit else None)

        found = shelf.find(is_conditional=True, fields=((*asked, b""),))

        assert found is not None
        status = int(found[0].split(b" ")[1])
        assert (status, found[1]) == ((304, b"") if is_answer else (200, b"page b"))

    def test_passes_over_handshakes(self, shelf: Shelf) -> None:
        shelf.keep(raw(URL, b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n", b"", status=101))

        assert shelf.find() is None

    def test_passes_over_what_can_not_be_read(self, shelf: Shelf) -> None:
        shelf.keep(replace(exchange(URL, b"the page"), started=1_000_000))
        (good,) = shelf.keep(exchange("http://example.org/good"))
        shelf.captures.add(
            [
                replace(good, url=URL, key="org,example)/page", filename="gone.warc.gz", record_id="x1"),
                replace(good, url=URL, key="org,example)/page", offset=5, record_id="x2"),
            ]
        )

        assert shelf.body() == b"the page"


class TestWrittenRecords:
    """What a client handed in at an http URL (T40)."""

    def write(self, shelf: Shelf, body: bytes, content_type: str = "text/html; charset=utf-8", **more: Any) -> None:
        made = resource_record(
            more.pop("kind", "resource"),
            URL,
            content_type,
            Body((body,), None, len(body)),
            date=more.pop("date", 1_000_000),
            context=Context("news"),
            warcinfo_id=shelf.writer.warcinfo_id,
            **more,
        )
        shelf.captures.add(shelf.writer.append((made,)))
        shelf.writer.sync()

    def test_answer_with_their_type_and_their_block(self, shelf: Shelf) -> None:
        self.write(shelf, b"<p>written")

        found = shelf.find()

        assert found is not None
        head, body = found
        assert head.startswith(b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: 10\r\n")
        assert body == b"<p>written"
        assert shelf.find(method="HEAD") == (head, b"")
        assert shelf.find(method="POST") is None

    def test_answer_with_a_range_of_it(self, shelf: Shelf) -> None:
        self.write(shelf, b"0123456789")

        assert shelf.body(ranges=(ByteRange(2, 4),)) == b"234"

    def test_never_stand_in_for_a_response(self, shelf: Shelf) -> None:
        shelf.keep(replace(exchange(URL, b"the page"), started=1))
        self.write(shelf, b"<p>written")

        assert shelf.body() == b"the page"

    def test_keep_a_block_that_is_an_http_message_whole(self, shelf: Shelf) -> None:
        said = b"HTTP/1.1 404 No\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        self.write(shelf, said, "application/http;msgtype=response")

        assert shelf.body() == said

    def test_of_a_websocket_or_of_another_kind_are_no_pages(self, shelf: Shelf) -> None:
        self.write(shelf, b"{}", fields=(("WARC-Resource-Type", "websocket"),))
        self.write(shelf, b"note", kind="metadata")
        self.write(shelf, b"made of it", kind="conversion")

        assert shelf.find() is None


class TestRevisits:
    def test_answer_with_their_own_head_and_the_originals_payload(self, shelf: Shelf) -> None:
        (first,) = shelf.keep(replace(exchange("http://elsewhere.example/", b"the payload"), started=1_000_000))
        head = b"HTTP/1.1 200 Again\r\nDate: today\r\nContent-Length: 11\r\n\r\n"
        shelf.keep(raw(URL, head, b"the payload"), original=Original(first.record_id, first.url, first.date))

        found = shelf.find()

        assert found is not None
        assert found[0].startswith(b"HTTP/1.1 200 Again\r\nDate: today\r\nContent-Length: 11\r\n")
        assert found[1] == b"the payload"

    def test_without_their_original_are_passed_over(self, shelf: Shelf) -> None:
        (whole,) = shelf.keep(replace(exchange(URL, b"an older page"), started=1_000_000))
        lost = Original("00000000-0000-4000-8000-000000000000", URL, 5)
        shelf.keep(exchange(URL, b"the payload"), original=lost)

        assert shelf.body() == b"an older page"
        assert whole.url == URL

    def test_of_older_programs_are_resolved_by_their_digest(self, shelf: Shelf) -> None:
        """Their revisits name no original."""
        (first,) = shelf.keep(replace(exchange(URL, b"the payload"), started=1_000_000))
        shelf.keep(replace(exchange(URL, b"another payload"), started=2_000_000))
        (revisit,) = shelf.keep(exchange(URL, b"the payload"), original=Original(first.record_id, URL, first.date))
        shelf.captures.prune("news", revisit.filename, {first.offset})
        shelf.captures.add([replace(revisit, refers_to=None)])

        assert shelf.body() == b"the payload"
        assert shelf.body(date=revisit.date) == b"the payload"

    def test_find_their_original_in_another_collection(self, shelf: Shelf) -> None:
        other = Shelf(shelf.settings, "other")
        (first,) = other.keep(exchange(URL, b"the payload", collection="other"))
        shelf.keep(exchange(URL, b"the payload"), original=Original(first.record_id, URL, first.date))

        assert shelf.body() == b"the payload"
        other.captures.close()


class TestDamage:
    def test_of_every_record_is_named(self, shelf: Shelf) -> None:
        """An archive that has a page and can't read it does not say that it has none."""
        (kept,) = shelf.keep(exchange(URL, b"the page"))
        path = shelf.settings.archive_dir("news") / f"{kept.filename}.open"
        path.write_bytes(path.read_bytes()[: kept.offset + 20])

        with pytest.raises(RecordDamaged, match=r"example.org/page can't be read"):
            shelf.find()
        path.unlink()
        with pytest.raises(RecordDamaged, match="No such file"):
            shelf.find()


class TestSimilar:
    OTHER = "http://example.org/data?callback=one&_=1700000000000"
    ASKED = "http://example.org/data?callback=two&_=1795000000000"

    @pytest.mark.parametrize("coding", ["", "gzip", "deflate", "br", "zstd"])
    def test_scripts_call_the_function_that_is_asked_for(self, shelf: Shelf, coding: str) -> None:
        script = b'/**/ typeof one === "function" && one({"one": "phone"});'
        coded = {
            "": bytes,
            "gzip": gzip.compress,
            "deflate": zlib.compress,
            "br": brotli.compress,
            "zstd": zstandard.compress,
        }[coding](script)
        line = f"Content-Encoding: {coding}\r\n" if coding else ""
        head = f'HTTP/1.1 200 OK\r\nContent-Type: text/javascript\r\nETag: "1"\r\n{line}\r\n'.encode()
        shelf.keep(raw(self.OTHER, head, coded))

        assert shelf.find(self.ASKED) is None
        found = shelf.find(self.ASKED, takes_similar=True)

        assert found is not None
        assert found[1] == b'/**/ typeof two === "function" && two({"one": "phone"});'
        assert b"Ghostfleet-Replay: similar; edited\r\n" in found[0]
        assert b"Content-Encoding" not in found[0]
        assert b"ETag" not in found[0]
        fields = ((b"accept-encoding", coding.encode(), b""),)
        assert shelf.body(self.OTHER, fields=fields) == coded, "what was captured stays as it is"

    @pytest.mark.parametrize(
        ("coding", "body"),
        [
            ("", b"no call of any function"),
            ("gzip", b"no gzip"),
            ("compress", b"\x1f\x9done()"),
            ("gzip", gzip.compress(b"one(" + b" " * 20_000_000 + b")")),
            ("", b"one(" + random.Random(2).randbytes(9_000_000) + b")"),
        ],
        ids=["no call", "no gzip", "coding that is not undone", "bomb", "long"],
    )
    def test_what_can_not_be_changed_is_sent_as_it_is(self, shelf: Shelf, coding: str, body: bytes) -> None:
        line = f"Content-Encoding: {coding}\r\n" if coding else ""
        shelf.keep(raw(self.OTHER, f"HTTP/1.1 200 OK\r\n{line}\r\n".encode(), body))

        found = shelf.find(self.ASKED, takes_similar=True, fields=((b"accept-encoding", b"gzip", b""),))

        assert found is not None
        assert b"Ghostfleet-Replay: similar\r\n" in found[0]
        assert found[1] == body

    def test_captures_answer_only_for_what_is_missing(self, shelf: Shelf) -> None:
        shelf.keep(exchange("http://example.org/data?_=1", b"one"), exchange("http://example.org/data?_=2", b"two"))

        assert shelf.body("http://example.org/data?_=2", takes_similar=True) == b"two"
        assert shelf.body("http://example.org/data?_=3", takes_similar=True) in (b"one", b"two")
        assert shelf.body("http://example.org/data?id=3", takes_similar=True) is None


def part(first: int, last: int, total: int) -> Exchange:
    """An archived 206 of a film whose byte at each place is known."""
    body = bytes(place % 256 for place in range(first, last + 1))
    head = b"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes %d-%d/%d\r\n\r\n" % (first, last, total)
    return raw(URL, head, body, status=206)


def several(kind: str, *spans: tuple[int, int]) -> Exchange:
    """An archived 206 with several ranges of the film in one body."""
    parts = b"".join(
        b"\r\n--leaf\r\nContent-Type: %s\r\nContent-Range: bytes %d-%d/1000\r\n\r\n" % (kind.encode(), first, last)
        + film(first, last + 1)
        for first, last in spans
    )
    head = b"HTTP/1.1 206 Partial Content\r\nContent-Type: multipart/byteranges; boundary=leaf\r\n\r\n"
    return raw(URL, head, parts + b"\r\n--leaf--\r\n", status=206)


def film(start: int, stop: int) -> bytes:
    return bytes(place % 256 for place in range(start, stop))


class TestRanges:
    @pytest.mark.parametrize(
        ("asked", "found"),
        [
            (ByteRange(0, 4), (0, 5)),
            (ByteRange(100, None), (100, 1000)),
            (ByteRange(None, 10), (990, 1000)),
            (ByteRange(0, 99999), (0, 1000)),
            (ByteRange(999, 999), (999, 1000)),
        ],
    )
    @pytest.mark.parametrize("whole", [True, False])
    def test_are_cut_from_a_whole_film(
        self, shelf: Shelf, asked: ByteRange, found: tuple[int, int], whole: bool
    ) -> None:
        shelf.keep(exchange(URL, film(0, 1000)) if whole else part(0, 999, 1000))

        answer = shelf.find(ranges=(asked,))

        assert answer is not None
        assert answer[0].startswith(b"HTTP/1.1 206 Partial Content\r\n")
        assert b"Content-Range: bytes %d-%d/1000\r\n" % (found[0], found[1] - 1) in answer[0]
        assert b"Content-Length: %d\r\n" % (found[1] - found[0]) in answer[0]
        assert answer[1] == film(*found)

    @pytest.mark.parametrize("asked", [ByteRange(1000, None), ByteRange(None, 0)])
    def test_outside_are_refused_with_the_length(self, shelf: Shelf, asked: ByteRange) -> None:
        shelf.keep(exchange(URL, film(0, 1000)))

        found = shelf.find(ranges=(asked,))

        assert found is not None
        assert found[0].startswith(b"HTTP/1.1 416 ")
        assert b"Content-Range: bytes */1000\r\nContent-Length: 0\r\n" in found[0]
        assert found[1] == b""

    @pytest.mark.parametrize("piece", [1, 7, 1000])
    def test_several_come_in_one_body(self, shelf: Shelf, piece: int) -> None:
        """The body is read by Python's own parser of multipart messages."""
        ends = range(piece, 1000 + piece, piece)
        chunks = b"".join(
            b"%x\r\n%b\r\n" % (min(end, 1000) - end + piece, film(end - piece, min(end, 1000))) for end in ends
        )
        head = b"HTTP/1.1 200 OK\r\nContent-Type: video/mp4\r\nTransfer-Encoding: chunked\r\n\r\n"
        shelf.keep(raw(URL, head, chunks + b"0\r\n\r\n", film(0, 1000)))

        found = shelf.find(ranges=(ByteRange(0, 0), ByteRange(5, 20), ByteRange(21, 21), ByteRange(None, 10)))

        assert found is not None
        answer, body = found
        assert answer.startswith(b"HTTP/1.1 206 ")
        assert b"Content-Length: %d\r\n" % len(body) in answer
        message = BytesParser().parsebytes(answer.partition(b"\r\n")[2] + body)
        parts = message.get_payload()
        assert isinstance(parts, list)
        assert [(each["Content-Range"], each.get_content_type()) for each in parts] == [
            (f"bytes {first}-{last}/1000", "video/mp4") for first, last in ((0, 0), (5, 20), (21, 21), (990, 999))
        ]
        assert b"\r\n\r\n" + film(5, 21) + b"\r\n--" in body

    def test_several_that_were_recorded_in_one_body(self, shelf: Shelf) -> None:
        """The same ranges get the body as it was recorded; one range is cut out of it; others are not there."""
        shelf.keep(several("text/plain", (0, 99), (200, 299)))

        same = shelf.find(ranges=(ByteRange(0, 99), ByteRange(200, 299)))

        assert same is not None
        assert b"Content-Type: multipart/byteranges; boundary=leaf\r\n" in same[0]
        assert same[1] == several("text/plain", (0, 99), (200, 299)).response.body.parts[0]
        cut = shelf.find(ranges=(ByteRange(210, 219),))
        assert cut is not None
        assert cut[1] == film(210, 220)
        assert b"Content-Range: bytes 210-219/1000\r\n" in cut[0]
        assert b"Content-Type: text/plain\r\n" in cut[0]
        assert b"multipart" not in cut[0]
        absent: Sequence[tuple[ByteRange, ...]] = (
            (),
            (ByteRange(90, 109),),
            (ByteRange(200, 299), ByteRange(0, 99)),
            (ByteRange(0, 99), ByteRange(200, 250)),
        )
        assert [shelf.find(ranges=ranges) for ranges in absent] == [None] * len(absent)

    @pytest.mark.parametrize(
        "body",
        [
            b"",
            b"--leaf",
            b"--leaf\r\n" * 1_000,
            b"--leaf\r\nContent-Range: bytes 0-99/1000\r\n\r\nshort",
            b"--leaf\r\nContent-Range: bytes 9-0/1000\r\n\r\n0123456789",
            b"--leaf\r\nContent-Type: text/plain\r\n\r\n0123456789",
            b"--leaf\r\nContent-Range: bytes 0-0/9\r\n\r\nx\r\n" * 17,
            b"--leaf\r\n" + b"X: y\r\n" * 1_000,
        ],
    )
    def test_a_recorded_body_with_several_that_is_not_well_formed_answers_none(self, shelf: Shelf, body: bytes) -> None:
        head = b"HTTP/1.1 206 Partial Content\r\nContent-Type: multipart/byteranges; boundary=leaf\r\n\r\n"
        shelf.keep(raw(URL, head, body, status=206))

        assert shelf.find(ranges=(ByteRange(0, 0), ByteRange(5, 9))) is None
        assert shelf.find(ranges=(ByteRange(0, 9),)) is None

    def test_several_that_overlap_or_run_backward_get_the_whole(self, shelf: Shelf) -> None:
        shelf.keep(exchange(URL, film(0, 1000)))

        for asked in ((ByteRange(5, 9), ByteRange(0, 1)), (ByteRange(0, 9), ByteRange(9, 12))):
            found = shelf.find(ranges=asked)
            assert found is not None
            assert (found[0][:13], found[1]) == (b"HTTP/1.1 200 ", film(0, 1000))

    @pytest.mark.parametrize(
        ("condition", "status"),
        [(b'"1"', 206), (b'"2"', 200), (b"Mon, 02 Jan 2006 15:04:05 GMT", 206), (b'W/"1"', 200), (b"", 200)],
    )
    def test_of_another_version_get_the_whole(self, shelf: Shelf, condition: bytes, status: int) -> None:
        head = (
            b'HTTP/1.1 200 OK\r\nETag: "1"\r\nLast-Modified: Mon, 02 Jan 2006 15:04:05 GMT\r\nContent-Length: 5\r\n\r\n'
        )
        shelf.keep(raw(URL, head, b"hello"))

        found = shelf.find(ranges=(ByteRange(1, 2),), fields=((b"if-range", condition, b""),))

        assert found is not None
        assert found[0].startswith(b"HTTP/1.1 %d " % status)

    def test_are_found_in_the_part_that_holds_them(self, shelf: Shelf) -> None:
        shelf.keep(part(0, 299, 1000), part(300, 599, 1000), part(600, 999, 1000))

        assert shelf.body(ranges=(ByteRange(350, 400),)) == film(350, 401)
        assert shelf.body(ranges=(ByteRange(250, 400),)) == film(250, 401)
        assert shelf.body(ranges=(ByteRange(None, 100),)) == film(900, 1000)

    def test_are_put_together_of_several_parts(self, shelf: Shelf) -> None:
        shelf.keep(part(0, 299, 1000), part(300, 599, 1000), part(600, 899, 1000), part(500, 620, 2000))

        found = shelf.find(ranges=(ByteRange(100, 699),))
        assert found is not None
        assert b"Content-Range: bytes 100-699/1000\r\n" in found[0]
        assert b"Content-Length: 600\r\n" in found[0]
        assert found[1] == film(100, 700)
        assert shelf.body(ranges=(ByteRange(650, None),)) == film(650, 900), "what is there of what was asked for"

    def test_are_needed_for_a_part(self, shelf: Shelf) -> None:
        shelf.keep(part(0, 299, 1000))
        assert shelf.find() is None

        shelf.keep(part(0, 999, 1000))
        found = shelf.find()
        assert found is not None
        assert found[0].startswith(b"HTTP/1.1 200 OK\r\n")
        assert found[1] == film(0, 1000)

    def test_of_an_error_page_are_ignored(self, shelf: Shelf) -> None:
        shelf.keep(exchange(URL, b"no such film", status=404))

        found = shelf.find(ranges=(ByteRange(0, 3),))

        assert found is not None
        assert found[0].startswith(b"HTTP/1.1 404 ")
        assert found[1] == b"no such film"

    def test_cut_the_payload_wherever_its_pieces_end(self, shelf: Shelf) -> None:
        pieces = [b"%x\r\n%b\r\n" % (stop - start, film(start, stop)) for start, stop in ((0, 7), (7, 8), (8, 1000))]
        body = b"".join(pieces) + b"0\r\n\r\n"
        shelf.keep(raw(URL, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", body, film(0, 1000)))

        ranges: Sequence[tuple[int, int]] = [(0, 6), (6, 8), (7, 7), (5, 500), (999, 999)]
        assert [shelf.body(ranges=(ByteRange(*asked),)) for asked in ranges] == [
            film(first, last + 1) for first, last in ranges
        ]


def test_a_capture_of_the_last_microsecond_of_the_year_9999_has_its_date() -> None:
    shown = replace(capture(), date=parse_date("9999-12-31T23:59:59.999999Z"))
    assert archived_lines(shown, shown.url).startswith(b"Memento-Datetime: Fri, 31 Dec 9999 23:59:59 GMT\r\n")


@pytest.mark.parametrize("record_id", ["x\rSet-Cookie: a=b", "x\r\nSet-Cookie: a=b", "x y", "", "x" * 10_000])
def test_a_record_id_of_another_program_adds_no_header_field(record_id: str) -> None:
    shown = replace(capture(), record_id=record_id)
    lines = archived_lines(shown, shown.url).split(b"\r\n")
    assert [line.partition(b":")[0] for line in lines] == [b"Memento-Datetime", b"Link", b"Vary", b""]
