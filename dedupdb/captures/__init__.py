"""This package holds the capture index in SQLite or PostgreSQL, and queries on it.

`capture_index` and `query` are the entry points. It may import `redis_io`.
"""
