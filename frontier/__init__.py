"""The frontier decides which URL is visited next, and how politely.

1. A job (`job`, `profile`) is opened, and its seeds become candidates. The same job opened again resumes.
2. `scope` accepts a candidate or rejects it with a reason. `seen` gives it a fingerprint.
3. `queue` adds it to the queue of its host. A worker claims a URL under a lease with a token.
4. `robots` and `robots_store` say whether robots.txt allows the URL.
5. The worker adds the links first, and finishes the URL then. A crash in between costs a second visit.
6. `politeness` says whether the URL is tried again, and how long its host rests.
7. `groups` bounds the visits of several hosts together. A URL of a continuous crawl is visited again when it is due
   (`definition/revisit.py`).
8. `renders` has the pages that Chromium opens later (`rendering: asynchronous`), in a queue of the same kind.
9. A lease that expired is swept, and its URL goes back to its queue.
10. `segments` keeps the ends of long queues in files.
11. `control` takes commands of operators; `reports` has progress and reports; `queues` shows the queues to operators,
   and changes them.

All state is in Redis (`store`), and each step is one script (`lua/`). `private_redis` starts a Redis in the home.
"""
