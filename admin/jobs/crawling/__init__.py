"""One process runs a crawl until it ends.

1. `crawl` is the entry point. `logins` and `seed_queueing` come before the first visits.
2. `watch` looks at the running crawl. `disk_watch` and `render_lag` have two of its rules.
"""
