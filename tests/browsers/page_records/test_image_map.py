"""The image map shows a page's picture, whose links can be clicked. Pictures are converted and judged."""

from __future__ import annotations

import io
from pathlib import Path

import pytest
from PIL import Image, ImageDraw
from playwright.sync_api import sync_playwright
from support.processes.machine_needs import chromium

from browsers.engines.pictures import as_jpeg, is_of_one_colour, thumbnail
from browsers.page_records.image_map import AREAS_SCRIPT, MAX_AREAS, MAX_LINK_TEXT, LinkArea, areas_of, image_map

PAGE = """<!doctype html><body style="margin:0;width:5000px;height:5000px">
<a href="http://a.test/one" style="position:absolute;left:10px;top:20px;width:30px;height:40px">x</a>
<a href="/two?a=1&amp;b='%22" style="position:absolute;left:100px;top:3000px;width:50px;height:60px">y</a>
<a href="http://a.test/hidden" style="display:none">z</a><a href="mailto:a@b.test">m</a><a href="http://[">bad</a>
<script>if (location.hash) for (let i = 0; i < 5000; i++)
  document.body.append(Object.assign(document.createElement('a'), {href: '/' + i + 'x'.repeat(900), text: 'l'}))
</script>"""


def png(colour: str = "white", mark: str | None = None) -> bytes:
    picture = Image.new("RGB", (600, 400), colour)
    if mark:
        ImageDraw.Draw(picture).point((5, 5), mark)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue()


@pytest.mark.browser
def test_links_are_where_they_are_shown_and_can_be_clicked_in_the_image_map(tmp_path: Path) -> None:
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page()
        page.route("http://a.test/**", lambda route: route.fulfill(body=PAGE, content_type="text/html"))
        page.goto("http://a.test/")
        page.evaluate("() => scrollTo(40, 900)")
        areas = areas_of(page.evaluate(AREAS_SCRIPT, [MAX_AREAS, MAX_LINK_TEXT]))
        (tmp_path / "map.html").write_text(image_map(png(), "image/png", "http://a.test/<", areas), "utf-8")
        page.goto((tmp_path / "map.html").as_uri())
        shown = page.evaluate("() => [...document.links].map(area => area.href)")
        page.goto("http://a.test/#many")
        many = page.evaluate(AREAS_SCRIPT, [MAX_AREAS, MAX_LINK_TEXT])
        browser.close()

    assert areas == (
        LinkArea(10, 20, 40, 60, "http://a.test/one"),
        LinkArea(100, 3000, 150, 3060, "http://a.test/two?a=1&b=%27%22"),
    )
    assert shown == [area.url for area in areas]
    assert len(many) <= MAX_AREAS
    assert sum(len(box[4]) for box in many) <= MAX_LINK_TEXT


def test_boxes_that_are_none_are_skipped() -> None:
    good = [1.4, 2, 3.6, 4, "http://a.test/"]
    odd: list[object] = [
        None,
        1,
        "x",
        [],
        [1, 2, 3, 4],
        [1, 2, 3, "u"],
        [float("nan"), 1, 2, 3, "u"],
        [1, 2, 3, 4, 5, "u"],
    ]

    assert areas_of([*odd, good]) == (LinkArea(1, 2, 4, 4, "http://a.test/"),)
    assert len(areas_of([good] * (MAX_AREAS + 5))) == MAX_AREAS


def test_an_url_can_not_leave_its_attribute() -> None:
    text = image_map(b"", "image/png", "</title><script>", [LinkArea(0, 0, 1, 1, '"><script>alert(1)</script>')])

    assert "<script>" not in text


def test_a_picture_of_one_colour_is_told_from_others() -> None:
    assert is_of_one_colour(png())
    assert is_of_one_colour(png(mark="#fefefe")), "encoders differ by so much"
    assert not is_of_one_colour(png(mark="red"))


def test_pictures_are_converted_to_jpeg() -> None:
    assert Image.open(io.BytesIO(thumbnail(png(), 300))).size == (300, 200)
    whole = Image.open(io.BytesIO(as_jpeg(png())))
    assert (whole.format, whole.size) == ("JPEG", (600, 400))
