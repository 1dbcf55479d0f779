"""Operators give commands to a running job with this module.

Redis stores the commands. They take effect at the next claim, and stay in effect after a restart.
"""

from __future__ import annotations

import logging

from frontier.store import Store

logger = logging.getLogger(__name__)

FOREVER_SECONDS = 10 * 365 * 86_400.0
VIEW_SECONDS = 15
"""Redis forgets a stored view after this time."""


class Controls:
    """The controls of one job. Each command may be repeated."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def pause(self, reason: str = "paused by an operator") -> None:
        """Hand out no URL until `go_on` or `resume`, also after a restart. Present leases stay valid."""
        self._command("pause", reason)

    def go_on(self) -> bool:
        """End a pause. Return whether the job was paused."""
        return self._command("go-on")

    def hold(self, reason: str) -> None:
        """Hand out no URL until `release`, for example while the disk is full. An operator's pause is independent."""
        self._command("hold", reason)

    def release(self) -> bool:
        """End a hold. Return whether the job was held."""
        return self._command("release")

    def stop(self, reason: str) -> None:
        """Hand out no URL and tell the workers to end. Queued URLs stay queued, and `resume` continues with them."""
        self._command("stop", reason)

    def resume(self) -> None:
        """Continue after `pause` or `stop`. A job that reached a limit continues when the limit is raised."""
        self._command("resume")

    def store_view(self, text: str) -> None:
        """Store the progress view of the running command, so that other commands can show it."""
        with self._store.guarded():
            self._store.client.set(self._store.key("view"), text, ex=VIEW_SECONDS)

    def stored_view(self) -> str | None:
        """Return the latest progress view of the running command; None when it is too old."""
        with self._store.guarded():
            found = self._store.client.get(self._store.key("view"))
        return found.decode() if found is not None else None

    def block_host(self, host: str, seconds: float = FOREVER_SECONDS) -> None:
        """Let no job of the shard visit a host for `seconds`. The host's URLs stay queued."""
        self._store.run("aside", host, "block", round(seconds * 1000))
        logger.info("host %s is blocked for %.0f s (job %s)", host, seconds, self._store.job)

    def set_host_aside(self, host: str, reason: str) -> bool:
        """Set a host aside for this job: its URLs count as excluded. Return False when it was set aside before."""
        self._store.renders().run("aside", host, "aside", reason)
        return bool(self._store.run("aside", host, "aside", reason))

    def wake_host(self, host: str) -> bool:
        """End a block, forget the host's failures, and take it back into the job. Return whether this changed
        something.
        """
        has_renders = bool(self._store.renders().run("aside", host, "wake"))
        return bool(self._store.run("aside", host, "wake")) or has_renders

    def hosts_aside(self) -> dict[str, str]:
        """Return the hosts that were set aside, also for renders alone, with the reason.

        A reason is limit-host-pages, that of a quota, failing, or an operator's text.
        """
        with self._store.guarded():
            found = self._store.client.hgetall(self._store.renders().key("aside"))
            found |= self._store.client.hgetall(self._store.key("aside"))
        return {host.decode(): why.decode("utf-8", "replace") for host, why in found.items()}

    def _command(self, name: str, reason: str = "") -> bool:
        changed = bool(self._store.run("command", name, reason))
        logger.info("job %s: command %s%s", self._store.job, name, f" ({reason})" if reason else "")
        return changed
