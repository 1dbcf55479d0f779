"""The response as one client gets it: relayed while it arrives, its end held back until it is kept.

`delivery` is the entry point. It may import `sessions`, `recording`, `protocol`.
"""
