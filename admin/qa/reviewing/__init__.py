"""People look at judged pages, and decide about them.

`review` shows one page at a time, and `decisions` keeps what reviewers decide. `repairs` and `missed_urls` let pages be
captured again, and `report` sums a session up.
"""
