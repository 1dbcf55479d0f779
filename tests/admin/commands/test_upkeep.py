"""`check`, `repair`, `upload`, `reindex` and `config` as people run them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commanding import ROOT, Command
from exchanges import exchange, keep

from archive.settings import Settings
from archive.warcfile import WarcWriter


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


def test_check_finds_nothing_in_what_we_wrote(archived: Path) -> None:
    done = _run("check", str(archived))
    assert (done.returncode, done.stdout) == (0, "no problems\n")


def test_check_says_what_is_wrong_and_where(archived: Path) -> None:
    (file,) = archived.glob("*.warc.gz")
    file.write_bytes(file.read_bytes()[:-20])
    done = _run("check", str(archived), "--json")
    assert done.returncode == 1
    assert json.loads(done.stdout.splitlines()[0])["file"] == str(file)


def test_check_of_what_is_not_there_is_one_line(tmp_path: Path) -> None:
    done = _run("check", str(tmp_path / "nothing.warc.gz"))
    assert done.returncode == 2
    assert "nothing.warc.gz can't be read" in done.stderr


def test_repair_finishes_what_a_killed_writer_left(settings: Settings) -> None:
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


def test_upload_hands_finished_files_to_the_storage(settings: Settings, archived: Path, tmp_path: Path) -> None:
    (settings.home / "ghostfleet.toml").write_text(f'[storage]\nurl = "{tmp_path / "target"}"\n')
    done = _run("upload", "--home", str(settings.home), "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["handed_over"] == 1
    assert [path.name for path in archived.iterdir()] == [
        path.name for path in (tmp_path / "target/garden/archive").iterdir()
    ]


def test_upload_tells_a_terminal_how_far_it_is(settings: Settings, archived: Path, tmp_path: Path) -> None:
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
    assert done.stdout == f"{tmp_path / 'target'}: 1 files handed over, 0 waiting\n"


def test_upload_without_a_storage_says_what_to_set(settings: Settings, archived: Path) -> None:
    done = _run("upload", "--home", str(settings.home))
    assert done.returncode == 2
    assert "no storage to hand files to; set storage.url" in done.stderr


def test_dictionary_is_made_from_a_collection_and_tells_what_it_saves(settings: Settings) -> None:
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


def test_a_dictionary_of_nothing_is_refused(settings: Settings, archived: Path) -> None:
    done = _run("dictionary", "garden", "--home", str(settings.home))
    assert done.returncode == 2
    assert "no dictionary for garden: 3 records are too few to learn from" in done.stderr


def test_a_proxy_refuses_a_dictionary_that_is_none(settings: Settings, tmp_path: Path) -> None:
    path = tmp_path / "my.zdict"
    path.write_bytes(b"nothing of that kind")
    (settings.home / "ghostfleet.toml").write_text(
        f'[archive]\ncompression = "zstd"\nzstd_dictionary = "{path}"\n[proxy]\nport = 0\n'
    )
    with Command("proxy", home=settings.home) as proxy:
        assert proxy.ended() == 2
    assert f"setting archive.zstd_dictionary = '{path}' can't be used: it is no zstd dictionary" in proxy.stderr


def test_reindex_builds_index_and_dedup_from_the_files(settings: Settings, archived: Path) -> None:
    with Command("reindex", "garden", "--json", home=settings.home) as reindex:
        assert reindex.ended() == 0, reindex.stderr
    assert reindex.lines == [{"collection": "garden", "captures": 1, "payloads": 1}]


@pytest.mark.parametrize("command", ["repair", "reindex", "replay", "open"])
def test_a_collection_that_is_not_there_is_named_with_those_that_are(
    settings: Settings, archived: Path, command: str
) -> None:
    done = _run(command, "roses", "--home", str(settings.home))
    assert done.returncode == 2
    assert f"there is no collection roses in {settings.home}; there are: garden" in done.stderr


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


def test_config_tells_each_value_and_where_it_comes_from(tmp_path: Path) -> None:
    (tmp_path / "ghostfleet.toml").write_text("[proxy]\nport = 8123\n")
    done = _run("config", "--home", str(tmp_path))
    assert done.returncode == 0
    assert f"home = {tmp_path}\n" in done.stdout
    assert f"proxy.port = 8123  [{tmp_path}/ghostfleet.toml]" in done.stdout
    assert "proxy.processes = 1  #" in done.stdout
    settings = json.loads(_run("config", "--home", str(tmp_path), "--json").stdout)["settings"]
    assert {row["name"]: row["source"] for row in settings}["proxy.port"] == f"{tmp_path}/ghostfleet.toml"
