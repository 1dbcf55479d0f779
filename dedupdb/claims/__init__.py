"""Do we have these bytes? One answer for the whole fleet, kept in Redis.

`claims` is the entry point. It may import `captures` and `redis_io`.
"""
