"""Asking for leave: waiting for what is under way, and what is said when nobody can say."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from archive import crawl_log
from dedupdb.quotas import Limit, Quotas, Reached
from proxy.admission import Admission, limits_of, reached

ONE = Limit("b/total/urls", "b", "total/urls", 1)


@pytest.fixture
def quotas(redis_url: str) -> Iterator[Quotas]:
    found = Quotas(redis_url, hold_seconds=60, timeout_seconds=5)
    yield found
    found.close()


async def test_one_that_waits_goes_on_when_the_other_came_to_nothing(quotas: Quotas) -> None:
    admission = Admission(quotas, asyncio.get_running_loop(), patience_seconds=30)
    assert await admission.ask("news", [ONE], "first") is None
    second = asyncio.create_task(admission.ask("news", [ONE], "second"))
    await asyncio.sleep(0)

    admission.release("news", [ONE], "first")

    assert await second is None
    admission.stop()


async def test_patience_ends_with_the_answer_for_a_limit_that_is_reached(quotas: Quotas) -> None:
    admission = Admission(quotas, asyncio.get_running_loop(), patience_seconds=0)
    assert await admission.ask("news", [ONE], "first") is None

    refused = await admission.ask("news", [ONE], "second")

    assert refused is not None
    assert (refused.status, refused.code) == (420, crawl_log.QUOTA)
    admission.stop()


async def test_without_redis_a_limit_is_not_passed_over() -> None:
    nowhere = Quotas("unix:///nowhere/redis.sock", hold_seconds=1, timeout_seconds=0.2)
    admission = Admission(nowhere, asyncio.get_running_loop(), patience_seconds=1)

    refused = await admission.ask("news", [ONE], "x")
    admission.release("news", [ONE], "x")

    assert refused is not None
    assert (refused.status, refused.word) == (503, "limits")
    admission.stop()


def test_a_soft_limit_is_told_as_one() -> None:
    soft = Limit("b:a.test/new/urls", "b:a.test", "new/urls", 5, is_soft=True, domain="a.test")

    refused = reached(Reached(soft, {"bucket": "b:a.test"}, True))

    assert refused.status == 430
    assert refused.meta == {
        "stats": {"b:a.test": {"bucket": "b:a.test"}},
        "reached-soft-limit": {"b:a.test/new/urls": 5},
    }


def test_limits_of_a_domain_are_for_its_hosts() -> None:
    narrow = Limit("b:a.test/new/urls", "b:a.test", "new/urls", 5, domain="a.test")

    assert limits_of([ONE, narrow], "www.a.test") == (ONE, narrow)
    assert limits_of([ONE, narrow], "b.test") == (ONE,)
