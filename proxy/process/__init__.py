"""The recording process assembles the proxy, serves, drains and stops.

`serve` is the entry point. `assembly` builds the parts once. This package may import every other package of `proxy`.
"""
