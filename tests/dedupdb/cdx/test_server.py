"""The CDX server speaks pywb's words, refuses in one line, and streams."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from support.archive.capture_rows import capture
from werkzeug.test import TestResponse

from archive.capture import Original
from archive.listener_access import HostNames
from archive.warc import cdxj
from dedupdb.captures.capture_index import Captures
from dedupdb.cdx.server import create_app

ORIGINAL = Original("11112222-3333-4444-5555-666677778888", "http://example.org/", 1_700_000_000_123_456)
KEPT = [
    capture("http://example.org/", "20250101000000", offset=0),
    capture("http://example.org/", "20260101000000", offset=10, kind="revisit", refers_to=ORIGINAL, status=200),
    capture("https://example.org/", "20260201000000", offset=20, status=301, mime="unk"),
    capture("http://example.org/a.png", "20260101000000", offset=30, mime="image/png"),
    capture("http://example.org/ä b", "20260101000000", offset=40, mime="text/html", method="POST"),
    capture("http://www.example.org/", "20260101000000", offset=50, status=None, digest=None),
    capture("http://example.com/", "20260101000000", offset=60),
]


@pytest.fixture
def captures(tmp_path: Path) -> Iterator[Captures]:
    with Captures(f"sqlite:///{tmp_path / 'index.db'}") as index:
        index.add(KEPT)
        yield index


@pytest.fixture
def client(captures: Captures) -> FlaskClient:
    return create_app(captures).test_client()


def offsets(client: FlaskClient, question: str) -> list[int]:
    answer = client.get(f"/news/cdx?{question}&output=text&fl=offset")
    assert answer.status_code == 200, answer.text
    return [int(line) for line in answer.text.splitlines()]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("url=http://example.org/", [0, 10, 20]),
        ("url=example.org", [0, 10, 20]),
        ("url=example.org/nothing", []),
        ("url=example.org/*", [0, 10, 20, 40, 30]),
        ("url=example.org/a&matchType=prefix", [30]),
        ("url=example.org&matchType=host", [0, 10, 20, 40, 30]),
        ("url=*.example.org", [0, 10, 20, 40, 30, 50]),
        ("url=org&matchType=domain", [0, 10, 20, 40, 30, 50]),
        ("url=http://example.org/%C3%A4%20b", [40]),
        ("url=example.org&from=2026", [10, 20]),
        ("url=example.org&to=2025", [0]),
        ("url=example.org&from=20260101&to=20260101", [10]),
        ("url=example.org&limit=1", [0]),
        ("url=example.org&limit=0", []),
        ("url=example.org&limit=-1", [20]),
        ("url=example.org&limit=-2", [10, 20]),
        ("url=example.org&limit=1000000000", [0, 10, 20]),
        ("url=example.org&sort=reverse", [20, 10, 0]),
        ("url=example.org&sort=reverse&limit=1", [20]),
        ("url=example.org&sort=reverse&limit=-1", [0]),
        ("url=example.org&sort=closest&closest=20251230", [10, 20, 0]),
        ("url=example.org&sort=closest&closest=", [20, 10, 0]),
        ("url=example.org&sort=closest&closest=2025&limit=1", [0]),
        ("url=example.org/*&filter=mime:image", [30]),
        ("url=example.org/*&filter=mimetype:image&filter==statuscode:200", [30]),
        ("url=example.org/*&filter=!mime:warc/revisit&filter=~url:.*org/$", [0, 20]),
        ("url=*.example.org&filter==status:-", [50]),
        ("url=example.org&allowFuzzy=false", [0, 10, 20]),
    ],
)
def test_a_question_is_answered(client: FlaskClient, question: str, found: list[int]) -> None:
    assert offsets(client, question) == found


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("", "parameter url: is missing"),
        ("url=*", "parameter url: "),
        ("url=http://example.org/%00", "parameter url: has a NUL"),
        ("url=example.org&limit=x", "parameter limit: 'x' is not a whole number"),
        ("url=example.org&from=then", "parameter from: 'then' is no date"),
        ("url=example.org&matchType=all", "parameter matchType: 'all' is unknown"),
        ("url=example.org&output=xml", "parameter output: 'xml' is unknown; use one of cdxj, json, text, cdx"),
        ("url=example.org&fl=url,colour", "parameter fl: there is no field 'colour'"),
        ("url=example.org&filter=~url:(a%2B)%2B$", "parameter filter: a repeated group"),
        ("url=example.org&filter=~url:[", "parameter filter: '[' is not a regular expression"),
        ("url=example.org&colour=true", "parameter colour: is not supported"),
        ("url=example.org&matchtype=host", "parameter matchtype: is not supported; did you mean matchType?"),
        ("url=example.org&url=example.com", "parameter url: is given more than once"),
    ],
)
def test_what_can_not_be_used_is_named_in_one_line(client: FlaskClient, question: str, said: str) -> None:
    answer = client.get(f"/news/cdx?{question}")
    assert answer.status_code == 400
    assert answer.text.startswith(said)
    assert answer.text.count("\n") == 1


@pytest.mark.parametrize("name", ["unheard-of", "..", "%2e%2e%2fnews", "a" * 65, "n%20s"])
def test_an_unknown_collection_is_404(client: FlaskClient, name: str) -> None:
    assert client.get(f"/{name}/cdx?url=example.org").status_code == 404


def test_cdxj_is_what_stands_in_the_sidecars(client: FlaskClient) -> None:
    answer = client.get("/news/cdx?url=*.example.org")
    assert answer.mimetype == "text/x-cdxj"
    assert [cdxj.parse(line, "news") for line in answer.text.splitlines()] == [KEPT[i] for i in (0, 1, 2, 4, 3, 5)]


def test_cdxj_with_chosen_fields_holds_those(client: FlaskClient) -> None:
    answer = client.get("/news/cdx?url=example.org&limit=1&fl=urlkey,timestamp,url,status")
    assert answer.text == 'org,example)/ 20250101000000 {"url":"http://example.org/","status":"200"}\n'


def test_json_is_an_object_per_line(client: FlaskClient) -> None:
    answer = client.get("/news/cdx?url=example.org&output=json")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert lines[0] == {
        "urlkey": "org,example)/",
        "timestamp": "20250101000000",
        "url": "http://example.org/",
        "mime": "text/html",
        "status": "200",
        "digest": KEPT[0].digest,
        "length": "321",
        "offset": "0",
        "filename": KEPT[0].filename,
    }
    assert [line["mime"] for line in lines] == ["text/html", "warc/revisit", "unk"]


def test_json_with_waybacks_names_is_an_array_of_arrays(client: FlaskClient) -> None:
    answer = client.get("/news/cdx?url=example.org&output=json&fl=timestamp,original,statuscode")
    assert answer.mimetype == "application/json"
    assert answer.json == [
        ["timestamp", "original", "statuscode"],
        ["20250101000000", "http://example.org/", "200"],
        ["20260101000000", "http://example.org/", "200"],
        ["20260201000000", "https://example.org/", "301"],
    ]
    assert client.get("/news/cdx?url=example.org/no&output=json&fl=original").json == [["original"]]


def test_text_is_the_fields_in_columns(client: FlaskClient) -> None:
    answer = client.get("/news/cdx?url=www.example.org&output=text&fields=url,status,digest")
    assert answer.text == "http://www.example.org/ - -\n"


def test_cdx_has_eleven_columns(client: FlaskClient) -> None:
    answer = client.get("/news/cdx?url=*.example.org&output=cdx")
    rows = [line.split(" ") for line in answer.text.splitlines()]
    assert {len(row) for row in rows} == {11}
    first = ["org,example)/", "20250101000000", "http://example.org/", "text/html", "200", KEPT[0].digest]
    assert rows[0] == [*first, "-", "-", "321", "0", KEPT[0].filename]


def test_collections_are_listed(client: FlaskClient, captures: Captures) -> None:
    captures.add([capture(collection="sports")])
    assert client.get("/").json == [
        {"id": "news", "name": "news", "cdx-api": "http://localhost/news/cdx"},
        {"id": "sports", "name": "sports", "cdx-api": "http://localhost/sports/cdx"},
    ]


def test_a_long_answer_comes_in_pieces(client: FlaskClient, captures: Captures) -> None:
    captures.add(capture(f"http://example.net/{number}", offset=1000 + number) for number in range(3000))
    answer = client.get("/news/cdx?url=example.net/*", buffered=False)
    pieces = list(answer.response)
    assert len(pieces) == 30
    assert sum(piece.count(b"\n" if isinstance(piece, bytes) else "\n") for piece in pieces) == 3000


def test_a_reader_that_leaves_early_leaves_nothing_open(client: FlaskClient, captures: Captures) -> None:
    captures.add(capture(f"http://example.net/{number}", offset=1000 + number) for number in range(3000))
    for _ in range(30):
        answer: TestResponse = client.get("/news/cdx?url=example.net/*", buffered=False)
        next(iter(answer.response))
        answer.close()
    assert captures.count("news") == 3000 + len(KEPT)


def test_health_tells_whether_the_index_can_be_read(client: FlaskClient, tmp_path: Path, captures: Captures) -> None:
    assert client.get("/healthz").status_code == 200
    captures.close()
    for path in tmp_path.glob("index.db*"):
        path.unlink()
    (tmp_path / "index.db").mkdir()
    for path in ("/healthz", "/news/cdx?url=example.org", "/"):
        answer = client.get(path)
        assert (answer.status_code, answer.text) == (503, "the capture index can't be read at the moment\n")


@pytest.mark.parametrize("path", ["/", "/healthz", "/news/cdx?url=http://example.org/", "/nothing"])
def test_a_page_by_dns_rebinding_reads_nothing_of_the_index(client: FlaskClient, path: str) -> None:
    """A page at http://evil.example:PORT/ whose name now leads to 127.0.0.1 (T12)."""
    answer = client.get(path, headers={"Host": "evil.example:8081"})

    assert answer.status_code == 421
    assert "admin.host_names" in answer.text
    assert "example.org" not in answer.text


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8081", "[::1]:8081", "index.example:8081"])
def test_the_index_answers_to_its_address_and_to_listed_names(captures: Captures, host: str) -> None:
    app = create_app(captures, HostNames("127.0.0.1", ("index.example",), "admin.host_names"))

    assert app.test_client().get("/", headers={"Host": host}).status_code == 200
