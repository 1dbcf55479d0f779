"""Connections to origins, against real sockets: shared, limited, dropped, and calls that fail."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest
from support.origins.raw_origin import Close, RawOrigin, Reset, Send, Step, Wait, response
from support.processes.waiting import until
from support.proxy.proxy_process import ADDRESS
from support.proxy.upstream_pool import MakePool, User, ask, at

from archive.settings import ProxySettings
from proxy.origins.opener import Opener, resolver_of
from proxy.origins.resolver import AddressRefused, NameNotFound
from proxy.origins.upstream import Destination, Pool, Upstream


async def closed(upstream: Upstream) -> None:
    """Returns once the connection is closed."""
    await asyncio.to_thread(until, lambda: not upstream.is_open, what="the connection to close")


class TestSharing:
    async def test_a_connection_given_back_is_used_next(self, pool_of: MakePool, busy: RawOrigin) -> None:
        pool = pool_of()
        assert pool.idle(at(busy)) is None
        first = await pool.connect(at(busy))
        assert await ask(first) == response(b"hello")

        pool.give_back(at(busy), first)

        assert pool.idle(at(busy)) is first
        assert pool.idle(at(busy)) is None
        pool.give_back(at(busy), first)
        assert first.origin.ip == ADDRESS
        assert first.origin.protocols == ("http/1.1",)

    async def test_the_one_used_last_comes_first(self, pool_of: MakePool, busy: RawOrigin) -> None:
        pool = pool_of()
        one, two = await pool.connect(at(busy)), await pool.connect(at(busy))
        pool.give_back(at(busy), one)
        pool.give_back(at(busy), two)

        assert pool.idle(at(busy)) is two

        pool.give_back(at(busy), two)

    async def test_connections_are_kept_apart_by_destination(self, pool_of: MakePool, busy: RawOrigin) -> None:
        pool = pool_of()
        upstream = await pool.connect(at(busy))
        pool.give_back(at(busy), upstream)

        assert pool.idle(Destination("localhost", busy.port, tls=False)) is None
        assert pool.idle(at(busy, tls=True)) is None

    async def test_one_that_died_meanwhile_is_not_handed_out(self, pool_of: MakePool, busy: RawOrigin) -> None:
        pool = pool_of()
        upstream = await pool.connect(at(busy))
        pool.give_back(at(busy), upstream)
        busy.close()
        await closed(upstream)

        assert pool.idle(at(busy)) is None

    async def test_a_connection_with_bytes_before_a_request_is_closed(self, pool_of: MakePool) -> None:
        speak = threading.Event()
        with RawOrigin(ADDRESS) as origin:
            origin.otherwise(lambda _: (Send(response(b"hello")), Wait(speak), Send(b"HTTP/1.1 408 Late\r\n\r\n")))
            pool = pool_of()
            upstream = await pool.connect(at(origin))
            await ask(upstream)
            pool.give_back(at(origin), upstream)
            speak.set()
            await closed(upstream)

            assert pool.idle(at(origin)) is None


class TestLimits:
    async def test_more_than_its_share_waits_for_a_place(self, pool_of: MakePool, busy: RawOrigin) -> None:
        pool = pool_of(connections_per_host=2)
        one, two = await pool.connect(at(busy)), await pool.connect(at(busy))
        waiting = [asyncio.ensure_future(pool.connect(at(busy))) for _ in range(3)]
        done, _ = await asyncio.wait(waiting, timeout=0.05)
        assert not done

        pool.give_back(at(busy), one)
        done, _ = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        assert [task.result() for task in done] == [one], "a connection given back serves the next in line"

        pool.drop(at(busy), two)
        done, left = await asyncio.wait([task for task in waiting if task not in done], return_when="FIRST_COMPLETED")
        (new,) = (task.result() for task in done)
        assert new not in (one, two), "a dropped one makes room for a new one"

        pool.give_back(at(busy), one)
        assert [await task for task in left] == [one]
        pool.drop(at(busy), one)
        pool.drop(at(busy), new)
        await asyncio.to_thread(until, lambda: busy.connections == 3, what="the third connection, and no other")

    async def test_a_request_that_may_not_be_repeated_gets_a_new_connection_in_place_of_a_used_one(
        self, pool_of: MakePool, busy: RawOrigin
    ) -> None:
        pool = pool_of(connections_per_host=1)
        used = await pool.connect(at(busy))
        pool.give_back(at(busy), used)

        new = await asyncio.wait_for(pool.connect(at(busy), takes_used=False), 10)

        assert (used.is_open, used.was_used, new.was_used) == (False, True, False)
        pool.give_back(at(busy), new)
        assert await pool.connect(at(busy)) is new
        assert new.was_used
        pool.drop(at(busy), new)

    async def test_a_connection_used_for_no_more_exchanges_frees_its_place(
        self, pool_of: MakePool, busy: RawOrigin
    ) -> None:
        pool = pool_of(connections_per_host=1)
        apart = await pool.connect(at(busy))
        waiting = asyncio.ensure_future(pool.connect(at(busy)))
        await asyncio.sleep(0)
        pool.free_place(at(busy))
        one = await asyncio.wait_for(waiting, 10)
        apart.abort()

        waiting = asyncio.ensure_future(pool.connect(at(busy)))
        done, _ = await asyncio.wait([waiting], timeout=0.05)
        assert not done, "its end frees no place once more"
        pool.drop(at(busy), one)
        pool.drop(at(busy), await asyncio.wait_for(waiting, 10))

    async def test_a_call_that_fails_gives_its_place_back(self, pool_of: MakePool, busy: RawOrigin) -> None:
        pool = pool_of(connections_per_host=1)
        busy.close()
        for _ in range(3):
            with pytest.raises(OSError, match=r"refused|Connect call failed"):
                await asyncio.wait_for(pool.connect(at(busy)), 10)

    async def test_places_are_not_lost_when_many_compete(self, pool_of: MakePool, busy: RawOrigin) -> None:
        pool = pool_of(connections_per_host=3)

        async def one_exchange(number: int) -> None:
            upstream = pool.idle(at(busy)) or await pool.connect(at(busy))
            assert await ask(upstream) == response(b"hello")
            if number % 5:
                pool.give_back(at(busy), upstream)
            else:
                pool.drop(at(busy), upstream)

        await asyncio.wait_for(asyncio.gather(*map(one_exchange, range(60))), 30)

        assert len(busy.visits) == 60

    async def test_what_is_idle_too_long_is_closed(self, pool_of: MakePool, busy: RawOrigin) -> None:
        pool = pool_of()
        upstream = await pool.connect(at(busy))
        pool.give_back(at(busy), upstream)

        is_open = []
        for older_than in (upstream.idle_since, upstream.idle_since + 0.001):
            pool.close_idle(older_than)
            is_open.append(upstream.is_open)
        assert is_open == [True, False]
        assert pool.idle(at(busy)) is None


class TestCalls:
    async def test_a_host_that_can_not_be_reached_is_an_error(self, pool_of: MakePool) -> None:
        with RawOrigin(ADDRESS) as gone:
            pass
        pool = pool_of()

        with pytest.raises(ConnectionRefusedError):
            await pool.connect(at(gone))
        with pytest.raises(NameNotFound):
            await pool.connect(Destination("no-such-name.invalid", 80, tls=False))

    async def test_to_private_addresses_are_not_made(self, busy: RawOrigin) -> None:
        settings = ProxySettings()
        pool = Pool(settings, Opener(settings, resolver_of(settings)))

        with pytest.raises(AddressRefused):
            await pool.connect(at(busy))

        assert busy.connections == 0

    async def test_that_take_too_long_end(self, pool_of: MakePool, tmp_path: Path) -> None:
        """The origin accepts, but never answers TLS's hello."""
        with RawOrigin(ADDRESS) as origin:
            never = threading.Event()
            origin.greet(Wait(never))

            with pytest.raises(TimeoutError):
                await pool_of(connect_seconds=0.2).connect(at(origin, tls=True))
            never.set()

    @pytest.mark.parametrize("steps", [(Reset(),), (Close(),)])
    async def test_that_break_at_once_are_errors_or_closed_connections(
        self, pool_of: MakePool, steps: tuple[Step, ...]
    ) -> None:
        """Whichever comes first: nobody may be left waiting."""
        with RawOrigin(ADDRESS) as origin:
            origin.greet(*steps)
            pool = pool_of()
            for _ in range(20):
                try:
                    upstream = await pool.connect(at(origin))
                except OSError:
                    continue
                upstream.user = user = User()
                await asyncio.wait_for(user.closed, 10)
                pool.drop(at(origin), upstream)


async def test_a_paused_connection_is_not_read(pool_of: MakePool) -> None:
    with RawOrigin(ADDRESS) as origin:
        origin.otherwise(lambda _: (Send(bytes(20_000_000)),))
        pool = pool_of()
        upstream = await pool.connect(at(origin))
        await ask(upstream)
        upstream.pause()
        before = await asyncio.to_thread(_steady, origin)
        assert before < 20_000_000

        upstream.resume()
        await asyncio.to_thread(until, lambda: len(origin.visits[0].sent) == 20_000_000, what="the rest")
        pool.drop(at(origin), upstream)


async def test_a_connection_that_is_given_back_while_paused_is_read_again(pool_of: MakePool, busy: RawOrigin) -> None:
    """The last bytes of a response may come together with those that made its client full."""
    pool = pool_of()
    upstream = await pool.connect(at(busy))
    assert await ask(upstream) == response(b"hello")
    upstream.pause()

    pool.give_back(at(busy), upstream)

    assert pool.idle(at(busy)) is upstream
    assert await asyncio.wait_for(ask(upstream), 30) == response(b"hello")
    pool.drop(at(busy), upstream)


def _steady(origin: RawOrigin) -> int:
    """How much the origin has sent once it sends no more."""
    seen: list[int] = []

    def is_steady() -> bool:
        seen.append(sum(map(len, origin.visits[0].pieces)))
        return len(seen) > 10 and len(set(seen[-10:])) == 1

    until(is_steady, what="the origin to stop")
    return seen[-1]
