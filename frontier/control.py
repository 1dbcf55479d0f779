"""What operators do to a running job. Commands are data in Redis: in force at the next claim, and after a restart."""

from __future__ import annotations

import logging

from frontier.store import Store

logger = logging.getLogger(__name__)

FOREVER_SECONDS = 10 * 365 * 86_400.0


class Controls:
    """Commands to one job. Each may be given twice."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def pause(self, why: str = "paused by an operator") -> None:
        """Hand out nothing until `resume`; leases go on."""
        self._set("paused", why)

    def stop(self, reason: str) -> None:
        """Hand out nothing and tell workers to leave; what is queued stays, and `resume` goes on with it."""
        self._set("stopped", reason)

    def resume(self) -> None:
        """Go on after `pause` or `stop`. A limit that was reached must be raised instead."""
        with self._store.guarded():
            self._store.client.hdel(self._store.key("state"), "paused", "stopped")
        logger.info("job %s resumed", self._store.job)

    def block_host(self, host: str, seconds: float = FOREVER_SECONDS) -> None:
        """Visit nothing of a host for this long, in no job of the shard; its URLs stay queued."""
        self._store.run("aside", host, "block", round(seconds * 1000))
        logger.info("host %s blocked for %.0f s (job %s)", host, seconds, self._store.job)

    def set_host_aside(self, host: str, why: str) -> bool:
        """Give a host up for this job: its URLs count as excluded. False when that was done already."""
        return bool(self._store.run("aside", host, "aside", why))

    def wake_host(self, host: str) -> bool:
        """Undo a block, the memory of failures and being set aside. False when there was nothing to undo."""
        return bool(self._store.run("aside", host, "wake"))

    def hosts_aside(self) -> dict[str, str]:
        """Hosts that were set aside: limit-host-pages, failing, or an operator's reason."""
        with self._store.guarded():
            found = self._store.client.hgetall(self._store.key("aside"))
        return {host.decode(): why.decode("utf-8", "replace") for host, why in found.items()}

    def _set(self, name: str, why: str) -> None:
        with self._store.guarded():
            self._store.client.hset(self._store.key("state"), name, why)
        logger.info("job %s %s: %s", self._store.job, name, why)
