"""The QA process and its workers take sessions and repairs, one after another.

`process` is the loop, and `tools` starts proxies and a browser. `execution` works on a session, and `mending` on a
repair. `records` keeps each judgement in the archive.
"""
