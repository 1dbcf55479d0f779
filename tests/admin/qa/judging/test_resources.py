"""What a page asked for at its capture, against what it gets in replay."""

from __future__ import annotations

from typing import Any

import pytest
from support.archive.capture_rows import capture

from admin.qa.judging.resources import PageResource, ResourceState, compare_resources, kind_of
from archive.dates import parse_date
from browsers.engines.traffic import AskedExchange, BrowserRequest

AT = parse_date("20261126080000")
GOOD = {"status": 200, "mime": "image/png", "type": "image"}


def asked(url: str, status: int = 200, kind: str = "image", error: str = "", **headers: str) -> AskedExchange:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return AskedExchange(BrowserRequest(url, "GET", kind), AT, status, named, error=error)


def missed(url: str, kind: str = "image") -> AskedExchange:
    return asked(url, 404, kind, ghostfleet_replay="miss")


def fates(captured: dict[str, Any], *visits: list[AskedExchange], archived: bool = True) -> dict[str, PageResource]:
    found = compare_resources(captured, visits, AT, lambda *_: archived)
    return {each.url: each for each in found.resources}


def test_what_the_crawl_kept_and_the_archive_lacks_is_missing() -> None:
    found = fates({"http://a/1.png": GOOD}, [missed("http://a/1.png")])["http://a/1.png"]
    assert (found.state, found.is_damage, found.kind) == (ResourceState.MISSING, True, "image")


def test_what_the_replay_does_not_ask_for_is_looked_up() -> None:
    captured = {"http://a/1.png": GOOD}
    assert fates(captured, [], archived=True)["http://a/1.png"].state is ResourceState.NOT_ASKED
    assert fates(captured, [], archived=False)["http://a/1.png"].state is ResourceState.MISSING


def test_what_failed_at_the_capture_is_the_fault_of_the_site() -> None:
    for entry in ({"status": 404}, {"status": 0}, {"status": 200, "error": "ERR_FAILED"}):
        assert not fates({"http://a/1.png": {**GOOD, **entry}}, [missed("http://a/1.png")])["http://a/1.png"].is_damage


def test_another_content_than_at_the_capture_is_damage() -> None:
    captured = {"http://a/s.css": {**GOOD, "digest": "ABC"}, "http://a/t.css": {**GOOD, "digest": "DEF"}}
    visit = [asked("http://a/s.css", kind="stylesheet"), asked("http://a/t.css", kind="stylesheet")]
    found = compare_resources(captured, [visit], AT, lambda _, digest: digest == "DEF")
    assert [(each.url, each.state, each.is_damage) for each in found.resources] == [
        ("http://a/s.css", ResourceState.CHANGED, True),
        ("http://a/t.css", ResourceState.REPLAYED, False),
    ]


@pytest.mark.parametrize(
    ("digest", "job", "page_id", "archived", "is_damage"),
    [
        ("ABC", "run", "other", False, False),
        ("XYZ", "run", "other", True, True),
        ("XYZ", "run", "page", True, False),
        ("XYZ", "run", "page", False, True),
        ("XYZ", "repair-7", "page", False, False),
        ("XYZ", "repair-7", "page", True, False),
    ],
    ids=["same", "another visit's", "twice in the visit", "lost", "repaired", "repaired beside the old one"],
)
def test_the_record_that_the_replay_shows_decides(
    digest: str, job: str, page_id: str, archived: bool, is_damage: bool
) -> None:
    captured = {"http://a/s.css": {**GOOD, "digest": "ABC"}}
    record = capture(url="http://a/s.css", digest=digest, job=job, page_id=page_id, record_id="shown")
    visit = [asked("http://a/s.css", kind="stylesheet", ghostfleet_record="shown")]
    found = compare_resources(captured, [visit], AT, lambda *_: archived, {"shown": record}.get, "page")
    assert found.resources[0].is_damage == is_damage


def test_what_asked_for_a_resource_is_known_from_either_side() -> None:
    told = {**GOOD, "initiator": "script http://a/app.js:3"}
    again = AskedExchange(BrowserRequest("http://a/1.png", "GET", "image", initiator="document http://a/:9"), AT, 404)
    found = fates(
        {"http://a/1.png": told, "http://a/2.png": told, "http://a/3.png": {**told, "initiator": 7}},
        [again],
        archived=False,
    )
    assert [found[f"http://a/{number}.png"].initiator for number in (1, 2, 3)] == [
        "document http://a/:9", "script http://a/app.js:3", "",
    ]  # fmt: skip


def test_a_new_url_is_damage_when_every_visit_asks_for_it() -> None:
    visit = [missed("http://a/new.png")]
    assert fates({"http://a/": GOOD}, visit)["http://a/new.png"].state is ResourceState.VARIES
    assert fates({"http://a/": GOOD}, visit, visit)["http://a/new.png"].state is ResourceState.NEVER_CAPTURED
    assert fates({"http://a/": GOOD}, visit, [])["http://a/new.png"].state is ResourceState.VARIES


def test_a_url_in_place_of_another_one_like_it_varies() -> None:
    visit = [missed("http://a/ad-42.png?t=1")]
    found = fates({"http://a/ad-17.png?t=2": GOOD}, visit, visit)
    assert found["http://a/ad-42.png?t=1"].state is ResourceState.VARIES
    assert found["http://a/ad-17.png?t=2"].state is ResourceState.NOT_ASKED


@pytest.mark.parametrize("kind", ["ping", "csp"])
def test_requests_without_an_effect_for_readers_are_no_damage(kind: str) -> None:
    visit = [missed("http://a/beacon", kind)]
    assert not fates({}, visit, visit)["http://a/beacon"].is_damage


def test_an_archived_error_that_the_crawl_did_not_list_is_no_damage() -> None:
    visit = [asked("http://a/gone.png", 410)]
    assert not fates({}, visit, visit)["http://a/gone.png"].is_damage


def test_a_response_that_is_cut_short_is_missing_with_the_reason() -> None:
    cut = asked("http://a/film.mp4", 200, "media", "net::ERR_CONTENT_LENGTH_MISMATCH")
    found = fates({"http://a/film.mp4": {**GOOD, "type": "media"}}, [cut])["http://a/film.mp4"]
    assert found.is_damage
    assert "CONTENT_LENGTH" in found.why


def test_a_good_answer_among_several_counts_and_aborted_requests_do_not() -> None:
    visit = [asked("http://a/1.png"), missed("http://a/1.png"), asked("http://a/2.png", 0, error="net::ERR_ABORTED")]
    found = fates({"http://a/1.png": GOOD, "http://a/2.png": GOOD}, visit)
    assert found["http://a/1.png"].state is ResourceState.REPLAYED
    assert found["http://a/2.png"].state is ResourceState.NOT_ASKED


@pytest.mark.parametrize("is_first", [True, False])
def test_a_good_answer_in_one_visit_is_not_replaced_by_a_bad_one_in_another(is_first: bool) -> None:
    good, bad = [asked("http://a/1.png")], [asked("http://a/1.png", 0, error="net::ERR_TIMED_OUT")]
    visits = (good, bad) if is_first else (bad, good)
    assert fates({"http://a/1.png": GOOD}, *visits)["http://a/1.png"].state is ResourceState.REPLAYED


def test_counts_and_time_skew() -> None:
    late = asked("http://a/late.png", memento_datetime="Thu, 26 Nov 2026 08:01:00 GMT")
    early = asked("http://a/early.png", memento_datetime="Thu, 26 Nov 2026 07:00:00 GMT")
    captured = {"http://a/late.png": GOOD, "http://a/bad.png": {**GOOD, "status": 500}}
    found = compare_resources(
        captured, [[late, early, asked("http://a/x", memento_datetime="no date")]], AT, lambda *_: True
    )
    assert (found.earliest_seconds, found.latest_seconds) == (3600, 60)
    assert found.measures()["skews"] == [{"url": "http://a/early.png", "seconds": -3600}]
    assert (found.good_at_capture, found.bad_at_capture, found.good_in_replay) == (1, 1, 3)


def test_many_resources_are_looked_up_in_part_and_counted() -> None:
    captured = {f"http://a/{number}.png": GOOD for number in range(5000)}
    found = compare_resources(captured, [[]], AT, lambda *_: True)
    assert (len(found.resources), found.unlisted) == (500, 4500)


def test_kinds() -> None:
    assert [kind_of(word) for word in ("imageset", "iframe", "stylesheet", "xhr")] == [
        "image", "document", "stylesheet", "other",
    ]  # fmt: skip
    assert kind_of("fetch", "video/mp4") == "media"
