"""A disk that is full just when a response or a record has come whole: the client is told, and the exchange ends."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Final

import pytest
from support.origins.raw_origin import RawOrigin, Send, response
from support.processes.waiting import until
from support.proxy.proxy_process import ADDRESS, ProxyProcess
from support.proxy.running_proxy import credentials

SIZE = 20_000
"""More than the spool keeps in memory here, less than it gathers before it writes, and few enough to come at once."""
GATHERED: Final = 262_144
"""Bytes that a spool gathers before it writes."""


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


@pytest.mark.parametrize("limits", [{}, {"limits": {"records/total/urls": 10}}])
@pytest.mark.parametrize("size", [SIZE, GATHERED + 1])
def test_a_record_of_a_client_ends_when_its_last_bytes_can_not_be_written(
    tmp_path: Path, redis_url: str, size: int, limits: dict[str, object]
) -> None:
    with ProxyProcess(tmp_path / "home", redis_url, {"proxy.spool_bytes": 1000}) as proxy:
        session = proxy.session(collection="records")
        lines = [credentials(session), f"Warcprox-Meta: {json.dumps(limits)}", "WARC-Type: resource"]
        lines += ["Content-Type: a/b", f"Content-Length: {size}"]
        head = "\r\n".join(["WARCPROX_WRITE_RECORD urn:x:large HTTP/1.1", *lines, "", ""]).encode()
        (pid,) = proxy.ready["pids"]
        unlimited = resource.prlimit(pid, resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))

        with proxy.connect() as client:
            client.send(head + bytes(size))
            refused = client.read_reply()

        assert refused.status == 503
        assert (refused.header("Ghostfleet-Error") or "").endswith(" spool")
        report = proxy.control("DELETE", f"/sessions/{session['id']}")
        assert report["in_flight"] == 0
        resource.prlimit(pid, resource.RLIMIT_FSIZE, unlimited)
        assert not proxy.folder("records").exists()
