"""A disk that is full just when a response has come whole: the client is told, and the exchange ends."""

from __future__ import annotations

import os
import resource
from pathlib import Path

from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.waiting import until
from support.proxy.proxy_process import ADDRESS, ProxyProcess

SIZE = 20_000
"""More than the spool keeps in memory here, less than it gathers before it writes, and few enough to come at once."""


def test_an_exchange_ends_when_its_spool_can_not_be_written(tmp_path: Path, redis_url: str) -> None:
    with (
        RawOrigin(ADDRESS) as origin,
        ProxyProcess(tmp_path / "home", redis_url, {"proxy.spool_bytes": 1000}) as proxy,
    ):
        origin.script("/large", Send(response(os.urandom(SIZE))))
        origin.script("/small", Send(response(b"small")))
        (pid,) = proxy.ready["pids"]
        unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))

        refused = proxy.get(origin.url("/large"))

        assert refused.status == 503
        assert (refused.header("Ghostfleet-Error") or "").endswith(" spool")
        until(lambda: proxy.status()["active_requests"] == 0, what="the exchange to end")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
        until(lambda: proxy.get(origin.url("/small")).status == 200, what="the proxy to go on")
        assert proxy.records().of(origin.url("/large")) == []
