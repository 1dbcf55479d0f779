"""WARC files that exist are checked and put in order.

`check` validates files, by the `findings` in each record. `repair` completes the files of a killed writer. `mend` and
`rewrap` write a file anew.
"""
