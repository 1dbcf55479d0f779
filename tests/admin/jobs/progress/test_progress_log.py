"""progress-statistics.log has the columns of Heritrix."""

from __future__ import annotations

from pathlib import Path

from admin.jobs.progress.display import View
from admin.jobs.progress.progress_log import FILE_NAME, ProgressLog


def _view(urls: int) -> View:
    return View("spring", 10.0, 3, 1, 20, 2, 0, urls, 2048 * urls, 0, 1.0)


def test_a_line_is_written_at_the_begin_at_each_interval_and_at_the_end(tmp_path: Path) -> None:
    log = ProgressLog(tmp_path)
    log.look(_view(10))
    log.look(_view(12))  # too soon
    log.interval_seconds = 0.0
    log.look(_view(14))
    log.end(_view(20), "all URLs\nwere visited")
    begin, head, *lines, last = (tmp_path / FILE_NAME).read_text().splitlines()
    assert begin.endswith("Z CRAWL RUNNING - Running")
    assert head.split()[:4] == ["timestamp", "discovered", "queued", "downloaded"]
    assert [line.split()[1:4] for line in lines] == [["33", "20", "10"], ["37", "20", "14"], ["43", "20", "20"]]
    assert {len(line.split()) for line in lines} == {len(head.split())}
    assert lines[0].split()[4] == "0.00(1.00)"
    assert last.endswith("Z CRAWL ENDED - all URLs were visited")


def test_a_folder_that_can_not_be_written_stops_nothing(tmp_path: Path) -> None:
    log = ProgressLog(tmp_path / "gone")
    log.look(_view(1))
    log.end(_view(1), "stopped")
    assert not (tmp_path / "gone").exists()
