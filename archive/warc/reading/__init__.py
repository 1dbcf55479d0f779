"""WARC files of any program are read record by record.

`reader` is the entry point. `member_reader` unpacks a file, `record_end` judges a wrong Content-Length, and
`exchange_pairs` ties requests to their responses.
"""
