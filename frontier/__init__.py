"""What is visited next, and how politely.

One URL's path through this room:

1. A `Job` (`job.py`; its profile read by `profile.py`) is opened: its seeds become candidates. The same job asked
   again resumes.
2. Each candidate, seed or link, is taken in or rejected with a reason and the rule that decided (`scope.py`).
3. What is taken in gets a fingerprint (`seen.py`) and, when that is new to the job, a place in the queue of its
   host (`add.lua`).
4. A worker claims: the host that has waited longest past its due time gives its first URL, under a lease with a
   token (`claim.lua`). Nobody else gets this URL, or another one of this host, while the lease lasts.
5. The worker asks what the host's robots.txt says (`robots.py`), visits, and renews the lease of a long visit.
6. Links go in first, then the visit is finished (`queue.py`): a crash in between costs a second visit, never a hole.
   `politeness.py` says whether the URL is done, tried again later or failed, and how long its host is left in peace.
7. A lease that ran out is swept: its URL goes back to its queue, and whatever the late worker still says is refused.
8. Operators pause, stop, block and wake (`control.py`); counters and reports come from `reports.py`.

Everything that must survive a crash lives in Redis (`store.py` has the key layout), and every step there is one
script. `embedded.py` starts a private Redis in the home when `redis.url` is empty.
"""
