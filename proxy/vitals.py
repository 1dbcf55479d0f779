"""What a recording process knows of its own state: read by /status, /metrics and the registry of proxies."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any, Final

from archive.sections import ProxySettings
from proxy.meta import load
from proxy.parts import Parts

_GATE_COUNTS: Final = ("refused", "unauthorized", "control_refused", "script_errors")


class Vitals:
    """The numbers of one process, as they are at the moment of asking."""

    def __init__(self, settings: ProxySettings, parts: Parts, connections: Sized) -> None:
        self._settings = settings
        self._parts = parts
        self._connections = connections

    def facts(self) -> dict[str, Any]:
        """What /status and /metrics are made from."""
        parts = self._parts
        counts, gate, services, recorder = parts.keeper.counts, parts.gate, parts.services, parts.recorder
        return {
            "active_requests": len(services.active),
            "queued_urls": recorder.waiting,
            "queue_max_size": self._settings.queue_length,
            "urls_processed": counts["exchanges"],
            "warc_bytes_written": counts["warc_bytes"],
            "earliest_still_active_fetch_start": min((fetch.started for fetch in services.active), default=None),
            "seconds_behind": recorder.seconds_behind,
            "closed_because": gate.closed_because,
            "ours": {
                "connections": len(self._connections),
                "sessions": len(gate.sessions),
                "orphans": len(services.orphans),
                "in_line": services.pacing.waiting,
                "revisits": counts["revisits"],
                "not_modified": counts["not_modified"],
                "lost": counts["lost"],
                "dedup_unavailable": counts["dedup_unavailable"],
                "dedup_unavailable_because": parts.keeper.dedup_trouble,
                "dedup_in_doubt": parts.recall.in_doubt,
                "recalled": parts.recall.recalled,
                "foreign_found": parts.foreign.found,
                "foreign_unavailable": parts.foreign.unavailable,
                "foreign_unavailable_because": parts.foreign.trouble,
                "log_lines_lost": counts["log_lines_lost"],
                "dead_hosts": len(parts.opener.dead),
                "addon_errors": dict(parts.extensions.errors) if parts.extensions else {},
                "addon_missed": parts.extensions.missed if parts.extensions else 0,
                **{name: gate.counts[name] for name in _GATE_COUNTS},
            },
        }

    def load(self) -> float:
        """How busy it is: 0 idle, 1 as much as it can take."""
        return load(self._parts.recorder.waiting, self._settings.queue_length, len(self._parts.services.active))
