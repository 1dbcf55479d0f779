"""The ghost visits a page with a browser engine through a session of the proxy. It knows no engine by name.

`ghost` is the entry point.
"""
