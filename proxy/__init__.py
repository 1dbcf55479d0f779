"""The proxy records, and replays, every exchange that passes.

1. `process` assembles and runs one recording process, and replaces a running one.
2. `clients` reads requests (HTTP/1 and HTTP/2), and its dispatcher chooses who answers.
3. `scripting` runs user addons and mitmproxy scripts; `replay` answers from the archive.
4. `fetch` runs one exchange with an origin, until it is kept.
5. `delivery` relays the response and holds its end back; `websocket` records messages.
6. `sessions` says whose a request is, how it is treated, and which limits apply.
7. `origins` connects to origins; `recording` writes whole exchanges to WARC files in batches.
8. `protocol` parses HTTP without I/O.

A package may import those after it only. `extend` is the public interface for user addons.
"""
