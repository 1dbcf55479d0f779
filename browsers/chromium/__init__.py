"""The ghost visits a page with Chromium through a session of the proxy.

`ghost` is the entry point. It may import `browsers.links` and the modules of `browsers`.
"""
