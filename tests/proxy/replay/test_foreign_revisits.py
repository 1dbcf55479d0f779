"""Requests, responses and revisits of other programs are tied, however their files name and order them."""

from __future__ import annotations

import hashlib
import itertools
from base64 import b32encode
from collections.abc import Iterator

import pytest
from support.archive.foreign_warcs import base32, hexadecimal, http, new_id
from support.archive.imported_collection import DATE, RESPONSE, ImportedShelf, made, posted

from archive.settings.load import Settings
from archive.warc.reading.exchange_pairs import WINDOW
from proxy.replay.memento import RecordDamaged

PAYLOAD = b"<p>the payload of both"
PROFILES = tuple(
    f"http://netpreserve.org/warc/{version}/revisit/{profile}"
    for version in ("1.0", "1.1")
    for profile in ("identical-payload-digest", "server-not-modified")
)
IDENTICAL = PROFILES[0]


@pytest.fixture
def shelf(settings: Settings) -> Iterator[ImportedShelf]:
    with ImportedShelf(settings) as opened:
        yield opened


@pytest.mark.parametrize("is_request_first", [True, False])
@pytest.mark.parametrize("tie", ["on the request", "on the response", "on both", "on neither", "leading nowhere"])
def test_a_post_is_answered_and_a_get_is_not(shelf: ImportedShelf, tie: str, is_request_first: bool) -> None:
    url = "http://hill.example/form"
    parts: list[bytes] = []
    for number in (b"1", b"2"):
        asked, said = new_id(), new_id()
        lost = new_id() if tie == "leading nowhere" else None
        request, _ = made(
            "request",
            url,
            posted(b"q=" + number),
            WARC_Record_ID=asked,
            WARC_Concurrent_To=said if tie in ("on the request", "on both") else lost,
        )
        response, _ = made(
            "response",
            url,
            http(b"answer " + number),
            WARC_Record_ID=said,
            WARC_Concurrent_To=asked if tie in ("on the response", "on both") else lost,
        )
        parts += [request, response] if is_request_first else [response, request]

    shelf.take(*parts)

    assert [shelf.ask(url, b"q=" + number) for number in (b"1", b"2")] == [(200, b"answer 1"), (200, b"answer 2")]
    assert shelf.ask(url) is None


@pytest.mark.parametrize("tie", ["request", "response"])
def test_exchanges_that_overlap_keep_their_requests(shelf: ImportedShelf, tie: str) -> None:
    url, numbers = "http://hill.example/form", range(6)
    ids = [(new_id(), new_id()) for _ in numbers]
    requests, responses = [], []
    for number, (asked, said) in zip(numbers, ids, strict=True):
        in_request = {"WARC_Concurrent_To": said} if tie == "request" else {}
        in_response = {"WARC_Concurrent_To": asked} if tie == "response" else {}
        requests.append(made("request", url, posted(b"q=%d" % number), WARC_Record_ID=asked, **in_request)[0])
        responses.append(made("response", url, http(b"answer %d" % number), WARC_Record_ID=said, **in_response)[0])
    note, _ = made("metadata", url, b"fetchTimeMs: 3\r\n", Content_Type="application/warc-fields")

    shelf.take(*requests[3:], note, *reversed(responses), note, *requests[:3])

    assert [shelf.ask(url, b"q=%d" % number) for number in numbers] == [(200, b"answer %d" % each) for each in numbers]
    assert shelf.ask(url) is None


def test_without_ties_the_date_tells_requests_that_overlap_apart(shelf: ImportedShelf) -> None:
    url = "http://hill.example/form"
    dates = [f"2026-03-04T05:06:0{number}Z" for number in range(3)]
    requests = [made("request", url, posted(b"q=%d" % at), date=date)[0] for at, date in enumerate(dates)]
    responses = [made("response", url, http(b"answer %d" % at), date=date)[0] for at, date in enumerate(dates)]

    shelf.take(*requests, *responses)

    assert [shelf.ask(url, b"q=%d" % at) for at in range(3)] == [(200, b"answer %d" % at) for at in range(3)]


def test_a_get_between_posts_of_one_url_keeps_its_answer(shelf: ImportedShelf) -> None:
    url = "http://hill.example/form"
    post, _ = made("request", url, posted(b"q=1"))
    get, _ = made("request", url, b"GET /form HTTP/1.1\r\nHost: x\r\n\r\n")

    shelf.take(get, made("response", url, http(b"the form"))[0], post, made("response", url, http(b"sent"))[0])

    assert (shelf.ask(url), shelf.ask(url, b"q=1")) == ((200, b"the form"), (200, b"sent"))


def test_a_file_of_responses_alone_is_indexed_in_its_order_with_bounded_waiting(shelf: ImportedShelf) -> None:
    count = 2 * WINDOW + 10
    parts = [made("response", f"http://hill.example/{number}", http(b"x"))[0] for number in range(count)]
    late, _ = made("request", "http://hill.example/0", posted(b"q=1"))

    done = shelf.take(*parts, late, name="a.warc")

    assert done.captures == count
    assert shelf.ask("http://hill.example/0") == (200, b"x"), "a request so far behind is of another exchange"


WAYS = ("id", "url and date", "both", "digest alone", "id of a missing record")


def naming(way: str, original: str, url: str, date: str, digest: str | None) -> dict[str, str | None]:
    fields: dict[str, str | None] = {"WARC_Payload_Digest": digest}
    if way in ("id", "both"):
        fields["WARC_Refers_To"] = original
    if way == "id of a missing record":
        fields["WARC_Refers_To"] = new_id()
    if way in ("url and date", "both"):
        fields |= {"WARC_Refers_To_Target_URI": url, "WARC_Refers_To_Date": date}
    return fields


@pytest.mark.parametrize("is_imported_first", [True, False])
def test_a_revisit_in_another_file_resolves(shelf: ImportedShelf, is_imported_first: bool) -> None:
    originals, revisits, expected = [], [], {}
    for at, (way, profile) in enumerate(itertools.product(WAYS, PROFILES)):
        version = "WARC/1.1" if "/1.1/" in profile else "WARC/1.0"
        url, payload = f"http://hill.example/{at}", b"the payload of %d" % at
        said = {"WARC_Payload_Digest": base32(payload)}
        original, identity = made("response", url, http(payload), version=version, **said)
        revisit, _ = made(
            "revisit",
            f"{url}/copy",
            http(b"", "304 Not Modified" if "not-modified" in profile else "200 OK"),
            version=version,
            date="2026-04-04T05:06:07Z",
            WARC_Profile=profile,
            **naming(way, identity, url, DATE, base32(payload)),
        )
        originals.append(original)
        revisits.append(revisit)
        expected[f"{url}/copy"] = (200, payload)
    files = [(originals, "a.warc.gz"), (revisits, "b.warc.gz")]
    for parts, name in files if is_imported_first else reversed(files):
        shelf.take(*parts, name=name)

    assert {url: shelf.ask(url) for url in expected} == expected


def digests_of(payload: bytes) -> list[str]:
    found = [base32(payload), base32(payload).lower(), hexadecimal(payload), hexadecimal(payload).upper()]
    sha256, md5 = hashlib.sha256(payload), hashlib.md5(payload)
    found += [f"sha256:{sha256.hexdigest()}", f"SHA-256:{b32encode(sha256.digest()).decode()}"]
    return [*found, f"md5:{md5.hexdigest()}", f"MD5:{md5.hexdigest().upper()}"]


def test_digests_of_one_payload_in_two_forms(shelf: ImportedShelf) -> None:
    """A SHA-1 and an MD5 of two records can't be compared; then URL and date alone name the original."""
    parts, comparable, others = [], {}, []
    groups = ({0, 1, 2, 3}, {4, 5}, {6, 7})
    for one, two in itertools.product(range(8), repeat=2):
        url, payload = f"http://hill.example/{one}/{two}", b"payload %d %d" % (one, two)
        said, other = digests_of(payload)[one], digests_of(payload)[two]
        original, identity = made("response", url, http(payload), WARC_Payload_Digest=said)
        parts.append(original)
        for way in ("url and date", "digest alone"):
            named = naming(way, identity, url, DATE, other)
            parts.append(made("revisit", f"{url}/{way[0]}", http(b""), WARC_Profile=IDENTICAL, **named)[0])
        comparable[f"{url}/u"] = (200, payload)
        if any({one, two} <= group for group in groups) or two in (4, 5):
            comparable[f"{url}/d"] = (200, payload)
        else:
            others.append(f"{url}/d")
    shelf.take(*parts)

    assert {url: shelf.ask(url) for url in comparable} == comparable
    for url in others:
        with pytest.raises(RecordDamaged):
            shelf.ask(url)


def chain(length: int, *, loops: bool = False, digest: str | None = None, is_reversed: bool = False) -> list[bytes]:
    """A response and revisits of which each names the one before; with `loops`, the first names the last."""
    ids = [new_id() for _ in range(length + 1)]
    first, _ = made(
        "response", "http://hill.example/0", http(PAYLOAD), WARC_Record_ID=ids[0], WARC_Payload_Digest=digest
    )
    parts = [] if loops else [first]
    for at in range(1, length + 1):
        named = ids[length if loops and at == 1 else at - 1]
        url, profile = f"http://hill.example/{at}", IDENTICAL
        parts.append(
            made(
                "revisit",
                url,
                http(b""),
                date=f"2026-03-05T00:00:{at % 60:02}Z",
                WARC_Record_ID=ids[at],
                WARC_Profile=profile,
                WARC_Refers_To=named,
                WARC_Payload_Digest=digest,
            )[0]
        )
    return parts[::-1] if is_reversed else parts


@pytest.mark.parametrize("digest", [None, base32(PAYLOAD)])
@pytest.mark.parametrize("is_reversed", [True, False])
def test_a_chain_of_revisits_leads_to_the_response(shelf: ImportedShelf, digest: str | None, is_reversed: bool) -> None:
    shelf.take(*chain(5, digest=digest, is_reversed=is_reversed))

    assert [shelf.ask(f"http://hill.example/{at}") for at in range(6)] == [(200, PAYLOAD)] * 6


@pytest.mark.parametrize("length", [1, 2, 50])
def test_a_loop_ends_and_is_never_an_empty_answer(shelf: ImportedShelf, length: int) -> None:
    shelf.take(*chain(length, loops=True, digest=base32(PAYLOAD)))
    with pytest.raises(RecordDamaged, match="original is not in the index"):
        shelf.ask("http://hill.example/1")

    elsewhere, _ = made("response", "http://other.example/", http(PAYLOAD), WARC_Payload_Digest=base32(PAYLOAD))
    shelf.take(elsewhere, name="b.warc.gz")
    assert shelf.ask("http://hill.example/1") == (200, PAYLOAD)


@pytest.mark.parametrize(
    ("block", "content_type"), [(b"", None), (b"", RESPONSE), (b"HTTP/1.1 200 OK\r\n\r\n", RESPONSE)]
)
def test_a_revisit_without_fields_has_the_head_of_its_original(
    shelf: ImportedShelf, block: bytes, content_type: str | None
) -> None:
    original, identity = made("response", "http://hill.example/", http(PAYLOAD, "203 Fine", "X-Old: 1"))
    revisit, _ = made(
        "revisit",
        "http://hill.example/copy",
        block,
        WARC_Profile=IDENTICAL,
        Content_Type=content_type,
        **naming("id", identity, "", DATE, None),
    )
    shelf.take(revisit, original)

    found = shelf.heard("http://hill.example/copy")

    assert found is not None
    assert found[1] == PAYLOAD
    assert found[0].startswith(b"HTTP/1.1 203 Fine\r\n")
    assert b"\r\nX-Old: 1\r\n" in found[0]


@pytest.mark.parametrize(
    ("original_date", "named_date"),
    [
        ("2026-03-04T05:06:07.890123Z", "2026-03-04T05:06:07Z"),
        ("2026-03-04T05:06:07Z", "2026-03-04T05:06:07.000Z"),
        ("2026-03-04T05:06:07.89Z", "2026-03-04T05:06:07.890000000Z"),
    ],
)
def test_dates_of_another_precision_name_the_original(
    shelf: ImportedShelf, original_date: str, named_date: str
) -> None:
    original, identity = made("response", "http://hill.example/", http(PAYLOAD), date=original_date, version="WARC/1.1")
    revisit, _ = made(
        "revisit",
        "http://hill.example/copy",
        http(b""),
        version="WARC/1.1",
        WARC_Profile=PROFILES[2],
        **naming("url and date", identity, "http://hill.example/", named_date, None),
    )
    shelf.take(original, revisit)

    assert shelf.ask("http://hill.example/copy") == (200, PAYLOAD)


def test_a_revisit_of_an_answer_to_a_post(shelf: ImportedShelf) -> None:
    url = "http://hill.example/form"
    parts: list[bytes] = []
    for at, kind in enumerate(("response", "revisit")):
        block = http(PAYLOAD if kind == "response" else b"")
        named = {"WARC_Refers_To_Target_URI": url, "WARC_Refers_To_Date": DATE, "WARC_Profile": IDENTICAL}
        answer, identity = made(
            kind,
            url,
            block,
            date=DATE if kind == "response" else "2026-05-04T05:06:07Z",
            WARC_Payload_Digest=base32(PAYLOAD),
            **(named if kind == "revisit" else {}),
        )
        parts += [made("request", url, posted(b"q=%d" % at), WARC_Concurrent_To=identity)[0], answer]
    shelf.take(*parts)

    assert [shelf.ask(url, b"q=%d" % at) for at in range(2)] == [(200, PAYLOAD)] * 2
    assert shelf.ask(url) is None


def test_a_304_with_the_digest_of_nothing_is_not_an_empty_page(shelf: ImportedShelf) -> None:
    url = "http://hill.example/"
    nothing, _ = made("response", "http://hill.example/nothing", http(b""), WARC_Payload_Digest=base32(b""))
    original, _ = made("response", url, http(PAYLOAD), WARC_Payload_Digest=base32(PAYLOAD))
    unchanged, _ = made(
        "revisit",
        url,
        http(b"", "304 Not Modified"),
        date="2026-04-04T05:06:07Z",
        WARC_Profile=PROFILES[1],
        WARC_Payload_Digest=base32(b""),
        WARC_Refers_To_Target_URI=url,
        WARC_Refers_To_Date=DATE,
    )
    shelf.take(nothing, original, unchanged)

    assert shelf.ask(url) == (200, PAYLOAD)
