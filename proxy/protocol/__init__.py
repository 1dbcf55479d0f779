"""This package parses HTTP without I/O: heads, bodies, ranges, HTTP/2 frames. It holds the adapter for mitmproxy.

`http1` is the entry point. It imports nothing else of `proxy` but the modules beside the packages.
"""
