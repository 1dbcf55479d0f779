"""ARC files, and WARC files that the strict reader refuses, are converted by an import."""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.archive.arc_files import (
    VERSION,
    answered,
    arc_file,
    arc_records,
    url_record,
    version_block,
)
from support.archive.foreign_warcs import PAGE, SECOND, http
from support.archive.imported_collection import ImportedShelf, made
from support.archive.oracles import fastwarc_check, warcio_kinds
from support.processes.ghostfleet_command import ROOT
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy

from admin.collections.transfer import conversion, foreign_block
from admin.collections.transfer.importing import Choices, ImportedFile, Importer, find
from admin.collections.transfer.member_text import MAX_FOREIGN_HEADER
from archive.file_lock import locked_folder
from archive.settings.load import Settings
from archive.warc import cdxj
from archive.warc.reading.reader import records
from archive.warc.upkeep.check import check

URL = "http://hill.example"


def _run(home: Path, *arguments: str | Path) -> tuple[int, list[dict[str, Any]]]:
    done = subprocess.run(
        [sys.executable, "-m", "admin.cli", *map(str, arguments), "--home", str(home), "--json"],
        capture_output=True, text=True, cwd=ROOT, timeout=100, check=False,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def _page(path: str, body: bytes = PAGE, **fields: str | None) -> bytes:
    return made("response", f"{URL}{path}", http(body, "200 OK", f"Content-Length: {len(body)}"), **fields)[0]


def _with_length(record: bytes, said: str | None) -> bytes:
    """Change the record's own Content-Length, which is the last field of its header."""
    head, _, rest = record.partition(b"\r\n\r\n")
    lines = head.split(b"\r\n")[:-1] + ([f"Content-Length: {said}".encode()] if said is not None else [])
    return b"\r\n".join(lines) + b"\r\n\r\n" + rest


def _converted(shelf: ImportedShelf, result: ImportedFile) -> list[str]:
    """Fail unless the file is converted, and judged sound by three readers. Return the findings."""
    assert (result.outcome, result.converted) == ("imported", True), result
    path = shelf.settings.archive_dir("old") / result.name
    assert [str(each) for each in check(path)] == []
    warcio_kinds(path)
    if b"WARC-Dedup-Buckets: \r\n" not in gzip.decompress(path.read_bytes()):  # fastwarc 0.15 panics on empty values
        fastwarc_check(path)
    assert {record.version for record in records(path)} == {"WARC/1.1"}
    assert {record.in_member for record in records(path)} == {0}
    return list(result.first_problems)


@pytest.mark.parametrize(("name", "packed"), [("old.arc", False), ("old.arc.gz", True)])
def test_an_arc_file_is_converted_indexed_and_replayed(home: Path, tmp_path: Path, name: str, packed: bool) -> None:
    (tmp_path / name).write_bytes(arc_file(arc_records(), packed=packed))
    code, lines = _run(home, "collection", "import", "old", tmp_path / name)
    assert (code, lines[0]["outcome"], lines[0]["name"], lines[0]["captures"]) == (0, "imported", "old.warc.gz", 3)
    assert (lines[0]["problems"], lines[0]["first_problems"]) == (1, ["the file is ARC; its 3 records were converted"])
    archive = home / "collections/old/archive"
    assert [str(each) for each in check(archive)] == []
    warcio_kinds(archive / "old.warc.gz")
    fastwarc_check(archive / "old.warc.gz")

    found = {each.url: each for each in cdxj.read(home / "collections/old/indexes/old.warc.gz.cdxj", "old")}
    assert set(found) == {"dns:arc.example", "http://arc.example/", "http://arc.example/second"}
    assert (found["dns:arc.example"].mime, found["http://arc.example/"].status) == ("text/dns", 200)
    kept = {record.url: (record.fields.get("WARC-Date"), b"".join(record.block())) for record in records(
        archive / "old.warc.gz") if record.kind == "response"}  # fmt: skip
    assert kept["http://arc.example/second"] == ("2004-01-02T03:04:07Z", answered(SECOND))
    infos = [b"".join(record.block()) for record in records(archive / "old.warc.gz") if record.kind == "warcinfo"]
    assert infos[1] == VERSION + b"<arcmetadata/>\n"

    with RunningProxy(home, {"proxy.mode": "replay", "proxy.collection": "old"}) as proxy:
        for path, body in {"/": PAGE, "/second": SECOND}.items():
            reply = proxy.get(f"http://arc.example{path}")
            assert (reply.status, reply.body) == (200, body)


def test_the_same_arc_file_again_changes_nothing(home: Path, tmp_path: Path) -> None:
    for name in ("old.arc.gz", "copy.arc.gz"):
        (tmp_path / name).write_bytes(arc_file(arc_records(), packed=True))
    assert _run(home, "collection", "import", "old", tmp_path / "old.arc.gz")[1][-1]["originals"] == 2
    code, lines = _run(home, "collection", "import", "old", tmp_path / "old.arc.gz", tmp_path / "copy.arc.gz")
    assert (code, lines[-1]["present"], lines[-1]["imported"], lines[-1]["captures"]) == (0, 2, 0, 0)
    assert os.listdir(home / "collections/old/archive") == ["old.warc.gz"]


def test_a_conversion_by_another_release_is_recognised(settings: Settings, tmp_path: Path) -> None:
    (tmp_path / "old.arc").write_bytes(arc_file(arc_records(), packed=False))
    with ImportedShelf(settings) as shelf:
        first = shelf.take_file(tmp_path / "old.arc")
        changed = settings.model_copy(update={"archive": settings.archive.model_copy(update={"digest": "sha256"})})
        importer = Importer(changed, "old", shelf.captures, Choices())
        (item,) = find([tmp_path / "old.arc"])
        again = importer.take(item)
    assert (again.outcome, again.name) == ("present", first.name)


def test_strict_and_links_refuse_an_arc_file(home: Path, tmp_path: Path) -> None:
    (tmp_path / "old.arc").write_bytes(arc_file(arc_records(), packed=False))
    code, lines = _run(home, "collection", "import", "old", tmp_path / "old.arc", "--strict")
    assert (code, lines[0]["outcome"]) == (1, "refused")
    assert "--strict allows none" in lines[0]["reason"]
    code, lines = _run(home, "collection", "import", "old", tmp_path / "old.arc", "--by-reference")
    assert (code, lines[0]["outcome"]) == (1, "refused")
    assert "without --by-reference" in lines[0]["reason"]
    assert os.listdir(home / "collections/old/archive") == []


@pytest.mark.parametrize("packed", [False, True])
def test_records_of_an_arc_file_that_can_not_be_taken_are_named(
    settings: Settings, tmp_path: Path, packed: bool
) -> None:
    parts = [
        version_block(),
        url_record(f"{URL}/", answered(PAGE)),
        url_record(f"{URL}/bad", answered(PAGE), date="2004-01-02"),
        url_record(f"{URL}/second", answered(SECOND)),
    ]
    path = tmp_path / "old.arc"
    path.write_bytes(arc_file(parts, packed=packed))
    offset = len(arc_file(parts[:2], packed=packed))
    with ImportedShelf(settings) as shelf:
        done = shelf.take_file(path)
        said = _converted(shelf, done)
        assert shelf.ask(f"{URL}/") == (200, PAGE)
        assert shelf.ask(f"{URL}/second") == (200, SECOND)
        assert shelf.ask(f"{URL}/bad") is None
    assert (done.captures, done.left_out, done.problems) == (2, 1, 2)
    assert said[1].startswith(f"record at offset {offset} was not taken: ")
    assert f"{URL}/bad" in said[1]


def test_forms_of_arc_records(settings: Settings, tmp_path: Path) -> None:
    body = b"Content-Length: %d" % len(PAGE)
    parts = [
        version_block(),
        url_record(f"{URL}/no-end", answered(PAGE), end=b""),
        url_record(f"{URL}/two-ends", answered(PAGE), end=b"\n\r\n"),
        url_record(f"{URL}/a b", answered(PAGE)),
        url_record(f"{URL}/short", answered(PAGE[:20], body)),
        url_record(f"{URL}/bare", b"no head at all", mime="text/plain"),
        url_record(f"{URL}/small", answered(PAGE, body), length=len(answered(PAGE, body)) - 7),
        url_record(f"{URL}/last", answered(SECOND), end=b""),
    ]
    path = tmp_path / "old.arc"
    path.write_bytes(arc_file(parts, packed=False))
    with ImportedShelf(settings) as shelf:
        done = shelf.take_file(path)
        said = "\n".join(_converted(shelf, done))
        for each in ("/no-end", "/two-ends", "/a%20b", "/small"):
            assert shelf.ask(f"{URL}{each}") == (200, PAGE), each
        assert shelf.ask(f"{URL}/last") == (200, SECOND)
        found = {each.url: each for each in cdxj.read(settings.index_dir("old") / f"{done.name}.cdxj", "old")}
    short, bare = found[f"{URL}/short"], found[f"{URL}/bare"]
    assert (done.captures, done.left_out) == (7, 0)
    assert (short.truncated, bare.kind, bare.mime) == ("unspecified", "resource", "text/plain")
    assert "its body has 20 of" in said
    assert "no HTTP head; it was written as a resource" in said
    assert "7 bytes too small" in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (version_block(version=VERSION.replace(b"1 0", b"2 0").replace(b"Content-type", b"Checksum")), "version 1"),
        (b"x", "not the header of a record"),
        (b"", "no records"),
        (b"a" * (MAX_FOREIGN_HEADER + 70_000), "header has more than"),
        (b"\n" * (MAX_FOREIGN_HEADER + 70_000), "no records"),
        (gzip.compress(bytes(50 << 20)), "header has more than"),
        (version_block() + url_record(f"{URL}/", b"ab", length=99), "the file ends after"),
        (version_block() + url_record(f"{URL}/", b"ab", length=foreign_block.MAX_BLOCK + 1), "its block has"),
    ],
)  # fmt: skip
def test_arc_files_without_a_readable_record_are_refused(
    settings: Settings, tmp_path: Path, content: bytes, said: str
) -> None:
    (tmp_path / "old.arc").write_bytes(content)
    with ImportedShelf(settings) as shelf:
        done = shelf.take_file(tmp_path / "old.arc")
    assert done.outcome == "refused"
    assert said in done.reason
    assert os.listdir(settings.archive_dir("old")) == []


WHOLE = _page("/")


@pytest.mark.parametrize(
    ("record", "said"),
    [
        (_with_length(WHOLE, "9999"), "its Content-Length was 9999; it was read by warcio"),
        (_with_length(WHOLE, "20"), "its Content-Length was 20; it was read by warcio"),
        (_with_length(WHOLE, "1x"), "its Content-Length was '1x'; it was read by warcio"),
        (_with_length(WHOLE, None), "its Content-Length was None; it was read by warcio"),
    ],
)
def test_warc_records_with_a_wrong_length_are_read_by_warcio(settings: Settings, record: bytes, said: str) -> None:
    before = _page("/before")
    with ImportedShelf(settings) as shelf:
        done = shelf.take(before, record, _page("/after"))
        findings = _converted(shelf, done)
        for path in ("/before", "/", "/after"):
            assert shelf.ask(f"{URL}{path}") == (200, PAGE)
        buckets = {path: shelf.rows(f"{URL}{path}")[0].buckets for path in ("/before", "/")}
    assert findings[0].startswith("the file is damaged at offset ")
    assert findings[0].endswith("; its 3 records were converted, as warcio reads them")
    assert said in findings[1]
    assert findings[1].startswith(f"record at offset {len(gzip.compress(before))}: ")
    assert buckets["/"] == ()
    assert buckets["/before"] != ()


def test_a_damaged_gzip_member_hides_no_other_one(settings: Settings, tmp_path: Path) -> None:
    noise = random.Random(7).randbytes(5_000)
    parts = [gzip.compress(each) for each in (_page("/before"), _page("/bad", noise), _page("/after"))]
    middle = bytearray(parts[1])
    middle[len(middle) // 2 :] = bytes(len(middle) - len(middle) // 2)
    (tmp_path / "a.warc.gz").write_bytes(parts[0] + middle + parts[2])
    with ImportedShelf(settings) as shelf:
        done = shelf.take_file(tmp_path / "a.warc.gz")
        findings = _converted(shelf, done)
        assert shelf.ask(f"{URL}/before") == (200, PAGE)
        assert shelf.ask(f"{URL}/after") == (200, PAGE)
        assert shelf.ask(f"{URL}/bad") is None
    assert (done.captures, done.left_out) == (2, 1)
    assert findings[1].startswith(f"record at offset {len(parts[0])} was not taken: the gzip member is ")


def test_reading_of_a_plain_file_goes_on_behind_a_damaged_record(settings: Settings) -> None:
    reaching = _with_length(_page("/reaching"), "900")
    parts = [_page("/before"), reaching, _page("/between"), b"WARC/1.0\r\nno record\r\n\r\n", _page("/after")]
    with ImportedShelf(settings) as shelf:
        done = shelf.take(*parts, name="a.warc")
        findings = _converted(shelf, done)
        for path in ("/before", "/between", "/after"):
            assert shelf.ask(f"{URL}{path}") == (200, PAGE)
        assert shelf.ask(f"{URL}/reaching") is None
    assert (done.name, done.captures, done.left_out) == ("a.warc.gz", 3, 2)
    assert f"record at offset {len(parts[0])} was not taken: its Content-Length 900" in findings[1]
    assert f"record at offset {len(b''.join(parts[:3]))} was not taken: " in findings[2]


def test_wrong_digests_are_named_before_they_are_replaced(settings: Settings) -> None:
    wrong = "sha1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"
    bad = _page("/bad", WARC_Payload_Digest=wrong)
    with ImportedShelf(settings) as shelf:
        done = shelf.take(bad, _with_length(WHOLE, "9999"))
        findings = _converted(shelf, done)
        assert shelf.rows(f"{URL}/bad")[0].buckets == ()
    assert f"record at offset 0: its WARC-Payload-Digest {wrong} is not the one of its bytes" in findings[1]


def test_fields_and_ties_of_records_are_kept(settings: Settings) -> None:
    answer, identity = made("response", f"{URL}/", http(PAGE), WARC_Page_ID="page-1", WARC_IP_Address="192.0.2.9")
    asked = b"GET / HTTP/1.1\r\nHost: hill.example\r\n\r\n"
    request = made("request", f"{URL}/", asked, WARC_Concurrent_To=identity)[0]
    with ImportedShelf(settings) as shelf:
        done = shelf.take(answer, request, _with_length(_page("/other"), "9999"))
        _converted(shelf, done)
        path = settings.archive_dir("old") / done.name
        kept = {record.kind: record.fields for record in records(path) if record.url == f"{URL}/"}
    assert kept["response"].get("WARC-Record-ID") == kept["request"].get("WARC-Concurrent-To") == identity
    assert kept["response"].get("WARC-Page-ID") == "page-1"
    assert kept["response"].get("WARC-IP-Address") == "192.0.2.9"


def test_findings_and_damage_are_bounded(settings: Settings, tmp_path: Path) -> None:
    bad = _with_length(_page("/bad"), "1x")
    (tmp_path / "a.warc").write_bytes(_page("/") + bad * (2 * conversion.MOST_DAMAGE) + _page("/last"))
    with ImportedShelf(settings) as shelf:
        done = shelf.take_file(tmp_path / "a.warc")
        findings = _converted(shelf, done)
    assert len(findings) == 5
    assert done.left_out == conversion.MOST_DAMAGE + 1
    assert done.captures == 1


def test_a_large_record_is_larger_than_any_buffer(settings: Settings, tmp_path: Path) -> None:
    body = random.Random(3).randbytes(5 << 20)
    parts = [version_block(), url_record(f"{URL}/large", answered(body)), url_record(f"{URL}/", answered(PAGE))]
    (tmp_path / "old.arc.gz").write_bytes(arc_file(parts, packed=True))
    with ImportedShelf(settings) as shelf:
        _converted(shelf, shelf.take_file(tmp_path / "old.arc.gz"))
        assert shelf.ask(f"{URL}/large") == (200, body)
        assert shelf.ask(f"{URL}/") == (200, PAGE)


def test_an_import_that_is_killed_while_it_converts_is_completed_by_the_next_one(home: Path, tmp_path: Path) -> None:
    noise = random.Random(5).randbytes(20_000)
    pages = [url_record(f"{URL}/{number}", answered(noise)) for number in range(1_500)]
    (tmp_path / "old.arc").write_bytes(arc_file([version_block(), *pages], packed=False))
    archive = home / "collections/old/archive"
    command = [
        sys.executable,
        "-m",
        "admin.cli",
        "collection",
        "import",
        "old",
        str(tmp_path / "old.arc"),
        "--home",
        str(home),
    ]
    archive.mkdir(parents=True)
    # An import that has converted the file waits for the lock of the folder, so that the file gets no name.
    with locked_folder(archive), subprocess.Popen(command, stdout=subprocess.DEVNULL, cwd=ROOT) as killed:
        until(lambda: any(path.stat().st_size for path in archive.glob(".import-*-converted*")), what="a conversion")
        killed.kill()
    left = os.listdir(archive)
    assert left
    assert all(name.startswith(".import-") for name in left)
    code, lines = _run(home, "collection", "import", "old", tmp_path / "old.arc")
    assert (code, lines[0]["outcome"], lines[0]["captures"]) == (0, "imported", 1_500)
    assert os.listdir(archive) == ["old.warc.gz"]
    assert os.listdir(home / "collections/old/indexes") == ["old.warc.gz.cdxj"]
    assert [str(each) for each in check(archive)] == []
