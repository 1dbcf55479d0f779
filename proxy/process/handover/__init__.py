"""A new process replaces a running one and gets its listening sockets and its sessions.

`succession` is the entry point.
"""
