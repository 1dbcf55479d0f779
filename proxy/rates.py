"""How fast: exchanges and WARC bytes per second over the last 1, 5 and 15 minutes."""

from __future__ import annotations

import time
from collections import deque
from typing import Any, Final

_STEP_SECONDS: Final = 5.0
_SPANS: Final = {"rates_1min": 60.0, "rates_5min": 300.0, "rates_15min": 900.0}


class Rates:
    """Remembers totals every few seconds, and compares."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int, int]] = deque([(time.monotonic(), 0, 0)])

    def sample(self, urls: int, warc_bytes: int) -> None:
        """Note the totals; called as often as one likes."""
        now = time.monotonic()
        if now - self._samples[-1][0] >= _STEP_SECONDS:
            self._samples.append((now, urls, warc_bytes))
        while now - self._samples[0][0] > max(_SPANS.values()) + _STEP_SECONDS:
            self._samples.popleft()

    def report(self) -> dict[str, Any]:
        """warcprox's three `rates_…` objects."""
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
