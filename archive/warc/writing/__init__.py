"""Records are appended to WARC files, and made durable in batches.

`writer` is the entry point. `open_file` is a file that is being written, `members` packs its records, and `dictionary`
trains the dictionary of a collection.
"""
