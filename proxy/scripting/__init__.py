"""User addons and mitmproxy scripts of a session run in the path of an exchange.

`user_addons` and `scripts` are the entry points. It may import `fetch` and the packages below that.
"""
