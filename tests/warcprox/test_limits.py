"""Limits, hard and soft: how they are counted, and how a client hears of them."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from support.clients.brozzler_client import told
from support.origins.raw_origin import Wait
from support.proxy.warcprox_stage import Stage, payload


def stats(bucket: str, total: tuple[int, int], new: tuple[int, int], revisit: tuple[int, int]) -> dict[str, Any]:
    """A bucket as answers show it: URLs and bytes of each kind."""
    kinds = {"total": total, "new": new, "revisit": revisit}
    return {bucket: {"bucket": bucket, **{k: {"urls": u, "wire_bytes": b} for k, (u, b) in kinds.items()}}}


class TestLimits:
    def test_the_eleventh_of_ten_is_refused_with_the_counts(self, stage: Stage) -> None:
        meta = {"stats": {"buckets": ["ten"]}, "limits": {"ten/total/urls": 10}}
        for number in range(10):
            answer = stage.client.get(stage.url(f"/l{number}/ten", secure=number % 2 == 1), meta)
            assert answer.status_code == 200
        size = len(stage.plain.sent("/l0/ten"))

        answer = stage.client.get(stage.url("/l0/ten"), meta)

        assert (answer.status_code, answer.reason_phrase) == (420, "Reached limit")
        assert answer.headers["Content-Type"] == "text/plain;charset=utf-8"
        assert answer.headers["Connection"] == "close"
        assert answer.content == b"request rejected by warcprox: reached limit ten/total/urls=10\n"
        assert told(answer) == {
            "stats": stats("ten", (10, 10 * size), (1, size), (9, 9 * size)),
            "reached-limit": {"ten/total/urls": 10},
        }
        assert len(stage.plain.asked("/l0/ten")) == 1

    def test_hold_for_written_records_too(self, stage: Stage) -> None:
        meta = {"stats": {"buckets": ["written"]}, "limits": {"written/total/urls": 1}}

        first = stage.client.write_record("screenshot:http://a.localhost/", b"one", meta)
        second = stage.client.write_record("screenshot:http://a.localhost/", b"two", meta)

        assert first == (204, "No Content", {})
        assert second[:2] == (420, "Reached limit")
        assert second[2]["stats"] == stats("written", (1, 3), (1, 3), (0, 0))

    def test_of_one_bucket_are_not_those_of_another(self, stage: Stage) -> None:
        for bucket in ("one", "other"):
            meta = {"stats": {"buckets": [bucket]}, "limits": {f"{bucket}/total/urls": 1}}
            assert stage.client.get(stage.url(f"/b/{bucket}"), meta).status_code == 200

    def test_hold_only_for_requests_that_count_in_their_bucket(self, stage: Stage) -> None:
        """As in warcprox 2.13, whose answers these are (T23)."""
        limits = {"limits": {"full/total/urls": 1}, "soft-limits": {"full:localhost/total/urls": 1}}
        counted = {"stats": {"buckets": ["full", {"bucket": "full", "tally-domains": ["localhost"]}]}}
        assert stage.client.get(stage.url("/full/one"), counted).status_code == 200

        def status(buckets: list[Any] | None) -> int:
            meta = limits if buckets is None else {**limits, "stats": {"buckets": buckets}}
            return stage.client.get(stage.url("/full/two"), meta).status_code

        assert status(None) == 200
        assert status(["elsewhere"]) == 200
        assert status([{"bucket": "elsewhere", "tally-domains": ["localhost"]}]) == 200
        assert status(["full"]) == 420
        assert status([{"bucket": "full", "tally-domains": ["localhost"]}]) == 420

    def test_of_a_domain_hold_only_where_it_is_tallied(self, stage: Stage) -> None:
        limits = {"soft-limits": {"tally:LOCALHOST/total/urls": 1}}
        tallied = {"stats": {"buckets": [{"bucket": "tally", "tally-domains": ["localhost"]}]}}
        assert stage.client.get(stage.url("/tally/one"), tallied).status_code == 200

        untallied = stage.client.get(stage.url("/tally/two"), {**limits, "stats": {"buckets": ["tally"]}})
        answer = stage.client.get(stage.url("/tally/three"), {**limits, **tallied})

        assert untallied.status_code == 200
        assert answer.status_code == 430
        assert told(answer)["reached-soft-limit"] == {"tally:localhost/total/urls": 1}, "the key is canonical (T36)"
        assert answer.text == "request rejected by warcprox: reached soft limit tally:localhost/total/urls=1\n"

    def test_inside_a_tunnel_are_told_inside_it(self, stage: Stage) -> None:
        meta = {"stats": {"buckets": ["nothing"]}, "limits": {"nothing/total/urls": 0}}

        answer = stage.client.get(stage.url("/tunnel/nothing", secure=True), meta)

        assert (answer.status_code, told(answer)["reached-limit"]) == (420, {"nothing/total/urls": 0})
        assert stage.secure.asked("/tunnel/nothing") == []

    def test_are_never_overrun_by_requests_at_once(self, stage: Stage) -> None:
        opened = threading.Event()
        stage.plain.answer("/crowd/held", lambda asked: (Wait(opened), *payload(asked)))
        meta = {"stats": {"buckets": ["crowd"]}, "limits": {"crowd/total/urls": 5}}

        with ThreadPoolExecutor(20) as clients:
            asked = [clients.submit(stage.client.get, stage.url("/crowd/held"), meta) for _ in range(20)]
            opened.set()
            codes = sorted(answer.result().status_code for answer in asked)

        assert codes == [200] * 5 + [420] * 15
        assert len(stage.plain.asked("/crowd/held")) == 5

    def test_do_not_count_what_could_not_be_fetched(self, stage: Stage) -> None:
        meta = {"stats": {"buckets": ["fails"]}, "limits": {"fails/total/urls": 1}}

        assert stage.client.get("http://no-such-name.invalid/", meta).status_code == 502
        assert stage.client.get(stage.url("/f/works"), meta).status_code == 200
        assert stage.client.get(stage.url("/f/works"), meta).status_code == 420

    @pytest.mark.parametrize("limit", ["x", "x/total", "x/all/urls", "x/total/bytes", "x:???/total/urls"])
    def test_that_make_no_sense_are_refused_by_name(self, stage: Stage, limit: str) -> None:
        answer = stage.client.get(stage.url("/bad/limit"), {"limits": {limit: 1}})

        assert answer.status_code == 400
        assert limit in answer.text

    def test_everything_is_counted_in_all(self, stage: Stage) -> None:
        assert stage.client.get(stage.url("/all/all")).status_code == 200

        answer = stage.client.get(stage.url("/all/all"), {"soft-limits": {"__all__/total/urls": 1}})
        unspecified = stage.client.get(stage.url("/all/all"), {"soft-limits": {"__unspecified__/total/urls": 1}})

        assert answer.status_code == unspecified.status_code == 430
        counts = [told(each)["stats"] for each in (answer, unspecified)]
        assert counts[0]["__all__"]["total"]["urls"] >= counts[1]["__unspecified__"]["total"]["urls"] >= 1


class TestSoftLimitsOfADomain:
    def test_count_its_documents_over_http_and_https_and_below(self, stage: Stage) -> None:
        bucket = {"bucket": "docs", "tally-domains": ["foo.localhost"]}
        meta = {"stats": {"buckets": [bucket]}, "soft-limits": {"docs:foo.localhost/total/urls": 10}}
        hosts = ("foo.localhost", "zuh.foo.localhost", "baz.zuh.foo.localhost")
        for number in range(10):
            url = stage.url("/o/docs", hosts[number % 3], secure=number % 2 == 1 and number % 3 == 0)
            assert stage.client.get(url, meta).status_code == 200

        answer = stage.client.get(stage.url("/o/docs", "ZUH.foo.LOCALHOST"), meta)

        size = len(stage.plain.sent("/o/docs"))
        assert (answer.status_code, answer.reason_phrase) == (430, "Reached soft limit")
        key = "docs:foo.localhost/total/urls"
        assert answer.content == f"request rejected by warcprox: reached soft limit {key}=10\n".encode()
        assert told(answer) == {
            "stats": stats("docs:foo.localhost", (10, 10 * size), (1, size), (9, 9 * size)),
            "reached-soft-limit": {key: 10},
        }
        assert stage.client.get(stage.url("/o/docs", "localhost"), meta).status_code == 200
        assert stage.client.get(stage.url("/o/docs", "xfoo.localhost"), meta).status_code == 200
        other = {**meta, "soft-limits": {"elsewhere:foo.localhost/total/urls": 10}}
        assert stage.client.get(stage.url("/o/docs", "foo.localhost"), other).status_code == 200

    def test_count_new_bytes_of_an_international_name_and_not_those_seen_before(self, stage: Stage) -> None:
        bucket = {"bucket": "data", "tally-domains": ["ÞzZ.LOCALhost"]}
        meta: dict[str, Any] = {"stats": {"buckets": [bucket]}, "soft-limits": {"data:ÞZZ.localhost/new/wire_bytes": 0}}
        name = "þzz.localhost"

        def get(path: str, most: int) -> int:
            meta["soft-limits"] = {"data:ÞZZ.localhost/new/wire_bytes": most}
            return stage.client.get(stage.url(path, name), meta).status_code

        assert get("/y/idn-one", 10_000) == 200
        size = len(stage.plain.sent("/y/idn-one"))
        assert get("/z/idn-one", size + 1) == 200  # a revisit: no new bytes
        assert get("/y/idn-two", size + 1) == 200
        answer = stage.client.get(stage.url("/y/idn-three", name), meta)

        assert answer.status_code == 430
        assert list(told(answer)["stats"]) == ["data:xn--zz-2ka.localhost"]
        assert told(answer)["reached-soft-limit"] == {"data:xn--zz-2ka.localhost/new/wire_bytes": size + 1}
        assert stage.plain.asked("/y/idn-three") == []
