"""A QA session judges captured pages: each page is visited again in replay and compared with its capture.

`listing` finds the pages of a session, `captured_page` reads what the crawl kept, `browsers.ghosts.replay_visit` visits
a page in replay, `judgement` compares the two sides, and `execution` does all of this for a session. `sessions` has the
use cases that people call, `decisions` what reviewers decide, `repairs` the captures that mend a page.
"""
