"""The new bytes of a job are counted by the owners of quotas, as crawl.log tells them.

A worker does not know whether the archive had an answer already. The proxy knows, and writes it to crawl.log.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection

from admin.jobs.progress.tally import JobTally
from archive import crawl_log
from archive.url import host_of
from frontier.definition.networks import without_port
from frontier.definition.quotas import QuotaOwner
from frontier.definition.scope import registered_domain


class NewBytes:
    """The counter tells the amounts that have changed, from the tally of the whole log."""

    def __init__(self, tally: JobTally) -> None:
        self._tally = tally
        self._hosts: set[str] = set()
        self._seeds: set[str] = set()
        self._known: defaultdict[str, int] = defaultdict(int)
        self._domains: Counter[str] = Counter()

    def note(self, line: crawl_log.LogLine) -> None:
        """Take notice of a line that the tally has counted."""
        if line.code > 0:
            self._hosts.add(host_of(line.url))
            if line.source:
                self._seeds.add(line.source)

    def changes(self, owners: Collection[QuotaOwner]) -> dict[tuple[QuotaOwner, str], int]:
        """Return the new bytes of each of these owners that has changed since the last call."""
        if not owners or not self._hosts:
            return {}
        found: dict[tuple[QuotaOwner, str], int] = {("job", ""): self._tally.all.novel.bytes}
        for host in self._hosts:
            got = self._tally.hosts[host].novel.bytes
            domain = registered_domain(without_port(host))
            self._domains[domain] += got - self._known[host]
            self._known[host] = got
            found["host", host] = got
            found["domain", domain] = self._domains[domain]
        found |= {("seed", seed): self._tally.seed(seed).novel_bytes for seed in self._seeds}
        self._hosts.clear()
        self._seeds.clear()
        return {(owner, name): amount for (owner, name), amount in found.items() if owner in owners}
