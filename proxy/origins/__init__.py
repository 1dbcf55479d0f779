"""Connections to origins need names, addresses, egress, TLS, connection pools and HTTP/2.

`upstream` and `opener` are the entry points. It may import `protocol` only.
"""
