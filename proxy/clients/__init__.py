"""The client side has connections, HTTP/1 and HTTP/2 layers, and the dispatcher of requests.

`connection` is the entry point; `dispatcher` chooses who answers a request. It may import everything below it:
`scripting`, `replay`, `fetch`, `delivery`, `websocket`, `sessions`, `origins`, `recording`, `protocol`.
"""
