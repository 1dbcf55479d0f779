"""CDX lines are taken by POST when they stand on records, and only from a client with the token."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from flask.testing import FlaskClient
from support.archive.foreign_warcs import SECOND, base32, by_warcprox, http, new_id, record
from support.archive.heritrix_crawl.site import WARC
from support.archive.imported_collection import made, posted
from support.processes.ghostfleet_command import Command
from werkzeug.test import TestResponse

from archive.capture import Capture
from archive.settings.load import Settings, load
from archive.settings.values.redacted import HIDDEN, shown
from archive.settings.values.secret_file import SecretUnreadable
from archive.warc import cdx11, cdxj
from dedupdb.captures.capture_index import Captures
from dedupdb.cdx.intake import Intake
from dedupdb.cdx.intake_pages import IntakePages
from dedupdb.cdx.posted_lines import MAX_LINE
from dedupdb.cdx.server import create_app
from dedupdb.index.indexer import Indexer

TOKEN = "0123456789abcdef"
ASKED = {"Authorization": f"Bearer {TOKEN}"}
HEAD = cdx11.HEAD


@pytest.fixture
def archived(tmp_path: Path) -> Path:
    """A file of warcprox in the archive folder of a collection, without an index."""
    archive = tmp_path / "home" / "collections" / "news" / "archive"
    archive.mkdir(parents=True)
    (archive / "one.warc.gz").write_bytes(by_warcprox("site.example"))
    return archive


def settings_of(archived: Path, **more: Any) -> Settings:
    return load({"home": str(archived.parents[2]), "admin.cdx_token": TOKEN, **more}, environment={})


@pytest.fixture
def captures(archived: Path) -> Iterator[Captures]:
    with Captures(f"sqlite:///{archived.parents[2] / 'ghostfleet.db'}") as index:
        yield index


@pytest.fixture
def client(archived: Path, captures: Captures) -> FlaskClient:
    return create_app(captures, intake=IntakePages.of(settings_of(archived), captures)).test_client()


def post(client: FlaskClient, *lines: str | bytes, query: str = "") -> TestResponse:
    data = b"".join((line.encode() if isinstance(line, str) else line) + b"\n" for line in lines)
    return client.post(f"/news{query}", data=data, headers=ASKED)


def found_in(archived: Path, name: str = "one.warc.gz") -> list[Capture]:
    return list(cdxj.captures_of(archived / name, "news"))


def as_pywb(capture: Capture) -> str:
    """The line as cdxj-indexer writes it."""
    said = {"url": capture.url, "mime": capture.mime, "offset": str(capture.offset), "filename": capture.filename}
    return f"{capture.key} {capture.timestamp} {json.dumps(said)}"


def nine(capture: Capture) -> str:
    words = cdx11.line(capture).split(" ")
    return " ".join((*words[:7], *words[9:]))


def ten(capture: Capture) -> str:
    words = cdx11.line(capture).split(" ")
    return " ".join((*words[:8], *words[9:]))


@pytest.mark.parametrize("write", [cdx11.line, ten, nine, cdxj.line, as_pywb])
def test_lines_of_every_tool_are_taken_once(
    client: FlaskClient, archived: Path, captures: Captures, write: Callable[[Capture], str]
) -> None:
    there = found_in(archived)
    lines = [write(capture) for capture in there]

    answer = post(client, *lines)
    again = post(client, *lines)

    assert (answer.status_code, answer.text) == (200, f"Added {len(there)} records\n")
    assert (again.status_code, again.text) == (200, f"Added 0 records\nKnown before: {len(there)}\n")
    for capture in there:
        row = captures.by_record("news", capture.record_id)
        assert row is not None
        assert (row.url, row.date, row.sha256, row.length) == (
            capture.url, capture.date, capture.sha256, capture.length,
        )  # fmt: skip
        assert row.buckets == (capture.buckets if row.kind == "revisit" else ())


def test_heads_comments_and_empty_lines_are_no_records(client: FlaskClient, archived: Path) -> None:
    first = found_in(archived)[0]
    odd = f"{first.filename} {first.offset} {first.url} {first.timestamp}"
    answer = post(client, HEAD, "", "!OpenWayback-CDXJ 1.0", cdx11.line(first), " CDX g V a b", odd)
    assert answer.text == "Added 1 records\nKnown before: 1\n"


def test_a_posted_capture_is_on_disk_too(client: FlaskClient, archived: Path, captures: Captures) -> None:
    there = found_in(archived)
    post(client, cdx11.line(there[1]))
    post(client, cdx11.line(there[0]))
    sidecar = archived.parent / "indexes" / "one.warc.gz.cdxj"
    assert sidecar.read_text().splitlines() == sorted(sidecar.read_text().splitlines())
    assert {capture.offset for capture in cdxj.read(sidecar, "news")} == {there[0].offset, there[1].offset}

    with Indexer("", captures, archived.parents[2]) as indexer:
        assert indexer.reconcile() == 0
        assert captures.count("news") == 2
        assert indexer.reindex("news") == len(there)


def test_a_capture_that_only_the_sidecar_has_keeps_its_line(
    client: FlaskClient, archived: Path, captures: Captures
) -> None:
    there = found_in(archived)
    sidecar = archived.parent / "indexes" / "one.warc.gz.cdxj"
    sidecar.parent.mkdir()
    cdxj.write_sorted(sidecar, [cdxj.line(there[0])])

    assert post(client, cdx11.line(there[0])).text == "Added 1 records\n"

    assert sidecar.read_text() == f"{cdxj.line(there[0])}\n"
    assert captures.at("news", there[0].filename, {there[0].offset}) == {there[0].offset: there[0]}


def test_each_refused_line_has_its_number_and_reason(client: FlaskClient, archived: Path, captures: Captures) -> None:
    good, other = found_in(archived)[:2]
    (archived / "growing.warc.gz.open").write_bytes(by_warcprox("site.example"))
    (archived / "cut.warc.gz").write_bytes((archived / "one.warc.gz").read_bytes()[: good.offset + 20])
    line = cdx11.line(good)
    request = good.offset + good.length
    bad: list[tuple[str | bytes, str]] = [
        (line.replace("one.warc.gz", "none.warc.gz"), "collection news has no file none.warc.gz in the home"),
        (line.replace("one.warc.gz", "growing.warc.gz"), "is still being written"),
        (line.replace("one.warc.gz", "cut.warc.gz"), "no whole record of cut.warc.gz is at"),
        (line.replace(f" {good.offset} ", f" {good.offset + 1} "), "no whole record of one.warc.gz is at"),
        (line.replace(f" {good.offset} ", " 99999999 "), "no whole record of one.warc.gz is at 99999999"),
        (line.replace(f" {good.offset} ", f" {request} "), "is a request, not a capture"),
        (line.replace(f" {good.offset} ", " 0 "), "is a warcinfo, not a capture"),
        (line.replace(good.url, "http://other.example/"), f"has the URL {good.url!r}"),
        (line.replace(good.timestamp, "20200101000000"), f"has the date {good.timestamp}"),
        (line.replace("/ ", "/?__wb_method=POST ", 1), "is of a GET request"),
        (line.replace("one.warc.gz", "../one.warc.gz"), "is not the name of a file in the collection"),
        (line.replace("one.warc.gz", "/etc/passwd"), "is not the name of a file in the collection"),
        (line.replace(good.timestamp, "2026"), "does not have 14 digits"),
        (line.replace(f" {good.offset} ", " -5 "), "the offset '-5' is not a whole number"),
        ("@alias http://a.example/ http://b.example/", "aliases are not kept here"),
        ("three small words", "a line of 3 columns can't be read"),
        ("key 20260304050608 {", "the JSON of the line can't be read"),
        ("key 20260304050608 " + '{"a":' * 3000, "the JSON of the line can't be read"),
        ('key 20260304050608 {"url": true, "offset": 1, "filename": "a"}', "needs url, offset and filename"),
        (b"\xff\xfe\xfd", "the line is not UTF-8"),
        ("x" * (3 * MAX_LINE), f"the line has more than {MAX_LINE} bytes"),
    ]
    lines = [line, *(text for text, _ in bad), cdx11.line(other)]

    answer = post(client, *lines)
    skipping = post(client, *lines, query="?badLines=skip")

    assert answer.status_code == 400
    assert answer.text.startswith(f"Added 2 records\nRefused lines: {len(bad)}\n")
    reasons = answer.text.splitlines()[2:]
    for number, ((text, reason), said) in enumerate(zip(bad, reasons, strict=True), 2):
        assert said.startswith(f"line {number}: "), text[:100]
        assert reason in said, text[:100]
    assert (skipping.status_code, captures.count("news")) == (200, 2)
    assert skipping.text.startswith("Added 0 records\nKnown before: 2\n")


def test_a_known_capture_is_compared_too(client: FlaskClient, archived: Path) -> None:
    line = cdx11.line(found_in(archived)[0])
    post(client, line)
    answer = post(client, line.replace(" http://site.example/ ", " http://other.example/ "))
    assert "line 1: the record at" in answer.text
    assert answer.status_code == 400


def test_the_request_behind_a_record_gives_its_method(client: FlaskClient, archived: Path, captures: Captures) -> None:
    common = {"WARC-Date": "2026-03-04T05:06:08Z", "WARC-Target-URI": "http://site.example/api"}
    identity, question = new_id(), b"POST /api HTTP/1.1\r\nHost: site.example\r\nContent-Length: 6\r\n"
    question += b"Content-Type: application/x-www-form-urlencoded\r\n\r\nq=moss"
    kept = [
        record("WARC/1.0", {"WARC-Type": "response", "WARC-Record-ID": identity, **common,
               "WARC-Payload-Digest": base32(SECOND), "Content-Type": "application/http;msgtype=response"},
               http(SECOND)),
        record("WARC/1.0", {"WARC-Type": "request", "WARC-Record-ID": new_id(), **common,
               "WARC-Concurrent-To": identity, "Content-Type": "application/http;msgtype=request"}, question),
    ]  # fmt: skip
    (archived / "asked.warc.gz").write_bytes(b"".join(map(gzip.compress, kept)))
    (archived / "plain.warc").write_bytes(b"".join(kept))
    places = "20260304050608 http://site.example/api text/html 200 - - - 0 0"
    named = f"example,site)/api?__wb_method=POST&q=moss {places} asked.warc.gz"

    assert post(client, named, f"example,site)/api {places} plain.warc").text == "Added 2 records\n"
    assert "is of a POST request" in post(client, named.replace("POST", "PUT")).text

    for name in ("asked.warc.gz", "plain.warc"):
        (row,) = captures.at("news", name, {0}).values()
        assert (row.method, row.request_body) == ("POST", "q=moss")
        assert row.key.endswith("__wb_method=post&q=moss")


def test_a_request_anywhere_in_the_file_gives_the_method(
    client: FlaskClient, archived: Path, captures: Captures
) -> None:
    url = "http://site.example/api"
    asked, named = made("request", url, posted(b"q=moss"))
    between = made("response", "http://site.example/other", http(b"x"))[0]
    parts = [asked, between, made("response", url, http(b"sent"), WARC_Concurrent_To=named)[0], between]
    (archived / "first.warc").write_bytes(b"".join(parts))
    offset = len(asked) + len(between)
    line = f"example,site)/api 20260304050607 {url} text/html 200 - - - 0 {offset} first.warc"

    assert post(client, line).text == "Added 1 records\n"

    (row,) = captures.at("news", "first.warc", {offset}).values()
    assert (row.method, row.request_body) == ("POST", "q=moss")


def test_records_are_read_where_they_are(archived: Path, captures: Captures, tmp_path: Path) -> None:
    there = found_in(archived)
    far = tmp_path / "storage" / "news" / "archive"
    far.mkdir(parents=True)
    shutil.move(archived / "one.warc.gz", far / "one.warc.gz")
    (archived / "linked.warc.gz").symlink_to(WARC)
    linked = found_in(archived, "linked.warc.gz")
    pages = IntakePages.of(settings_of(archived, **{"storage.url": f"file://{tmp_path / 'storage'}"}), captures)
    client = create_app(captures, intake=pages).test_client()

    answer = post(client, *(cdx11.line(capture) for capture in (*there, *linked)))

    assert answer.text == f"Added {len(there) + len(linked)} records\n"


def test_a_request_ends_in_time(archived: Path, captures: Captures) -> None:
    lines = "".join(f"{cdx11.line(capture)}\n" for capture in found_in(archived)).encode()
    source = archived.parent / "lines"
    source.write_bytes(lines)
    with source.open("rb") as body:
        result = Intake(settings_of(archived), captures, seconds=0).take("news", body)
    assert (result.added, result.refused) == (0, lines.count(b"\n"))
    assert "post the line again" in str(result)
    assert not (archived.parent / "indexes").exists()


def test_questions_are_answered_while_lines_are_taken(archived: Path, captures: Captures) -> None:
    """Two requests with lines may take long; a third one is sent away, and others find a free thread."""
    app = create_app(captures, intake=IntakePages.of(settings_of(archived), captures))
    line = f"{cdx11.line(found_in(archived)[0])}\n".encode()
    goes_on, begun = threading.Event(), threading.Semaphore(0)

    class Slow(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, buffer: Any) -> int:
            begun.release()
            goes_on.wait(60)
            buffer[: len(line)] = line
            return len(line)

    def slow() -> TestResponse:
        body = {"wsgi.input": io.BufferedReader(Slow()), "CONTENT_LENGTH": str(len(line))}
        return app.test_client().post("/news", environ_overrides=body, headers=ASKED)

    with ThreadPoolExecutor(2) as threads:
        taken = [threads.submit(slow), threads.submit(slow)]
        for _ in taken:
            assert begun.acquire(timeout=60)
        refused = app.test_client().post("/news", data=line, headers=ASKED)
        asked = app.test_client().get("/healthz")
        goes_on.set()
        answers = {each.result().status_code for each in taken}

    assert (refused.status_code, refused.headers["Retry-After"]) == (503, "10")
    assert (asked.status_code, answers) == (200, {200})
    assert captures.count("news") == 1


@pytest.mark.parametrize(
    "given", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", "Bearer ä"]
)
def test_nobody_posts_without_the_token(
    client: FlaskClient, archived: Path, captures: Captures, given: str | None
) -> None:
    line = cdx11.line(found_in(archived)[0])
    headers = {} if given is None else {"Authorization": given.encode("latin-1").decode("latin-1")}
    for path in ("/news", "/news/delete"):
        answer = client.post(path, data=line, headers=headers)
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="CDX lines"')
        assert TOKEN not in answer.text
    assert captures.collections() == []


def test_a_server_without_a_token_takes_nothing(archived: Path, captures: Captures) -> None:
    for pages in (None, IntakePages.of(settings_of(archived, **{"admin.cdx_token": ""}), captures)):
        answer = create_app(captures, intake=pages).test_client().post("/news", data="x", headers=ASKED)
        assert (answer.status_code, answer.text) == (
            403, "this server takes no CDX lines; set admin.cdx_token to allow it\n",
        )  # fmt: skip


@pytest.mark.parametrize(
    ("path", "more", "status", "said"),
    [
        ("/news/delete", {}, 405, "captures can't be deleted by lines"),
        ("/%2e%2e", {}, 400, "collection '..' can't be used"),
        ("/news?badLines=maybe", {}, 400, "parameter badLines: can't be used"),
        ("/news?colour=red", {}, 400, "parameter colour: can't be used"),
        ("/news", {"Content-Encoding": "gzip"}, 415, "Content-Encoding 'gzip' can't be read"),
        ("/news/cdx", {}, 405, ""),
    ],
)
def test_other_posts_are_refused(client: FlaskClient, path: str, more: dict[str, str], status: int, said: str) -> None:
    answer = client.post(path, data="x", headers={**ASKED, **more})
    assert answer.status_code == status
    assert answer.text.startswith(said)


def test_a_token_that_is_too_short_is_refused_and_never_shown(archived: Path, captures: Captures) -> None:
    with pytest.raises(SecretUnreadable, match=r"admin\.cdx_token has 5 characters") as refused:
        IntakePages.of(settings_of(archived, **{"admin.cdx_token": "geheim"[:5]}), captures)
    assert "gehei" not in str(refused.value)
    assert shown("admin.cdx_token", TOKEN) == HIDDEN


def test_a_running_server_takes_lines_as_outbackcdx_does(archived: Path, tmp_path: Path) -> None:
    there = found_in(archived)
    secret = tmp_path / "token"
    secret.write_text(f"{TOKEN}\n")
    sidecar = archived.parent / "indexes" / "one.warc.gz.cdxj"
    lines = "\n".join((HEAD, *map(cdx11.line, there), "")).encode()
    environment = {"GHOSTFLEET_ADMIN__CDX_TOKEN_FILE": str(secret)}
    with Command("indexer", "--redis-url", "redis://127.0.0.1:1", home=archived.parents[2], **environment) as indexer:
        address = f"http://{indexer.line(ready=True)['cdx']}"
        with httpx.Client(trust_env=False, timeout=60) as http_client:
            assert http_client.post(f"{address}/news", content=lines).status_code == 401
            answer = http_client.post(f"{address}/news", content=lines, headers=ASKED)
            streamed = http_client.post(f"{address}/news", content=iter((lines[:100], lines[100:])), headers=ASKED)
            large = http_client.post(f"{address}/news", content=b"\n" * ((32 << 20) + 1), headers=ASKED)
            listed = http_client.get(f"{address}/news", params={"url": "site.example/*"})
        indexer.signal(signal.SIGTERM)
        assert indexer.ended() == 0, indexer.stderr
        assert TOKEN not in indexer.stderr
    assert answer.status_code == 200
    # The indexer may have read the sidecar and added its captures, before the server adds them itself.
    assert answer.text in (f"Added {len(there)} records\n", "Added 0 records\n")
    assert streamed.text == f"Added 0 records\nKnown before: {len(there)}\n"
    assert large.status_code == 413
    assert len(listed.text.splitlines()) == len(there) == len(sidecar.read_text().splitlines())
