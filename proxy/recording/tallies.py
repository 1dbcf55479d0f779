"""A batch adds to the fleet's counters: those of its jobs, and those of stats buckets. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from dedupdb.fleet.quotas import tally_name
from proxy.recording.plan import Plan

ALL: Final = "__all__"
"""The bucket of every exchange, as warcprox names it."""
UNSPECIFIED: Final = "__unspecified__"
"""The bucket of exchanges that name no bucket, as warcprox names it."""

type Tallies = Mapping[tuple[str, str], Mapping[str, int]]


def tallies_of(plans: Sequence[Plan]) -> Tallies:
    """Return the increments by collection and job, and by collection and bucket.

    Buckets that count all exchanges are summed up from the jobs' counters, so exchanges without buckets cost nothing.
    """
    jobs: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    named: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    specified: dict[str, Counter[str]] = defaultdict(Counter)
    for plan in plans:
        if plan.later:
            continue
        context, tally = plan.item.context, plan.tally()
        job = jobs[context.collection, context.job or ""]
        for name, count in tally.items():  # as Counter.update does, at half the price
            job[name] += count
        if context.stats:
            counts = counts_of(tally)
            specified[context.collection].update(counts)
            for bucket in context.stats:
                named[context.collection, tally_name(bucket)].update(counts)
    for (collection, _), tally in jobs.items():
        named[collection, tally_name(ALL)].update(counts_of(tally))
    for collection in {collection for collection, _ in jobs}:
        unspecified = named[collection, tally_name(ALL)] - specified[collection]
        if unspecified:
            named[collection, tally_name(UNSPECIFIED)].update(unspecified)
    return {name: counts for name, counts in (jobs | named).items() if counts}


def counts_of(tally: Mapping[str, int]) -> Counter[str]:
    """Return what a job's counters gained, as a bucket counts it."""
    new_urls = tally.get("novel_urls", 0) + tally.get("derived", 0) + tally.get("unkept_urls", 0)
    new_bytes = tally.get("novel_bytes", 0) + tally.get("derived_bytes", 0) + tally.get("unkept_bytes", 0)
    urls, size = tally.get("duplicate_urls", 0), tally.get("duplicate_bytes", 0)
    counts = {
        "total/urls": new_urls + urls,
        "total/wire_bytes": new_bytes + size,
        "new/urls": new_urls,
        "new/wire_bytes": new_bytes,
        "revisit/urls": urls,
        "revisit/wire_bytes": size,
    }
    return Counter({name: count for name, count in counts.items() if count})
