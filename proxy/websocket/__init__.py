"""WebSocket messages are recorded beside the handshake.

`log` is the entry point. It may import `sessions`, `recording`, `protocol`.
"""
