"""The status of a recording process is collected once, for `/status`, `/metrics` and the registry of proxies."""

from __future__ import annotations

import os
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from archive.capture import Exchange
from archive.dates import Micros, now_micros
from archive.settings import ProxySettings
from archive.version import SOFTWARE
from proxy.fetch.services import Ongoing
from proxy.process.assembly import Assembly

WRITER: Final = "writer"
"""The name of the one step after a fetch, where warcprox has a chain of steps."""
_MANY_REQUESTS: Final = 1000
_STEP_SECONDS: Final = 5.0
_SPANS: Final = {"rates_1min": 60.0, "rates_5min": 300.0, "rates_15min": 900.0}


class Rates:
    """Compares the totals of now with those of some minutes ago."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int, int]] = deque([(time.monotonic(), 0, 0)])

    def sample(self, urls: int, warc_bytes: int) -> None:
        """Note the totals. Call this as often as you like: one sample is kept every few seconds."""
        now = time.monotonic()
        if now - self._samples[-1][0] >= _STEP_SECONDS:
            self._samples.append((now, urls, warc_bytes))
        while now - self._samples[0][0] > max(_SPANS.values()) + _STEP_SECONDS:
            self._samples.popleft()

    def report(self) -> dict[str, Any]:
        """Return warcprox's three `rates_…` objects."""
        return {name: self._rate(span) for name, span in _SPANS.items()}

    def _rate(self, span: float) -> dict[str, float]:
        now, urls, size = self._samples[-1]
        then, old_urls, old_size = next(sample for sample in self._samples if now - sample[0] <= span)
        elapsed = max(now - then, 1e-9)
        return {
            "actual_elapsed": now - then,
            "urls_per_sec": (urls - old_urls) / elapsed,
            "warc_bytes_per_sec": (size - old_size) / elapsed,
        }


class CarryingConnection(Protocol):
    """The status needs this of a client's connection."""

    @property
    def ends(self) -> tuple[object, object] | None:
        """Return our address and the client's; None without a connection."""

    def carries(self, exchange: object) -> bool:
        """Return whether the exchange came by this connection and is still in progress."""


@dataclass(frozen=True, slots=True)
class ProcessStatus:
    """The status has the numbers of one recording process at one moment, for `/status` and `/metrics`."""

    active_requests: int
    queued_urls: int
    queue_max_size: int
    urls_processed: int
    warc_bytes_written: int
    earliest: dict[str, Any]
    """Warcprox's keys about the exchange that has been in progress longest (see `earliest`)."""
    closed_because: str
    connections: int
    sessions: int
    orphans: int
    in_line: int
    revisits: int
    not_modified: int
    lost: int
    dedup_unavailable: int
    dedup_unavailable_because: str
    dedup_in_doubt: int
    recalled: int
    log_lines_lost: int
    dead_hosts: int
    addon_errors: Mapping[str, int]
    """By addon."""
    addon_missed: int
    refused: int
    unauthorized: int
    control_refused: int
    script_errors: int

    @property
    def load(self) -> float:
        """Return how busy the process is: 0 is idle, 1 is as much as it can take."""
        return _load(self.queued_urls, self.queue_max_size, self.active_requests)

    def own_json(self) -> dict[str, Any]:
        """Return the keys of `/status` that warcprox does not have."""
        return {**{name: getattr(self, name) for name in _OWN_KEYS}, "addon_errors": dict(self.addon_errors)}


_OWN_KEYS: Final = (
    *("connections", "sessions", "orphans", "in_line", "revisits", "not_modified", "lost"),
    *("dedup_unavailable", "dedup_unavailable_because", "dedup_in_doubt", "recalled"),
    *("log_lines_lost", "dead_hosts", "addon_errors", "addon_missed"),
    *("refused", "unauthorized", "control_refused", "script_errors"),
)


class StatusCollector:
    """The collector reads the status of one process from its parts."""

    def __init__(self, settings: ProxySettings, parts: Assembly, connections: Mapping[str, CarryingConnection]) -> None:
        self._settings = settings
        self._parts = parts
        self._connections = connections

    def status(self) -> ProcessStatus:
        """Return the status as it is now."""
        parts = self._parts
        counts, gate, services, recorder = parts.keeper.counts, parts.gate, parts.services, parts.recorder
        addons = parts.user_addons
        return ProcessStatus(
            active_requests=len(services.active),
            queued_urls=recorder.waiting,
            queue_max_size=self._settings.queue_length,
            urls_processed=counts["exchanges"],
            warc_bytes_written=counts["warc_bytes"],
            earliest=self._earliest(),
            closed_because=gate.closed_because,
            connections=len(self._connections),
            sessions=len(gate.sessions),
            orphans=len(services.orphans),
            in_line=services.pacing.waiting,
            revisits=counts["revisits"],
            not_modified=counts["not_modified"],
            lost=counts["lost"],
            dedup_unavailable=counts["dedup_unavailable"],
            dedup_unavailable_because=parts.keeper.dedup_trouble,
            dedup_in_doubt=parts.recall.in_doubt,
            recalled=parts.recall.recalled,
            log_lines_lost=counts["log_lines_lost"],
            dead_hosts=len(parts.opener.dead),
            addon_errors=dict(addons.errors) if addons else {},
            addon_missed=addons.missed if addons else 0,
            refused=gate.counts["refused"],
            unauthorized=gate.counts["unauthorized"],
            control_refused=gate.counts["control_refused"],
            script_errors=gate.counts["script_errors"],
        )

    def load(self) -> float:
        """Return the status's `load` alone. Any thread may call this, since nothing is iterated over."""
        return _load(self._parts.recorder.waiting, self._settings.queue_length, len(self._parts.services.active))

    def _earliest(self) -> dict[str, Any]:
        """Return warcprox's keys about the exchange that has been in progress longest: its client's socket, or its
        URL while the exchange is being written.
        """
        active = min(self._parts.services.active, key=lambda each: each.started, default=None)
        queued = self._parts.recorder.oldest
        since = None if queued is None else queued.started if isinstance(queued, Exchange) else queued.date
        if active is not None and (since is None or active.started <= since):
            url = active.shown_url if active.is_with_writer else None
            return earliest(active.started, None if url else self._ends(active), url)
        return earliest(since, None, queued.url if queued is not None else None)

    def _ends(self, exchange: Ongoing) -> tuple[object, object] | None:
        """Return the addresses of the connection that an exchange came by; None when its client has left, or uses
        HTTP/2.
        """
        return next((each.ends for each in self._connections.values() if each.carries(exchange)), None)


def earliest(started: Micros | None, ends: tuple[object, object] | None, url: str | None) -> dict[str, Any]:
    """Return warcprox's keys about the exchange that has been in progress longest.

    `started` is its start, `ends` the addresses of its client's connection, `url` its URL while it is being written.
    """
    name, peer = ends or (None, None)
    return {
        "earliest_still_active_fetch_start": None if started is None else _iso(started),
        "earliest_still_active_socket": {
            "socket": "None" if ends is None else f"<client {peer} of {name}>",
            "name": name,
            "peername": peer,
            "future_status": None if ends is None else "running",
            "exception": None,
        },
        "earliest_still_active_postfetch": {"url": url, "postfetch_plugin": None if url is None else WRITER},
        "seconds_behind": 0 if started is None else max(0, now_micros() - started) / 1_000_000,
    }


def _iso(date: Micros) -> str:
    return datetime.fromtimestamp(date / 1_000_000, UTC).isoformat()


def _load(queued: int, limit: int, active: int) -> float:
    return max(queued / limit, active / _MANY_REQUESTS)


class WarcproxStatus:
    """A call returns the JSON object of `/status`."""

    def __init__(self, address: tuple[str, int], index: int, status: Callable[[], ProcessStatus], rates: Rates) -> None:
        self._address = address
        self._index = index
        self._status = status
        self._rates = rates
        self._start = time.time()

    def __call__(self) -> dict[str, Any]:
        """Return warcprox's keys first, then ours."""
        status = self._status()
        return {
            "role": "warcprox",
            "version": SOFTWARE.replace("/", "-"),
            "host": socket.gethostname(),
            "address": self._address[0],
            "port": self._address[1],
            "pid": os.getpid(),
            "threads": 1,
            "active_requests": status.active_requests,
            "unaccepted_requests": 0,
            "load": status.load,
            "queued_urls": status.queued_urls,
            "queue_max_size": status.queue_max_size,
            "urls_processed": status.urls_processed,
            "warc_bytes_written": status.warc_bytes_written,
            "start_time": datetime.fromtimestamp(self._start, UTC).isoformat(),
            **self._rates.report(),
            **status.earliest,
            "postfetch_chain": [{"processor": WRITER, "queued_urls": status.queued_urls}],
            "process": self._index,
            "accepting": not status.closed_because,
            "not_accepting_because": status.closed_because,
            **status.own_json(),
        }


class ProcessMetrics:
    """Process metrics are Prometheus metrics that are made from the status."""

    def __init__(self, status: Callable[[], ProcessStatus]) -> None:
        self._status = status

    def collect(self) -> list[Metric]:
        """Return one family per number; counters end in _total."""
        status = self._status()
        gauges = [
            GaugeMetricFamily(f"ghostfleet_{name}", text, value=value)
            for name, (text, value) in _gauges(status).items()
        ]
        counters = [
            CounterMetricFamily(f"ghostfleet_{name}", text, value=value)
            for name, (text, value) in _counters(status).items()
        ]
        return [*gauges, *counters]


def _gauges(status: ProcessStatus) -> dict[str, tuple[str, float]]:
    """Return the help text and the value of each gauge, by name."""
    return {
        "active_requests": ("exchanges in progress", status.active_requests),
        "queued": ("exchanges that wait to be written", status.queued_urls),
        "connections": ("client connections", status.connections),
        "sessions": ("open sessions", status.sessions),
        "orphans": ("fetches that go on after their client has left", status.orphans),
        "in_line": ("requests that wait for their turn at a host with a pause", status.in_line),
        "dedup_answers": (
            "1 while Redis answers, as of the last batch",
            int(not status.dedup_unavailable_because),
        ),
        "dedup_in_doubt": ("collections of which Redis has lost a part of the originals", status.dedup_in_doubt),
        "accepting": ("1 while new work is accepted", int(not status.closed_because)),
    }


def _counters(status: ProcessStatus) -> dict[str, tuple[str, float]]:
    """Return the help text and the value of each counter, by name."""
    return {
        "exchanges": ("exchanges answered", status.urls_processed),
        "warc_bytes": ("bytes of WARC written for responses", status.warc_bytes_written),
        "revisits": ("exchanges kept as revisits", status.revisits),
        "not_modified": ("revisits after a 304 of the origin", status.not_modified),
        "recalled": ("originals found in the index after Redis had lost them", status.recalled),
        "lost": ("exchanges that could not be kept", status.lost),
        "dedup_unavailable": ("payloads and batches for which Redis did not answer", status.dedup_unavailable),
        "refused": ("requests refused", status.refused),
        "control_refused": ("commands refused because their client may give none", status.control_refused),
        "addon_errors": ("exceptions of addons", sum(status.addon_errors.values())),
        "script_errors": ("exceptions of scripts of sessions", status.script_errors),
        "addon_missed": ("captures that slow addons were not told of", status.addon_missed),
    }
