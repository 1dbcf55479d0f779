"""The progress of a job is counted and shown while the job runs.

1. `tally` counts the lines of crawl.log, and `new_bytes` the bytes that the collection did not have.
2. `meter` combines the counts with those of the frontier to a view, which `display` shows.
"""
