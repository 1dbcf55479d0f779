"""HAR files, as browsers export them, are converted by an import: what they have becomes records, the rest is named."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import pytest
from support.archive.imported_collection import ImportedShelf
from support.archive.oracles import warcio_kinds

from admin.collections.transfer import har
from admin.collections.transfer.har import convert_har
from archive.settings.load import Settings
from archive.warc.reading.member_reader import WarcError
from archive.warc.reading.reader import records
from archive.warc.upkeep.check import check

SHA = "ab" * 32


def entry(url: str = "http://hill.example/a", **values: Any) -> dict[str, Any]:
    """An exchange with a body; keys `request`, `response` and `content` change it."""
    request = {
        "method": "GET",
        "url": url,
        "headers": [{"name": "Accept", "value": "*/*"}],
        **values.pop("request", {}),
    }
    content = {"size": 2, "mimeType": "text/html", "text": "hü", **values.pop("content", {})}
    response = {
        "status": 200,
        "statusText": "OK",
        "headers": [
            {"name": "Content-Type", "value": "text/html; charset=utf-8"},
            {"name": "Content-Encoding", "value": "br"},
            {"name": "Set-Cookie", "value": "a=1\nb=2"},
            {"name": "bad name", "value": "left out"},
            {"name": "X-Split", "value": "one\r\ntwo: three"},
        ],
        "content": content,
        **values.pop("response", {}),
    }
    return {"startedDateTime": "2026-05-04T10:20:30.456Z", "request": request, "response": response, **values}


def archive(*entries: object) -> bytes:
    log = {"version": "1.2", "creator": {"name": "WebInspector", "version": "1"}, "entries": entries}
    return json.dumps({"log": log}).encode()


def converted(tmp_path: Path, settings: Settings, *entries: object) -> tuple[Path, har.Converted, list[str]]:
    source, target, said = tmp_path / "x.har", tmp_path / "x.warc.gz", list[str]()
    source.write_bytes(archive(*entries))
    with target.open("wb") as file:
        done = convert_har(source, file, settings, "hand", SHA, said.append)
    return target, done, said


def test_an_exchange_becomes_a_response_and_a_request(tmp_path: Path, settings: Settings) -> None:
    picture = base64.b64encode(b"\x89PNG\0\xff").decode()
    posted = {"method": "POST", "postData": {"mimeType": "text/plain", "text": "x=1"}}
    target, done, said = converted(
        tmp_path,
        settings,
        entry(),
        entry("http://hill.example/p.png", content={"text": picture, "encoding": "base64"}),
        entry("http://hill.example/send?q=1", request=posted),
    )
    assert (done.taken, done.lost, said) == (3, 0, [])
    assert [finding for finding in check(target) if not finding.is_note] == []
    assert warcio_kinds(target) == ["warcinfo", *["response", "request"] * 3]
    found = [(each.kind, each.url, b"".join(each.block())) for each in records(target)]
    first = found[1][2]
    assert first.startswith(b"HTTP/1.1 200 OK\r\n")
    assert first.endswith(b"Content-Length: 3\r\n\r\nh\xc3\xbc")
    assert b"Set-Cookie: a=1\r\nSet-Cookie: b=2\r\n" in first
    assert b"X-Split: one" in first
    assert b"\r\ntwo:" not in first.replace(b"X-Split: one\r\ntwo", b"")
    assert b"br\r\n" not in first
    assert found[3][2].endswith(b"\r\n\r\n\x89PNG\0\xff")
    assert found[6][2].startswith(b"POST /send?q=1 HTTP/1.1\r\n")
    assert found[6][2].endswith(b"Content-Length: 3\r\n\r\nx=1")
    with target.open("rb") as file:
        again = io.BytesIO()
        convert_har(tmp_path / "x.har", again, settings, "hand", SHA, said.append)
        assert again.getvalue() == file.read(), "the same file gives the same bytes"


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"content": {"text": None, "size": 5}}, "export the HAR file with content"),
        ({"response": {"status": 0}}, "it has no response"),
        ({"response": {"status": "200"}}, "it has no response"),
        ({"request": {"url": "data:text/plain,x"}}, "not one of http or https"),
        ({"request": {"url": "http://"}}, "its URL can't be used"),
        ({"request": {"method": "GE T\r\nX: y"}}, "its method"),
        ({"startedDateTime": "yesterday"}, "startedDateTime"),
        ({"content": {"text": "%%%a", "encoding": "base64"}}, "can't be read"),
        ({"content": {"text": 7}}, "not a text"),
        ({"response": None}, "is missing"),
    ],
)
def test_an_entry_that_can_t_be_taken_is_named(
    tmp_path: Path, settings: Settings, bad: dict[str, Any], words: str
) -> None:
    broken = {**entry(), **bad} if "startedDateTime" in bad or bad.get("response", 1) is None else entry(**bad)
    _, done, said = converted(tmp_path, settings, broken, 7, entry())
    assert (done.taken, done.lost) == (1, 2)
    assert words in said[0]
    assert said[1].startswith("entry 2 ")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"\xff\xfe\x00", "not JSON"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "no list log.entries"),
        (archive(), "has no entries"),
        (archive(entry(response={"status": 0})), "it has no response"),
    ],
)
def test_what_is_no_har_file_is_refused(tmp_path: Path, settings: Settings, data: bytes, words: str) -> None:
    (tmp_path / "x.har").write_bytes(data)
    with pytest.raises(WarcError, match=words):
        convert_har(tmp_path / "x.har", io.BytesIO(), settings, "hand", SHA, print)


def test_a_file_that_is_too_large_is_refused(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(har, "MOST_BYTES", 10)
    (tmp_path / "x.har").write_bytes(archive(entry()))
    with pytest.raises(WarcError, match="export it in parts"):
        convert_har(tmp_path / "x.har", io.BytesIO(), settings, "hand", SHA, print)


def test_a_har_file_is_imported_once(tmp_path: Path, settings: Settings) -> None:
    source = tmp_path / "walk.har"
    source.write_bytes(archive(entry(), entry(response={"status": 0})))
    with ImportedShelf(settings) as shelf:
        first = shelf.take_file(source)
        assert (first.outcome, first.name, first.captures, first.converted, first.left_out) == (
            "imported", "walk.warc.gz", 1, True, 1,
        )  # fmt: skip
        assert "the file is HAR; 1 exchange became records, and 1 entry was left out" in first.first_problems[0]
        assert shelf.take_file(source).outcome == "present"
        assert shelf.ask("http://hill.example/a") == (200, "hü".encode())
