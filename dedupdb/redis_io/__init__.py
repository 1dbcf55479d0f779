"""The link to Redis sends a batch of commands in one round trip, to a single server or a cluster.

`link` is the entry point. It imports nothing else of `dedupdb`.
"""
