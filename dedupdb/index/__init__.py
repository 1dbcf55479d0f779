"""The indexer turns capture announcements and CDXJ sidecars into rows of the capture index.

`indexer` is the entry point. It may import `claims`, `captures` and `redis_io`.
"""
