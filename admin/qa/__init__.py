"""A QA session judges captured pages: each page is visited again in replay and compared with its capture.

1. `sessions` has the use cases that people call to start and stop sessions. `listing` finds the pages of a session.
2. `workers` visits the pages in replay (`browsers.ghosts.replay_visit`), and captures pages again for repairs.
3. `judging` reads what the crawl kept of a page, and compares the two sides.
4. `reviewing` is for people: decisions, repairs and reports.

`leases` says which process works on a session, and `operations` lists everything that can be done.
"""
