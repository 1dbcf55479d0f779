"""Limits: requests wait for others in progress, and are refused when Redis does not answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

from archive import crawl_log
from dedupdb.fleet.quotas import Limit, Quotas, Reached
from proxy.sessions.admission import Admission, limit_refusal, limits_of

ONE = Limit("b/total/urls", "b", "total/urls", 1)


@pytest.fixture
def quotas(redis_url: str) -> Iterator[Quotas]:
    found = Quotas(redis_url, hold_seconds=60, timeout_seconds=5)
    yield found
    found.close()


async def test_a_request_that_waits_goes_on_when_the_other_failed(quotas: Quotas) -> None:
    admission = Admission(quotas, asyncio.get_running_loop(), patience_seconds=30)
    assert await admission.admit("news", [ONE], "first") is None
    second = asyncio.create_task(admission.admit("news", [ONE], "second"))
    await asyncio.sleep(0)

    admission.release("news", [ONE], "first")

    assert await second is None
    admission.stop()


async def test_a_wait_that_is_too_long_ends_with_the_refusal(quotas: Quotas) -> None:
    admission = Admission(quotas, asyncio.get_running_loop(), patience_seconds=0)
    assert await admission.admit("news", [ONE], "first") is None

    refused = await admission.admit("news", [ONE], "second")

    assert refused is not None
    assert (refused.status, refused.code) == (420, crawl_log.QUOTA)
    admission.stop()


async def test_without_redis_a_request_with_limits_is_refused() -> None:
    nowhere = Quotas("unix:///nowhere/redis.sock", hold_seconds=1, timeout_seconds=0.2)
    admission = Admission(nowhere, asyncio.get_running_loop(), patience_seconds=1)

    refused = await admission.admit("news", [ONE], "x")
    admission.release("news", [ONE], "x")

    assert refused is not None
    assert (refused.status, refused.word) == (503, "limits")
    admission.stop()


def test_a_soft_limit_has_a_refusal_of_its_own() -> None:
    soft = Limit("b:a.test/new/urls", "b:a.test", "new/urls", 5, is_soft=True)

    refused = limit_refusal(Reached(soft, {"bucket": "b:a.test"}, True))

    assert refused.status == 430
    assert refused.meta == {
        "stats": {"b:a.test": {"bucket": "b:a.test"}},
        "reached-soft-limit": {"b:a.test/new/urls": 5},
    }


def test_limits_hold_for_what_counts_in_their_buckets() -> None:
    narrow = Limit("b:a.test/new/urls", "b:a.test", "new/urls", 5)
    everything, rest = (Limit(f"{name}/new/urls", name, "new/urls", 5) for name in ("__all__", "__unspecified__"))
    limits = [ONE, narrow, everything, rest]

    assert limits_of(limits, ["b", "b:a.test"]) == (ONE, narrow, everything)
    assert limits_of(limits, ["b"]) == (ONE, everything)
    assert limits_of(limits, ["other"]) == (everything,)
    assert limits_of(limits, []) == (everything, rest)
