"""The writer thread: every exchange handed over is answered exactly once, on the event loop, whatever happens."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

import pytest
from support.archive.kept_warcs import exchange
from support.archive.warc_reader import Archive
from support.processes.waiting import until
from support.stores.redis_server import RedisServer

from archive.capture import Exchange
from archive.settings.load import Settings, load
from dedupdb.claims.claims import Claims, PayloadKey
from proxy.recording.keep import Keeper, KeepOutcome, Kept, Lost
from proxy.recording.plan import DerivedRecord
from proxy.recording.recorder import Recorder

type Answer = Kept | Lost


def url(number: int) -> str:
    return f"http://example.org/{number}"


def recorder(settings: Settings, keeper: Keeper) -> Recorder:
    """A recorder that runs, for the running loop."""
    made = Recorder(settings, keeper, asyncio.get_running_loop())
    made.start()
    return made


async def keep(to: Recorder, *items: Exchange) -> list[Answer]:
    """Hand them all over; their answers, in order."""
    loop = asyncio.get_running_loop()
    answers: list[asyncio.Future[Answer]] = [loop.create_future() for _ in items]
    for item, answer in zip(items, answers, strict=True):
        to.submit(item, answer.set_result)
    return await asyncio.wait_for(asyncio.gather(*answers), 30)


async def stop(recorder: Recorder) -> None:
    await asyncio.get_running_loop().run_in_executor(None, recorder.stop)


async def test_what_is_handed_over_is_answered_when_it_is_on_disk(settings: Settings, claims: Claims) -> None:
    to = recorder(settings, Keeper(settings, claims))
    thread, seen = threading.get_ident(), list[int]()
    done = asyncio.Event()

    def answer(outcome: Answer) -> None:
        seen.append(threading.get_ident())
        assert len(Archive.read(settings.archive_dir("news")).kinds("response")) == 1
        done.set()

    to.submit(exchange(url(1)), answer)
    await asyncio.wait_for(done.wait(), 30)

    assert seen == [thread], "answered once, on the loop's thread"
    assert to.waiting == 0
    await stop(to)


async def test_a_thousand_are_answered_in_order_and_once(settings: Settings, claims: Claims) -> None:
    to = recorder(settings, Keeper(settings, claims))

    answers = await keep(to, *(exchange(url(number), b"%d" % number) for number in range(1000)))
    await stop(to)

    assert [answer.capture.url for answer in answers if isinstance(answer, Kept) and answer.capture] == [
        url(number) for number in range(1000)
    ]
    archive = Archive.read(settings.archive_dir("news"))
    assert len(archive.kinds("response")) == 1000
    assert [path.suffix for path in settings.archive_dir("news").iterdir()] == [".gz"]


async def test_twins_are_asked_for_again_until_they_are_revisits(settings: Settings, claims: Claims) -> None:
    to = recorder(settings, Keeper(settings, claims))

    first, *rest = await keep(to, *(exchange(url(number)) for number in range(20)))
    await stop(to)

    assert isinstance(first, Kept)
    assert not first.is_revisit
    assert all(isinstance(answer, Kept) and answer.is_revisit for answer in rest)


async def test_another_writers_claim_is_waited_for_only_so_long(
    settings: Settings, claims: Claims, redis_url: str
) -> None:
    hurried = load({"home": str(settings.home), "dedup.wait_seconds": 0.1}, environment={})
    item = exchange(url(1))
    assert item.digests
    with Claims(redis_url, claim_seconds=30, timeout_seconds=5) as others:
        others.claim([PayloadKey("news", item.digests.payload_sha256, item.digests.payload_length)])
        to = recorder(hurried, Keeper(hurried, claims))

        (answer,) = await keep(to, item)

    assert isinstance(answer, Kept)
    assert not answer.is_revisit
    await stop(to)


async def test_stopping_keeps_what_was_handed_over_and_refuses_the_rest(settings: Settings, claims: Claims) -> None:
    to = recorder(settings, Keeper(settings, claims))
    answers: list[Answer] = []
    for number in range(50):
        to.submit(exchange(url(number % 7)), answers.append)

    await stop(to)
    await asyncio.sleep(0)
    assert len(answers) == 50
    assert all(isinstance(answer, Kept) for answer in answers)

    to.submit(exchange(url(1)), answers.append)
    assert answers[-1] == Lost("the writer has stopped")


class Faulty(Keeper):
    """A keeper with a fault of ours in it."""

    is_faulty = True

    def keep(self, items: Sequence[Exchange | DerivedRecord], *, patient: Callable[[int], bool]) -> list[KeepOutcome]:
        if self.is_faulty:
            raise ZeroDivisionError("a fault of ours")
        return super().keep(items, patient=patient)

    def idle_close(self) -> None:
        if self.is_faulty:
            raise ZeroDivisionError("another fault of ours")


async def test_a_fault_of_ours_loses_the_batch_visibly_and_the_thread_goes_on(
    settings: Settings, claims: Claims, caplog: pytest.LogCaptureFixture
) -> None:
    keeper = Faulty(settings, claims)
    to = recorder(settings, keeper)

    answers = await keep(to, exchange(url(1)), exchange(url(2), b"2"))
    assert answers == [Lost("ZeroDivisionError: a fault of ours")] * 2
    assert to.last_failure == "ZeroDivisionError: a fault of ours"
    assert to.is_alive

    keeper.is_faulty = False
    assert isinstance((await keep(to, exchange(url(3))))[0], Kept)
    assert to.last_failure == ""
    await stop(to)
    assert "a fault of ours" in caplog.text


async def test_an_answer_that_fails_does_not_take_the_others_along(
    settings: Settings, claims: Claims, caplog: pytest.LogCaptureFixture
) -> None:
    to = recorder(settings, Keeper(settings, claims))

    def fails(outcome: Answer) -> None:
        raise RuntimeError("the client's fault")

    to.submit(exchange(url(1)), fails)
    (answer,) = await keep(to, exchange(url(2), b"2"))

    assert isinstance(answer, Kept)
    await stop(to)
    assert "the client's fault" in caplog.text


async def test_a_queue_as_long_as_the_settings_say_is_full(settings: Settings) -> None:
    """With a Redis that hangs, exchanges wait; `is_full` tells clients to wait as well."""
    short = load({"home": str(settings.home), "proxy.queue_length": 3}, environment={})
    with RedisServer(settings.home) as server, Claims(server.url, claim_seconds=30, timeout_seconds=60) as claims:
        to = recorder(short, Keeper(short, claims))
        await keep(to, exchange(url(0), b"0"))
        server.pause()
        answers: list[Answer] = []
        full = [to.is_full]
        for number in range(1, 4):
            to.submit(exchange(url(number), b"%d" % number), answers.append)
            full.append(to.is_full)
        waiting = to.waiting
        server.resume()
        await asyncio.to_thread(until, lambda: len(answers) == 3, what="the answers")

        assert (full, waiting) == ([False, False, False, True], 3)
        assert not to.is_full
        await stop(to)


async def test_a_collection_is_closed_on_request(settings: Settings, claims: Claims) -> None:
    to = recorder(settings, Keeper(settings, claims))
    await keep(to, exchange(url(1)))
    done = asyncio.Event()

    to.close_collection("news", done.set)
    await asyncio.wait_for(done.wait(), 30)

    assert [path.suffix for path in settings.archive_dir("news").iterdir()] == [".gz"]
    await stop(to)


async def test_a_file_that_can_not_be_given_its_name_is_an_alarm(settings: Settings, claims: Claims) -> None:
    to = recorder(settings, Keeper(settings, claims))
    await keep(to, exchange(url(1)))
    (growing,) = settings.archive_dir("news").iterdir()
    growing.with_suffix("").mkdir()
    done = asyncio.Event()

    to.close_collection("news", done.set)
    await asyncio.wait_for(done.wait(), 30)
    await asyncio.to_thread(until, lambda: to.last_failure, what="the alarm that stops acceptance")

    assert "could not be closed" in to.last_failure
    await stop(to)


async def test_a_batch_waits_for_exchanges_in_progress_but_not_too_long(
    settings: Settings, claims: Claims, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Given six exchanges under way, three are kept at once and together; one that stays alone is kept as well."""
    monkeypatch.setattr("proxy.recording.recorder._IDLE_SECONDS", 3600.0)  # the writer does not wake by itself
    sizes: list[int] = []

    class Counting(Keeper):
        def keep(
            self, items: Sequence[Exchange | DerivedRecord], *, patient: Callable[[int], bool]
        ) -> list[KeepOutcome]:
            sizes.append(len(items))
            return super().keep(items, patient=patient)

    to = Recorder(settings, Counting(settings, claims), asyncio.get_running_loop(), lambda: 6)
    to.start()
    assert all(isinstance(answer, Kept) for answer in await keep(to, *(exchange(url(n), b"%d" % n) for n in range(3))))
    assert isinstance((await keep(to, exchange(url(9), b"9")))[0], Kept)
    assert sizes == [3, 1]
    await stop(to)
