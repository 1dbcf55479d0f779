"""`check`, `repair`, `upload`, `reindex` and `config` as people run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.archive.exchanges import exchange, keep, response
from support.archive.foreign_warcs import http
from support.archive.imported_collection import ImportedShelf, made
from support.processes.ghostfleet_command import ROOT, Command

from archive.settings.load import Settings
from archive.warc.writing.writer import WarcWriter

FOREIGN = ("http://hill.example/1", "http://hill.example/2")


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "admin.cli", *arguments], capture_output=True, text=True, cwd=ROOT, timeout=100
    )


@pytest.fixture
def archived(settings: Settings) -> Path:
    """The folder of a collection called garden, with one closed WARC."""
    _writer(settings).close()
    return settings.archive_dir("garden")


def _writer(settings: Settings) -> WarcWriter:
    writer = WarcWriter(settings, "garden")
    keep(writer, exchange())
    writer.sync()
    return writer


def test_check_finds_no_problems_in_our_own_files(archived: Path) -> None:
    done = _run("check", str(archived))
    assert (done.returncode, done.stdout) == (0, f"{archived}: 1 file\nno problems\n")


def test_check_names_problem_file_and_offset(archived: Path) -> None:
    (file,) = archived.glob("*.warc.gz")
    file.write_bytes(file.read_bytes()[:-20])
    done = _run("check", str(archived), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout.splitlines()[0])["file"] == str(file)


def test_check_accepts_the_name_of_a_collection(settings: Settings, archived: Path) -> None:
    """T8: a name that is no path was refused."""
    done = _run("check", "garden", "--home", str(settings.home))
    assert (done.returncode, done.stdout) == (0, f"{archived.parent}: 1 file\nno problems\n")

    done = _run("check", "roses", "--home", str(settings.home))
    assert done.returncode == 2
    assert f"or a collection in {settings.home}; the collections are: garden" in done.stderr


def test_check_of_a_collection_names_missing_files(settings: Settings, archived: Path) -> None:
    (file,) = archived.iterdir()
    file.unlink()
    done = _run("check", "garden", "--home", str(settings.home))
    assert done.returncode == 1
    assert f"{file} at 0: the file is not in the home and was not checked" in done.stdout


def test_check_of_a_folder_without_warc_files_is_an_error(tmp_path: Path) -> None:
    done = _run("check", str(tmp_path))
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{tmp_path} holds no WARC files, so nothing was checked" in done.stderr


def test_check_reads_a_file_that_was_left_open(settings: Settings) -> None:
    """T8: `check` said "no problems" while nothing of such a file had been read."""
    left = _left_open(settings)
    done = _run("check", "garden", "--home", str(settings.home))
    assert done.returncode == 1
    assert done.stdout.splitlines()[1:] == [
        f"{left} at 0: the file was left open by a writer that has ended; `ghostfleet repair` closes it",
        "1 problem",
    ]

    content = left.read_bytes()
    left.write_bytes(content[:-20])
    done = _run("check", str(left.parent))
    assert done.returncode == 1
    assert "bytes are not checked, since they are no whole set of records: the gzip member is cut off" in done.stdout


def test_check_reads_a_file_that_is_being_written(settings: Settings) -> None:
    writer = _writer(settings)
    try:
        done = _run("check", "garden", "--home", str(settings.home))
        assert (done.returncode, done.stdout) == (0, f"{settings.collection('garden')}: 1 file\nno problems\n")

        (left,) = settings.archive_dir("garden").glob("*.open")
        with left.open("ab") as file:
            file.write(b"\x1f\x8b\x08")
        done = _run("check", "garden", "--home", str(settings.home))
        assert done.returncode == 1
        assert "the last 3 bytes are not checked" in done.stdout
        assert "the file is being written" in done.stdout
    finally:
        writer.close()


def test_notes_fail_a_check_only_with_strict(settings: Settings) -> None:
    """T33: a faithful record of an odd head was a problem."""
    writer = WarcWriter(settings, "garden")
    keep(writer, exchange("/odd", response(b"moss", "what is this")))
    writer.close()
    for flags, code in (((), 0), (("--strict",), 1)):
        done = _run("check", "garden", "--home", str(settings.home), *flags)
        assert done.returncode == code
        assert "note: the HTTP head has the line b'what is this'" in done.stdout
        assert done.stdout.endswith("no problems, 1 note\n")
    done = _run("check", "garden", "--home", str(settings.home), "--json")
    assert [json.loads(line)["level"] for line in done.stdout.splitlines()] == ["note"]


def _left_open(settings: Settings) -> Path:
    """A whole file of one exchange whose writer has ended."""
    writer = _writer(settings)
    (left,) = settings.archive_dir("garden").glob("*.open")
    content = left.read_bytes()
    writer.close()
    left.with_name(left.name.removesuffix(".open")).unlink()
    left.write_bytes(content)
    return left


def test_check_of_an_unknown_file_is_one_line(tmp_path: Path) -> None:
    done = _run("check", str(tmp_path / "nothing.warc.gz"))
    assert done.returncode == 2
    assert "nothing.warc.gz can't be read" in done.stderr


def test_repair_completes_files_of_a_killed_writer(settings: Settings) -> None:
    writer = _writer(settings)
    (left,) = settings.archive_dir("garden").glob("*.open")
    content = left.read_bytes()
    writer.close()
    (closed,) = settings.archive_dir("garden").glob("*.warc.gz")
    closed.unlink()
    left.write_bytes(content)
    done = _run("repair", "--home", str(settings.home), "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["outcome"] == "closed"
    assert closed.read_bytes() == content


def _foreign(settings: Settings) -> Path:
    """A file of another program, in the collection "old" and its index, whose first record ends with one line end."""
    first, second = (made("response", url, http(b"moss"))[0] for url in FOREIGN)
    with ImportedShelf(settings) as shelf:
        shelf.take(first.removesuffix(b"\r\n"), second)
    return settings.archive_dir("old") / "a.warc.gz"


def test_the_index_follows_a_file_that_repair_writes_anew(settings: Settings) -> None:
    file = _foreign(settings)
    before = file.stat().st_size
    done = _run("repair", "--home", str(settings.home), "--json")
    assert (done.returncode, json.loads(done.stdout)["outcome"]) == (0, "mended"), done.stderr
    assert file.stat().st_size > before
    with ImportedShelf(settings) as shelf:
        assert [shelf.ask(url) for url in FOREIGN] == [(200, b"moss")] * 2
        assert len(shelf.rows(FOREIGN[1])) == 1


def test_repair_writes_no_file_anew_that_the_index_can_not_follow(settings: Settings) -> None:
    """The file was written anew, and a traceback ended the command before the index had its new places."""
    left, file = _left_open(settings), _foreign(settings)
    before = file.read_bytes()
    for path in settings.home.glob("ghostfleet.db*"):
        path.unlink()
    (settings.home / "ghostfleet.db").write_bytes(b"no database" * 1_000)
    done = _run("repair", "--home", str(settings.home))
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("ghostfleet: the files of other programs were not all repaired")
    assert "Traceback" not in done.stderr
    assert file.read_bytes() == before
    assert not left.exists()
    assert " closed: " in done.stdout


def test_upload_copies_finished_files_to_the_storage(settings: Settings, archived: Path, tmp_path: Path) -> None:
    (settings.home / "ghostfleet.toml").write_text(f'[storage]\nurl = "{tmp_path / "target"}"\n')
    done = _run("upload", "--home", str(settings.home), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["handed_over"] == 1
    assert [path.name for path in archived.iterdir()] == [
        path.name for path in (tmp_path / "target/garden/archive").iterdir()
    ]


def test_upload_shows_its_progress_on_a_terminal(settings: Settings, archived: Path, tmp_path: Path) -> None:
    (settings.home / "ghostfleet.toml").write_text(f'[storage]\nurl = "{tmp_path / "target"}"\n')
    terminal, theirs = os.openpty()
    try:
        with os.fdopen(theirs, "wb", buffering=0) as stderr:
            done = subprocess.run(
                [sys.executable, "-m", "admin.cli", "upload", "--home", str(settings.home)],
                stdout=subprocess.PIPE, stderr=stderr, cwd=ROOT, timeout=100, text=True, check=False,
                env={**os.environ, "TERM": "xterm", "COLUMNS": "200"},
            )  # fmt: skip
            shown = os.read(terminal, 1 << 16)
    finally:
        os.close(terminal)
    assert done.returncode == 0
    assert b"1 of 1 files" in shown
    assert done.stdout == f"{tmp_path / 'target'}: 1 file uploaded, 0 waiting\n"


def test_upload_without_a_storage_names_the_setting(settings: Settings, archived: Path) -> None:
    done = _run("upload", "--home", str(settings.home))
    assert done.returncode == 2
    assert "there is no storage; set storage.url" in done.stderr


def test_dictionary_is_trained_with_a_collection_and_prints_its_gain(settings: Settings) -> None:
    writer = WarcWriter(settings, "garden")
    for number in range(40):
        keep(writer, exchange(f"/{number}"))
    writer.close()
    path = settings.collection("garden") / "records.zdict"

    done = _run("dictionary", "garden", "--home", str(settings.home), "--size", "4000", "--json")

    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    assert (facts["file"], facts["bytes"]) == (str(path), path.stat().st_size)
    assert facts["gain"] > 0.3


def test_a_dictionary_without_records_is_refused(settings: Settings, archived: Path) -> None:
    done = _run("dictionary", "garden", "--home", str(settings.home))
    assert done.returncode == 2
    assert "no dictionary for collection garden: 3 records are too few to learn from" in done.stderr


def test_a_proxy_refuses_an_invalid_dictionary(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "my.zdict"
    path.write_bytes(b"nothing of that kind")
    (settings.home / "ghostfleet.toml").write_text(
        f'[archive]\ncompression = "zstd"\nzstd_dictionary = "{path}"\n[proxy]\nport = 0\n'
    )
    with Command("proxy", home=settings.home) as proxy:
        assert proxy.ended() == 2
    assert f"setting archive.zstd_dictionary = '{path}' can't be used: it is not a zstd dictionary" in proxy.stderr


def test_reindex_builds_index_and_dedup_from_the_files(settings: Settings, archived: Path) -> None:
    with Command("reindex", "garden", "--json", home=settings.home) as reindex:
        assert reindex.ended() == 0, reindex.stderr
    assert reindex.lines == [{"collection": "garden", "captures": 1, "payloads": 1, "files": []}]


def test_reindex_reads_a_warc_that_was_left_open_and_has_no_sidecar(settings: Settings) -> None:
    """T8: "0 captures", and exit code 0, beside a whole file that is still `.open`."""
    left = _left_open(settings)
    for sidecar in settings.index_dir("garden").iterdir():
        sidecar.unlink()
    with Command("reindex", "garden", "--json", home=settings.home) as reindex:
        assert reindex.ended() == 0, reindex.stderr
    (facts,) = reindex.lines
    assert (facts["captures"], facts["payloads"]) == (1, 1)
    assert facts["files"] == [
        {
            "filename": left.name.removesuffix(".open"),
            "outcome": "rebuilt",
            "reason": "there is no sidecar; 1 captures now; the WARC was left open by a writer that has ended; "
            "`ghostfleet repair` closes it",
        }
    ]


def test_reindex_fails_when_captures_are_missing_from_the_result(settings: Settings, archived: Path) -> None:
    (file,) = archived.iterdir()
    file.write_bytes(file.read_bytes()[:-20])
    for sidecar in settings.index_dir("garden").iterdir():
        sidecar.unlink()
    with Command("reindex", "garden", "--json", home=settings.home) as reindex:
        assert reindex.ended() == 1, reindex.stderr
    (facts,) = reindex.lines
    assert facts["files"][0]["outcome"] == "incomplete"
    assert "the WARC can't be read from" in facts["files"][0]["reason"]


def test_repair_and_upload_name_the_files_that_are_being_written(settings: Settings, tmp_path: Path) -> None:
    (settings.home / "ghostfleet.toml").write_text(f'[storage]\nurl = "{tmp_path / "target"}"\n')
    writer = _writer(settings)
    try:
        done = _run("repair", "--home", str(settings.home))
        assert (done.returncode, done.stdout) == (0, f"garden: {writer.filename} not changed: it is being written\n")
        done = _run("upload", "--home", str(settings.home))
        assert done.returncode == 0
        assert done.stdout.endswith("1 file being written; the upload follows when they are closed\n")
    finally:
        writer.close()
    _left_open(settings)
    done = _run("upload", "--home", str(settings.home))
    assert done.returncode == 1
    assert "1 file left open by a killed process" in done.stdout


@pytest.mark.parametrize("command", ["repair", "reindex", "replay", "open"])
def test_an_unknown_collection_is_one_line_with_the_known_ones(
    settings: Settings, archived: Path, command: str
) -> None:
    done = _run(command, "roses", "--home", str(settings.home))
    assert done.returncode == 2
    assert f"there is no collection roses in {settings.home}; the collections are: garden" in done.stderr


def test_config_shows_no_secret(tmp_path: Path) -> None:
    (tmp_path / "ghostfleet.toml").write_text(
        '[proxy]\npassword = "hidden"\negress = { "*" = "http://u:hidden@proxy.example:1" }\n'
        '[redis]\nurl = "redis://u:hidden@redis.example/0"\n[storage]\noptions = { secret = "hidden" }\n'
    )
    for flags in ((), ("--json",)):
        done = _run("config", "--home", str(tmp_path), *flags)
        assert done.returncode == 0
        assert "redis.example" in done.stdout
        assert "hidden" not in done.stdout + done.stderr


def test_config_shows_no_secret_among_the_parameters_of_a_url(tmp_path: Path) -> None:
    """A password may stand behind the question mark as well (T29)."""
    (tmp_path / "ghostfleet.toml").write_text(
        '[database]\nurl = "postgresql://h/gf?user=anna&password=hidden"\n[redis]\nurl = "redis://h?password=hidden"\n'
    )
    for flags in ((), ("--json",)):
        done = _run("config", "--home", str(tmp_path), *flags)
        assert done.returncode == 0
        assert "hidden" not in done.stdout + done.stderr


def test_config_prints_each_value_and_its_source(tmp_path: Path) -> None:
    (tmp_path / "ghostfleet.toml").write_text("[proxy]\nport = 8123\n")
    done = _run("config", "--home", str(tmp_path))
    assert done.returncode == 0
    assert f"home = {tmp_path}\n" in done.stdout
    assert f"proxy.port = 8123  [{tmp_path}/ghostfleet.toml]" in done.stdout
    assert "proxy.processes = 1  #" in done.stdout
    settings = json.loads(_run("config", "--home", str(tmp_path), "--json").stdout)["settings"]
    assert {row["name"]: row["source"] for row in settings}["proxy.port"] == f"{tmp_path}/ghostfleet.toml"
