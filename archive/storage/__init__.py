"""This package uploads finished WARC files to a storage and reads ranges of them from there.

`storage` and `upload` are the entry points. It may import `archive.warc` and `archive.settings`.
"""
