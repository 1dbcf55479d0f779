"""How the handing over of finished files goes: for Prometheus, and as a line for people."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from archive.upload import Status, Uploader

if TYPE_CHECKING:
    from flask import Flask

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SHOW_SECONDS: Final = 0.2
_UNITS: Final = ("B", "kB", "MB", "GB", "TB")


class Collector:
    """An uploader's numbers for Prometheus, one family per number; counters end in _total."""

    def __init__(self, uploader: Uploader) -> None:
        self._uploader = uploader

    def collect(self) -> list[Metric]:
        """The numbers of this moment."""
        status, now = self._uploader.status, time.time()
        gauges = {
            "waiting_files": ("closed WARC files that the storage does not have yet", status.waiting),
            "waiting_bytes": ("bytes in them", status.waiting_bytes),
            "oldest_waiting_seconds": (
                "age of the oldest of them, since its last record",
                max(0.0, now - status.waiting_since) if status.waiting_since else 0.0,
            ),
            "failing_files": ("files whose last try failed", len(status.failing)),
        }
        counters = {
            "files": ("WARC files handed over, verified", status.handed_over),
            "bytes": ("bytes in them", status.bytes),
            "failures": ("tries that failed", status.failures),
            "removed_files": ("local copies removed", status.removed),
        }
        families: list[Metric] = [
            GaugeMetricFamily(f"ghostfleet_upload_{name}", text, value=value) for name, (text, value) in gauges.items()
        ]
        families += [
            CounterMetricFamily(f"ghostfleet_upload_{name}", text, value=value)
            for name, (text, value) in counters.items()
        ]
        return families


def serve_metrics(app: Flask, uploader: Uploader | None) -> None:
    """Gives the application `GET /metrics`; without an uploader there is nothing on it."""
    from flask import Response

    registry = CollectorRegistry()
    if uploader is not None:
        registry.register(Collector(uploader))
    app.add_url_rule("/metrics", "metrics", lambda: Response(generate_latest(registry), content_type=METRICS_TYPE))


def look_watched(uploader: Uploader, show: Callable[[str], None]) -> bool:
    """`uploader.look`, and a line of how far it is to `show` a few times a second until it is done."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(uploader.look()), name="upload", daemon=True)
    thread.start()
    show(line(uploader.status))
    while thread.is_alive():
        thread.join(_SHOW_SECONDS)
        show(line(uploader.status))
    if not found:
        raise RuntimeError("the upload broke off; its traceback is above")
    return found[0]


def line(status: Status) -> str:
    """How far it is, in one line."""
    if not status.looked:
        return f"{status.storage}: looking at what it has"
    files, size = status.handed_over + status.waiting, status.bytes + status.waiting_bytes
    now = f", now {status.copying}" if status.copying else ""
    failing = f", {len(status.failing)} failing" if status.failing else ""
    return f"{status.handed_over} of {files} files, {_size(status.bytes)} of {_size(size)}{failing}{now}"


def _size(count: float) -> str:
    for unit in _UNITS[:-1]:
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} {_UNITS[-1]}"
