"""Report the progress of uploads, as metrics for Prometheus and as a line for people."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from admin.units import human_bytes
from archive.storage.upload import Uploader, UploadStatus

if TYPE_CHECKING:
    from flask import Flask

METRICS_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_SHOW_SECONDS: Final = 0.2


class UploadMetrics(Collector):
    """The collector reports the numbers of an uploader to Prometheus. Names of counters end in _total."""

    def __init__(self, uploader: Uploader) -> None:
        self._uploader = uploader

    def collect(self) -> list[Metric]:
        """Return the current numbers, one metric family for each."""
        status, now = self._uploader.status, time.time()
        gauges = {
            "waiting_files": ("closed WARC files that the storage does not have yet", status.waiting),
            "waiting_bytes": ("size of the waiting files", status.waiting_bytes),
            "oldest_waiting_seconds": (
                "time since the last record of the oldest waiting file",
                max(0.0, now - status.waiting_since) if status.waiting_since else 0.0,
            ),
            "failing_files": ("files whose last upload failed", len(status.failing)),
        }
        counters = {
            "files": ("WARC files uploaded and verified", status.handed_over),
            "bytes": ("size of the uploaded files", status.bytes),
            "failures": ("failed uploads", status.failures),
            "removed_files": ("local copies removed after the upload", status.removed),
        }
        families: list[Metric] = [
            GaugeMetricFamily(f"ghostfleet_upload_{name}", text, value=value) for name, (text, value) in gauges.items()
        ]
        families += [
            CounterMetricFamily(f"ghostfleet_upload_{name}", text, value=value)
            for name, (text, value) in counters.items()
        ]
        return families


def serve_metrics(app: Flask, uploader: Uploader | None, *further: Collector) -> None:
    """Add `GET /metrics` to the application, with the numbers of the uploader and of further collectors."""
    from flask import Response

    registry = CollectorRegistry(auto_describe=False)
    for collector in (*([UploadMetrics(uploader)] if uploader is not None else []), *further):
        registry.register(collector)
    app.add_url_rule("/metrics", "metrics", lambda: Response(generate_latest(registry), content_type=METRICS_TYPE))


def upload_with_progress(uploader: Uploader, show: Callable[[str], None]) -> bool:
    """Call `uploader.look` and return its result; call `show` with a progress line a few times a second meanwhile."""
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(uploader.look()), name="upload", daemon=True)
    thread.start()
    show(progress_line(uploader.status))
    while thread.is_alive():
        thread.join(_SHOW_SECONDS)
        show(progress_line(uploader.status))
    if not found:
        raise RuntimeError("the upload ended with an error; its traceback is above")
    return found[0]


def progress_line(status: UploadStatus) -> str:
    """Return the progress of an upload in one line."""
    if not status.looked:
        return f"{status.storage}: listing the stored files"
    files, size = status.handed_over + status.waiting, status.bytes + status.waiting_bytes
    now = f", now {status.copying}" if status.copying else ""
    failing = f", {len(status.failing)} failing" if status.failing else ""
    return f"{status.handed_over} of {files} files, {human_bytes(status.bytes)} of {human_bytes(size)}{failing}{now}"
