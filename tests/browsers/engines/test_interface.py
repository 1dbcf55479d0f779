"""The browser engine does what its interface promises, in a real browser and through a real proxy."""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from itertools import product
from typing import Any

import psutil
import pytest
import pytest_asyncio
from PIL import Image, ImageChops
from support.browsers.browser_engines import ENGINES, TELEPHONE, Engines, kill_page, open_pages
from support.browsers.visits import Fleet, document, page
from support.origins.raw_origin import RawOrigin

from browsers.engines.chromium.browser import ChromiumEngine
from browsers.engines.interface import (
    Area,
    Binding,
    BrowserWindow,
    DialogAnswer,
    DialogSeen,
    Engine,
    EngineLost,
    Frame,
    FrameGone,
    InitScript,
    NavigationFailed,
    Point,
    ScriptFailed,
    WindowOptions,
    World,
)
from browsers.proxying.control_client import SessionRequest

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="module")]
UNSTEADY = frozenset(
    (
        "test_clicks_reach_points_in_frames_of_other_origins",
        "test_windows_may_open_windows_down_to_a_depth",
    )
)
"""Tests that fail with Playwright in some runs. The cause is not known yet."""


@dataclass
class Opener:
    """Opens windows of one engine."""

    engine: Engine
    fleet: Fleet
    engines: Engines
    name: str

    @asynccontextmanager
    async def window(self, **options: Any) -> AsyncIterator[BrowserWindow]:
        """A window with a session of its own."""
        order = self.fleet.order("http://window.test/")
        session = await asyncio.to_thread(self.fleet.control.open, SessionRequest.for_page(order, "page"))
        window = await self.engine.open(WindowOptions(session.address, **options))
        try:
            yield window
        finally:
            await window.close()
            await asyncio.to_thread(self.fleet.control.finish, session, wait_seconds=10)

    @asynccontextmanager
    async def at(self, url: str, **options: Any) -> AsyncIterator[BrowserWindow]:
        """A window that has loaded the URL."""
        async with self.window(**options) as window:
            await window.navigate(url)
            await window.loaded()
            yield window


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def _engines(_fleet: Fleet) -> AsyncIterator[Engines]:
    engines = Engines(_fleet)
    yield engines
    await engines.stop()


@pytest_asyncio.fixture(params=ENGINES, loop_scope="module")
async def opener(request: pytest.FixtureRequest, _engines: Engines, fleet: Fleet) -> Opener:
    """An engine that other tests use, too: whatever a page did to it, it must still work."""
    if request.param == "playwright:chromium" and request.node.originalname in UNSTEADY:
        request.applymarker(pytest.mark.xfail(reason="fails with Playwright in some runs", strict=False))
    return Opener(await _engines.get(request.param), fleet, _engines, request.param)


async def eventually(condition: Callable[[], Any]) -> None:
    """Wait until the condition holds."""
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.02)


async def shows(frame: Frame, function: str, value: Any) -> None:
    """Wait until the function returns this value."""
    found = None
    try:
        async with asyncio.timeout(30):
            while (found := await frame.evaluate(function)) != value:
                await asyncio.sleep(0.02)
    except TimeoutError:
        pytest.fail(f"{found!r} is not {value!r}")


async def test_scripts_run_in_the_world_that_was_asked_for(opener: Opener, origin: RawOrigin) -> None:
    origin.script("/", page("<script>x = 5; document.querySelector = () => 'mine'</script><p id=p>text"))

    async with opener.at(origin.url("/")) as window:
        frame = window.main_frame
        assert await frame.evaluate("() => globalThis.x", world=World.PAGE) == 5
        assert await frame.evaluate("() => globalThis.x ?? null") is None
        assert await frame.evaluate("() => document.querySelector('p').id") == "p"
        assert await frame.evaluate("() => document.querySelector('p')", world=World.PAGE) == "mine"
        assert await frame.evaluate("async a => [a.b, await 7]", {"b": [1, None, "ü"]}) == [[1, None, "ü"], 7]


FAILING = (
    "() => { throw new Error('x') }",
    "() => {",
    "() => NaN",
    "() => 7n",
    "() => Promise.reject(1)",
    "() => { const a = {}; a.a = a; return a }",
)


async def test_a_script_that_fails_says_so(opener: Opener, origin: RawOrigin) -> None:
    origin.script("/", page(""))

    async with opener.at(origin.url("/")) as window:
        for function, world in product(FAILING, World):
            with pytest.raises(ScriptFailed):
                await window.main_frame.evaluate(function, world=world)
            assert await window.main_frame.evaluate("() => 1", world=world) == 1


async def test_scripts_of_the_page_s_world_follow_each_document(opener: Opener, origin: RawOrigin) -> None:
    """A document that a script makes has no navigation of which the browser tells."""
    origin.script("/", page("<script>x = 1</script>"))
    origin.script("/next", page("<script>x = 2</script>"))

    async with opener.at(origin.url("/")) as window:
        frame = window.main_frame
        assert await frame.evaluate("() => x", world=World.PAGE) == 1
        await window.navigate(origin.url("/next"))
        assert await frame.evaluate("() => x", world=World.PAGE) == 2
        await frame.evaluate("() => setTimeout(() => { location = 'javascript:\"<i>made</i>\"' })", world=World.PAGE)
        while not await frame.evaluate("() => document.querySelector('i') !== null", world=World.PAGE):
            await asyncio.sleep(0.02)


async def test_a_script_whose_document_goes_ends(opener: Opener, origin: RawOrigin) -> None:
    origin.script("/", page("<iframe src=/inner></iframe>"))
    origin.script("/inner", page(""))
    origin.script("/next", page("next"))

    async with opener.at(origin.url("/")) as window:
        _, inner = window.frames
        with pytest.raises(FrameGone):
            await inner.evaluate(
                "() => { parent.document.querySelector('iframe').remove(); return new Promise(() => {}) }"
            )
        await eventually(lambda: len(window.frames) == 1)
        with pytest.raises(FrameGone):
            await inner.evaluate("() => 1")
        with pytest.raises(FrameGone):
            await window.main_frame.evaluate("() => { location.href = '/next'; return new Promise(() => {}) }")
        await eventually(lambda: window.main_frame.url.endswith("/next"))
        await window.loaded()
        while await window.main_frame.evaluate("() => document.body?.textContent") != "next":
            await asyncio.sleep(0.02)
        assert await window.go_back()
        await eventually(lambda: window.main_frame.url == origin.url("/"))


@pytest.mark.parametrize("world", list(World))
async def test_scripts_in_all_frames_call_our_functions(opener: Opener, origin: RawOrigin, world: World) -> None:
    called: list[tuple[str, Any]] = []

    async def note(frame: Frame, argument: Any) -> Any:
        called.append((frame.url, argument))
        if argument == "bad":
            raise ValueError("no")
        return {"told": argument}

    async def never(frame: Frame, argument: Any) -> Any:
        await asyncio.Event().wait()

    with RawOrigin("127.0.1.11") as other:
        origin.script("/", page(f"<iframe src={other.url('/inner')}></iframe>"))
        other.script("/inner", page(""))
        bindings = [Binding("note", note, world), Binding("never", never, world)]
        scripts = [InitScript("globalThis.started = note(['init', 1])", world)]

        async with opener.at(origin.url("/"), bindings=bindings, init_scripts=scripts) as window:
            for frame in window.frames:
                assert await frame.evaluate("a => note(a)", "hello", world=world) == {"told": "hello"}
                with pytest.raises(ScriptFailed, match="no"):
                    await frame.evaluate("() => note('bad')", world=world)
                assert await frame.evaluate("() => started", world=world) == {"told": ["init", 1]}
                with pytest.raises(ScriptFailed, match="too many"):
                    await frame.evaluate(
                        "() => { for (let i = 0; i < 1000; i++) never(i).catch(() => {}); return never(1) }",
                        world=world,
                    )
                other_world = World.PAGE if world is World.ISOLATED else World.ISOLATED
                assert await frame.evaluate("() => typeof note", world=other_world) == "undefined"
        urls = {other.url("/inner"), origin.url("/")}

    assert {url for url, argument in called if argument == "hello"} == urls


async def test_clicks_reach_points_in_frames_of_other_origins(opener: Opener, origin: RawOrigin) -> None:
    button = "<a href=# onclick='document.title = event.isTrusted' style='margin: 40px'>link</a>"
    with RawOrigin("127.0.1.11") as other:
        origin.script(
            "/", page(f"<p style='height: 90px'>x<iframe src={other.url('/mid')} style='margin: 20px'></iframe>")
        )
        other.script("/mid", page(f"<iframe src={origin.url('/inner')} style='margin: 10px'></iframe>"))
        origin.script("/inner", page(button))

        async with opener.at(origin.url("/")) as window:
            assert [frame.is_main for frame in window.frames] == [True, False, False]
            inner = next(frame for frame in window.frames if frame.url.endswith("/inner"))
            corner = await inner.offset()
            box = await inner.evaluate(
                "() => { const b = document.links[0].getBoundingClientRect(); return [b.x + 5, b.y + 5] }"
            )
            # Chromium loses clicks into a frame of another process until the frame has been drawn.
            async with asyncio.timeout(30):
                while await inner.evaluate("() => document.title") == "":
                    await window.click(Point(corner.x + box[0], corner.y + box[1]))
                    await asyncio.sleep(0.2)
            await shows(inner, "() => document.title", "true")


async def test_clicks_reach_the_corners_of_the_window(opener: Opener, origin: RawOrigin) -> None:
    style = "<style>html, body { margin: 0; height: 100%; overflow: hidden }</style>"
    script = "<script>onclick = e => document.title += `${e.clientX},${e.clientY};`</script>"
    origin.script("/", page(f"{script}text", head=style))

    async with opener.at(origin.url("/")) as window:
        await window.click(Point(5000, 5000))
        await window.click(Point(1, 1))
        await window.click(Point(1278, 1022))
        await shows(window.main_frame, "() => document.title.endsWith('1,1;1278,1022;')", True)


async def test_keys_and_mouse_arrive(opener: Opener, origin: RawOrigin) -> None:
    script = "seen = []; onkeydown = e => seen.push(e.key); onmousemove = e => seen.push('move')"
    origin.script("/", page(f"<input autofocus id=i><script>{script}</script>"))

    async with opener.at(origin.url("/")) as window:
        await window.move_mouse(Point(50, 50))
        await window.main_frame.evaluate("() => document.getElementById('i').focus()")
        for key in ("a", "Escape", "ArrowDown", "ü"):
            await window.press(key)
        await window.insert_text("text")
        with pytest.raises(ValueError, match="no key"):
            await window.press("Escapade")
        await shows(window.main_frame, "() => document.getElementById('i').value", "aütext")
        seen = set(await window.main_frame.evaluate("() => seen", world=World.PAGE))
        assert {"a", "Escape", "ArrowDown", "ü", "move"} <= seen


@pytest.mark.parametrize("answer", list(DialogAnswer))
async def test_dialogs_are_answered_and_remembered(opener: Opener, origin: RawOrigin, answer: DialogAnswer) -> None:
    origin.script("/", page("<script>alert('a'); document.title = [confirm('b'), prompt('c', 'd')]</script>"))

    async with opener.at(origin.url("/"), dialogs=answer) as window:
        assert list(window.dialogs) == [DialogSeen("alert", "a"), DialogSeen("confirm", "b"), DialogSeen("prompt", "c")]
        title = await window.main_frame.evaluate("() => document.title")
        assert title == ("true,d" if answer is DialogAnswer.ACCEPT else "false,")


async def test_windows_that_a_page_opens_load_and_are_closed(opener: Opener, origin: RawOrigin) -> None:
    origin.script("/", page("<script>for (let i = 0; i < 3; i++) window.open('/pop' + i)</script>"))
    for number in range(3):
        origin.script(f"/pop{number}", page(f"<img src=/picture{number}><script>alert('hi')</script>"))
        origin.script(f"/picture{number}", document(b"x", "image/png"))

    async with opener.at(origin.url("/"), popup_seconds=60.0) as window:
        await eventually(lambda: {f"/picture{number}" for number in range(3)} <= {seen.path for seen in origin.visits})
        assert await window.traffic.settled(0.1, 30)
        assert sorted(window.popups) == [origin.url(f"/pop{number}") for number in range(3)]
        asked = window.traffic.asked
        assert {asked[origin.url(f"/pop{number}")].kind for number in range(3)} == {"popup"}
        assert {asked[origin.url(f"/picture{number}")].kind for number in range(3)} == {"image"}
        assert asked[origin.url("/")].kind == "document"
        assert len(window.frames) == 1
        async with asyncio.timeout(30):
            while await open_pages(opener.engine) != 1:
                await asyncio.sleep(0.02)


async def test_windows_may_open_windows_down_to_a_depth(opener: Opener, origin: RawOrigin) -> None:
    """The worst of them opens the next one without an end, and each is opened without a way back to its opener.

    Other engines tell of a window that is too deep after it has begun to load, so that some may open another one.
    """
    most = 4 if opener.name == "chromium" else 20
    for number in range(60):
        origin.script(f"/{number}", page(f"<script>window.open('/{number + 1}', '', 'noopener')</script>"))

    async with opener.at(origin.url("/0"), popup_seconds=60.0) as window:
        await eventually(lambda: "/3" in {seen.path for seen in origin.visits})
        assert await window.traffic.settled(0.5, 30)
        assert set(window.popups) >= {origin.url(f"/{number}") for number in (1, 2, 3)}
        assert f"/{most + 1}" not in {seen.path for seen in origin.visits}
        if isinstance(opener.engine, ChromiumEngine):
            async with asyncio.timeout(60):
                while await open_pages(opener.engine) != 1:
                    await asyncio.sleep(0.02)


async def test_a_command_to_a_session_that_chromium_has_ended_finds_the_page_lost(opener: Opener) -> None:
    if not isinstance(opener.engine, ChromiumEngine):
        pytest.skip("this is about Chromium's protocol")
    session = opener.engine.adopt("unknown", "page")
    with pytest.raises(EngineLost, match="id not found"):
        await session.send("Page.enable")
    opener.engine.forget("unknown")


async def test_a_window_is_the_device_that_was_asked_for(opener: Opener, origin: RawOrigin) -> None:
    origin.script("/", page("<meta name=viewport content='width=device-width'>", head="<title>t</title>"))
    script = """() => [innerWidth, innerHeight, devicePixelRatio, navigator.maxTouchPoints > 0, navigator.userAgent,
      navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone,
      matchMedia('(prefers-color-scheme: dark)').matches, navigator.webdriver]"""

    opener.engine = await opener.engines.get(opener.name, TELEPHONE)

    async with opener.at(origin.url("/"), device=TELEPHONE) as window:
        told = await window.main_frame.evaluate(script, world=World.PAGE)
        picture = await window.screenshot()
        whole = await window.screenshot(Area(0, 0, 400, 900))

    assert told == [400, 700, 2, True, "Telephone/1.0", "de-AT", "Asia/Tokyo", True, False]
    assert b"User-Agent: Telephone/1.0" in origin.visits[0].received
    assert b"Accept-Language: de-AT,de;q=0.9" in origin.visits[0].received
    assert [picture[16:24], whole[16:24]] == [
        (400).to_bytes(4) + height.to_bytes(4) for height in (700, 900)
    ]  # width and height in the head of a PNG


TALL = (
    """<style>
  body { margin: 0; height: 6333px; background: linear-gradient(37deg, #123, #fa3 40%, #3af) }
  header, footer { position: fixed; left: 0; right: 0; height: 60px; background: rgb(255 0 0 / 50%) }
  header { top: 0 } footer { bottom: 9px }
  .full { height: 100vh; background: radial-gradient(#fff, #00f) }
  .stuck { position: sticky; top: 70px; height: 50px; background: gold }
  .shadow { height: 1801px; margin: 40px; box-shadow: 0 0 80px #000; transform: rotate(1deg) }
  p { font: 17px/1.3 serif; filter: drop-shadow(0 0 30px red) }
</style><header>head</header><div class=full></div><div class=stuck>stuck</div>
<div class=shadow></div><div class=shadow></div>"""
    + "<p>Ferns like the shade of trees.</p>" * 40
    + """
<img loading=lazy src=/lazy width=9 height=9><footer>foot</footer>
<script>addEventListener('scroll', () => document.title = 'scrolled')</script>"""
)
PAINTED = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(0))))"


@pytest.mark.parametrize("opener", ["chromium"], indirect=True)
async def test_a_tall_picture_is_the_same_in_strips(
    opener: Opener, origin: RawOrigin, monkeypatch: pytest.MonkeyPatch
) -> None:
    origin.script("/", page(TALL))
    area = Area(0, 0, 1280, 6333)

    async with opener.at(origin.url("/")) as window:
        await window.main_frame.evaluate(PAINTED)
        in_strips = await window.screenshot(area)
        with monkeypatch.context() as patch:
            patch.setattr("browsers.engines.chromium.devtools.pictures._STRIP_PIXELS", 100_000_000)
            whole = await window.screenshot(area)
        assert await window.main_frame.evaluate("() => [scrollY, document.title]") == [0, ""]
        asked = [visit.path for visit in origin.visits]
        await window.main_frame.evaluate("() => scrollTo(0, 3000)")
        scrolled = await window.screenshot(area)

    found = [Image.open(io.BytesIO(picture)).convert("RGB") for picture in (in_strips, whole, scrolled)]
    assert found[0].size == (1280, 6333)
    assert ImageChops.difference(found[0], found[1]).getbbox() is None
    assert found[2].size == found[0].size
    assert "/lazy" not in asked, "a picture makes nothing load"


async def test_a_window_gets_another_size_and_its_own_back(opener: Opener, origin: RawOrigin) -> None:
    origin.script("/", page("text"))
    sizes = "() => [innerWidth, innerHeight, devicePixelRatio, screen.width]"

    async with opener.at(origin.url("/")) as window:
        await window.resize(400, 1500, 2.0)
        await shows(window.main_frame, sizes, [400, 1500, 2, 400])
        await window.resize(1280, 1024, 1.0)
        await shows(window.main_frame, sizes, [1280, 1024, 1, 1280])


async def test_a_page_becomes_a_pdf(opener: Opener, origin: RawOrigin) -> None:
    origin.script("/", page("text"))

    async with opener.at(origin.url("/")) as window:
        assert (await window.pdf()).startswith(b"%PDF-")


async def test_a_window_that_is_left_has_a_context_for_the_next_one_or_is_closed(
    opener: Opener, origin: RawOrigin
) -> None:
    """Firefox has one cache for all contexts, and Playwright can't close workers: they keep none."""
    origin.script("/", page("<script>document.cookie = 'been=1'; localStorage.been = 1</script>"))
    pages = await open_pages(opener.engine)
    async with opener.at(origin.url("/")) as window:
        kept = await window.leave()
        assert await open_pages(opener.engine) == pages
        assert (kept is not None) is (opener.name == "chromium")
        if kept is None:
            return
        assert kept.is_usable_in(opener.engine)
        assert await kept.settle()
        async with opener.window(context=kept) as next_window:
            assert not kept.is_usable_in(opener.engine)
            assert list(await next_window.cookies()) == []
        assert not await kept.settle()


async def test_a_url_without_an_answer_is_named(opener: Opener) -> None:
    async with opener.window() as window:
        with pytest.raises(NavigationFailed, match="ERR_UNSAFE_PORT"):
            await window.navigate("http://127.0.1.9:9/")
        with pytest.raises(NavigationFailed, match="ERR_INVALID_URL"):
            await window.navigate("no URL")


async def test_a_window_whose_process_ends_is_lost_and_others_are_not(opener: Opener, origin: RawOrigin) -> None:
    origin.script("/", page(""))

    async with opener.at(origin.url("/")) as other:
        before = set(psutil.Process(opener.engine.pid).children(recursive=True))
        async with opener.at(origin.url("/")) as window:
            waiting = asyncio.ensure_future(window.main_frame.evaluate("() => new Promise(() => {})"))
            await kill_page(opener.engine, window, before)
            with pytest.raises(EngineLost):
                await waiting
            await window.lost.wait()
            with pytest.raises(EngineLost):
                await window.screenshot()
            assert await other.main_frame.evaluate("() => 1") == 1
            assert not opener.engine.is_broken


async def test_a_browser_that_is_killed_loses_all_windows(opener: Opener, origin: RawOrigin) -> None:
    origin.script("/", page(""))

    async with opener.at(origin.url("/")) as window:
        psutil.Process(opener.engine.pid).kill()
        with pytest.raises(EngineLost):
            await window.main_frame.evaluate("() => new Promise(() => {})")
        await opener.engine.lost.wait()

    assert opener.engine.is_broken
