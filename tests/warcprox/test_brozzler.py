"""A day of a brozzler-like crawler: the same calls, in the same order, with the same headers."""

from __future__ import annotations

import httpx
from support.clients.brozzler_client import told
from support.processes.waiting import until
from support.proxy.warcprox_stage import Stage


def test_a_job_with_a_limit_goes_through_unchanged(stage: Stage) -> None:
    """Looks whether the proxy is there, brozzles a page, hands in its screenshot, goes on until the limit."""
    status = httpx.get(f"http://{stage.proxy.ready['proxy']}/status", trust_env=False).json()
    assert status["role"] == "warcprox"
    assert status["load"] < 1
    page = stage.url("/brozzled/page", secure=True)
    meta = {
        "warc-prefix": "brozzled",
        "dedup-buckets": {"job-7": "rw", "seeds": "ro"},
        "stats": {"buckets": ["job-7", {"bucket": "seed-9", "tally-domains": ["localhost"]}]},
        "limits": {"job-7/total/urls": 7},
        "soft-limits": {"seed-9:localhost/total/urls": 6},
        "blocks": [{"domain": "ads.localhost"}],
        "metadata": {"seed": page, "hop_path": "", "brozzled_url": page, "ait-job-id": 7},
        "accept": ["capture-metadata"],
    }
    embeds = [stage.url(f"/brozzled/{number}", secure=True) for number in range(3)]

    answers = [stage.client.get(url, meta) for url in (page, *embeds)]
    advertisement = stage.client.get(stage.url("/ad", "ads.localhost"), meta)
    written = stage.client.write_record(f"screenshot:{page}", b"not really a picture", meta)
    thumbnail = stage.client.write_record(f"thumbnail:{page}", b"even less", meta)
    last = stage.client.get(stage.url("/brozzled/more"), {**meta, "soft-limits": {}})
    over = stage.client.get(stage.url("/brozzled/over"), {**meta, "soft-limits": {}})

    assert [answer.status_code for answer in answers] == [200] * 4
    assert all("timestamp" in told(answer)["capture-metadata"] for answer in answers)
    assert (advertisement.status_code, told(advertisement)) == (403, {"blocked-by-rule": {"domain": "ads.localhost"}})
    assert (written[0], thumbnail[0], last.status_code) == (204, 204, 200)
    assert (over.status_code, told(over)["reached-limit"]) == (420, {"job-7/total/urls": 7})
    archive = until(
        lambda: (found := stage.proxy.records(growing=True)).of(f"screenshot:{page}", "resource") and found,
        what="the screenshot's record",
    )
    prefixes = {record.path.name.partition("-")[0] for url in (page, *embeds) for record in archive.of(url)}
    assert prefixes == {"brozzled"}
    assert all(b"arcprox-" not in record.block for record in archive.kinds("request"))
