"""This package says what a capture is and how it is kept. It imports no other package of Ghostfleet.

1. `capture` has the exchange (what passed) and the capture (where it was kept).
2. `url` makes the canonical form and the sort key of a URL; `digest`, `dates` and `ids` make other field values.
3. `settings` loads all settings.
4. `warc` builds records, writes and reads WARC files and their CDXJ sidecars, validates and repairs them.
5. `warc_paths` says where the files of a collection lie.
6. `storage` uploads finished files, and reads records from wherever their file is.
7. `crawl_log` writes the lines of crawl.log.
"""
