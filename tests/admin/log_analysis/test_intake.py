"""admin/log_analysis/columns/intake.py: a log is read once, whoever wrote it, whatever happens to it meanwhile."""

from __future__ import annotations

import gzip
import importlib.util
import subprocess
import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest
from support.admin.log_lines import HERITRIX, line, ordinary, write_log

from admin.log_analysis.columns import intake
from admin.log_analysis.columns.intake import take_in
from admin.log_analysis.columns.intake_state import IntakeState, read_state
from admin.log_analysis.columns.log_blocks import LONGEST_LINE, LogTrouble
from admin.log_analysis.columns.readings import open_reading
from archive.crawl_log import CrawlLog
from archive.file_lock import lock_or_not
from archive.rotated_log import renamed_parts

COLUMNS = "time, code, bytes, url, host, path_depth, repeats, mime, is_text, started, source, tries, error, malformed"


def rows(folder: Path, columns: str = COLUMNS) -> list[tuple[object, ...]]:
    with open_reading(folder) as reading:
        return reading.engine.run(f"SELECT {columns} FROM every_line ORDER BY part, row_number")


def test_lines_of_heritrix_become_typed_columns(analysed: Callable[..., Path]) -> None:
    folder = analysed(HERITRIX)

    found = rows(folder, "code, bytes, host, path_depth, hops, mime, duration_ms, source_host, tries, error, malformed")
    assert found == [
        (1, 54, "dns:", 0, "P", "text/dns", 110, "www.example.org", 1, "none", False),
        (200, 1300, "www.example.org", 1, "LL", "text/html", 400, "www.example.org", 2, "none", False),
        (-2, 0, "gone.example.org", 1, "E", "unknown", 0, "www.example.org", 30, "connection", False),
        (-9998, 0, "www.example.co.uk", 1, "L", "unknown", 0, "", 1, "robots", False),
    ]
    assert rows(folder, "epoch_us(time), epoch_us(started)")[1] == (1_795_248_901_500_000, 1_795_248_901_100_000)
    with open_reading(folder) as reading:
        domains = dict(reading.engine.run("SELECT host, domain FROM hosts"))  # type: ignore[arg-type]
    assert domains["www.example.co.uk"] == "example.co.uk"
    assert domains["gone.example.org"] == "example.org"


def test_lines_of_our_own_have_their_notes_apart(analysed: Callable[..., Path]) -> None:
    own = line(1, "https://www.example.org/a b", extra={"contentSize": 1234}, annotations=("duplicate:digest",))
    note = line(2, annotations=("page:waf",), extra={"annotates": 1})
    folder = analysed([own, note])

    assert rows(folder, "url, bytes, is_note") == [
        ("https://www.example.org/a%20b", 1234, False),
        ("https://www.example.org/", 1000, True),
    ]
    with open_reading(folder) as reading:
        assert reading.engine.run("SELECT count(*) FROM lines") == [(1,)]


def test_malformed_urls_and_repeating_paths_are_told(analysed: Callable[..., Path]) -> None:
    expected = {
        "https://www.example.org/a/b/c/d?x=/e/f#/g": (False, 0, 4),
        "https://[2001:db8::1]:8443/": (False, 0, 0),
        "https://user:secret@www.example.org:80/x/": (False, 0, 1),
        "https://www.example.org/a/b/a/b/a/b/a/b/": (False, 6, 8),
        "https://www.example.org/%zz": (True, 0, 1),
        "https://www.example.org/%e4%f6": (False, 0, 1),
        "https://www.exa$mple.org/": (True, 0, 0),
        "https://www..example.org/": (True, 0, 0),
        "https://www.example.org:8x/": (True, 0, 0),
        "https:///x": (True, 0, 1),
        "www.example.org/x": (True, 0, 0),
        'https://www.example.org/"x': (True, 0, 1),
    }
    found = rows(analysed(line(url=url) for url in expected), "url, malformed, repeats, path_depth")

    assert {url: facts for url, *facts in found} == {url: list(facts) for url, facts in expected.items()}


def test_more_path_segments_than_a_column_can_count_are_counted_as_its_most(analysed: Callable[..., Path]) -> None:
    folder = analysed([line(1, f"http://a.example.org/{'/' * 33_000}"), line(2)])

    assert rows(folder, "path_depth, repeats") == [(32_767, 32_767), (0, 0)]


def test_a_damaged_file_of_an_analysis_is_told_in_one_line(analysed: Callable[..., Path]) -> None:
    folder = analysed([line(1)])
    (folder / "lines-000001.parquet").write_bytes(b"no columns")

    with pytest.raises(LogTrouble, match="can't go on"), open_reading(folder):
        pass


def test_a_log_of_rubbish_gives_its_good_lines_and_names_the_others(tmp_path: Path) -> None:
    good = [line(number).encode() for number in range(4)]
    long = b"x" * 10_000_000
    data = [
        good[0],
        b"\xff\x00\x01\x9f garbage \r",
        b"",
        good[1],
        long,
        good[2] + b"\r",
        b"2026-11-21T08:15:00Z 200",
        good[3],
    ]
    log = tmp_path / "crawl.log"
    log.write_bytes(b"\n".join(data) + b"\nhalf a li")

    state = take_in(log, tmp_path / "analysis", block=1_000_000)

    assert (state.lines, state.broken, state.tail, state.is_complete) == (8, 4, 9, True)
    assert [(each.number, each.text[:30]) for each in state.broken_lines] == [
        (2, "\ufffd??\ufffd garbage "),
        (3, ""),
        (5, "(a line of 10,000,000 bytes)"),
        (7, "2026-11-21T08:15:00Z 200"),
    ]
    with open_reading(tmp_path / "analysis") as reading:
        found = reading.engine.run("SELECT part, row_number FROM every_line ORDER BY time")
        assert [reading.line_number(*each) for each in found] == [1, 4, 6, 8]


def test_a_long_line_within_a_block_is_one_broken_line(tmp_path: Path) -> None:
    log = write_log(tmp_path / "crawl.log", [line(1), "y" * (LONGEST_LINE + 1), line(2)])

    state = take_in(log, tmp_path / "analysis")

    assert (state.lines, state.broken) == (3, 1)


def test_a_growing_log_is_read_where_it_grew(tmp_path: Path) -> None:
    lines = ordinary(600)
    text = "".join(f"{each}\n" for each in lines)
    log, folder = tmp_path / "crawl.log", tmp_path / "analysis"
    for end in (10_000, 10_001, 70_000, len(text)):
        log.write_text(text[:end])
        state = take_in(log, folder, block=50_000)
        assert state.place + state.tail == end
    whole = take_in(log, tmp_path / "whole")

    assert state.lines == whole.lines == 600
    assert rows(folder) == rows(tmp_path / "whole")
    assert len(state.parts) < 5, "small parts are put together"


def test_an_interrupted_intake_gives_the_same_as_one_in_a_piece(tmp_path: Path) -> None:
    log = write_log(tmp_path / "crawl.log", ordinary(2000))
    calls = 0

    def is_ended() -> bool:
        return True

    def crash(engine: object, folder: Path, *_: object) -> IntakeState:
        (folder / "lines-999999.parquet").write_bytes(b"half a fi")
        raise KeyboardInterrupt

    folder = tmp_path / "analysis"
    while not (state := take_in(log, folder, is_ended=is_ended, block=100_000)).is_complete:
        calls += 1
        if calls == 2:
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(intake, "_taken", crash)
                with pytest.raises(KeyboardInterrupt):
                    take_in(log, folder, block=100_000)
    take_in(log, tmp_path / "whole")

    assert calls > 2
    assert rows(folder) == rows(tmp_path / "whole")
    assert {each.name for each in folder.glob("lines-*")} == {each.name for each in state.parts}


def test_a_gzip_log_and_one_that_breaks_off(tmp_path: Path) -> None:
    lines = ordinary(500)
    packed = gzip.compress("".join(f"{each}\n" for each in lines).encode())
    log = tmp_path / "crawl.log.gz"
    log.write_bytes(packed[: len(packed) // 2])

    cut = take_in(log, tmp_path / "analysis")
    log.write_bytes(packed)
    whole = take_in(log, tmp_path / "analysis")

    assert 0 < cut.lines < 500
    assert "break off" in cut.trouble
    assert (whole.lines, whole.trouble, whole.rotations) == (500, "", 0)


def test_a_log_that_was_rotated_or_removed_keeps_what_was_read(tmp_path: Path) -> None:
    log, folder = write_log(tmp_path / "crawl.log", [line(1), line(2)]), tmp_path / "analysis"
    take_in(log, folder)

    write_log(log, [line(3, "https://other.example.org/")])
    rotated = take_in(log, folder)
    log.unlink()
    gone = take_in(log, folder)

    assert (rotated.lines, rotated.rotations) == (3, 1)
    assert gone.lines == 3
    assert "crawl.log can't be read" in gone.trouble
    with pytest.raises(LogTrouble, match="can't be read"):
        take_in(log, tmp_path / "never")
    assert not (tmp_path / "never").exists()


def test_a_second_analysis_at_once_says_so(tmp_path: Path) -> None:
    log, folder = write_log(tmp_path / "crawl.log", [line(1)]), tmp_path / "analysis"
    folder.mkdir()
    with lock_or_not(folder / ".lock") as is_held:
        assert is_held
        with pytest.raises(LogTrouble, match="another process is analysing"):
            take_in(log, folder)


def test_a_full_disk_leaves_what_was_read(tmp_path: Path) -> None:
    """The kernel refuses files of more than a few thousand bytes, as a full disk does."""
    log, folder = write_log(tmp_path / "crawl.log", ordinary(2000)), tmp_path / "analysis"
    take_in(log, folder, is_ended=lambda: True, block=100_000)
    before = read_state(folder)
    script = (
        "import resource, signal, sys; from pathlib import Path; signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "from admin.log_analysis.columns.intake import take_in\n"
        "from admin.log_analysis.columns.log_blocks import LogTrouble\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))\n"
        "try: take_in(Path(sys.argv[1]), Path(sys.argv[2]), block=100_000)\n"
        "except LogTrouble as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", script, log, folder], capture_output=True, text=True, check=True)

    assert "what was read is kept" in done.stdout
    assert read_state(folder) == before
    assert take_in(log, folder).lines == 2000


def test_without_duckdb_one_line_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec

    def find_spec(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "duckdb" else found(name, package)

    monkeypatch.setattr(importlib.util, "find_spec", find_spec)
    with pytest.raises(LogTrouble, match=r"ghostfleet\[analysis\]"):
        take_in(write_log(tmp_path / "crawl.log", [line(1)]), tmp_path / "analysis")


def test_log_that_is_rotated_between_two_intakes_is_read_on_without_a_gap(tmp_path: Path) -> None:
    log, folder, lines = CrawlLog(tmp_path, rotate_bytes=20_000), tmp_path / "analysis", ordinary(600)
    for at in range(0, 600, 150):
        for text in lines[at : at + 150]:
            log.append([text])
        state = take_in(log.path, folder, block=7_000)
        assert (state.lines, state.broken, state.rotations, state.is_complete) == (at + 150, 0, 0, True)
    assert len(renamed_parts(log.path)) > 3
    log.path.rename(log.path.with_name("crawl.log.0099"))  # a writer was killed between the renaming and the next line
    assert take_in(log.path, folder).lines == 600
    log.append([lines[0]])
    assert take_in(log.path, folder).lines == 601
    assert [url for (url,) in rows(folder, "url")] == [text.split()[3] for text in [*lines, lines[0]]]
