"""A fetch is one exchange with an origin, from the first byte of the request until the response is kept.

`fetch` is the entry point. It may import `delivery`, `websocket` and the packages below these.
"""
