"""The dedup store knows which bytes are kept already; the capture index knows where each capture is.

1. `claims` answers the writer for a whole batch: the original of known bytes, or the right to write new bytes.
   `dedup_rules` says which payloads are deduplicated. When Redis has lost some, `index_fallback` asks the index.
   After the batch is durable, the claims are settled and the captures announced.
2. `index` takes announcements, and sidecars after a crash, into the capture index.
3. `captures` is that index in SQL, with its queries.
4. `cdx` serves it over HTTP.
5. `fleet` lists the recording processes, counts quotas, and gives turns at hosts.
6. `redis_io` sends batches of commands to Redis, single server or cluster; `lua` has the scripts.

Redis can be rebuilt from the index, the index from the sidecars, and these from the WARC files.
"""
