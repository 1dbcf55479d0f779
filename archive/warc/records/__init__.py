"""The bytes of WARC records are made here. Nothing is opened or written.

`record` makes the records of an exchange, with a `header` each. `warcinfo` is the first record of a file, and `derived`
has screenshots, texts and DNS answers. `request_query` tells requests to one URL apart.
"""
