"""`collection import` and `collection export` as people run them, on files of ours and of other programs."""

from __future__ import annotations

import gc
import gzip
import io
import json
import os
import shutil
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from support.archive.capture_rows import capture as row
from support.archive.exchanges import DATE, exchange, keep, response
from support.archive.oracles import fastwarc_check, warcio_kinds
from support.origins.raw_origin import RawOrigin, Send
from support.origins.raw_origin import response as answer
from support.processes.ghostfleet_command import ROOT
from support.processes.waiting import until
from support.proxy.running_proxy import RunningProxy
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from admin.collections.transfer.importing import Choices, ImportedFile, Importer, ImportOutcome, find
from admin.collections.transfer.selection import selection
from archive.capture import Context, Original
from archive.files import rename_new, replace_durably
from archive.settings.load import Settings, load
from archive.storage.upload import Uploader
from archive.warc import cdxj
from archive.warc.reading.reader import read_record, records
from archive.warc.upkeep.check import check
from archive.warc.writing.writer import WarcWriter
from dedupdb.captures.capture_index import Captures
from dedupdb.index.sidecars import Sidecars

DAY = 86_400_000_000
ORIGIN = "127.0.1.33"


def _run(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "admin.cli", *arguments, "--home", str(home)],
        capture_output=True,
        text=True,
        cwd=ROOT,
        timeout=100,
        check=False,
    )


def _import(home: Path, *arguments: str | Path) -> tuple[int, dict[str, Any], list[dict[str, Any]]]:
    """Import with --json; return the exit code, the summary and the lines of the files."""
    done = _run(home, "collection", "import", *map(str, arguments), "--json")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines, done.stderr
    return done.returncode, lines[-1], lines[:-1]


def _foreign(path: Path, *urls: str, packed: bool = True, dated: str = "2020-05-06T07:08:09Z") -> Path:
    """Write a WARC/1.0 file with warcio, as wget and others do."""
    path.parent.mkdir(exist_ok=True)
    with path.open("wb") as file, warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # warcio leaves its temporary files to the collector
        writer = WARCWriter(file, gzip=packed)
        writer.write_record(writer.create_warcinfo_record(path.name, {"software": "another program"}))
        for url in urls:
            head = StatusAndHeaders("200 OK", [("Content-Type", "text/plain")], protocol="HTTP/1.1")
            body = io.BytesIO(f"the page at {url}".encode())
            writer.write_record(
                writer.create_warc_record(
                    url, "response", payload=body, http_headers=head, warc_headers_dict={"WARC-Date": dated}
                )
            )
        del writer
        gc.collect()
    return path


def _indexed(home: Path, collection: str) -> list[tuple[str, str]]:
    """Return URL and file of every capture in the index, and see that each can be read at its place."""
    settings = load({"home": str(home)}, environment={})
    found = []
    for path in sorted(settings.index_dir(collection).rglob("*.cdxj")):
        for capture in cdxj.read(path, collection):
            with read_record(
                settings.archive_dir(collection) / capture.filename, capture.offset, capture.length
            ) as record:
                assert record.url == capture.url
            found.append((capture.url, capture.filename))
    with Captures(settings.database_url) as captures:
        assert captures.count(collection) == len(found)
    return sorted(found)


@pytest.mark.parametrize(("name", "packed"), [("other.warc.gz", True), ("other.warc", False)])
def test_a_foreign_file_is_imported_byte_for_byte(home: Path, tmp_path: Path, name: str, packed: bool) -> None:
    source = _foreign(tmp_path / name, "http://a.example/", "http://b.example/", packed=packed)
    code, summary, _ = _import(home, "old", source)
    assert (code, summary["imported"], summary["captures"]) == (0, 1, 2)
    assert (home / "collections/old/archive" / name).read_bytes() == source.read_bytes()
    assert _indexed(home, "old") == [("http://a.example/", name), ("http://b.example/", name)]


def test_our_own_zstd_files_and_folders_are_imported(home: Path, tmp_path: Path) -> None:
    there = load({"home": str(tmp_path / "there"), "archive.compression": "zstd"}, environment={})
    writer = WarcWriter(there, "news")
    keep(writer, exchange())
    writer.sync()
    writer.close()
    _foreign(there.archive_dir("news") / "sub.warc.gz", "http://a.example/")
    code, summary, _ = _import(home, "old", there.archive_dir("news"))
    assert (code, summary["imported"], summary["captures"]) == (0, 2, 2)
    assert {name.rpartition(".warc.")[2] for _, name in _indexed(home, "old")} == {"zst", "gz"}


def test_the_same_import_again_changes_nothing(home: Path, tmp_path: Path) -> None:
    source = _foreign(tmp_path / "other.warc.gz", "http://a.example/")
    _import(home, "old", source)
    shutil.copy(source, tmp_path / "copy.warc.gz")
    code, summary, _ = _import(home, "old", source, tmp_path / "copy.warc.gz")
    assert (code, summary["imported"], summary["present"], summary["captures"]) == (0, 0, 2, 0)
    assert _indexed(home, "old") == [("http://a.example/", "other.warc.gz")]


def test_another_file_of_the_same_name_gets_a_name_of_its_own(home: Path, tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    first = _foreign(tmp_path / "other.warc.gz", "http://a.example/")
    second = _foreign(tmp_path / "b" / "other.warc.gz", "http://b.example/")
    code, _, lines = _import(home, "old", first, second)
    assert code == 0
    assert lines[0]["name"] == "other.warc.gz"
    assert lines[1]["name"].startswith("other-")
    assert len(_indexed(home, "old")) == 2


def test_a_file_compressed_as_one_gzip_stream_is_recompressed(home: Path, tmp_path: Path) -> None:
    plain = _foreign(tmp_path / "plain.warc", "http://a.example/", "http://b.example/", packed=False)
    source = tmp_path / "whole.warc.gz"
    source.write_bytes(gzip.compress(plain.read_bytes()))
    code, _, lines = _import(home, "old", source)
    assert (code, lines[0]["rewrapped"], lines[0]["captures"]) == (0, True, 2)
    imported = home / "collections/old/archive/whole.warc.gz"
    assert gzip.decompress(imported.read_bytes()) == plain.read_bytes()
    assert len(_indexed(home, "old")) == 2
    fastwarc_check(imported)
    code, summary, _ = _import(home, "old", source)
    assert (code, summary["present"], summary["imported"]) == (0, 1, 0)


def test_import_by_reference_links_files_and_refuses_those_to_recompress(home: Path, tmp_path: Path) -> None:
    source = _foreign(tmp_path / "other.warc.gz", "http://a.example/")
    stream = tmp_path / "stream.warc.gz"
    stream.write_bytes(gzip.compress(_foreign(tmp_path / "p.warc", "http://b.example/", packed=False).read_bytes()))
    code, summary, lines = _import(home, "old", source, stream, "--by-reference")
    assert (code, summary["imported"], summary["refused"]) == (1, 1, 1)
    assert "without --by-reference" in lines[1]["reason"]
    link = home / "collections/old/archive/other.warc.gz"
    assert link.is_symlink()
    assert link.resolve() == source.resolve()
    assert _indexed(home, "old") == [("http://a.example/", "other.warc.gz")]
    assert _import(home, "old", source, "--by-reference")[1]["present"] == 1


def test_a_damaged_file_is_refused_and_the_others_are_imported(home: Path, tmp_path: Path) -> None:
    good = _foreign(tmp_path / "good.warc.gz", "http://a.example/")
    bad = tmp_path / "bad.warc.gz"
    bad.write_bytes(_foreign(tmp_path / "b.warc.gz", "http://b.example/").read_bytes()[:-30])
    (tmp_path / "old.arc.gz").write_bytes(b"x")
    code, summary, lines = _import(home, "old", bad, good, tmp_path / "old.arc.gz")
    assert (code, summary["refused"], summary["imported"]) == (1, 2, 1)
    assert "damaged at offset" in lines[0]["reason"]
    assert "is not the header of a record of a WARC or ARC file" in lines[2]["reason"]
    assert os.listdir(home / "collections/old/archive") == ["good.warc.gz"]
    assert os.listdir(home / "collections/old/indexes") == ["good.warc.gz.cdxj"]


def test_a_wrong_digest_is_reported_and_strict_refuses_the_file(home: Path, tmp_path: Path) -> None:
    plain = _foreign(tmp_path / "wrong.warc", "http://a.example/", packed=False)
    plain.write_bytes(plain.read_bytes().replace(b"the page at", b"THE page at"))
    code, _, lines = _import(home, "old", plain, "--strict")
    assert (code, lines[0]["outcome"]) == (1, "refused")
    code, _, lines = _import(home, "old", plain)
    assert (code, lines[0]["outcome"]) == (0, "imported")
    assert any("WARC-Payload-Digest" in line for line in lines[0]["first_problems"])


def test_members_of_a_wacz_are_imported(home: Path, tmp_path: Path) -> None:
    source = _foreign(tmp_path / "data.warc.gz", "http://a.example/")
    with zipfile.ZipFile(tmp_path / "site.wacz", "w") as package:
        package.write(source, "archive/data.warc.gz")
        package.writestr("datapackage.json", "{}")
    (tmp_path / "broken.wacz").write_bytes(b"no zip")
    code, summary, lines = _import(home, "old", tmp_path / "site.wacz", tmp_path / "broken.wacz")
    assert (code, summary["imported"], summary["refused"]) == (1, 1, 1)
    assert "not a WACZ package" in lines[1]["reason"]
    assert (home / "collections/old/archive/data.warc.gz").read_bytes() == source.read_bytes()


def test_a_killed_import_is_completed_by_the_next_one(home: Path, tmp_path: Path) -> None:
    source = _foreign(tmp_path / "other.warc.gz", "http://a.example/")
    archive = home / "collections/old/archive"
    archive.mkdir(parents=True)
    (archive / ".import-1-copy.part").write_bytes(b"half of a copy")
    indexes = home / "collections/old/indexes"
    indexes.mkdir()
    (indexes / ".import-1-lines.part").write_bytes(b"half of the lines")
    shutil.copy(source, archive)  # killed after the WARC got its name and before the sidecar got its own
    code, summary, _ = _import(home, "old", source)
    assert (code, summary["present"], summary["captures"]) == (0, 1, 1)
    assert os.listdir(archive) == ["other.warc.gz"]
    assert os.listdir(indexes) == ["other.warc.gz.cdxj"]
    assert _indexed(home, "old") == [("http://a.example/", "other.warc.gz")]


def test_a_second_import_completes_a_killed_one(home: Path, tmp_path: Path) -> None:
    urls = [f"http://a.example/{number}" for number in range(300)]
    for number in range(8):
        _foreign(tmp_path / "files" / f"{number}.warc.gz", *urls)
    command = ["collection", "import", "old", str(tmp_path / "files"), "--json"]
    with subprocess.Popen(
        [sys.executable, "-m", "admin.cli", *command, "--home", str(home)], stdout=subprocess.PIPE, cwd=ROOT
    ) as killed:
        assert killed.stdout is not None
        assert json.loads(killed.stdout.readline())["outcome"] == "imported"
        killed.kill()
    code, summary, _ = _import(home, "old", tmp_path / "files")
    assert (code, summary["imported"] + summary["present"]) == (0, 8)
    assert summary["present"] >= 1
    assert len(_indexed(home, "old")) == 8 * len(urls)
    names = [f"{number}.warc.gz" for number in range(8)]
    assert sorted(os.listdir(home / "collections/old/archive")) == names
    assert sorted(os.listdir(home / "collections/old/indexes")) == [f"{name}.cdxj" for name in names]


def test_an_import_that_begins_leaves_the_files_of_a_running_one(home: Path, tmp_path: Path) -> None:
    settings = load({"home": str(home)}, environment={})
    source = _foreign(tmp_path / "other.warc.gz", "http://a.example/")
    with Captures(settings.database_url) as captures:

        def named(draft: Path, path: Path) -> None:
            Importer(settings, "old", captures, Choices())
            rename_new(draft, path)

        with patch("admin.collections.transfer.importing.rename_new", named):
            done = Importer(settings, "old", captures, Choices()).take(find([source])[0])
    assert (done.outcome, done.captures) == (ImportOutcome.IMPORTED, 1)
    assert os.listdir(settings.archive_dir("old")) == ["other.warc.gz"]
    assert os.listdir(settings.index_dir("old")) == ["other.warc.gz.cdxj"]


def _taken(settings: Settings, source: Path, *, dedup: bool = True, by_reference: bool = False) -> ImportedFile:
    """Import a file in this process, and index it."""
    with Captures(settings.database_url) as captures:
        importer = Importer(settings, "old", captures, Choices(by_reference, dedup))
        done = importer.take(find([source])[0])
        Sidecars(settings.home, captures).reconcile("old")
    return done


@pytest.fixture
def stored(home: Path, tmp_path: Path) -> Settings:
    """A home whose uploader removes each file that the storage has."""
    (tmp_path / "far").mkdir()
    storage = {"url": str(tmp_path / "far"), "keep_local_seconds": 0}
    return load({"home": str(home), "storage": storage}, environment={})


def _source_of(case: str, folder: Path) -> Path:
    """Return a file that an import takes in this way."""
    source = _foreign(folder / "other.warc.gz", "http://a.example/", "http://b.example/", packed=case != "recompressed")
    if case == "recompressed":
        source.write_bytes(gzip.compress(source.read_bytes()))
    elif case == "converted":
        source.write_bytes(source.read_bytes()[:-30])
    return source


@pytest.mark.parametrize("case", ["copied", "linked", "recompressed", "converted"])
def test_a_file_that_only_the_storage_has_is_present(stored: Settings, tmp_path: Path, case: str) -> None:
    source = _source_of(case, tmp_path)
    first = _taken(stored, source, by_reference=case == "linked")
    Uploader(stored).look()
    assert not os.listdir(stored.archive_dir("old"))

    again = [_taken(stored, source, by_reference=case == "linked") for _ in range(4)]
    assert [(each.outcome, each.name) for each in again] == [(ImportOutcome.PRESENT, first.name)] * 4
    assert not os.listdir(stored.archive_dir("old"))
    with Captures(stored.database_url) as captures:
        assert captures.count("old") == first.captures

    Path(stored.storage.url).rename(tmp_path / "unmounted")
    refused = _taken(stored, source, by_reference=case == "linked")
    assert refused.outcome is ImportOutcome.REFUSED
    assert f"{stored.storage.url} does not exist" in refused.reason
    assert not os.listdir(stored.archive_dir("old"))


def test_a_file_that_only_the_storage_has_becomes_an_original_with_dedup(stored: Settings, tmp_path: Path) -> None:
    source = _foreign(tmp_path / "other.warc.gz", "http://a.example/")
    _taken(stored, source, dedup=False)
    Uploader(stored).look()
    assert _taken(stored, source).outcome is ImportOutcome.PRESENT
    with Captures(stored.database_url) as captures:
        assert [bool(each.buckets) for each in captures.complete("old")] == [True]


@pytest.mark.parametrize("case", ["copied", "linked", "recompressed", "converted"])
def test_imports_of_one_file_at_once_take_it_once(home: Path, tmp_path: Path, case: str) -> None:
    settings = load({"home": str(home)}, environment={})
    source = _source_of(case, tmp_path)
    copy = shutil.copy(source, tmp_path / "under another name.warc.gz")
    with Captures(settings.database_url) as captures:
        late = Importer(settings, "old", captures, Choices(by_reference=case == "linked"))
        first = _taken(settings, source, by_reference=case == "linked")
        for path in (source, Path(copy)):
            done = late.take(find([path])[0])
            assert (done.outcome, done.name) == (ImportOutcome.PRESENT, first.name)
    assert os.listdir(settings.archive_dir("old")) == [first.name]


def test_an_import_reads_the_list_of_files_again_only_after_another_import(home: Path, tmp_path: Path) -> None:
    settings = load({"home": str(home)}, environment={})
    first, second, third, fourth = (_foreign(tmp_path / f"{n}.warc.gz", f"http://a.example/{n}") for n in range(4))
    with Captures(settings.database_url) as captures, patch("os.walk", wraps=os.walk) as walk:
        importer = Importer(settings, "old", captures, Choices())

        def walks(path: Path) -> int:
            before = walk.call_count
            assert importer.take(find([path])[0]).outcome is ImportOutcome.IMPORTED
            return walk.call_count - before

        assert walks(first) == 1, "another import may have placed a file since this one began"
        assert walks(second) == 0
        _taken(settings, _foreign(tmp_path / "other.warc.gz", "http://b.example/"))
        assert [walks(third), walks(fourth)] == [1, 0]


def test_an_import_waits_for_another_one_that_gives_a_file_its_name(home: Path, tmp_path: Path) -> None:
    settings = load({"home": str(home)}, environment={})
    source = _foreign(tmp_path / "other.warc.gz", "http://a.example/")
    command = [sys.executable, "-m", "admin.cli", "collection", "import", "old", str(source), "--json"]
    begun: list[subprocess.Popen[str]] = []

    def named(draft: Path, path: Path) -> None:
        begun.append(subprocess.Popen([*command, "--home", str(home)], stdout=subprocess.PIPE, cwd=ROOT, text=True))
        drafts = settings.archive_dir("old")
        until(lambda: len(list(drafts.glob(".import-*"))) == 2 or begun[0].poll() is not None, what="its copy")
        rename_new(draft, path)

    with (
        Captures(settings.database_url) as captures,
        patch("admin.collections.transfer.importing.rename_new", named),
    ):
        done = Importer(settings, "old", captures, Choices()).take(find([source])[0])
    said, _ = begun[0].communicate(timeout=100)
    assert done.outcome is ImportOutcome.IMPORTED
    assert json.loads(said.splitlines()[0])["outcome"] == "present"
    assert os.listdir(settings.archive_dir("old")) == ["other.warc.gz"]


class _Killed(Exception):
    """The process ends here."""


def test_a_file_that_is_to_become_known_to_dedup_keeps_its_captures_when_the_import_is_killed(
    home: Path, tmp_path: Path
) -> None:
    settings = load({"home": str(home)}, environment={})
    source = _foreign(tmp_path / "other.warc.gz", "http://a.example/")
    _taken(settings, source, dedup=False)

    def killed(*_: object) -> None:
        raise _Killed

    with patch("admin.collections.transfer.importing.replace_durably", killed), pytest.raises(_Killed):
        _taken(settings, source)
    with Captures(settings.database_url) as captures:
        Sidecars(home, captures).reconcile("old")
        assert captures.count("old") == 1
    assert _taken(settings, source).outcome is ImportOutcome.PRESENT
    with Captures(settings.database_url) as captures:
        assert [bool(each.buckets) for each in captures.complete("old")] == [True]


def test_lines_that_dedup_now_knows_replace_those_that_another_indexer_reads(home: Path, tmp_path: Path) -> None:
    settings = load({"home": str(home)}, environment={})
    source = _foreign(tmp_path / "other.warc.gz", "http://a.example/")
    _taken(settings, source, dedup=False)

    def replaced(draft: Path, path: Path) -> None:
        with Captures(settings.database_url) as captures:
            Sidecars(home, captures).reconcile("old")
        replace_durably(draft, path)

    with patch("admin.collections.transfer.importing.replace_durably", replaced):
        _taken(settings, source)
    with Captures(settings.database_url) as captures:
        assert [bool(each.buckets) for each in captures.complete("old")] == [True]


def test_no_file_is_imported_into_a_partly_deleted_collection(home: Path, tmp_path: Path) -> None:
    (home / "collections" / ".old.deleting").mkdir(parents=True)
    source = _foreign(tmp_path / "other.warc.gz", "http://a.example/")
    done = _run(home, "collection", "import", "old", str(source))
    assert done.returncode == 2
    assert "only partly deleted" in done.stderr
    assert not (home / "collections" / "old").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("old", "/nowhere/at/all"), "PATH /nowhere/at/all is not a file"),
        (("Über uns", "/tmp"), "'Über uns' can't be used"),
    ],
)
def test_bad_input_is_one_line(home: Path, arguments: tuple[str, ...], said: str) -> None:
    done = _run(home, "collection", "import", *arguments)
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (home / "collections").exists()


def test_imported_responses_are_originals_unless_dedup_is_off(tmp_path: Path) -> None:
    body = b"a page that does not change " * 100
    with RawOrigin(ORIGIN) as origin:
        origin.otherwise(lambda request: (Send(answer(body)),))
        url = origin.url("/page")
        with RunningProxy(tmp_path / "first") as first:
            first.get(url)
            first.stop()
        files = tmp_path / "first" / "collections" / "default" / "archive"
        assert _import(tmp_path / "without", "default", files, "--no-dedup")[0] == 0
        _, summary, _ = _import(tmp_path / "with", "default", files)
        assert summary["originals"] == 1
        kinds = {}
        for name in ("without", "with"):
            with RunningProxy(tmp_path / name) as proxy:
                proxy.get(url)
                proxy.stop()
                kinds[name] = [record.kind for record in proxy.records().of(url, "response", "revisit")]
    assert kinds == {"without": ["response", "response"], "with": ["response", "revisit"]}
    assert not list(check(tmp_path / "with/collections/default/archive"))


def test_files_that_were_imported_before_become_originals_with_dedup(home: Path, tmp_path: Path) -> None:
    source = _foreign(tmp_path / "other.warc.gz", "http://a.example/")
    assert _import(home, "old", source, "--no-dedup")[1]["originals"] is None
    _, summary, _ = _import(home, "old", source)
    assert (summary["present"], summary["originals"]) == (1, 1)
    assert _indexed(home, "old") == [("http://a.example/", "other.warc.gz")]


@pytest.fixture
def kept(settings: Settings) -> Settings:
    """A collection with two files: two days, two jobs, a revisit in the second file of an original in the first."""
    first = WarcWriter(settings, "news")
    original = keep(first, exchange("/logo"))
    keep(first, exchange("/a/1", id="exchange-2", context=Context("news", job="daily-20261121080000")))
    first.sync()
    first.close()
    second = WarcWriter(settings, "news")
    later = {"started": DATE + DAY, "context": Context("news", job="weekly-20261122080000")}
    body = response(b"<p>another page, on the next day")
    keep(second, exchange("/a/2", body, id="exchange-3", digests=_digests(body), **later))
    keep(second, exchange("/logo", id="exchange-4", **later), Original.of(original))
    keep(second, exchange("/b/3", id="exchange-5", **later))
    second.sync()
    second.close()
    return settings


def _digests(answered: Any) -> Any:
    from support.archive.exchanges import digests

    return digests(answered)


def _export(settings: Settings, target: Path, *arguments: str) -> tuple[int, dict[str, Any]]:
    done = _run(settings.home, "collection", "export", "news", "--to", str(target), *arguments, "--json")
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout)


def _urls(target: Path) -> list[tuple[str, str]]:
    return sorted(
        (record.kind, record.url.removeprefix("http://example.org"))
        for path in (target / "archive").iterdir()
        for record in records(path)
        if record.kind != "warcinfo"
    )


def test_everything_is_exported_byte_for_byte(kept: Settings, tmp_path: Path) -> None:
    code, result = _export(kept, tmp_path / "out")
    assert (code, result["captures"], len(result["files"])) == (0, 5, 2)
    for path in kept.archive_dir("news").iterdir():
        assert (tmp_path / "out/archive" / path.name).read_bytes() == path.read_bytes()
    assert json.loads((tmp_path / "out/export.json").read_text())["captures"] == 5


def test_a_url_prefix_exports_its_exchanges_with_their_requests(kept: Settings, tmp_path: Path) -> None:
    code, result = _export(kept, tmp_path / "out", "--url-prefix", "http://example.org/a/")
    assert (code, result["captures"], result["originals"]) == (0, 2, 0)
    assert _urls(tmp_path / "out") == [
        ("request", "/a/1"),
        ("request", "/a/2"),
        ("response", "/a/1"),
        ("response", "/a/2"),
    ]
    for path in (tmp_path / "out/archive").iterdir():
        assert warcio_kinds(path)[0] == "warcinfo"
        fastwarc_check(path)


@pytest.mark.parametrize("name", ["view", "not-modified"])
def test_a_url_prefix_covers_the_records_about_its_pages(name: str) -> None:
    wanted = selection(url_prefix="http://example.org/a/")
    assert wanted.takes(row(f"urn:{name}:http://example.org/a/1"))
    assert not wanted.takes(row(f"urn:{name}:http://example.org/b/3"))


def test_a_job_is_exported_with_the_originals_of_its_revisits(kept: Settings, tmp_path: Path) -> None:
    code, result = _export(kept, tmp_path / "out", "--job", "weekly")
    assert (code, result["captures"], result["originals"]) == (0, 4, 1)
    assert not list(check(tmp_path / "out/archive"))
    assert ("response", "/logo") in _urls(tmp_path / "out")


def test_originals_are_left_out_on_request(kept: Settings, tmp_path: Path) -> None:
    code, result = _export(kept, tmp_path / "out", "--job", "weekly-20261122080000", "--no-originals")
    assert (code, result["captures"], result["lacking_originals"]) == (0, 3, 1)


def test_a_date_range_includes_its_last_day(kept: Settings, tmp_path: Path) -> None:
    assert _export(kept, tmp_path / "one", "--until", "2026-11-21")[1]["captures"] == 2
    assert _export(kept, tmp_path / "two", "--since", "20261122", "--no-originals")[1]["captures"] == 3
    assert _export(kept, tmp_path / "all", "--since", "2026", "--until", "2026-11")[1]["captures"] == 5


def test_whole_files_are_copied_on_request(kept: Settings, tmp_path: Path) -> None:
    code, result = _export(kept, tmp_path / "out", "--since", "2026-11-22", "--whole-files")
    assert (code, len(result["files"])) == (0, 2), "the revisited original's file comes too"
    assert all(each["name"] == each["from"] for each in result["files"])


def test_missing_files_come_first_in_the_output(kept: Settings, tmp_path: Path) -> None:
    gone = next(path for path in sorted(kept.archive_dir("news").iterdir()))
    gone.unlink()
    done = _run(kept.home, "collection", "export", "news", "--to", str(tmp_path / "out"))
    assert done.returncode == 1
    assert done.stdout.startswith(f"missing: {gone.name} with ")
    assert " is not in the home\n" in done.stdout


def test_an_export_needs_a_new_folder(kept: Settings, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").touch()
    done = _run(kept.home, "collection", "export", "news", "--to", str(tmp_path / "out"))
    assert done.returncode == 2
    assert "is not empty" in done.stderr
    assert os.listdir(tmp_path / "out") == ["mine"]
    done = _run(kept.home, "collection", "export", "news", "--to", str(tmp_path / "o"), "--since", "yesterday")
    assert done.returncode == 2
    assert "--since 'yesterday' is not a date" in done.stderr


def test_an_export_can_be_imported_again(kept: Settings, tmp_path: Path) -> None:
    _export(kept, tmp_path / "out", "--job", "weekly")
    code, summary, _ = _import(tmp_path / "home2", "copy", tmp_path / "out")
    assert (code, summary["captures"]) == (0, 4)
    assert len(_indexed(tmp_path / "home2", "copy")) == 4
