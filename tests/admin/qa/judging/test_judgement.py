"""Judgements: what damages a page, what it costs, and when a page is visited a second time."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import Any

from PIL import Image, ImageDraw
from support.admin.qa_pages import captured_page, replayed

from admin.qa.judging.findings import DamageSeverity, FindingKind
from admin.qa.judging.judgement import Judge, Judgement
from archive.settings.qa import QaSettings
from browsers.engines.traffic import MainAnswer
from browsers.ghosts.replay_visit import ReplayedPage

JUDGE = Judge(QaSettings())


def picture(*boxes: tuple[int, int, int, int]) -> bytes:
    image = Image.new("RGB", (640, 512), "white")
    draw = ImageDraw.Draw(image)
    for line in range(0, 500, 20):
        draw.text((10, line), f"Line {line} of a page with some text in it", fill="black")
    for box in boxes:
        draw.rectangle(box, fill="crimson")
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def judged(captured: Any, *replays: ReplayedPage) -> Judgement:
    return JUDGE.compare(captured, replays, lambda *_: True)


def kinds(judgement: Judgement) -> list[FindingKind]:
    return [finding.kind for finding in judgement.findings]


def test_a_page_that_replays_as_it_was_has_a_hundred_points() -> None:
    view = picture((100, 100, 300, 300))
    found = judged(captured_page(view=view, text="one two"), replayed(view=view, text="one two"))
    assert (found.score, found.severity, found.findings, found.needs_second_visit) == (
        100,
        DamageSeverity.GOOD,
        (),
        False,
    )
    assert found.measures["view"]["changedShare"] == 0


def test_a_missing_image_is_named_and_makes_the_page_noticeably_damaged() -> None:
    names = [f"http://a.test/{number}.png" for number in range(1, 4)]
    urls = {name: {"status": 200, "type": "image"} for name in names}
    found = judged(captured_page(urls=urls), replayed(missing=names[:1], good=names[1:]))
    assert kinds(found) == [FindingKind.MISSING_IMAGE]
    assert found.findings[0].url == "http://a.test/1.png"
    assert found.severity == DamageSeverity.NOTICEABLE


def test_what_the_browser_can_no_longer_show_is_named() -> None:
    box = {"kind": "image", "box": [0, 0, 90, 90], "isVisible": True}
    image, old, film = ({**box, "url": f"http://a.test/{name}"} for name in ("1.png", "2.png", "f.mp4"))
    film |= {"kind": "media", "readyState": 4}
    captured = replace(captured_page(), note={**captured_page().note, "boxes": [image, {**old, "error": 1}, film]})
    replay = replayed()
    replay.snapshot.boxes = [{**each, "error": 1} for each in (image, old, film)]
    found = judged(captured, replay)
    assert [(each.kind, each.url) for each in found.findings] == [
        (FindingKind.UNPLAYABLE, "http://a.test/f.mp4"),
        (FindingKind.BROKEN_IMAGE, "http://a.test/1.png"),
    ]


def test_a_film_that_never_loads_in_replay_is_named_when_no_visit_shows_it() -> None:
    film = {"url": "http://a.test/f.mp4", "kind": "media", "box": [0, 0, 90, 90], "isVisible": True}
    captured = captured_page(boxes=[{**film, "readyState": 4}])
    silent, again = replayed(), replayed()
    silent.snapshot.boxes = [{**film, "readyState": 0}]
    again.snapshot.boxes = [{**film, "readyState": 1}]
    first = judged(captured, silent)
    assert (kinds(first), first.needs_second_visit) == ([FindingKind.UNPLAYABLE], True)
    assert kinds(judged(captured, silent, again)) == []
    assert kinds(judged(captured_page(boxes=[{**film, "readyState": 1}]), silent)) == [], "the film had no picture then"


def test_a_large_image_costs_more_than_a_small_one() -> None:
    boxes = [
        {"url": f"http://a.test/{number}.png", "kind": "image", "box": [0, 0, size, size], "isVisible": True}
        for number, size in enumerate((900, 20))
    ]
    urls = {box["url"]: {"status": 200, "type": "image"} for box in boxes}
    captured = replace(captured_page(urls=urls), note={**captured_page(urls=urls).note, "boxes": boxes})
    large, small = (judged(captured, replayed(missing=[box["url"]])).score for box in boxes)
    assert large < small


def test_a_style_sheet_costs_more_than_an_image_and_a_second_image_little() -> None:
    names = [f"http://a.test/{number}.png" for number in range(2)]
    urls = {name: {"status": 200, "type": "image"} for name in names}
    style = {"http://a.test/s.css": {"status": 200, "type": "stylesheet"}}
    many = {f"http://a.test/x{number}.png": {"status": 200, "type": "image"} for number in range(300)}
    whole = captured_page(urls={**urls, **style, **many})
    there = tuple(many)
    one = judged(whole, replayed(missing=(names[0],), good=there)).score
    two = judged(whole, replayed(missing=tuple(names), good=there)).score
    sheet = judged(whole, replayed(missing=("http://a.test/s.css",), good=there)).score
    assert sheet < two < one < 90


def test_a_picture_that_differs_without_a_reason_is_looked_at_twice() -> None:
    before, after = picture((100, 100, 300, 300)), picture((320, 100, 520, 300))
    captured = captured_page(view=before)
    first = judged(captured, replayed(view=after))
    assert first.needs_second_visit
    again = judged(captured, replayed(view=after), replace(replayed(view=after), views=(after, before)))
    assert (again.score, again.needs_second_visit) == (100, False), "a later moment shows the captured state"
    still = judged(captured, replayed(view=after), replace(replayed(view=after), views=(after, after)))
    assert kinds(still) == [FindingKind.PICTURE]
    assert still.pictures["view-difference.png"].startswith(b"\x89PNG")


def test_a_second_visit_clears_what_chance_did_in_the_first_one() -> None:
    view, other, text = picture((100, 100, 300, 300)), picture((320, 100, 520, 300)), "one two three four"
    captured = replace(captured_page(view=view, text=text), full_page=view)
    hung, good = replayed(text="one", notes=["page-timeout"]), replayed(view=view, text=text)
    for replay, full_page in ((hung, other), (good, view)):
        replay.snapshot.full_page = full_page
    first = judged(captured, hung)
    assert (set(kinds(first)), first.needs_second_visit) == (
        {FindingKind.HANGS, FindingKind.FULL_PAGE, FindingKind.TEXT},
        True,
    )
    both = judged(captured, hung, good)
    assert (both.findings, both.score) == ((), 100)
    assert both.text == text
    assert both.pictures["view.png"] == view
    assert "full-page.png" not in both.pictures, "it is the picture of the window"
    assert set(kinds(judged(captured, hung, hung))) == set(kinds(first))
    assert judged(captured, good, hung).findings == ()


def test_the_end_and_the_title_of_a_page_are_those_of_its_better_visit() -> None:
    hung, good = replayed(notes=["page-timeout"], final_url="http://a.test/wait"), replayed()
    hung.snapshot.title, good.snapshot.title = "Just a moment", "News"
    assert set(kinds(judged(captured_page(), hung))) == {FindingKind.HANGS, FindingKind.REDIRECT}
    for replays in ((hung, good), (good, hung)):
        both = judged(captured_page(), *replays)
        assert (both.findings, both.title) == ((), "News")
    elsewhere = replayed(final_url="http://a.test/wait")
    assert kinds(judged(captured_page(), elsewhere, hung)) == [FindingKind.REDIRECT]


def test_of_two_texts_the_equal_one_is_kept_before_one_with_other_digits() -> None:
    text = "Opening hours today\nVisitors so far: 1041"
    equal, other_digits = replayed(text=text), replayed(text=text.replace("1041", "2"))
    other_words = replayed(text="Opening hours today\nVisitors so few: 1041")
    for replays in ((other_digits, equal), (equal, other_digits)):
        found = judged(captured_page(text=text), *replays)
        assert (found.text, found.measures["text"]["similarity"]) == (text, 1.0)
    found = judged(captured_page(text=text), other_words, other_digits)
    assert found.text == other_digits.snapshot.text


def test_a_second_visit_that_shows_no_page_does_not_damage_the_first_one() -> None:
    gone = MainAnswer("http://a.test/", 404, {"ghostfleet-replay": "miss"})
    assert judged(captured_page(), replayed(), replayed(main=gone)).findings == ()


def test_reviewers_see_the_picture_that_was_judged() -> None:
    before, after = picture((100, 100, 300, 300)), picture((320, 100, 520, 300))
    near = picture((100, 100, 300, 380))
    captured = replace(captured_page(view=before), full_page=before)
    replays = [replayed(view=after), replace(replayed(view=after), views=(near, after))]
    for replay, full_page in zip(replays, (after, near), strict=True):
        replay.snapshot.full_page = full_page
    pictures = judged(captured, *replays).pictures
    assert (pictures["view.png"], pictures["full-page.png"]) == (near, near)


def test_half_characters_and_nul_of_a_page_become_signs_that_every_database_takes() -> None:
    replay = replayed(text="\ud83d\0 other", errors=["\0 is no \ud83d"])
    replay.snapshot.title = "News \ud83d\0"
    found = judged(captured_page(text="\ud83d\0 lost", errors=[]), replay)
    assert found.title == "News \ufffd\ufffd"
    words = "".join(each.words for each in found.findings)
    assert (len(found.findings), "\0" in words, "\ud83d" in words) == (2, False, False)
    assert JUDGE.unjudged("\ud83d\0").why == "\ufffd\ufffd"


def test_texts_that_differ_in_digits_alone_are_no_damage() -> None:
    assert judged(captured_page(text="it is 10:15:59"), replayed(text="it is 10:16:07")).findings == ()
    lost = judged(captured_page(text="one two three four"), replayed(text="one"))
    assert kinds(lost) == [FindingKind.TEXT]


def test_a_page_that_the_archive_lacks_has_no_point() -> None:
    answer = MainAnswer("http://a.test/", 404, {"ghostfleet-replay": "miss"})
    found = judged(captured_page(), replayed(main=answer))
    assert (found.score, found.severity, kinds(found)) == (0, DamageSeverity.SEVERE, [FindingKind.PAGE_MISSING])
    assert judged(captured_page(status=404), replayed(main=MainAnswer("http://a.test/", 404, {}))).score == 100


def test_a_replay_that_hangs_or_ends_elsewhere_is_named() -> None:
    assert kinds(judged(captured_page(), replayed(notes=["page-timeout"]))) == [FindingKind.HANGS]
    assert kinds(judged(captured_page(), replayed(final_url="http://a.test/login"))) == [FindingKind.REDIRECT]
    assert judged(captured_page(), replayed(final_url="http://a.test/#top")).findings == ()


def test_redirects_that_lead_another_way_are_named() -> None:
    way = [{"url": "http://a.test/old", "status": 301}, {"url": "http://a.test/", "status": 200}]
    (finding,) = judged(captured_page(chain=way), replayed()).findings
    assert (finding.kind, finding.points) == (FindingKind.REDIRECT, 3)
    assert "the capture went by http://a.test/old → http://a.test/, and the replay by http://a.test/" in finding.words
    assert judged(captured_page(chain=way[1:]), replayed()).findings == ()
    assert judged(captured_page(chain="nonsense"), replayed()).findings == ()


def test_links_that_the_replay_lacks_are_counted_and_looked_for_twice() -> None:
    links = [f"http://a.test/{word}" for word in ("news", "about", "shop", "map")]
    found = judged(captured_page(links=links), replayed(links=links[:2]))
    assert found.needs_second_visit
    still = judged(captured_page(links=links), replayed(links=links[:2]), replayed(links=links[1:2]))
    (finding,) = still.findings
    assert (finding.kind, finding.words) == (FindingKind.LINKS, "2 of 4 links of the capture are not in the replay")
    assert set(finding.to_json()["examples"]) == set(links[2:])
    assert still.measures["links"] == {"captured": 4, "lost": 2}
    again = judged(captured_page(links=links), replayed(links=links[:2]), replayed(links=links[2:]))
    assert again.findings == (), "a later visit shows the others"
    assert judged(captured_page(links=links), replayed(links=links[1:])).findings == (), "one link is no damage"
    assert judged(captured_page(), replayed(links=links)).findings == ()


def test_errors_of_scripts_that_only_the_replay_has_are_named_and_cost_little() -> None:
    many = [f"{'x' * number} is not defined" for number in range(1, 40)]
    found = judged(captured_page(errors=[{"text": many[0], "count": 1}]), replayed(errors=many))
    assert {*kinds(found)} == {FindingKind.SCRIPT_ERROR}
    assert (found.score, found.severity, found.measures["newScriptErrors"]) == (90, DamageSeverity.GOOD, 38)
    assert "xx is not defined" in found.findings[0].words
    assert judged(captured_page(), replayed(errors=many)).findings == (), "an older capture has no list"
    without = Judge(QaSettings(script_error_points=0))
    assert without.compare(captured_page(errors=[]), (replayed(errors=many),), lambda *_: True).findings == ()


def test_a_missing_resource_has_its_size_its_weight_and_what_asked_for_it() -> None:
    url = "http://a.test/1.png"
    urls = {url: {"status": 200, "type": "image", "initiator": "script http://a.test/app.js:3"}}
    box = {"url": url, "kind": "image", "box": [0, 0, 320, 512], "isVisible": True}
    (finding,) = judged(captured_page(urls=urls, boxes=[box]), replayed(missing=[url])).findings
    told = finding.to_json()
    assert (told["initiator"], told["size"]) == ("script http://a.test/app.js:3", "320 × 512")
    assert told["weight"] == 0.75


def test_thresholds_are_settings() -> None:
    before, after = picture((100, 100, 300, 300)), picture((320, 100, 520, 300))
    tolerant = Judge(QaSettings(view_tolerance=1, text_tolerance=0, lost_links_share=1))
    captured = captured_page(view=before, text="one two three", links=["http://a.test/a", "http://a.test/b"])
    replay = replayed(view=after, text="four five six")
    assert tolerant.compare(captured, (replay,), lambda *_: True).findings == ()
    assert len(JUDGE.compare(captured, (replay,), lambda *_: True).findings) == 3


def test_a_login_in_place_of_the_page_is_an_error_page() -> None:
    wall = replayed(text="Please log in to continue", password_fields=1)
    assert FindingKind.ERROR_PAGE in kinds(judged(captured_page(), wall))


def test_a_browser_that_ended_judges_nothing() -> None:
    found = judged(captured_page(), replace(replayed(), trouble="browser-crashed"))
    assert found.is_unjudged
    assert "browser-crashed" in found.why


def test_a_damaged_picture_of_the_capture_is_left_out() -> None:
    found = judged(captured_page(view=b"\x89PNG\r\n\x1a\nno picture"), replayed(view=picture()))
    assert found.score == 100
    assert "view" not in found.measures


def test_a_browser_that_ends_in_mid_page_says_nothing_about_the_page() -> None:
    view, gone = picture(), replayed()
    gone.snapshot.crashed = True
    assert "the browser ended" in judged(captured_page(view=view), gone).why
    found = judged(captured_page(view=view, text="one"), replayed(view=view, text="one"), gone)
    assert (found.score, found.is_unjudged, found.measures["visits"]) == (100, False, 1)


def test_a_text_that_the_visit_did_not_reach_is_no_lost_text() -> None:
    found = judged(captured_page(text="one two three"), replayed(notes=["page-timeout"]))
    assert kinds(found) == [FindingKind.HANGS]


def test_the_window_of_another_crawler_has_the_size_of_its_picture() -> None:
    assert replace(captured_page(view=picture()), note={}).viewport == (640, 512, 1.0)
    assert replace(captured_page(view=b"no picture"), note={}).viewport is None
