"""This package builds, writes, reads, checks and repairs the records of WARC files, and the index lines for them.

1. `records` makes the bytes of records, and `compression` packs each record into a member of its own.
2. `reading` reads the records of any WARC file; `reader` is its entry point.
3. `cdxj` and `cdx11` have the lines of indexes.
4. `writing` appends records to WARC files; `writer` is its entry point.
5. `upkeep` checks files, completes those of a killed writer, and writes faulty ones anew.

The package may import `archive.settings` and the modules of `archive`.
"""
