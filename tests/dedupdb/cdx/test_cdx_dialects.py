"""The CDX server takes the parameters of pywb's and Wayback's, and their clients find in it all that it has."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote
from xml.etree import ElementTree

import pytest
from flask.testing import FlaskClient
from support.archive.capture_rows import capture
from support.processes.machine_needs import free_port
from werkzeug.serving import make_server

from archive.access_rules import Access, AccessControl, AccessRules, rule_for
from archive.capture import Capture, Original
from archive.dates import parse_date
from bench.peers.peer import install, wait_for_port
from bench.process import stop
from dedupdb.captures import query as queries
from dedupdb.captures.capture_index import Captures
from dedupdb.captures.query import NumberedPage
from dedupdb.cdx.server import create_app

FIRST = capture("http://example.org/", "20250101000000", offset=0, digest="A" * 32, mime="text/html")
KEPT = [
    FIRST,
    capture("http://example.org/", "20250102000000", offset=10, digest="B" * 32, status=404),
    capture(
        "http://example.org/", "20250103000000", offset=20, digest="A" * 32, kind="revisit", status=301, sha256=None,
        refers_to=Original(FIRST.record_id, FIRST.url, FIRST.date),
    ),
    capture("http://example.org/", "20260101000000", offset=30, digest="A" * 32),
    capture("http://example.org/a", "20260101000000", offset=40, digest="C" * 32),
]  # fmt: skip


@pytest.fixture
def captures(tmp_path: Path) -> Iterator[Captures]:
    with Captures(f"sqlite:///{tmp_path / 'index.db'}") as index:
        index.add(KEPT)
        yield index


@pytest.fixture
def client(captures: Captures) -> FlaskClient:
    return create_app(captures).test_client()


def answer(client: FlaskClient, question: str, status: int = 200) -> str:
    said = client.get(f"/news/cdx?{question}")
    assert said.status_code == status, said.text
    return said.text


def offsets(client: FlaskClient, question: str) -> list[int]:
    return [int(line.split()[0]) for line in answer(client, f"{question}&output=text&fl=offset").splitlines()]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("collapse=timestamp:4", [0, 30]),
        ("collapse=timestamp:6&collapse=statuscode", [0, 10, 20, 30]),
        ("collapse=digest", [0, 10, 20]),
        ("collapse=digest&sort=reverse", [20, 10, 0]),
        ("collapse=timestamp:4&limit=-1", [30]),
        ("collapse=timestamp:4&limit=1", [0]),
        ("collapse=digest&filter=!status:404", [0]),
        ("collapseTime=4", [0, 10, 20, 30]),
        ("reverse=true", [30, 20, 10, 0]),
        ("fastLatest=true&limit=-2", [20, 30]),
        ("page=0", [0, 10, 20, 30]),
        ("page=0&pageSize=5&limit=2", [0, 10]),
        ("limit=999999999999999999&offset=1", [10, 20, 30]),
    ],
)
def test_a_parameter_of_theirs_is_answered(client: FlaskClient, question: str, found: list[int]) -> None:
    """T21: each of them was refused."""
    assert offsets(client, f"url=http://example.org/&{question}") == found


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("page=1", "parameter page: 1 is behind the last page"),
        ("page=-1", "parameter page: '-1' is not a whole number from 0 to"),
        ("page=0&sort=reverse", "parameter page: can't be used with sort=reverse"),
        ("page=0&limit=-1", "parameter page: can't be used with a negative limit"),
        ("limit=9999999999999999999", "parameter limit: '9999999999999999999' is not a whole number"),
        ("offset=1000001", "parameter offset: '1000001' is not a whole number up to 1000000"),
        ("offset=0000000001000000000", "parameter offset: '0000000001000000000' is not a whole number up to 1000000"),
        ("pageSize=0", "parameter pageSize: '0' is not a whole number from 1 to 100"),
        ("pageSize=1000", "parameter pageSize: '1000' is not a whole number from 1 to 100"),
        ("collapse=colour", "parameter collapse: "),
        ("collapse=timestamp:0", "parameter collapse: '0' is not a number of characters"),
        ("collapse=digest&sort=closest&closest=2025", "parameter collapse: can't be used with sort=closest"),
        ("showDupeCount=maybe", "parameter showDupeCount: 'maybe' is neither true nor false"),
        ("showDupeCount=true&limit=-2", "parameter showDupeCount: counts in the order of time"),
        ("showPagedIndex=true", "parameter showPagedIndex: is not supported"),
        ("colour=x", "parameter colour: is not supported"),
        ("&".join(["collapse=digest"] * 11), "parameter collapse: is given 11 times, more than 10"),
    ],
)
def test_what_has_no_meaning_is_refused_by_its_name(client: FlaskClient, question: str, said: str) -> None:
    assert answer(client, f"url=http://example.org/&{question}", 400).startswith(said)


def test_the_number_of_pages_is_told_as_pywb_does(client: FlaskClient) -> None:
    assert json.loads(answer(client, "url=example.org/*&showNumPages=true")) == {"blocks": 1, "pageSize": 1, "pages": 1}
    assert json.loads(answer(client, "url=example.org/x&showNumPages=true"))["pages"] == 0


def test_nothing_found_is_told_to_clients_that_read_json_as_pywb_does(client: FlaskClient) -> None:
    assert json.loads(answer(client, "url=example.org/x&output=json", 404)) == {
        "message": "No Captures found for: example.org/x"
    }
    assert answer(client, "url=example.org/x&output=text") == ""


def test_revisits_are_resolved(client: FlaskClient) -> None:
    fields = "fl=offset,mime,status,orig.length,orig.offset,orig.filename"
    lines = answer(client, f"url=http://example.org/&resolveRevisits=true&output=text&{fields}").splitlines()
    assert lines[2] == f"20 text/html 200 321 0 {FIRST.filename}"
    assert lines[0] == "0 text/html 200 - - -"
    cdx = answer(client, "url=http://example.org/&resolveRevisits=true&output=cdx").splitlines()
    assert [len(line.split()) for line in cdx] == [14] * 4
    for output in ("json", "cdxj"):
        line = answer(client, f"url=http://example.org/&resolveRevisits=true&output={output}").splitlines()[2]
        said = json.loads(line[line.index("{") :])
        assert (said["orig.offset"], said["mime"], said["status"]) == ("0", "text/html", "200")


def test_duplicates_and_skips_are_counted(client: FlaskClient) -> None:
    fields = "output=text&fl=offset,dupecount"
    assert answer(client, f"url=example.org/*&showDupeCount=true&{fields}").splitlines() == [
        *("0 0", "10 0", "20 1", "30 2", "40 0")
    ]
    fields = "output=text&fl=offset,skipcount,endtimestamp"
    question = "url=http://example.org/&collapse=timestamp:4&showSkipCount=true&lastSkipTimestamp=true"
    assert answer(client, f"{question}&{fields}").splitlines() == ["0 2 20250103000000", "30 0 -"]
    question = "url=http://example.org/&filter=!status:404&showSkipCount=true&output=text&fl=offset,skipcount"
    assert answer(client, question).splitlines() == ["0 1", "20 0", "30 0"]


def many(count: int) -> list[Capture]:
    return [capture(f"http://www.example.org/{number:05}", offset=1000 + number) for number in range(count)]


@pytest.fixture
def block(monkeypatch: pytest.MonkeyPatch) -> int:
    """The captures of a block of a page, which are fewer than in the product."""
    monkeypatch.setattr(queries, "BLOCK", 200)
    return 200


def test_pages_together_are_the_whole_in_any_order(
    client: FlaskClient, captures: Captures, tmp_path: Path, block: int
) -> None:
    """Over several ranges of keys, as matchType=domain has them."""
    captures.add([*many(2 * block), capture("http://example.org:81/", offset=9)])
    whole = offsets(client, "url=*.example.org")
    pages = json.loads(answer(client, "url=*.example.org&showNumPages=true"))["pages"]
    assert pages == 3
    for order in ((0, 1, 2), (2, 1, 0), (1, 2, 0)):
        with Captures(f"sqlite:///{tmp_path / 'index.db'}") as index:  # it remembers no page
            fresh = create_app(index).test_client()
            found = {page: offsets(fresh, f"url=*.example.org&page={page}") for page in order}
        assert [offset for page in range(3) for offset in found[page]] == whole
    assert answer(client, "url=*.example.org&page=3", 400).startswith("parameter page: 3 is behind the last page")


def test_a_page_after_the_other_costs_no_more_than_the_first(
    captures: Captures, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where a page ends is remembered, so nothing before it is counted again."""
    from dedupdb.captures.paging import IndexScan

    captures.add(many(100))
    asked: list[int] = []
    mark = IndexScan.mark
    monkeypatch.setattr(IndexScan, "mark", lambda self, engine, after, number: asked.append(number) or mark(
        self, engine, after, number
    ))  # fmt: skip
    query = queries.parse("news", {"url": "www.example.org/*"})
    found = []
    for number in range(10):
        paged = queries.Query(query.collection, query.ranges, page=NumberedPage(number, 10))
        found += [each.offset for each in captures.search(paged)]
    assert found == [1000 + number for number in range(100)]
    assert asked == []
    assert len(list(captures.search(queries.Query(query.collection, query.ranges, page=NumberedPage(3, 30))))) == 10
    assert asked == [], "the end of the ninth page of 10 is that of the third of 30"


class Served:
    """Our CDX server on a port of this machine."""

    def __init__(self, captures: Captures) -> None:
        self._server = make_server("127.0.0.1", 0, create_app(captures), threaded=True)
        self._thread = threading.Thread(target=self._server.serve_forever)

    def __enter__(self) -> str:
        self._thread.start()
        return f"http://127.0.0.1:{self._server.port}/news/cdx"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join(30)
        self._server.server_close()


TOOLKIT = """
import json, sys, cdx_toolkit
client = cdx_toolkit.CDXFetcher(source=sys.argv[1])
for url in sys.argv[2:]:
    for found in (client.iter(url), client.get(url, limit=5000)):
        print(json.dumps([(each["timestamp"], each["url"], each["offset"]) for each in found]))
"""


@pytest.mark.timeout(600)  # the client may have to be installed first
def test_cdx_toolkit_finds_what_the_index_has(client: FlaskClient, captures: Captures, block: int) -> None:
    """T21: its `iter`, which always asks for pages, found nothing, and did not say so."""
    python = install("cdx_toolkit", "cdx_toolkit==0.9.39") / "python"
    captures.add(many(block + 7))
    urls = ("http://example.org/", "*.example.org", "http://example.org/nothing")
    with Served(captures) as address:
        done = subprocess.run(
            [str(python), "-c", TOOLKIT, address, *urls],
            env={**os.environ, "CDXT_DEFAULT_MIN_RETRY_INTERVAL": "0"},  # the client would wait 3 s between requests
            capture_output=True, text=True, check=False, timeout=100,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    said = iter(done.stdout.splitlines())
    for url in urls:
        lines = answer(client, f"url={quote(url)}&output=text&fl=timestamp,url,offset").splitlines()
        assert [json.loads(next(said)) for _ in range(2)] == [[line.split() for line in lines]] * 2


@pytest.mark.timeout(600)  # the client may have to be installed first
def test_pywb_finds_what_the_index_has_when_it_asks_us(client: FlaskClient, captures: Captures, tmp_path: Path) -> None:
    tools, port, log = install("pywb", "pywb==2.10.0"), free_port(), tmp_path / "pywb.log"
    fields = "timestamp,url,digest,offset,filename"
    with Served(captures) as address, log.open("wb") as output:
        (tmp_path / "config.yaml").write_text(f"collections:\n  ours:\n    index: cdx+{address}\n", "utf-8")
        process = subprocess.Popen(
            [str(tools / "wayback"), "--bind", "127.0.0.1", "--port", str(port)],
            cwd=tmp_path, stdout=output, stderr=output,
        )  # fmt: skip
        try:
            wait_for_port("127.0.0.1", port, process, log)
            for question in ("url=http://example.org/", "url=example.org/*"):
                done = subprocess.run(
                    ["curl", "-sS", f"http://127.0.0.1:{port}/ours/cdx?{question}&output=json&fields={fields}"],
                    capture_output=True, text=True, check=True,
                )  # fmt: skip
                ours = answer(client, f"{question}&output=json&fl={fields}")
                # It asks for one URL's captures by their distance from a date that it leaves empty: newest first.
                theirs = [json.loads(line) for line in done.stdout.splitlines()]
                known = [json.loads(line) for line in ours.splitlines()]
                assert sorted(theirs, key=_place) == sorted(known, key=_place)
        finally:
            stop(process)


def _place(said: dict[str, str]) -> str:
    return said["offset"]


@pytest.mark.parametrize("more", ["", "&collapse=digest", "&collapse=timestamp:4&showDupeCount=true"])
@pytest.mark.parametrize("url", ["http://example.org/", "*.example.org"])
def test_an_answer_goes_on_behind_its_resume_key(client: FlaskClient, url: str, more: str) -> None:
    question = f"url={url}{more}&output=text&fl=offset"
    whole = answer(client, question).split()
    found: list[str] = []
    key: str | None = ""
    while key is not None:
        text = answer(client, f"{question}&limit=1&showResumeKey=true&resumeKey={quote(key)}")
        lines, _, rest = text.partition("\n\n")
        found += lines.split()
        key = rest.strip() or None
        assert len(found) <= len(KEPT)
    assert found == whole


def test_the_resume_key_stands_in_json_where_wayback_has_it(client: FlaskClient) -> None:
    whole = "url=http://example.org/&output=json"
    question = f"{whole}&limit=2&showResumeKey=true"
    rows = json.loads(answer(client, f"{question}&fl=original,timestamp"))
    assert (rows[0], len(rows), rows[3]) == (["original", "timestamp"], 5, [])
    last = json.loads(answer(client, question).splitlines()[-1])
    assert rows[4] == [last["resumeKey"]]
    rest = json.loads(answer(client, f"{whole}&fl=original,timestamp&resumeKey={quote(rows[4][0])}"))
    assert [row[1] for row in rest] == ["timestamp", "20250103000000", "20260101000000"]


@pytest.mark.parametrize(
    ("question", "found"),
    [
        ("url=http://example.org/&offset=1&limit=2", [10, 20]),
        ("url=http://example.org/&offset=9", []),
        ("url=http://example.org/&collapseToFirst=digest", [0, 10, 20]),
        ("urlkey=org,example)/", [0, 10, 20, 30]),
        ("urlkey=org,example)/&matchType=prefix&limit=-1", [40]),
    ],
)
def test_a_part_of_the_captures_is_answered(client: FlaskClient, question: str, found: list[int]) -> None:
    assert offsets(client, question) == found


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("url=example.org&showResumeKey=true", "needs a limit"),
        ("url=example.org&showResumeKey=true&limit=-3", "negative limit"),
        ("url=example.org&resumeKey=org,example)/ 1", "not the key of an earlier answer"),
        ("url=example.org&resumeKey=x&sort=reverse", "default order"),
        ("url=example.org&offset=9999999", "use resumeKey"),
        ("url=example.org&offset=1&limit=-2", "negative limit"),
        ("url=example.org&urlkey=org", "leave one of them out"),
        ("urlkey=org&matchType=host", "matchType"),
    ],
)
def test_a_part_that_can_not_be_given_is_refused(client: FlaskClient, question: str, said: str) -> None:
    text = answer(client, question, 400)
    assert said in text
    assert text.count("\n") == 1


def test_outbackcdx_answers_eleven_columns_by_default(client: FlaskClient) -> None:
    first = client.get("/news?url=http://example.org/&limit=1").text
    assert first == (
        f"org,example)/ 20250101000000 http://example.org/ text/html 200 {'A' * 32} - - 321 0 {FIRST.filename}\n"
    )
    assert client.get("/nothing?url=http://example.org/").status_code == 404


def test_openwayback_reads_xml(captures: Captures) -> None:
    captures.add([capture("http://example.org/?a=<&\x01", "20260101000000", offset=50, mime="a<b")])
    client = create_app(captures).test_client()
    found = client.get("/news", query_string={"q": "type:urlquery url:http%3A%2F%2Fexample.org%2F limit:2 offset:1"})
    results = ElementTree.fromstring(found.text).findall("results/result")
    assert [each.findtext("compressedoffset") for each in results] == ["10", "20"]
    assert results[1].findtext("mimetype") == "warc/revisit"
    found = client.get(
        "/news", query_string={"q": "type:prefixquery url:http%3A%2F%2Fexample.org%2F%3Fa startdate:2026"}
    )
    (odd,) = ElementTree.fromstring(found.text).findall("results/result")
    assert (odd.findtext("mimetype"), odd.findtext("url")) == ("a<b", "http://example.org/?a=<&\ufffd")
    plain, spaced = (
        client.get("/news", query_string={"q": f"limit:{gap}2 type:{gap}urlquery url:{gap}http%3A%2F%2Fexample.org%2F"})
        for gap in ("", " ")
    )
    assert (spaced.status_code, spaced.data) == (200, plain.data)
    none = client.get("/news", query_string={"q": "type:urlquery url:http%3A%2F%2Fnowhere.example%2F"})
    assert (none.status_code, ElementTree.fromstring(none.text).findtext("error/title")) == (
        404, "Resource Not In Archive",
    )  # fmt: skip
    assert client.get("/news", query_string={"q": "type:nothing url:x"}).status_code == 400


@pytest.fixture
def mementos(captures: Captures, tmp_path: Path) -> FlaskClient:
    captures.add(
        [
            capture("http://example.org/?a=http://b.example//c&d=%20", "20260101000000", offset=60),
            capture("http://example.org/", "20260102000000", offset=70, kind="resource"),
        ]
    )
    access = AccessControl(tmp_path)
    (tmp_path / "news").mkdir()
    AccessRules([rule_for("http://example.org/a", Access.EXCLUDE)]).save(tmp_path / "news" / "access.aclj")
    return create_app(captures, access=access, memento_url="https://play.example/w/").test_client()


def test_the_number_of_pages_does_not_tell_of_excluded_captures(captures: Captures, tmp_path: Path) -> None:
    captures.add(capture(f"http://hidden.test/{number}", offset=100_000 + number) for number in range(3_500))
    captures.add([capture("http://hidden.test/z", offset=10)])
    client = create_app(captures, access=AccessControl(tmp_path)).test_client()
    asked = "/news/cdx?url=hidden.test/*&showNumPages=true"
    assert client.get(asked).json == {"blocks": 2, "pageSize": 1, "pages": 2}
    (tmp_path / "news").mkdir()

    def hide(*urls: str) -> None:
        AccessRules([rule_for(url, Access.EXCLUDE) for url in urls]).save(tmp_path / "news" / "access.aclj")

    hide("http://hidden.test/z", "http://hidden.test/6", "http://hidden.test/5", "http://hidden.test/8")
    assert client.get(asked).json == {"blocks": 2, "pageSize": 1, "pages": 2}
    hide("http://hidden.test/z", *(f"http://hidden.test/{digit}" for digit in range(4, 10)))
    assert client.get(asked).json == {"blocks": 1, "pageSize": 1, "pages": 1}
    hide("http://hidden.test/")
    nowhere = client.get("/news/cdx?url=nowhere.test/*&showNumPages=true").json
    assert client.get(asked).json == nowhere == {"blocks": 0, "pageSize": 1, "pages": 0}
    statuses = [client.get(f"/news/cdx?url={host}.test/*&page=1").status_code for host in ("hidden", "nowhere")]
    assert statuses == [400, 400]


@pytest.fixture
def half_hidden(captures: Captures, tmp_path: Path) -> FlaskClient:
    """Hide the captures below `/secret/`: one behind others, which two revisits name, and the last one of all."""
    secret = capture("http://half.test/secret/deal-with-x", "20231114000000", offset=310, digest="A" * 32)
    captures.add(
        [
            capture("http://half.test/a", "20250101000000", offset=300, digest="A" * 32),
            secret,
            capture(
                "http://half.test/same", "20260101000000", offset=320, digest="A" * 32, kind="revisit", sha256=None,
                refers_to=Original(secret.record_id, secret.url, secret.date),
            ),
            capture(
                "http://half.test/same", "20260102000000", offset=330, digest="A" * 32, kind="revisit", sha256=None,
                refers_to=Original(secret.record_id, "http://half.test/same", parse_date("20260102000000")),
            ),
            capture("http://www.half.test/secret/end", "20231115000000", offset=340, digest="A" * 32),
        ]
    )  # fmt: skip
    (tmp_path / "news").mkdir()
    rules = [rule_for(f"http://{host}/secret/", Access.EXCLUDE) for host in ("half.test", "www.half.test")]
    AccessRules(rules).save(tmp_path / "news" / "access.aclj")
    return create_app(captures, access=AccessControl(tmp_path)).test_client()


@pytest.mark.parametrize(
    "more",
    [
        "",
        "limit=-9",
        "sort=reverse",
        "page=0",
        "resolveRevisits=1",
        "showDupeCount=1",
        "collapse=digest",
        "collapse=digest&sort=reverse",
        *(
            f"showSkipCount=1&lastSkipTimestamp=1&showResumeKey=1&limit={limit}{collapse}"
            for limit in (1, 3)
            for collapse in ("", "&collapse=digest", "&collapse=length", "&filter=!url:same")
        ),
    ],
)
def test_no_answer_tells_the_url_or_the_date_of_an_excluded_capture(half_hidden: FlaskClient, more: str) -> None:
    for output in ("cdxj", "json", "text", "cdx"):
        text = answer(half_hidden, f"url=*.half.test&output={output}&{more}")
        assert "test,half" in text or "half.test" in text
        for told in ("secret", "202311", "2023-11", "1699920000", "1700006400", " 310 ", '"310"'):
            assert told not in text


def test_xml_leaves_excluded_captures_out(half_hidden: FlaskClient) -> None:
    found = half_hidden.get("/news", query_string={"q": "type:prefixquery url:http://half.test/"})
    results = ElementTree.fromstring(found.text).findall("results/result")
    assert [each.findtext("compressedoffset") for each in results] == ["300", "320", "330"]


def test_what_excluded_captures_would_skip_is_not_counted(half_hidden: FlaskClient) -> None:
    fields = "output=text&fl=offset,skipcount,endtimestamp&showSkipCount=1&lastSkipTimestamp=1"
    lines = answer(half_hidden, f"url=*.half.test&{fields}").splitlines()
    assert lines == ["300 0 -", "320 0 -", "330 0 -"]
    assert answer(half_hidden, f"url=*.half.test&{fields}&collapse=digest").splitlines() == ["300 2 20260102000000"]


def test_the_number_of_pages_costs_one_walk_back_to_the_last_open_capture(
    captures: Captures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each page was a search of its own, with 30 s of its own."""
    monkeypatch.setattr(queries, "BLOCK", 10)
    captures.add(many(205))
    captures.add([capture("http://example.org:81/", offset=9)])
    (tmp_path / "news").mkdir()
    AccessRules([
        *(rule_for(f"http://www.example.org/{number:05}", Access.EXCLUDE) for number in range(5, 205)),
        rule_for("http://example.org:81/", Access.EXCLUDE),
    ]).save(tmp_path / "news" / "access.aclj")  # fmt: skip
    client = create_app(captures, access=AccessControl(tmp_path)).test_client()
    searches: list[int] = []
    looked_at = Captures.looked_at
    monkeypatch.setattr(Captures, "looked_at", lambda *args, **kwargs: searches.append(1) or looked_at(*args, **kwargs))

    for more in ("", "&limit=-3", "&sort=reverse", "&filter==status:999", "&from=2030", "&showSkipCount=1"):
        searches.clear()
        said = json.loads(answer(client, f"url=www.example.org/*&showNumPages=1{more}"))
        assert (said, len(searches)) == ({"blocks": 1, "pageSize": 1, "pages": 1}, 1)
    asked = "url=*.example.org&showNumPages=1"
    # The five of KEPT come first, then the five open ones of www, then hidden ones of www and of the port.
    assert json.loads(answer(client, asked)) == {"blocks": 1, "pageSize": 1, "pages": 1}
    assert json.loads(answer(client, f"{asked}&pageSize=100"))["blocks"] == 1
    assert answer(client, "url=*.example.org&page=1", 400).startswith("parameter page: 1 is behind the last page")
    assert answer(client, "url=www.example.org/*&page=9", 400).startswith("parameter page: 9 is behind the last page")


def test_a_timemap_lists_the_mementos(mementos: FlaskClient) -> None:
    found = mementos.get("/news/timemap/link/http://example.org/")
    assert found.mimetype == "application/link-format"
    lines = found.text.strip().split(",\n")
    assert lines[:3] == [
        '<http://example.org/>; rel="original"',
        '<http://localhost/news/timemap/link/http://example.org/>; rel="self"; type="application/link-format"',
        '<http://localhost/news/timegate/http://example.org/>; rel="timegate"',
    ]
    assert lines[3] == (
        '<https://play.example/w/news/20250101000000id_/http://example.org/>; rel="memento"; '
        'datetime="Wed, 01 Jan 2025 00:00:00 GMT"'
    )
    assert len(lines) == 7
    rows = [json.loads(line) for line in mementos.get("/news/timemap/json/http://example.org/").text.splitlines()]
    assert [row["status"] for row in rows] == ["200", "404", "301", "200"]


def test_a_url_with_slashes_and_a_query_is_kept_as_it_is(mementos: FlaskClient) -> None:
    found = mementos.get("/news/timemap/link/http://example.org/?a=http://b.example//c&d=%20")
    assert "/20260101000000id_/http://example.org/?a=http://b.example//c&d=%20>" in found.text


@pytest.mark.parametrize(
    ("date", "timestamp"),
    [
        (None, "20260101000000"),
        ("Wed, 01 Jan 2025 12:00:01 GMT", "20250102000000"),
        ("Wed, 01 Jan 1997 00:00:00 GMT", "20250101000000"),
    ],
)
def test_the_timegate_leads_to_the_nearest_memento(mementos: FlaskClient, date: str | None, timestamp: str) -> None:
    found = mementos.get("/news/timegate/http://example.org/", headers={"Accept-Datetime": date} if date else {})
    assert (found.status_code, found.headers["Vary"]) == (302, "accept-datetime")
    assert found.headers["Location"] == f"https://play.example/w/news/{timestamp}id_/http://example.org/"
    assert 'rel="original"' in found.headers["Link"]
    assert 'rel="timemap"' in found.headers["Link"]


def test_a_date_that_is_none_and_urls_out_of_reach_are_refused(mementos: FlaskClient, client: FlaskClient) -> None:
    date = {"Accept-Datetime": "tomorrow"}
    assert mementos.get("/news/timegate/http://example.org/", headers=date).status_code == 400
    for path in ("/news/timegate/http://example.org/a", "/news/timemap/link/http://example.org/a"):
        assert mementos.get(path).status_code == 404
    assert mementos.get("/nothing/timemap/link/http://example.org/").status_code == 404
    assert client.get("/news/timemap/link/http://example.org/").status_code == 404, "no address of mementos is set"
