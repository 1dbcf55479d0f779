"""What the writer lends to the event loop is done once, by one of the two, and touches no disk there."""

from __future__ import annotations

import asyncio
import random
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
from keeping import impatient, url
from kept import exchange
from warcs import Archive

from archive.capture import Body, Exchange, Message
from archive.settings import Settings
from dedupdb.claims import Claims
from proxy.keep import Keeper, Kept, Lost
from proxy.lent import Compute, Job, on_loop
from proxy.recorder import Recorder


class Loop:
    """An event loop on a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()

    @property
    def thread(self) -> int | None:
        return self._thread.ident

    def end(self) -> None:
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()
        self.loop.close()


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop()
    yield made
    made.end()


def test_a_job_is_done_on_the_loops_thread(loop: Loop) -> None:
    seen: list[int] = []
    on_loop(loop.loop)(lambda: seen.append(threading.get_ident()))
    assert seen == [loop.thread]


@pytest.mark.parametrize("error", [ValueError("wrong"), TimeoutError("the disk took too long")])
def test_what_it_raises_is_raised_where_it_was_wanted(loop: Loop, error: Exception) -> None:
    done: list[str] = []

    def job() -> None:
        done.append("once")
        raise error

    with pytest.raises(type(error), match=str(error)):
        on_loop(loop.loop)(job)
    assert done == ["once"]


def test_a_loop_that_is_held_up_does_not_hold_it_up(loop: Loop) -> None:
    seen: list[int] = []
    let_go = threading.Event()
    loop.loop.call_soon_threadsafe(let_go.wait)
    on_loop(loop.loop)(lambda: seen.append(threading.get_ident()))
    let_go.set()
    on_loop(loop.loop)(lambda: None)  # the loop has come to the first by now, and left it
    assert seen == [threading.get_ident()]


def test_a_job_that_takes_long_is_waited_for(loop: Loop) -> None:
    seen: list[str] = []
    begun, go_on = threading.Event(), threading.Event()

    def job() -> None:
        begun.set()
        go_on.wait()
        seen.append("done")

    with ThreadPoolExecutor(1) as pool:
        lending = pool.submit(on_loop(loop.loop), job)
        begun.wait()
        with pytest.raises(TimeoutError):
            lending.result(1.5)
        go_on.set()
        lending.result(30)
    assert seen == ["done"]


def test_after_the_loops_end_it_is_done_at_once(loop: Loop) -> None:
    seen: list[int] = []
    loop.end()
    on_loop(loop.loop)(lambda: seen.append(threading.get_ident()))
    assert seen == [threading.get_ident()]


def sizes(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def lent() -> list[int]:
    """Has an element for each job that was lent."""
    return []


@pytest.fixture
def watchful(settings: Settings, lent: list[int]) -> Compute:
    """Does a job here, and fails if anything on disk was changed by it."""

    def compute(job: Job) -> None:
        before = sizes(settings.home)
        job()
        assert sizes(settings.home) == before
        lent.append(1)

    return compute


@pytest.mark.parametrize("size", [100, 20_000, 400_000])
def test_no_job_touches_the_disk(
    settings: Settings, claims: Claims, watchful: Compute, lent: list[int], size: int
) -> None:
    dice = random.Random(size)
    archive = settings.archive.model_copy(update={"warc_max_bytes": 3_000_000})
    small = settings.model_copy(update={"archive": archive})
    keeper = Keeper(small, claims, compute=watchful)
    for batch in range(4):
        items = [exchange(url(f"{size}/{batch}/{n}"), dice.randbytes(size)) for n in range(40)]
        outcomes = keeper.keep(items, patient=impatient)
        assert all(isinstance(outcome, Kept) for outcome in outcomes)
    keeper.close()
    assert lent
    assert len(Archive.read(settings.archive_dir("news")).kinds("response")) == 160


def test_what_is_heavy_or_on_a_disk_is_not_lent(
    settings: Settings, claims: Claims, lent: list[int], watchful: Compute
) -> None:
    keeper = Keeper(settings, claims, compute=watchful)
    with tempfile.TemporaryFile() as spool:
        spool.write(b"x" * 1000)
        keeper.keep([exchange(url("heavy"), b"y" * 600_000)], patient=impatient)
        keeper.keep([_spooled(exchange(url("spooled"), b"x" * 1000), Body((), spool, 1000))], patient=impatient)
        assert not lent
        keeper.keep([exchange(url("light"))], patient=impatient)
    assert len(lent) == 1
    keeper.close()
    assert len(Archive.read(settings.archive_dir("news")).kinds("response")) == 3


def _spooled(made: Exchange, body: Body) -> Exchange:
    assert made.response is not None
    return replace(made, response=Message(made.response.head, body))


async def test_a_recorder_that_is_stopped_on_the_loops_own_thread_keeps_what_it_was_given(
    settings: Settings, claims: Claims
) -> None:
    loop = asyncio.get_running_loop()
    recorder = Recorder(settings, Keeper(settings, claims, compute=on_loop(loop)), loop)
    recorder.start()
    answers: list[Kept | Lost] = []
    for number in range(5):
        recorder.submit(exchange(url(f"{number}"), b"%d" % number), answers.append)

    recorder.stop()  # holds the loop up until the writer has ended

    await asyncio.sleep(0)  # the answers were put into the loop's next turn
    assert len(answers) == 5
    assert all(isinstance(answer, Kept) for answer in answers)
    assert len(Archive.read(settings.archive_dir("news")).kinds("response")) == 5
