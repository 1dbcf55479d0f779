"""A home has a private redis-server. This package finds, starts, shares and stops it.

`server` is the entry point. It imports nothing else of `frontier`.
"""
