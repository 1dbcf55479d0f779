"""This package puts the admin site together: pages, API and live streams on one port.

`server` is the entry point. It may import `web`, `api` and everything below them.
"""
