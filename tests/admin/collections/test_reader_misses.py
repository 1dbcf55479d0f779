"""The viewer counts the URLs that readers miss, within limits, and its files say nothing about readers."""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

from admin.collections.reader_misses import KEPT_DAYS, MissCollector, is_collectable, read_misses
from archive.settings.load import Settings

PAGE = "http://a.test/"


@pytest.fixture
def collecting(settings: Settings) -> Settings:
    settings.collection("news").mkdir(parents=True)
    view = settings.view.model_copy(update={"collect_misses": True, "misses_per_day": 3})
    return settings.model_copy(update={"view": view})


def files(settings: Settings) -> list[Path]:
    return sorted((settings.collection("news") / "qa" / "reader-misses").glob("*"))


def test_nothing_is_collected_unless_the_setting_asks_for_it(settings: Settings) -> None:
    settings.collection("news").mkdir(parents=True)
    collector = MissCollector(settings)
    collector.note("news", "http://a.test/lost.png", PAGE)
    collector.flush()
    assert files(settings) == []


def test_misses_of_several_viewers_are_added_up_and_the_most_frequent_comes_first(collecting: Settings) -> None:
    for times in (1, 2):
        collector = MissCollector(collecting)
        for _ in range(times):
            collector.note("news", "http://a.test/b.png#part", PAGE)
        collector.note("news", "http://a.test/a.png", "http://a.test/?typed=secret")
        collector.flush()
    found = read_misses(collecting, "news")
    assert [(miss.url, miss.page, miss.times) for miss in found] == [
        ("http://a.test/b.png", PAGE, 3),
        ("http://a.test/a.png", "", 2),
    ]
    assert "secret" not in files(collecting)[0].read_text()


def test_a_day_has_so_many_urls_and_a_collection_so_many_days(collecting: Settings) -> None:
    collector = MissCollector(collecting)
    for number in range(50):
        collector.note("news", f"http://a.test/{number}", "")
        collector.note("never-made", f"http://a.test/{number}", "")
    collector.flush()
    (today,) = files(collecting)
    for ago in range(1, KEPT_DAYS + 5, 3):
        day = date.fromisoformat(today.stem) - timedelta(days=ago)
        today.with_name(f"{day}.json").write_text('{"http://a.test/1": [1, ""]}')
    assert [miss.times for miss in read_misses(collecting, "news")][:1] == [11], "no older day is counted"
    collector.note("news", "http://a.test/0", "")
    collector.note("news", "http://a.test/one-more", "")
    collector.flush()
    assert len(files(collecting)) == 11, "days without a miss don't make old files stay"
    for old in files(collecting)[:-1]:
        old.unlink()
    assert {miss.url: miss.times for miss in read_misses(collecting, "news")} == {
        "http://a.test/0": 2,
        "http://a.test/1": 1,
        "http://a.test/2": 1,
    }
    assert not collecting.collection("never-made").exists()


@pytest.mark.parametrize(
    "url",
    [
        "http://a.test/?q=a",
        "http://me:pw@a.test/",
        "ftp://a.test/",
        "urn:x:y",
        "http://[",
        "http://a.test/" + "x" * 2_000,
    ],
)
def test_urls_that_may_say_something_about_a_reader_are_not_collected(url: str) -> None:
    assert not is_collectable(url)


@pytest.mark.parametrize("text", ["", "[]", '{"http://a.test/": [1]}', '{"http://a.test/": ["1", ""]}', "{" * 100_000])
def test_a_damaged_file_counts_as_empty(collecting: Settings, text: str) -> None:
    collector = MissCollector(collecting)
    collector.note("news", "http://a.test/x", "")
    collector.flush()
    (today,) = files(collecting)
    today.write_text(text)
    assert read_misses(collecting, "news") == []
    collector.note("news", "http://a.test/x", "")
    collector.flush()
    assert [miss.times for miss in read_misses(collecting, "news")] == [1]
