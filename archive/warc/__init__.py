"""This package builds, writes, reads, checks and repairs the records of WARC files.

`writer` and `reader` are the entry points. It may import `archive.settings` and the modules of `archive`.
"""
