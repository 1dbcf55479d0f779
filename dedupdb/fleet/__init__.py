"""The recording processes share by Redis their registry, quotas and pauses of hosts.

It may import `dedupdb.redis_io` only.
"""
