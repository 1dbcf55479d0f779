"""Have we these bytes, and where is each capture?

The path of one payload and its capture through this room:

0. `eligible` says whether a payload is deduplicated at all, and within which buckets, URL and digest algorithm.
1. `claims.Claims.claim`: before it writes, the proxy asks Redis for a whole batch at once (`redis_link`, one round
   trip, `claim.lua`). Known bytes get their original, as few bytes in Redis (`packing`); new bytes are this writer's
   to keep; bytes that another is keeping just now are held. Payloads with buckets of their own are asked for by
   `claim_in.lua`, in the same trip.
   What Redis has lost (`wholeness` tells) `recall` finds in the index, where `originals` knows what a revisit may
   refer to, and tells Redis again. Where it is set so, `foreign` then looks for what is new in other archives: a
   `cdx_client` asks their CDX servers in the words of `cdx_lines`.
2. `claims.Claims.settle`: after the batch is durable, originals become known (`commit.lua`), what failed is given up
   (`release.lua`), the job's counters grow (`tally.lua`), and the captures are announced on a `stream`.
3. `indexer` takes announcements into the capture index, and looks through the CDXJ `sidecars` for what it missed;
   what can't be trusted stays out (`trust`).
4. `captures` is that index: rows in SQL (`schema`), added once however often they come.
5. `query` says what is looked for, `filters` what is left out; `walk` reads the rows a page at a time.
6. `cdx_api` answers over HTTP, in the forms of `cdx_formats`; replay asks `captures.Captures.nearest`.

All of it reaches Redis by `redis_link`, which sends each batch of `command`s over a `redis_wire`, or in a cluster over
one to each server (`cluster_wire`).

Besides, `registry` lists in the same Redis which recording processes there are; `quotas` counts there what limits are
for, `turns` says when a host may be asked next; `measure` counts what the store knows and costs; `deduplicator` reads
Heritrix's parameters as settings of ours.

Redis can be lost: `indexer.Indexer.rebuild_dedup` fills it from the index, and the index can be lost too:
`indexer.Indexer.reindex` fills it from the sidecars, and those are told anew from the WARC files.
"""
