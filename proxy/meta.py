"""What the proxy says of itself on its own port: /status (warcprox's keys and ours), /metrics, /ca.pem."""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from proxy import heads
from proxy.delivery import Client
from proxy.gate import Gate, Refused
from proxy.http1 import RequestHead
from proxy.rates import Rates

VERSION: Final = "0.1.0"
_MANY_REQUESTS: Final = 1000
METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


class Answered:
    """A request that was answered as it was read; nothing of it is left to do."""

    id = ""
    request_is_whole = True
    wants_no_more = False
    ends_with_client = False

    def request_data(self, data: bytes) -> int:
        """Requests to the proxy itself have no body that counts."""
        return len(data)

    def client_data(self, data: bytes) -> None:
        """Never called: nothing was switched."""

    def client_writable(self) -> None:
        """The answer was small."""

    def client_left(self) -> None:
        """Nothing was under way."""


class Endpoints:
    """Answers GET and HEAD on the proxy's own paths."""

    def __init__(
        self, gate: Gate, status: Callable[[], dict[str, Any]], registry: CollectorRegistry, ca_pem: bytes
    ) -> None:
        self._gate = gate
        self._status = status
        self._registry = registry
        self._ca_pem = ca_pem

    def begin(self, head: RequestHead, client: Client) -> Answered:
        """Answer at once. Raises Refused for anything but what is here."""
        if head.method not in ("GET", "HEAD"):
            raise Refused(405, f"{head.method} is not for the proxy itself", "method")
        path = head.target.partition("?")[0]
        if path == "/status":
            kind, body = "application/json", json.dumps(self._status()).encode() + b"\n"
        elif path == "/metrics":
            kind, body = METRICS_TYPE, generate_latest(self._registry)
        elif path == "/ca.pem":
            kind, body = "application/x-pem-file", self._ca_pem
        elif path == "/":
            kind, body = "text/plain; charset=utf-8", _WELCOME
        else:
            raise Refused(404, f"{path} is not here; this is a proxy, see /status, /metrics, /ca.pem", "not-here")
        answer, stays = heads.own_answer(kind, body, with_body=head.method == "GET"), not self._gate.is_draining
        client.send(answer if stays else heads.closing(answer))
        client.finish(keep_alive=head.keep_alive and stays)
        return Answered()


class Status:
    """The numbers of one recording process."""

    def __init__(self, address: tuple[str, int], index: int, facts: Callable[[], dict[str, Any]], rates: Rates) -> None:
        self._address = address
        self._index = index
        self._facts = facts
        self._rates = rates
        self._start = time.time()

    def __call__(self) -> dict[str, Any]:
        """warcprox's keys first, then ours."""
        facts = self._facts()
        queued, limit = facts["queued_urls"], facts["queue_max_size"]
        return {
            "role": "warcprox",
            "version": f"ghostfleet-{VERSION}",
            "host": socket.gethostname(),
            "address": self._address[0],
            "port": self._address[1],
            "pid": os.getpid(),
            "threads": 1,
            "active_requests": facts["active_requests"],
            "unaccepted_requests": 0,
            "load": load(queued, limit, facts["active_requests"]),
            "queued_urls": queued,
            "queue_max_size": limit,
            "urls_processed": facts["urls_processed"],
            "warc_bytes_written": facts["warc_bytes_written"],
            "start_time": datetime.fromtimestamp(self._start, UTC).isoformat(),
            **self._rates.report(),
            "earliest_still_active_fetch_start": facts["earliest_still_active_fetch_start"],
            "seconds_behind": facts["seconds_behind"],
            "postfetch_chain": [{"processor": "writer", "queued_urls": queued}],
            "process": self._index,
            "accepting": not facts["closed_because"],
            "not_accepting_because": facts["closed_because"],
            **facts["ours"],
        }


def load(queued: int, limit: int, active: int) -> float:
    """How busy a process is: 0 idle, 1 as much as it can take, for one that may choose among several."""
    return max(queued / limit, active / _MANY_REQUESTS)


class Collector:
    """The same numbers for Prometheus."""

    def __init__(self, facts: Callable[[], dict[str, Any]]) -> None:
        self._facts = facts

    def collect(self) -> list[Metric]:
        """One family per number; counters end in _total."""
        facts = self._facts()
        gauges = [
            GaugeMetricFamily(f"ghostfleet_{name}", text, value=value) for name, (text, value) in _gauges(facts).items()
        ]
        counters = [
            CounterMetricFamily(f"ghostfleet_{name}", text, value=value)
            for name, (text, value) in _counters(facts).items()
        ]
        return [*gauges, *counters]


def _gauges(facts: dict[str, Any]) -> dict[str, tuple[str, float]]:
    """What is so just now: what it means and the number, by name."""
    ours = facts["ours"]
    return {
        "active_requests": ("exchanges under way", facts["active_requests"]),
        "queued": ("exchanges waiting to be written", facts["queued_urls"]),
        "connections": ("client connections", ours["connections"]),
        "sessions": ("open sessions", ours["sessions"]),
        "orphans": ("fetches that go on without their client", ours["orphans"]),
        "in_line": ("requests that wait for their turn at a host with a pause", ours["in_line"]),
        "dedup_answers": (
            "1 while Redis answers, as of the last batch",
            int(not ours["dedup_unavailable_because"]),
        ),
        "foreign_answers": (
            "1 while the CDX servers of other archives answer, as of the last batch; 1 without any",
            int(not ours["foreign_unavailable_because"]),
        ),
        "dedup_in_doubt": ("collections whose originals Redis has lost in part", ours["dedup_in_doubt"]),
        "accepting": ("1 while new work is accepted", int(not facts["closed_because"])),
    }


def _counters(facts: dict[str, Any]) -> dict[str, tuple[str, float]]:
    """What has been counted since the start: what it means and the number, by name."""
    ours = facts["ours"]
    return {
        "exchanges": ("exchanges answered", facts["urls_processed"]),
        "warc_bytes": ("bytes of WARC written for responses", facts["warc_bytes_written"]),
        "revisits": ("exchanges kept as revisit", ours["revisits"]),
        "not_modified": ("revisits by the origin's word (304)", ours["not_modified"]),
        "recalled": ("originals found in the index that Redis had lost", ours["recalled"]),
        "lost": ("exchanges that could not be kept", ours["lost"]),
        "dedup_unavailable": ("times Redis was not to be had", ours["dedup_unavailable"]),
        "foreign_found": ("originals found by CDX servers of other archives", ours["foreign_found"]),
        "foreign_unavailable": (
            "payloads kept whole because a CDX server could not be asked",
            ours["foreign_unavailable"],
        ),
        "refused": ("requests refused", ours["refused"]),
        "control_refused": ("commands of clients that may give none", ours["control_refused"]),
        "addon_errors": ("times that addons raised", sum(ours["addon_errors"].values())),
        "script_errors": ("times that sessions' scripts raised", ours["script_errors"]),
        "addon_missed": ("records that slow addons were not told of", ours["addon_missed"]),
    }


_WELCOME: Final = b"""ghostfleet recording proxy

Use this address as HTTP proxy. Trust the certificate at /ca.pem to record https.
/status and /metrics tell how it is doing.
"""
