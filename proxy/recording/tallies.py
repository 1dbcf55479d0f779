"""What a batch adds to the fleet's counters: those of its jobs, and those of stats buckets. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from dedupdb.quotas import tally_name
from proxy.buckets import ALL, UNSPECIFIED, counts_of
from proxy.plan import Plan

type Tallies = Mapping[tuple[str, str], Mapping[str, int]]


def tallies_of(plans: Sequence[Plan]) -> Tallies:
    """Increments by collection and job, and by collection and bucket.

    Buckets that count everything are summed up from the jobs' counters, so that exchanges without buckets of their
    own cost nothing more.
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
