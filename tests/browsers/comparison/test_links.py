"""Links of a capture against those of its replay."""

from __future__ import annotations

from browsers.comparison.links import compare_links


def test_a_link_that_the_replay_lacks_is_lost() -> None:
    found = compare_links(["http://a.test/1", "http://a.test/about"], ["http://a.test/1"])
    assert (found.captured, found.lost, found.examples, found.lost_share) == (2, 1, ("http://a.test/about",), 0.5)


def test_spellings_of_one_link_are_one() -> None:
    before = ["http://a.test/p?a=1", "http://a.test:80/q", "http://A.test/r"]
    after = ["https://a.test/p?a=1", "http://a.test/q", "http://a.test/r"]
    assert compare_links(before, after).lost == 0


def test_a_link_with_a_new_number_has_changed_and_each_stands_for_one_only() -> None:
    assert compare_links(["http://a.test/out?t=17"], ["http://a.test/out?t=18"]).lost == 0
    found = compare_links(["http://a.test/story-1", "http://a.test/story-2"], ["http://a.test/story-3"])
    assert found.lost == 1


def test_no_links_and_no_urls_are_harmless() -> None:
    assert compare_links([], ["http://a.test/"]).lost_share == 0
    assert compare_links(["http://[", "x" * 99_999], []).lost == 2


def test_many_lost_links_are_counted_and_few_are_named() -> None:
    found = compare_links((f"http://a.test/{'a' * number}" for number in range(1, 3001)), [])
    assert (found.lost, len(found.examples)) == (3000, 20)
