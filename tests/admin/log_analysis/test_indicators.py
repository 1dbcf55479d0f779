"""Indicators compare a run with a reference run: by share, by number, and by absolute bounds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.admin.log_lines import line, ordinary, write_log

from admin.jobs.runs import Run, RunState
from admin.jobs.states import JobState
from admin.log_analysis.columns.intake import take_in
from admin.log_analysis.columns.log_blocks import LogTrouble
from admin.log_analysis.columns.readings import open_reading
from admin.log_analysis.comparison import compare
from admin.log_analysis.indicators import CrawlVerdict, IndicatorThresholds, Tolerance, indicators, worst
from admin.log_analysis.measures import LogMeasures, UrlChange, measures
from admin.log_analysis.named_logs import NamedLog, default_reference, find_log, log_at, run_log
from archive.settings.load import Settings

BEFORE = LogMeasures(
    seconds=1000,
    lines=1200,
    urls=1000,
    bytes=10_000_000,
    errors=50,
    long_urls=0,
    off_seed=100,
    robots=20,
    unknown_types=0,
    sub_domains=20,
    repeating=0,
    malformed=0,
    capped=0,
)


def verdicts(now: LogMeasures, change: UrlChange | None = None) -> dict[str, CrawlVerdict]:
    found = indicators(now, BEFORE, change)
    assert all(each.reason for each in found)
    return {each.name: each.verdict for each in found if each.verdict is not CrawlVerdict.ACCEPT}


def test_a_difference_counts_by_share_and_by_number() -> None:
    assert verdicts(replace(BEFORE, bytes=10_000_001)) == {}
    assert verdicts(replace(BEFORE, urls=1100, robots=25, sub_domains=22)) == {}
    assert verdicts(replace(BEFORE, urls=899, seconds=1101)) == {"urls": "investigate", "seconds": "investigate"}
    assert verdicts(replace(BEFORE, urls=1, errors=61)) == {"urls": "investigate", "errors": "investigate"}
    assert verdicts(replace(BEFORE, urls=990, errors=0)) == {}, "fewer errors are no fault"


def test_absolute_bounds_reject_even_without_a_reference() -> None:
    found = indicators(replace(BEFORE, urls=0, bytes=0), None, None)

    assert {each.name for each in found if each.verdict is CrawlVerdict.REJECT} == {"urls", "bytes"}
    assert worst(found) is CrawlVerdict.REJECT
    assert worst(indicators(BEFORE, None, None)) is CrawlVerdict.ACCEPT


def test_missing_new_and_unchanged_urls_are_indicators() -> None:
    changed = replace(BEFORE, urls=999)
    assert verdicts(changed, UrlChange(known=1000, missing=50, new=100)) == {}
    assert verdicts(changed, UrlChange(known=1000, missing=51, new=101)) == {
        "missing": "investigate",
        "new": "investigate",
    }
    assert verdicts(BEFORE) == {"delist": "investigate"}


def test_thresholds_can_be_others() -> None:
    strict = IndicatorThresholds(urls=Tolerance(0, least=0))

    found = indicators(replace(BEFORE, urls=1001, bytes=10_000_001), BEFORE, None, strict)
    assert [each.name for each in found if each.verdict is not CrawlVerdict.ACCEPT] == ["urls"]


def test_measures_and_changes_come_from_both_logs(analysed: Callable[..., Path], tmp_path: Path) -> None:
    seed = "https://www.example.org/"
    common = [line(number, f"{seed}{number}", source=seed) for number in range(20)]
    old = analysed([*common, line(30, f"{seed}gone"), line(31, f"{seed}failed", -2)], "old")
    new = analysed(
        [*common, line(5, "https://cdn.example.net/x.js", source=seed, mime=""), line(6, f"{seed}{'x' * 130}")], "new"
    )

    with open_reading(new) as reading:
        now = measures(reading)
    result = compare(NamedLog("new", tmp_path, new), NamedLog("old", tmp_path, old))

    assert (now.lines, now.urls, now.off_seed, now.unknown_types, now.long_urls, now.sub_domains) == (
        22,
        22,
        1,
        1,
        1,
        2,
    )
    by_name = {each.name: each for each in result.indicators}
    assert (by_name["missing"].value, by_name["new"].value) == (1, 2)
    assert (by_name["seconds"].value, by_name["seconds"].reference) == (19, 31)
    assert (result.verdict, result.reference) == (CrawlVerdict.REJECT, "old"), "fewer than a mebibyte"


def end_run(folder: Path, status: JobState) -> None:
    """Write the state of a run that ended so."""
    Run(folder, RunState("daily", "news", folder.name), resumed=False).save(status=status)


def test_the_reference_is_the_previous_run_with_the_most_seeds_in_common(home: Path) -> None:
    settings = Settings(home=home)
    jobs = settings.collection("news") / "jobs"
    for name, seeds in {
        "h1-10-20260101000000": "https://a.org/",
        "h1-11-20260201000000": "https://b.org/",
        "h1-12-20260301000000": "https://a.org/ https://c.org/",
        "h2-13-20260302000000": "https://b.org/",
        "h1-14-20260401000000": "https://b.org/",
        "daily-20260101000000": "",
        "daily-20260102000000": "",
    }.items():
        write_log(jobs / name / "crawl.log", ordinary(10))
        (jobs / name / "seeds.txt").write_text(seeds)
        end_run(jobs / name, JobState.FINISHED)

    def reference(name: str) -> str | None:
        found = default_reference(find_log(settings, name))
        return found.name if found is not None else None

    assert reference("14") == "h1-11-20260201000000"
    assert reference("h1-12") == "h1-10-20260101000000"
    assert reference("daily") == "daily-20260101000000"
    assert reference("h2-13-20260302000000") is None
    assert log_at(settings, jobs / "h1-10-20260101000000" / "crawl.log") == run_log(jobs / "h1-10-20260101000000")
    assert default_reference(log_at(settings, home / "other" / "crawl.log")) is None


@pytest.mark.parametrize("status", JobState)
def test_only_a_run_that_ended_by_itself_and_has_lines_is_a_reference(home: Path, status: JobState) -> None:
    jobs = Settings(home=home).collection("news") / "jobs"
    first, second, empty, damaged, last = (jobs / f"daily-2026010{day}000000" for day in range(1, 6))
    for folder, ended, lines in (
        (first, JobState.FINISHED, 10),
        (second, status, 10),
        (empty, JobState.FINISHED, 0),
        (last, JobState.RUNNING, 10),
    ):
        write_log(folder / "crawl.log", ordinary(lines))
        end_run(folder, ended)
    write_log(damaged / "run.json", ["{"])
    write_log(damaged / "crawl.log", ordinary(10))

    ends_by_itself = status in (JobState.FINISHED, JobState.GAPS, JobState.LIMIT)
    assert default_reference(run_log(last)) == run_log(second if ends_by_itself else first)


def test_a_log_from_elsewhere_is_named_after_its_folder(home: Path, tmp_path: Path) -> None:
    found = log_at(Settings(home=home), write_log(tmp_path / "weekly 2026" / "crawl.log", []))

    assert (found.name, found.folder) == ("weekly-2026", home / "analysis" / "weekly-2026")
    assert isinstance(found, NamedLog)


def test_a_log_from_elsewhere_never_takes_the_name_of_a_run_or_a_job(home: Path, tmp_path: Path) -> None:
    settings = Settings(home=home)
    run = settings.collection("news") / "jobs" / "news-20261103000000"
    write_log(run / "crawl.log", ordinary(10))
    write_log(run / "crawl.log.0001", ordinary(10))
    end_run(run, JobState.FINISHED)
    (home / "analysis" / "news").mkdir(parents=True)

    assert find_log(settings, "news") == run_log(run)
    assert log_at(settings, run / "crawl.log.0001") == run_log(run)
    with pytest.raises(LogTrouble, match="news is the name of a job or a run"):
        log_at(settings, write_log(tmp_path / "crawl.log", []), "news")
    with pytest.raises(LogTrouble, match="news-20261103000000 is the name of a job or a run"):
        log_at(settings, write_log(tmp_path / run.name / "crawl.log", []))


def test_a_log_that_was_named_before_its_name_was_that_of_a_job_keeps_it(home: Path, tmp_path: Path) -> None:
    settings = Settings(home=home)
    log = log_at(settings, write_log(tmp_path / "news" / "crawl.log", ordinary(10)))
    take_in(log.path, log.folder)
    run = settings.collection("news") / "jobs" / "news-20261103000000"
    write_log(run / "crawl.log", ordinary(10))
    end_run(run, JobState.FINISHED)

    assert log_at(settings, log.path) == log
    assert find_log(settings, "news") == log
